//! Checkpoints in the middle of transfers: the program sees none of them, and
//! what was left to do then is left to do after a restore.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{compile, exec, run_out, transparent};
use verde_checkpoint::{Options, Snapshot};
use verde_engine::{End, Process};

const ALL: &str = "moved 1048576\n";

fn save(process: &mut Process) -> Snapshot {
    let saved = Snapshot::take(process, &Options::default());
    saved.expect("saved").0
}

#[test]
fn a_transfer_goes_on_after_a_restore() {
    let program = compile("transfers.c", &["-O1", "-lutil"]);
    for kind in ["write", "writev", "send", "sendmsg", "recv", "recvmsg"] {
        let (mut process, output) = program.launch_with(&[kind], transparent());
        let hold = program.address(&process, "hold");
        exec(&mut process, hold);
        let mut snapshots = Vec::new();
        let end = run_out(&mut process, |process, _| {
            snapshots.push(save(process));
            // Another one at the entry of the rest.
            drop(save(process));
        });
        let done = (end, output.text());
        assert_eq!(done, (End::Exited(0), ALL.to_owned()), "{kind}");
        for snapshot in [&snapshots[1], &snapshots[3], &snapshots[1]] {
            snapshot.restore(&mut process, None).expect("restored");
            // A restored one is as good as any to be saved.
            let end = run_out(&mut process, |process, _| drop(save(process)));
            let done = (end, output.text());
            assert_eq!(done, (End::Exited(0), ALL.to_owned()), "{kind}");
        }
    }
}

//! What is on its way through pipes, sockets, timers and terminals: the
//! checkpoint takes nothing of it from the program, and it is there again
//! after every restore.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{compile, exec, next, run_out, transparent};
use verde_checkpoint::{Options, Snapshot};
use verde_engine::End;

const EXPECTED: &str = "\
loop 11 0
timers 1 1
half 4 half
half 0 
shut 6 abcdef
shut 0 
left 4 left
left 0 
whole 3
whole 3 abc
whole -1 Resource temporarily unavailable
message 3 one
message 0 
message 5 three
message -1 Resource temporarily unavailable
record 6 record
limit 0
packet 2 aa
packet 4 bbbb
fifo 4 fifo
window 33 77
closed 0 
";

#[test]
fn channels_are_untouched_and_there_again() {
    let program = compile("ck_channels.c", &["-O1", "-lutil"]);
    let fifo = format!("{}.fifo", program.path.display());
    let _ = std::fs::remove_file(&fifo);
    let (mut process, output) = program.launch_with(&[&fifo], transparent());
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    process.resume_all().expect("resumed");
    assert!(next(&mut process).ended().is_none(), "{}", output.text());
    // The second finds what the first has left.
    let (first, warnings) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    assert_eq!(warnings, []);
    let (second, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    for round in 0..4 {
        assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
        assert_eq!(output.text(), EXPECTED, "restored {round} times");
        let snapshot = if round % 2 == 0 { &second } else { &first };
        let restored = snapshot.restore(&mut process, None).expect("restored");
        assert_eq!(restored.warnings, []);
    }
    let _ = std::fs::remove_file(fifo);
}

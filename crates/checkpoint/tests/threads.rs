//! Programs with many threads, saved and restored over and over.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{Program, compile, exec, run_out, transparent};
use verde_checkpoint::{Options, Snapshot};
use verde_engine::{Cause, End, Process, TrapId};

/// The program with a trap that its threads run into all the time.
struct Lab {
    program: Program,
    process: Process,
    trap: TrapId,
}

impl Lab {
    /// Lets all threads run until some of them have hit the trap so many times, and `more`
    /// holds; then all are stopped, wherever they are.
    fn run(&mut self, hits: usize, more: impl Fn(&Process) -> bool) {
        let trap = Cause::Trap { id: self.trap };
        let mut seen = 0;
        self.process.resume_all().expect("resumed");
        let stop = self.process.run(|process, stop| {
            seen += usize::from(stop.causes.contains(&trap));
            Ok(seen >= hits && more(process))
        });
        let stop = stop.expect("run").expect("a stop");
        assert_eq!(stop.ended(), None, "it ended too early");
        self.process.stop_all().expect("stopped").keep();
    }

    fn save(&mut self) -> Snapshot {
        let saved = Snapshot::take(&mut self.process, &Options::default());
        saved.expect("saved").0
    }

    /// How many items have been consumed.
    fn consumed(&self) -> u64 {
        let at = self.program.address(&self.process, "consumed");
        let mut word = [0; 8];
        self.process.read(at, &mut word).expect("a counter");
        u64::from_ne_bytes(word)
    }
}

#[test]
fn twenty_eight_threads_a_hundred_times() {
    let program = compile("ck_threads.c", &["-O1"]);
    let file = format!("{}.joined", program.path.display());
    let items: i64 = 60_000;
    let count = items.to_string();
    let args = [count.as_str(), "12", "13", file.as_str()];
    let (mut process, output) = program.launch_with(&args, transparent());
    let at = program.address(&process, "every_kind");
    let trap = exec(&mut process, at);
    let mut lab = Lab {
        program,
        process,
        trap,
    };
    lab.run(100, |process| process.threads().len() == 28);
    let mut snapshot = lab.save();
    assert_eq!(snapshot.thread_count(), 28);
    let mut then = lab.consumed();
    for round in 0..100 {
        let hits = 1 + 7 * (round % 29);
        lab.run(hits, |_| true);
        if round % 2 == 1 {
            snapshot.treat_as_large();
        }
        snapshot
            .restore(&mut lab.process, None)
            .unwrap_or_else(|e| panic!("round {round}: {e}"));
        assert_eq!(lab.consumed(), then);
        if round % 3 == 2 {
            // Go forward, so that many different moments are saved.
            lab.run(hits, |_| true);
            snapshot = lab.save();
            then = lab.consumed();
        }
    }
    lab.process.remove(lab.trap).expect("removed");
    let end = run_out(&mut lab.process, |_, _| {});
    let sum = items * (items + 1) / 2;
    assert_eq!(output.text(), format!("done sum={sum} bad=0\n"));
    assert_eq!(end, End::Exited(0));
    let _ = std::fs::remove_file(file);
}

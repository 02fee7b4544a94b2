//! A program and its child, connected by pipes: checkpoints keep neither of them waiting, and
//! after a restore they are connected as long as the child is there.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{Output, compile, exec, limited, next, run_out, transparent};
use verde_checkpoint::{Item, Options, Snapshot};
use verde_engine::{End, Process};

/// Where the child is not cut off, and has answered `a` and `b`.
const UNDISTURBED: &str = "ab2|\n";

struct Lab {
    process: Process,
    output: Output,
}

impl Lab {
    /// Before the first question.
    fn new() -> Lab {
        let program = compile("ck_children.c", &["-O1"]);
        let (mut process, output) = program.launch_with(&[], transparent());
        let hold = program.address(&process, "hold");
        exec(&mut process, hold);
        let mut lab = Lab { process, output };
        lab.go_on();
        lab
    }

    fn go_on(&mut self) {
        self.process.resume_all().expect("resumed");
        assert!(next(&mut self.process).ended().is_none());
    }

    fn save(&mut self) -> Snapshot {
        let (snapshot, _) = Snapshot::take(&mut self.process, &Options::default()).expect("saved");
        snapshot
    }

    fn restore(&mut self, snapshot: &Snapshot) {
        let present = verde_checkpoint::Present::take(&mut self.process, &Options::default());
        let (present, _) = present.expect("kept");
        let restored = snapshot.restore(&mut self.process, Some(present));
        restored.expect("restored");
    }

    /// To its end; what it has said.
    fn run_out(&mut self) -> String {
        let end = limited(&mut self.process, |process| run_out(process, |_, _| {}));
        assert_eq!(end, End::Exited(0));
        self.output.text()
    }
}

#[test]
fn a_checkpoint_keeps_no_child_waiting_for_the_end_of_its_input() {
    let mut lab = Lab::new();
    let before = lab.save();
    lab.go_on();
    let between = lab.save();
    lab.go_on();
    let after = lab.save();
    assert_eq!(lab.run_out(), UNDISTURBED);
    drop((before, between, after));
}

#[test]
fn a_child_that_is_still_there_is_connected() {
    let mut lab = Lab::new();
    let before = lab.save();
    lab.go_on();
    let between = lab.save();
    lab.go_on();
    for _ in 0..3 {
        lab.restore(&between);
        lab.go_on();
    }
    // It has answered `b` four times, and `a` is the sixth question.
    lab.restore(&before);
    assert_eq!(lab.run_out(), "ab7|\n");
}

#[test]
fn a_child_that_has_ended_is_missed() {
    let mut lab = Lab::new();
    let before = lab.save();
    lab.go_on();
    let between = lab.save();
    assert_eq!(lab.run_out(), UNDISTURBED);
    between.restore(&mut lab.process, None).expect("restored");
    assert_eq!(lab.run_out(), "a!|\n");
    before.restore(&mut lab.process, None).expect("restored");
    assert_eq!(lab.run_out(), "!!|\n");
}

#[test]
fn pipes_to_children_are_missed() {
    let mut lab = Lab::new();
    lab.go_on();
    let between = lab.save();
    let without = between.restore_without(&mut lab.process, None, &[Item::Pipes]);
    without.expect("restored");
    assert_eq!(lab.run_out(), "a!|\n");
}

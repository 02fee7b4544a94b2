//! Dynamic against static instrumentation.

use crate::paper;
use verde_bench::lab::{Fallible, Lab, Under, args};
use verde_bench::report::{Line, Section, Table};
use verde_bench::stats::Sample;

const WAYS: [(Under, &str); 4] = [
    (Under::Verde, "Verde, dynamic"),
    (Under::VerdeStatic, "Verde, static"),
    (Under::Gdb, "gdb, dynamic"),
    (Under::GdbStatic, "gdb, static"),
];

pub fn measure(lab: &Lab) -> Fallible<Section> {
    let stack = lab.program("stack.c", "stack", &[])?;
    let (ours, theirs, repetitions) = lab.pick((50u64, 3u64, 5), (200, 10, 9));
    let mut times = [const { Vec::new() }; WAYS.len()];
    for _ in 0..repetitions {
        for ((under, _), into) in WAYS.iter().zip(&mut times) {
            let rounds = match under {
                Under::Verde | Under::VerdeStatic => ours,
                _ => theirs,
            };
            // 100 pushes and one pop matter in each round.
            let ran = lab.run(*under, "stack", &stack, &args([&rounds]))?;
            into.push(ran.with_events(rounds * 101)?.time() / rounds as f64);
        }
    }
    let times = times.map(|t| t.into_iter().collect::<Sample>());
    let mut table = Table::new(&["", "time of a round"]);
    for ((_, name), time) in WAYS.iter().zip(&times) {
        table.row([(*name).to_owned(), time.time()]);
    }
    let ratio = times[1].median() / times[0].median();
    let theirs = times[3].median() / times[2].median();
    Ok(Section {
        key: "stack",
        title: "Dynamic instrumentation on a stack",
        about: format!(
            "The first 100 natural numbers are pushed and popped alternately; the property says that 42 is taken out after it was \
             put in. Dynamic: pops are watched only while 42 is inside (101 events a round). Static: all of them (200 traps). \
             {repetitions} repetitions. The paper: {} times faster.",
            paper::STACK
        ),
        command: format!(
            "verde check [--all-events] -p bench/properties/stack.prop -- stack {ours}"
        ),
        tables: vec![table],
        plots: Vec::new(),
        lines: vec![Line {
            what: "stack: dynamic against static instrumentation".into(),
            ratio: Some(ratio),
            ours: format!("{ratio:.2} times faster"),
            baseline: format!("{theirs:.2} times faster"),
            asked: "1.8".into(),
            met: Some(ratio >= 1.8),
        }],
    })
}

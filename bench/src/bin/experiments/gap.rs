//! Overhead against the gap between events.

use crate::paper;
use verde_bench::lab::{Fallible, Lab, Under, args};
use verde_bench::plot::{BASELINE, BASELINE_TOO, Curve, OURS, OURS_TOO, PAPER, Plot, Point};
use verde_bench::report::{Line, Section, Table};
use verde_bench::stats::Sample;

/// A property under a debugger, and its curve.
const WAYS: [(Under, &str, &str, &str); 4] = [
    (Under::Verde, "nop", "Verde", OURS),
    (Under::Verde, "argument", "Verde, argument", OURS_TOO),
    (Under::Gdb, "nop", "gdb", BASELINE),
    (Under::Gdb, "argument", "gdb, argument", BASELINE_TOO),
];

pub fn measure(lab: &Lab) -> Fallible<Section> {
    let calls = lab.program("calls.c", "calls", &[])?;
    // In ms.
    let gaps: &[f64] = lab.pick(
        &[0.05, 0.5, 3.0, 10.0],
        &[0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 3.0, 10.0],
    );
    // A few dear events must not decide about the whole: at least so many.
    let (length, fewest, repetitions) = lab.pick((120.0, 30.0, 3), (300.0, 100.0, 5));
    let mut table = Table::new(&[
        "gap",
        "ratio of overheads (argument)",
        "Verde",
        "Verde, argument",
        "gdb",
        "gdb, argument",
        "alone (noise)",
    ]);
    let mut curves: Vec<Curve> = WAYS.iter().map(|w| curve(w.2, w.3)).collect();
    let mut lines = Vec::new();
    for gap in gaps {
        let times = (length / gap).clamp(fewest, 1000.0) as u64;
        let args = args([&times, &(gap * 1000.0), &1]);
        // What the program takes alone is the gaps' sum, for the gaps are measured while it waits.
        let alone = times as f64 * gap / 1e3;
        let mut overheads = [const { Vec::new() }; WAYS.len()];
        let mut bare = Vec::new();
        for _ in 0..repetitions {
            let ran = lab.run(Under::Nothing, "", &calls, &args)?;
            bare.push(ran.time() / alone - 1.0);
            for (way, into) in WAYS.iter().zip(&mut overheads) {
                let ran = lab.run(way.0, way.1, &calls, &args)?.with_events(times)?;
                into.push(ran.time() / alone - 1.0);
            }
        }
        let overheads = overheads.map(|o| o.into_iter().collect::<Sample>());
        for (sample, curve) in overheads.iter().zip(&mut curves) {
            curve.points.push(point(*gap, sample));
        }
        let ratio = overheads[3].median() / overheads[1].median();
        let mut row = vec![format!("{gap} ms"), format!("{ratio:.1}")];
        row.extend(overheads.iter().map(Sample::percent));
        row.push(bare.into_iter().collect::<Sample>().percent());
        table.row(row);
        if paper::GAPS.iter().any(|g| g.0 == *gap) {
            lines.push(Line {
                what: format!("overhead, {gap} ms between events"),
                ratio: Some(ratio),
                ours: overheads[1].percent(),
                baseline: overheads[3].percent(),
                asked: "10 times lower".into(),
                met: Some(ratio >= 10.0),
            });
        }
    }
    curves.push(Curve {
        name: "the paper (3, 10 ms: at most)".into(),
        colour: PAPER,
        line: false,
        points: paper::GAPS
            .iter()
            .map(|g| point(g.0, &[g.1].into_iter().collect()))
            .collect(),
    });
    Ok(Section {
        key: "gap",
        title: "Overhead against the gap between events",
        about: format!(
            "A function that does nothing is called with a busy gap between the calls, and a property sees every call, \
             without and with its argument. Overhead is the time above the gaps' sum, which is the time of the program alone on a quiet \
             machine (last column); {repetitions} repetitions. \
             The paper: twice as slow at 0.5 ms, under 20 % from 3 ms, under 5 % from 10 ms."
        ),
        command: "verde check -p bench/properties/argument.prop -- calls 300 500 1".into(),
        tables: vec![table],
        plots: vec![Plot {
            title: "Overhead against the gap between events".into(),
            x: "gap between events (ms)".into(),
            y: "overhead (1 = twice as slow)".into(),
            curves,
        }],
        lines,
    })
}

fn curve(name: &str, colour: &'static str) -> Curve {
    Curve {
        name: name.into(),
        colour,
        line: true,
        points: Vec::new(),
    }
}

pub fn point(x: f64, sample: &Sample) -> Point {
    Point {
        x,
        y: sample.median(),
        low: sample.min(),
        high: sample.max(),
    }
}

//! Producers and consumers: 25 threads on one queue.

use verde_bench::lab::{Fallible, Lab, Under, args};
use verde_bench::report::{Line, Section, Table};
use verde_bench::stats::Sample;

pub fn measure(lab: &Lab) -> Fallible<Section> {
    let queue = lab.program("queue.c", "queue", &[])?;
    let (each, repetitions) = lab.pick((200u64, 3), (1_000, 7));
    let events = each * 10 + 1;
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..repetitions {
        for (under, into) in [Under::Nothing, Under::Verde, Under::Gdb]
            .into_iter()
            .zip(&mut times)
        {
            let ran = lab.run(under, "queue", &queue, &args([&each]))?;
            let ran = match under {
                Under::Nothing => ran,
                _ => ran.with_events(events)?,
            };
            into.push(ran.time());
        }
    }
    let [alone, ours, theirs] = times.map(|t| t.into_iter().collect::<Sample>());
    let mut found = Vec::new();
    for under in [Under::Verde, Under::Gdb] {
        let ran = lab.run(under, "queue", &queue, &args([&each, &"bug"]))?;
        let text = if ran.violations == 1 { "yes" } else { "no" };
        found.push(text.to_owned());
    }
    let ratio = theirs.median() / ours.median();
    let mut table = Table::new(&[
        "",
        "time of the program",
        "for each event",
        "finds the overflow",
    ]);
    let per = |s: &Sample| s.map(|v| v / events as f64).time();
    table.row([
        "alone".to_owned(),
        alone.time(),
        String::new(),
        String::new(),
    ]);
    table.row([
        "Verde".to_owned(),
        ours.time(),
        per(&ours),
        found[0].clone(),
    ]);
    table.row([
        "gdb".to_owned(),
        theirs.time(),
        per(&theirs),
        found[1].clone(),
    ]);
    Ok(Section {
        key: "queue",
        title: "Producers and consumers",
        about: format!(
            "The paper's queue: 5 threads fill it and 20 empty it, {events} events, {repetitions} repetitions; with its bug, a \
             producer does not wait for room and the queue overflows."
        ),
        command: format!("verde check -p bench/properties/queue.prop -- queue {each}"),
        tables: vec![table],
        plots: Vec::new(),
        lines: vec![Line {
            what: "producers and consumers, 25 threads".into(),
            ratio: Some(ratio),
            ours: ours.time(),
            baseline: theirs.time(),
            asked: "both find the bug".into(),
            met: Some(found.iter().all(|f| f == "yes")),
        }],
    })
}

//! A program that shows 60 frames a second.

use verde_bench::lab::{Fallible, Lab, Under, args, installed};
use verde_bench::report::{Line, Section, Table};
use verde_bench::stats::Sample;

pub fn measure(lab: &Lab) -> Fallible<Section> {
    let program = lab.program("frames.c", "frames", &[])?;
    let (frames, repetitions) = lab.pick((90u64, 2), (300, 3));
    let mut late = [const { Vec::new() }; 3];
    let mut cpu = [const { Vec::new() }; 3];
    let ways = [Under::Nothing, Under::Verde, Under::Gdb];
    for _ in 0..repetitions {
        for (i, under) in ways.into_iter().enumerate() {
            let mut ran = lab.run(under, "frames", &program, &args([&frames]))?;
            if under != Under::Nothing {
                ran = ran.with_events(frames)?;
            }
            late[i].push(ran.number("late"));
            cpu[i].push(ran.debugger_cpu() / ran.time());
        }
    }
    let late = late.map(|s| s.into_iter().collect::<Sample>());
    let cpu = cpu.map(|s| s.into_iter().collect::<Sample>());
    let mut table = Table::new(&["", "frames late", "CPU of the debugger"]);
    for (i, name) in ["alone", "Verde", "gdb"].into_iter().enumerate() {
        let used = if i == 0 {
            String::new()
        } else {
            cpu[i].percent()
        };
        table.row([name.to_owned(), late[i].plain(), used]);
    }
    let player = ["mpv", "mplayer", "ffplay", "vlc", "supertux2"]
        .into_iter()
        .find(|p| installed(p).is_some());
    let player = match player {
        Some(p) => format!(
            "{p} is installed: `verde check -p PROPERTY -- {p} FILE` with the function that draws its frames."
        ),
        None => "No player is installed here, so none was measured.".into(),
    };
    Ok(Section {
        key: "frames",
        title: "Frames of a 60 Hz program",
        about: format!(
            "Each frame takes 4 ms of work and is late when it is not finished after 16.7 ms; a property sees every frame. \
             {frames} frames, {repetitions} repetitions. The paper: no frame lost on players and a game, less than 10 % CPU for \
             gdb. {player}"
        ),
        command: format!("verde check -p bench/properties/frames.prop -- frames {frames}"),
        tables: vec![table],
        plots: Vec::new(),
        lines: vec![Line {
            what: "60 frames a second: CPU of the debugger".into(),
            ratio: Some(cpu[2].median() / cpu[1].median()),
            ours: format!("{}, {} late", cpu[1].percent(), late[1].plain()),
            baseline: format!("{}, {} late", cpu[2].percent(), late[2].plain()),
            asked: "no more late than alone".into(),
            met: Some(late[1].median() <= late[0].median()),
        }],
    })
}

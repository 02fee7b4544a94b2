//! Programs that show 60 frames a second: one of ours, and a player.

use verde_bench::lab::{Fallible, Lab, Ran, Under, args, home, installed};
use verde_bench::report::{Line, Section, Table};
use verde_bench::stats::Sample;

const WAYS: [(&str, Under); 3] = [
    ("alone", Under::Nothing),
    ("Verde", Under::Verde),
    ("gdb", Under::Gdb),
];

/// Frames late and the debugger's part of a processor, for each way.
struct Shown {
    late: [Sample; 3],
    cpu: [Sample; 3],
}

impl Shown {
    fn of(repetitions: usize, run: impl Fn(Under) -> Fallible<Ran>) -> Fallible<Shown> {
        let mut late = [const { Vec::new() }; 3];
        let mut cpu = [const { Vec::new() }; 3];
        for _ in 0..repetitions {
            for (i, (_, under)) in WAYS.into_iter().enumerate() {
                let ran = run(under)?;
                late[i].push(ran.number("late"));
                cpu[i].push(ran.debugger_cpu() / ran.time());
            }
        }
        Ok(Shown {
            late: late.map(|s| s.into_iter().collect()),
            cpu: cpu.map(|s| s.into_iter().collect()),
        })
    }

    fn rows(&self, program: &str, table: &mut Table) {
        for (i, (name, _)) in WAYS.into_iter().enumerate() {
            let used = if i == 0 {
                String::new()
            } else {
                self.cpu[i].percent()
            };
            let who = format!("{program}, {name}");
            table.row([who, self.late[i].plain(), used]);
        }
    }

    fn line(&self, what: &str) -> Line {
        Line {
            what: format!("{what}: CPU of the debugger"),
            ratio: Some(self.cpu[2].median() / self.cpu[1].median()),
            ours: format!("{}, {} late", self.cpu[1].percent(), self.late[1].plain()),
            baseline: format!("{}, {} late", self.cpu[2].percent(), self.late[2].plain()),
            asked: "no more late than alone".into(),
            met: Some(self.late[1].median() <= self.late[0].median()),
        }
    }
}

pub fn measure(lab: &Lab) -> Fallible<Section> {
    let program = lab.program("frames.c", "frames", &[])?;
    let (frames, repetitions) = lab.pick((90u64, 2), (300, 3));
    let own = Shown::of(repetitions, |under| {
        let ran = lab.run(under, "frames", &program, &args([&frames]))?;
        match under {
            Under::Nothing => Ok(ran),
            _ => ran.with_events(frames),
        }
    })?;
    let mut table = Table::new(&["", "frames late", "CPU of the debugger"]);
    own.rows("60 Hz program", &mut table);
    let mut lines = vec![own.line("60 frames a second")];
    let about_player = match installed("mpv") {
        Some(mpv) => {
            let shown = player(lab, &mpv, repetitions)?;
            shown.rows("mpv", &mut table);
            lines.push(shown.line("mpv, a film of 60 frames a second"));
            "mpv shows a film that FFmpeg makes as it goes, without a screen; the property sees every call that decodes \
             a frame, in a library without debug information."
        }
        None => "mpv is not installed here, so no player was measured.",
    };
    Ok(Section {
        key: "frames",
        title: "Frames of a 60 Hz program",
        about: format!(
            "Each frame takes 4 ms of work and is late when it is not finished after 16.7 ms; a property sees every frame. \
             {frames} frames, {repetitions} repetitions. The paper: no frame lost on players and a game, less than 10 % CPU for \
             gdb. {about_player}"
        ),
        command: format!("verde check -p bench/properties/frames.prop -- frames {frames}"),
        tables: vec![table],
        plots: Vec::new(),
        lines,
    })
}

fn player(lab: &Lab, mpv: &std::path::Path, repetitions: usize) -> Fallible<Shown> {
    let seconds = lab.pick(2, 5);
    let script = home().join("programs/player.lua");
    let script = format!("--script={}", script.display());
    let film = format!("av://lavfi:testsrc=size=640x360:duration={seconds}:rate=60");
    let line = args([
        &"--no-config",
        &"--vo=null",
        &"--no-audio",
        &"--really-quiet",
        &script,
        &film,
    ]);
    Shown::of(repetitions, |under| {
        let ran = lab.run(under, "player", mpv, &line)?;
        // Each frame takes one call at least, some a second one.
        if under != Under::Nothing && ran.events < seconds * 60 {
            return Err(format!("only {} events seen", ran.events).into());
        }
        Ok(ran)
    })
}

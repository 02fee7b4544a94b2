//! Checkpoint and restore, by the size of the process.

use crate::gap::point;
use crate::paper;
use std::path::Path;
use std::process::Command;
use verde_bench::lab::{Fallible, Lab, args};
use verde_bench::plot::{BASELINE, BASELINE_TOO, Curve, OURS, OURS_TOO, PAPER, PAPER_TOO, Plot};
use verde_bench::prompt::Prompt;
use verde_bench::report::{Line, Section, Table};
use verde_bench::stats::{Sample, seconds};

#[derive(Clone, Copy, PartialEq)]
struct Case {
    mb: u32,
    threads: u32,
    huge: bool,
    /// The program goes on at once, for which the memory of a large one is copied first.
    goes_on: bool,
}

impl Case {
    fn going_on(self) -> Case {
        Case {
            goes_on: true,
            ..self
        }
    }

    fn name(&self) -> String {
        let threads = match self.threads {
            1 => String::new(),
            n => format!(", {n} threads"),
        };
        let pages = if self.huge { ", huge pages" } else { "" };
        let goes_on = if self.goes_on { ", and goes on" } else { "" };
        format!("{} MB{threads}{pages}{goes_on}", self.mb)
    }
}

/// Times to save and to restore, and what Verde says of them itself (gdb says nothing).
struct Times {
    save: Sample,
    restore: Sample,
    said_save: Sample,
    said_restore: Sample,
}

pub fn measure(lab: &Lab) -> Fallible<Section> {
    let memory = lab.program("memory.c", "memory", &[])?;
    let sizes: &[u32] = lab.pick(
        &[1, 100, 1000],
        &[1, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000],
    );
    let (rounds, each) = lab.pick((1, 5), (2, 5));
    let mut cases: Vec<Case> = sizes.iter().map(|mb| case(*mb, 1, false)).collect();
    cases.push(case(1, 25, false));
    cases.push(case(100, 25, false));
    cases.push(case(1000, 1, true));
    cases.push(case(100, 1, false).going_on());
    cases.push(case(1000, 1, false).going_on());
    let mut results: Vec<(Case, Times, Option<Times>)> = Vec::new();
    for case in cases {
        let (mut ours, mut theirs) = (Pairs::default(), Pairs::default());
        // What takes less than a millisecond is easily disturbed, and soon repeated.
        let rounds = if case.mb == 1 { 3 * rounds } else { rounds };
        for _ in 0..rounds {
            ours.take(&mut verde(lab, &memory, case), "restored", case, each)?;
            // gdb's checkpoint holds one thread only.
            if case.threads == 1 {
                theirs.take(&mut gdb(&memory, case), "Switching", case, each)?;
            }
        }
        let theirs = (case.threads == 1).then(|| theirs.samples());
        results.push((case, ours.samples(), theirs));
    }
    let mut table = Table::new(&[
        "process",
        "ratio, save",
        "ratio, restore",
        "Verde saves",
        "Verde restores",
        "Verde says",
        "gdb saves",
        "gdb restores",
        "the paper (CRIU)",
    ]);
    for (case, ours, theirs) in &results {
        let published = paper::CHECKPOINTS.iter().find(|p| p.0 == case.mb);
        let published = published.map(|p| format!("{} / {}", seconds(p.1), seconds(p.2)));
        let said = format!(
            "{} / {}",
            seconds(ours.said_save.median()),
            seconds(ours.said_restore.median())
        );
        let ratio = |pick: fn(&Times) -> &Sample| match theirs {
            Some(t) => format!("{:.1}", pick(t).median() / pick(ours).median()),
            None => String::new(),
        };
        let time = |pick: fn(&Times) -> &Sample| match theirs {
            Some(t) => pick(t).time(),
            None => "one thread only".into(),
        };
        table.row([
            case.name(),
            ratio(|t| &t.save),
            ratio(|t| &t.restore),
            ours.save.time(),
            ours.restore.time(),
            said,
            time(|t| &t.save),
            time(|t| &t.restore),
            published.unwrap_or_default(),
        ]);
    }
    let mut lines = goals(&results);
    if !lab.quick {
        lines.push(many(lab, &memory)?);
    }
    Ok(Section {
        key: "checkpoint",
        title: "Checkpoint and restore",
        about: format!(
            "A program that allocates and writes to its memory; at a breakpoint `checkpoint` and `restart` are typed in turns, \
             {} times ({} with 1 MB); `and goes on` has a `continue` to the next breakpoint behind each `restart`: Verde copies the memory of a large program \
             then, or while nobody types for 50 ms. Both debuggers are timed from outside, from the command to the answer of the next one, so Verde's figures \
             include its prompt and the checkpoint that lets a restore be undone. What it says itself is the work alone; the \
             limits are for that, the ratios for the whole. The paper's figures are \
             CRIU's in RAM. gdb's checkpoint holds one thread and is used up by a restart.",
            rounds * each,
            3 * rounds * each
        ),
        command: "verde debug --batch --ex 'break mark' --ex run --ex checkpoint --ex 'restart 1' memory 100 0 25 0".into(),
        tables: vec![table],
        plots: vec![plot(&results)],
        lines,
    })
}

const fn case(mb: u32, threads: u32, huge: bool) -> Case {
    Case {
        mb,
        threads,
        huge,
        goes_on: false,
    }
}

fn verde(lab: &Lab, memory: &Path, case: Case) -> Command {
    let mut command = Command::new(&lab.verde);
    command.arg("debug").arg(memory);
    with(&mut command, case);
    command
}

fn gdb(memory: &Path, case: Case) -> Command {
    let mut command = verde_oracle::gdb();
    command
        .args(["-nx", "-q", "-iex", "set debuginfod enabled off"])
        .args(["-iex", "set confirm off", "--args"])
        .arg(memory);
    with(&mut command, case);
    command
}

fn with(command: &mut Command, case: Case) {
    let huge = u32::from(case.huge);
    command.args(args([&case.mb, &huge, &case.threads, &0]));
}

#[derive(Default)]
struct Pairs {
    saves: Vec<f64>,
    restores: Vec<f64>,
    said_saves: Vec<f64>,
    said_restores: Vec<f64>,
}

impl Pairs {
    /// Saves and restores in turns; `word` is in the answer to a restore that worked.
    fn take(&mut self, command: &mut Command, word: &str, case: Case, times: u32) -> Fallible<()> {
        let mut prompt = Prompt::start(command)?;
        prompt.command("break mark")?;
        prompt.command("run")?;
        for k in 1..=times {
            let (save, saved) = prompt.command("checkpoint")?;
            if !saved.to_lowercase().contains(&format!("checkpoint {k}: ")) {
                return Err(format!("no checkpoint {k}: {saved}").into());
            }
            let (mut restore, restored) = prompt.command(&format!("restart {k}"))?;
            if !restored.contains(word) {
                return Err(format!("no restart {k}: {restored}").into());
            }
            if case.goes_on {
                let (run, stopped) = prompt.command("continue")?;
                if !stopped.contains("Breakpoint 1, ") {
                    return Err(format!("no breakpoint behind restart {k}: {stopped}").into());
                }
                restore += run;
            }
            self.saves.push(save);
            self.restores.push(restore);
            self.said_saves.extend(said(&saved, " saved in "));
            self.said_restores.extend(said(&restored, " restored in "));
        }
        Ok(())
    }

    fn samples(self) -> Times {
        Times {
            save: self.saves.into_iter().collect(),
            restore: self.restores.into_iter().collect(),
            said_save: self.said_saves.into_iter().collect(),
            said_restore: self.said_restores.into_iter().collect(),
        }
    }
}

/// The seconds that follow these words.
fn said(text: &str, words: &str) -> Option<f64> {
    let (_, rest) = text.split_once(words)?;
    let ms: f64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(ms / 1e3)
}

fn goals(results: &[(Case, Times, Option<Times>)]) -> Vec<Line> {
    // A process, what each way may take, and the least ratio to gdb.
    let asked = [
        (case(1, 1, false), Some(1e-3), Some(40.0)),
        (case(1, 25, false), Some(3e-3), None),
        (case(100, 1, false), Some(5e-3), None),
        (case(1000, 1, true), Some(3e-3), None),
        (case(1000, 1, false), None, Some(1.0 / 1.5)),
        // To be seen beside those.
        (case(100, 1, false).going_on(), None, None),
        (case(1000, 1, false).going_on(), None, None),
    ];
    let mut lines = Vec::new();
    for (wanted, limit, least) in asked {
        let Some((case, ours, theirs)) = results.iter().find(|r| r.0 == wanted) else {
            continue;
        };
        let (save, restore) = (
            theirs.as_ref().map(|t| &t.save),
            theirs.as_ref().map(|t| &t.restore),
        );
        for (way, ours, said, theirs) in [
            ("save", &ours.save, &ours.said_save, save),
            ("restore", &ours.restore, &ours.said_restore, restore),
        ] {
            let ratio = theirs.map(|t| t.median() / ours.median());
            let mut asked = Vec::new();
            let mut met = true;
            if let Some(limit) = limit {
                asked.push(format!("at most {}", seconds(limit)));
                met &= said.median() <= limit;
            }
            if let Some(least) = least {
                asked.push(format!("{least:.2} times gdb's speed"));
                met &= ratio.is_some_and(|r| r >= least);
            }
            lines.push(Line {
                what: format!("{way} {}", case.name()),
                ratio,
                ours: format!("{}, says {}", ours.time(), seconds(said.median())),
                baseline: theirs.map(Sample::time).unwrap_or_default(),
                met: (!asked.is_empty()).then_some(met),
                asked: asked.join(", "),
            });
        }
    }
    lines
}

/// Many checkpoints of a process that writes to one page of a hundred in between: what they take in all.
fn many(lab: &Lab, memory: &Path) -> Fallible<Line> {
    const TIMES: u32 = 1000;
    let mut command = Command::new(&lab.verde);
    command
        .arg("debug")
        .arg(memory)
        .args(["100", "0", "1", "100"]);
    let mut prompt = Prompt::start(&mut command)?;
    prompt.command("break mark")?;
    prompt.command("run")?;
    let mut times = Vec::new();
    for k in 1..=TIMES {
        let (time, text) = prompt.command("checkpoint")?;
        if !text.contains(&format!("Checkpoint {k}: ")) {
            return Err(format!("no checkpoint {k}: {text}").into());
        }
        times.push(time);
        if k < TIMES {
            prompt.command("continue")?;
        }
    }
    let (pss, tables) = children_memory(prompt.id());
    let sum = pss + tables;
    let times: Sample = times.into_iter().collect();
    Ok(Line {
        what: format!("{TIMES} checkpoints of 100 MB, 1 % written in between: MB in all"),
        ratio: None,
        ours: format!(
            "{sum:.0} ({pss:.0} + {tables:.0} page tables), {} each",
            seconds(times.median())
        ),
        baseline: String::new(),
        asked: "at most 1536 MB".into(),
        met: Some(sum <= 1536.0),
    })
}

/// Proportional size and page tables of a process's children, in MB.
fn children_memory(parent: u32) -> (f64, f64) {
    let field = |path: String, name: &str| -> f64 {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let mut lines = text.lines().filter_map(|l| l.strip_prefix(name));
        let number = lines.next().and_then(|l| l.split_whitespace().next());
        number.and_then(|n| n.parse().ok()).unwrap_or(0.0)
    };
    let (mut pss, mut tables) = (0.0, 0.0);
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let at = entry.path().display().to_string();
        if field(format!("{at}/status"), "PPid:") == f64::from(parent) {
            pss += field(format!("{at}/smaps_rollup"), "Pss:");
            tables += field(format!("{at}/status"), "VmPTE:");
        }
    }
    (pss / 1024.0, tables / 1024.0)
}

fn plot(results: &[(Case, Times, Option<Times>)]) -> Plot {
    let is_plain = |c: &Case| c.threads == 1 && !c.huge && !c.goes_on;
    let plain = || results.iter().filter(|r| is_plain(&r.0));
    let ms = |s: &Sample| s.map(|v| v * 1e3);
    let ours = |pick: fn(&Times) -> &Sample| {
        plain()
            .map(|r| point(r.0.mb.into(), &ms(pick(&r.1))))
            .collect()
    };
    let theirs = |pick: fn(&Times) -> &Sample| {
        plain()
            .filter_map(|r| Some(point(r.0.mb.into(), &ms(pick(r.2.as_ref()?)))))
            .collect()
    };
    let published = |pick: fn(&(u32, f64, f64)) -> f64| {
        paper::CHECKPOINTS
            .iter()
            .map(|p| point(p.0.into(), &[pick(p) * 1e3].into_iter().collect()))
            .collect()
    };
    let curve = |name: &str, colour, line, points| Curve {
        name: name.into(),
        colour,
        line,
        points,
    };
    Plot {
        title: "Checkpoint and restore".into(),
        x: "size of the process (MB)".into(),
        y: "time (ms)".into(),
        curves: vec![
            curve("Verde, save", OURS, true, ours(|t| &t.save)),
            curve("Verde, restore", OURS_TOO, true, ours(|t| &t.restore)),
            curve("gdb, save", BASELINE, true, theirs(|t| &t.save)),
            curve("gdb, restore", BASELINE_TOO, true, theirs(|t| &t.restore)),
            curve("the paper (CRIU), save", PAPER, false, published(|p| p.1)),
            curve(
                "the paper (CRIU), restore",
                PAPER_TOO,
                false,
                published(|p| p.2),
            ),
        ],
    }
}

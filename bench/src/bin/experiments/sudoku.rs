//! The sudoku solver: checkpoints, and watchpoints on all 81 cells after a restore.

use std::process::{Command, Stdio};
use std::time::Instant;
use verde_bench::lab::{Fallible, Lab, Under, home};
use verde_bench::report::{Line, Section, Table};
use verde_bench::stats::Sample;

pub fn measure(lab: &Lab) -> Fallible<Section> {
    let right = lab.program("sudoku.c", "sudoku", &[])?;
    let mutant = lab.program("sudoku.c", "sudoku-mutant", &["-DWIDTH=10"])?;
    let repetitions = lab.pick(2, 5);
    let scenario = home().join("properties/sudoku.sc");
    let scenario = vec!["-s".to_owned(), scenario.display().to_string()];
    let (mut solved, mut hunted, mut theirs, mut stepped) = (vec![], vec![], vec![], vec![]);
    for _ in 0..repetitions {
        let ran = lab.run(Under::Verde, "sudoku", &right, &[])?;
        let events = ran.events;
        solved.push(ran.time() / events as f64);
        let ran = lab.verde_with("sudoku", &scenario, &mutant)?;
        if ran.violations != 1 || !ran.said.is_object() {
            return Err(format!("the mutant is not found: {}", ran.errors).into());
        }
        hunted.push(ran.wall);
        let ran = lab.run(Under::Gdb, "sudoku", &right, &[])?;
        theirs.push(ran.with_events(events)?.time() / events as f64);
        stepped.push(software_watchpoints(lab, &mutant)?);
    }
    let [solved, hunted, theirs, stepped] =
        [solved, hunted, theirs, stepped].map(|s| s.into_iter().collect::<Sample>());
    let mut table = Table::new(&["", "Verde", "gdb"]);
    table.row([
        "one event while the board is solved".to_owned(),
        solved.time(),
        theirs.time(),
    ]);
    table.row([
        "the mutant: violation, restore, 81 watchpoints, a checkpoint at each hit, to the end"
            .to_owned(),
        hunted.time(),
        format!(
            "watchpoints alone, no monitor or checkpoint: {}",
            stepped.time()
        ),
    ]);
    Ok(Section {
        key: "sudoku",
        title: "The sudoku solver with 81 watchpoints",
        about: format!(
            "The paper's scenario on a mutated solver (a row of the board is one cell too wide): a checkpoint before the board is \
             loaded, a restore when loading fails, then watchpoints on all 81 cells and a checkpoint at each hit. gdb has four \
             hardware watchpoints and steps through the program for more: its figure is `load_board` with 81 watchpoints and \
             nothing else. {repetitions} repetitions."
        ),
        command: "verde check -p bench/properties/sudoku.prop -s bench/properties/sudoku.sc -- sudoku-mutant".into(),
        tables: vec![table],
        plots: Vec::new(),
        lines: vec![Line {
            what: "sudoku: the whole scenario, against gdb's 81 watchpoints alone".into(),
            ratio: Some(stepped.median() / hunted.median()),
            ours: hunted.time(),
            baseline: stepped.time(),
            asked: String::new(),
            met: None,
        }],
    })
}

/// gdb from the beginning of `load_board` to its end with all cells watched.
fn software_watchpoints(lab: &Lab, mutant: &std::path::Path) -> Fallible<f64> {
    let script = lab.dir.join("watch.gdb");
    let mut text = String::from(
        "set pagination off\nset confirm off\nset can-use-hw-watchpoints 0\nbreak load_board\nrun\n",
    );
    for cell in 0..81 {
        text += &format!("watch board.cells[{cell}]\ncommands\nsilent\ncontinue\nend\n");
    }
    text += "break end_load\ncontinue\nkill\n";
    std::fs::write(&script, text)?;
    let start = Instant::now();
    let done = Command::new("timeout")
        .args(["120", "gdb", "-nx", "-batch", "-x"])
        .arg(&script)
        .arg(mutant)
        .env("BENCH_OUT", lab.dir.join("said"))
        .stdin(Stdio::null())
        .output()?;
    let time = start.elapsed().as_secs_f64();
    let out = String::from_utf8_lossy(&done.stdout);
    match out.contains("end_load") {
        true => Ok(time),
        false => Err(format!("gdb did not reach the end of load_board: {out}").into()),
    }
}

//! The paper's experiments, side by side with a monitor in gdb's Python.
//!
//!     make bench [QUICK=1] [ONLY=gap,cost]
//!
//! or `experiments VERDE REPORT-FOLDER [--quick] [--only NAMES] [--page docs/measurements.md]`.

mod checkpoints;
mod cost;
mod frames;
mod gap;
mod growth;
mod libraries;
mod machine;
mod paper;
mod queue;
mod stack;
mod sudoku;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use verde_bench::lab::{Fallible, Lab};
use verde_bench::report::{self, Section};

type Experiment = (&'static str, fn(&Lab) -> Fallible<Section>);

const EXPERIMENTS: [Experiment; 11] = [
    ("cost", cost::measure),
    ("gap", gap::measure),
    ("stack", stack::measure),
    ("queue", queue::measure),
    ("checkpoint", checkpoints::measure),
    ("frames", frames::measure),
    ("libraries", libraries::measure),
    ("sudoku", sudoku::measure),
    ("slices", growth::slices),
    ("threads", growth::threads),
    ("startup", growth::start_up),
];

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("experiments: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything could be measured.
fn run() -> Fallible<bool> {
    let usage = "usage: experiments VERDE REPORT-FOLDER [--quick] [--only NAMES] [--page FILE]";
    let mut words = std::env::args().skip(1);
    let verde = PathBuf::from(words.next().ok_or(usage)?);
    let folder = PathBuf::from(words.next().ok_or(usage)?);
    let (mut quick, mut only, mut page) = (false, None, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => quick = true,
            "--only" => only = Some(words.next().ok_or(usage)?),
            "--page" => page = Some(PathBuf::from(words.next().ok_or(usage)?)),
            _ => return Err(usage.into()),
        }
    }
    let chosen = |name: &str| match &only {
        Some(names) => names.split(',').any(|n| n == name),
        None => true,
    };
    let lab = Lab::new(verde, folder.join("work"), quick)?;
    let machine = machine::describe(&lab);
    let (mut sections, mut whole) = (Vec::new(), true);
    for (name, measure) in EXPERIMENTS {
        if !chosen(name) {
            continue;
        }
        let start = Instant::now();
        match measure(&lab) {
            Ok(section) => sections.push(section),
            Err(e) => {
                whole = false;
                eprintln!("{name} could not be measured: {e}");
            }
        }
        eprintln!("{name}: {:.0} s", start.elapsed().as_secs_f64());
    }
    report::write(&folder, &machine, &sections)?;
    let summary = report::summary(&sections);
    println!("{summary}\n{}", folder.join("report.md").display());
    if let Some(page) = page {
        report::into_page(&page, &format!("{machine}\n{summary}"))?;
    }
    Ok(whole)
}

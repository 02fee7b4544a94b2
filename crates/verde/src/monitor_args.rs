//! Options that concern properties on a running program.

use crate::args::{FormatArg, ShowArg, seconds};
use crate::launch_args::{LaunchArgs, RunArgs};
use crate::web_args::WebArgs;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use verde_cli::{Automation, CheckCommand, Exit, MonitorSetup, Often, RecordCommand};

/// Properties and how their monitors behave
#[derive(Args)]
pub struct MonitorArgs {
    /// A property file, or std:NAME for a shipped one; may be repeated
    #[arg(short, long = "property", value_name = "PROP")]
    property: Vec<PathBuf>,
    /// A Python file with functions for blocks and actions; may be repeated
    #[arg(short, long = "functions", value_name = "FUNCTIONS.py")]
    functions: Vec<PathBuf>,
    /// A scenario: what to do when states change
    #[arg(short, long, value_name = "SCENARIO")]
    scenario: Option<PathBuf>,
    /// Known violations, one `property:function:file` a line, with `*`; may be repeated
    #[arg(long, value_name = "FILE")]
    suppress: Vec<PathBuf>,
    /// Observe every event of the properties, not only those that matter now
    #[arg(long)]
    all_events: bool,
    /// How many events of a slice a violation shows
    #[arg(long, value_name = "N", default_value_t = 32)]
    history: usize,
    /// Keep a backtrace with each event
    #[arg(long)]
    history_stacks: bool,
    /// Seconds that a Python block or functions file may run before it is interrupted
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    block_timeout: f64,
    /// Take checkpoints by itself: after events, after changes of state, or every so many seconds
    #[arg(long, value_name = "events|states|SECONDS", value_parser = often)]
    auto_checkpoint: Option<Often>,
    /// Megabytes that such checkpoints may cost together
    #[arg(long, value_name = "MB", default_value_t = 1024)]
    checkpoint_budget: u64,
    /// At a violation go back to the last checkpoint and run the last interval again, with the
    /// data watched that the property names
    #[arg(long)]
    auto_zoom: bool,
    /// Observe by traps only
    #[arg(long)]
    no_fast: bool,
}

impl From<MonitorArgs> for MonitorSetup {
    fn from(a: MonitorArgs) -> MonitorSetup {
        // Traps are the only way so far: nothing to choose.
        let _ = a.no_fast;
        MonitorSetup {
            properties: a.property,
            functions: a.functions,
            scenario: a.scenario,
            suppress: a.suppress,
            all_events: a.all_events,
            history: a.history,
            history_stacks: a.history_stacks,
            block_limit: Duration::from_secs_f64(a.block_timeout),
            automation: Automation {
                often: a.auto_checkpoint.or(a.auto_zoom.then_some(Often::States)),
                budget: a.checkpoint_budget << 20,
                zoom: a.auto_zoom,
            },
        }
    }
}

fn often(text: &str) -> Result<Often, String> {
    match text {
        "events" => Ok(Often::Events),
        "states" => Ok(Often::States),
        other => match seconds(other) {
            Ok(time) => Ok(Often::Every(Duration::from_secs_f64(time))),
            Err(_) => Err("`events`, `states` or a number of seconds".into()),
        },
    }
}

/// Run a program to its end and report what its properties say
#[derive(Args)]
#[command(after_help = CHECK_HELP)]
pub struct CheckArgs {
    #[command(flatten)]
    monitors: MonitorArgs,
    #[arg(long, value_enum, default_value = "human")]
    format: FormatArg,
    #[arg(long, value_enum, default_value = "final")]
    show: ShowArg,
    /// Print state changes
    #[arg(short, long)]
    verbose: bool,
    /// Where the report goes; standard error without it
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a JUnit report, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a SARIF report, too
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// End the program after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<f64>,
    /// End the program at the first violation
    #[arg(long)]
    stop_on_violation: bool,
    #[command(flatten)]
    launch: LaunchArgs,
    /// Exit code when a property is violated
    #[arg(long, value_name = "N", default_value_t = Exit::VIOLATED)]
    error_exitcode: u8,
    #[command(flatten)]
    web: WebArgs,
    #[command(flatten)]
    run: RunArgs,
}

const CHECK_HELP: &str = "\
Exit code: 100 violated, 130 interrupted, 124 time limit, 1 error, 101 inconclusive,
otherwise the program's own (128+N if signal N killed it).
The program keeps its input and output; the report goes to standard error.

Examples:
  verde check -p queue.prop ./program input.txt
  verde check -p std:file -p std:malloc ./program --its --options
  verde check -p queue.prop --sarif out.sarif --junit out.xml --timeout 60 ./program";

impl From<CheckArgs> for CheckCommand {
    fn from(a: CheckArgs) -> CheckCommand {
        let (program, args) = a.run.split();
        CheckCommand {
            monitors: a.monitors.into(),
            format: a.format.into(),
            show: a.show.into(),
            verbose: a.verbose,
            output: a.output,
            junit: a.junit,
            sarif: a.sarif,
            timeout: a.timeout.map(Duration::from_secs_f64),
            stop_on_violation: a.stop_on_violation,
            launch: a.launch.into(),
            error_exitcode: a.error_exitcode,
            web: a.web.into(),
            program,
            args,
        }
    }
}

/// Run a program and write down the events that its properties see
#[derive(Args)]
#[command(after_help = RECORD_HELP)]
pub struct RecordArgs {
    #[command(flatten)]
    monitors: MonitorArgs,
    /// The trace
    #[arg(short, long, value_name = "TRACE.jsonl")]
    output: PathBuf,
    /// End the program after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<f64>,
    #[command(flatten)]
    run: RunArgs,
}

const RECORD_HELP: &str = "\
Examples:
  verde record -p queue.prop -o trace.jsonl ./program
  verde record -p queue.prop --all-events -o trace.jsonl ./program   for other properties, too
  verde replay -p queue.prop trace.jsonl";

impl From<RecordArgs> for RecordCommand {
    fn from(a: RecordArgs) -> RecordCommand {
        let (program, args) = a.run.split();
        RecordCommand {
            monitors: a.monitors.into(),
            output: a.output,
            timeout: a.timeout.map(Duration::from_secs_f64),
            program,
            args,
        }
    }
}

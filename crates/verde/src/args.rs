//! The command line.

use crate::bench::BenchArgs;
use crate::launch_args::{LaunchArgs, RunArgs};
use crate::monitor_args::{CheckArgs, MonitorArgs, RecordArgs};
use crate::web_args::WebArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use verde_cli::{
    DebugCommand, Exit, Format, Given, GraphCommand, LaunchSettings, LintCommand, ReplayCommand,
    Target,
};
use verde_session::Show;

/// Interactive runtime verification: a native debugger that checks properties
/// while the program runs.
#[derive(Parser)]
#[command(name = "verde", version, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  verde check -p queue.prop ./program          run it and report what breaks the property
  verde debug -p queue.prop ./program          stop at the call that breaks it
  verde debug ./program input.txt              look into a program with a prompt
  verde attach 4711                            the same for one that runs already
  verde lint queue.prop                        what is wrong with a property
  verde graph queue.prop -o queue.svg          a picture of it
  verde replay -p queue.prop trace.jsonl       run it over a recorded trace
  verde completions bash > /etc/bash_completion.d/verde

`verde help COMMAND` explains a command with examples.";

#[derive(Subcommand)]
pub enum Command {
    Check(CheckArgs),
    Debug(DebugArgs),
    Attach(AttachArgs),
    Record(RecordArgs),
    Replay(ReplayArgs),
    Lint(LintArgs),
    Graph(GraphArgs),
    Bench(BenchArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  verde completions zsh > ~/.zfunc/_verde")]
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum FormatArg {
    /// For people
    Human,
    /// One JSON object per line
    Jsonl,
}

impl From<FormatArg> for Format {
    fn from(f: FormatArg) -> Format {
        match f {
            FormatArg::Human => Format::Human,
            FormatArg::Jsonl => Format::Jsonl,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum ShowArg {
    /// After each event every live slice
    All,
    /// After each event the slices that took a transition
    Changed,
    /// Only violations and the final verdicts
    Final,
}

impl From<ShowArg> for Show {
    fn from(s: ShowArg) -> Show {
        match s {
            ShowArg::All => Show::All,
            ShowArg::Changed => Show::Changed,
            ShowArg::Final => Show::Final,
        }
    }
}

/// Commands to run before the prompt, or instead of it
#[derive(Args)]
struct CommandArgs {
    /// Run the commands of a file first; may be repeated
    #[arg(short = 'x', long = "command", value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Run a command, after those of files; may be repeated
    #[arg(long, value_name = "CMD")]
    ex: Vec<String>,
    /// Ask nothing and end after the commands; the exit code is 1 if one failed
    #[arg(long)]
    batch: bool,
    #[command(flatten)]
    monitors: MonitorArgs,
    #[command(flatten)]
    web: WebArgs,
}

impl CommandArgs {
    fn for_target(self, target: Target) -> DebugCommand {
        let files = self.file.into_iter().map(Given::File);
        DebugCommand {
            commands: files.chain(self.ex.into_iter().map(Given::Line)).collect(),
            batch: self.batch,
            monitors: self.monitors.into(),
            web: self.web.into(),
            target,
        }
    }
}

/// Debug a program at a prompt; the commands are gdb's
#[derive(Args)]
#[command(after_help = DEBUG_HELP)]
pub struct DebugArgs {
    #[command(flatten)]
    commands: CommandArgs,
    #[command(flatten)]
    launch: LaunchArgs,
    #[command(flatten)]
    run: RunArgs,
}

const DEBUG_HELP: &str = "\
Examples:
  verde debug ./program input.txt
  verde debug --batch --ex 'break f' --ex run --ex backtrace ./program
`help` at the prompt lists the commands.";

/// Debug a process that runs already; it goes on when the debugger ends
#[derive(Args)]
#[command(after_help = ATTACH_HELP)]
pub struct AttachArgs {
    #[command(flatten)]
    commands: CommandArgs,
    /// The process
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    pid: i32,
}

const ATTACH_HELP: &str = "\
Examples:
  verde attach 4711
  verde attach --batch --ex 'thread apply all bt' 4711
Killing verde does no harm to the process.";

/// Run properties over a saved trace, without the program
#[derive(Args)]
#[command(after_help = REPLAY_HELP)]
pub struct ReplayArgs {
    /// A property file; may be repeated
    #[arg(short, long = "property", value_name = "PROP", required = true)]
    property: Vec<PathBuf>,
    /// A Python file with functions for the properties' blocks and actions; may be repeated
    #[arg(short, long = "functions", value_name = "FUNCTIONS.py")]
    functions: Vec<PathBuf>,
    #[arg(long, value_enum, default_value = "human")]
    format: FormatArg,
    #[arg(long, value_enum, default_value = "changed")]
    show: ShowArg,
    /// How many events of a slice a violation shows
    #[arg(long, value_name = "N", default_value_t = 32)]
    history: usize,
    /// Seconds that a Python block or functions file may run before it is interrupted
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    block_timeout: f64,
    /// Exit code when a property is violated
    #[arg(long, value_name = "N", default_value_t = Exit::VIOLATED)]
    error_exitcode: u8,
    #[command(flatten)]
    web: WebArgs,
    /// The trace: one JSON object per line; `-` reads standard input
    #[arg(value_name = "TRACE.jsonl")]
    trace: PathBuf,
}

const REPLAY_HELP: &str = "\
Exit code: 100 violated, 130 interrupted, 1 error, 101 the trace is cut, 0 otherwise.

A line of the trace:
  {\"event\":\"queue_push\",\"args\":{\"queue\":1,\"prod_id\":3},\"tid\":7,\"loc\":\"queue.c:41\"}

Examples:
  verde replay -p queue.prop trace.jsonl
  verde replay -p queue.prop -f actions.py --show final trace.jsonl
  verde replay -p a.prop -p b.prop --format jsonl - < trace.jsonl";

/// Explain what is wrong with a property or a scenario; nothing is run
#[derive(Args)]
#[command(after_help = LINT_HELP)]
pub struct LintArgs {
    /// Property files (.prop) and scenarios (.sc)
    #[arg(value_name = "PROP", required = true)]
    files: Vec<PathBuf>,
    /// A Python file whose names the blocks and actions may use; it is read, not run
    #[arg(short, long = "functions", value_name = "FUNCTIONS.py")]
    functions: Vec<PathBuf>,
    #[arg(long, value_enum, default_value = "human")]
    format: FormatArg,
    /// A program: its functions, parameters and variables are looked up
    #[arg(long, value_name = "PROGRAM")]
    exe: Option<PathBuf>,
    /// Say for each block whether it runs in the typed subset or in Python, and why
    #[arg(long)]
    tiers: bool,
}

const LINT_HELP: &str = "\
Exit code: 1 if there is an error, 0 otherwise.

Examples:
  verde lint queue.prop
  verde lint queue.prop --exe ./program
  verde lint queue.prop -f actions.py --tiers
  verde lint --format jsonl properties/*.prop";

/// Draw a property: SVG needs no other program, DOT is for Graphviz
#[derive(Args)]
#[command(
    after_help = "Examples:\n  verde graph queue.prop -o queue.svg\n  verde graph queue.prop -o queue.dot"
)]
pub struct GraphArgs {
    #[arg(value_name = "PROP")]
    file: PathBuf,
    /// The picture; its ending chooses the format: .svg or .dot
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.001..=86_400.0).contains(&s) => Ok(s),
        _ => Err("a number of seconds between 0.001 and 86400".into()),
    }
}

impl From<ReplayArgs> for ReplayCommand {
    fn from(a: ReplayArgs) -> ReplayCommand {
        ReplayCommand {
            properties: a.property,
            functions: a.functions,
            format: a.format.into(),
            show: a.show.into(),
            history: a.history,
            block_limit: Duration::from_secs_f64(a.block_timeout),
            error_exitcode: a.error_exitcode,
            web: a.web.into(),
            trace: a.trace,
        }
    }
}

impl From<DebugArgs> for DebugCommand {
    fn from(a: DebugArgs) -> DebugCommand {
        let (program, args) = a.run.split();
        let mut command = a.commands.for_target(Target::Program(program, args));
        let settings = LaunchSettings::from(a.launch);
        let lines = settings.commands().into_iter().map(Given::Line);
        command.commands.splice(0..0, lines);
        command
    }
}

impl From<AttachArgs> for DebugCommand {
    fn from(a: AttachArgs) -> DebugCommand {
        a.commands.for_target(Target::Process(a.pid))
    }
}

impl From<LintArgs> for LintCommand {
    fn from(a: LintArgs) -> LintCommand {
        LintCommand {
            files: a.files,
            functions: a.functions,
            format: a.format.into(),
            exe: a.exe,
            tiers: a.tiers,
        }
    }
}

impl From<GraphArgs> for GraphCommand {
    fn from(a: GraphArgs) -> GraphCommand {
        GraphCommand {
            file: a.file,
            output: a.output,
        }
    }
}

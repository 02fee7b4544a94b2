//! The `verde` program: reads the command line and calls what does the work.

mod args;
mod bench;
mod launch_args;
mod monitor_args;
mod web_args;

use args::{Arguments, Command};
use clap::{CommandFactory, Parser};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use verde_cli::{Exit, Interrupt, Interruption, ReplayCommand};

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map(|l| format!(" at {}:{}", l.file(), l.line()));
        let what = info
            .payload()
            .downcast_ref::<&str>()
            .map(|s| s.to_string())
            .or_else(|| info.payload().downcast_ref::<String>().cloned())
            .unwrap_or_default();
        // Not `eprintln!`: a closed standard error must not panic again.
        let _ = writeln!(
            std::io::stderr(),
            "verde: a bug of Verde's own{}: {what}\nPlease report it with the command and its input.",
            place.unwrap_or_default()
        );
        std::process::exit(Exit::ERROR.0.into());
    }));
    let arguments = match Arguments::try_parse_from(web_args::joined(std::env::args_os())) {
        Ok(a) => a,
        Err(e) => {
            let _ = e.print();
            // clap's own code for a wrong command line is 2; here it is 1.
            return ExitCode::from(if e.use_stderr() { Exit::ERROR.0 } else { 0 });
        }
    };
    ExitCode::from(run(arguments.command).0)
}

/// ^C lets the replay report what it has; one that waits for input is ended.
fn on_interrupt(interrupt: Arc<Interrupt>, violated: u8) -> std::io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT])?;
    std::thread::Builder::new().spawn(move || {
        for _ in signals.forever() {
            interrupt.wanted.store(true, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(500));
            if !interrupt.ending.load(Ordering::Relaxed) {
                let code = if interrupt.violated.load(Ordering::Relaxed) {
                    violated
                } else {
                    Exit::INTERRUPTED.0
                };
                std::process::exit(code.into());
            }
        }
    })?;
    Ok(())
}

/// ^C ends the run, and its report says so; so does SIGTERM, which is how others end it, and the end
/// of the terminal, unless `nohup` was asked to keep that away.
fn until_interrupted() -> Arc<Interruption> {
    let interruption = Arc::new(Interruption::default());
    let asked = interruption.clone();
    // Without the handler ^C simply kills the run.
    let mut all = vec![SIGINT, SIGTERM];
    all.extend((!verde_session::is_ignored(SIGHUP)).then_some(SIGHUP));
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(all) {
        let wait = move || signals.forever().for_each(|_| asked.ask());
        let _ = std::thread::Builder::new().spawn(wait);
    }
    interruption
}

fn run(command: Command) -> Exit {
    match command {
        Command::Lint(a) => {
            verde_cli::lint(&a.into(), &mut std::io::stdout().lock()).unwrap_or(Exit::ERROR)
        }
        Command::Check(a) => verde_cli::check(a.into(), &until_interrupted()),
        Command::Record(a) => verde_cli::record(&a.into(), &until_interrupted()),
        Command::Debug(a) => verde_cli::debug(a.into()),
        Command::Attach(a) => verde_cli::debug(a.into()),
        Command::Graph(a) => verde_cli::graph(&a.into()),
        Command::Bench(a) => bench::run(&a),
        Command::Replay(a) => {
            let command: ReplayCommand = a.into();
            let interrupt = Arc::new(Interrupt::default());
            // Without the handler ^C simply kills the replay.
            let _ = on_interrupt(interrupt.clone(), command.error_exitcode);
            verde_cli::replay(command, &interrupt)
        }
        Command::Completions { shell } => {
            clap_complete::generate(
                shell,
                &mut Arguments::command(),
                "verde",
                &mut std::io::stdout(),
            );
            Exit::OK
        }
    }
}

//! `verde bench`: the paper's experiments, which are a program of their own.

use clap::Args;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use verde_cli::Exit;

/// Run the paper's experiments beside gdb, and write a report
///
/// It needs gdb and the program `experiments`, which `make bench` builds beside verde.
#[derive(Args)]
#[command(after_help = "\
Examples:
  verde bench                                  everything: bench/report/report.md, with plots
  verde bench --quick /tmp/report              in less than three minutes
  verde bench --quick --only cost,gap")]
pub struct BenchArgs {
    /// Fewer repetitions: less than three minutes
    #[arg(long)]
    quick: bool,
    /// Only these experiments, with commas between them
    #[arg(long, value_name = "NAMES")]
    only: Option<String>,
    /// Where the report goes
    #[arg(value_name = "FOLDER", default_value = "bench/report")]
    folder: PathBuf,
}

/// Becomes that program.
pub fn run(args: &BenchArgs) -> Exit {
    let done = std::env::current_exe().map(|verde| experiments(&verde, args).exec());
    let (Ok(error) | Err(error)) = done;
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => {
            "\nhint: `make bench` in Verde's sources builds and runs them"
        }
        _ => "",
    };
    let _ = writeln!(
        std::io::stderr(),
        "error: the experiments cannot be started: {error}{hint}"
    );
    Exit::ERROR
}

fn experiments(verde: &Path, args: &BenchArgs) -> Command {
    let mut command = Command::new(verde.with_file_name("experiments"));
    command.arg(verde).arg(&args.folder);
    command.args(args.quick.then_some("--quick"));
    if let Some(names) = &args.only {
        command.arg("--only").arg(names);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_experiments_are_beside_verde_and_get_what_was_said() {
        let args = BenchArgs {
            quick: true,
            only: Some("cost,gap".into()),
            folder: "report".into(),
        };
        let command = experiments(Path::new("/opt/bin/verde"), &args);
        assert_eq!(command.get_program(), "/opt/bin/experiments");
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(
            words,
            ["/opt/bin/verde", "report", "--quick", "--only", "cost,gap"]
        );
    }
}

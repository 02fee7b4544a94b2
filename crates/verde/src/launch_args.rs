//! Options of starting a program, common to several commands.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use verde_cli::LaunchSettings;

/// How the program is started
#[derive(Args)]
pub struct LaunchArgs {
    /// Run the program in a user and PID namespace: restoring a checkpoint keeps ids without root
    #[arg(long)]
    namespace: bool,
    /// Let the program's malloc use huge pages: checkpoints of much memory are faster
    #[arg(long)]
    huge_pages: bool,
    /// Let files come back with checkpoints, too: what the program writes in the working
    /// directory, or in these, is kept aside until it ends
    #[arg(
        long,
        value_name = "DIR,...",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on"
    )]
    fs_snapshot: Option<String>,
}

impl From<LaunchArgs> for LaunchSettings {
    fn from(a: LaunchArgs) -> LaunchSettings {
        LaunchSettings {
            namespace: a.namespace,
            huge_pages: a.huge_pages,
            fs_snapshot: a.fs_snapshot,
        }
    }
}

/// What to run. One list for clap, which would else look for options between a program and its
/// first argument.
#[derive(Args)]
pub struct RunArgs {
    /// The program to run, a path or a name found in PATH; all that follows is for it
    #[arg(
        required = true,
        trailing_var_arg = true,
        value_names = ["PROGRAM", "ARGS"],
    )]
    command: Vec<OsString>,
}

impl RunArgs {
    /// The program and its arguments.
    pub fn split(self) -> (PathBuf, Vec<OsString>) {
        let mut words = self.command.into_iter();
        (words.next().unwrap_or_default().into(), words.collect())
    }
}

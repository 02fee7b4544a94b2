//! Running the program as a user does.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[path = "../lab/plugin.rs"]
mod plugin;

use plugin::plugin;
pub use plugin::root;

/// A folder for one test, removed at its end.
pub struct Dir(PathBuf);

impl Dir {
    pub fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("verde-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Dir(path)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(o: Output) -> Ran {
        Ran {
            code: o.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&o.stdout).into_owned(),
            err: String::from_utf8_lossy(&o.stderr).into_owned(),
        }
    }
}

pub fn command(dir: &Path) -> Command {
    plugin();
    let mut c = Command::new(env!("CARGO_BIN_EXE_verde"));
    c.current_dir(dir)
        .env("NO_COLOR", "1")
        .env_remove("RUST_BACKTRACE");
    c
}

pub fn verde(dir: &Path, args: &[&str]) -> Ran {
    let ran: Ran = command(dir).args(args).output().unwrap().into();
    assert!(!ran.err.contains("bug of Verde"), "{}", ran.err);
    ran
}

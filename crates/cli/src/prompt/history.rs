//! The lines typed in earlier sessions.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

/// Lines kept; the file is cut to them when it has grown to twice as many.
const MOST: usize = 1000;

/// Where lines are kept: `$XDG_STATE_HOME/verde/history`. Nothing of it is
/// needed for a session: what cannot be read or written is left.
pub(super) struct History {
    path: Option<PathBuf>,
    last: String,
}

fn place() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.filter(|p| p.is_absolute()).or_else(|| {
        let home = PathBuf::from(std::env::var_os("HOME")?);
        home.is_absolute().then(|| home.join(".local/state"))
    });
    Some(state?.join("verde/history"))
}

impl History {
    /// The place, and the lines that are there, oldest first.
    pub fn open() -> (History, Vec<String>) {
        let path = place();
        let text = path.as_ref().and_then(|p| std::fs::read(p).ok());
        let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
        let all: Vec<&str> = text.lines().collect();
        let kept = &all[all.len().saturating_sub(MOST)..];
        let history = History {
            path,
            last: kept.last().copied().unwrap_or_default().to_owned(),
        };
        if all.len() > 2 * MOST {
            history.rewrite(kept);
        }
        (history, kept.iter().map(|l| (*l).to_owned()).collect())
    }

    fn rewrite(&self, lines: &[&str]) {
        if let Some(mut file) = self.file(false) {
            let _ = file.write_all((lines.join("\n") + "\n").as_bytes());
        }
    }

    fn file(&self, append: bool) -> Option<File> {
        let path = self.path.as_ref()?;
        let mut dirs = DirBuilder::new();
        dirs.recursive(true)
            .mode(0o700)
            .create(path.parent()?)
            .ok()?;
        let mut options = OpenOptions::new();
        options.create(true).mode(0o600);
        match append {
            true => options.append(true),
            false => options.write(true).truncate(true),
        };
        options.open(path).ok()
    }

    /// Adds a line; `false` if it is the one before again, or empty.
    pub fn add(&mut self, line: &str) -> bool {
        let line = line.trim_end();
        if line.is_empty() || line == self.last {
            return false;
        }
        self.last = line.to_owned();
        if let Some(mut file) = self.file(true) {
            // One write: sessions side by side do not mix their lines.
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
        true
    }
}

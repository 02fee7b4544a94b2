//! Options of starting a program, as commands of the prompt.

/// How a program is started.
#[derive(Clone, Debug, Default)]
pub struct LaunchSettings {
    /// In a user and PID namespace.
    pub namespace: bool,
    /// With malloc on huge pages.
    pub huge_pages: bool,
    /// With files that come back: `on`, or the directories.
    pub fs_snapshot: Option<String>,
}

impl LaunchSettings {
    /// The commands that say the same.
    pub fn commands(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.namespace {
            lines.push("set namespace on".to_owned());
        }
        if self.huge_pages {
            lines.push("set huge-pages on".to_owned());
        }
        if let Some(dirs) = &self.fs_snapshot {
            lines.push(format!("set fs-snapshot {dirs}"));
        }
        lines
    }
}

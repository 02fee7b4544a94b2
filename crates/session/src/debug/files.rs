//! Files that the program writes, when they come back with checkpoints.

use super::Debugger;
use super::failure::{Failure, Result, failure};
use super::foreign_files;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::rc::Rc;
use verde_checkpoint::Layers;

/// The directories of `set fs-snapshot`; `None`: off.
pub(super) fn directories(text: &str) -> Option<Vec<PathBuf>> {
    match text {
        "off" => None,
        "" | "on" => Some(Vec::new()),
        list => Some(list.split(',').map(PathBuf::from).collect()),
    }
}

/// Nothing needs a user namespace, then.
pub(super) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}

impl Debugger {
    /// Layers for the next start of the program, if they are wanted.
    pub(super) fn new_layers(&mut self) -> Result<Option<Rc<Layers>>> {
        let Some(mut dirs) = self.settings.fs_snapshot.clone() else {
            return Ok(None);
        };
        if !self.wants_namespace() && !is_root() {
            return failure(
                "--fs-snapshot needs a mount namespace, which an ordinary user gets in a user \
                 namespace only: add --namespace (or \"set namespace on\")",
            );
        }
        let cwd = match &self.settings.cwd {
            Some(cwd) => cwd.clone(),
            None => std::env::current_dir()?,
        };
        if dirs.is_empty() {
            dirs.push(cwd);
        }
        for left in Layers::left_behind() {
            let left = left.display();
            self.say(&format!(
                "warning: a debugger that was killed has left files of its program in {left}: \
                 see the README there"
            ))?;
        }
        let layers = Layers::prepare(&dirs)?;
        if self.wants_namespace()
            && let Some(file) = foreign_files::find(layers.dirs())
        {
            let file = file.display();
            self.say(&format!(
                "warning: {file} has an owner or a group that a user namespace does not know: \
                 with --fs-snapshot the program cannot change it (EOVERFLOW)"
            ))?;
        }
        Ok(Some(Rc::new(layers)))
    }

    /// A start with layers that failed.
    pub(super) fn without_layers(
        &mut self,
        layers: Option<Rc<Layers>>,
        reason: Failure,
    ) -> Failure {
        let Some(layers) = layers else {
            return reason;
        };
        let home = layers.home().display().to_string();
        if let Err(e) = layers.write_back() {
            tracing::debug!(error = %e, "layers stay");
        }
        let Failure(text) = reason;
        match text.strip_prefix("mount overlay") {
            Some(why) => Failure(format!(
                "no snapshots of files: the kernel refuses an overlay kept in {home}{why}; TMPDIR \
                 can name a directory on another file system"
            )),
            None => Failure(text),
        }
    }

    /// The program is gone. If no checkpoint can bring it back, its files go where they belong.
    pub(super) fn program_left_files(&mut self) {
        if self.files.is_some() && !self.checkpoints.can_revive() {
            self.settle_files();
        }
    }

    /// What to say of files that are not where the user looks for them.
    pub(super) fn say_files_wait(&mut self) -> Result<()> {
        let Some(files) = &self.files else {
            return Ok(());
        };
        let dirs: Vec<String> = files.dirs().map(|d| d.display().to_string()).collect();
        self.say(&format!(
            "What it has written in {} is kept aside while checkpoints can bring it back; it is \
             written there with the next \"run\", when they are deleted, and when verde ends.",
            dirs.join(", ")
        ))
    }

    /// Writes the program's files to their directories. Its checkpoints are gone then.
    pub(super) fn settle_files(&mut self) {
        let Some(files) = self.files.take() else {
            return;
        };
        let count = self.forget_checkpoints();
        let text = match files.write_back() {
            Ok(Some(warning)) => Some(format!("warning: {warning}")),
            Ok(None) => None,
            Err(e) => Some(format!("warning: {e}")),
        };
        let dropped = (count > 0).then(|| {
            "The checkpoints of this run are deleted: its files have been written.".to_owned()
        });
        for line in text.into_iter().chain(dropped) {
            // There may be nobody left to tell.
            let _ = self.say(&line);
        }
    }

    /// No file of the program is lost with the session.
    pub(super) fn leave_no_files(&mut self) {
        if self.files.is_none() {
            return;
        }
        if let Err(error) = self.end_process() {
            tracing::debug!(%error, "the program did not end");
        }
        // Nobody wants to hear of checkpoints any more.
        self.forget_checkpoints();
        self.settle_files();
    }

    /// Whether detaching would leave files aside.
    pub(super) fn refuse_to_leave_files(&self) -> Result<()> {
        match &self.files {
            None => Ok(()),
            Some(files) => failure(format!(
                "Cannot detach: with --fs-snapshot the program's files are in {} until it ends.",
                files.home().display()
            )),
        }
    }
}

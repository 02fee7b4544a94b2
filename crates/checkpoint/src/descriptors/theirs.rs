//! What the children of a process have open, and so may have in common with it.

use super::pipes::is_inherited;
use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use verde_engine::{Process, Tid};
use verde_sys::descriptor::Descriptor;
use verde_sys::{descriptor, procfs};

/// What the descriptors of children lead to, of theirs and so on.
pub(super) struct Theirs<'a> {
    process: &'a Process,
    targets: HashSet<String>,
    /// Perhaps everything: some may not be looked at.
    all: bool,
    /// Nothing of the process can be made anew.
    no_room: bool,
}

impl<'a> Theirs<'a> {
    /// Looks at the children of a process, which run meanwhile, and at those that it had at
    /// earlier checkpoints.
    pub fn of(process: &'a Process, children: &[Tid]) -> Theirs<'a> {
        let mut theirs = Theirs {
            process,
            targets: HashSet::new(),
            all: false,
            no_room: false,
        };
        let mut left = children.to_vec();
        let others = process.remembered_children();
        left.extend(others.filter(|child| !children.contains(child)));
        while let Some(child) = left.pop() {
            let threads = procfs::threads(child).unwrap_or_default();
            left.extend(procfs::children(child, &threads));
            match targets(child) {
                Ok(targets) => theirs.targets.extend(targets),
                Err(_) => theirs.all |= !crate::save::has_ended(child),
            }
        }
        theirs
    }

    /// Where the process has no room for new descriptors.
    pub fn without_room(self) -> Theirs<'a> {
        Theirs {
            no_room: true,
            ..self
        }
    }

    /// The process has it from whoever started it, who may have left it to others, too.
    pub fn are_older(&self, d: &Descriptor) -> bool {
        let was_given = |about: &Metadata| self.process.was_given(about.dev(), about.ino());
        is_inherited(d) || d.about().is_some_and(was_given)
    }

    /// A `pipe` or `socket` with this number is the process's alone, and a copy can get it anew.
    pub fn leave(&self, kind: &str, number: u64) -> bool {
        !self.no_room && !self.have(kind, number)
    }

    /// They may have a `pipe` or `socket` with this number.
    pub fn have(&self, kind: &str, number: u64) -> bool {
        self.all
            || (!self.targets.is_empty() && self.targets.contains(&format!("{kind}:[{number}]")))
    }
}

/// One that is ending closes all of them, perhaps while they are looked at.
fn targets(child: Tid) -> verde_sys::Result<Vec<String>> {
    const TRIES: usize = 10;
    let mut targets = Vec::new();
    for _ in 0..TRIES {
        targets = descriptor::targets(child)?;
        if descriptor::numbers(child)?.len() == targets.len() {
            break;
        }
    }
    Ok(targets)
}

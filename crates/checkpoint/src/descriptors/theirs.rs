//! What the children of a process have open, and so may have in common with it.

use std::collections::HashSet;
use verde_engine::Tid;
use verde_sys::{descriptor, procfs};

/// What the descriptors of children lead to, of theirs and so on.
#[derive(Default)]
pub(super) struct Theirs {
    targets: HashSet<String>,
    /// Perhaps everything: some may not be looked at.
    all: bool,
}

impl Theirs {
    /// Looks at some children, which run meanwhile.
    pub fn of(children: &[Tid]) -> Theirs {
        let mut theirs = Theirs::default();
        let mut left = children.to_vec();
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

    /// They may have whatever there is.
    pub fn anything() -> Theirs {
        Theirs {
            all: true,
            ..Theirs::default()
        }
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

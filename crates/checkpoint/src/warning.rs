//! What a checkpoint does not hold.

use std::fmt;

/// Something that will not be, or was not, as it was. One line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Threads have other ids than they had.
    NewIds,
    /// A trap was set in something that did not exist then.
    LostTraps(usize),
    /// The scheduling or affinity of a thread was refused.
    Scheduling,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::NewIds => f.write_str(
                "process and thread ids have changed (keeping them needs root or --namespace): \
                 mutexes held now of the errorcheck, robust and priority kinds cannot be unlocked",
            ),
            Warning::LostTraps(count) => write!(
                f,
                "{count} breakpoint locations or watchpoints do not exist in the restored program"
            ),
            Warning::Scheduling => {
                f.write_str("the CPU affinity or priority of some threads was not restored")
            }
        }
    }
}

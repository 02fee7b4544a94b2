//! Who has ends of pipes.

use crate::Tid;
use crate::descriptor::{self, place};
use std::collections::BTreeMap;
use std::os::fd::RawFd;

/// For pipes, by number, where one of their ends can be opened as a file: that of some process, or
/// one of ours that is not among `except`. Pipes of which nobody has an end are missing.
pub fn places(pipes: &[u64], except: &[RawFd]) -> BTreeMap<u64, String> {
    let mut found = BTreeMap::new();
    let own = std::process::id();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in processes {
        if found.len() == pipes.len() {
            break;
        }
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        // Those of other users cannot be seen, nor opened.
        for number in descriptor::numbers(Tid(pid)).unwrap_or_default() {
            if pid.cast_unsigned() == own && except.contains(&number) {
                continue;
            }
            let target = descriptor::target(Tid(pid), number);
            let Some(pipe) = target.as_deref().and_then(number_of) else {
                continue;
            };
            if pipes.contains(&pipe) {
                found.entry(pipe).or_insert_with(|| place(Tid(pid), number));
            }
        }
    }
    found
}

/// The number of a pipe from what leads to it: `pipe:[1234]`.
fn number_of(target: &str) -> Option<u64> {
    let number = target.strip_prefix("pipe:[")?.strip_suffix(']')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptors::identity;
    use std::os::fd::AsRawFd;

    #[test]
    fn an_end_of_ours_is_found_unless_it_does_not_count() {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let (_, number) = identity(&reader).expect("a number");
        let found = places(&[number], &[]);
        assert!(found.contains_key(&number), "{found:?}");
        let ours = [reader.as_raw_fd(), writer.as_raw_fd()];
        assert_eq!(places(&[number], &ours), BTreeMap::new());
    }
}

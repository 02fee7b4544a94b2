//! Files that a program in a user namespace cannot change below an overlay:
//! before the first change the kernel copies them with their owner and group,
//! and the namespace knows no others than the user's own.

use std::collections::VecDeque;
use std::fs::{Metadata, metadata, read_dir};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// So many are looked at: a start must not wait for a whole disk.
const MOST: usize = 4096;

/// One that the user could change, nearest to the directories.
pub(super) fn find<'a>(dirs: impl Iterator<Item = &'a Path>) -> Option<PathBuf> {
    let own = metadata("/proc/self").ok()?;
    let mut left: VecDeque<PathBuf> = dirs.map(Path::to_owned).collect();
    let mut looked = 0;
    while let Some(dir) = left.pop_front() {
        // What we may not read we cannot judge.
        for entry in read_dir(&dir).into_iter().flatten().flatten() {
            looked += 1;
            let Ok(found) = entry.metadata() else {
                continue;
            };
            if is_foreign(&found, &own) {
                return Some(entry.path());
            }
            if found.is_dir() {
                left.push_back(entry.path());
            }
            if looked == MOST {
                return None;
            }
        }
    }
    None
}

/// Written by the owner, or by others if they may.
fn is_foreign(file: &Metadata, own: &Metadata) -> bool {
    let by = match file.uid() == own.uid() {
        true => 0o200,
        false => 0o022,
    };
    let differs = file.uid() != own.uid() || file.gid() != own.gid();
    differs && !file.is_symlink() && file.mode() & by != 0
}

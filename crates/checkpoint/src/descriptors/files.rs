//! Offsets of files, and whether files have changed.

use crate::snapshot::{Item, Items};
use crate::{Result, Warning};
use std::fs;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;
use verde_engine::Tid;
use verde_sys::descriptors::{Descriptor, seek};
use verde_sys::pidfd::PidFd;

/// The regular files of a process.
pub(super) struct Files(Vec<File>);

struct File {
    number: RawFd,
    path: String,
    offset: u64,
    flags: i32,
    /// When it was last written, if the process can write it.
    written: Option<SystemTime>,
}

fn stat(pid: Tid, number: RawFd) -> Option<fs::Metadata> {
    fs::metadata(format!("/proc/{pid}/fd/{number}")).ok()
}

/// The files that this process itself reads and writes as its standard ones.
/// The program may have the same; moving their offsets would garble our own
/// input and output.
fn our_own() -> Vec<(u64, u64)> {
    let files = (0..3).filter_map(|n| fs::metadata(format!("/proc/self/fd/{n}")).ok());
    files.map(|m| (m.dev(), m.ino())).collect()
}

impl Files {
    pub fn save(pid: Tid, list: &[Descriptor]) -> Files {
        let ours = our_own();
        let paths = list.iter().filter(|d| d.target.starts_with('/'));
        let files = paths.filter_map(|d| {
            let meta = stat(pid, d.number)?;
            if !meta.is_file() || ours.contains(&(meta.dev(), meta.ino())) {
                return None;
            }
            Some(File {
                number: d.number,
                path: d.target.clone(),
                offset: d.field("pos")?.parse().ok()?,
                flags: d.flags(),
                written: meta.modified().ok().filter(|_| d.writes()),
            })
        });
        Files(files.collect())
    }

    pub fn restore(
        &self,
        pid: Tid,
        handle: &PidFd,
        without: &Items,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        if without.contains(Item::Offsets) {
            return Ok(());
        }
        let mut changed: Vec<String> = Vec::new();
        for file in &self.0 {
            let fd = handle.descriptor(file.number)?;
            super::set_flags_of(&fd, file.flags)?;
            seek(fd, file.offset)?;
            let now = stat(pid, file.number).and_then(|m| m.modified().ok());
            if file.written.is_some() && now != file.written && !changed.contains(&file.path) {
                changed.push(file.path.clone());
            }
        }
        if !changed.is_empty() {
            warnings.push(Warning::ChangedFiles(changed));
        }
        Ok(())
    }
}

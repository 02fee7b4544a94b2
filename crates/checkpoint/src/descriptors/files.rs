//! Offsets of files and directories, whether files have changed, and the contents of those
//! without a name, which are nobody else's: memfd, temporary ones.

use crate::memory::{Shared, is_secret_file};
use crate::snapshot::{Item, Items};
use crate::{Result, Warning};
use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, RawFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::SystemTime;
use verde_engine::Tid;
use verde_sys::descriptor::{Descriptor, place, target};
use verde_sys::descriptors::{identity, is_queue};
use verde_sys::file_control::seals;
use verde_sys::inherited;
use verde_sys::number as n;
use verde_sys::pidfd::PidFd;

/// The regular files and directories of a process.
pub(super) struct Files(Vec<File>);

/// What was found among them.
pub(super) struct Found {
    pub files: Files,
    /// Numbers of message queues.
    pub queues: Vec<RawFd>,
}

struct File {
    number: RawFd,
    offset: u64,
    flags: i32,
    /// When it was last written, if the process can write it.
    written: Option<SystemTime>,
    /// What is in it, if it has no name.
    contents: Option<Vec<u8>>,
    /// Who might do what to it, then.
    mode: u32,
    /// What could not be done to it any more, then.
    seals: i32,
    /// How long it was, if all of it comes back as memory.
    mapped: Option<u64>,
}

/// In a mode: its owner may write.
const OWNER_WRITES: u32 = 0o200;

/// Contents kept with a snapshot, at most.
const MOST_CONTENTS: u64 = 64 << 20;

/// The files that this process itself writes as its standard ones, and reads
/// if `input`, and those that whoever started it left open for writing. The
/// program may have the same; moving their offsets would garble our own input
/// and output, or a log of others.
pub(super) fn our_own(input: bool) -> Vec<(u64, u64)> {
    let read = input.then(|| identity(io::stdin())).flatten();
    let written = [identity(io::stdout()), identity(io::stderr())];
    let standard = written.into_iter().flatten().chain(read);
    let shared = inherited::shared().iter().filter(|s| s.writes);
    standard.chain(shared.map(|s| (s.device, s.node))).collect()
}

impl File {
    /// Gives a file without a name what was in it, if that was kept.
    fn put_back(&self, pid: Tid) -> Option<()> {
        let contents = self.contents.as_ref()?;
        let path = place(pid, self.number);
        let now = fs::metadata(&path).ok()?.mode();
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).ok();
        // A sealed one cannot have changed.
        if fs::read(&path).is_ok_and(|now| now == *contents) {
            return match now == self.mode {
                true => Some(()),
                false => set(self.mode),
            };
        }
        if now & OWNER_WRITES == 0 {
            set(now | OWNER_WRITES)?;
        }
        let mut file = fs::OpenOptions::new().write(true).open(&path).ok()?;
        // Not emptied before: who has mapped it would lose its memory.
        file.write_all(contents).ok()?;
        file.set_len(contents.len() as u64).ok()?;
        set(self.mode)?;
        file.set_modified(self.written?).ok()
    }
}

/// Those of the kernel have no contents of their own.
fn keeps_what_is_written(d: &Descriptor) -> bool {
    d.writes() && (d.is_on_disk() || !d.target().starts_with("/proc/"))
}

impl Files {
    pub fn save(
        pid: Tid,
        list: &[Descriptor],
        handle: &PidFd,
        keep_input: bool,
        shared: &Shared,
    ) -> Found {
        let ours = our_own(keep_input);
        let mut left = MOST_CONTENTS;
        let mut queues = Vec::new();
        let files = list.iter().filter_map(|d| {
            let meta = d.about()?;
            let has_offset = (meta.is_file() || meta.is_dir()) && d.flags() & n::O_PATH == 0;
            if !has_offset || !d.has_path() || ours.contains(&(meta.dev(), meta.ino())) {
                return None;
            }
            // They have no directory above them.
            let may_be_queue = || d.may_be_made_up() && d.target().rfind('/') == Some(0);
            if meta.is_file() && may_be_queue() && is_queue(pid, d.number) {
                queues.push(d.number);
                return None;
            }
            // As a file it has nothing.
            if d.may_be_made_up() && is_secret_file(d.target()) {
                return None;
            }
            let contents = match meta.nlink() == 0 && d.writes() && meta.len() <= left {
                true => fs::read(place(pid, d.number)).ok(),
                false => None,
            };
            let seals = match meta.nlink() == 0 {
                true => handle
                    .descriptor(d.number)
                    .map_or(0, |fd| seals(fd.as_fd())),
                // Who has seals has no name.
                false => 0,
            };
            left -= contents.as_ref().map_or(0, |c| c.len() as u64).min(left);
            Some(File {
                number: d.number,
                offset: d.offset()?,
                flags: d.flags(),
                written: meta.modified().ok().filter(|_| keeps_what_is_written(d)),
                contents,
                mode: meta.mode(),
                seals,
                mapped: shared
                    .keeps(|| d.target(), meta.len())
                    .then_some(meta.len()),
            })
        });
        let files = Files(files.collect());
        Found { files, queues }
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
        let path = |file: &File| target(pid, file.number).unwrap_or_default();
        let mut changed: Vec<String> = Vec::new();
        let mut elsewhere: Vec<String> = Vec::new();
        let (mut sealed, mut stuck) = (Vec::new(), Vec::new());
        for file in &self.0 {
            let fd = handle.descriptor(file.number)?;
            let is_sealed = file.contents.is_some() && seals(fd.as_fd()) != file.seals;
            let done = super::set_flags_of(&fd, file.flags);
            let mut open = fs::File::from(fd);
            let done = done.is_ok() && open.seek(SeekFrom::Start(file.offset)).is_ok();
            if !done {
                elsewhere.push(path(file));
                continue;
            }
            let is_back = !without.contains(Item::Nameless) && file.put_back(pid).is_some();
            if is_sealed {
                match is_back {
                    true => sealed.push(path(file)),
                    false => stuck.push(path(file)),
                }
                continue;
            }
            if is_back {
                continue;
            }
            let now = open.metadata().ok();
            if file.mapped.is_some() && now.as_ref().map(fs::Metadata::len) == file.mapped {
                continue;
            }
            let now = now.and_then(|m| m.modified().ok());
            if file.written.is_some() && now != file.written {
                let path = path(file);
                if !changed.contains(&path) {
                    changed.push(path);
                }
            }
        }
        if !sealed.is_empty() {
            warnings.push(Warning::Sealed(sealed));
        }
        if !stuck.is_empty() {
            warnings.push(Warning::SealedContents(stuck));
        }
        if !changed.is_empty() {
            warnings.push(Warning::ChangedFiles(changed));
        }
        if !elsewhere.is_empty() {
            warnings.push(Warning::LostOffsets(elsewhere));
        }
        Ok(())
    }
}

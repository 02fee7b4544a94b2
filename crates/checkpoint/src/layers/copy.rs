//! Copying files: contents into others that exist, and all that is kept
//! besides contents.

use std::ffi::OsString;
use std::fs::{self, File, FileTimes, Metadata, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use verde_sys::{overlay, sparse};

/// Bits of a mode.
const KIND: u32 = 0o170_000;
const LINK: u32 = 0o120_000;
const FILE: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;

/// What is kept of a file besides its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    mode: u32,
    uid: u32,
    gid: u32,
    device: u64,
    read: SystemTime,
    written: SystemTime,
    attributes: Vec<(OsString, Vec<u8>)>,
}

impl Meta {
    pub fn of(path: &Path) -> io::Result<Meta> {
        let it = fs::symlink_metadata(path)?;
        Ok(Meta {
            mode: it.mode(),
            uid: it.uid(),
            gid: it.gid(),
            device: it.rdev(),
            read: it.accessed()?,
            written: it.modified()?,
            attributes: overlay::attributes(path),
        })
    }

    /// Gives it to a file of the same kind. Owner and times stay where they are
    /// not ours to change.
    pub fn apply(&self, path: &Path) -> io::Result<()> {
        let now = Meta::of(path)?;
        if (now.uid, now.gid) != (self.uid, self.gid) {
            allowed(lchown(path, Some(self.uid), Some(self.gid)))?;
        }
        let kind = self.mode & KIND;
        if kind == LINK {
            return Ok(());
        }
        for (name, _) in &now.attributes {
            if !self.attributes.iter().any(|(n, _)| n == name) {
                overlay::set_attribute(path, name, None).map_err(to_io)?;
            }
        }
        let missing = |a: &&(OsString, Vec<u8>)| !now.attributes.contains(a);
        for (name, value) in self.attributes.iter().filter(missing) {
            overlay::set_attribute(path, name, Some(value)).map_err(to_io)?;
        }
        if matches!(kind, FILE | DIRECTORY) && now.written != self.written {
            let times = FileTimes::new()
                .set_accessed(self.read)
                .set_modified(self.written);
            let file = open_anyway(path, OpenOptions::new().read(true))?;
            allowed(file.set_times(times))?;
        }
        // Last: a new owner, and opening it, may have changed the mode.
        if fs::symlink_metadata(path)?.mode() != self.mode {
            fs::set_permissions(path, Permissions::from_mode(self.mode & 0o7777))?;
        }
        Ok(())
    }

    /// It is of the same kind as another file.
    pub fn is_like(&self, it: &Metadata) -> bool {
        it.mode() & KIND == self.mode & KIND
    }

    /// Makes a file of this kind that is neither regular nor a directory nor a
    /// link. Sockets come back without anybody behind them.
    pub fn make_special(&self, path: &Path) -> io::Result<()> {
        overlay::make_special(path, self.mode, self.device).map_err(to_io)
    }
}

/// A change that an ordinary user may not make is not made.
fn allowed(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        done => done,
    }
}

fn to_io(e: verde_sys::SysError) -> io::Error {
    io::Error::from_raw_os_error(e.errno)
}

/// Opens a file of ours whose mode may forbid it.
fn open_anyway(path: &Path, options: &OpenOptions) -> io::Result<File> {
    match options.open(path) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            fs::set_permissions(path, Permissions::from_mode(0o700))?;
            options.open(path)
        }
        done => done,
    }
}

/// Makes a directory one that its owner can change.
pub(super) fn loosen(dir: &Path) -> io::Result<()> {
    let mode = fs::metadata(dir)?.mode();
    if mode & 0o700 == 0o700 {
        return Ok(());
    }
    fs::set_permissions(dir, Permissions::from_mode(mode & 0o7777 | 0o700))
}

/// Gives an existing file other contents. It is never shorter in between than
/// before and after, for that would take memory from those who have mapped it.
pub(super) fn rewrite(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = open_anyway(from, OpenOptions::new().read(true))?;
    let mut target = open_anyway(to, OpenOptions::new().write(true))?;
    copy_contents(&mut source, &mut target)
}

/// Gives a file the contents of another one, and holes where that has some.
fn copy_contents(source: &mut File, target: &mut File) -> io::Result<()> {
    let (len, before) = (source.metadata()?.len(), target.metadata()?.len());
    let mut at = 0;
    while at < len {
        let data = sparse::next_data(source.as_fd(), at).map_err(to_io)?;
        let data = data.unwrap_or(len..len);
        clear(target, at..data.start.min(before))?;
        source.seek(SeekFrom::Start(data.start))?;
        target.seek(SeekFrom::Start(data.start))?;
        io::copy(&mut source.take(data.end - data.start), target)?;
        at = data.end;
    }
    if target.metadata()?.len() != len {
        target.set_len(len)?;
    }
    Ok(())
}

/// Nothing is in a part of a file any more.
fn clear(file: &mut File, part: Range<u64>) -> io::Result<()> {
    if part.is_empty() || sparse::punch(file.as_fd(), part.clone()).is_ok() {
        return Ok(());
    }
    // Not every file system has holes.
    file.seek(SeekFrom::Start(part.start))?;
    io::copy(&mut io::repeat(0).take(part.end - part.start), file)?;
    Ok(())
}

/// Whether two files hold the same bytes.
pub(super) fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let open = |path| open_anyway(path, OpenOptions::new().read(true)).map(BufReader::new);
    let (mut one, mut other) = (open(one)?, open(other)?);
    loop {
        let (a, b) = (one.fill_buf()?, other.fill_buf()?);
        let len = a.len().min(b.len());
        if a[..len] != b[..len] || (len == 0 && a.len() != b.len()) {
            return Ok(false);
        }
        if len == 0 {
            return Ok(true);
        }
        one.consume(len);
        other.consume(len);
    }
}

/// A new file with these contents.
pub(super) fn create(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = open_anyway(from, OpenOptions::new().read(true))?;
    let mut target = OpenOptions::new().write(true).create_new(true).open(to)?;
    copy_contents(&mut source, &mut target)
}

/// A name for a file that is about to replace another one.
pub(super) fn beside(path: &Path) -> PathBuf {
    let name = format!(".verde-{}", std::process::id());
    path.with_file_name(name)
}

/// Puts a new file with these contents in the place of whatever is there.
pub(super) fn replace(from: &Path, to: &Path, meta: &Meta) -> io::Result<()> {
    let new = beside(to);
    remove(&new)?;
    create(from, &new)?;
    meta.apply(&new)?;
    if fs::symlink_metadata(to).is_ok_and(|m| m.is_dir()) {
        remove(to)?;
    }
    fs::rename(&new, to)
}

/// Removes whatever is there, if anything.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let it = match fs::symlink_metadata(path) {
        Ok(it) => it,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    if !it.is_dir() {
        return fs::remove_file(path);
    }
    loosen(path)?;
    for entry in fs::read_dir(path)? {
        remove(&entry?.path())?;
    }
    fs::remove_dir(path)
}

/// An overlay's mark for a deleted file.
pub(super) fn is_whiteout(it: &Metadata) -> bool {
    it.file_type().is_char_device() && it.rdev() == 0
}

fn mark(path: &Path, names: [&std::ffi::CStr; 2]) -> bool {
    names.iter().any(|n| overlay::attribute(path, n).is_some())
}

/// A directory of an upper layer that hides the lower one.
pub(super) fn is_opaque(path: &Path) -> bool {
    let names = [c"trusted.overlay.opaque", c"user.overlay.opaque"];
    let value = names.iter().find_map(|n| overlay::attribute(path, n));
    value.is_some_and(|v| v == b"y")
}

/// A directory of an upper layer that was renamed: the lower one has another
/// name.
pub(super) fn is_renamed(path: &Path) -> bool {
    mark(
        path,
        [c"trusted.overlay.redirect", c"user.overlay.redirect"],
    )
}

/// A file of an upper layer that was in the lower one, and has been changed.
pub(super) fn is_changed(path: &Path) -> bool {
    mark(path, [c"trusted.overlay.origin", c"user.overlay.origin"])
}

/// The names in a directory; none if there is no such directory.
pub(super) fn names(dir: &Path) -> io::Result<Vec<OsString>> {
    match fs::read_dir(dir) {
        Ok(entries) => entries.map(|e| Ok(e?.file_name())).collect(),
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(Vec::new())
        }
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn holes_stay_holes() -> io::Result<()> {
        const LEN: u64 = 64 << 20;
        let dir = tempfile::tempdir()?;
        let path = |name: &str| dir.path().join(name);
        let file = File::create(path("sparse"))?;
        file.write_all_at(b"middle", LEN / 2)?;
        file.set_len(LEN)?;
        let whole = vec![7; 3 << 20];
        fs::write(path("rewritten"), &whole)?;
        create(&path("sparse"), &path("created"))?;
        rewrite(&path("sparse"), &path("rewritten"))?;
        for name in ["created", "rewritten"] {
            assert!(is_same(&path("sparse"), &path(name))?, "{name}");
            assert!(fs::metadata(path(name))?.blocks() * 512 < LEN / 4, "{name}");
        }
        // And contents where there was a hole, with a shorter end.
        fs::write(path("full"), &whole)?;
        rewrite(&path("full"), &path("created"))?;
        assert_eq!(fs::read(path("created"))?, whole);
        Ok(())
    }
}

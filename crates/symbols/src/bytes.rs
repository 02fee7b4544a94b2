//! Files as byte slices.
//!
//! A mapped file stays mapped as long as the debugger lives. Every cache above can then hold plain
//! slices, and opening a file again (the program is run twice) costs nothing. Address space is all
//! this costs: the pages are the kernel's to drop.

use crate::error::Error;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

/// A file's identity: a rebuilt program has another inode, size or time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FileKey {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

fn cache() -> &'static Mutex<HashMap<FileKey, &'static [u8]>> {
    static CACHE: OnceLock<Mutex<HashMap<FileKey, &'static [u8]>>> = OnceLock::new();
    CACHE.get_or_init(Default::default)
}

/// The bytes of a regular file.
pub(crate) fn map(path: &Path) -> Result<&'static [u8], Error> {
    let open = |source| Error::Open {
        path: path.to_owned(),
        source,
    };
    let meta = std::fs::metadata(path).map_err(open)?;
    if !meta.is_file() {
        return Err(Error::NotRegular(path.to_owned()));
    }
    let file = File::open(path).map_err(open)?;
    let meta = file.metadata().map_err(open)?;
    let key = FileKey {
        device: meta.dev(),
        inode: meta.ino(),
        size: meta.len(),
        modified: (meta.mtime(), meta.mtime_nsec()),
    };
    let mut cache = cache().lock().unwrap_or_else(|e| e.into_inner());
    if let Some(&bytes) = cache.get(&key) {
        return Ok(bytes);
    }
    let bytes: &'static [u8] = if meta.len() == 0 {
        &[]
    } else {
        let mapping = map_file(&file).map_err(open)?;
        Box::leak(Box::new(mapping))
    };
    cache.insert(key, bytes);
    Ok(bytes)
}

/// The only unsafe call of this crate: a private, read-only mapping is as good as a slice as long as
/// nobody truncates the file. Linkers write a new inode, and a running program's file cannot be
/// written, so what remains is a library overwritten in place, which kills its users as well.
#[allow(unsafe_code)]
fn map_file(file: &File) -> std::io::Result<memmap2::Mmap> {
    // SAFETY: see above; the mapping is never written through and never unmapped.
    unsafe { memmap2::Mmap::map(file) }
}

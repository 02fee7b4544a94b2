//! Files of the layers that the process has open or mapped, and its working
//! directory. A copy of the process shares them, so they are the right ones
//! unless their file was deleted or replaced since: then they are opened again.

use super::{Layers, at};
use crate::leader::Leader;
use crate::{Error, Result, Warning};
use std::fs;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use verde_engine::Tid;
use verde_sys::descriptor::{self, Descriptor};
use verde_sys::number as n;
use verde_sys::overlay::same_open_file;
use verde_sys::pidfd::PidFd;
use verde_sys::procfs::{self, Mapping};

/// What a process has open of the layers.
pub(super) struct OpenFiles {
    files: Vec<Open>,
    /// Shared mappings of files.
    maps: Vec<Mapping>,
    cwd: Option<PathBuf>,
}

struct Open {
    number: RawFd,
    target: PathBuf,
    flags: i32,
}

fn link(pid: Tid, name: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/{name}")).ok()
}

impl OpenFiles {
    pub fn save(layers: &Layers, pid: Tid) -> Result<OpenFiles> {
        let is_in = |path: &Path| layers.list.iter().any(|l| path.starts_with(&l.dir));
        let of_layer = |d: &&Descriptor| {
            let mount = d.field("mnt_id").unwrap_or_default();
            layers.list.iter().any(|l| l.mount() == mount)
        };
        let mut files = Vec::new();
        let process = PidFd::open(pid)?;
        for descriptor in descriptor::of_process(&process)?.iter().filter(of_layer) {
            let number = descriptor.number;
            let place = PathBuf::from(descriptor::place(pid, number));
            files.push(Open {
                number,
                target: fs::read_link(&place).map_err(at(&place))?,
                flags: descriptor.all_flags(),
            });
        }
        let maps = procfs::maps(pid)?.into_iter();
        Ok(OpenFiles {
            files,
            maps: maps
                .filter(|m| m.shared && is_in(Path::new(&m.name)))
                .collect(),
            cwd: link(pid, "cwd").filter(|path| is_in(path)),
        })
    }

    /// Some memory is this file, and may have been written: whether it can be now tells nothing.
    pub fn has_mapped(&self, path: &Path) -> bool {
        self.maps.iter().any(|m| Path::new(&m.name) == path)
    }

    /// Opens again what a copy of the process has open, where that is another
    /// file now.
    pub fn restore(
        &self,
        pid: Tid,
        leader: &mut Option<Leader>,
        borrow: impl Fn() -> Result<Leader>,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        let mut lost = Vec::new();
        let mut again: Vec<&Open> = Vec::new();
        for file in &self.files {
            if link(pid, &format!("fd/{}", file.number)).as_ref() != Some(&file.target) {
                again.push(file);
            }
        }
        while let Some(first) = again.first().copied() {
            let leader = Leader::get_or_borrow(leader, &borrow)?;
            let is_same =
                |f: &Open| f.number == first.number || same_open_file(pid, first.number, f.number);
            let (same, others): (Vec<&Open>, Vec<&Open>) = again.iter().partition(|f| is_same(f));
            again = others;
            if open(leader, first, &same).is_err() {
                lost.push(first.target.display().to_string());
            }
        }
        let now = procfs::maps(pid)?;
        for map in &self.maps {
            if now
                .iter()
                .any(|m| (m.start, &m.name) == (map.start, &map.name))
            {
                continue;
            }
            let leader = Leader::get_or_borrow(leader, &borrow)?;
            if remap(leader, map).is_err() {
                lost.push(map.name.clone());
            }
        }
        if let Some(cwd) = &self.cwd
            && link(pid, "cwd").as_ref() != Some(cwd)
        {
            let leader = Leader::get_or_borrow(leader, &borrow)?;
            let path = place(leader, cwd)?;
            if leader.call("chdir", n::SYS_chdir, &[path]).is_err() {
                lost.push(cwd.display().to_string());
            }
        }
        if !lost.is_empty() {
            lost.dedup();
            warnings.push(Warning::LostFiles(lost));
        }
        Ok(())
    }
}

/// A path in the process's scratch memory.
fn place(leader: &Leader, path: &Path) -> Result<u64> {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    bytes.push(0);
    if bytes.len() as u64 > leader.scratch.room {
        return Err(Error::Files(
            path.to_owned(),
            std::io::ErrorKind::InvalidFilename.into(),
        ));
    }
    leader.place(0, &bytes)
}

/// Opens a file for all the numbers that lead to it.
fn open(leader: &mut Leader, file: &Open, numbers: &[&Open]) -> Result<()> {
    let kept =
        n::O_ACCMODE | n::O_APPEND | n::O_DIRECT | n::O_DIRECTORY | n::O_NONBLOCK | n::O_SYNC;
    let path = place(leader, &file.target)?;
    let args = [n::AT_FDCWD as u64, path, (file.flags & kept) as u64, 0];
    let fd = leader.call("openat", n::SYS_openat, &args)?;
    for same in numbers {
        let args = [fd, same.number as u64, (same.flags & n::O_CLOEXEC) as u64];
        leader.call("dup3", n::SYS_dup3, &args)?;
    }
    leader.call("close", n::SYS_close, &[fd]).map(drop)
}

/// Maps a file where it was mapped.
fn remap(leader: &mut Leader, map: &Mapping) -> Result<()> {
    let path = place(leader, Path::new(&map.name))?;
    let open = |leader: &mut Leader, flags: i32| {
        let args = [n::AT_FDCWD as u64, path, flags as u64, 0];
        leader.call("openat", n::SYS_openat, &args)
    };
    let fd = match open(leader, n::O_RDWR) {
        Err(_) if !map.write => open(leader, n::O_RDONLY)?,
        done => done?,
    };
    let flags = (n::MAP_SHARED | n::MAP_FIXED) as u64;
    let args = [
        map.start.0,
        map.end - map.start,
        map.protection() as u64,
        flags,
        fd,
        map.offset,
    ];
    let done = leader.call("mmap", n::SYS_mmap, &args);
    leader.call("close", n::SYS_close, &[fd])?;
    done.map(drop)
}

//! Files that the program writes: kept in overlays over directories, saved
//! with a checkpoint and put back by a restore.
//!
//! The program runs in a mount namespace where an overlay lies over each
//! directory. The upper layer holds what it has changed since it was started,
//! so a checkpoint copies only that (`image`). A restore writes through the
//! overlay, in place where it can, so that open files stay the files they are
//! (`put`); what was deleted or replaced meanwhile is opened again (`open`).
//! At the end the changes go to the directory itself (`back`).

mod back;
mod copy;
mod image;
mod open;
mod put;

use crate::leader::Leader;
use crate::snapshot::{Item, Items};
use crate::{Error, Result, Warning};
use image::{Cache, Image};
use open::OpenFiles;
use std::cell::{Cell, OnceCell, RefCell};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use verde_engine::Tid;
use verde_sys::overlay::Overlay;
use verde_sys::procfs;

/// Directories whose files come back with a checkpoint.
pub struct Layers {
    /// Where the layers are, and the contents that checkpoints keep.
    home: PathBuf,
    list: Vec<Layer>,
    /// The program's mount namespace. Held open: once the last of its processes is gone the
    /// kernel gives its number to the next one, of whomever.
    namespace: OnceCell<File>,
    cache: RefCell<Cache>,
    settled: Cell<bool>,
}

/// One directory.
struct Layer {
    /// The directory itself: what was there before the program.
    dir: PathBuf,
    upper: PathBuf,
    work: PathBuf,
    /// What the program sees, and the id of that mount.
    merged: OnceCell<(File, String)>,
}

/// The files of a checkpoint.
pub(crate) struct Saved {
    layers: Rc<Layers>,
    image: Image,
    open: OpenFiles,
}

/// A failed operation on a file.
fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |e| Error::Files(path.to_owned(), e)
}

const PREFIX: &str = "verde-files-";

impl Layers {
    /// Makes room for the layers of these directories.
    pub fn prepare(dirs: &[PathBuf]) -> Result<Layers> {
        let mut real: Vec<PathBuf> = Vec::new();
        for dir in dirs {
            let path = fs::canonicalize(dir).map_err(at(dir))?;
            if !path.is_dir() {
                return Err(Error::Files(path, io::ErrorKind::NotADirectory.into()));
            }
            if let Some(inside) = mounts()?.into_iter().find(|m| is_below(m, &path)) {
                return Err(Error::MountInside(path, inside));
            }
            real.push(path);
        }
        real.sort();
        // What is below another one is in its layer.
        real.dedup_by(|inner, outer| inner.starts_with(&*outer));
        let base = base();
        if let Some(dir) = real.iter().find(|d| base.starts_with(d)) {
            return Err(Error::LayerInside(dir.clone(), base));
        }
        let home = new_home(&base)?;
        let layers = Layers {
            list: layers_of(&home, real),
            home,
            namespace: OnceCell::new(),
            cache: RefCell::default(),
            settled: Cell::new(false),
        };
        let filled = layers.fill();
        if filled.is_err() {
            // Nothing is in them yet.
            let _ = copy::remove(&layers.home);
        }
        filled.map(|()| layers)
    }

    /// Makes the directories of the layers.
    fn fill(&self) -> Result<()> {
        let make = |path: &Path| make_private(path).map_err(at(path));
        make(&self.home.join("saved"))?;
        for Layer {
            dir, upper, work, ..
        } in &self.list
        {
            for path in upper.parent().into_iter().chain([&**upper, work]) {
                make(path)?;
            }
            // The program sees these attributes as the directory's.
            let meta = copy::Meta::of(dir).map_err(at(dir))?;
            meta.apply(upper).map_err(at(upper))?;
        }
        let note = self.home.join("README");
        fs::write(&note, self.note()).map_err(at(&note))
    }

    fn note(&self) -> String {
        let mut text = String::from(
            "Files that a program has written under verde --fs-snapshot. Verde writes them to\n\
             their directories when it ends; if it was killed, they are here. A character\n\
             device 0, 0 stands for a file that the program has deleted.\n\n",
        );
        for layer in &self.list {
            let (upper, dir) = (layer.upper.display(), layer.dir.display());
            text.push_str(&format!("{upper} is for {dir}\n"));
        }
        text
    }

    /// What to start the program with.
    pub fn overlays(&self) -> Vec<Overlay> {
        let overlay = |layer: &Layer| Overlay {
            dir: layer.dir.clone(),
            upper: layer.upper.clone(),
            work: layer.work.clone(),
        };
        self.list.iter().map(overlay).collect()
    }

    /// The program was started with them.
    pub fn entered_by(&self, pid: Tid) -> Result<()> {
        let place = mount_namespace(pid);
        let namespace = File::open(&place).map_err(at(&place))?;
        self.namespace.get_or_init(|| namespace);
        for layer in &self.list {
            let below = layer.dir.strip_prefix("/").unwrap_or(&layer.dir);
            let path = Path::new(&format!("/proc/{pid}/root")).join(below);
            let dir = File::open(&path).map_err(at(&layer.dir))?;
            let info = format!("/proc/self/fdinfo/{}", dir.as_raw_fd());
            let info = fs::read_to_string(&info).map_err(at(Path::new(&info)))?;
            let id = info.lines().find_map(|l| l.strip_prefix("mnt_id:"));
            let id = id.unwrap_or_default().trim().to_owned();
            layer.merged.get_or_init(|| (dir, id));
        }
        Ok(())
    }

    /// The directories.
    pub fn dirs(&self) -> impl Iterator<Item = &Path> {
        self.list.iter().map(|l| l.dir.as_path())
    }

    /// Where the layers are.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Layers that were left behind by a debugger that was killed.
    pub fn left_behind() -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(base()) else {
            return Vec::new();
        };
        let dead = |path: &PathBuf| {
            let name = path.file_name().and_then(|n| n.to_str())?;
            let pid = name.strip_prefix(PREFIX)?.split('-').next()?;
            // Others' cannot be looked into.
            let ours = fs::read_dir(path).is_ok();
            Some(ours && !Path::new("/proc").join(pid).exists())
        };
        let all = entries.flatten().map(|e| e.path());
        all.filter(|path| dead(path) == Some(true)).collect()
    }

    /// Saves the files as they are now. The process is stopped.
    pub(crate) fn save(self: &Rc<Layers>, pid: Tid) -> Result<Saved> {
        if self.settled.get() {
            return Err(Error::Settled);
        }
        let open = OpenFiles::save(self, pid)?;
        let image = Image::save(self, &open)?;
        Ok(Saved {
            layers: self.clone(),
            image,
            open,
        })
    }

    /// The processes that still write to the layers, besides those that we trace.
    fn users(&self) -> Vec<Tid> {
        let namespace = self.namespace.get().and_then(|n| n.metadata().ok());
        let Some(namespace) = namespace.map(|m| (m.dev(), m.ino())) else {
            return Vec::new();
        };
        // The tracer is a thread.
        let is_ours = |tracer: &str| Path::new("/proc/self/task").join(tracer).exists();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = processes.filter_map(|e| e.file_name().to_str()?.parse().ok().map(Tid));
        let uses = |pid: &Tid| {
            let field = |name: &str| procfs::status_field(*pid, *pid, name);
            fs::metadata(mount_namespace(*pid)).is_ok_and(|m| (m.dev(), m.ino()) == namespace)
                && field("TracerPid").is_none_or(|t| !is_ours(&t))
                && field("State").is_some_and(|s| !s.starts_with(['Z', 'X']))
        };
        pids.filter(uses).collect()
    }
}

impl Layer {
    /// A path as the program sees it, for us to use.
    fn merged(&self, path: &Path) -> PathBuf {
        let fd = self.merged.get().map_or(-1, |(dir, _)| dir.as_raw_fd());
        Path::new(&format!("/proc/self/fd/{fd}")).join(path)
    }

    fn mount(&self) -> &str {
        self.merged.get().map_or("", |(_, id)| id)
    }
}

impl Saved {
    /// Puts the files back, before anything else of the process `pid`, whose
    /// open files they are.
    pub fn restore(
        &self,
        pid: Tid,
        leader: &mut Option<Leader>,
        borrow: impl Fn() -> Result<Leader>,
        without: &Items,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        if without.contains(Item::Files) {
            return Ok(());
        }
        if self.layers.settled.get() {
            return Err(Error::Settled);
        }
        for (layer, tree) in self.layers.list.iter().zip(&self.image.trees) {
            put::Put::new(layer, &self.open).all(tree)?;
        }
        self.open.restore(pid, leader, borrow, warnings)
    }

    /// Bytes kept for this checkpoint, shared ones in part.
    pub fn cost(&self) -> u64 {
        self.image.cost()
    }
}

fn mount_namespace(pid: Tid) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/ns/mnt"))
}

fn make_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(dir)
}

/// A directory of our own. Our process id may have been another debugger's, too.
fn new_home(base: &Path) -> Result<PathBuf> {
    for number in 0.. {
        let home = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
        match make_private(&home) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done.map(|()| home.clone()).map_err(at(&home)),
        }
    }
    Err(Error::Files(
        base.to_owned(),
        io::ErrorKind::AlreadyExists.into(),
    ))
}

fn layers_of(home: &Path, dirs: Vec<PathBuf>) -> Vec<Layer> {
    let layer = |(i, dir): (usize, PathBuf)| {
        let place = home.join(i.to_string());
        Layer {
            dir,
            upper: place.join("upper"),
            work: place.join("work"),
            merged: OnceCell::new(),
        }
    };
    dirs.into_iter().enumerate().map(layer).collect()
}

fn is_below(path: &Path, dir: &Path) -> bool {
    path != dir && path.starts_with(dir)
}

/// Where layers are put: not in memory, for they shall outlive a crash.
fn base() -> PathBuf {
    let dir = std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
    fs::canonicalize(&dir).unwrap_or(dir)
}

/// The places where something is mounted.
fn mounts() -> Result<Vec<PathBuf>> {
    let path = Path::new("/proc/self/mountinfo");
    let text = fs::read_to_string(path).map_err(at(path))?;
    let place = |line: &str| line.split(' ').nth(4).map(unescape);
    Ok(text.lines().filter_map(place).collect())
}

/// The kernel writes blanks in paths as octal numbers.
fn unescape(text: &str) -> PathBuf {
    let mut out = text.to_owned();
    for (code, c) in [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ] {
        out = out.replace(code, c);
    }
    PathBuf::from(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_mounts_may_have_blanks() {
        assert_eq!(unescape("/a\\040b\\134c"), PathBuf::from("/a b\\c"));
    }

    #[test]
    fn below_is_not_beside() {
        assert!(is_below(Path::new("/a/b"), Path::new("/a")));
        assert!(!is_below(Path::new("/ab"), Path::new("/a")));
        assert!(!is_below(Path::new("/a"), Path::new("/a")));
    }
}

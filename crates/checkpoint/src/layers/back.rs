//! Writing the changes to the directories themselves, at the end.

use super::copy::{self, Meta};
use super::{Layer, Layers, at};
use crate::{Error, Result, Warning};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

impl Layers {
    /// Makes the directories what the program has left, and forgets the layers.
    /// The program has ended; its checkpoints cannot be restored any more. If
    /// this fails, the layers stay.
    pub fn write_back(&self) -> Result<Option<Warning>> {
        if self.settled.replace(true) {
            return Ok(None);
        }
        let users = self.users();
        for (i, layer) in self.list.iter().enumerate() {
            // Never mounted: the program was not started.
            if layer.merged.get().is_none() {
                continue;
            }
            let aside = self.home.join(i.to_string());
            Back::new(layer, aside).all().map_err(|e| Error::NotBack {
                source: Box::new(e),
                home: self.home.clone(),
            })?;
        }
        if !users.is_empty() {
            return Ok(Some(Warning::StillWriting(users, self.home.clone())));
        }
        copy::remove(&self.home).map_err(at(&self.home))?;
        Ok(None)
    }
}

struct Back<'a> {
    layer: &'a Layer,
    /// Where there is room beside the layer.
    aside: PathBuf,
    /// Copies of directories that were renamed, by their new names.
    moved: HashMap<PathBuf, PathBuf>,
    /// Files with several names: where they are already.
    linked: HashMap<u64, PathBuf>,
}

impl<'a> Back<'a> {
    fn new(layer: &'a Layer, aside: PathBuf) -> Back<'a> {
        Back {
            layer,
            aside,
            moved: HashMap::new(),
            linked: HashMap::new(),
        }
    }

    fn all(mut self) -> Result<()> {
        // What they hold may be under a name that is taken or gone now.
        self.set_aside(Path::new(""))?;
        let upper = self.layer.upper.clone();
        let opaque = copy::is_opaque(&upper);
        self.dir(&upper, Path::new(""), opaque)
    }

    /// Copies renamed directories as the program sees them.
    fn set_aside(&mut self, path: &Path) -> Result<()> {
        let upper = self.layer.upper.join(path);
        let shown = self.layer.dir.join(path);
        if copy::is_renamed(&upper) {
            let to = self.aside.join(format!("moved-{}", self.moved.len()));
            copy_tree(&self.layer.merged(path), &to).map_err(at(&shown))?;
            self.moved.insert(path.to_owned(), to);
            return Ok(());
        }
        for name in copy::names(&upper).map_err(at(&shown))? {
            if fs::symlink_metadata(upper.join(&name)).is_ok_and(|m| m.is_dir()) {
                self.set_aside(&path.join(name))?;
            }
        }
        Ok(())
    }

    /// `opaque`: what the source does not have goes.
    fn dir(&mut self, source: &Path, path: &Path, opaque: bool) -> Result<()> {
        let target = self.layer.dir.join(path);
        let names = copy::names(source).map_err(at(&target))?;
        if !names.is_empty() || opaque {
            copy::loosen(&target).map_err(at(&target))?;
        }
        if opaque {
            for name in copy::names(&target).map_err(at(&target))? {
                if !names.contains(&name) {
                    let path = target.join(name);
                    copy::remove(&path).map_err(at(&path))?;
                }
            }
        }
        for name in names {
            let (source, path) = (source.join(&name), path.join(&name));
            let it = fs::symlink_metadata(&source).map_err(at(&source))?;
            let target = self.layer.dir.join(&path);
            if !it.is_dir() {
                self.file(&source, &it, &target).map_err(at(&target))?;
                continue;
            }
            if !fs::symlink_metadata(&target).is_ok_and(|m| m.is_dir()) {
                let made = copy::remove(&target).and_then(|()| fs::create_dir(&target));
                made.map_err(at(&target))?;
            }
            match self.moved.get(&path).cloned() {
                Some(moved) => self.dir(&moved, &path, true)?,
                None => self.dir(&source, &path, opaque || copy::is_opaque(&source))?,
            }
        }
        let meta = Meta::of(source).and_then(|m| m.apply(&target));
        meta.map_err(at(&target))
    }

    fn file(&mut self, source: &Path, it: &fs::Metadata, target: &Path) -> io::Result<()> {
        if copy::is_whiteout(it) {
            return copy::remove(target);
        }
        let meta = Meta::of(source)?;
        let now = fs::symlink_metadata(target).ok();
        if it.is_symlink() {
            let link = fs::read_link(source)?;
            if fs::read_link(target).is_ok_and(|now| now == link) {
                return Ok(());
            }
            copy::remove(target)?;
            std::os::unix::fs::symlink(link, target)?;
            return meta.apply(target);
        }
        if !it.is_file() {
            if !now.is_some_and(|m| meta.is_like(&m)) {
                copy::remove(target)?;
                meta.make_special(target)?;
            }
            return meta.apply(target);
        }
        if it.nlink() > 1 {
            if let Some(first) = self.linked.get(&it.ino()) {
                copy::remove(target)?;
                return fs::hard_link(first, target);
            }
            self.linked.insert(it.ino(), target.to_owned());
        }
        let now = now.filter(fs::Metadata::is_file);
        let times = |m: &fs::Metadata| (m.len(), m.mtime(), m.mtime_nsec());
        match now {
            // It came back with a restore.
            Some(now)
                if times(&now) == times(it)
                    && copy::is_changed(source)
                    && copy::is_same(source, target)? => {}
            // It is that file, whatever other names it has.
            Some(_) if copy::is_changed(source) && copy::rewrite(source, target).is_ok() => {}
            _ => return copy::replace(source, target, &meta),
        }
        meta.apply(target)
    }
}

/// Copies a directory with all that is in it.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for name in copy::names(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        let it = fs::symlink_metadata(&from)?;
        let meta = Meta::of(&from)?;
        if it.is_dir() {
            copy_tree(&from, &to)?;
            continue;
        }
        if it.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&from)?, &to)?;
        } else if it.is_file() {
            copy::create(&from, &to)?;
        } else {
            meta.make_special(&to)?;
        }
        meta.apply(&to)?;
    }
    Meta::of(from)?.apply(to)
}

//! Putting files back, through the overlay that the program sees.

use super::copy::{self, Meta};
use super::image::{Node, Stored, Tree};
use super::open::OpenFiles;
use super::{Layer, at};
use crate::Result;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Makes one layer what it was.
pub(super) struct Put<'a> {
    layer: &'a Layer,
    open: &'a OpenFiles,
    /// Where contents with several names are already.
    done: HashMap<*const Stored, PathBuf>,
}

/// Contents to give a file.
#[derive(Clone, Copy)]
enum Contents<'a> {
    Saved(&'a Rc<Stored>),
    /// As in the directory itself.
    Below,
}

impl<'a> Put<'a> {
    pub fn new(layer: &'a Layer, open: &'a OpenFiles) -> Put<'a> {
        Put {
            layer,
            open,
            done: HashMap::new(),
        }
    }

    pub fn all(&mut self, tree: &'a Tree) -> Result<()> {
        self.dir(Path::new(""), Some(tree), false)
    }

    /// `tree`: what was in the layer; `None`: nothing, so it is as below.
    /// `hidden`: the layer does not show the directory below now, for it does
    /// not show one that this is in.
    fn dir(&mut self, path: &Path, tree: Option<&'a Tree>, hidden: bool) -> Result<()> {
        let (lower, upper) = (self.layer.dir.join(path), self.layer.upper.join(path));
        let merged = self.layer.merged(path);
        let fail = || at(&lower);
        let changed = copy::names(&upper).map_err(fail())?;
        let hidden = hidden || copy::is_opaque(&upper) || copy::is_renamed(&upper);
        let opaque = tree.is_some_and(|t| t.opaque);
        let mut names: BTreeSet<OsString> = changed.into_iter().collect();
        names.extend(tree.into_iter().flat_map(|t| t.entries.keys().cloned()));
        if hidden || opaque {
            names.extend(copy::names(&merged).map_err(fail())?);
        }
        if hidden && !opaque {
            names.extend(copy::names(&lower).map_err(fail())?);
        }
        if !names.is_empty() {
            copy::loosen(&merged).map_err(fail())?;
        }
        for name in names {
            let path = path.join(&name);
            match tree.and_then(|t| t.entries.get(&name)) {
                Some(node) => self.node(&path, node, hidden)?,
                None if opaque => self.remove(&path)?,
                None => self.as_below(&path, hidden)?,
            }
        }
        let meta = match tree {
            Some(tree) => Ok(tree.meta.clone()),
            None => Meta::of(&lower),
        };
        meta.and_then(|m| m.apply(&merged)).map_err(fail())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        copy::remove(&self.layer.merged(path)).map_err(at(&self.layer.dir.join(path)))
    }

    fn node(&mut self, path: &Path, node: &'a Node, hidden: bool) -> Result<()> {
        match node {
            Node::Gone => self.remove(path),
            Node::File(stored, meta) => self.file(path, Contents::Saved(stored), meta),
            Node::Dir(tree) => {
                self.make_dir(path)?;
                self.dir(path, Some(tree), hidden)
            }
            Node::Link(target, meta) => self.link(path, target, meta),
            Node::Special(meta) => self.special(path, meta),
        }
    }

    /// What is in the directory itself. `hidden`: the layer does not show it.
    fn as_below(&mut self, path: &Path, hidden: bool) -> Result<()> {
        let above = fs::symlink_metadata(self.layer.upper.join(path));
        if above.is_err() && !hidden {
            return Ok(());
        }
        let lower = self.layer.dir.join(path);
        let it = match fs::symlink_metadata(&lower) {
            Ok(it) => it,
            Err(_) => return self.remove(path),
        };
        if it.is_dir() {
            self.make_dir(path)?;
            return self.dir(path, None, hidden);
        }
        let meta = Meta::of(&lower).map_err(at(&lower))?;
        if it.is_symlink() {
            let target = fs::read_link(&lower).map_err(at(&lower))?;
            return self.link(path, &target, &meta);
        }
        match it.is_file() {
            true => self.file(path, Contents::Below, &meta),
            false => self.special(path, &meta),
        }
    }

    fn make_dir(&self, path: &Path) -> Result<()> {
        let merged = self.layer.merged(path);
        if fs::symlink_metadata(&merged).is_ok_and(|m| m.is_dir()) {
            return Ok(());
        }
        self.remove(path)?;
        fs::create_dir(&merged).map_err(at(&self.layer.dir.join(path)))
    }

    fn file(&mut self, path: &Path, contents: Contents<'a>, meta: &Meta) -> Result<()> {
        self.write(path, contents, meta)
            .map_err(at(&self.layer.dir.join(path)))
    }

    fn write(&mut self, path: &Path, contents: Contents<'a>, meta: &Meta) -> io::Result<()> {
        let lower = self.layer.dir.join(path);
        let merged = self.layer.merged(path);
        let above = fs::symlink_metadata(self.layer.upper.join(path)).ok();
        let above = above.filter(|m| m.is_file());
        let (source, same, still) = match contents {
            Contents::Saved(stored) => {
                let same = above.as_ref().is_some_and(|m| m.ino() == stored.inode);
                let still = above.as_ref().is_some_and(|m| stored.is_still(m));
                (&stored.path, same, still && !self.open.has_mapped(&lower))
            }
            // Any file will do that has no other name, or the very same.
            Contents::Below => {
                let inode = |path: &Path| fs::symlink_metadata(path).map(|m| m.ino()).ok();
                let same = |m: &fs::Metadata| m.nlink() == 1 || inode(&merged) == inode(&lower);
                (&lower, above.as_ref().is_some_and(same), false)
            }
        };
        let first = match contents {
            Contents::Saved(stored) => self.done.get(&Rc::as_ptr(stored)).cloned(),
            Contents::Below => None,
        };
        match first {
            _ if still => {}
            Some(first) if !same => {
                copy::remove(&merged)?;
                fs::hard_link(self.layer.merged(&first), &merged)?;
            }
            _ if same => copy::rewrite(source, &merged)?,
            _ => copy::replace(source, &merged, meta)?,
        }
        if let Contents::Saved(stored) = contents {
            self.done.insert(Rc::as_ptr(stored), path.to_owned());
        }
        meta.apply(&merged)
    }

    fn link(&self, path: &Path, target: &Path, meta: &Meta) -> Result<()> {
        let merged = self.layer.merged(path);
        if fs::read_link(&merged).is_ok_and(|now| now == target) {
            return Ok(());
        }
        self.remove(path)?;
        std::os::unix::fs::symlink(target, &merged)
            .and_then(|()| meta.apply(&merged))
            .map_err(at(&self.layer.dir.join(path)))
    }

    fn special(&self, path: &Path, meta: &Meta) -> Result<()> {
        let merged = self.layer.merged(path);
        if fs::symlink_metadata(&merged).is_ok_and(|m| meta.is_like(&m)) {
            return Ok(());
        }
        self.remove(path)?;
        meta.make_special(&merged)
            .and_then(|()| meta.apply(&merged))
            .map_err(at(&self.layer.dir.join(path)))
    }
}

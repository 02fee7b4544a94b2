//! What the upper layers held at a checkpoint.

use super::copy::{self, Meta};
use super::open::OpenFiles;
use super::{Layer, Layers, at};
use crate::Result;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::time::{Duration, SystemTime};

/// The upper layers, one tree for each.
pub(super) struct Image {
    pub trees: Vec<Tree>,
}

/// A directory.
pub(super) struct Tree {
    pub meta: Meta,
    /// Nothing of the directory below is seen.
    pub opaque: bool,
    pub entries: BTreeMap<OsString, Node>,
}

pub(super) enum Node {
    /// It is below, and deleted.
    Gone,
    File(Rc<Stored>, Meta),
    Dir(Tree),
    Link(PathBuf, Meta),
    Special(Meta),
}

/// The contents of a file at a checkpoint; others may have the same.
pub(super) struct Stored {
    pub path: PathBuf,
    /// Of the file in the upper layer; 0: it was not there.
    pub inode: u64,
    len: u64,
    changed: (i64, i64),
    copied: SystemTime,
}

impl Drop for Stored {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "saved contents stay");
        }
    }
}

/// The kernel's clock for changes of files may stand still for so long.
const TICK: Duration = Duration::from_millis(50);

impl Stored {
    /// The file is certainly as it was when this was copied.
    pub fn is_still(&self, now: &fs::Metadata) -> bool {
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(self.changed.0.max(0) as u64);
        let changed = changed + Duration::from_nanos(self.changed.1.max(0) as u64);
        (now.ino(), now.len(), (now.ctime(), now.ctime_nsec()))
            == (self.inode, self.len, self.changed)
            && self.copied > changed + TICK
    }
}

/// What was saved last, by inode.
#[derive(Default)]
pub(super) struct Cache {
    last: HashMap<u64, Weak<Stored>>,
    count: u64,
}

impl Layers {
    /// A copy of a file's contents, shared with earlier checkpoints if it has
    /// not changed since. `inode`: of the file in the upper layer.
    pub(super) fn store(&self, file: &Path, inode: u64, may_share: bool) -> io::Result<Rc<Stored>> {
        let it = fs::metadata(file)?;
        let mut cache = self.cache.borrow_mut();
        if may_share
            && inode != 0
            && let Some(same) = cache.last.get(&inode).and_then(Weak::upgrade)
            && same.is_still(&it)
        {
            return Ok(same);
        }
        cache.count += 1;
        let path = self.home.join("saved").join(cache.count.to_string());
        copy::create(file, &path)?;
        let stored = Rc::new(Stored {
            path,
            inode,
            len: it.len(),
            changed: (it.ctime(), it.ctime_nsec()),
            copied: SystemTime::now(),
        });
        cache.last.insert(inode, Rc::downgrade(&stored));
        Ok(stored)
    }
}

impl Image {
    pub fn save(layers: &Layers, open: &OpenFiles) -> Result<Image> {
        let is_kept = |_: &u64, kept: &mut Weak<Stored>| kept.strong_count() > 0;
        layers.cache.borrow_mut().last.retain(is_kept);
        let tree = |layer| {
            let mut reader = Reader {
                layers,
                layer,
                open,
                linked: HashMap::new(),
            };
            reader.tree(Path::new(""), Above::default())
        };
        let trees: Result<Vec<Tree>> = layers.list.iter().map(tree).collect();
        Ok(Image { trees: trees? })
    }

    pub fn cost(&self) -> u64 {
        self.trees.iter().map(Tree::cost).sum()
    }
}

impl Tree {
    fn cost(&self) -> u64 {
        let costs = self.entries.values().map(|node| match node {
            // Its part of what it shares.
            Node::File(stored, _) => stored.len / Rc::strong_count(stored) as u64,
            Node::Dir(tree) => tree.cost(),
            _ => 0,
        });
        costs.sum()
    }
}

struct Reader<'a> {
    layers: &'a Layers,
    layer: &'a Layer,
    open: &'a OpenFiles,
    /// Files with several names.
    linked: HashMap<u64, Rc<Stored>>,
}

/// What holds below a directory, too.
#[derive(Clone, Copy, Default)]
struct Above {
    /// All that the program sees there is saved, not only what it changed: it
    /// renamed the directory.
    whole: bool,
    /// The directory hides the one below; those in it have no mark of their own.
    opaque: bool,
}

impl Reader<'_> {
    fn tree(&mut self, path: &Path, above: Above) -> Result<Tree> {
        let upper = self.layer.upper.join(path);
        let whole = above.whole || copy::is_renamed(&upper);
        let opaque = above.opaque || whole || copy::is_opaque(&upper);
        let here = Above { whole, opaque };
        let dir = match whole {
            true => self.layer.merged(path),
            false => upper,
        };
        let shown = self.layer.dir.join(path);
        let mut entries = BTreeMap::new();
        for name in copy::names(&dir).map_err(at(&shown))? {
            let below = path.join(&name);
            let node = self.node(&dir.join(&name), &below, here)?;
            entries.insert(name, node);
        }
        Ok(Tree {
            meta: Meta::of(&dir).map_err(at(&shown))?,
            opaque,
            entries,
        })
    }

    fn node(&mut self, file: &Path, path: &Path, above: Above) -> Result<Node> {
        let shown = self.layer.dir.join(path);
        let it = fs::symlink_metadata(file).map_err(at(&shown))?;
        if copy::is_whiteout(&it) {
            return Ok(Node::Gone);
        }
        if it.is_dir() {
            return Ok(Node::Dir(self.tree(path, above)?));
        }
        let meta = Meta::of(file).map_err(at(&shown))?;
        if it.is_symlink() {
            let target = fs::read_link(file).map_err(at(&shown))?;
            return Ok(Node::Link(target, meta));
        }
        if !it.is_file() {
            return Ok(Node::Special(meta));
        }
        let upper = fs::symlink_metadata(self.layer.upper.join(path));
        let inode = upper.map_or(0, |m| m.ino());
        if let Some(stored) = self.linked.get(&inode) {
            return Ok(Node::File(stored.clone(), meta));
        }
        // Writes to mapped memory leave no trace in the times of a file.
        let may_share = !above.whole && !self.open.has_mapped(&shown);
        let stored = self
            .layers
            .store(file, inode, may_share)
            .map_err(at(&shown))?;
        if it.nlink() > 1 && inode != 0 {
            self.linked.insert(inode, stored.clone());
        }
        Ok(Node::File(stored, meta))
    }
}

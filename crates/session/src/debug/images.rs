//! The files of the program, and where they are loaded.

use super::tls::Numbering;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use verde_engine::{ModuleKind, Process};
use verde_expr::Loaded;
use verde_symbols::{FileAddr, FunctionQuery, Language, Module, Modules};

/// The program and its libraries; each file is opened once.
#[derive(Clone)]
pub(super) struct Images {
    program: Arc<Module>,
    version: Option<Version>,
    cache: HashMap<PathBuf, (Arc<Module>, Option<Version>)>,
    loaded: Vec<Loaded>,
    /// Of what is loaded, once somebody has asked.
    numbering: OnceCell<Option<Numbering>>,
    language: Language,
}

/// What tells a file from another that takes its place.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Version {
    inode: (u64, u64),
    size: u64,
    time: (i64, i64),
}

impl Version {
    fn of(path: &Path) -> Option<Version> {
        let data = std::fs::metadata(path).ok()?;
        Some(Version {
            inode: (data.dev(), data.ino()),
            size: data.size(),
            time: (data.mtime(), data.mtime_nsec()),
        })
    }
}

impl Images {
    pub fn open(path: &Path) -> Result<Images, verde_symbols::Error> {
        // Before it is read: a later change is seen.
        let version = Version::of(path);
        Ok(Images::of(Module::open(path)?, version))
    }

    /// Of a program that is not there. When it comes, it is as if it had changed.
    pub fn missing(path: &Path) -> Result<Images, verde_symbols::Error> {
        Ok(Images::of(Module::missing(path.to_owned())?, None))
    }

    fn of(program: Arc<Module>, version: Option<Version>) -> Images {
        let mains = program.functions(&FunctionQuery::parse("main"));
        let described = mains.iter().find(|f| f.die.is_some());
        let mut images = Images {
            language: described.map_or(Language::C, |f| f.language),
            program,
            version,
            cache: HashMap::new(),
            loaded: Vec::new(),
            numbering: OnceCell::new(),
        };
        images.unload();
        images
    }

    /// Reads files again that are others now than when they were read; those files. Nothing may
    /// run.
    pub fn reread(&mut self) -> Result<Vec<PathBuf>, verde_symbols::Error> {
        let mut changed = Vec::new();
        self.cache.retain(|path, (_, version)| {
            let same = version.is_none() || Version::of(path) == *version;
            if !same {
                changed.push(path.clone());
            }
            same
        });
        let path = self.program.path().to_owned();
        // One that is missing makes its own trouble.
        if let Some(now) = Version::of(&path)
            && self.version != Some(now)
        {
            let cache = std::mem::take(&mut self.cache);
            *self = Images::open(&path)?;
            self.cache = cache;
            changed.insert(0, path);
        }
        Ok(changed)
    }

    /// Nothing runs: the program's own addresses.
    pub fn unload(&mut self) {
        self.numbering = OnceCell::new();
        self.loaded = vec![Loaded {
            module: self.program.clone(),
            bias: 0,
        }];
    }

    /// Takes over what the process has loaded now, the program first. `true`:
    /// something else than before, or elsewhere.
    pub fn refresh(&mut self, process: &Process) -> bool {
        let mut loaded = Vec::new();
        for image in process.modules() {
            let module = match image.kind {
                ModuleKind::Main => Some(self.main(&image.path)),
                ModuleKind::Library => self.open_cached(&image.path),
                ModuleKind::Vdso => self.kernels_code(process, image),
            };
            let Some(module) = module else { continue };
            let bias = image.bias;
            match image.kind {
                ModuleKind::Main => loaded.insert(0, Loaded { module, bias }),
                _ => loaded.push(Loaded { module, bias }),
            }
        }
        let same = |a: &Loaded, b: &Loaded| Arc::ptr_eq(&a.module, &b.module) && a.bias == b.bias;
        let changed = loaded.len() != self.loaded.len()
            || !loaded.iter().zip(&self.loaded).all(|(a, b)| same(a, b));
        if changed && !loaded.is_empty() {
            self.loaded = loaded;
            self.numbering = OnceCell::new();
        }
        changed
    }

    /// The program's file, or another that it became by exec.
    fn main(&mut self, path: &Path) -> Arc<Module> {
        let same = std::fs::canonicalize(self.program.path()).is_ok_and(|own| own == path);
        match same {
            true => None,
            false => self.open_cached(path),
        }
        .unwrap_or_else(|| self.program.clone())
    }

    fn open_cached(&mut self, path: &Path) -> Option<Arc<Module>> {
        if let Some((module, _)) = self.cache.get(path) {
            return Some(module.clone());
        }
        let version = Version::of(path);
        let module = Module::open(path).ok()?;
        self.cache
            .insert(path.to_path_buf(), (module.clone(), version));
        Some(module)
    }

    fn kernels_code(
        &mut self,
        process: &Process,
        image: &verde_engine::Module,
    ) -> Option<Arc<Module>> {
        if let Some((module, _)) = self.cache.get(&image.path) {
            return Some(module.clone());
        }
        let size = usize::try_from(image.end - image.start).ok()?;
        let mut bytes = vec![0; size.min(1 << 20)];
        process.read(image.start, &mut bytes).ok()?;
        let module = Module::from_bytes("[vdso]", bytes).ok()?;
        self.cache
            .insert(image.path.clone(), (module.clone(), None));
        Some(module)
    }

    /// Where the C library has the numbers of thread-local blocks.
    pub fn numbering(&self, process: &Process) -> Option<Numbering> {
        let find = || Numbering::find(process, &self.loaded);
        *self.numbering.get_or_init(find)
    }

    pub fn loaded(&self) -> &[Loaded] {
        &self.loaded
    }

    pub fn program(&self) -> &Arc<Module> {
        &self.program
    }

    /// The language to use where no frame says it.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Where a module is loaded.
    pub fn bias(&self, module: &Module) -> Option<u64> {
        let mut all = self.loaded.iter();
        all.find(|l| std::ptr::eq(&*l.module, module))
            .map(|l| l.bias)
    }
}

impl Modules for Images {
    fn module_at(&self, addr: u64) -> Option<(Arc<Module>, u64)> {
        let found = self.loaded.iter().find(|l| {
            let at = FileAddr::of(addr, l.bias);
            let inside = |s: &verde_symbols::Segment| at.0 >= s.addr.0 && at.0 - s.addr.0 < s.size;
            l.module.segments().iter().any(inside)
        });
        found.map(|l| (l.module.clone(), l.bias))
    }
}

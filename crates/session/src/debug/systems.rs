//! Which files are the system's: their names are everywhere, and nobody means what they have for
//! themselves by a name alone.

use super::images::Images;
use verde_symbols::Module;

/// Where the system's libraries are, wherever a distribution has them below.
const DIRECTORIES: [&str; 6] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
];

impl Images {
    /// The loader's private copies of functions are none of the program's, unless it is named.
    pub fn is_loader(&self, module: &Module) -> bool {
        let loader = self.program().interpreter();
        let loader = loader.as_deref().and_then(|p| p.file_name());
        loader.is_some() && module.path().file_name() == loader
    }

    /// The C library and the loader, which have functions of many names for themselves.
    pub fn is_c_library(&self, module: &Module) -> bool {
        let name = module.path().file_name().unwrap_or_default();
        self.is_loader(module) || name.to_string_lossy().starts_with("libc.so")
    }

    /// A library of the system's, be it C's, C++'s or another.
    pub fn is_systems(&self, module: &Module) -> bool {
        let is_program = std::ptr::eq(&**self.program(), module);
        let is_below = |directory: &&str| module.path().starts_with(directory);
        !is_program && (self.is_c_library(module) || DIRECTORIES.iter().any(is_below))
    }
}

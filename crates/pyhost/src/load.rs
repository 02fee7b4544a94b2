//! Loads libpython and the plugin.
#![allow(unsafe_code)]

use crate::abi::{ABI_VERSION, ENTRY, Entry, Table};
use crate::find;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// Why there is no Python.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(
        "no libpython was found: install Debian's package `libpython3.11` (or another version's), \
         or name the file in VERDE_LIBPYTHON"
    )]
    NoLibpython,
    #[error("the plugin {} was not found: {detail}", find::PLUGIN)]
    NoPlugin { detail: String },
    #[error("{file} is of another version of Verde: build both together")]
    Version { file: String },
    #[error("Python does not start: {0}")]
    Start(String),
}

/// The plugin's table. The libraries stay loaded for the life of the process:
/// Python cannot be unloaded.
pub fn load() -> Result<&'static Table, LoadError> {
    load_libpython()?;
    let mut detail = String::from("no place to look");
    for path in find::plugin_paths() {
        // SAFETY: loading runs the plugin's initialisers; it is our own library and has none of its own.
        let library = match unsafe { Library::open(Some(&path), RTLD_NOW) } {
            Ok(l) => l,
            Err(e) => {
                detail = e.to_string();
                continue;
            }
        };
        let file = path.display().to_string();
        // SAFETY: the symbol has this type in every version of the plugin.
        let table = unsafe {
            let Ok(entry) = library.get::<Entry>(ENTRY) else {
                return Err(LoadError::Version { file });
            };
            entry().as_ref()
        };
        std::mem::forget(library);
        return match table {
            // The version is the first field, so it can be read whatever follows.
            Some(t) if t.version == ABI_VERSION => Ok(t),
            _ => Err(LoadError::Version { file }),
        };
    }
    Err(LoadError::NoPlugin { detail })
}

fn load_libpython() -> Result<(), LoadError> {
    let open = |path: &std::path::Path| {
        // SAFETY: libpython's initialisers only prepare the library. Its symbols
        // must be global: the plugin is not linked with it.
        match unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) } {
            Ok(l) => {
                std::mem::forget(l);
                true
            }
            Err(_) => false,
        }
    };
    let named = find::libpython_names().iter().any(|p| open(p));
    if named || find::libpython_of_path().is_some_and(|p| open(&p)) {
        Ok(())
    } else {
        Err(LoadError::NoLibpython)
    }
}

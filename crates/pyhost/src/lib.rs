//! Python for monitors, without linking Python.
//!
//! The plugin (`libverde_python.so`) is loaded when the first block or
//! functions file needs it, after the machine's libpython. Without either, a
//! property that fits the typed subset still runs.

pub mod abi;
mod find;
mod host;
mod load;

pub use host::{Asking, Cells, FailedCallback, NoProgram, PythonHost, Services, Unit};
pub use load::LoadError;

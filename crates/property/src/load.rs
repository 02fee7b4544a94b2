//! The front door: bytes of a file in, a checked model and findings out.

use crate::Severity;
use crate::check::{PYTHON_SYNTAX, check};
use crate::diag::{Diagnostic, Diagnostics};
use crate::limits;
use crate::model::Property;
use crate::parse::parse_property;
use crate::python::Names;
use crate::scenario::{Scenario, check_scenario, parse_scenario};
use crate::source::{Source, Span};
use std::collections::HashSet;
use std::sync::Arc;

/// What loading a file gave. `model` is there unless there was an error.
pub struct Loaded<T> {
    pub source: Arc<Source>,
    pub model: Option<T>,
    pub found: Vec<Diagnostic>,
}

impl<T> Loaded<T> {
    pub fn errors(&self) -> usize {
        self.found
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .count()
    }

    pub fn warnings(&self) -> usize {
        self.found.len() - self.errors()
    }
}

/// The names that functions files define, read without running them.
#[derive(Default, Debug, Clone)]
pub struct Functions {
    pub names: HashSet<String>,
    /// Some file has `from m import *`: other names may exist.
    pub star: bool,
}

impl Functions {
    /// Adds the names of one file; the error has the file's own place.
    pub fn add(&mut self, source: &Arc<Source>) -> Result<(), Box<Diagnostic>> {
        if source.text.len() > limits::FILE {
            let message = format!("the file is longer than {} bytes", limits::FILE);
            return Err(Box::new(
                Diagnostic::error("too-large", Span::at(0), message)
                    .hint("is this a functions file?"),
            ));
        }
        let text = source.clone();
        let parsed = with_deep_stack(move || {
            ruff_python_parser::parse_module(&text.text)
                .map(|m| Names::of(&m.syntax().body))
                .map_err(|e| {
                    Box::new(
                        Diagnostic::error(
                            "python-syntax",
                            Span::new(e.location.start().to_usize(), e.location.end().to_usize()),
                            format!("Python syntax: {}", e.error),
                        )
                        .hint("a functions file is ordinary Python 3"),
                    )
                })
        });
        let names = parsed?;
        self.star |= names.star_import.is_some();
        self.names
            .extend(names.assigned.into_iter().map(|(n, _)| n));
        Ok(())
    }

    pub fn defines(&self, name: &str) -> bool {
        self.star || self.names.contains(name)
    }
}

pub fn load_property(name: &str, bytes: &[u8], functions: &Functions) -> Loaded<Property> {
    load(name, bytes, |source, found| {
        let (file, mut parsed) = parse_property(&source.text);
        std::mem::swap(found, &mut parsed);
        if file.states.is_empty() && !found.has_errors() {
            found.push(
                Diagnostic::error("no-init", Span::at(0), "the file has no state")
                    .hint("a property is a list of states: `state init { ... }`"),
            );
        }
        if !found.has_errors() {
            return check(source, &file, functions, found);
        }
        // States that could not be read would bring more errors of the same
        // cause; the Python of those that could is worth a look all the same.
        let mut more = Diagnostics::default();
        check(source, &file, functions, &mut more);
        for d in more
            .sorted()
            .into_iter()
            .filter(|d| d.code == PYTHON_SYNTAX)
        {
            found.push(d);
        }
        None
    })
}

pub fn load_scenario(name: &str, bytes: &[u8], functions: &Functions) -> Loaded<Scenario> {
    load(name, bytes, |source, found| {
        let (file, mut parsed) = parse_scenario(source);
        std::mem::swap(found, &mut parsed);
        check_scenario(source, file, functions, found)
    })
}

/// Some editors begin UTF-8 files with it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

fn load<T: Send>(
    name: &str,
    bytes: &[u8],
    read: impl FnOnce(&Arc<Source>, &mut Diagnostics) -> Option<T> + Send,
) -> Loaded<T> {
    let mut found = Diagnostics::default();
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(limits::FILE)]);
    let source = Source::new(name, text);
    if bytes.len() > limits::FILE {
        found.push(
            Diagnostic::error(
                "too-large",
                Span::at(0),
                format!(
                    "the file has {} bytes; at most {} are read",
                    bytes.len(),
                    limits::FILE
                ),
            )
            .hint("is this a property file?"),
        );
    } else if let Err(e) = std::str::from_utf8(bytes) {
        found.push(
            Diagnostic::error(
                "not-text",
                Span::at(e.valid_up_to()),
                "the file is not UTF-8 text",
            )
            .hint("is this a property file?"),
        );
    }
    let model = if found.has_errors() {
        None
    } else {
        with_deep_stack(|| read(&source, &mut found))
    };
    let found = found.sorted();
    Loaded {
        source,
        model,
        found,
    }
}

/// Python's parser is recursive; blocks are bounded, but a bounded block can
/// still nest as deep as its length. The stack is reserved, not used, memory;
/// where so much address space is not to be had, less has to do.
fn with_deep_stack<T: Send, F: FnOnce() -> T + Send>(f: F) -> T {
    let f = std::sync::Mutex::new(Some(f));
    let run = || {
        let f = f.lock().unwrap_or_else(|e| e.into_inner()).take();
        f.map(|f| f())
    };
    std::thread::scope(|s| {
        for stack in [1 << 30, 64 << 20, 8 << 20] {
            if let Ok(handle) = std::thread::Builder::new()
                .stack_size(stack)
                .spawn_scoped(s, run)
            {
                match handle.join() {
                    Ok(Some(v)) => return v,
                    Ok(None) => break,
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        }
        run().expect("the closure has not run yet")
    })
}

//! Loads property and functions files and starts Python when they need it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use verde_monitor::Raised;
use verde_property::{Diagnostic, Functions, Property, Severity, Source, load_property};
use verde_pyhost::PythonHost;

/// What to load, in the order of the command line.
pub struct Loader {
    pub properties: Vec<PathBuf>,
    pub functions: Vec<PathBuf>,
    /// How long a Python block may run.
    pub block_limit: Duration,
}

/// Loaded properties, with what was found in each file.
pub struct LoadedSet {
    pub properties: Vec<Arc<Property>>,
    pub warnings: Vec<(Arc<Source>, Vec<Diagnostic>)>,
    pub host: PythonHost,
}

/// Why loading failed.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error("cannot read {path}: {error}")]
    Read { path: String, error: std::io::Error },
    #[error("{} has errors", source_name(.0))]
    Diagnostics(Vec<(Arc<Source>, Vec<Diagnostic>)>),
    #[error(
        "there is no property std:{name}; the shipped ones are: {}",
        shipped_names()
    )]
    NotShipped { name: String },
    #[error("property {}: the initialization failed: {}", .property.name, crate::replay::describe(.failure))]
    Initialization {
        property: Arc<Property>,
        failure: Box<verde_monitor::Failure>,
    },
    #[error("functions file {file}: {}", .raised.error)]
    Functions { file: String, raised: Raised },
    #[error("{file}:{line}: this {role} needs Python ({reason}), but: {}", .raised.error)]
    Python {
        file: String,
        line: usize,
        role: &'static str,
        reason: String,
        raised: Raised,
    },
}

fn shipped_names() -> String {
    let names: Vec<&str> = crate::shipped::names().collect();
    names.join(", ")
}

fn source_name(found: &[(Arc<Source>, Vec<Diagnostic>)]) -> String {
    let names: Vec<&str> = found.iter().map(|(s, _)| s.name.as_str()).collect();
    names.join(", ")
}

/// A property, scenario or functions file; of a longer one no more than is
/// needed to see that it is too long.
pub fn read_source(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = verde_property::limits::FILE as u64 + 1;
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failed> {
    read_source(path).map_err(|error| Failed::Read {
        path: path.display().to_string(),
        error,
    })
}

impl Loader {
    pub fn load(&self) -> Result<LoadedSet, Failed> {
        let mut host = PythonHost::new(self.block_limit);
        let mut functions = Functions::default();
        let mut sources = Vec::new();
        for path in &self.functions {
            let bytes = read(path)?;
            let source = Source::new(path.display().to_string(), String::from_utf8_lossy(&bytes));
            if let Err(d) = functions.add(&source) {
                return Err(Failed::Diagnostics(vec![(source, vec![*d])]));
            }
            sources.push(source);
        }
        let mut properties: Vec<Arc<Property>> = Vec::new();
        let (mut wrong, mut warnings) = (Vec::new(), Vec::new());
        for path in &self.properties {
            let text = crate::shipped::property(path)?;
            if let Some(source) = text.functions {
                if let Err(d) = functions.add(&source) {
                    return Err(Failed::Diagnostics(vec![(source, vec![*d])]));
                }
                sources.push(source);
            }
            let loaded = load_property(&text.name, &text.bytes, &functions);
            match loaded.model {
                Some(mut p) => {
                    p.name = unique_name(&p.name, &properties);
                    properties.push(Arc::new(p));
                    if !loaded.found.is_empty() {
                        warnings.push((loaded.source, loaded.found));
                    }
                }
                None => {
                    let errors = loaded
                        .found
                        .into_iter()
                        .filter(|d| d.severity == Severity::Error);
                    wrong.push((loaded.source, errors.collect()));
                }
            }
        }
        if !wrong.is_empty() {
            return Err(Failed::Diagnostics(wrong));
        }
        for source in sources {
            let file = source.name.clone();
            host.add_functions(source)
                .map_err(|raised| Failed::Functions { file, raised })?;
        }
        for p in &properties {
            if let (Err(raised), Some((block, reason))) =
                (host.prepare((&**p).into()), p.needs_python())
            {
                return Err(Failed::Python {
                    file: p.source.name.clone(),
                    line: p.source.line(block.span.start),
                    role: block.role.word(),
                    reason: reason.text.clone(),
                    raised,
                });
            }
        }
        Ok(LoadedSet {
            properties,
            warnings,
            host,
        })
    }
}

/// `queue`, then `queue#2`, `queue#3`.
pub(crate) fn unique_name(name: &str, before: &[Arc<Property>]) -> String {
    (1..)
        .map(|k| {
            if k == 1 {
                name.to_string()
            } else {
                format!("{name}#{k}")
            }
        })
        .find(|n| before.iter().all(|p| p.name != *n))
        .unwrap_or_default()
}

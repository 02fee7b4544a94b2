//! What a name means in the source: several files and functions may be called the same.

use super::Debugger;
use super::location::Spec;
use std::fmt;
use std::sync::Arc;
use verde_symbols::{FunctionQuery, Outlook, SourceFile};

/// One of the places that a location means.
pub(super) struct Meant {
    pub file: Arc<SourceFile>,
    pub line: u32,
    /// The function, if it was named by one.
    symbol: Option<String>,
}

impl fmt::Display for Meant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbol = self.symbol.as_deref().unwrap_or("???");
        let (file, line) = (&self.file.name, self.line);
        write!(
            f,
            "file: \"{file}\", line number: {line}, symbol: \"{symbol}\""
        )
    }
}

impl Debugger {
    /// The places of the source that a location means, in the order of their files; none if it
    /// means one place, or nothing that is known.
    pub(super) fn several_meant(&self, text: &str) -> Vec<Meant> {
        let mut all: Vec<Meant> = match Spec::parse(text) {
            Spec::Line(Some(name), line) => {
                let files = self.files_named(name).into_iter();
                let at = |file| Meant {
                    file,
                    line,
                    symbol: None,
                };
                files.map(at).collect()
            }
            Spec::Function(name) => {
                let found = self.functions(name).unwrap_or_default().into_iter();
                let place = |(module, function): (Arc<_>, verde_symbols::Function)| {
                    let (file, line) = function.declared?;
                    let bias = self.images.bias(&module).unwrap_or(0);
                    let symbol = self.function_text(function.entry.at(bias));
                    Some(Meant { file, line, symbol })
                };
                found.filter_map(place).collect()
            }
            Spec::Line(None, _) | Spec::Address(_) => Vec::new(),
        };
        all.sort_by(|a, b| (&a.file.name, a.line).cmp(&(&b.file.name, b.line)));
        all.dedup_by(|a, b| a.file.path == b.file.path && a.line == b.line);
        match all.len() {
            1 => Vec::new(),
            _ => all,
        }
    }

    /// The files with code that a name means: their paths end with it.
    pub(super) fn files_named(&self, name: &str) -> Vec<Arc<SourceFile>> {
        let all = self.images.loaded().iter();
        let named = all.flat_map(|l| l.module.source_files()).filter(|f| {
            let rest = f.path.strip_suffix(name);
            rest.is_some_and(|r| r.is_empty() || r.ends_with('/'))
        });
        named.map(Arc::new).collect()
    }

    /// Where a function is declared that has no code but in others.
    pub(super) fn inlined_named(&self, name: &str) -> Option<(Arc<SourceFile>, u32)> {
        let query = FunctionQuery::parse(name);
        self.images.loaded().iter().find_map(|l| {
            let calls = l.module.inlined_calls(&query).into_iter();
            calls
                .map(|c| c.die)
                .find_map(|die| l.module.declared_at(die))
        })
    }

    /// Where a variable is declared: in the file that is shown, if there is one of its name.
    pub(super) fn variable_named(&self, name: &str) -> Option<(Arc<SourceFile>, u32)> {
        let from = Outlook::anywhere();
        let places = self.images.loaded().iter().flat_map(|l| {
            let found = l.module.globals(name, None, &from).into_iter();
            found.filter_map(|(_, v)| l.module.declared_at(v.die))
        });
        let places: Vec<(Arc<SourceFile>, u32)> = places.collect();
        let shown = self.default_file().ok();
        let is_shown = |f: &SourceFile| shown.as_ref().is_some_and(|s| s.path == f.path);
        let here = places.iter().find(|(file, _)| is_shown(file));
        here.or(places.first()).cloned()
    }
}

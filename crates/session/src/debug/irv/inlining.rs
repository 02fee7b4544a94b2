//! Calls that were inlined: they cannot be observed, which is said.

use super::super::Debugger;
use super::alphabet::Source;
use super::bind::Note;
use std::sync::Arc;
use verde_property::Kind;
use verde_symbols::{Function, FunctionQuery, InlinedCall, Module};

impl Debugger {
    /// What a source names is a function that the program has in its callers only, or in one.
    pub(super) fn is_inlined(&self, source: &Source) -> bool {
        let name = match source.kind {
            Kind::Call | Kind::Unwound => Some(source.name.as_str()),
            _ => source.locals.as_deref().and_then(|l| l.function()),
        };
        name.is_some_and(|name| self.has_inlined(&FunctionQuery::parse(name)))
    }

    /// The program has a function in its callers.
    pub(super) fn has_inlined(&self, query: &FunctionQuery) -> bool {
        let program = self.images.program();
        query.fits_module(program.path()) && program.has_inlined(query)
    }

    /// Calls that were inlined cannot be observed: the user is told how many. Whether there are any.
    pub(super) fn note_inlined(
        &self,
        source: &Source,
        functions: &[(Arc<Module>, Function)],
        notes: &mut Vec<Note>,
    ) -> bool {
        let known = notes.len();
        let query = FunctionQuery::parse(&source.name);
        let title = source.title();
        let program = self.images.program();
        // To a static program no library brings another.
        let is_all = functions.is_empty() && program.interpreter().is_none();
        // A function of C's is meant by its bare name, not one of that name in some scope.
        let is_global = |f: &Function| f.name.split('(').next() == Some(query.base());
        let has_real =
            self.is_imported(query.base()) || functions.iter().any(|(_, f)| is_global(f));
        let only_global = query.path.len() == 1 && has_real;
        // Libraries have functions of every name; only what the program lacks is looked for there.
        let is_alone =
            !functions.iter().any(|(m, _)| Arc::ptr_eq(m, program)) && !self.has_inlined(&query);
        // How a library calls what it offers to others is its own matter, and the C library's all.
        let may_count = |m: &Module| !self.images.is_c_library(m) && !m.links_by(query.base());
        for loaded in self.images.loaded() {
            let module = &loaded.module;
            let is_program = Arc::ptr_eq(module, program);
            let is_meant = is_program || query.module.is_some() || is_alone && may_count(module);
            // What was said of the program stays true.
            let is_known = is_program && source.told;
            if is_known || !is_meant || !query.fits_module(module.path()) {
                continue;
            }
            let calls = module.inlined_calls(&query);
            let meant = |c: &&InlinedCall| !only_global || c.name == query.base();
            let text = match calls.iter().filter(meant).count() {
                0 if is_program && functions.is_empty() && !only_global => {
                    if !self.has_inlined(&query) {
                        continue;
                    }
                    "it was inlined, and nothing is left of its calls: not observable".to_owned()
                }
                0 => continue,
                count => {
                    let s = if count == 1 { "" } else { "s" };
                    let place = match module.path().file_name() {
                        Some(file) if !is_program => format!(" in {}", file.to_string_lossy()),
                        _ => String::new(),
                    };
                    let rest = if is_all { "; there is no other" } else { "" };
                    format!("{count} call{s} inlined{place}: not observable{rest}")
                }
            };
            notes.push(Note {
                text: format!("event {title}: {text} (compile with -fno-inline to see them)"),
                is_error: false,
            });
        }
        notes.len() > known
    }
}

//! A property against a program that does not run: names, parameters, places.

use super::super::Debugger;
use super::super::failure::Result;
use super::alphabet::{Alphabet, MonitorId, Source};
use super::watching::kernel_text;
use super::{Choices, Irv, Output};
use std::path::Path;
use verde_property::{Diagnostic, Kind, Property, Span, SpecId};

/// What the program says about the events of a property, at the transitions that name them.
pub fn lint_against(program: &Path, property: &Property) -> Result<Vec<Diagnostic>> {
    let mut debugger = Debugger::open(program.to_owned(), Vec::new(), Box::new(std::io::sink()))?;
    let mut irv = Irv::new(Choices::default(), Output::Prompt);
    irv.alphabet = Alphabet::default();
    irv.alphabet.add(MonitorId(0), property);
    let mut found = Vec::new();
    for index in 0..irv.alphabet.sources.len() {
        let mut notes = Vec::new();
        debugger.bind_source(&mut irv, index, &mut notes);
        let source = &irv.alphabet.sources[index];
        let span = span_of_source(property, source);
        let is_wrong = notes.iter().any(|note| note.is_error);
        for note in notes {
            found.push(match note.is_error {
                true => not_in_program(span, &note.text),
                false => Diagnostic::warning("not-observable", span, note.text),
            });
        }
        // What is wrong with it was said.
        if is_wrong || source.found || debugger.is_inlined(source) {
            continue;
        }
        let name = source.name.rsplit(['!', ':']).next().unwrap_or_default();
        if debugger.is_imported(name) {
            continue;
        }
        // A library may bring any of them: `check` begins with a warning, too.
        let (rule, what, near) = match source.kind {
            Kind::Call | Kind::Unwound => {
                let near = debugger.images.program().nearest_names(&source.name, 3);
                ("unknown-function", "function", near)
            }
            Kind::Line => ("unknown-line", "code at", Vec::new()),
            Kind::Write | Kind::Read | Kind::Update => {
                let near = debugger.near_variables(source);
                ("unknown-variable", "variable for", near)
            }
            _ => continue,
        };
        let text = format!("the program has no {what} `{}`", source.name);
        let warning = Diagnostic::warning(rule, span, text);
        found.push(match near.is_empty() {
            true => warning.hint("it binds if a library brings it"),
            false => warning.hint(format!("near it: {}", near.join(", "))),
        });
    }
    for index in irv.by_cpu() {
        let source = &irv.alphabet.sources[index];
        let span = span_of_source(property, source);
        let text = kernel_text(source);
        found.push(Diagnostic::warning("not-observable", span, text));
    }
    Ok(found)
}

/// What the note says besides is what helps.
fn not_in_program(span: Span, text: &str) -> Diagnostic {
    let error = |text: &str| Diagnostic::error("not-in-program", span, text.to_owned());
    if let Some((text, parameters)) = text.split_once("  Its parameters: ") {
        return error(text).hint(format!("its parameters: {parameters}"));
    }
    match text {
        _ if text.contains("`ret` exists only") => error(text).hint("write `after event`"),
        _ if text.contains("`arg ") => error(text).hint("`arg 0` is the first"),
        _ => error(text),
    }
}

fn span_of_source(property: &Property, source: &Source) -> Span {
    let user = source.users.first();
    let span = user.and_then(|user| span_of(property, user.spec));
    span.unwrap_or_default()
}

/// Where a transition names an event; `None`: only the end of slices does.
pub(super) fn span_of(property: &Property, spec: SpecId) -> Option<Span> {
    let mut all = property.states.iter().flat_map(|s| &s.transitions);
    all.find(|t| t.event == spec).map(|t| t.span)
}

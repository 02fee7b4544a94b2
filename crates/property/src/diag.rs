//! Diagnostics: what is wrong, where, and what to do about it.

use crate::source::{Source, Span};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Warning,
    Error,
}

impl Severity {
    pub fn word(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One finding. `hint` always says what the writer can do.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub severity: Severity,
    /// Stable short name of the check, for scripts (`unknown-state`).
    pub code: &'static str,
    pub message: String,
    pub span: Span,
    /// What to write under the caret.
    pub label: String,
    /// A second place that matters (the first definition, say).
    pub other: Option<(Span, String)>,
    pub hint: String,
}

impl Diagnostic {
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, span, message)
    }

    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, span, message)
    }

    fn new(severity: Severity, code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity,
            code,
            message: message.into(),
            span,
            label: String::new(),
            other: None,
            hint: String::new(),
        }
    }

    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    pub fn other(mut self, span: Span, text: impl Into<String>) -> Self {
        self.other = Some((span, text.into()));
        self
    }
}

/// Findings of one file, in the order of their place.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// More errors than a person reads: a binary file must not print megabytes.
    const MOST: usize = 50;

    pub fn push(&mut self, d: Diagnostic) {
        if self.list.len() < Self::MOST {
            self.list.push(d);
        }
    }

    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    pub fn sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| (d.span.start, d.span.end));
        self.list
    }
}

/// The nearest of `names` to `word`, when one is near enough to be a slip.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|n| (strsim::damerau_levenshtein(word, n), n))
        .filter(|(d, n)| *d > 0 && *d <= 1 + word.len().min(n.len()) / 3)
        .min_by_key(|(d, _)| *d)
        .map(|(_, n)| n)
}

/// The findings as text for people: message, place, caret, hint.
pub fn render(source: &Source, findings: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut out = String::new();
    for d in findings {
        let level = match d.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let len = source.text.len();
        let visible = |s: Span| {
            // An empty range has no caret; at the end of the text point at the last character.
            let start = floor_char(&source.text, s.start.min(len));
            let end = ceil_char(&source.text, s.end.clamp(start, len));
            if end > start {
                start..end
            } else if start < len {
                start..ceil_char(&source.text, start + 1)
            } else {
                floor_char(&source.text, len.saturating_sub(1))..len
            }
        };
        let mut snippet = Snippet::source(source.text.as_str())
            .path(source.name.as_str())
            .annotation(
                AnnotationKind::Primary
                    .span(visible(d.span))
                    .label(d.label.as_str()),
            );
        if let Some((span, text)) = &d.other {
            snippet = snippet.annotation(
                AnnotationKind::Context
                    .span(visible(*span))
                    .label(text.as_str()),
            );
        }
        let mut group = level
            .primary_title(d.message.as_str())
            .id(d.code)
            .element(snippet);
        if !d.hint.is_empty() {
            group = group.element(Level::HELP.message(d.hint.as_str()));
        }
        out.push_str(&renderer.render(&[group]));
        out.push('\n');
    }
    out
}

fn floor_char(text: &str, mut i: usize) -> usize {
    while !text.is_char_boundary(i) {
        i -= 1;
    }
    i
}

fn ceil_char(text: &str, mut i: usize) -> usize {
    i = i.min(text.len());
    while !text.is_char_boundary(i) {
        i += 1;
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_slips_and_nothing_else() {
        assert_eq!(nearest("sinc", ["init", "sink"]), Some("sink"));
        assert_eq!(
            nearest("queue_redy", ["queue_ready", "sink"]),
            Some("queue_ready")
        );
        assert_eq!(nearest("elephant", ["init", "sink"]), None);
    }

    #[test]
    fn rendering_survives_any_place() {
        for text in ["", "a", "é", "é\nü"] {
            let source = Source::new("x.prop", text);
            for start in 0..=text.len() + 2 {
                for end in start..=text.len() + 2 {
                    let d = Diagnostic::error("x", Span::new(start, end), "m").hint("h");
                    assert!(render(&source, &[d], false).contains("m"));
                }
            }
        }
    }
}

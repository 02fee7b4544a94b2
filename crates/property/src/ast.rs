//! What the parser read, before any check: names are still text with their place.

use crate::source::Span;

/// What happened, of the kinds a trace or a property can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Call,
    Write,
    Read,
    Update,
    Syscall,
    Signal,
    Line,
    Thread,
    Process,
    Unwound,
}

impl Kind {
    pub const ALL: [Kind; 10] = [
        Kind::Call,
        Kind::Write,
        Kind::Read,
        Kind::Update,
        Kind::Syscall,
        Kind::Signal,
        Kind::Line,
        Kind::Thread,
        Kind::Process,
        Kind::Unwound,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Kind::Call => "call",
            Kind::Write => "write",
            Kind::Read => "read",
            Kind::Update => "update",
            Kind::Syscall => "syscall",
            Kind::Signal => "signal",
            Kind::Line => "line",
            Kind::Thread => "thread",
            Kind::Process => "process",
            Kind::Unwound => "unwound",
        }
    }

    pub fn from_word(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.word() == word)
    }

    /// The moment meant when the writer says neither `before` nor `after`.
    pub fn default_when(self) -> When {
        match self {
            Kind::Write | Kind::Read | Kind::Update => When::After,
            _ => When::Before,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum When {
    Before,
    After,
}

impl When {
    pub fn word(self) -> &'static str {
        match self {
            When::Before => "before",
            When::After => "after",
        }
    }
}

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub text: String,
    pub span: Span,
}

/// A block's text between its braces, not yet read as Python.
#[derive(Clone, Debug)]
pub struct RawBlock {
    /// Between the braces, both excluded.
    pub span: Span,
    /// See [`crate::scan::Scanned::logical`].
    pub logical: Vec<usize>,
}

/// What an event's parameter denotes in the program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A variable, with members and indices: `q`, `q->head[3].next`, `ns::v`.
    Path(String),
    Deref(Box<Operand>),
    AddressOf(Box<Operand>),
    /// The n-th argument of the call, from 0.
    Arg(u32),
    Ret,
    /// The value at the function's entry.
    Entry(Box<Operand>),
    Tid,
    Time,
    Caller,
}

impl Operand {
    /// The canonical text: the key of the parameter in a trace's `args`.
    pub fn text(&self) -> String {
        match self {
            Operand::Path(p) => p.clone(),
            Operand::Deref(o) => format!("*{}", o.text()),
            Operand::AddressOf(o) => format!("&{}", o.text()),
            Operand::Arg(n) => format!("arg {n}"),
            Operand::Ret => "ret".into(),
            Operand::Entry(o) => format!("entry({})", o.text()),
            Operand::Tid => "$tid".into(),
            Operand::Time => "$time".into(),
            Operand::Caller => "$caller".into(),
        }
    }

    /// The Python name of a parameter written without `as`.
    pub fn python_name(&self) -> String {
        match self {
            Operand::Path(p) => {
                let whole = p.split('[').next().unwrap_or(p);
                let last = whole.rsplit(['.', '>', ':']).next().unwrap_or(whole);
                if last.starts_with(|c: char| c.is_ascii_digit()) {
                    format!("_{last}")
                } else {
                    last.to_string()
                }
            }
            Operand::Deref(o) | Operand::AddressOf(o) | Operand::Entry(o) => o.python_name(),
            Operand::Arg(n) => format!("arg{n}"),
            Operand::Ret => "ret".into(),
            Operand::Tid => "tid".into(),
            Operand::Time => "time".into(),
            Operand::Caller => "caller".into(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Param {
    pub operand: Operand,
    pub alias: Option<Name>,
    pub ty: Option<Name>,
    pub span: Span,
}

/// A symbolic event as written.
#[derive(Clone, Debug)]
pub struct Event {
    pub kind: Kind,
    pub when: Option<When>,
    /// Function, lvalue, expression, `file:n`, `start`, ...
    pub name: Name,
    pub params: Vec<Param>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Outcome {
    pub success: bool,
    pub block: Option<RawBlock>,
    pub action: Option<Name>,
    pub to: Name,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Transition {
    pub event: Event,
    pub guard: Option<RawBlock>,
    pub outcomes: Vec<Outcome>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct State {
    pub name: Name,
    pub accepting: Option<(bool, Span)>,
    pub is_final: bool,
    pub action: Option<Name>,
    pub transitions: Vec<Transition>,
}

#[derive(Clone, Debug, Default)]
pub struct PropertyFile {
    pub slice_on: Vec<Name>,
    pub ends: Vec<Event>,
    pub init: Option<RawBlock>,
    pub states: Vec<State>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_names() {
        let path = |s: &str| Operand::Path(s.into());
        for (operand, text, python) in [
            (path("queue"), "queue", "queue"),
            (path("node->next"), "node->next", "next"),
            (path("a.b[3]"), "a.b[3]", "b"),
            (path("ns::v"), "ns::v", "v"),
            (path("self.0"), "self.0", "_0"),
            (Operand::Deref(Box::new(path("p"))), "*p", "p"),
            (Operand::AddressOf(Box::new(path("p"))), "&p", "p"),
            (Operand::Arg(3), "arg 3", "arg3"),
            (Operand::Entry(Box::new(path("x"))), "entry(x)", "x"),
            (Operand::Tid, "$tid", "tid"),
        ] {
            assert_eq!(operand.text(), text);
            assert_eq!(operand.python_name(), python);
        }
    }
}

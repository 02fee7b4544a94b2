//! A checked property: what the monitor runs and the pictures show.

use crate::ast::{Kind, Operand, When};
use crate::block::PyText;
use crate::ir;
pub use crate::lower::Reason;
use crate::source::{Source, Span};
use std::sync::Arc;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident, $repr:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub $repr);
        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
index!(
    /// Index into [`Property::states`].
    StateId, u16
);
index!(
    /// Index into [`Property::events`].
    SpecId, u16
);
index!(
    /// Index into [`Property::blocks`].
    BlockId, u32
);

/// A set of slice parameters, one bit each in the order of `slice on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Mask(pub u16);

impl Mask {
    pub const EMPTY: Mask = Mask(0);

    pub fn one(i: usize) -> Mask {
        Mask(1 << i)
    }

    pub fn union(self, o: Mask) -> Mask {
        Mask(self.0 | o.0)
    }

    pub fn meet(self, o: Mask) -> Mask {
        Mask(self.0 & o.0)
    }

    /// Every parameter of `self` is one of `o`.
    pub fn within(self, o: Mask) -> bool {
        self.0 & !o.0 == 0
    }

    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, i: usize) -> bool {
        self.0 & (1 << i) != 0
    }

    /// Its parameters, in the order of `slice on`.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let i = rest.trailing_zeros() as usize;
            (rest != 0).then(|| {
                rest &= rest - 1;
                i
            })
        })
    }
}

/// What is known about a slice's future: definite when no state of the other
/// kind can be reached any more. Ordered from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    False,
    CurrentlyFalse,
    CurrentlyTrue,
    True,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::False => "false",
            Verdict::CurrentlyFalse => "currently-false",
            Verdict::CurrentlyTrue => "currently-true",
            Verdict::True => "true",
        }
    }
}

/// A symbolic event: kind, moment and name, with every parameter that some
/// transition (or `ends`) on it names.
#[derive(Clone, Debug)]
pub struct EventSpec {
    pub kind: Kind,
    pub when: When,
    pub name: String,
    pub params: Vec<ParamSpec>,
}

/// Something to be read when the event happens.
#[derive(Clone, Debug)]
pub struct ParamSpec {
    pub operand: Operand,
    /// The key in a trace's `args`.
    pub text: String,
    /// The type that transitions declare for it: with another one it is another parameter.
    pub ty: Option<String>,
}

/// A parameter as one transition sees it.
#[derive(Clone, Debug)]
pub struct ParamUse {
    /// Index into the event's parameters.
    pub arg: u16,
    pub python: String,
    pub ty: Option<String>,
    /// What values of the declared type become in a block.
    pub types: ir::Types,
}

/// Which arguments of an event give the values of which slice parameters.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Binding {
    pub mask: Mask,
    /// Index into the event's parameters for each bit of the mask, lowest first.
    pub args: Vec<u16>,
}

#[derive(Clone, Debug)]
pub struct Outcome {
    pub block: Option<BlockId>,
    pub action: Option<String>,
    pub to: StateId,
}

#[derive(Clone, Debug)]
pub struct Transition {
    pub event: SpecId,
    pub params: Vec<ParamUse>,
    pub binding: Binding,
    pub guard: Option<BlockId>,
    pub success: Option<Outcome>,
    pub failure: Option<Outcome>,
    pub span: Span,
    /// The event as written, for labels.
    pub label: String,
}

impl Transition {
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.success.iter().chain(&self.failure)
    }
}

#[derive(Clone, Debug)]
pub struct State {
    pub name: String,
    pub accepting: bool,
    /// Entering it ends the slice.
    pub is_final: bool,
    pub action: Option<String>,
    pub transitions: Vec<Transition>,
    pub verdict: Verdict,
    pub span: Span,
}

/// An event that ends the slices that agree with its parameters.
#[derive(Clone, Debug)]
pub struct Ends {
    pub event: SpecId,
    pub binding: Binding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Initialization,
    Guard,
    Success,
    Failure,
    /// A scenario's initialization.
    Beginning,
    Reaction,
}

impl Role {
    /// A block of a scenario: it has the scenario's actions.
    pub fn acts(self) -> bool {
        matches!(self, Role::Beginning | Role::Reaction)
    }

    pub fn word(self) -> &'static str {
        match self {
            Role::Initialization | Role::Beginning => "initialization",
            Role::Guard => "guard",
            Role::Success => "success",
            Role::Failure => "failure",
            Role::Reaction => "reaction",
        }
    }
}

/// How a block runs.
#[derive(Clone, Debug)]
pub enum Tier {
    /// No code: nothing to do, and a guard counts as True.
    Empty,
    Typed(ir::Code),
    Python(Reason),
}

#[derive(Clone, Debug)]
pub struct Block {
    pub role: Role,
    /// Between the braces.
    pub span: Span,
    /// For CPython, and for the typed tier when it must fall back.
    pub python: PyText,
    /// Python names of the event's parameters.
    pub params: Vec<String>,
    pub param_types: Vec<ir::Types>,
    /// Environment names that it assigns.
    pub assigned: Vec<u16>,
    /// Without a `return` anywhere a guard counts as True.
    pub has_return: bool,
    pub tier: Tier,
}

#[derive(Clone, Debug)]
pub struct Property {
    /// Different for every property that is loaded, so that a cache can name it.
    pub uid: u64,
    /// The file's stem, or what the user calls it.
    pub name: String,
    pub source: Arc<Source>,
    pub slice_on: Vec<String>,
    pub ends: Vec<Ends>,
    /// Names of the environment.
    pub env: Vec<String>,
    pub env_types: Vec<ir::Types>,
    pub init_block: Option<BlockId>,
    pub init: StateId,
    pub states: Vec<State>,
    pub events: Vec<EventSpec>,
    pub blocks: Vec<Block>,
    /// The sets of bound parameters that a slice can have: `{} < D1 < ... < Dn`.
    pub chain: Vec<Mask>,
    /// For each state the levels of the chain at which a slice can be in it, as bits.
    pub levels: Vec<u32>,
}

impl Property {
    pub fn state(&self, id: StateId) -> &State {
        &self.states[id.index()]
    }

    pub fn event(&self, id: SpecId) -> &EventSpec {
        &self.events[id.index()]
    }

    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    pub fn is_sliced(&self) -> bool {
        !self.slice_on.is_empty()
    }

    /// The first block that cannot run without Python, with the reason.
    pub fn needs_python(&self) -> Option<(&Block, &Reason)> {
        self.blocks.iter().find_map(|b| match &b.tier {
            Tier::Python(r) => Some((b, r)),
            _ => None,
        })
    }

    /// Names of the actions of states and transitions, once each.
    pub fn actions(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let all = self.states.iter().flat_map(|s| {
            let outcomes = s.transitions.iter().flat_map(Transition::outcomes);
            outcomes
                .filter_map(|o| o.action.as_deref())
                .chain(s.action.as_deref())
        });
        for name in all {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// An event's name with the white space that carries no meaning taken out, so
/// that `a+b` in a trace is the property's `a + b`.
pub fn canonical_name(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut gap = false;
    for c in text.trim().chars() {
        if c.is_whitespace() {
            gap = true;
            continue;
        }
        let word = |c: char| c.is_alphanumeric() || c == '_';
        if gap && word(c) && out.chars().next_back().is_some_and(word) {
            out.push(' ');
        }
        gap = false;
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_only_by_meaningful_space() {
        assert_eq!(canonical_name(" a +  b "), "a+b");
        assert_eq!(canonical_name("unsigned  int x"), "unsigned int x");
        assert_eq!(canonical_name("arg 0"), "arg 0");
    }

    #[test]
    fn verdicts_are_ordered_from_worst_to_best() {
        assert!(Verdict::False < Verdict::CurrentlyFalse);
        assert!(Verdict::CurrentlyFalse < Verdict::CurrentlyTrue);
        assert!(Verdict::CurrentlyTrue < Verdict::True);
    }
}

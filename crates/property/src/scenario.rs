//! The scenario language: reactions to the moments of monitors and debugger.

use crate::ast::{Name, RawBlock};
use crate::block::PyText;
use crate::check::{Pending, compile, read_block};
use crate::cursor::{Cursor, Parsed};
use crate::diag::{Diagnostic, Diagnostics};
use crate::load::Functions;
use crate::model::{Block, BlockId, Role};
use crate::python;
use crate::scenario_words::Words;
use crate::source::{Source, Span};
use std::sync::Arc;

/// When in a state change a reaction runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Entering,
    Leaving,
    /// Only when the state differs: not in a self-loop.
    Changing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateFilter {
    Named(Vec<String>),
    Accepting,
    NonAccepting,
    Any,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    State {
        moment: Moment,
        states: StateFilter,
        /// Only of this property; of every one without it.
        property: Option<String>,
    },
    Watchpoint(Option<String>),
    Breakpoint(Option<String>),
    Verdict,
    Exit,
    Signal(String),
}

#[derive(Clone, Debug)]
pub struct Reaction {
    pub triggers: Vec<Trigger>,
    pub block: BlockId,
    pub span: Span,
}

/// A checked scenario: its own memory, and reactions in the order of the file.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Different for everything that is loaded, as a property's.
    pub uid: u64,
    pub source: Arc<Source>,
    pub init: Option<BlockId>,
    pub env: Vec<String>,
    pub reactions: Vec<Reaction>,
    pub blocks: Vec<Block>,
    /// Some block may take checkpoints.
    pub saves: bool,
}

/// The paper's actions as functions of a block, and what a reaction may ask.
pub fn is_action(name: &str) -> bool {
    matches!(
        name,
        "checkpoint"
            | "restore_checkpoint"
            | "set_watchpoint"
            | "unset_watchpoint"
            | "set_breakpoint"
            | "unset_breakpoint"
            | "bindings"
            | "stop"
            | "set_state"
    )
}

/// A reaction's code in either of the two forms.
pub enum Body {
    Python(RawBlock),
    Words(PyText, Span),
}

pub struct RawReaction {
    triggers: Vec<Trigger>,
    body: Body,
    span: Span,
}

#[derive(Default)]
pub struct ScenarioFile {
    init: Option<Body>,
    reactions: Vec<RawReaction>,
}

pub fn parse_scenario(source: &Arc<Source>) -> (ScenarioFile, Diagnostics) {
    let mut p = Parser {
        source,
        c: Cursor::new(&source.text),
    };
    let file = p.file();
    (file, p.c.found)
}

pub fn check_scenario(
    source: &Arc<Source>,
    file: ScenarioFile,
    functions: &Functions,
    found: &mut Diagnostics,
) -> Option<Scenario> {
    let mut pending = Vec::new();
    let mut add = |body: Body, role: Role, found: &mut Diagnostics| {
        let (read, span) = match body {
            Body::Python(raw) => (python::parse_block(source, &raw), raw.span),
            Body::Words(text, span) => (python::parse_text(text), span),
        };
        pending.push(Pending {
            role,
            span,
            py: read_block(read, found),
            params: Vec::new(),
            param_types: Vec::new(),
        });
        BlockId(pending.len() as u32 - 1)
    };
    let init = file.init.map(|b| add(b, Role::Beginning, found));
    let reactions: Vec<Reaction> = file
        .reactions
        .into_iter()
        .map(|r| Reaction {
            block: add(r.body, Role::Reaction, found),
            triggers: r.triggers,
            span: r.span,
        })
        .collect();
    // Called at once, or by a name that it is given.
    let mut code = pending.iter().filter_map(|p| p.py.as_ref());
    let saves = code.any(|py| python::mentions(&py.module.body, "checkpoint"));
    let (blocks, env, _) = compile(source, pending, functions, found);
    if reactions.is_empty() && !found.has_errors() {
        found.push(
            Diagnostic::warning("no-reaction", Span::at(0), "the scenario reacts to nothing")
                .hint("add `on entering non-accepting state { stop() }`"),
        );
    }
    crate::lint::unknown_names(&blocks, &env, functions, found);
    (!found.has_errors()).then(|| Scenario {
        uid: crate::check::next_uid(),
        source: source.clone(),
        init,
        env,
        reactions,
        blocks,
        saves,
    })
}

struct Parser<'a> {
    source: &'a Source,
    c: Cursor<'a>,
}

const TRIGGERS: &str = "a reaction begins with `on entering state s`, `on leaving accepting state`, \
                        `on changing any state`, `on watchpoint`, `on breakpoint`, `on verdict`, `on exit` or `on signal SIGSEGV`";

impl Parser<'_> {
    fn file(&mut self) -> ScenarioFile {
        let mut file = ScenarioFile::default();
        if self.c.word("initialization") {
            self.c.symbol(":");
            match self.c.block() {
                Ok(Some(b)) => file.init = Some(Body::Python(b)),
                Ok(None) => {
                    let _: Parsed<()> = self.c.expected(
                        "`{` with Python code",
                        "write `initialization { last = None }`",
                    );
                    self.c.skip_to(&["on"]);
                }
                Err(_) => self.c.skip_to(&["on"]),
            }
        } else if !self.c.at_end() && self.c.peek_word() != "on" {
            // The paper's listing begins with assignments.
            match self.words() {
                Ok(body) => file.init = Some(body),
                Err(_) => self.c.skip_to(&["on"]),
            }
        }
        while !self.c.at_end() {
            if !self.c.word("on") {
                let _: Parsed<()> = self.c.expected("`on`", TRIGGERS);
                let here = self.c.here();
                self.c.bump((here.end - here.start).max(1));
                self.c.skip_to(&["on"]);
                continue;
            }
            match self.reaction() {
                Ok(r) => file.reactions.push(r),
                Err(_) => self.c.skip_to(&["on"]),
            }
        }
        file
    }

    fn reaction(&mut self) -> Parsed<RawReaction> {
        let start = self.c.pos;
        let mut triggers = vec![self.trigger()?];
        while self.c.word("or") {
            self.c.word("on");
            triggers.push(self.trigger()?);
        }
        let span = self.c.span_from(start);
        if !self.c.word("do") {
            self.c.symbol(":");
        }
        let body = match self.c.block()? {
            Some(b) => Body::Python(b),
            None => self.words()?,
        };
        Ok(RawReaction {
            triggers,
            body,
            span,
        })
    }

    fn words(&mut self) -> Parsed<Body> {
        self.c.skip_space();
        let start = self.c.pos;
        let text = Words::new(self.source, &mut self.c).statements()?;
        Ok(Body::Words(text, self.c.span_from(start)))
    }

    fn trigger(&mut self) -> Parsed<Trigger> {
        let word = self.c.peek_word();
        let moment = match word {
            "entering" => Moment::Entering,
            "leaving" => Moment::Leaving,
            "changing" => Moment::Changing,
            "watchpoint" | "breakpoint" => {
                self.c.word(word);
                let name = self.optional_name();
                return Ok(if word == "watchpoint" {
                    Trigger::Watchpoint(name)
                } else {
                    Trigger::Breakpoint(name)
                });
            }
            "verdict" => {
                self.c.word(word);
                return Ok(Trigger::Verdict);
            }
            "exit" => {
                self.c.word(word);
                return Ok(Trigger::Exit);
            }
            "signal" => {
                self.c.word(word);
                return Ok(Trigger::Signal(
                    self.c
                        .name("a signal's name", "write `on signal SIGSEGV`")?
                        .text,
                ));
            }
            _ => return self.c.expected("what to react to", TRIGGERS),
        };
        self.c.word(word);
        let states = if self.c.word("accepting") {
            Some(StateFilter::Accepting)
        } else if self.c.word("any") {
            Some(StateFilter::Any)
        } else if self.c.peek_word() == "non" && self.c.rest().starts_with("non-accepting") {
            self.c.bump("non-accepting".len());
            Some(StateFilter::NonAccepting)
        } else {
            None
        };
        if !self.c.word("state") {
            return self.c.expected("`state`", TRIGGERS);
        }
        let states = match states {
            Some(s) => s,
            None => {
                let names = self.state_names()?;
                if names.is_empty() {
                    StateFilter::Any
                } else {
                    StateFilter::Named(names.into_iter().map(|n| n.text).collect())
                }
            }
        };
        let property = if self.c.word("of") {
            Some(
                self.c
                    .name(
                        "a property's name",
                        "write `on entering state sink of queue`",
                    )?
                    .text,
            )
        } else {
            None
        };
        Ok(Trigger::State {
            moment,
            states,
            property,
        })
    }

    fn state_names(&mut self) -> Parsed<Vec<Name>> {
        let mut names = Vec::new();
        if matches!(self.c.peek_word(), "" | "of" | "or" | "do") {
            return Ok(names);
        }
        loop {
            names.push(
                self.c
                    .name("a state's name", "write `on entering state a, b`")?,
            );
            if !self.c.symbol(",") {
                return Ok(names);
            }
        }
    }

    fn optional_name(&mut self) -> Option<String> {
        let word = self.c.peek_word();
        if matches!(word, "" | "or" | "do")
            || crate::scenario_words::begins_statement(word, &self.c.rest()[word.len()..])
        {
            return None;
        }
        self.c.bump(word.len());
        Some(word.to_string())
    }
}

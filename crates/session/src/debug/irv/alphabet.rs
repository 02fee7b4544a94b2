//! The events that the monitors know, each once, whoever names it.

use super::data::{Datum, Locals};
use super::reads::{How, Read};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::sync::Arc;
use verde_engine::{On, TrapId};
use verde_expr::{FrameScope, Node};
use verde_property::{Kind, ParamSpec, Property, SpecId, When, canonical_name};

/// A monitor, as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MonitorId(pub u32);

/// A monitor's interest in an event.
pub struct User {
    pub monitor: MonitorId,
    pub spec: SpecId,
    /// For each of the monitor's parameters its place among the source's.
    pub args: SmallVec<[u16; 8]>,
    pub wants: bool,
}

/// A place of the program where an event shows.
pub struct Site {
    pub on: On,
    /// A loop of the function begins with its first instruction.
    pub is_loop: bool,
    pub reads: Arc<[Read]>,
    /// Where expressions of the parameters are evaluated, without registers.
    pub scope: Option<Arc<FrameScope>>,
    pub loc: Option<Arc<str>>,
    /// It is set. While nobody wants the event, a trap on returns may rest under the same id.
    pub trap: Option<TrapId>,
}

impl Site {
    /// What the event names is not there.
    pub fn is_misfit(&self) -> bool {
        self.reads.iter().any(|r| matches!(r.how, How::Unknown))
    }
}

/// An event of the alphabet.
pub struct Source {
    pub kind: Kind,
    pub when: When,
    pub name: String,
    /// It is about `f`, and somebody names `::f`: that is an event of its own.
    pub has_global: bool,
    /// Of all users together.
    pub params: Vec<ParamSpec>,
    pub users: Vec<User>,
    /// How many users want to hear of it now.
    pub wanted: usize,
    pub sites: Vec<Site>,
    /// For `write`, `read` and `update`: what is watched.
    pub datum: Option<Datum>,
    /// A datum that some function declares and that is in one place nevertheless.
    pub fixed: Option<Node>,
    /// What of it functions declare.
    pub locals: Option<Arc<Locals>>,
    /// It had a place in the program at least once.
    pub found: bool,
    /// Calls of it are inlined where it was looked for.
    pub is_inlined: bool,
    /// How many of the CPU's slots its datum takes; 0 where that is not known.
    pub slots: u64,
    /// Its datum is where nothing can watch it.
    pub is_blind: bool,
    /// There are functions of its name, but of none what the event names can be read.
    pub is_unreadable: bool,
    /// What the user was told about it.
    pub told: bool,
}

#[derive(Default)]
pub struct Alphabet {
    pub sources: Vec<Source>,
}

impl Alphabet {
    /// A monitor joins. The sources that must be bound anew.
    pub fn add(&mut self, monitor: MonitorId, property: &Property) -> Vec<usize> {
        let mut changed = Vec::new();
        for (i, event) in property.events.iter().enumerate() {
            let name = canonical_name(&event.name);
            let same = |s: &Source| {
                s.kind == event.kind && s.when == event.when && canonical_name(&s.name) == name
            };
            let index = match self.sources.iter().position(same) {
                Some(index) => index,
                None => {
                    self.sources.push(Source {
                        kind: event.kind,
                        when: event.when,
                        name: event.name.clone(),
                        has_global: false,
                        params: Vec::new(),
                        users: Vec::new(),
                        wanted: 0,
                        sites: Vec::new(),
                        datum: None,
                        fixed: None,
                        locals: None,
                        found: false,
                        is_inlined: false,
                        slots: 0,
                        is_blind: false,
                        is_unreadable: false,
                        told: false,
                    });
                    self.sources.len() - 1
                }
            };
            let source = &mut self.sources[index];
            let args = event
                .params
                .iter()
                .map(|p| source.parameter(p) as u16)
                .collect();
            source.users.push(User {
                monitor,
                spec: SpecId(i as u16),
                args,
                wants: false,
            });
            changed.push(index);
        }
        self.find_globals();
        changed
    }

    /// Which events have their global name for another event.
    fn find_globals(&mut self) {
        let used = self.sources.iter().filter(|s| !s.users.is_empty());
        let globals = used.filter_map(|s| {
            let name = canonical_name(&s.name);
            Some((s.kind, s.when, name.strip_prefix("::")?.to_owned()))
        });
        let globals: FxHashSet<_> = globals.collect();
        for s in &mut self.sources {
            s.has_global = globals.contains(&(s.kind, s.when, canonical_name(&s.name)));
        }
    }

    /// A monitor leaves. Its sources may no longer be wanted.
    pub fn remove(&mut self, monitor: MonitorId) {
        for source in &mut self.sources {
            source.users.retain(|u| u.monitor != monitor);
            source.wanted = source.users.iter().filter(|u| u.wants).count();
        }
        self.find_globals();
    }
}

impl Source {
    fn parameter(&mut self, wanted: &ParamSpec) -> usize {
        let same = |p: &ParamSpec| p.operand == wanted.operand && p.ty == wanted.ty;
        match self.params.iter().position(same) {
            Some(index) => index,
            None => {
                self.params.push(wanted.clone());
                self.params.len() - 1
            }
        }
    }

    /// Calls are followed to their ends, also where only their beginnings are events.
    pub fn follows_calls(&self) -> bool {
        self.sites.iter().any(|s| s.on.function().is_some())
    }

    /// As the user wrote it, for messages.
    pub fn title(&self) -> String {
        let when = match self.when == self.kind.default_when() {
            true => String::new(),
            false => format!("{} ", self.when.word()),
        };
        match self.kind {
            Kind::Call => format!("{when}{}", self.name),
            kind => format!("{when}{} {}", kind.word(), self.name),
        }
    }
}

//! Breakpoints and watchpoints as the user counts them.

use super::catches::Catch;
use super::exceptions::Exception;
use super::failure::{Result, failure};
use std::sync::Arc;
use verde_engine::{FrameRef, Tid, TrapId};
use verde_expr::{Node, Value};
use verde_symbols::{DieId, FileAddr, Module, SourceFile};

/// A place of code, in a file or at a fixed address.
#[derive(Clone)]
pub(super) struct Site {
    pub module: Option<Arc<Module>>,
    pub addr: FileAddr,
    /// The line that was asked for and begins there, which may be one of several.
    pub line: Option<(Arc<SourceFile>, u32)>,
    pub trap: Option<TrapId>,
    /// The user has disabled this place of several.
    pub disabled: bool,
    /// The breakpoint's condition here.
    pub test: Test,
}

/// A breakpoint's condition at one of its places.
#[derive(Clone, Default)]
pub(super) enum Test {
    /// There is none, or it is not bound yet.
    #[default]
    Unknown,
    Bound(Arc<Node>),
    /// It makes no sense there, so that this is no place to stop at.
    Invalid,
}

impl Site {
    pub fn is_invalid(&self) -> bool {
        matches!(self.test, Test::Invalid)
    }

    /// Whether the program is to stop there, while the breakpoint is enabled.
    pub fn is_stop(&self) -> bool {
        !self.disabled && !self.is_invalid()
    }

    pub fn same_place(&self, other: &Site) -> bool {
        let module = match (&self.module, &other.module) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        module && self.addr == other.addr
    }
}

/// A watched datum.
pub(super) struct Watch {
    pub text: String,
    pub node: Node,
    pub on: Access,
    pub old: Option<Value>,
    /// What the expression reads: its place, and the pointers and indices
    /// that lead there.
    pub ranges: Vec<(u64, u64)>,
    /// The thread and activation that a local belongs to.
    pub frame: Option<(Tid, FrameRef)>,
    /// The thread that has it for itself: each has its own, or its registers.
    pub owner: Option<Tid>,
    /// The function, or inlined call, that its names were looked up in.
    pub function: Option<DieId>,
    /// One for each range, or one for all instructions.
    pub traps: Vec<TrapId>,
    /// Threads whose stores were seen with another's, and have not been told.
    pub raced: Vec<Tid>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Write,
    Read,
    Both,
    /// Not in memory, or not all of it: its value after every instruction.
    Value,
}

impl Access {
    /// As `info breakpoints` calls it.
    pub fn kind(self) -> &'static str {
        match self {
            Access::Write => "hw watchpoint",
            Access::Read => "read watchpoint",
            Access::Both => "acc watchpoint",
            Access::Value => "watchpoint",
        }
    }

    /// As a stop and a new watchpoint call it.
    pub fn title(self) -> &'static str {
        match self {
            Access::Write => "Hardware watchpoint",
            Access::Read => "Hardware read watchpoint",
            Access::Both => "Hardware access (read/write) watchpoint",
            Access::Value => "Watchpoint",
        }
    }
}

pub(super) enum Kind {
    Code { spec: String, sites: Vec<Site> },
    Watch(Box<Watch>),
    Catch(Catch),
}

/// A condition.
pub(super) struct Condition {
    pub text: String,
    /// Bound, where it is not of code: each place of that has one of its own.
    pub node: Option<Arc<Node>>,
    /// The function whose names a watchpoint's condition has: it stops in others as well.
    pub function: Option<DieId>,
}

/// What becomes of a breakpoint after a stop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Keep,
    Disable,
    Delete,
}

impl After {
    /// As `info breakpoints` calls it.
    pub fn word(self) -> &'static str {
        match self {
            After::Keep => "keep",
            After::Disable => "dis",
            After::Delete => "del",
        }
    }
}

pub(super) struct Point {
    pub number: u32,
    pub kind: Kind,
    pub enabled: bool,
    pub condition: Option<Condition>,
    pub hits: u64,
    /// Hits to pass before the next stop.
    pub ignore: u64,
    /// What becomes of it when it has stopped the program.
    pub after: After,
    /// Only in this thread, by the user's number and the kernel's.
    pub thread: Option<(usize, Tid)>,
    /// The scenario's: it reacts, and only `stop()` stops.
    pub by_scenario: bool,
    /// Run after each stop here.
    pub commands: Vec<String>,
    /// What it prints instead of stopping, as `printf` takes it.
    pub prints: Option<String>,
    /// It stands for a moment of C++ exceptions.
    pub exception: Option<Exception>,
}

impl Point {
    /// The traps that are set for it.
    pub fn traps(&self) -> Vec<TrapId> {
        match &self.kind {
            Kind::Code { sites, .. } => sites.iter().filter_map(|s| s.trap).collect(),
            Kind::Watch(watch) => watch.traps.clone(),
            Kind::Catch(catch) => catch.traps.clone(),
        }
    }

    /// The process is gone, and its traps with it.
    pub fn forget_traps(&mut self) {
        match &mut self.kind {
            Kind::Code { sites, .. } => sites.iter_mut().for_each(|s| s.trap = None),
            Kind::Watch(watch) => {
                watch.traps.clear();
                watch.owner = None;
            }
            Kind::Catch(catch) => catch.traps.clear(),
        }
    }

    /// Forgets the traps that are no longer set.
    pub fn forget_lost(&mut self, lost: impl Fn(TrapId) -> bool) {
        match &mut self.kind {
            Kind::Code { sites, .. } => {
                for site in sites {
                    site.trap = site.trap.filter(|id| !lost(*id));
                }
            }
            Kind::Watch(watch) => watch.traps.retain(|id| !lost(*id)),
            Kind::Catch(catch) => catch.traps.retain(|id| !lost(*id)),
        }
    }

    /// Threads have other ids now.
    pub fn rename_threads(&mut self, id_now: impl Fn(Tid) -> Option<Tid>) {
        let owner = match &mut self.kind {
            Kind::Watch(watch) => watch.owner.as_mut(),
            Kind::Code { .. } | Kind::Catch(_) => None,
        };
        for tid in self.thread.iter_mut().map(|(_, tid)| tid).chain(owner) {
            *tid = id_now(*tid).unwrap_or(*tid);
        }
    }
}

#[derive(Default)]
pub(super) struct Points {
    pub list: Vec<Point>,
    last: u32,
    /// The location of the breakpoint that has just stopped the program.
    pub location: Option<String>,
}

impl Points {
    pub fn add(&mut self, kind: Kind, temporary: bool, condition: Option<Condition>) -> u32 {
        self.last += 1;
        self.list.push(Point {
            number: self.last,
            kind,
            enabled: true,
            condition,
            hits: 0,
            ignore: 0,
            after: match temporary {
                true => After::Delete,
                false => After::Keep,
            },
            by_scenario: false,
            thread: None,
            commands: Vec::new(),
            prints: None,
            exception: None,
        });
        self.last
    }

    pub fn get_mut(&mut self, number: u32) -> Result<&mut Point> {
        match self.list.iter_mut().find(|p| p.number == number) {
            Some(point) => Ok(point),
            None => failure(format!("No breakpoint number {number}.")),
        }
    }

    /// The point a trap was set for.
    pub fn of_trap(&self, id: TrapId) -> Vec<u32> {
        let with = self.list.iter().filter(|p| p.traps().contains(&id));
        with.map(|p| p.number).collect()
    }
}

//! Interactive runtime verification: the program, the debugger, the monitors
//! and the scenario together.
//!
//! [`Irv`] holds the monitors and what they want to hear. The debugger gives it
//! every stop before it looks at it itself; an event is applied to every
//! monitor that knows it while its thread waits, then the traps follow the new
//! states, and only then a stop that somebody asked for is obeyed.

mod adopt;
mod alphabet;
mod anywhere;
mod asked;
mod asked_states;
mod begun;
mod bind;
mod board;
mod calls;
mod commands;
mod data;
mod declared;
mod feed;
mod flow;
mod host;
mod info;
mod inlining;
mod inside;
mod instrument;
mod leaving;
mod lint;
mod load;
mod losses;
mod methods;
mod names;
mod output;
mod own;
mod patched;
mod predicates;
mod program;
mod react;
mod reads;
mod remains;
mod reported;
mod requests;
mod run;
mod saved_calls;
mod statics;
mod then;
mod trace;
mod values;
mod watching;
mod zoom;

pub(super) use asked::Asked;
pub use board::{Order, PageOpener, Turn};
pub(super) use board::{Page, Watched};
pub use lint::lint_against;
pub use load::unknown_signals;
pub use load::{LoadFailure, Warnings};
pub use output::Output;
pub(super) use react::Outside;
pub use run::{Ending, Interruption, Limits, RunOutcome};
pub(super) use then::Then;
pub use trace::TraceFile;

use super::live::Live;
use crate::board::Past;
use crate::inquiry::Switches;
use crate::recorder::Recorder;
use crate::report::{PropertyError, ViolationRow};
use alphabet::{Alphabet, MonitorId};
use begun::Begun;
use feed::{Moment, Saved, Stands, Target};
use react::Running;
use reported::Reported;
use rustc_hash::FxHashMap;
use saved_calls::SavedCalls;
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::{Duration, Instant};
use values::Owned;
use verde_engine::{Addr, Cause, Tid, TrapId};
use verde_monitor::{Monitor, SlotRef};
use verde_property::Functions;
use verde_pyhost::PythonHost;

/// What the user chose for all monitors.
#[derive(Clone, Debug)]
pub struct Choices {
    /// Instrument every event of the properties, not only the enabled ones.
    pub all_events: bool,
    /// How many events of a slice a violation shows.
    pub history: usize,
    /// Keep a backtrace with each event.
    pub stacks: bool,
    /// How long a Python block may run.
    pub block_limit: Duration,
}

impl Default for Choices {
    fn default() -> Choices {
        Choices {
            all_events: false,
            history: 32,
            stacks: false,
            block_limit: Duration::from_secs(1),
        }
    }
}

/// A monitor of the session, with a property or still without.
struct One {
    id: MonitorId,
    name: String,
    monitor: Option<Monitor>,
    /// Its property comes with Verde.
    is_shipped: bool,
    /// Events reach it.
    running: bool,
    /// Without a scenario its violations stop the program.
    stops: bool,
    switches: Switches,
    recorder: Recorder,
    tally: Tally,
    /// Violations of this run.
    reported: Reported,
    /// The last word, when the run is over.
    outcome: Option<verde_monitor::FinalVerdict>,
    /// Of its slices, when the traps were last set for it.
    version: u64,
    /// A block of it raised where nobody can look at it: it is out.
    dropped: bool,
    /// What went wrong with it first.
    error: Option<PropertyError>,
}

/// How many slices of a monitor broke their property.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    violations: u64,
    /// Known to the user, who does not want to hear of them.
    suppressed: u64,
    /// Events that a block failed at: nobody knows what they would have done.
    failed: u64,
}

/// Tells violations that the user knows.
/// By its property and the calls of its thread.
pub type Known = Box<dyn Fn(&str, &[String]) -> bool>;

/// The slice that moved last.
enum Moved {
    /// Its place and creation.
    Live(SlotRef, u64),
    /// It ended with that: where its history is.
    Ended(u64),
}

/// A slice that broke its property and ended with that. It is shown until the program goes on.
struct Fallen {
    monitor: MonitorId,
    past: Past,
    history: u64,
}

/// What was asked for while an event was applied, and is obeyed after it.
#[derive(Default)]
struct Latch {
    /// The program is to stop.
    stop: bool,
    /// All threads were stopped for code that looks at the program.
    settled: bool,
    /// What became of a violation, for the prompt.
    lines: Vec<String>,
    /// Something was violated just now.
    violated: bool,
    /// A block raised just now.
    raised: bool,
    /// Checkpoints to take when the event is over, by their numbers.
    checkpoints: Vec<u32>,
    /// What is to be heard may have changed.
    reinstrument: bool,
    /// A slice changed its state.
    changed: bool,
    /// The loader has done its work: the program begins.
    begun: bool,
    /// The slice that took a transition last.
    moved: Option<SlotRef>,
    /// The slice that ended last, and where its history is.
    gone: Option<(SlotRef, u64)>,
    /// Slices that broke their property and ended with that.
    fallen: Vec<(Past, u64)>,
    /// A violation is to be looked at again, closer.
    zoom: Option<MonitorId>,
    /// A checkpoint to go back to; nothing of this event counts any more.
    restore: Option<u32>,
    /// A violation is among what does not count.
    taken_back: bool,
}

impl Latch {
    /// Nothing was asked for.
    fn is_empty(&self) -> bool {
        let said = self.stop | self.settled | self.violated | self.raised | self.reinstrument;
        !said
            && self.lines.is_empty()
            && self.checkpoints.is_empty()
            && self.zoom.is_none()
            && self.restore.is_none()
    }
}

/// The monitors of a session, and what they follow.
pub struct Irv {
    ones: Vec<One>,
    last_id: u32,
    current: Option<MonitorId>,
    python: PythonHost,
    functions: Functions,
    alphabet: Alphabet,
    /// What each trap is for. A trap on returns has everybody whom they may concern, wanted at
    /// present or not.
    targets: FxHashMap<TrapId, SmallVec<[Target; 2]>>,
    /// Who may wait for the returns of the function that begins at an address: source and site.
    callees: FxHashMap<Addr, SmallVec<[(usize, usize); 2]>>,
    /// Values at the entries of calls that have not returned.
    saved: SavedCalls,
    /// For each `process exit` what its variables were when the last thread ended.
    at_end: FxHashMap<usize, Vec<values::Owned>>,
    /// Of calls that a checkpoint brought back, without the traps that followed them.
    lost: Vec<Saved>,
    /// Values at the entries of calls whose returns nobody awaited.
    begun: Begun,
    scenario: Option<Running>,
    /// For the signals that it reacts to.
    signal_traps: Vec<TrapId>,
    pub output: Output,
    known: Option<Known>,
    /// Where the thread of the present event is.
    stands: Stands,
    pub choices: Choices,
    pub trace: Option<TraceFile>,
    /// Number of the last event.
    n: u64,
    /// Events for which some slice had a candidate transition.
    relevant: u64,
    started: Instant,
    /// The program ran with these monitors before.
    used: bool,
    /// It became another one by exec.
    replaced: bool,
    latch: Latch,
    /// Events that wait behind a breakpoint of the user's.
    deferred: Vec<(Tid, Cause)>,
    values: Vec<Owned>,
    places: FxHashMap<u64, Option<Arc<str>>>,
    /// How parameters of data events are read, by source and place.
    plans: FxHashMap<(usize, u64), feed::Plan>,
    /// The program is not relocated yet: the loader runs.
    loading: bool,
    /// Some function waits for the end of loading: to be asked which of its variants it is, or
    /// because a library may have it.
    late: bool,
    /// Where the program itself begins.
    start: Option<TrapId>,
    /// Where it ends.
    last: Option<TrapId>,
    /// A thread that waits there for the others.
    leaving: Option<leaving::Leaving>,
    /// Backtraces of events, by their numbers.
    stacks: FxHashMap<u64, Arc<[String]>>,
    /// The slice that moved last, and its monitor.
    moved: Option<(MonitorId, Moved)>,
    fallen: Vec<Fallen>,
    zoom: Option<zoom::Zoom>,
    /// It was looked closer once.
    zoomed: bool,
    /// The violation that is being looked at, until it comes again.
    put_off: Option<(MonitorId, ViolationRow)>,
    /// Something was violated.
    violated: bool,
    /// What went wrong and was said.
    errors: u64,
    /// An event names what the program does not have.
    unfit: bool,
    /// That was known before the program began, which is not to begin.
    refused: bool,
    /// Warnings that wait to be said.
    warnings: Vec<String>,
    /// Complaints that wait to be said.
    complaints: Vec<String>,
    /// Commands that wait for the end of their group.
    group: Option<Vec<String>>,
    /// Remarks that were made.
    said: Vec<String>,
}

/// Since the monitors were made, as traces and `time` tell it.
fn nanoseconds_since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl Irv {
    pub fn new(choices: Choices, output: Output) -> Irv {
        Irv {
            ones: Vec::new(),
            last_id: 0,
            current: None,
            python: PythonHost::new(choices.block_limit),
            functions: Functions::default(),
            alphabet: Alphabet::default(),
            targets: FxHashMap::default(),
            callees: FxHashMap::default(),
            saved: SavedCalls::default(),
            at_end: FxHashMap::default(),
            lost: Vec::new(),
            begun: Begun::default(),
            scenario: None,
            signal_traps: Vec::new(),
            output,
            known: None,
            stands: Stands::At,
            choices,
            trace: None,
            n: 0,
            relevant: 0,
            started: Instant::now(),
            used: false,
            replaced: false,
            latch: Latch::default(),
            deferred: Vec::new(),
            values: Vec::new(),
            places: FxHashMap::default(),
            plans: FxHashMap::default(),
            loading: false,
            late: false,
            start: None,
            last: None,
            leaving: None,
            stacks: FxHashMap::default(),
            moved: None,
            fallen: Vec::new(),
            zoom: None,
            zoomed: false,
            put_off: None,
            violated: false,
            errors: 0,
            unfit: false,
            refused: false,
            warnings: Vec::new(),
            complaints: Vec::new(),
            group: None,
            said: Vec::new(),
        }
    }

    fn one(&self, id: MonitorId) -> Option<&One> {
        self.ones.iter().find(|o| o.id == id)
    }

    fn position(&self, id: MonitorId) -> Option<usize> {
        self.ones.iter().position(|o| o.id == id)
    }

    /// The events of a monitor whose functions never appeared, if that makes its verdict
    /// worthless. The names of a shipped property are known to be right: what the program does
    /// not have it does not call. Only one of which nothing was found says nothing.
    fn missed(&self, one: &One) -> Vec<&alphabet::Source> {
        let sources = self.sources_of(one);
        if one.is_shipped && sources.clone().any(|s| s.found) {
            return Vec::new();
        }
        sources.filter(|s| !s.found || s.is_blind).collect()
    }

    /// All who ask for a source came with Verde.
    fn is_shipped(&self, source: &alphabet::Source) -> bool {
        let is_shipped = |u: &alphabet::User| self.one(u.monitor).is_some_and(|one| one.is_shipped);
        source.users.iter().all(is_shipped)
    }

    /// Nothing can lead a property out of its first state, because what the program has for it
    /// cannot be read.
    fn is_unreadable(&self, one: &One) -> bool {
        let Some(monitor) = &one.monitor else {
            return false;
        };
        let property = monitor.property();
        let begins = |u: &alphabet::User| {
            let first = &property.state(property.init).transitions;
            u.monitor == one.id && first.iter().any(|t| t.event == u.spec)
        };
        let mut first = self.sources_of(one).filter(|s| s.users.iter().any(begins));
        self.sources_of(one).any(|s| s.is_unreadable) && !first.any(|s| s.found)
    }

    fn sources_of(&self, one: &One) -> impl Iterator<Item = &alphabet::Source> + Clone {
        let id = one.id;
        let uses = move |s: &&alphabet::Source| s.users.iter().any(|u| u.monitor == id);
        self.alphabet.sources.iter().filter(uses)
    }

    /// Something went wrong that has no better place; it is said after the event.
    fn complain(&mut self, text: String) {
        self.errors += 1;
        self.complaints.push(text);
    }

    /// Whether no monitor has a property.
    pub fn is_empty(&self) -> bool {
        self.ones.iter().all(|o| o.monitor.is_none())
    }

    /// Forgets every trap: the process that had them is gone.
    fn forget_traps(&mut self) {
        self.targets.clear();
        self.signal_traps.clear();
        self.callees.clear();
        self.saved = SavedCalls::default();
        self.at_end.clear();
        self.lost.clear();
        self.begun = Begun::default();
        self.deferred.clear();
        self.places.clear();
        self.plans.clear();
        self.loading = false;
        self.late = false;
        self.start = None;
        self.last = None;
        self.leaving = None;
        for source in &mut self.alphabet.sources {
            source.sites.clear();
            source.fixed = None;
            if let Some(datum) = &mut source.datum {
                *datum = data::Datum::default();
            }
        }
    }

    /// Takes a trap of a source out.
    fn drop_trap(&mut self, source: usize, id: Option<TrapId>, live: &mut Option<Live>) {
        let Some(id) = id else {
            return;
        };
        if let Some(targets) = self.targets.get_mut(&id) {
            targets.retain(|t| t.source() != source);
            if targets.is_empty() {
                self.targets.remove(&id);
            }
        }
        // If it was the last at a function's entry, calls begin unseen from now on.
        self.begun.doubtful = true;
        if let Some(live) = live {
            // Gone with its library or frame, it is out already.
            let _ = live.process.remove(id);
        }
    }
}

impl One {
    /// Whether it is one that was not reported before.
    fn count_violation(&mut self, row: &ViolationRow) -> bool {
        self.tally.violations += 1;
        self.reported.add(row)
    }

    /// Why no events reach it, if that was somebody's wish.
    fn away(&self) -> Option<&'static str> {
        match (self.running, self.switches.halted) {
            (false, _) => Some("it was not running"),
            (_, true) => Some("it was stopped"),
            _ => None,
        }
    }

    /// Events reach it and may change it.
    fn property_name(&self) -> &str {
        let property = self.monitor.as_ref().map(|m| &m.property().name);
        property.unwrap_or(&self.name)
    }

    fn listens(&self) -> bool {
        self.running && !self.dropped && !self.switches.halted
    }
}

//! Loading properties, functions files and scenarios into a session.

use super::super::Debugger;
use super::super::failure::failure;
use super::host::{Parts, Watcher, env_object, state_text};
use super::react::Running;
use super::reported::Reported;
use super::{
    Choices, Ending, Irv, Known, MonitorId, One, Output, Stands, Tally, nanoseconds_since,
};
use crate::code_host::CodeHost;
use crate::inquiry::Switches;
use crate::properties::{Failed, read, unique_name};
use crate::recorder::Recorder;
use crate::replay::REPLACED;
use crate::writes::Writes;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use verde_engine::Owner;
use verde_monitor::{Monitor, Options};
use verde_property::{
    BlockId, Diagnostic, Property, Scenario, Severity, Source, StateFilter, Trigger, load_property,
    load_scenario,
};

pub type LoadFailure = Failed;

/// What was noticed in files that were loaded.
pub type Warnings = Vec<(Arc<Source>, Vec<Diagnostic>)>;

impl Debugger {
    /// The session's monitors; made when they are first needed.
    pub(super) fn take_irv(&mut self) -> Irv {
        match self.irv.take() {
            Some(irv) => *irv,
            None => Irv::new(Choices::default(), Output::Prompt),
        }
    }

    pub(super) fn put_irv(&mut self, irv: Irv) {
        self.irv = Some(Box::new(irv));
    }

    /// How monitors are to behave and where they speak; before any is loaded.
    pub fn set_up_monitors(&mut self, choices: Choices, output: Output) {
        self.put_irv(Irv::new(choices, output));
    }

    /// Violations that are counted, and neither reported nor held against the program.
    pub fn suppress(&mut self, known: Known) {
        let mut irv = self.take_irv();
        irv.known = Some(known);
        self.put_irv(irv);
    }

    /// Whether and when checkpoints are taken by themselves.
    pub fn automate(&mut self, automation: super::super::Automation) {
        self.automation = automation;
    }

    /// Writes the events that the monitors see.
    pub fn record_to(&mut self, trace: super::TraceFile) {
        let mut irv = self.take_irv();
        irv.trace = Some(trace);
        self.put_irv(irv);
    }

    /// Nothing more is written to the trace: `None` when there is none.
    pub fn end_recording(&mut self, ending: Ending) -> Option<std::io::Result<()>> {
        let irv = self.irv.as_mut()?;
        let mut trace = irv.trace.take()?;
        if ending == Ending::Cut {
            trace.write_cut(irv.n, nanoseconds_since(irv.started));
        }
        Some(trace.finish())
    }

    /// Loads a functions file: its names are there for every block.
    pub fn load_functions(&mut self, path: &Path) -> Result<(), LoadFailure> {
        let mut irv = self.take_irv();
        let loaded = irv.add_functions(path);
        self.put_irv(irv);
        loaded
    }

    /// Loads a property into a monitor of its own, which runs at once.
    pub fn add_property(&mut self, path: &Path) -> Result<Warnings, LoadFailure> {
        let mut irv = self.take_irv();
        let id = irv.new_monitor(None);
        if let Some(one) = irv.ones.last_mut() {
            one.stops = true;
        }
        let loaded = self.load_into(&mut irv, id, path, true);
        if loaded.is_err() {
            irv.ones.retain(|o| o.id != id);
        }
        self.put_irv(irv);
        loaded
    }

    /// Loads the scenario of the session.
    pub fn add_scenario(&mut self, path: &Path) -> Result<Warnings, LoadFailure> {
        let mut irv = self.take_irv();
        let loaded = self.load_scenario_into(&mut irv, path);
        self.put_irv(irv);
        loaded
    }

    pub(super) fn load_scenario_into(
        &mut self,
        irv: &mut Irv,
        path: &Path,
    ) -> Result<Warnings, LoadFailure> {
        let bytes = read(path)?;
        let mut loaded = load_scenario(&path.display().to_string(), &bytes, &irv.functions);
        if let Some(scenario) = &loaded.model {
            loaded.found.extend(strange_triggers(irv, scenario));
        }
        let is_wrong = |d: &Diagnostic| d.severity == Severity::Error;
        let Some(scenario) = loaded.model.filter(|_| !loaded.found.iter().any(is_wrong)) else {
            return Err(errors(loaded.source, loaded.found));
        };
        let scenario = Arc::new(scenario);
        prepare_scenario(irv, &scenario)?;
        let init = scenario.init;
        irv.scenario = Some(Running::new(scenario));
        self.trap_signals(irv);
        if let Some(block) = init {
            self.run_scenario_start(irv, block);
        }
        Ok(warnings(loaded.source, loaded.found))
    }

    /// What the scenario waits for in vain, now that the properties are loaded.
    pub fn scenario_warnings(&self) -> Warnings {
        let Some(irv) = &self.irv else {
            return Vec::new();
        };
        let Some(running) = &irv.scenario else {
            return Vec::new();
        };
        let found = strange_triggers(irv, &running.scenario);
        warnings(running.scenario.source.clone(), found)
    }

    /// The scenario's initialization runs before there is a monitor, too.
    fn run_scenario_start(&mut self, irv: &mut Irv, block: BlockId) {
        let (mut writes, mut switches) = (Writes::default(), Switches::default());
        let mut parts = Parts {
            python: &mut irv.python,
            scenario: &mut irv.scenario,
            output: &mut irv.output,
            latch: &mut irv.latch,
            recorder: &mut Recorder::default(),
            switches: &mut switches,
            name: "scenario",
            known: &irv.known,
            stands: Stands::At,
        };
        let mut context = parts.context(self, &mut writes, None);
        context.run_reaction(None, None, block);
    }

    /// Loads a property into a monitor. What the monitor had before is gone.
    pub(super) fn load_into(
        &mut self,
        irv: &mut Irv,
        id: MonitorId,
        path: &Path,
        running: bool,
    ) -> Result<Warnings, LoadFailure> {
        let text = crate::shipped::property(path)?;
        if let Some(source) = text.functions {
            irv.add_functions_source(source)?;
        }
        let loaded = load_property(&text.name, &text.bytes, &irv.functions);
        let Some(mut property) = loaded.model else {
            return Err(errors(loaded.source, loaded.found));
        };
        let before: Vec<Arc<Property>> = irv
            .ones
            .iter()
            .filter(|o| o.id != id)
            .filter_map(|o| Some(o.monitor.as_ref()?.property().clone()))
            .collect();
        property.name = unique_name(&property.name, &before);
        let property = Arc::new(property);
        prepare(irv, &property)?;
        let Some(index) = irv.position(id) else {
            return Ok(Vec::new());
        };
        irv.forget_monitor(index, &mut self.live);
        let one = &mut irv.ones[index];
        if one.name.is_empty() {
            one.name = property.name.clone();
        }
        one.running = running;
        one.is_shipped = text.is_shipped;
        self.start_monitor(irv, index, property.clone())?;
        irv.alphabet.add(id, &property);
        self.put_irv(std::mem::replace(
            irv,
            Irv::new(Choices::default(), Output::Prompt),
        ));
        self.rebind_monitors();
        self.warn_of_missing();
        if let Some(back) = self.irv.take() {
            *irv = *back;
        }
        Ok(warnings(loaded.source, loaded.found))
    }

    /// Runs the initialization: the monitor is in its first state.
    pub(super) fn start_monitor(
        &mut self,
        irv: &mut Irv,
        index: usize,
        property: Arc<Property>,
    ) -> Result<(), LoadFailure> {
        let rows = irv.output.show() != crate::replay::Show::Final;
        let one = &mut irv.ones[index];
        one.recorder = Recorder {
            rows,
            ..Recorder::default()
        };
        one.tally = Tally::default();
        one.reported = Reported::default();
        one.outcome = None;
        one.dropped = false;
        one.error = None;
        one.switches = Switches::default();
        let mut writes = Writes::default();
        let (_, mut parts) = irv.parts(index);
        let context = RefCell::new(parts.context(self, &mut writes, None));
        let started = Monitor::new(
            property.clone(),
            Options::default(),
            &mut CodeHost(&context),
            &mut Watcher(&context),
        );
        let mut monitor = match started {
            Ok(monitor) => monitor,
            Err(failure) => return Err(Failed::Initialization { property, failure }),
        };
        parts.carry_out(writes, &mut monitor, None);
        irv.ones[index].version = u64::MAX;
        if let Some(root) = monitor.slices().root() {
            self.say_start(irv, index, &monitor, root);
        }
        irv.ones[index].monitor = Some(monitor);
        self.report_found(irv, index);
        Ok(())
    }

    fn say_start(
        &mut self,
        irv: &mut Irv,
        index: usize,
        monitor: &Monitor,
        root: verde_monitor::SlotRef,
    ) {
        if !irv.output.says_states() {
            return;
        }
        let slices = monitor.slices();
        let env = env_object(slices, root, &mut irv.python);
        let state = state_text(slices, root, &mut irv.python);
        let name = irv.ones[index].name.clone();
        if !env.is_empty() {
            let text = format!("Initialization: {env}");
            irv.output.state(&mut self.out, &name, &text);
        }
        irv.output.state(&mut self.out, &name, &state);
    }

    /// A new run of the program: every monitor begins again.
    pub(in super::super) fn restart_monitors(&mut self) -> super::super::failure::Result<()> {
        let Some(mut irv) = self.irv.take() else {
            return Ok(());
        };
        if irv.used {
            if let Err(e) = self.begin_again(&mut irv) {
                self.irv = Some(irv);
                return failure(e.to_string());
            }
            irv.n = 0;
            irv.relevant = 0;
            irv.stacks.clear();
        }
        irv.used = true;
        irv.replaced = false;
        irv.started = std::time::Instant::now();
        self.irv = Some(irv);
        Ok(())
    }

    /// Every monitor is in its first state again.
    fn begin_again(&mut self, irv: &mut Irv) -> Result<(), LoadFailure> {
        irv.moved = None;
        irv.fallen.clear();
        for index in 0..irv.ones.len() {
            let Some(old) = irv.ones[index].monitor.take() else {
                continue;
            };
            let property = old.property().clone();
            old.discard(&mut irv.python);
            irv.python.forget(property.uid);
            self.start_monitor(irv, index, property)?;
        }
        Ok(())
    }

    /// The program was replaced by exec: what the slices were about is gone, and another program
    /// begins. What was found stays found.
    pub(in super::super) fn monitors_see_exec(&mut self) -> super::super::failure::Result<()> {
        self.monitors_lose_traps();
        self.remove_monitors_traps();
        let Some(mut irv) = self.irv.take() else {
            return Ok(());
        };
        if irv.relevant > 0 {
            irv.output.print(&mut self.out, "verde", REPLACED);
        }
        if let (Some(trace), Some(live)) = (&mut irv.trace, &self.live) {
            trace.write_exec(irv.n, live.process.pid(), nanoseconds_since(irv.started));
        }
        let kept: Vec<_> = irv
            .ones
            .iter()
            .map(|o| (o.tally, o.reported.clone(), o.dropped, o.error.clone()))
            .collect();
        let begun = self.begin_again(&mut irv);
        for (one, (tally, reported, dropped, error)) in irv.ones.iter_mut().zip(kept) {
            one.reported.continue_from(reported);
            one.tally.violations += tally.violations;
            one.tally.suppressed += tally.suppressed;
            one.tally.failed += tally.failed;
            one.dropped = dropped;
            one.error = error.or(one.error.take());
        }
        irv.replaced = true;
        self.irv = Some(irv);
        if let Err(e) = begun {
            return failure(e.to_string());
        }
        if let Some(live) = &self.live {
            self.images.refresh(&live.process);
        }
        self.await_start();
        Ok(())
    }
}

impl Debugger {
    /// Those without an address (of system calls, signals and threads) outlive the program they were set in.
    fn remove_monitors_traps(&mut self) {
        let Some(live) = &mut self.live else {
            return;
        };
        let traps = live.process.traps().iter();
        let ours = traps.filter(|(_, entry)| entry.trap.owner == Owner::Monitor);
        let ours: Vec<_> = ours.map(|(id, _)| id).collect();
        for id in ours {
            // One for each that set it.
            while live.process.remove(id).is_ok() {}
        }
    }
}

impl Irv {
    pub(super) fn add_functions(&mut self, path: &Path) -> Result<(), LoadFailure> {
        let bytes = read(path)?;
        let source = Source::new(path.display().to_string(), String::from_utf8_lossy(&bytes));
        self.add_functions_source(source)
    }

    pub(super) fn add_functions_source(&mut self, source: Arc<Source>) -> Result<(), LoadFailure> {
        if let Err(d) = self.functions.add(&source) {
            return Err(Failed::Diagnostics(vec![(source, vec![*d])]));
        }
        let file = source.name.clone();
        self.python
            .add_functions(source)
            .map_err(|raised| Failed::Functions { file, raised })
    }

    /// A monitor without a property; it becomes the current one.
    pub(super) fn new_monitor(&mut self, name: Option<String>) -> MonitorId {
        self.last_id += 1;
        let id = MonitorId(self.last_id);
        self.ones.push(One {
            id,
            name: name.unwrap_or_default(),
            monitor: None,
            is_shipped: false,
            running: false,
            stops: false,
            switches: Switches::default(),
            recorder: Recorder::default(),
            tally: Tally::default(),
            reported: Reported::default(),
            outcome: None,
            version: u64::MAX,
            dropped: false,
            error: None,
        });
        self.current = Some(id);
        id
    }

    /// Takes a monitor's property away: its events are no longer wanted.
    pub(super) fn forget_monitor(
        &mut self,
        index: usize,
        live: &mut Option<super::super::live::Live>,
    ) {
        let id = self.ones[index].id;
        if let Some(old) = self.ones[index].monitor.take() {
            self.python.forget(old.property().uid);
            old.discard(&mut self.python);
        }
        self.alphabet.remove(id);
        for source in 0..self.alphabet.sources.len() {
            if self.alphabet.sources[source].wanted > 0 {
                continue;
            }
            self.take_out_source(source, live);
        }
    }
}

fn prepare(irv: &mut Irv, property: &Arc<Property>) -> Result<(), LoadFailure> {
    let Err(raised) = irv.python.prepare((&**property).into()) else {
        return Ok(());
    };
    let (block, reason) = match property.needs_python() {
        Some(found) => found,
        None => return Ok(()),
    };
    Err(Failed::Python {
        file: property.source.name.clone(),
        line: property.source.line(block.span.start),
        role: block.role.word(),
        reason: reason.text.clone(),
        raised,
    })
}

fn prepare_scenario(irv: &mut Irv, scenario: &Arc<Scenario>) -> Result<(), LoadFailure> {
    let Err(raised) = irv.python.prepare((&**scenario).into()) else {
        return Ok(());
    };
    let span = scenario.blocks.first().map(|b| b.span).unwrap_or_default();
    Err(Failed::Python {
        file: scenario.source.name.clone(),
        line: scenario.source.line(span.start),
        role: "scenario",
        reason: "it acts on the program".into(),
        raised,
    })
}

/// Reactions to signals that there are none of.
pub fn unknown_signals(scenario: &Scenario) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for reaction in &scenario.reactions {
        for trigger in &reaction.triggers {
            let Trigger::Signal(name) = trigger else {
                continue;
            };
            if verde_sys::signals::by_name(name.trim()).is_none() {
                let text = format!("there is no signal `{name}`");
                let error = Diagnostic::error("unknown-signal", reaction.span, text);
                found.push(error.hint("`kill -l` lists them"));
            }
        }
    }
    found
}

/// Signals that there are none of, and states and properties that are not loaded: nothing would ever happen.
fn strange_triggers(irv: &Irv, scenario: &Scenario) -> Vec<Diagnostic> {
    let mut found = unknown_signals(scenario);
    let monitors = irv
        .ones
        .iter()
        .filter_map(|o| Some((&o.name, o.monitor.as_ref()?)));
    let all: Vec<(&str, &Property)> = monitors
        .map(|(n, m)| (n.as_str(), &**m.property()))
        .collect();
    for reaction in &scenario.reactions {
        for trigger in &reaction.triggers {
            let strange = match trigger {
                Trigger::State {
                    property, states, ..
                } if !all.is_empty() => {
                    let is_meant = |(name, p): &&(&str, &Property)| {
                        let of = property.as_deref();
                        of.is_none_or(|of| of == *name || of == p.name)
                    };
                    let meant: Vec<_> = all.iter().filter(is_meant).collect();
                    let has = |state: &str| {
                        let mut states = meant.iter().flat_map(|(_, p)| &p.states);
                        states.any(|s| s.name == state)
                    };
                    match (property, states) {
                        (Some(of), _) if meant.is_empty() => {
                            Some(format!("no property `{of}` is loaded"))
                        }
                        (_, StateFilter::Named(names)) => {
                            let unknown = names.iter().find(|n| !has(n));
                            unknown.map(|n| format!("no loaded property has a state `{n}`"))
                        }
                        _ => None,
                    }
                }
                _ => None,
            };
            if let Some(text) = strange {
                let warning = Diagnostic::warning("unknown-state", reaction.span, text);
                found.push(warning.hint("nothing will happen, unless it is loaded later"));
            }
        }
    }
    found
}

fn errors(source: Arc<Source>, found: Vec<Diagnostic>) -> LoadFailure {
    let errors = found
        .into_iter()
        .filter(|d| d.severity == Severity::Error)
        .collect();
    Failed::Diagnostics(vec![(source, errors)])
}

fn warnings(source: Arc<Source>, found: Vec<Diagnostic>) -> Warnings {
    match found.is_empty() {
        true => Vec::new(),
        false => vec![(source, found)],
    }
}

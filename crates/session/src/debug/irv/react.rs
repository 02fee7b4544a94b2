//! The scenario: reactions to what monitors and debugger do.

use super::super::Debugger;
use super::super::points::Kind;
use super::Irv;
use super::feed::MOST_CALLS;
use super::host::Context;
use std::sync::Arc;
use verde_engine::{On, Owner, Tid, Trap};
use verde_monitor::{
    Bail, Cell, Host, Params, Raised, Slices, SlotRef, Step, Tag, View, interpret,
};
use verde_property::{BlockId, Moment, Scenario, StateFilter, StateId, Tier, Trigger};
use verde_pyhost::{Asking, Cells, Unit};

/// A scenario with its memory, which no restore touches.
pub(super) struct Running {
    pub scenario: Arc<Scenario>,
    cells: Vec<Cell>,
}

/// What else a scenario can react to.
#[derive(Clone, Debug)]
pub(in super::super) enum Outside {
    /// What the point was set on.
    Watchpoint(String),
    Breakpoint(String),
    Signal(i32),
    Exit,
}

impl Running {
    pub fn new(scenario: Arc<Scenario>) -> Running {
        Running {
            cells: vec![Cell::UNSET; scenario.env.len()],
            scenario,
        }
    }

    fn matching(&self, fits: impl Fn(&Trigger) -> bool) -> Vec<BlockId> {
        let all = self.scenario.reactions.iter();
        all.filter(|r| r.triggers.iter().any(&fits))
            .map(|r| r.block)
            .collect()
    }
}

impl Context<'_> {
    /// Runs the reactions to a moment of a step, in the order of the file.
    pub fn react(&mut self, slices: &Slices, step: &Step, moments: &[Moment]) {
        let Some(running) = self.scenario.as_ref() else {
            return;
        };
        let property = slices.property();
        let state = |moment: Moment| match moment {
            Moment::Leaving => step.from,
            _ => step.to,
        };
        let name = self.desk.name;
        let blocks = running.matching(|t| match t {
            Trigger::State {
                moment,
                states,
                property: of,
            } => {
                moments.contains(moment)
                    && fits(states, property, state(*moment))
                    && of
                        .as_deref()
                        .is_none_or(|of| of == name || of == property.name)
            }
            _ => false,
        });
        for block in blocks {
            self.run_reaction(Some(slices), Some(step.slice), block);
        }
    }

    /// A slice broke its property: `on verdict`, unless that is known and not to be heard of.
    pub fn verdict_changed(&mut self, slices: &Slices, slice: SlotRef) {
        let Some(running) = self.scenario.as_ref() else {
            return;
        };
        let blocks = running.matching(|t| matches!(t, Trigger::Verdict));
        if blocks.is_empty() || self.is_known(slices) {
            return;
        }
        for block in blocks {
            self.run_reaction(Some(slices), Some(slice), block);
        }
    }

    /// Whether the user knows violations that happen here.
    fn is_known(&self, slices: &Slices) -> bool {
        let Some(known) = self.known else {
            return false;
        };
        let (debugger, stands) = (&self.desk.debugger, self.desk.stands);
        let stack = |tid| debugger.stack_text(tid, MOST_CALLS, stands);
        let frames = self.desk.tid.map(stack).unwrap_or_default();
        known(&slices.property().name, &frames)
    }

    /// Runs one block of the scenario on its memory. After a restore was asked for nothing runs.
    pub fn run_reaction(
        &mut self,
        slices: Option<&Slices>,
        slice: Option<SlotRef>,
        block: BlockId,
    ) {
        if self.desk.latch.restore.is_some() {
            return;
        }
        let Some(running) = self.scenario.as_mut() else {
            return;
        };
        let scenario = running.scenario.clone();
        let mut out = String::new();
        self.desk.slice = slice;
        let mut needs_python = true;
        let mut ran = Ok(());
        match &scenario.blocks[block.index()].tier {
            Tier::Empty => needs_python = false,
            Tier::Typed(code) => {
                let mut undo = Vec::new();
                match interpret(
                    code,
                    Params::NONE,
                    &mut running.cells[..],
                    &mut undo,
                    &mut out,
                ) {
                    Ok(_) => {
                        needs_python = false;
                        for (_, old) in undo {
                            if old.tag == Tag::Other {
                                self.python.release(old);
                            }
                        }
                    }
                    Err(bail) => {
                        if let Bail::Raise { error, span } = *bail {
                            needs_python = false;
                            let (file, line) =
                                (&scenario.source.name, scenario.source.line(span.start));
                            ran = Err(Raised::new(format!("{file}:{line}: {error}")));
                        }
                    }
                }
            }
            Tier::Python(_) => {}
        }
        if needs_python {
            let mut cells = running.cells.clone();
            let mut owned = vec![false; cells.len()];
            let asking = Asking {
                services: &mut self.desk,
                view: slices.map(View::from),
            };
            ran = self
                .python
                .run_block(
                    Unit::from(&*scenario),
                    block,
                    Params::NONE,
                    Cells {
                        cells: &mut cells,
                        owned: &mut owned,
                    },
                    Some(asking),
                    &mut out,
                )
                .map(drop);
            match ran {
                // The memory takes the new values over, and lets the old ones go.
                Ok(()) => {
                    for (i, owned) in owned.into_iter().enumerate() {
                        let old = std::mem::replace(&mut running.cells[i], cells[i]);
                        if old.tag == Tag::Other && (owned || old != cells[i]) {
                            self.python.release(old);
                        }
                    }
                }
                Err(_) => {
                    for (cell, owned) in cells.into_iter().zip(owned) {
                        if owned {
                            self.python.release(cell);
                        }
                    }
                }
            }
        }
        self.desk.slice = None;
        self.desk.print_all(&out);
        if let Err(raised) = ran {
            self.desk.report(&raised);
            // What it asked for was half of what it meant; left alone, it would do it again.
            self.desk.latch.restore = None;
            if !matches!(self.desk.output, super::Output::Prompt) {
                *self.scenario = None;
                let text = "the scenario is no longer followed; the program goes on";
                self.desk.output.remark(&mut self.desk.debugger.out, text);
            }
        }
    }
}

fn fits(filter: &StateFilter, property: &verde_property::Property, state: StateId) -> bool {
    let state = property.state(state);
    match filter {
        StateFilter::Named(names) => names.contains(&state.name),
        StateFilter::Accepting => state.accepting,
        StateFilter::NonAccepting => !state.accepting,
        StateFilter::Any => true,
    }
}

impl Debugger {
    /// The signals that the scenario reacts to are reported, whatever else becomes of them.
    pub(super) fn trap_signals(&mut self, irv: &mut Irv) {
        let Some(live) = &mut self.live else {
            return;
        };
        for id in std::mem::take(&mut irv.signal_traps) {
            // A program that executes another one has lost it.
            let _ = live.process.remove(id);
        }
        let reactions = irv.scenario.iter().flat_map(|r| &r.scenario.reactions);
        for trigger in reactions.flat_map(|r| &r.triggers) {
            if let Trigger::Signal(name) = trigger
                && let Some(signal) = super::names::signal(name)
            {
                let trap = Trap::new(On::Signal(signal), Owner::User);
                irv.signal_traps.extend(live.process.insert(trap).ok());
            }
        }
    }

    /// The scenario reacts to something that is no event of a property.
    pub(in super::super) fn react_outside(&mut self, tid: Option<Tid>, what: &Outside) {
        let Some(mut irv) = self.irv.take() else {
            return;
        };
        let blocks = match &irv.scenario {
            Some(running) => running.matching(|t| match (t, what) {
                (Trigger::Watchpoint(name), Outside::Watchpoint(text))
                | (Trigger::Breakpoint(name), Outside::Breakpoint(text)) => {
                    name.as_deref().is_none_or(|n| n == text)
                }
                (Trigger::Signal(name), Outside::Signal(number)) => {
                    super::names::signal(name) == Some(*number)
                }
                (Trigger::Exit, Outside::Exit) => true,
                _ => false,
            }),
            None => Vec::new(),
        };
        if !blocks.is_empty() {
            self.run_blocks(&mut irv, tid, &blocks);
        }
        self.irv = Some(irv);
    }

    /// The scenario takes checkpoints.
    pub(in super::super) fn scenario_saves(&self) -> bool {
        let running = self.irv.as_ref().and_then(|irv| irv.scenario.as_ref());
        running.is_some_and(|running| running.scenario.saves)
    }

    /// What the scenario may react to at a point, and whether the point is its own.
    pub(in super::super) fn reaction_to(&self, number: u32) -> Option<(Outside, bool)> {
        self.irv.as_ref()?.scenario.as_ref()?;
        let point = self.points.list.iter().find(|p| p.number == number)?;
        let what = match &point.kind {
            Kind::Watch(w) => Outside::Watchpoint(w.text.clone()),
            Kind::Code { spec, .. } => Outside::Breakpoint(spec.clone()),
            Kind::Catch(_) => return None,
        };
        Some((what, point.by_scenario))
    }

    /// The scenario reacts to a point that was hit. What is to be said of it; nothing when the
    /// point is the scenario's own, which stops only by `stop()`.
    pub(in super::super) fn react_to_point(
        &mut self,
        tid: Tid,
        what: Option<(Outside, bool)>,
        text: String,
    ) -> Option<String> {
        let Some((what, own)) = what else {
            return Some(text);
        };
        self.react_outside(Some(tid), &what);
        (!own).then_some(text)
    }

    /// Runs blocks of the scenario with the current monitor at hand.
    pub(super) fn run_blocks(&mut self, irv: &mut Irv, tid: Option<Tid>, blocks: &[BlockId]) {
        let index = irv
            .current
            .and_then(|id| irv.position(id))
            .filter(|i| irv.ones[*i].monitor.is_some())
            .or_else(|| irv.ones.iter().position(|o| o.monitor.is_some()));
        let Some(index) = index else {
            return;
        };
        self.with_context(irv, index, (tid, None), |context, slices| {
            for block in blocks {
                context.run_reaction(Some(slices), slices.root(), *block);
            }
        });
        self.report_found(irv, index);
        if irv.is_stale() {
            self.instrument(irv, tid);
        }
    }
}

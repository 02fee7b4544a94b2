//! Checkpoints that are taken by themselves, and going back by them.

use super::Debugger;
use super::checkpoints::{Checkpoint, milliseconds, size};
use super::failure::{Result, failure};
use super::irv::Then;
use std::time::{Duration, Instant};

/// When a checkpoint is taken by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Often {
    /// After every event that concerns some slice.
    Events,
    /// After the first event, and after every change of a slice's state.
    States,
    /// At the first event after so much time.
    Every(Duration),
}

/// How checkpoints are taken by themselves.
#[derive(Clone, Copy, Debug)]
pub struct Automation {
    pub often: Option<Often>,
    /// Bytes that they may cost together; the user's count for nothing.
    pub budget: u64,
    /// At a violation: the last interval again, with the data watched that the property names.
    pub zoom: bool,
}

impl Default for Automation {
    fn default() -> Automation {
        Automation {
            often: None,
            budget: 1 << 30,
            zoom: false,
        }
    }
}

/// The checkpoints that were taken by themselves, oldest first.
#[derive(Default)]
pub(super) struct Automatic {
    list: Vec<Checkpoint>,
    /// When the last was taken, and after which event.
    last: Option<(Instant, u64)>,
    since_weighed: u32,
}

/// They are weighed after so many: adding up the pages of a process takes its time.
const WEIGH_EVERY: u32 = 8;

impl Automatic {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// What there is to go back to, in a line.
    pub fn summary(&self) -> Option<String> {
        let event = |c: &Checkpoint| c.monitors.as_ref().map_or(0, Then::event);
        let (first, last) = (event(self.list.first()?), event(self.list.last()?));
        let cost = self
            .list
            .iter()
            .map(|c| c.snapshot.memory_cost().unwrap_or(0));
        Some(format!(
            "{} automatic, after events {first} to {last}, {}: \"verde back\" goes to them",
            self.list.len(),
            size(cost.sum())
        ))
    }

    /// Takes all of them out.
    pub fn take(&mut self) -> Vec<Checkpoint> {
        std::mem::take(&mut self.list)
    }
}

impl Debugger {
    /// Takes a checkpoint if it is time for one. `changed`: a slice has another state; `n`: the
    /// event that was just applied. If one was taken all threads are stopped; with what is new to
    /// warn of.
    pub(super) fn automatic_checkpoint(
        &mut self,
        changed: bool,
        n: u64,
    ) -> Result<Option<Vec<String>>> {
        let Some(often) = self.automation.often else {
            return Ok(None);
        };
        let last = self.automatic.last;
        if last.is_some_and(|(_, event)| event == n) || n == 0 {
            return Ok(None);
        }
        let due = match often {
            Often::Events => true,
            // The first change needs one before it, too.
            Often::States => changed || last.is_none(),
            Often::Every(time) => last.is_none_or(|(at, _)| at.elapsed() >= time),
        };
        if !due {
            return Ok(None);
        }
        let Some(live) = &mut self.live else {
            return Ok(None);
        };
        live.process.stop_all()?.keep();
        let (checkpoint, warnings) = self.save()?;
        self.automatic.list.push(checkpoint);
        self.automatic.last = Some((Instant::now(), n));
        self.thin_out();
        Ok(Some(self.checkpoints.new_warnings(warnings)))
    }

    /// Keeps within the budget: of the older half every second one goes.
    fn thin_out(&mut self) {
        self.automatic.since_weighed += 1;
        if self.automatic.since_weighed < WEIGH_EVERY {
            return;
        }
        self.automatic.since_weighed = 0;
        let cost = |list: &[Checkpoint]| -> u64 {
            let costs = list.iter().map(|c| c.snapshot.memory_cost().unwrap_or(0));
            costs.sum()
        };
        while self.automatic.list.len() > 2 && cost(&self.automatic.list) > self.automation.budget {
            let older = self.automatic.list.len().div_ceil(2);
            let mut gone = Vec::new();
            let all = std::mem::take(&mut self.automatic.list);
            for (index, checkpoint) in all.into_iter().enumerate() {
                match index < older && index % 2 == 0 {
                    true => gone.push(checkpoint),
                    false => self.automatic.list.push(checkpoint),
                }
            }
            for checkpoint in gone {
                self.forget_checkpoint(Some(checkpoint));
            }
        }
    }

    /// `verde back [N]`: before the N-th last change of state of the slice that moved last.
    pub(super) fn back(&mut self, args: &str) -> Result<()> {
        let count = match args.trim() {
            "" => 1,
            text => match text.parse::<usize>() {
                Ok(n) if n > 0 => n,
                _ => return failure("How far?  verde back [N]"),
            },
        };
        let changes = self.changes_of_last_slice();
        let Some(event) = changes.iter().rev().nth(count - 1).copied() else {
            return failure(match changes.len() {
                0 => "No slice has changed its state yet.".to_owned(),
                1 => "The slice has changed its state once only.".to_owned(),
                n => format!("The slice has changed its state {n} times only."),
            });
        };
        let text = self.go_before(event)?;
        self.say(&text)?;
        self.say_frame(0, true)?;
        self.show_displays()
    }

    /// Goes to the youngest checkpoint from before an event; what to say.
    pub(super) fn go_before(&mut self, event: u64) -> Result<String> {
        let then = |c: &Checkpoint| c.monitors.as_ref().map(Then::event);
        let fits = |c: &Checkpoint| then(c).is_some_and(|n| n < event);
        let own = self.automatic.list.iter().rposition(fits);
        let users = self.checkpoints.youngest(fits);
        let own_event = own.and_then(|i| then(&self.automatic.list[i]));
        let users_event = users.and_then(|number| {
            let checkpoint = self.checkpoints.get(number).ok()?;
            then(checkpoint)
        });
        match (own, users) {
            (Some(index), _) if own_event >= users_event => {
                let checkpoint = self.automatic.list.remove(index);
                // What came after it belongs to a future that is gone.
                let later = self.automatic.list.split_off(index);
                for gone in later {
                    self.forget_checkpoint(Some(gone));
                }
                let done = self.go_back(&checkpoint);
                let at = then(&checkpoint).unwrap_or(0);
                self.automatic.list.push(checkpoint);
                self.automatic.last = Some((Instant::now(), at));
                let restored = done?;
                let (place, time) = (self.place(), milliseconds(restored.elapsed));
                let text = format!("Back before event {event}: {place} restored in {time}");
                Ok(self.checkpoints.with_new_warnings(restored.warnings, text))
            }
            (_, Some(number)) => self.restore_for(number),
            _ if self.automation.often.is_some() => failure(format!(
                "No checkpoint is from before event {event}: the first is taken after the first event."
            )),
            _ => failure(format!(
                "No checkpoint is from before event {event}; start with --auto-checkpoint states."
            )),
        }
    }

    /// Whether there is a checkpoint from before an event.
    pub(super) fn can_go_before(&self, event: u64) -> bool {
        let fits = |c: &Checkpoint| c.monitors.as_ref().is_some_and(|then| then.event() < event);
        self.automatic.list.iter().any(fits) || self.checkpoints.youngest(fits).is_some()
    }
}

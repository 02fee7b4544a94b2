//! Checkpoints that are taken by themselves, and going back by them.

use super::Debugger;
use super::checkpoints::{Checkpoint, NotSaved, milliseconds, size};
use super::failure::{Result, failure};
use super::irv::Then;
use std::time::{Duration, Instant};
use verde_engine::Tid;
use verde_sys::procfs;

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
    /// What they may cost at most: adding up the pages of a process takes its time, so that is
    /// done when this is beyond the budget.
    most: u64,
    /// The program at the last one.
    seen: Option<Seen>,
}

/// What tells how much memory a program has changed since.
#[derive(Clone, Copy)]
struct Seen {
    pid: Tid,
    faults: u64,
    resident: u64,
}

impl Seen {
    fn now(pid: Tid) -> Option<Seen> {
        Some(Seen {
            pid,
            faults: procfs::faults(pid)?,
            resident: procfs::resident(pid)?,
        })
    }

    /// Bytes that one more checkpoint costs at most when there are `count`. A page that was
    /// changed was copied by a fault; the others have one owner more, which is half a page if
    /// there was one, a sixth if there were two, and so on.
    fn cost_since(&self, before: Option<Seen>, count: u64) -> u64 {
        const PAGE: u64 = 4096;
        let same = before.filter(|b| b.pid == self.pid && b.faults <= self.faults);
        same.map_or(self.resident, |before| {
            let changed = (self.faults - before.faults) * PAGE;
            let new = self.resident.saturating_sub(before.resident);
            changed + new + self.resident / ((count + 1) * (count + 2))
        })
    }
}

/// So many are kept whatever they cost: one to go back to before the last change, and the last.
const LEAST: usize = 2;

impl Automatic {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// What there is to go back to, in a line.
    pub fn summary(&self, budget: u64) -> Option<String> {
        let event = |c: &Checkpoint| c.monitors.as_ref().map_or(0, Then::event);
        let (first, last) = (event(self.list.first()?), event(self.list.last()?));
        let cost = self.cost();
        let note = match cost > budget && self.list.len() <= LEAST {
            true => format!(
                " (more than the budget of {}, but the last {LEAST} are always kept)",
                size(budget)
            ),
            false => String::new(),
        };
        Some(format!(
            "{} automatic, after events {first} to {last}, {}{note}: \"verde back\" goes to them",
            self.list.len(),
            size(cost)
        ))
    }

    fn add(&mut self, checkpoint: Checkpoint) {
        let now = Seen::now(checkpoint.snapshot.pid());
        let count = self.list.len() as u64;
        let more = now.map_or(u64::MAX, |now| now.cost_since(self.seen, count));
        let more = more.saturating_add(checkpoint.snapshot.files_cost());
        self.most = self.most.saturating_add(more);
        self.seen = now;
        self.list.push(checkpoint);
    }

    /// The program is what it was at a checkpoint: the next one is due as after that.
    pub fn went_back(&mut self, to: &Checkpoint) {
        let event = to.monitors.as_ref().map_or(0, Then::event);
        self.last = (event > 0).then(|| (Instant::now(), event));
    }

    /// What they cost together.
    fn cost(&self) -> u64 {
        let costs = self.list.iter().map(|c| c.snapshot.memory_cost());
        costs.map(|c| c.unwrap_or(0)).sum()
    }

    /// Takes all of them out.
    pub fn take(&mut self) -> Vec<Checkpoint> {
        std::mem::take(self).list
    }
}

impl Debugger {
    /// The program was started: nothing leads back to an earlier run but the user's checkpoints.
    pub(super) fn begin_timeline(&mut self) {
        self.checkpoints.timeline.started();
        for gone in self.automatic.take() {
            self.forget_checkpoint(Some(gone));
        }
    }

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
        let (checkpoint, warnings) = match self.save_with_reason() {
            // With some of the older ones less there is room, if not at once.
            Err(NotSaved::Refused(_)) if self.drop_some() => match self.save_with_reason() {
                Err(NotSaved::Refused(_)) => return Ok(Some(Vec::new())),
                done => done?,
            },
            done => done?,
        };
        self.automatic.add(checkpoint);
        self.automatic.last = Some((Instant::now(), n));
        self.thin_out();
        Ok(Some(self.checkpoints.new_warnings(warnings)))
    }

    /// Keeps within the budget.
    fn thin_out(&mut self) {
        while self.automatic.most > self.automation.budget {
            self.automatic.most = self.automatic.cost();
            if self.automatic.most <= self.automation.budget || !self.drop_some() {
                return;
            }
        }
    }

    /// Of the older half every second one goes. `false`: there are too few.
    fn drop_some(&mut self) -> bool {
        if self.automatic.list.len() <= LEAST {
            return false;
        }
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
        true
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
        let Some((event, tid)) = changes.iter().rev().nth(count - 1).copied() else {
            return failure(match changes.len() {
                0 => "No slice has changed its state yet.".to_owned(),
                1 => "The slice has changed its state once only.".to_owned(),
                n => format!("The slice has changed its state {n} times only."),
            });
        };
        let text = self.go_before(event, tid)?;
        self.say(&text)?;
        self.say_frame(0, true)?;
        self.show_displays()
    }

    /// Goes to the youngest checkpoint from before an event, and to the thread that will bring
    /// it if that is given; what to say.
    pub(super) fn go_before(&mut self, event: u64, tid: Option<Tid>) -> Result<String> {
        let fits = |c: &Checkpoint| self.is_before(c, event);
        let own = self.automatic.list.iter().rposition(fits);
        let own_moment = own.map(|i| self.automatic.list[i].moment);
        let users = self.checkpoints.youngest(fits);
        let (users, users_moment) = users.map(|(number, c)| (*number, c.moment)).unzip();
        match (own, users) {
            (Some(index), _) if own_moment > users_moment => {
                let checkpoint = self.automatic.list.remove(index);
                // What came after it belongs to a future that is gone.
                let later = self.automatic.list.split_off(index);
                for gone in later {
                    self.forget_checkpoint(Some(gone));
                }
                let done = self.go_back(&checkpoint);
                self.automatic.list.push(checkpoint);
                let restored = done?;
                self.look_at_thread(tid.map(|t| restored.id_now(t)))?;
                let (place, time) = (self.place(), milliseconds(restored.elapsed));
                let text = format!("Back before event {event}: {place} restored in {time}");
                Ok(self.checkpoints.with_new_warnings(restored.warnings, text))
            }
            (_, Some(number)) => {
                let text = self.restore_for(number)?;
                self.look_at_thread(tid)?;
                Ok(text)
            }
            _ if self.automation.often.is_some() => failure(format!(
                "No checkpoint is left from before event {event}: the first is taken after the first event, and old ones make room (--checkpoint-budget)."
            )),
            _ => failure(format!(
                "No checkpoint is from before event {event}; start with --auto-checkpoint states."
            )),
        }
    }

    /// Selects a thread if it exists at this moment.
    fn look_at_thread(&mut self, tid: Option<Tid>) -> Result<()> {
        match (&mut self.live, tid) {
            (Some(live), Some(tid)) if live.tid != tid && live.process.is_stopped(tid) => {
                live.look(tid, &self.images)
            }
            _ => Ok(()),
        }
    }

    /// A checkpoint leads to before an event of the present.
    fn is_before(&self, checkpoint: &Checkpoint, event: u64) -> bool {
        let then = checkpoint.monitors.as_ref();
        then.is_some_and(|then| then.event() < event)
            && self.checkpoints.timeline.is_past(checkpoint.moment)
    }

    /// Whether there is a checkpoint from before an event.
    pub(super) fn can_go_before(&self, event: u64) -> bool {
        let fits = |c: &Checkpoint| self.is_before(c, event);
        self.automatic.list.iter().any(fits) || self.checkpoints.youngest(fits).is_some()
    }
}

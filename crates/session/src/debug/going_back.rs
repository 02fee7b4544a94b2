//! Checkpoints that are taken by themselves, and going back by them.

use super::Debugger;
use super::checkpoints::{Checkpoint, NotSaved, milliseconds, size};
use super::failure::{Result, failure};
use super::irv::Then;
use super::ticking::Ticker;
use super::timeline::{Moment, Timeline};
use std::time::{Duration, Instant};
use verde_checkpoint::{Error, Warning};
use verde_engine::Tid;
use verde_sys::procfs;
use verde_sys::sizes::Sizes;

/// When a checkpoint is taken by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Often {
    /// After every event that concerns some slice.
    Events,
    /// After every change of a slice's state.
    States,
    /// Whenever so much time has passed.
    Every(Duration),
}

/// What may be worth a checkpoint. Whatever is chosen, there is one of the program's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    /// The program begins: the loader has done its work.
    Start,
    /// An event was applied, the last of so many; `changed`: a slice has another state.
    Event { changed: bool, n: u64 },
    /// The chosen time has passed.
    Tick,
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
    /// Those that have made room, oldest first. Of several without one of the list in between the
    /// first tells of all.
    thinned: Vec<Thinned>,
    /// The event after which the last was taken.
    last: Option<u64>,
    /// Tells when the time for one has come.
    ticker: Option<Ticker>,
    /// What they may cost at most: adding up the pages of a process takes its time, so that is
    /// done when this is beyond the budget.
    most: u64,
    /// The program at the last one.
    seen: Option<Seen>,
}

/// What is known of a checkpoint that has made room.
struct Thinned {
    moment: Moment,
    /// The event after which it was taken.
    event: u64,
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
            resident: Sizes::of(pid)?.resident,
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

/// The program might wait for ever, for a checkpoint that nobody has asked for.
fn keeps_waiting(warning: &Warning) -> bool {
    matches!(warning, Warning::OfChildren(_))
}

/// The event after which a checkpoint was taken.
fn event_of(checkpoint: &Checkpoint) -> u64 {
    checkpoint.monitors.as_ref().map_or(0, Then::event)
}

impl Automatic {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// What there is to go back to, in a line.
    pub fn summary(&self, budget: u64, timeline: &Timeline) -> Option<String> {
        let past = self.past(timeline);
        let event = |index: &usize| event_of(&self.list[*index]);
        let events = match (event(past.first()?), event(past.last()?)) {
            (_, 0) => String::new(),
            (first, last) => format!(" after events {first} to {last},"),
        };
        let others = match self.list.len() - past.len() {
            0 => String::new(),
            n => format!(" {n} of other futures,"),
        };
        let cost = self.cost();
        let note = match cost > budget && self.expendable(timeline).is_empty() {
            true => format!(
                " (more than the budget of {}, but the first and the last two are always kept)",
                size(budget)
            ),
            false => String::new(),
        };
        Some(format!(
            "{} automatic,{events}{others} {}{note}: \"verde back\" goes to them",
            past.len(),
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
        self.last = Some(event_of(to));
    }

    /// Which of them the present has come from. The others are of futures that were given up, and
    /// count again when somebody goes back there.
    fn past(&self, timeline: &Timeline) -> Vec<usize> {
        let list = self.list.iter().enumerate();
        let past = list.filter(|(_, c)| timeline.is_past(c.moment));
        past.map(|(index, _)| index).collect()
    }

    /// All but those that are kept whatever they cost: of the present's past the first, one to go
    /// back to before the last change, and the last.
    fn expendable(&self, timeline: &Timeline) -> Vec<usize> {
        let past = self.past(timeline);
        let first = past.first();
        let kept: Vec<&usize> = past.iter().rev().take(2).chain(first).collect();
        let all = 0..self.list.len();
        all.filter(|index| !kept.contains(&index)).collect()
    }

    /// Takes some out that have to make room; `indices` rise.
    fn thin(&mut self, indices: &[usize]) -> Vec<Checkpoint> {
        let taken = indices.iter().rev().map(|index| self.list.remove(*index));
        let gone: Vec<Checkpoint> = taken.collect();
        self.thinned.extend(gone.iter().map(|c| Thinned {
            moment: c.moment,
            event: event_of(c),
        }));
        self.thinned.sort_by_key(|t| t.moment);
        let list = &self.list;
        let gap = |t: &mut Thinned| {
            let before = list.partition_point(|c| c.moment < t.moment);
            (t.moment.future(), before)
        };
        self.thinned.dedup_by_key(gap);
        gone
    }

    /// Whether one that has made room was from after a moment and before an event of the present.
    fn was_nearer(&self, than: Moment, event: u64, timeline: &Timeline) -> bool {
        let nearer = |t: &Thinned| than < t.moment && t.event < event;
        let mut all = self.thinned.iter();
        all.any(|t| nearer(t) && timeline.is_past(t.moment))
    }

    /// Takes out what leads to nothing any more.
    fn take_lost(&mut self, leads: impl Fn(Moment) -> bool) -> Vec<Checkpoint> {
        self.thinned.retain(|t| leads(t.moment));
        let all = std::mem::take(&mut self.list).into_iter();
        let (kept, lost) = all.partition(|c| leads(c.moment));
        self.list = kept;
        lost
    }

    /// Puts one back where it was.
    fn put_back(&mut self, checkpoint: Checkpoint) {
        let at = self.list.partition_point(|c| c.moment < checkpoint.moment);
        self.list.insert(at, checkpoint);
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

    /// The program was started, and checkpoints are to be taken by themselves.
    pub(super) fn begin_automatic(&mut self) {
        if let (Some(Often::Every(time)), Some(live)) = (self.automation.often, &self.live) {
            match Ticker::start(time, live.process.interrupter()) {
                Ok(ticker) => self.automatic.ticker = Some(ticker),
                Err(e) => self.tell_once(e.into()),
            }
        }
        // Others begin when their libraries are loaded.
        if !self.is_loading() {
            self.take_automatic(Occasion::Start);
        }
    }

    /// Somebody has woken the wait for the program.
    pub(super) fn tend_checkpoints(&mut self) {
        if !self.automatic.ticker.as_ref().is_some_and(Ticker::is_due) {
            return;
        }
        let start = Instant::now();
        self.take_automatic(Occasion::Tick);
        if let Some(ticker) = &self.automatic.ticker {
            ticker.begin_anew(start.elapsed());
        }
    }

    /// Takes a checkpoint if it is time for one. `true`: one was taken, of the program as it is.
    pub(super) fn take_automatic(&mut self, occasion: Occasion) -> bool {
        match self.automatic_checkpoint(occasion) {
            Ok(Some(warnings)) => {
                self.tell_of_checkpoint(Ok(warnings.join("\n")));
                true
            }
            Ok(None) => false,
            Err(e) => {
                self.tell_once(e);
                false
            }
        }
    }

    /// With what is new to warn of.
    fn automatic_checkpoint(&mut self, occasion: Occasion) -> Result<Option<Vec<String>>> {
        let Some(often) = self.automation.often else {
            return Ok(None);
        };
        let last = self.automatic.last;
        let due = match (occasion, often) {
            (Occasion::Event { n, .. }, _) if last.unwrap_or(0) == n => false,
            // The first change needs one before it, too.
            (Occasion::Event { changed, .. }, Often::States) => changed || last.is_none(),
            (Occasion::Event { .. }, Often::Every(_)) => false,
            (Occasion::Start | Occasion::Tick, _) | (Occasion::Event { .. }, Often::Events) => true,
        };
        if !due {
            return Ok(None);
        }
        let (checkpoint, warnings) = match self.save_with_reason() {
            // With some of the older ones less there is room, if not at once.
            Err(NotSaved::Refused(_)) if self.drop_some() => match self.save_with_reason() {
                Err(NotSaved::Refused(_)) => return Ok(Some(Vec::new())),
                done => done?,
            },
            // The time for another comes.
            Err(NotSaved::NotNow(_)) if occasion == Occasion::Tick => return Ok(None),
            // Its end is what comes next.
            Err(NotSaved::NotNow(Error::Ended)) => return Ok(None),
            done => done?,
        };
        if warnings.iter().any(keeps_waiting) {
            self.forget_checkpoint(Some(checkpoint));
            self.remark_once(
                "warning: no automatic checkpoints while other processes have pipes or sockets of the program: \
                 who waits for the end of one would go on waiting",
            );
            return Ok(None);
        }
        self.automatic.last = Some(event_of(&checkpoint));
        self.automatic.add(checkpoint);
        self.thin_out();
        Ok(Some(self.checkpoints.new_warnings(warnings)))
    }

    /// What none of these has come from is no way back any more: the present, the user's
    /// checkpoints, the moment before the last restart.
    pub(super) fn forget_lost_futures(&mut self) {
        if self.automatic.list.is_empty() && self.automatic.thinned.is_empty() {
            return;
        }
        let leads = self.checkpoints.leads();
        for lost in self.automatic.take_lost(leads) {
            self.forget_checkpoint(Some(lost));
        }
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

    /// Of the older half of those that may go every second one goes. `false`: none may.
    fn drop_some(&mut self) -> bool {
        let may_go = self.automatic.expendable(&self.checkpoints.timeline);
        let older = may_go.len().div_ceil(2);
        let going: Vec<usize> = may_go.into_iter().take(older).step_by(2).collect();
        for gone in self.automatic.thin(&going) {
            self.forget_checkpoint(Some(gone));
        }
        !going.is_empty()
    }

    /// `verde back [N]`: before the N-th last change of state of the slice that moved last.
    /// Without properties: to the N-th last checkpoint that was taken by itself.
    pub(super) fn back(&mut self, args: &str) -> Result<()> {
        let count = match args.trim() {
            "" => 1,
            text => match text.parse::<usize>() {
                Ok(n) if n > 0 => n,
                _ => return failure("How far?  verde back [N]"),
            },
        };
        if !self.has_property() && !self.automatic.is_empty() {
            let index = self.automatic_before(count)?;
            let text = self.go_to_automatic(index, None, "Back")?;
            return self.show_back(&text);
        }
        if !self.has_property() {
            return failure(
                "There are no automatic checkpoints; start with --auto-checkpoint SECONDS.",
            );
        }
        let changes = self.changes_of_last_slice();
        let Some((event, tid)) = changes.iter().rev().nth(count - 1).copied() else {
            return failure(match changes.len() {
                0 => "No slice has changed its state yet.".to_owned(),
                1 => "The slice has changed its state once only.".to_owned(),
                n => format!("The slice has changed its state {n} times only."),
            });
        };
        let text = self.go_before(event, tid)?;
        self.show_back(&text)
    }

    /// The N-th last of the automatic checkpoints from before where the program stands.
    fn automatic_before(&self, count: usize) -> Result<usize> {
        let timeline = &self.checkpoints.timeline;
        let mut past = self.automatic.past(timeline);
        past.retain(|index| !timeline.is_here(self.automatic.list[*index].moment));
        match (past.iter().rev().nth(count - 1), past.len()) {
            (Some(index), _) => Ok(*index),
            (None, 0) => failure("There is no earlier automatic checkpoint."),
            (None, 1) => failure("There is one earlier automatic checkpoint only."),
            (None, n) => failure(format!("There are {n} earlier automatic checkpoints only.")),
        }
    }

    fn show_back(&mut self, text: &str) -> Result<()> {
        self.say(text)?;
        self.say_frame(0, true)?;
        self.show_displays()
    }

    /// Goes to one of the checkpoints that were taken by themselves; what to say.
    fn go_to_automatic(&mut self, index: usize, tid: Option<Tid>, title: &str) -> Result<String> {
        let checkpoint = self.automatic.list.remove(index);
        let done = self.go_back(&checkpoint);
        self.automatic.put_back(checkpoint);
        let restored = done?;
        self.look_at_thread(tid.map(|t| restored.id_now(t)))?;
        let (place, time) = (self.place(), milliseconds(restored.elapsed));
        let text = format!("{title}: {place} restored in {time}");
        Ok(self.checkpoints.with_new_warnings(restored.warnings, text))
    }

    /// Goes to the youngest checkpoint from before an event, and to the thread that will bring
    /// it if that is given; what to say.
    pub(super) fn go_before(&mut self, event: u64, tid: Option<Tid>) -> Result<String> {
        let fits = |c: &Checkpoint| self.is_before(c, event);
        let own = self.automatic.list.iter().rposition(fits);
        let own_moment = own.map(|i| self.automatic.list[i].moment);
        let users = self.checkpoints.youngest(fits);
        let users_moment = users.map(|(_, c)| c.moment);
        match (own, users) {
            (Some(index), _) if own_moment > users_moment => {
                let title = self.title_before(event, &self.automatic.list[index]);
                self.go_to_automatic(index, tid, &title)
            }
            (_, Some((number, checkpoint))) => {
                let number = *number;
                let title = self.title_before(event, checkpoint);
                let title = format!("{title}, checkpoint {number}");
                let text = self.restore_titled(number, &title)?;
                self.look_at_thread(tid)?;
                Ok(text)
            }
            _ if !self.automatic.thinned.is_empty() => failure(format!(
                "No checkpoint is left from before event {event}: old ones make room (--checkpoint-budget)."
            )),
            _ if self.automation.often.is_some() => failure(format!(
                "No checkpoint is from before event {event}: none could be taken so early."
            )),
            _ => failure(format!(
                "No checkpoint is from before event {event}; start with --auto-checkpoint states."
            )),
        }
    }

    /// Says of a checkpoint from before an event how far before it is.
    fn title_before(&self, event: u64, checkpoint: &Checkpoint) -> String {
        let (then, moment) = (event_of(checkpoint), checkpoint.moment);
        let mut title = format!("Back before event {event}");
        match then {
            _ if then + 1 == event => {}
            0 => title += ", before the first event",
            _ => title += &format!(", after event {then}"),
        }
        let timeline = &self.checkpoints.timeline;
        if self.automatic.was_nearer(moment, event, timeline) {
            title += " (nearer checkpoints have made room)";
        }
        title
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

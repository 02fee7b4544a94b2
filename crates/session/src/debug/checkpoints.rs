//! Checkpoints of the program by number: saved, restored, listed, forgotten.

use super::Debugger;
use super::failure::{Failure, NOT_RUN, Result, failure};
use super::irv::Then;
use super::live::Live;
use super::points::Kind;
use super::terminal::Manners;
use super::timeline::{Moment, Timeline};
use std::time::Duration;
use verde_checkpoint::{Error, Options, Present, Restored, Snapshot, Warning};
use verde_engine::{End, Process, Tid};

/// What `restart` takes back the last restart by.
const UNDO: &str = "undo";
const NOTHING_TO_UNDO: &str = "Nothing to undo.";

/// The checkpoints of a session.
#[derive(Default)]
pub(super) struct Checkpoints {
    /// The user's, by rising number.
    list: Vec<(u32, Checkpoint)>,
    /// The moment before the last restore.
    undo: Option<Checkpoint>,
    /// What was last run, after its end: a restore goes on with it.
    ended: Option<Live>,
    pub timeline: Timeline,
    /// What was warned of where nobody has asked: once is enough.
    warned: Vec<Warning>,
    /// Why checkpoints that nobody has asked for were not taken, likewise.
    refused: Vec<String>,
}

/// `S`: how the program itself is saved.
pub(super) struct Checkpoint<S = Snapshot> {
    pub snapshot: S,
    /// Where it was taken.
    pub place: String,
    /// The thread that was selected.
    tid: Tid,
    /// What it had made of the terminal and the streams that it shares with us.
    manners: Manners,
    /// The monitors, saved with the program.
    pub monitors: Option<Then>,
    pub moment: Moment,
}

impl<S> Checkpoint<S> {
    /// The same with the program saved otherwise.
    fn with<T>(self, snapshot: T) -> (S, Checkpoint<T>) {
        let other = Checkpoint {
            snapshot,
            place: self.place,
            tid: self.tid,
            manners: self.manners,
            monitors: self.monitors,
            moment: self.moment,
        };
        (self.snapshot, other)
    }
}

/// So often a copy is made that is killed before it is complete.
const TRIES: usize = 3;

/// Why there is no checkpoint.
pub(super) enum NotSaved {
    /// There is no room for a copy of the process, or none lives long enough.
    Refused(verde_checkpoint::Error),
    /// A little later it will be possible, or the program is over.
    NotNow(verde_checkpoint::Error),
    Otherwise(Failure),
}

impl Checkpoints {
    pub fn get(&self, number: u32) -> Result<&Checkpoint> {
        match self.list.iter().find(|(n, _)| *n == number) {
            Some((_, checkpoint)) => Ok(checkpoint),
            None => failure(format!("No checkpoint number {number}.")),
        }
    }

    /// The youngest that fits.
    pub fn youngest(&self, fits: impl Fn(&Checkpoint) -> bool) -> Option<&(u32, Checkpoint)> {
        let fitting = self.list.iter().filter(|(_, c)| fits(c));
        fitting.max_by_key(|(_, c)| c.moment)
    }

    /// Tells of a moment whether the present, one of the user's checkpoints or the moment before
    /// the last restore has come from there.
    pub fn leads(&self) -> impl Fn(Moment) -> bool + use<> {
        let users = self.list.iter().map(|(_, c)| c.moment);
        let undo = self.undo.as_ref().map(|c| c.moment);
        self.timeline
            .leads_to(&users.chain(undo).collect::<Vec<_>>())
    }

    /// The user's, by rising number.
    pub fn all(&self) -> &[(u32, Checkpoint)] {
        &self.list
    }

    /// What `restart` takes: their numbers, and the word that takes the last restart back.
    pub fn names(&self) -> Vec<String> {
        let numbers = self.list.iter().map(|(number, _)| number.to_string());
        let undo = self.undo.as_ref().map(|_| UNDO.to_owned());
        numbers.chain(undo).collect()
    }

    /// The least number that neither a checkpoint has nor one of those that are `reserved`.
    fn free_number(&self, reserved: &[u32]) -> u32 {
        let mut list = self.list.iter().map(|(number, _)| *number).peekable();
        let is_free = |n: &u32| list.next_if_eq(n).is_none() && !reserved.contains(n);
        (1..).find(is_free).unwrap_or(u32::MAX)
    }

    fn add(&mut self, checkpoint: Checkpoint) -> u32 {
        let number = self.free_number(&[]);
        self.put(number, checkpoint);
        number
    }

    fn put(&mut self, number: u32, checkpoint: Checkpoint) {
        let at = self.list.partition_point(|(n, _)| *n < number);
        self.list.insert(at, (number, checkpoint));
    }

    /// The warnings that were not said before, as lines.
    pub fn new_warnings(&mut self, warnings: Vec<Warning>) -> Vec<String> {
        let mut lines = Vec::new();
        for warning in warnings {
            if !self.warned.contains(&warning) {
                lines.push(format!("warning: {warning}"));
                self.warned.push(warning);
            }
        }
        lines
    }

    /// A reason that was not said before.
    pub fn is_news(&mut self, failure: &Failure) -> bool {
        let text = failure.to_string();
        let news = !self.refused.contains(&text);
        if news {
            self.refused.push(text);
        }
        news
    }

    /// A line to say, after them.
    pub fn with_new_warnings(&mut self, warnings: Vec<Warning>, text: String) -> String {
        let mut lines = self.new_warnings(warnings);
        lines.push(text);
        lines.join("\n")
    }

    /// A program that has ended can be brought back.
    pub fn can_revive(&self) -> bool {
        self.ended.is_some()
    }

    /// The process is no longer there; a restore may bring it back.
    pub fn process_gone(&mut self, live: Option<Live>, others: bool) {
        let Some(live) = live else { return };
        if live.process.ended() == Some(End::Detached) {
            // It lives on elsewhere and needs its ids.
            *self = Checkpoints::default();
        } else if others || !self.list.is_empty() || self.undo.is_some() {
            self.ended = Some(live);
        }
    }
}

impl From<verde_checkpoint::Error> for Failure {
    fn from(e: verde_checkpoint::Error) -> Failure {
        Failure(e.to_string())
    }
}

impl From<NotSaved> for Failure {
    fn from(not: NotSaved) -> Failure {
        match not {
            NotSaved::Refused(error) | NotSaved::NotNow(error) => error.into(),
            NotSaved::Otherwise(failure) => failure,
        }
    }
}

pub(super) fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// Bytes for people.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

impl Debugger {
    pub(super) fn checkpoint(&mut self, _: &str) -> Result<()> {
        let (checkpoint, warnings) = self.save()?;
        let time = milliseconds(checkpoint.snapshot.saved_in());
        let place = checkpoint.place.clone();
        let number = self.checkpoints.add(checkpoint);
        self.say_warnings(&warnings)?;
        self.say(&format!("Checkpoint {number}: {place} saved in {time}"))
    }

    /// The least number that no checkpoint has, and none of those that are about to be taken.
    pub(super) fn free_checkpoint(&self, reserved: &[u32]) -> u32 {
        self.checkpoints.free_number(reserved)
    }

    /// Whether there can be a checkpoint of the process, which is stopped.
    pub(super) fn can_be_saved(&self) -> bool {
        let live = self.live.as_ref();
        live.is_some_and(|l| Snapshot::refusal(&l.process).is_none())
    }

    pub(super) fn has_checkpoint(&self, number: u32) -> bool {
        self.checkpoints.get(number).is_ok()
    }

    /// Takes a checkpoint for the scenario, under a number that it knows; what to say.
    pub(super) fn checkpoint_as(&mut self, number: u32) -> Result<String> {
        let (checkpoint, warnings) = self.save()?;
        let time = milliseconds(checkpoint.snapshot.saved_in());
        let text = format!("Checkpoint {number}: {} saved in {time}", checkpoint.place);
        self.checkpoints.put(number, checkpoint);
        Ok(self.checkpoints.with_new_warnings(warnings, text))
    }

    /// Goes back for the scenario; what to say.
    pub(super) fn restore_for(&mut self, number: u32) -> Result<String> {
        self.restore_titled(number, &format!("Checkpoint {number}"))
    }

    /// Goes back to one of the user's checkpoints; what to say, beginning with a title.
    pub(super) fn restore_titled(&mut self, number: u32, title: &str) -> Result<String> {
        self.checkpoints.get(number)?;
        let at = self.checkpoints.list.iter().position(|(n, _)| *n == number);
        let (_, checkpoint) = self.checkpoints.list.remove(at.unwrap_or(0));
        let result = self.go_back(&checkpoint);
        let place = checkpoint.place.clone();
        self.checkpoints.put(number, checkpoint);
        let restored = result?;
        let time = milliseconds(restored.elapsed);
        let text = format!("{title}: {place} restored in {time}");
        Ok(self.checkpoints.with_new_warnings(restored.warnings, text))
    }

    /// Goes back for the scenario when the program has just ended; what to say.
    pub(super) fn revive_for(&mut self, number: u32) -> Result<String> {
        self.forget_process();
        let done = self.restore_for(number);
        if self.live.is_none() {
            // Its end is the news, then.
            self.live = self.checkpoints.ended.take();
        }
        done
    }

    pub(super) fn save(&mut self) -> Result<(Checkpoint, Vec<Warning>)> {
        self.save_with_reason().map_err(Failure::from)
    }

    pub(super) fn save_with_reason(
        &mut self,
    ) -> std::result::Result<(Checkpoint, Vec<Warning>), NotSaved> {
        self.save_by(Snapshot::take)
    }

    fn save_by<S>(
        &mut self,
        take: impl Fn(&mut Process, &Options) -> verde_checkpoint::Result<(S, Vec<Warning>)>,
    ) -> std::result::Result<(Checkpoint<S>, Vec<Warning>), NotSaved> {
        let place = self.place();
        if self.live.is_none() {
            return Err(NotSaved::Otherwise(Failure(NOT_RUN.into())));
        }
        let monitors = self.monitors_then();
        let monitors = monitors.map_err(|e| NotSaved::Otherwise(Failure(e)))?;
        let options = Options {
            layers: self.files.clone(),
            keep_input: self.reads_input,
        };
        let Some(live) = &mut self.live else {
            return Err(NotSaved::Otherwise(Failure(NOT_RUN.into())));
        };
        // A copy that somebody kills, perhaps for lack of memory, is made again.
        let mut tries = (0..TRIES).map(|_| take(&mut live.process, &options));
        let is_made = |taken: &verde_checkpoint::Result<_>| !matches!(taken, Err(Error::Lost));
        let taken = tries.find(is_made).unwrap_or(Err(Error::Lost));
        let (snapshot, warnings) = taken.map_err(|error| match error {
            lack if lack.is_lack() => NotSaved::Refused(lack),
            Error::Lost => NotSaved::Refused(Error::Lost),
            passing @ (Error::NotNow(_) | Error::Ended) => NotSaved::NotNow(passing),
            other => NotSaved::Otherwise(other.into()),
        })?;
        let checkpoint = Checkpoint {
            snapshot,
            place,
            tid: live.tid,
            manners: self.terminal.of_program(),
            monitors,
            moment: self.checkpoints.timeline.moment(),
        };
        Ok((checkpoint, warnings))
    }

    /// Where the program stands, in a few words.
    pub(super) fn place(&self) -> String {
        let Some(live) = &self.live else {
            return String::new();
        };
        let pid = live.process.pid();
        match live.levels.first().and_then(|l| l.line()) {
            Some((file, line)) => format!("process {pid} at {}:{line}", file.name),
            None => match live.frame(0) {
                Ok(frame) => format!("process {pid} at {:#x}", frame.pc),
                Err(_) => format!("process {pid}"),
            },
        }
    }

    fn say_warnings(&mut self, warnings: &[Warning]) -> Result<()> {
        for warning in warnings {
            self.say(&format!("warning: {warning}"))?;
        }
        Ok(())
    }

    pub(super) fn restart(&mut self, args: &str) -> Result<()> {
        let chosen = self.chosen_checkpoint(args.trim())?;
        let (checkpoint, title) = match chosen {
            None => match self.checkpoints.undo.take() {
                Some(undo) => (undo, "The moment before the last restart".to_owned()),
                None => return failure(NOTHING_TO_UNDO),
            },
            Some(number) => {
                self.checkpoints.get(number)?;
                let at = self.checkpoints.list.iter().position(|(n, _)| *n == number);
                let (_, checkpoint) = self.checkpoints.list.remove(at.unwrap_or(0));
                (checkpoint, format!("Checkpoint {number}"))
            }
        };
        let result = self.go_back(&checkpoint);
        match chosen {
            Some(number) => {
                self.checkpoints.put(number, checkpoint);
            }
            None => {
                let gone = match result.is_err() {
                    true => self.checkpoints.undo.replace(checkpoint),
                    false => Some(checkpoint),
                };
                self.forget_checkpoint(gone);
            }
        }
        let restored = result?;
        self.board_moved(format!("restored {}", title.to_lowercase()));
        self.say_warnings(&restored.warnings)?;
        let (place, time) = (self.place(), milliseconds(restored.elapsed));
        let frame = self.frame_lines(0, true);
        self.say(&format!("{title}: {place} restored in {time}\n{frame}"))?;
        self.show_displays()
    }

    /// The number of the checkpoint that `restart` names; `None`: it says `undo`.
    fn chosen_checkpoint(&mut self, text: &str) -> Result<Option<u32>> {
        if text.is_empty() {
            return failure("Which checkpoint?  restart NUMBER, or restart undo");
        }
        if text == UNDO {
            return Ok(None);
        }
        match self.number(text).map(u32::try_from) {
            Ok(Ok(number)) => Ok(Some(number)),
            Ok(Err(_)) => failure(format!("Bad checkpoint number '{text}'")),
            // As with commands the beginning is enough; a variable of that name is not hidden.
            Err(_) if UNDO.starts_with(text) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The present, for `restart undo` and for a restore that fails. `None`: nothing that could
    /// be saved, as with io_uring; but where room for a copy is missing, the restore would miss
    /// it as well, and end the program.
    fn save_present(&mut self) -> Result<Option<Checkpoint<Present>>> {
        match self.save_by(Present::take) {
            Ok((undo, _)) => Ok(Some(undo)),
            Err(NotSaved::Refused(error)) => failure(format!(
                "Not restarted, for the present could not be kept for \"restart undo\": {error}"
            )),
            Err(other) => {
                let reason = match other {
                    NotSaved::NotNow(Error::Ended) => Failure("the program has ended".to_owned()),
                    other => other.into(),
                };
                if self.checkpoints.is_news(&reason) {
                    self.say(&format!(
                        "warning: \"restart undo\" will not work: {reason}"
                    ))?;
                }
                Ok(None)
            }
        }
    }

    /// Restores a checkpoint; the present is kept for `restart undo`.
    pub(super) fn go_back(&mut self, checkpoint: &Checkpoint) -> Result<Restored> {
        self.leave_present();
        let undo = match &self.live {
            Some(_) => self.save_present()?,
            None => {
                let Some(mut live) = self.checkpoints.ended.take() else {
                    return failure(NOT_RUN);
                };
                // Breakpoints and monitors know nothing of their traps any more.
                live.process.release_all();
                live.process.options.signals = self.signals.clone();
                self.live = Some(live);
                self.terminal.open();
                None
            }
        };
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        let (present, undo) = undo.map(|undo| undo.with(())).unzip();
        let mut restored = match checkpoint.snapshot.restore(&mut live.process, present) {
            Ok(restored) => restored,
            Err(error) => {
                let mut done = Ok(());
                if live.process.ended().is_some() {
                    // This checkpoint, and others, can still bring it back.
                    self.checkpoints.ended = self.live.take();
                    self.forget_process();
                } else if let (Some(undo), Error::Broken { put_back, .. }) = (&undo, &error)
                    && let Some(restored) = put_back
                {
                    // It is another process with the same contents.
                    self.checkpoints.timeline.restored(undo.moment);
                    done = self.take_over(undo, restored);
                }
                self.forget_checkpoint(undo);
                return Err(done.err().unwrap_or_else(|| error.into()));
            }
        };
        self.leaves_as_it_likes();
        self.terminal.go_back(&checkpoint.manners);
        self.checkpoints.timeline.restored(checkpoint.moment);
        self.automatic.went_back(checkpoint);
        let undo = match (undo, restored.present.take()) {
            (Some(undo), Some(snapshot)) => Some(undo.with(snapshot).1),
            (lost, _) => {
                self.forget_checkpoint(lost);
                None
            }
        };
        let before = std::mem::replace(&mut self.checkpoints.undo, undo);
        self.forget_checkpoint(before);
        self.forget_lost_futures();
        self.take_over(checkpoint, &restored)?;
        Ok(restored)
    }

    /// Brings the session's view in line with the restored process.
    fn take_over<S>(&mut self, checkpoint: &Checkpoint<S>, restored: &Restored) -> Result<()> {
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        let now = |then: Tid| restored.id_now(then);
        live.pid = live.process.pid();
        // The engine has set all that is wanted now; only where files are loaded
        // elsewhere do names have to be looked up again.
        let moved = self.images.refresh(&live.process) || restored.change.other_program;
        // The thread that was selected may have ended before the checkpoint, unnoticed.
        let looked = match live.that_or_other(now(checkpoint.tid)) {
            Some(tid) => live.look(tid, &self.images),
            None => Ok(()),
        };
        self.listing.reset();
        let mut gone = Vec::new();
        for point in &mut self.points.list {
            let lost = |id| live.process.traps().get(id).is_none();
            if restored.change.other_program {
                point.forget_traps();
            } else {
                point.forget_lost(lost);
            }
            let renamed = |tid| {
                let mut all = restored.change.renamed.iter();
                all.find(|(old, _)| *old == tid).map(|(_, new)| *new)
            };
            point.rename_threads(renamed);
            let unbound = |w: &super::points::Watch| w.frame.is_some() && w.traps.is_empty();
            if matches!(&point.kind, Kind::Watch(w) if unbound(w)) {
                gone.push(point.number);
            }
        }
        for number in gone {
            self.points.list.retain(|p| p.number != number);
            self.say(&format!(
                "\nWatchpoint {number} deleted because the program has left the block in\n\
                 which its expression is valid."
            ))?;
        }
        if restored.change.other_program {
            self.monitors_lose_traps();
        }
        // What fails of it must not keep the rest from being done.
        let armed = match moved {
            true => self.images_changed(),
            false => self.arm(),
        };
        let monitors = match &checkpoint.monitors {
            Some(then) => self.monitors_back(then, now).map_err(Failure),
            None => Ok(()),
        };
        let watches = self.refresh_watches();
        looked.and(armed).and(monitors).and(watches)
    }

    /// The values to compare with are those of now.
    fn refresh_watches(&mut self) -> Result<()> {
        for index in 0..self.points.list.len() {
            let Kind::Watch(watch) = &self.points.list[index].kind else {
                continue;
            };
            if watch.traps.is_empty() {
                continue;
            }
            let Some(tid) = self.live.as_ref().map(|l| l.tid) else {
                continue;
            };
            if let Some((value, ranges)) = self.look_at_watched(index, tid) {
                if let Kind::Watch(watch) = &mut self.points.list[index].kind {
                    watch.old = Some(value);
                }
                self.watch_ranges(index, ranges)?;
            }
        }
        Ok(())
    }

    pub(super) fn info_checkpoints(&mut self, _: &str) -> Result<()> {
        let lines = self.checkpoints.list.iter().map(|(number, checkpoint)| {
            let threads = match checkpoint.snapshot.thread_count() {
                1 => String::new(),
                n => format!(", {n} threads"),
            };
            let memory = cost(checkpoint);
            let event = match checkpoint.monitors.as_ref().map_or(0, Then::event) {
                0 => String::new(),
                n => format!(", after event {n}"),
            };
            format!("{number}  {}{event}{threads}{memory}", checkpoint.place)
        });
        let mut lines: Vec<String> = lines.collect();
        let timeline = &self.checkpoints.timeline;
        lines.extend(self.automatic.summary(self.automation.budget, timeline));
        let undo = self.checkpoints.undo.as_ref();
        lines.extend(undo.map(|undo| {
            let (place, memory) = (&undo.place, cost(undo));
            format!("{place}, before the last restart: restart undo{memory}")
        }));
        self.say_all(lines, "No checkpoints.")
    }

    /// The rest of `delete checkpoint [NUMBER]...`, if it is that.
    pub(super) fn of_checkpoints(args: &str) -> Option<&str> {
        let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        let fits = word.len() >= 2 && "checkpoints".starts_with(word);
        fits.then_some(rest.trim())
    }

    pub(super) fn delete_checkpoints(&mut self, args: &str) -> Result<()> {
        if args.is_empty() {
            return failure(
                "Which checkpoint?  delete checkpoint NUMBER, or delete checkpoint undo",
            );
        }
        let numbers = match self.numbers_of("checkpoint", args) {
            // As with `restart`.
            numbers if args == UNDO || (numbers.is_err() && UNDO.starts_with(args)) => {
                let Some(undo) = self.checkpoints.undo.take() else {
                    return failure(NOTHING_TO_UNDO);
                };
                self.forget_checkpoint(Some(undo));
                Vec::new()
            }
            numbers => numbers?,
        };
        for number in numbers {
            self.checkpoints.get(number)?;
            let list = &mut self.checkpoints.list;
            let at = list.iter().position(|(n, _)| *n == number);
            let gone = at.map(|at| list.remove(at).1);
            self.forget_checkpoint(gone);
        }
        self.forget_lost_futures();
        if self.live.is_none() {
            if self.checkpoints.list.is_empty() && self.automatic.is_empty() {
                self.checkpoints.ended = None;
                let undo = self.checkpoints.undo.take();
                self.forget_checkpoint(undo);
            }
            self.program_left_files();
        }
        Ok(())
    }

    /// All checkpoints go; how many of the user's there were.
    pub(super) fn forget_checkpoints(&mut self) -> usize {
        let all = std::mem::take(&mut self.checkpoints);
        let count = all.list.len();
        let users = all.list.into_iter().map(|(_, c)| c);
        for gone in users.chain(all.undo).chain(self.automatic.take()) {
            self.forget_checkpoint(Some(gone));
        }
        count
    }

    /// A checkpoint goes, and what the monitors kept in it.
    pub(super) fn forget_checkpoint<S>(&mut self, checkpoint: Option<Checkpoint<S>>) {
        if let Some(then) = checkpoint.and_then(|c| c.monitors) {
            self.forget_then(then);
        }
    }
}

/// The memory that a checkpoint costs, to be said of it.
fn cost(checkpoint: &Checkpoint) -> String {
    match checkpoint.snapshot.memory_cost() {
        Ok(bytes) => format!(", {}", size(bytes)),
        Err(_) => ", lost".to_owned(),
    }
}

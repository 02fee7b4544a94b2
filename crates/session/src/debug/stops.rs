//! Waiting for the program, and what is said when it stops.

use super::Debugger;
use super::catches::catch_title;
use super::exceptions::Exception;
use super::failure::{NOT_RUN, Result, failure};
use super::hooks::Hooked;
use super::interrupts::is_typed;
use super::irv::{Asked, Outside};
use super::points::{Access, After, Kind, Point, Site};
use std::borrow::Cow;
use std::io::Write;
use verde_engine::{Cause, End, Error, FrameRef, Tid};
use verde_expr::{Data, Value, print_value};
use verde_symbols::{Encoding, Type};
use verde_sys::number;

/// Why the program is stopped.
pub(super) enum Reason {
    Ended(End),
    /// Lines to say before the frame.
    Point(Vec<String>),
    Step,
    /// A step that has ended in the middle of a line, which catches an exception.
    StepCaught,
    Signal(i32),
    Interrupted,
    /// A monitor or the scenario asked for it; lines to say.
    Monitor(Vec<String>),
}

const LEFT_BLOCK: &str = "the program has left the block in\nwhich its expression is valid.";

fn over_text(number: u32, why: &str) -> String {
    format!("\nWatchpoint {number} deleted because {why}")
}

/// The values of a watchpoint's expression around a hit.
struct Change {
    old: Option<Value>,
    new: Value,
}

impl Debugger {
    /// Waits until there is something to tell.
    pub(super) fn wait(&mut self) -> Result<Reason> {
        self.out_flush()?;
        self.attached.forget();
        self.board_runs();
        let reason = self.next_reason();
        self.leaves_as_it_likes();
        self.terminal.take();
        self.board_stops(reason.as_ref().ok());
        self.tell_losses()?;
        reason
    }

    fn next_reason(&mut self) -> Result<Reason> {
        loop {
            self.tend_board();
            self.let_leave()?;
            let Some(live) = &mut self.live else {
                return failure(NOT_RUN);
            };
            self.checkpoints.timeline.runs();
            let Some(stop) = live.process.wait()? else {
                self.tend_checkpoints();
                continue;
            };
            if let Some(end) = stop.ended() {
                if !self.monitors_see_end(end) {
                    return Ok(Reason::Ended(end));
                }
                if let Some(reason) = self.go_on_from_then()? {
                    return Ok(reason);
                }
                continue;
            }
            let mut reason = None;
            for cause in &stop.causes {
                if let Some(new) = self.judge(stop.tid, cause)? {
                    reason = Some(merge(reason, new));
                }
            }
            let asked = self.show_to_monitors(stop.tid, &stop.causes, reason.is_some());
            match &asked {
                Asked::Stop(lines) => {
                    if matches!(reason, Some(Reason::Signal(_) | Reason::Interrupted)) {
                        for line in lines {
                            self.say(line)?;
                        }
                    }
                    reason = Some(merge(reason, Reason::Monitor(lines.clone())));
                }
                // What stopped it has not happened yet.
                Asked::Restored => {
                    if let Some(reason) = self.go_on_from_then()? {
                        return Ok(reason);
                    }
                    continue;
                }
                Asked::Nothing | Asked::Settled => {}
            }
            if reason.is_none() {
                self.tell_signals(stop.tid, &stop.causes)?;
            }
            let stays =
                reason.is_none() && asked == Asked::Nothing && self.stays(stop.tid, &stop.causes);
            let Some(live) = &mut self.live else {
                return failure(NOT_RUN);
            };
            match reason {
                None if stays => {}
                // Threads were stopped for a block that looked at the program.
                None if asked == Asked::Settled => live.process.resume_all()?,
                None => live.process.resume(stop.tid)?,
                Some(reason) => {
                    if let Some(reason) = self.stop_for(stop.tid, reason)? {
                        return Ok(reason);
                    }
                }
            }
        }
    }

    /// Stops everything where one thread gave the reason. `None`: the program's end is the news.
    #[cold]
    pub(super) fn stop_for(&mut self, tid: Tid, reason: Reason) -> Result<Option<Reason>> {
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        match live.process.stop_all() {
            Ok(guard) => guard.keep(),
            // It ended meanwhile.
            Err(Error::Gone) => return Ok(None),
            Err(e) => return Err(e.into()),
        }
        for tid in live.process.threads() {
            live.process.cancel_step(tid)?;
        }
        let before = live.tid;
        live.hidden = None;
        // A signal may end the thread that was to stop: others can be looked at.
        let Some(tid) = live.that_or_other(tid) else {
            return Ok(None);
        };
        live.look(tid, &self.images)?;
        if let (Reason::Point(_), Some(spec)) = (&reason, self.points.location.take()) {
            self.stand_before_inlined(&spec);
        }
        self.listing.reset();
        self.say_switch(before)?;
        Ok(Some(reason))
    }

    /// Signals that are told of while the program goes on.
    fn tell_signals(&mut self, tid: Tid, causes: &[Cause]) -> Result<()> {
        for cause in causes {
            if let Cause::Signal { signal, .. } = *cause
                && self.signals.get(signal).print
            {
                let text = self.signal_text(tid, signal);
                self.say(&format!("\n{text}"))?;
                self.out_flush()?;
            }
        }
        Ok(())
    }

    fn signal_text(&self, tid: Tid, signal: i32) -> String {
        let who = self.stopper(tid).unwrap_or_else(|| "Program".to_owned());
        let name = verde_sys::signals::name(signal);
        format!("{who} received signal {name}, {}.", description(signal))
    }

    /// Whether a cause is one to stop for.
    fn judge(&mut self, tid: Tid, cause: &Cause) -> Result<Option<Reason>> {
        match *cause {
            Cause::Trap { id } | Cause::Watch { id, .. } | Cause::Syscall { id, .. } => {
                let mut lines = Vec::new();
                if self.choices_begin(id) {
                    self.locate_again();
                    self.arm()?;
                }
                for number in self.points.of_trap(id) {
                    let what = self.reaction_to(number);
                    if let Some(text) = self.hit(tid, number, cause)? {
                        lines.extend(self.react_to_point(tid, what, text));
                    }
                }
                Ok((!lines.is_empty()).then_some(Reason::Point(lines)))
            }
            _ => self.judge_other(tid, cause),
        }
    }

    /// Out of the way of the code that runs at every trap.
    #[inline(never)]
    fn judge_other(&mut self, tid: Tid, cause: &Cause) -> Result<Option<Reason>> {
        match *cause {
            Cause::WatchEnded { id, frame } => {
                let numbers = self.points.of_trap(id);
                let mut lines = Vec::new();
                for number in numbers {
                    let is_value = |p: &Point| match &p.kind {
                        Kind::Watch(watch) => watch.on == Access::Value,
                        Kind::Code { .. } | Kind::Catch(_) => false,
                    };
                    let is_value = self.points.get_mut(number).is_ok_and(|p| is_value(p));
                    self.points.list.retain(|p| p.number != number);
                    let why = match (frame, is_value) {
                        (Some(_), _) => LEFT_BLOCK,
                        (None, true) => "its thread has ended.",
                        (None, false) => "the program has unmapped its memory.",
                    };
                    lines.push(over_text(number, why));
                }
                Ok((!lines.is_empty()).then_some(Reason::Point(lines)))
            }
            Cause::StepDone => Ok(Some(Reason::Step)),
            Cause::StepCaught => Ok(Some(Reason::StepCaught)),
            Cause::Interrupted => Ok(Some(Reason::Interrupted)),
            Cause::Left => Ok(Some(Reason::Point(vec![
                "The thread has ended, and the others are not to run (set scheduler-locking off)."
                    .to_owned(),
            ]))),
            Cause::Signal { signal, .. } => {
                self.react_outside(Some(tid), &Outside::Signal(signal));
                let stop = self.signals.get(signal).stop;
                Ok(stop.then_some(Reason::Signal(signal)))
            }
            // The program would stay there, and the terminal with it.
            Cause::GroupStop(signal) if self.is_attended() => Ok(Some(Reason::Signal(signal))),
            Cause::Fork { .. } => Ok(points(self.forked(tid, cause)?)),
            Cause::Followed { maker } => {
                self.moved_to(tid, maker)?;
                Ok(None)
            }
            Cause::Loaded | Cause::Unloaded => Ok(points(self.libraries_changed(tid, cause)?)),
            Cause::Exec => {
                self.monitors_see_exec()?;
                for point in &mut self.points.list {
                    point.forget_traps();
                }
                self.displays.forget_variables();
                if let Some(live) = &self.live {
                    self.images.refresh(&live.process);
                }
                self.await_choices();
                self.images_changed()?;
                Ok(points(self.executed(tid)?))
            }
            _ => Ok(None),
        }
    }

    /// A breakpoint or watchpoint was hit: what to say if it is to stop.
    #[inline(never)]
    pub(super) fn hit(&mut self, tid: Tid, number: u32, cause: &Cause) -> Result<Option<String>> {
        let Some(index) = self.points.list.iter().position(|p| p.number == number) else {
            return Ok(None);
        };
        let mut change = None;
        if matches!(self.points.list[index].kind, Kind::Watch(_)) {
            change = self.watched_change(index, tid)?;
            let Some(change) = &change else {
                return Ok(None);
            };
            if matches!(change.new.data, Data::Missing(_)) && self.is_watch_over(index) {
                self.remove_point(number)?;
                return Ok(Some(over_text(number, LEFT_BLOCK)));
            }
        }
        let mut complaint = String::new();
        match self.is_for_exception(tid, index) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(e) => complaint = format!("Error in reading the exception's type:\n{e}\n"),
        }
        let condition = self.points.list[index].condition.as_ref();
        let node = self.points.list[index].test(cause);
        // With states of monitors in it, it is another expression each time.
        let current = match condition {
            Some(c) => self.with_states(&c.text, false),
            None => Ok(None),
        };
        if let Some(None) = node {
            complaint = format!("Error in testing condition for breakpoint {number}:\n");
        }
        if let Some(Some(node)) = node {
            let holds = match change {
                Some(_) => self.watch_condition_holds(tid, index, &node, current),
                None => self.condition_holds(tid, &node, current),
            };
            match holds {
                Ok(false) => return Ok(None),
                Ok(true) => {}
                Err(e) => {
                    complaint =
                        format!("Error in testing condition for breakpoint {number}:\n{e}\n");
                }
            }
        }
        if let Some(change) = &mut change
            && change.old.is_some()
        {
            // What a condition holds for is what is shown.
            let settled = self.settle_stores(index, tid)?;
            if let (Some(new), true) = (settled, self.points.list[index].condition.is_none()) {
                change.new = new;
            }
        }
        let point = &mut self.points.list[index];
        point.hits += 1;
        if point.ignore > 0 {
            point.ignore -= 1;
            return Ok(None);
        }
        if let Some(args) = point.prints.clone() {
            self.print_in(tid, &args)?;
            return Ok(None);
        }
        // Words come last: most hits of a condition end before.
        let changed = change.map_or_else(String::new, |c| self.change_text(index, &c));
        let caught = self.catch_text(&self.points.list[index], cause);
        let point = &mut self.points.list[index];
        let text = match &point.kind {
            Kind::Watch(_) => changed,
            Kind::Catch(_) => caught,
            Kind::Code { .. } if point.exception.is_some() => {
                let done = point.exception.as_ref().map_or("", Exception::done);
                format!("\n{} {number} (exception {done}), ", catch_title(point))
            }
            Kind::Code { sites, .. } => {
                let title = match point.after {
                    After::Delete => "Temporary breakpoint",
                    After::Keep | After::Disable => "Breakpoint",
                };
                let place = place_hit(sites, cause).map(|place| format!(".{place}"));
                format!("\n{title} {number}{}, ", place.unwrap_or_default())
            }
        };
        let location = match &point.kind {
            Kind::Code { spec, .. } => Some(spec.clone()),
            Kind::Watch(_) | Kind::Catch(_) => None,
        };
        self.attached.hit(point);
        let after = point.after;
        self.points.location = location;
        match after {
            After::Keep => {}
            After::Disable => {
                self.disarm(number)?;
                self.points.get_mut(number)?.enabled = false;
            }
            After::Delete => self.remove_point(number)?,
        }
        Ok(Some(format!("{complaint}{text}")))
    }

    /// What a watchpoint's hit changed. `None`: it was written with the value
    /// that it has.
    fn watched_change(&mut self, index: usize, tid: Tid) -> Result<Option<Change>> {
        let Some((old, new)) = self.watched_now(index, tid)? else {
            return Ok(None);
        };
        let Kind::Watch(watch) = &mut self.points.list[index].kind else {
            return Ok(None);
        };
        let same = old.as_ref().is_some_and(|o| o.data == new.data);
        let raced = watch.raced.iter().position(|t| *t == tid);
        if let Some(place) = raced {
            watch.raced.swap_remove(place);
        }
        Ok(match (watch.on, same) {
            // What it stored was seen with another thread's.
            (Access::Write, true) if raced.is_some() => Some(Change { old, new }),
            (Access::Write | Access::Value, true) => None,
            // Who reads it has not changed it.
            (Access::Read, _) | (Access::Both, true) => Some(Change { old: None, new }),
            (_, false) => Some(Change { old, new }),
        })
    }

    /// The change as the user reads it.
    fn change_text(&mut self, index: usize, change: &Change) -> String {
        let point = &self.points.list[index];
        let Kind::Watch(watch) = &point.kind else {
            return String::new();
        };
        let head = format!("\n{} {}: {}\n", watch.on.title(), point.number, watch.text);
        let options = self.settings.print.clone();
        let mut show = |v: &Value| {
            if matches!(v.data, Data::Missing(_)) {
                return "<unreadable>".to_owned();
            }
            let here = self.here();
            print_value(v, &here, &options).unwrap_or_else(|e| format!("<{e}>"))
        };
        let new = show(&change.new);
        match &change.old {
            None => format!("{head}\nValue = {new}"),
            Some(old) => format!("{head}\nOld value = {}\nNew value = {new}", show(old)),
        }
    }

    /// Says why and where the program stopped. `before`: the function a step
    /// began in, which needs no new line for its frame.
    pub(super) fn announce(&mut self, reason: Reason, before: Option<FrameRef>) -> Result<()> {
        if self.is_of_user(&reason) {
            self.interrupts.seen();
        }
        if let Reason::Ended(end) = reason {
            self.announce_end(end)?;
            return self.run_stop_hook().map(drop);
        }
        if self.run_stop_hook()? == Hooked::WentOn {
            return Ok(());
        }
        let tid = self.live.as_ref().map_or(Tid(0), |live| live.tid);
        match reason {
            Reason::Ended(_) => {}
            Reason::Point(_) if self.attached.is_silent() => return Ok(()),
            Reason::Point(lines) => {
                // "Breakpoint 1, " and the frame share a line, and of several at one place the
                // first is named.
                let who = self.stopper(tid).map(|who| format!("\n{who} hit "));
                let by = |line: &String| match (&who, line.strip_prefix('\n')) {
                    (Some(who), Some(what)) if !what.starts_with("Watchpoint") => {
                        format!("{who}{what}")
                    }
                    _ => line.clone(),
                };
                let (places, other): (Vec<_>, Vec<_>) =
                    lines.iter().map(by).partition(|line| line.ends_with(", "));
                for line in other {
                    self.say(&line)?;
                }
                if let Some(place) = places.first() {
                    write!(self.out, "{place}")?;
                }
            }
            Reason::Step | Reason::StepCaught => {
                let same = self
                    .live
                    .as_ref()
                    .is_some_and(|live| before.is_some() && live.frame_ref(0) == before);
                if same && self.current_line().is_some() {
                    let text = self.source_line(0)?;
                    self.say(&text)?;
                    return self.show_displays();
                }
            }
            Reason::Signal(signal) => {
                self.say("")?;
                if let Some(fault) = self.fault_text() {
                    self.say(&fault)?;
                }
                let text = self.signal_text(tid, signal);
                self.say(&text)?;
            }
            Reason::Monitor(lines) => {
                // A person sees the source; a script reads what the monitors say.
                match self.style.is_on() {
                    true => self.say_frame(0, false)?,
                    false => {
                        let frame = self.frame_text(0, false);
                        self.say(&frame)?;
                    }
                }
                self.show_displays()?;
                for line in lines {
                    let line = match line.strip_prefix("[verde] ") {
                        Some(text) => self.style.monitors(text),
                        None => self.style.strong(&line),
                    };
                    self.say(&line)?;
                }
                return Ok(());
            }
            Reason::Interrupted => {
                let text = self.signal_text(tid, verde_sys::number::SIGINT);
                self.say(&format!("\n{text}"))?;
            }
        }
        self.say_frame(0, false)?;
        self.show_displays()
    }

    /// Whether somebody stopped the program by ^C.
    fn is_of_user(&self, reason: &Reason) -> bool {
        let live = self.live.as_ref();
        match *reason {
            Reason::Interrupted => true,
            Reason::Signal(number::SIGINT) => live
                .and_then(|live| live.process.signal_info(live.tid).ok())
                .is_some_and(|info| is_typed(&info)),
            _ => false,
        }
    }

    fn announce_end(&mut self, end: End) -> Result<()> {
        let pid = self.live.as_ref().map_or(0, |l| l.process.pid().0);
        self.forget_process();
        let how = match end {
            End::Exited(code) => Some(("_exitcode", "_exitsignal", code)),
            End::Killed(signal) => Some(("_exitsignal", "_exitcode", signal)),
            End::Detached => None,
        };
        if let Some((name, other, number)) = how {
            let int = Type::base("int", Encoding::Signed, 4);
            self.memo.set(name, Value::integer(int, i128::from(number)));
            self.memo.unset(other);
        }
        self.say_files_wait()?;
        match end {
            End::Exited(0) => self.say(&format!("[Inferior 1 (process {pid}) exited normally]")),
            End::Exited(code) => self.say(&format!(
                "[Inferior 1 (process {pid}) exited with code 0{code:o}]"
            )),
            End::Killed(signal) => {
                let name = verde_sys::signals::name(signal);
                self.say(&format!(
                    "\nProgram terminated with signal {name}, {}.\nThe program no longer exists.",
                    description(signal)
                ))
            }
            End::Detached => self.say(&format!("[Inferior 1 (process {pid}) detached]")),
        }
    }

    pub(super) fn out_flush(&mut self) -> Result<()> {
        self.out.flush()?;
        Ok(())
    }
}

/// Which of several places a breakpoint was hit at, from 1.
fn place_hit(sites: &[Site], cause: &Cause) -> Option<usize> {
    let Cause::Trap { id } = cause else {
        return None;
    };
    let at = sites.iter().position(|site| site.trap == Some(*id))?;
    (sites.len() > 1).then_some(at + 1)
}

/// A stop with something to say, if there is anything.
fn points(lines: Vec<String>) -> Option<Reason> {
    (!lines.is_empty()).then_some(Reason::Point(lines))
}

/// Two causes at once are one stop.
fn merge(first: Option<Reason>, second: Reason) -> Reason {
    match (first, second) {
        (None, reason) => reason,
        (Some(Reason::Point(mut a)), Reason::Point(b)) => {
            a.extend(b);
            Reason::Point(a)
        }
        // What a monitor says comes with whatever else stops.
        (Some(Reason::Point(mut a)), Reason::Monitor(b)) => {
            a.splice(0..0, b);
            Reason::Point(a)
        }
        (Some(Reason::Step | Reason::StepCaught), other)
        | (Some(other), Reason::Step | Reason::StepCaught) => other,
        (Some(first), _) => first,
    }
}

/// A signal in words.
pub(super) fn description(signal: i32) -> Cow<'static, str> {
    let text = match verde_sys::signals::name(signal).as_str() {
        "SIGHUP" => "Hangup",
        "SIGINT" => "Interrupt",
        "SIGQUIT" => "Quit",
        "SIGILL" => "Illegal instruction",
        "SIGTRAP" => "Trace/breakpoint trap",
        "SIGABRT" => "Aborted",
        "SIGBUS" => "Bus error",
        "SIGFPE" => "Arithmetic exception",
        "SIGKILL" => "Killed",
        "SIGUSR1" => "User defined signal 1",
        "SIGSEGV" => "Segmentation fault",
        "SIGUSR2" => "User defined signal 2",
        "SIGPIPE" => "Broken pipe",
        "SIGALRM" => "Alarm clock",
        "SIGTERM" => "Terminated",
        "SIGCHLD" => "Child status changed",
        "SIGCONT" => "Continued",
        "SIGSTOP" => "Stopped (signal)",
        "SIGTSTP" => "Stopped (user)",
        "SIGTTIN" => "Stopped (tty input)",
        "SIGTTOU" => "Stopped (tty output)",
        "SIGXCPU" => "CPU time limit exceeded",
        "SIGXFSZ" => "File size limit exceeded",
        "SIGSYS" => "Bad system call",
        "SIGURG" => "Urgent I/O condition",
        "SIGIO" => "I/O possible",
        "SIGVTALRM" => "Virtual timer expired",
        "SIGPROF" => "Profiling timer expired",
        "SIGWINCH" => "Window size changed",
        "SIGPWR" => "Power fail/restart",
        _ if signal >= 32 => return format!("Real-time event {signal}").into(),
        _ => "Signal",
    };
    text.into()
}

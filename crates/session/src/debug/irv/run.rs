//! Running a program unattended, and the end of a run.

use super::super::Debugger;
use super::super::failure::{Result, failure};
use super::super::stops::Reason;
use super::alphabet::Source;
use super::{Irv, One};
use crate::report::{CutShort, FinalRow, ProgramEnd, Row};
use crate::rows::final_property;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use verde_engine::{End, Interrupter, SignalPolicy};
use verde_monitor::FinalVerdict;
use verde_sys::number::{SIGHUP, SIGINT, SIGTERM};

const UNFIT: &str = "the program was not run: an event does not fit it";

const UNREADABLE: &str = "is in functions whose parameters cannot be read";

const NEVER_FOUND: &str = "was never found in the program or a library";

/// So far apart a signal to a process group may reach two of its processes.
const TO_BOTH: Duration = Duration::from_millis(100);

/// How long and how far an unattended run may go.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    pub timeout: Option<Duration>,
    pub stop_on_violation: bool,
}

/// Ends a run from another thread.
#[derive(Default)]
pub struct Interruption {
    wanted: AtomicBool,
    program: Mutex<Option<Interrupter>>,
}

impl Interruption {
    /// The run is to end now.
    pub fn ask(&self) {
        self.wanted.store(true, Ordering::Release);
        if let Ok(program) = self.program.lock()
            && let Some(program) = &*program
        {
            program.interrupt();
        }
    }

    fn connect(&self, program: Interrupter) {
        if let Ok(mut place) = self.program.lock() {
            *place = Some(program);
        }
        if self.is_wanted() {
            self.ask();
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire)
    }

    /// Whether it is wanted, now or within this time.
    fn comes(&self, within: Duration) -> bool {
        let end = Instant::now() + within;
        while !self.is_wanted() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.is_wanted()
    }
}

/// How the program's run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    Killed(i32),
    /// It was not over: the time was up, or somebody did not want to wait.
    Cut,
}

/// What an unattended run showed.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    pub ending: Ending,
    pub violated: bool,
    pub interrupted: bool,
    pub timed_out: bool,
    /// Blocks raised, events could not be bound, and the like.
    pub errors: u64,
    /// What was not observed, so that a verdict is inconclusive, and why.
    pub unobserved: Vec<String>,
}

impl Debugger {
    /// Runs the program to its end under its monitors, or until somebody interrupts it.
    pub fn check(&mut self, limits: Limits, interruption: &Interruption) -> Result<RunOutcome> {
        if self.irv.as_ref().is_some_and(|irv| irv.unfit) {
            return failure(UNFIT);
        }
        self.signals = SignalPolicy::transparent();
        self.runs_once();
        self.launch()?;
        if let Some(live) = &self.live {
            interruption.connect(live.process.interrupter());
        }
        let timed_out = Arc::new(AtomicBool::new(false));
        let timer = self.start_timer(limits.timeout, &timed_out);
        let ending = self.run_unattended(limits, interruption, &timed_out);
        drop(timer);
        // What the program started is not left behind when it is cut short.
        if let (Ok(Ending::Cut), Some(live)) = (&ending, &self.live)
            && live.process.ended().is_none()
        {
            verde_sys::family::end_children(live.process.pid());
        }
        self.end_process()?;
        let ending = match ending? {
            // From a terminal the program gets the same signal, and may be faster.
            Ending::Killed(SIGHUP | SIGINT | SIGTERM) if interruption.comes(TO_BOTH) => Ending::Cut,
            ending => ending,
        };
        let timed_out = timed_out.load(Ordering::Relaxed) && ending == Ending::Cut;
        let interrupted = interruption.is_wanted() && ending == Ending::Cut;
        let mut outcome = RunOutcome {
            ending,
            violated: false,
            interrupted,
            timed_out,
            errors: 0,
            unobserved: Vec::new(),
        };
        let violated = self.irv.as_ref().is_some_and(|irv| irv.violated);
        let cut = (ending == Ending::Cut).then_some(if timed_out {
            CutShort::TimeLimit
        } else if interrupted {
            CutShort::Interrupted
        } else if limits.stop_on_violation && violated {
            CutShort::Violation
        } else {
            CutShort::Run
        });
        self.conclude(&mut outcome, cut);
        Ok(outcome)
    }

    fn run_unattended(
        &mut self,
        limits: Limits,
        interruption: &Interruption,
        timed_out: &AtomicBool,
    ) -> Result<Ending> {
        let is_over = || interruption.is_wanted() || timed_out.load(Ordering::Relaxed);
        // What is to be said before it runs comes first, as if it had stopped for it.
        let mut stopped = self.let_go()?;
        loop {
            let reason = match stopped.take() {
                Some(reason) => reason,
                None => self.wait()?,
            };
            match reason {
                Reason::Ended(End::Exited(status)) => return Ok(Ending::Exited(status)),
                Reason::Ended(End::Killed(signal)) => return Ok(Ending::Killed(signal)),
                Reason::Ended(End::Detached) => return Ok(Ending::Cut),
                Reason::Monitor(_) if self.is_refused() => return failure(UNFIT),
                Reason::Monitor(_) if limits.stop_on_violation => return Ok(Ending::Cut),
                Reason::Interrupted if is_over() => return Ok(Ending::Cut),
                Reason::Interrupted if self.is_stop_of_board() => {
                    self.attend(interruption);
                    if self.live.is_none() || interruption.is_wanted() {
                        return Ok(Ending::Cut);
                    }
                }
                _ if is_over() => return Ok(Ending::Cut),
                // Nobody is there to look: on it goes. Nothing waits behind a breakpoint
                // twice.
                _ => {}
            }
            stopped = self.let_go()?;
        }
    }

    fn is_refused(&self) -> bool {
        self.irv.as_ref().is_some_and(|irv| irv.refused)
    }

    /// A thread that interrupts the program when its time is up; it ends when the sender is
    /// dropped.
    fn start_timer(
        &self,
        limit: Option<Duration>,
        timed_out: &Arc<AtomicBool>,
    ) -> Option<mpsc::Sender<()>> {
        let limit = limit?;
        let interrupter = self.live.as_ref()?.process.interrupter();
        let (sender, receiver) = mpsc::channel::<()>();
        let flag = timed_out.clone();
        let watch = move || {
            if receiver.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                flag.store(true, Ordering::Relaxed);
                interrupter.interrupt();
            }
        };
        std::thread::Builder::new().spawn(watch).ok()?;
        Some(sender)
    }

    /// The run is over: leaks are reported, the verdicts are final.
    fn conclude(&mut self, outcome: &mut RunOutcome, cut: Option<CutShort>) {
        let mut irv = self.take_irv();
        outcome.violated = self.finish_monitors(&mut irv, outcome.ending, cut);
        let unobserved = &mut outcome.unobserved;
        for one in &irv.ones {
            let reasons = self.unobserved(&irv, one);
            let away = one
                .away()
                .filter(|_| one.outcome == Some(FinalVerdict::Inconclusive));
            let away = away.map(|why| format!("{}: {why} when the program ended", one.name));
            for reason in reasons.into_iter().chain(away) {
                if !unobserved.contains(&reason) {
                    unobserved.push(reason);
                }
            }
        }
        outcome.errors = irv.errors;
        self.put_irv(irv);
    }

    /// What of a property was not observed, if that makes its verdict worthless.
    fn unobserved(&self, irv: &Irv, one: &One) -> Vec<String> {
        let missed = irv.missed(one);
        let inlined = || irv.sources_of(one).any(|s| !s.found && self.is_inlined(s));
        if irv.is_unreadable(one) {
            return vec![format!("what {} watches {UNREADABLE}", one.name)];
        }
        match one.is_shipped && (!missed.is_empty() || inlined()) {
            // Its names are nobody's mistake.
            true => vec![format!("what {} watches {NEVER_FOUND}", one.name)],
            false => missed.iter().map(|s| self.why_unobserved(s)).collect(),
        }
    }

    fn why_unobserved(&self, source: &Source) -> String {
        let title = source.title();
        if source.is_blind {
            return format!("event {title} could not be watched");
        }
        match source.is_inlined || self.is_inlined(source) {
            true => format!("event {title} was inlined, and never found elsewhere"),
            false => format!("event {title} {NEVER_FOUND}"),
        }
    }

    /// The final verdicts, as rows or as lines at the prompt. Whether something is violated.
    fn finish_monitors(&mut self, irv: &mut Irv, ending: Ending, cut: Option<CutShort>) -> bool {
        let mut violated = false;
        let mut properties = Vec::new();
        self.report_put_off(irv);
        for index in 0..irv.ones.len() {
            let found_all = self.unobserved(irv, &irv.ones[index]).is_empty();
            let one = &mut irv.ones[index];
            let known = cut.is_none() && one.tally.failed == 0 && one.listens();
            let Some(monitor) = &mut one.monitor else {
                continue;
            };
            one.recorder.clear();
            let verdict = monitor.finish(known, &mut one.recorder);
            let leaks = std::mem::take(&mut one.recorder.violations);
            for leak in leaks {
                self.violated(irv, index, leak, None);
            }
            let one = &irv.ones[index];
            let verdict = match verdict {
                // What was reported stays so, also when the program was taken back before it.
                _ if one.reported.count() > 0 => FinalVerdict::False,
                // All that speaks against it is suppressed.
                FinalVerdict::False if one.tally.suppressed > 0 => match known && found_all {
                    true => FinalVerdict::True,
                    false => FinalVerdict::Inconclusive,
                },
                FinalVerdict::True if !found_all => FinalVerdict::Inconclusive,
                other => other,
            };
            violated |= verdict == FinalVerdict::False;
            irv.ones[index].outcome = Some(verdict);
            let one = &irv.ones[index];
            if let Some(monitor) = &one.monitor {
                let mut row = final_property(monitor, verdict, one.reported.count());
                row.suppressed = one.tally.suppressed;
                row.error.clone_from(&one.error);
                row.failures = one.tally.failed;
                row.away = one.away();
                properties.push(row);
            }
        }
        let program = match ending {
            Ending::Exited(status) => Some(ProgramEnd::Exit(status)),
            Ending::Killed(signal) => Some(ProgramEnd::Signal(verde_sys::signals::name(signal))),
            Ending::Cut => None,
        };
        let row = FinalRow {
            events: irv.relevant,
            cut,
            properties,
            program,
        };
        self.say_latched(irv);
        if matches!(irv.output, super::Output::Prompt) {
            for p in &row.properties {
                let text = super::methods::final_line(p);
                irv.output.remark(&mut self.out, &text);
            }
        }
        irv.output.row(Row::Final(row));
        irv.latch = super::Latch::default();
        violated
    }

    /// What the last event or command found, at the prompt.
    pub(super) fn say_latched(&mut self, irv: &mut Irv) {
        if matches!(irv.output, super::Output::Prompt) {
            for line in std::mem::take(&mut irv.latch.lines) {
                irv.output.remark(&mut self.out, &line);
            }
        }
    }

    /// The program ended: its last event, and what the monitors say about it all at the prompt,
    /// unless the scenario takes this end back: then it is none. `true`: it has brought the program
    /// back, stopped.
    pub(in super::super) fn monitors_see_end(&mut self, end: End) -> bool {
        let Some(mut irv) = self.irv.take() else {
            return false;
        };
        let tid = self
            .live
            .as_ref()
            .map_or(verde_engine::Tid(0), |l| l.process.pid());
        let (status, ending) = match end {
            End::Exited(status) => (i64::from(status), Ending::Exited(status)),
            End::Killed(signal) => (128 + i64::from(signal), Ending::Killed(signal)),
            End::Detached => (0, Ending::Cut),
        };
        self.process_over(&mut irv, tid, status);
        self.say_latched(&mut irv);
        irv.forget_traps();
        self.irv = Some(irv);
        self.react_outside(None, &super::react::Outside::Exit);
        let Some(irv) = &mut self.irv else {
            return false;
        };
        // Nothing is left that could be stopped or saved.
        let latch = irv.take_latch();
        irv.errors += u64::from(latch.raised);
        if let Some(number) = latch.restore {
            let done = self.revive_for(number);
            let is_back = done.is_ok();
            self.tell_of_checkpoint(done);
            if is_back {
                return true;
            }
        }
        if let Some(mut irv) = self.irv.take() {
            if matches!(irv.output, super::Output::Prompt) && !irv.is_empty() {
                let cut = (ending == Ending::Cut).then_some(CutShort::Run);
                self.finish_monitors(&mut irv, ending, cut);
            }
            self.irv = Some(irv);
        }
        false
    }
}

//! The end of a program whose threads are about to finish what they do.
//!
//! A thread that has told others that it is done still releases what it has; a program that ends
//! meanwhile leaves that behind, now and then, and more often when every release is an event. So
//! where something would be reported at the end, the thread that ends the program waits for those
//! that run: the program could have been that slow itself. Who waits for something is not waited for.

use super::super::Debugger;
use super::super::failure::Result;
use super::super::live::Live;
use super::Irv;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use verde_engine::{Addr, Cause, Interrupter, On, Owner, Tid, Trap, TrapId};
use verde_sys::procfs;

/// What every end of a program by its own will calls last.
const LAST: &str = "_exit";
/// A thread that has run for so long since does not end soon.
const MOST_WORK: Duration = Duration::from_millis(20);
/// And nobody waits longer than this.
const LONGEST: Duration = Duration::from_secs(2);
/// How often the others are looked at when nothing happens.
const LOOK: Duration = Duration::from_millis(1);

/// A thread that is about to end the program.
pub(super) struct Leaving {
    tid: Tid,
    since: Instant,
    /// How long the others had run before.
    others: Vec<(Tid, Option<Duration>)>,
    /// The looks end when this is dropped.
    _looks: mpsc::Sender<()>,
}

impl Debugger {
    /// Sets the trap that tells of the end, where the C library is.
    pub(super) fn await_leaving(&mut self, irv: &mut Irv) {
        if irv.last.is_some() || irv.is_empty() || self.live.is_none() {
            return;
        }
        let is_meant = |m: &verde_symbols::Module| !self.images.is_loader(m);
        let found = self.functions_in(LAST, is_meant).unwrap_or_default();
        let at = found.first().and_then(|(module, function)| {
            let bias = self.images.bias(module)?;
            Some(Addr(function.entry.at(bias)))
        });
        if let (Some(at), Some(live)) = (at, &mut self.live) {
            let trap = Trap::new(On::Exec(at), Owner::Monitor);
            irv.last = live.process.insert(trap).ok();
        }
    }

    /// Whether a thread that has stopped for nothing else is not to go on yet.
    pub(in super::super) fn stays(&mut self, tid: Tid, causes: &[Cause]) -> bool {
        let (Some(irv), Some(live)) = (&mut self.irv, &self.live) else {
            return false;
        };
        let is_last = |id: TrapId| irv.last == Some(id);
        let leaves = causes
            .iter()
            .any(|c| matches!(c, Cause::Trap { id } if is_last(*id)));
        if !leaves || irv.leaving.is_some() || !irv.would_report() {
            return false;
        }
        let threads = live.process.threads().into_iter();
        let others: Vec<Tid> = threads.filter(|t| *t != tid).collect();
        if others.is_empty() {
            return false;
        }
        let pid = live.process.pid();
        let Some(looks) = look_again(live.process.interrupter()) else {
            return false;
        };
        irv.leaving = Some(Leaving {
            tid,
            since: Instant::now(),
            others: others
                .into_iter()
                .map(|t| (t, procfs::run_time(pid, t)))
                .collect(),
            _looks: looks,
        });
        true
    }

    /// Lets the thread go that ends the program, when the others have done what they had to.
    pub(in super::super) fn let_leave(&mut self) -> Result<()> {
        let (Some(irv), Some(live)) = (&mut self.irv, &mut self.live) else {
            return Ok(());
        };
        let Some(leaving) = irv.leaving.take_if(|l| l.is_over(live)) else {
            return Ok(());
        };
        match live.process.resume(leaving.tid) {
            // Its end is the next thing to be told.
            Err(verde_engine::Error::Gone) => Ok(()),
            done => Ok(done?),
        }
    }

    /// The program stops: whoever lets it go on lets all threads go.
    pub(in super::super) fn leaves_as_it_likes(&mut self) {
        if let Some(irv) = &mut self.irv {
            irv.leaving = None;
        }
    }
}

impl Leaving {
    fn is_over(&self, live: &Live) -> bool {
        let pid = live.process.pid();
        let is_done = |(tid, before): &(Tid, Option<Duration>)| {
            let stat = procfs::Stat::open(pid, *tid);
            match stat.ok().and_then(|s| s.state()) {
                // Running, or about to tell of an event.
                Some('R' | 't') => {
                    let worked = procfs::run_time(pid, *tid).zip(*before);
                    worked.is_none_or(|(now, before)| now.saturating_sub(before) > MOST_WORK)
                }
                _ => true,
            }
        };
        self.since.elapsed() > LONGEST || self.others.iter().all(is_done)
    }
}

impl Irv {
    /// Some slice would be a violation if the program ended now.
    fn would_report(&self) -> bool {
        let monitors = self.ones.iter().filter(|one| one.listens());
        let mut monitors = monitors.filter_map(|one| one.monitor.as_ref());
        monitors.any(|monitor| {
            let states = monitor.property().states.iter().enumerate();
            let mut bad = states.filter(|(_, s)| !s.accepting);
            bad.any(|(i, _)| {
                let state = verde_property::StateId(i as u16);
                monitor.slices().in_state(state) > 0
            })
        })
    }
}

/// A thread that wakes the session until the sender is dropped.
fn look_again(session: Interrupter) -> Option<mpsc::Sender<()>> {
    let (sender, receiver) = mpsc::channel::<()>();
    let look = move || {
        while receiver.recv_timeout(LOOK) == Err(mpsc::RecvTimeoutError::Timeout) {
            session.wake();
        }
    };
    std::thread::Builder::new().spawn(look).ok()?;
    Some(sender)
}

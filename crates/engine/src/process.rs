//! A process under the debugger.

use crate::born::Born;
use crate::calls::Causes;
use crate::fork::{Borrower, Follow};
use crate::lent::Lent;
use crate::modules::Modules;
use crate::pin::Pin;
use crate::scratch::Scratch;
use crate::sites::Sites;
use crate::slots::Slots;
use crate::thread::{EndOf, State, Thread};
use crate::watch::{Watches, wanted};
use crate::{
    Addr, Cause, End, Error, On, Owner, Regs, Result, SigInfo, SignalPolicy, Stop, Tid, Trap,
    TrapId, TrapSet, XState,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::os::fd::{OwnedFd, RawFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use verde_sys::affinity::CpuSet;
use verde_sys::doorbell::{Button, Doorbell};
use verde_sys::launch::{self, Launch, Launched};
use verde_sys::memory::Memory;
use verde_sys::namespace::Namespace;
use verde_sys::pidfd::PidFd;
use verde_sys::procfs::Stat;
use verde_sys::ptrace::{self, IfTracerDies};
use verde_sys::{WaitStatus, descriptors, number, procfs, signals, wait};

pub(crate) const RING_INTERRUPT: u32 = 1;
const RING_WAKE: u32 = 2;
pub(crate) const RING_TICK: u32 = 4;
pub(crate) const RING_GIVE_UP: u32 = 8;

/// How long children may take to tell of their birth after their maker's end.
const LAST_BIRTHS: Duration = Duration::from_millis(50);

/// Choices that hold for the life of a process; they may be changed at any
/// time.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What to do with the signals of the program.
    pub signals: SignalPolicy,
    /// Which side of a fork to stay with.
    pub follow: Follow,
    /// Report stops by job control whatever is done with their signals: the
    /// program has the terminal, and nobody else would notice.
    pub report_group_stops: bool,
    /// Report `Fork`, and hold the child until the thread that made it goes
    /// on: which side to stay with can be chosen at that stop.
    pub report_forks: bool,
    /// Do not report `Loaded` and `Unloaded`.
    pub quiet_libraries: bool,
    /// Keep all threads that hit on the engine's CPU, whether or not that is
    /// faster.
    pub hold_all: bool,
}

/// A process being debugged, with all its threads. Belongs to the thread that
/// created it (it is not `Send`), and that thread should have no other
/// children or tracees: waiting reaps them.
///
/// Dropping it kills a launched program and lets an attached one go.
pub struct Process {
    pub(crate) pid: Tid,
    pub(crate) memory: Memory,
    pub(crate) threads: FxHashMap<Tid, Thread>,
    /// How many threads it has had.
    pub(crate) created: usize,
    pub(crate) traps: TrapSet,
    pub(crate) sites: Sites,
    pub(crate) slots: Slots,
    /// Where each return trap has planted return addresses.
    pub(crate) return_sites: FxHashMap<TrapId, Vec<Addr>>,
    /// Number of the last call that was given one.
    pub(crate) calls: u64,
    /// longjmp and throw are observed (see `observe_exits`).
    pub(crate) exits_seen: bool,
    /// A thread has ended since the last look at who is left, and whether
    /// anybody wants to know.
    pub(crate) thread_is_gone: bool,
    tell_left: bool,
    /// Functions that jump back to their first instructions (see `note_loop`).
    pub(crate) loops: FxHashSet<Addr>,
    /// The CPU checks return addresses in this program.
    pub(crate) shadow_stack: bool,
    /// Traps that are not on addresses.
    pub(crate) syscall_traps: Vec<TrapId>,
    pub(crate) signal_traps: Vec<TrapId>,
    pub(crate) thread_traps: Vec<TrapId>,
    pub(crate) start_traps: Vec<TrapId>,
    pub(crate) instruction_traps: Vec<TrapId>,
    /// The thread that calls a function for the user.
    pub(crate) calling: Option<Tid>,
    pub(crate) watches: Watches,
    pub(crate) modules: Modules,
    /// Stops decided early, to be reported first.
    pub(crate) ready: VecDeque<Stop>,
    /// Threads that ended while the world was being stopped: frames watched
    /// in them have ended too.
    pub(crate) ended_threads: Vec<(Tid, EndOf)>,
    /// Threads with a stop to report, oldest first.
    pub(crate) queue: VecDeque<Tid>,
    /// First stops of tasks whose creation has not been reported yet.
    pub(crate) strangers: Vec<(Tid, WaitStatus)>,
    /// The process group that it ended in, if that is known.
    pub(crate) group: Option<Tid>,
    /// Children that share the memory until they exec.
    pub(crate) borrowers: FxHashMap<Tid, Borrower>,
    /// Children that are held until their makers go on, by these.
    pub(crate) born: FxHashMap<Tid, Born>,
    /// Threads that stopped by themselves while the world was being stopped.
    pub(crate) parked: Vec<Tid>,
    /// The world is being stopped: nothing is resumed on arrival.
    pub(crate) stopping: bool,
    /// Somebody asked for a stop, and no thread can stop at present.
    pub(crate) interrupt_later: bool,
    pub(crate) end: Option<End>,
    pub(crate) end_reported: bool,
    pub(crate) fate: IfTracerDies,
    /// It was forked by the process that was launched or attached to.
    pub(crate) followed: bool,
    /// A `syscall` instruction of the program, for remote calls.
    pub(crate) syscall_instruction: Option<Addr>,
    /// Where it lives, if it has a namespace of its own.
    pub(crate) namespace: Option<Rc<Namespace>>,
    /// Files that the launch has opened for it, by device and node.
    given: Vec<(u64, u64)>,
    /// Its children at some time: a restored one has others, or none.
    remembered: Vec<PidFd>,
    /// Memory in the program that is the debugger's.
    pub(crate) scratch: Option<Scratch>,
    /// Memory in the program for system calls.
    pub(crate) lent: Lent,
    /// Which program this is: another number after each launch and exec.
    pub(crate) program: u64,
    /// The threads that a successor replaces, with their first ids.
    pub(crate) former: FxHashMap<Tid, Tid>,
    pub(crate) pin: Pin,
    /// Choices.
    pub options: Options,
    pub(crate) doorbell: Doorbell,
    _not_send: PhantomData<*const ()>,
}

/// Lets any thread stop or wake the engine.
#[derive(Clone, Debug)]
pub struct Interrupter {
    button: Button,
}

impl Interrupter {
    /// Stops the program: the engine's wait reports `Interrupted`.
    pub fn interrupt(&self) {
        self.button.ring(RING_INTERRUPT);
    }

    /// Ends a call of the program's function that is under way, if any.
    pub fn give_up_call(&self) {
        self.button.ring(RING_GIVE_UP);
    }

    /// Makes the engine's wait return without stopping the program.
    pub fn wake(&self) {
        self.button.ring(RING_WAKE);
    }
}

impl Process {
    /// Starts a program. It has not executed an instruction yet.
    pub fn launch(launch: &Launch, options: Options) -> Result<Process> {
        let pin = Pin::new();
        let launch = Launch {
            program: launch.program.clone(),
            name: launch.name.clone(),
            args: launch.args.clone(),
            env: launch.env.clone(),
            cwd: launch.cwd.clone(),
            stdio: clone_stdio(launch)?,
            descriptors: clone_descriptors(launch)?,
            aslr: launch.aslr,
            own_group: launch.own_group,
            namespace: launch.namespace,
            overlays: launch.overlays.clone(),
            // The engine may be pinned; the program must not inherit that.
            affinity: launch.affinity.or(pin.original()),
        };
        let Launched { pid, namespace } = launch::launch(&launch)?;
        let mut process = Process::new(pid, IfTracerDies::Kill, options, pin)?;
        process.namespace = namespace.map(Rc::new);
        process.given = given(&launch);
        let mut leader = Thread::new(pid, State::Stopped);
        leader.in_kernel = true;
        process.threads.insert(pid, leader);
        process.settle(pid)?;
        process.new_program();
        Ok(process)
    }

    /// Attaches to a running process and stops all its threads.
    pub fn attach(pid: Tid, options: Options) -> Result<Process> {
        let mut process = Process::new(pid, IfTracerDies::Release, options, Pin::new())?;
        // Threads can be born while the list is read; those of a traced
        // thread are traced from birth, so the list ends.
        loop {
            let mut new = false;
            for tid in procfs::threads(pid)? {
                if process.threads.contains_key(&tid) {
                    continue;
                }
                match ptrace::seize(tid, IfTracerDies::Release) {
                    Ok(()) => {
                        new = true;
                        process
                            .threads
                            .insert(tid, Thread::new(tid, State::Running));
                    }
                    // Traced by us since its birth, or already gone.
                    Err(e) if tid != pid && matches!(e.errno, number::EPERM | number::ESRCH) => {}
                    Err(e) => return Err(e.into()),
                }
            }
            if !new {
                break;
            }
        }
        process.stop_threads(None)?;
        process.number_found();
        process.new_program();
        Ok(process)
    }

    /// Nobody knows in which order the threads that were there have been created: their ids may
    /// say, but the first thread is the first.
    fn number_found(&mut self) {
        let mut tids: Vec<Tid> = self.threads.keys().copied().collect();
        tids.sort_by_key(|tid| (*tid != self.pid, *tid));
        self.created = tids.len();
        for (tid, number) in tids.iter().zip(1..) {
            if let Some(thread) = self.threads.get_mut(tid) {
                thread.number = number;
            }
        }
    }

    fn new(pid: Tid, fate: IfTracerDies, options: Options, pin: Pin) -> Result<Process> {
        Ok(Process {
            pid,
            memory: Memory::open(pid)?,
            threads: FxHashMap::default(),
            created: 1,
            traps: TrapSet::new(),
            sites: Sites::default(),
            slots: Slots::default(),
            return_sites: FxHashMap::default(),
            calls: 0,
            exits_seen: false,
            loops: FxHashSet::default(),
            thread_is_gone: false,
            tell_left: false,
            shadow_stack: false,
            syscall_traps: Vec::new(),
            signal_traps: Vec::new(),
            thread_traps: Vec::new(),
            start_traps: Vec::new(),
            instruction_traps: Vec::new(),
            calling: None,
            watches: Watches::default(),
            modules: Modules::default(),
            ready: VecDeque::new(),
            ended_threads: Vec::new(),
            queue: VecDeque::new(),
            strangers: Vec::new(),
            group: None,
            borrowers: FxHashMap::default(),
            born: FxHashMap::default(),
            parked: Vec::new(),
            stopping: false,
            interrupt_later: false,
            end: None,
            end_reported: false,
            fate,
            followed: false,
            syscall_instruction: None,
            namespace: None,
            given: Vec::new(),
            remembered: Vec::new(),
            scratch: None,
            lent: Lent::default(),
            program: 0,
            former: FxHashMap::default(),
            pin,
            options,
            doorbell: Doorbell::new()?,
            _not_send: PhantomData,
        })
    }

    /// Finds out what the address space holds, after a launch, attach or exec.
    pub(crate) fn new_program(&mut self) {
        static LAST: AtomicU64 = AtomicU64::new(0);
        self.program = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let features = procfs::status_field(self.pid, self.pid, "x86_Thread_features");
        self.shadow_stack = features.is_some_and(|f| f.contains("shstk"));
        self.syscall_instruction = self.find_syscall_instruction();
        if let Err(error) = self.watch_loader() {
            // A static program, or one that died: no libraries to follow.
            tracing::debug!(%error, "dynamic loader not followed");
        }
    }

    /// Waits for the next thing to report. `None`: somebody called
    /// [`Interrupter::wake`]. After the end of the process was reported, the
    /// error is `Gone`.
    pub fn wait(&mut self) -> Result<Option<Stop>> {
        while !self.end_reported {
            match self.wait_for_news() {
                Err(error) if self.is_overtaken(&error) => {
                    tracing::debug!(%error, "overtaken by the end");
                }
                news => return news,
            }
        }
        Err(Error::Gone)
    }

    fn wait_for_news(&mut self) -> Result<Option<Stop>> {
        while let Some(tid) = self.parked.pop() {
            self.go(tid)?;
        }
        loop {
            self.end_frames()?;
            if let Some(stop) = self.ready.pop_front() {
                return Ok(Some(stop));
            }
            // Before what is queued: threads that contend for a guarded page
            // keep something there all the time.
            let rung = self.doorbell.take();
            if rung != 0
                && let Some(news) = self.answer(rung)?
            {
                return Ok(news);
            }
            if let Some(tid) = self.queue.pop_front() {
                match self.report(tid)? {
                    Some(stop) => return Ok(Some(stop)),
                    None => continue,
                }
            }
            if let Some(end) = self.end {
                self.end_reported = true;
                self.see_children_off();
                return Ok(Some(Stop::new(self.pid, Cause::Ended(end))));
            }
            if self.tell_left
                && std::mem::take(&mut self.thread_is_gone)
                && let Some(tid) = self.nobody_runs()
            {
                return Ok(Some(Stop::new(tid, Cause::Left)));
            }
            self.follow_cpu();
            match self.doorbell.guard(|| wait::any(true)) {
                None => {}
                Some(Ok(Some((tid, status)))) => self.arrived(tid, status)?,
                Some(Ok(None)) => {}
                Some(Err(e)) if e.errno == number::EINTR => {}
                Some(Err(e)) if e.errno == number::ECHILD => self.lost(),
                Some(Err(e)) => return Err(e.into()),
            }
        }
    }

    /// Whether only some threads are let go, and a wait is to end when they
    /// have ended ([`Cause::Left`]).
    pub fn tell_when_left(&mut self, tell: bool) {
        self.tell_left = tell;
        self.thread_is_gone = false;
    }

    /// All threads are kept stopped: the one that was to run has ended, and
    /// nobody will say anything any more. One of them.
    #[cold]
    fn nobody_runs(&self) -> Option<Tid> {
        // One that was killed has left its stop, and tells its end next.
        let is_in_stop = |tid| Stat::open(self.pid, tid).is_ok_and(|s| s.state() == Some('t'));
        let is_kept = |t: &Thread| t.state == State::Stopped && is_in_stop(t.tid);
        let all = self.strangers.is_empty() && self.threads.values().all(is_kept);
        self.threads.keys().next().copied().filter(|_| all)
    }

    /// Somebody rang for these reasons: what there is to tell of it, if anything.
    #[cold]
    fn answer(&mut self, rung: u32) -> Result<Option<Option<Stop>>> {
        if rung & RING_INTERRUPT != 0 {
            match self.interrupted() {
                // It ended at the same moment, or is about to, which is the news.
                Err(Error::Gone) if self.end.is_some() || self.is_ending() => {}
                // Nobody can be stopped before a child has its own memory.
                Err(Error::Gone) if self.threads.values().any(|t| t.vforking) => {
                    self.interrupt_later = true;
                }
                stop => return stop.map(|stop| Some(Some(stop))),
            }
        }
        if rung & RING_TICK != 0 {
            self.part_idle();
        }
        Ok((rung & RING_WAKE != 0).then_some(None))
    }

    /// Waits, letting `decide` handle each stop: `true` keeps the thread
    /// stopped and ends the wait, `false` lets it go on. This is the loop for
    /// events and conditions: other threads are not stopped.
    pub fn run(
        &mut self,
        mut decide: impl FnMut(&mut Process, &Stop) -> Result<bool>,
    ) -> Result<Option<Stop>> {
        loop {
            let Some(stop) = self.wait()? else {
                return Ok(None);
            };
            if decide(self, &stop)? || stop.ended().is_some() {
                return Ok(Some(stop));
            }
            self.resume(stop.tid)?;
        }
    }

    /// Watches of frames in threads that ended while the world was being stopped.
    pub(crate) fn end_frames(&mut self) -> Result<()> {
        for (tid, what) in std::mem::take(&mut self.ended_threads) {
            let mut causes = Causes::new();
            match self.frames_ended_with(tid, what, &mut causes) {
                Err(error) if error.is_gone() => {}
                other => other?,
            }
            if !causes.is_empty() {
                self.ready.push_back(Stop { tid, causes });
            }
        }
        Ok(())
    }

    /// The program was killed: children that it made at the last moment live on.
    #[cold]
    pub(crate) fn see_children_off(&mut self) {
        let deadline = Instant::now() + LAST_BIRTHS;
        loop {
            match wait::any(false) {
                Ok(Some((tid, status))) => {
                    if let Err(error) = self.arrived(tid, status) {
                        tracing::debug!(%tid, %error, "after the end");
                    }
                }
                // Somebody is left who says nothing: not yet, or not any more. They are born to
                // the program's group. Copies of it have left that, unless it was neither its own
                // nor ours: then this waits until the deadline.
                Ok(None)
                    if self.group.is_none_or(wait::is_anybody_in) && Instant::now() < deadline =>
                {
                    std::thread::sleep(Duration::from_millis(1));
                }
                _ => break,
            }
        }
        self.release_strangers();
    }

    /// Every tracee is gone without a word (somebody else reaped it).
    #[cold]
    fn lost(&mut self) {
        self.threads.clear();
        self.queue.clear();
        self.end.get_or_insert(End::Killed(number::SIGKILL));
    }

    /// No thread will stop again.
    pub(crate) fn is_ending(&self) -> bool {
        let mut states = self.threads.values().map(|t| t.state);
        !self.threads.is_empty() && states.all(|s| s == State::Exiting)
    }

    /// Stops one thread on request and reports it.
    #[cold]
    fn interrupted(&mut self) -> Result<Stop> {
        let tid = self.stop_one()?;
        Ok(Stop::new(tid, Cause::Interrupted))
    }

    /// A handle for other threads to interrupt or wake this one.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter {
            button: self.doorbell.button(),
        }
    }

    /// The process id.
    pub fn pid(&self) -> Tid {
        self.pid
    }

    /// Where the thread that owns this may run when it is not kept on one CPU.
    pub fn own_cpus(&self) -> Option<CpuSet> {
        self.pin.original()
    }

    /// The launch has opened this file for it, so that others may have it, too.
    pub fn was_given(&self, device: u64, node: u64) -> bool {
        self.given.contains(&(device, node))
    }

    /// These are its children now: they have what is its own even when they are that no more.
    pub fn remember_children(&mut self, children: &[Tid]) {
        // Their ids come again.
        self.remembered.retain(|child| !child.has_ended());
        for child in children {
            if !self.remembered.iter().any(|known| known.pid() == *child)
                && let Ok(child) = PidFd::open(*child)
            {
                self.remembered.push(child);
            }
        }
    }

    /// Those that it has or had and that have not ended.
    pub fn remembered_children(&self) -> impl Iterator<Item = Tid> {
        let there = self.remembered.iter().filter(|child| !child.has_ended());
        there.map(PidFd::pid)
    }

    /// It ran before the debugger came, and survives it.
    pub fn is_attached(&self) -> bool {
        self.fate == IfTracerDies::Release
    }

    /// How it ended, if it did.
    pub fn ended(&self) -> Option<End> {
        self.end
    }

    /// The threads that have not ended, by rising id.
    pub fn threads(&self) -> Vec<Tid> {
        let live = self.threads.values().filter(|t| t.state != State::Exiting);
        let mut tids: Vec<Tid> = live.map(|t| t.tid).collect();
        tids.sort();
        tids
    }

    /// The same with their numbers, by which they are sorted: the first thread of the process is
    /// number 1, and each that is created has the next one.
    pub fn numbered_threads(&self) -> Vec<(usize, Tid)> {
        let live = self.threads.values().filter(|t| t.state != State::Exiting);
        let mut all: Vec<(usize, Tid)> = live.map(|t| (t.number, t.tid)).collect();
        all.sort();
        all
    }

    /// The number of a thread that has not ended.
    pub fn thread_number(&self, tid: Tid) -> Option<usize> {
        self.threads.get(&tid).map(|t| t.number)
    }

    /// The thread with a number, if it has not ended.
    pub fn thread_by_number(&self, number: usize) -> Option<Tid> {
        let mut all = self.threads.values();
        all.find(|t| t.number == number).map(|t| t.tid)
    }

    /// How many threads there have been since the process began, or was attached to.
    pub fn threads_created(&self) -> usize {
        self.created
    }

    /// The thread is stopped and can be inspected.
    pub fn is_stopped(&self, tid: Tid) -> bool {
        self.threads
            .get(&tid)
            .is_some_and(|t| t.state == State::Stopped)
    }

    pub(crate) fn stopped(&self, tid: Tid) -> Result<&Thread> {
        let thread = self.threads.get(&tid).ok_or(Error::NoThread(tid))?;
        match thread.state {
            State::Stopped => Ok(thread),
            _ => Err(Error::Running(tid)),
        }
    }

    pub(crate) fn stopped_mut(&mut self, tid: Tid) -> Result<&mut Thread> {
        let thread = self.threads.get_mut(&tid).ok_or(Error::NoThread(tid))?;
        match thread.state {
            State::Stopped => Ok(thread),
            _ => Err(Error::Running(tid)),
        }
    }

    /// Registers of a stopped thread, as the program sees them: never inside
    /// of the engine's own code.
    pub fn regs(&self, tid: Tid) -> Result<&Regs> {
        self.stopped(tid).map(|t| &t.regs)
    }

    /// What the kernel says about the signal, or other event, that a thread is stopped for.
    pub fn signal_info(&self, tid: Tid) -> Result<SigInfo> {
        match self.stopped(tid)?.signal {
            Some(info) => Ok(info),
            None => Ok(ptrace::siginfo(tid)?),
        }
    }

    /// Changes registers of a stopped thread. Moving the pc gives up an
    /// interrupted system call; a trap at the new pc will be hit.
    pub fn set_regs(&mut self, tid: Tid, regs: &Regs) -> Result<()> {
        let thread = self.stopped_mut(tid)?;
        let mut regs = *regs;
        if regs.rip != thread.regs.rip {
            let to = regs.pc();
            regs.rip = thread.regs.rip;
            regs.jump(to);
            thread.passed = None;
        }
        thread.regs = regs;
        thread.regs_changed = true;
        Ok(())
    }

    /// Vector and floating point registers of a stopped thread.
    pub fn xstate(&self, tid: Tid) -> Result<XState> {
        self.stopped(tid)?;
        Ok(ptrace::xstate(tid)?)
    }

    /// Changes vector and floating point registers of a stopped thread.
    pub fn set_xstate(&mut self, tid: Tid, state: &XState) -> Result<()> {
        self.stopped(tid)?;
        Ok(ptrace::set_xstate(tid, state)?)
    }

    /// Sends a signal to the process or one thread of it.
    pub fn send_signal(&self, tid: Option<Tid>, signal: i32) -> Result<()> {
        if self.end.is_some() {
            return Err(Error::Gone);
        }
        match tid {
            Some(tid) => Ok(signals::send_to_thread(self.pid, tid, signal)?),
            None => Ok(signals::send(self.pid, signal)?),
        }
    }

    /// The traps that are set.
    pub fn traps(&self) -> &TrapSet {
        &self.traps
    }

    /// Sets a trap, or adds a reference to an equal one. Works while the
    /// program runs.
    pub fn insert(&mut self, trap: Trap) -> Result<TrapId> {
        if self.end.is_some() {
            return Err(Error::Gone);
        }
        let (id, new) = self.traps.insert(trap);
        let set = match new {
            true => self.set_up(id, trap),
            false => Ok(()),
        };
        if let Err(error) = self.or_gone(set) {
            self.traps.discard(id);
            if trap.on.function().is_some() {
                // It may have rested, with calls that are open.
                self.tear_down(id, trap)?;
            }
            return Err(error);
        }
        Ok(id)
    }

    /// Releases a reference to a trap; the last one takes it out. Works while
    /// the program runs.
    pub fn remove(&mut self, id: TrapId) -> Result<()> {
        if self.traps.get(id).is_none() {
            return Err(Error::NoTrap(id));
        }
        match self.traps.release(id) {
            Some(trap) => {
                let done = self.tear_down(id, trap);
                self.or_gone(done)
            }
            None => Ok(()),
        }
    }

    /// Makes the set of traps (without the engine's own) equal to `wanted`,
    /// whatever the references. Traps that cannot be set are returned with
    /// the reason; the others are set.
    pub fn apply(&mut self, wanted: &TrapSet) -> Vec<(Trap, Error)> {
        let mut failed = Vec::new();
        let obsolete: Vec<TrapId> = self
            .traps
            .iter()
            .filter(|(_, e)| !matches!(e.trap.owner, Owner::Loader | Owner::Step))
            .filter(|(_, e)| wanted.id_of(&e.trap).is_none())
            .map(|(id, _)| id)
            .collect();
        for id in obsolete {
            if let Some(trap) = self.traps.discard(id)
                && let Err(error) = self.tear_down(id, trap)
            {
                failed.push((trap, error));
            }
        }
        for (_, entry) in wanted.iter() {
            let id = self.traps.id_of(&entry.trap);
            if id.is_none_or(|id| self.traps.is_resting(id))
                && let Err(error) = self.insert(entry.trap)
            {
                failed.push((entry.trap, error));
            }
        }
        failed
    }

    fn set_up(&mut self, id: TrapId, trap: Trap) -> Result<()> {
        match trap.on {
            On::Exec(at) => self.need_site(at, |site| site.exec.push(id)),
            On::Return(at) | On::Call(at) | On::Enter(at) => {
                self.need_site(at, |site| site.entry.push(id))
            }
            On::Write { .. } | On::Read { .. } | On::Access { .. } => match wanted(trap.on) {
                Some(want) => self.set_up_watch(id, trap, &want),
                None => Ok(()),
            },
            On::Instruction => self.set_up_instructions(id, trap),
            On::Syscall(_) => {
                self.syscall_traps.push(id);
                // Threads that run now were resumed without syscall stops.
                drop(self.stop_all()?);
                Ok(())
            }
            On::Signal(_) => {
                self.signal_traps.push(id);
                Ok(())
            }
            On::Thread => {
                self.thread_traps.push(id);
                Ok(())
            }
            On::Start => {
                self.start_traps.push(id);
                Ok(())
            }
        }
    }

    pub(crate) fn tear_down(&mut self, id: TrapId, trap: Trap) -> Result<()> {
        match trap.on {
            On::Exec(at) => self.leave_site(at, |site| site.exec.retain(|i| *i != id)),
            On::Return(at) | On::Call(at) | On::Enter(at) => {
                for thread in self.threads.values_mut() {
                    thread.shadow.forget(id);
                }
                for ret in self.return_sites.remove(&id).unwrap_or_default() {
                    self.leave_site(ret, |site| site.returns.retain(|i| *i != id))?;
                }
                self.leave_site(at, |site| site.entry.retain(|i| *i != id))
            }
            On::Write { .. } | On::Read { .. } | On::Access { .. } => self.tear_down_watch(id),
            On::Instruction => self.tear_down_instructions(id),
            On::Syscall(_) => {
                self.syscall_traps.retain(|i| *i != id);
                Ok(())
            }
            On::Signal(_) => {
                self.signal_traps.retain(|i| *i != id);
                Ok(())
            }
            On::Thread => {
                self.thread_traps.retain(|i| *i != id);
                Ok(())
            }
            On::Start => {
                self.start_traps.retain(|i| *i != id);
                Ok(())
            }
        }
    }
}

fn clone_fd(fd: &OwnedFd) -> Result<OwnedFd> {
    let copy = fd.try_clone();
    Ok(copy.map_err(|e| verde_sys::SysError::from_io("dup", &e))?)
}

fn clone_stdio(launch: &Launch) -> Result<[Option<OwnedFd>; 3]> {
    let mut stdio = [None, None, None];
    for (copy, fd) in stdio.iter_mut().zip(&launch.stdio) {
        *copy = fd.as_ref().map(clone_fd).transpose()?;
    }
    Ok(stdio)
}

fn clone_descriptors(launch: &Launch) -> Result<Option<Vec<(RawFd, OwnedFd)>>> {
    let Some(wanted) = &launch.descriptors else {
        return Ok(None);
    };
    let copy = |(number, fd): &(RawFd, OwnedFd)| Ok((*number, clone_fd(fd)?));
    wanted.iter().map(copy).collect::<Result<_>>().map(Some)
}

fn given(launch: &Launch) -> Vec<(u64, u64)> {
    let numbered = launch.descriptors.iter().flatten().map(|(_, fd)| fd);
    let files = launch.stdio.iter().flatten().chain(numbered);
    files.filter_map(descriptors::identity).collect()
}

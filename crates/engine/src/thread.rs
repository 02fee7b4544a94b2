//! One thread of the program, as the engine sees it.

use crate::detour::Detour;
use crate::exchange::Exchange;
use crate::page_windows::Window;
use crate::pin::Held;
use crate::restart::Limited;
use crate::shadow::ShadowStack;
use crate::step::StepPlan;
use crate::transfer::Transfer;
use crate::{Addr, Tid, TrapId};
use smallvec::SmallVec;
use verde_sys::procfs::Stat;
use verde_sys::wait::SyscallStop;
use verde_sys::{Regs, SigInfo, debug_registers};

/// Where the kernel has the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Running, or a stop of it has not been seen yet.
    Running,
    /// In a ptrace stop.
    Stopped,
    /// In a job control stop, waiting for SIGCONT.
    Listening,
    /// Past its exit event; it will not stop again.
    Exiting,
}

/// What is over when a thread ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOf {
    Thread,
    /// The program, or the one that it was before an exec: somebody has ended all threads.
    Program,
}

/// What a stop was about, before it is decided whether anybody cares.
#[derive(Clone, Copy, Debug)]
pub enum Happening {
    /// An int3 at this address; the pc is back on it.
    Int3(Addr),
    /// A perf watchpoint: its slot then, and what it watched.
    Perf(usize, Addr),
    /// A single step is done, and set off these hardware slots.
    Step(u8),
    /// A single step has led to the first instruction of a signal's handler.
    Handler,
    /// Debug registers fired: what their slots, as bits, watched then.
    Hardware(u8, [Addr; debug_registers::COUNT]),
    /// It has not run an instruction yet.
    Start,
    /// A signal is about to be delivered.
    Signal(SigInfo),
    /// At a system call.
    Syscall(SyscallStop),
    /// Such a call, of which nobody has been told, was taken back: it comes again.
    TakenBack,
    /// It goes on with a signal that ends its system call.
    CallCut,
    /// Stopped by job control.
    GroupStop(i32),
    /// It created a thread.
    Clone(Tid),
    /// It created a process.
    Fork(Tid, crate::ForkKind),
    /// It is the child that this thread of another process has made, and is
    /// followed.
    Followed(Tid),
    /// Its program was replaced.
    Exec,
    /// It is about to end.
    Exit(i32),
}

/// A system call that came back because of a signal.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    pub number: u64,
    /// What it returns if that was its end.
    pub value: i64,
}

/// A thread.
#[derive(Debug)]
pub struct Thread {
    pub tid: Tid,
    /// The id its first predecessor had; the same but after restores.
    pub origin: Tid,
    /// Which thread of the process it was to be created, from 1; 0 while that has not been told.
    pub number: usize,
    pub state: State,
    /// Registers of the present stop, with the pc where the program thinks
    /// it is.
    pub regs: Regs,
    /// Only the pc differs from what the kernel has.
    pub pc_changed: bool,
    /// Other registers differ.
    pub regs_changed: bool,
    /// A stop not reported yet.
    pub happening: Option<Happening>,
    /// The trap here has been reported: go past it, not into it.
    pub passed: Option<Addr>,
    /// The instruction here was to be run in its place, and has not been seen to.
    pub in_place: Option<Addr>,
    /// Traps that will be run into once more when a signal handler returns.
    pub replays: SmallVec<[(Addr, u64); 2]>,
    /// Signal to deliver at the next resume.
    pub signal: Option<SigInfo>,
    /// A signal that the program blocks, and that stood for a trap or fault of
    /// ours: it waits on when the thread goes on.
    pub behind: Option<SigInfo>,
    /// Such a SIGSEGV, until its fault has come by itself.
    pub before_fault: Option<SigInfo>,
    /// The signals it blocks, while that is known (see `forced`).
    pub mask: Option<u64>,
    /// A signal to be sent at the next resume, and those that were, as bits:
    /// they are delivered without a report (see `given`).
    pub queued: Option<i32>,
    pub given: u64,
    /// The kernel's copy of that signal is lost (a remote call ran).
    pub disturbed: bool,
    /// Its stop is inside a system call: registers will change on the way out.
    pub in_kernel: bool,
    /// Its beginning has not been seen.
    pub is_newborn: bool,
    /// Its present stop is its beginning.
    pub is_starting: bool,
    /// At its exit event: the next resume is the last.
    pub exiting: bool,
    /// Its end is that of the process: a signal ends all threads.
    pub killed: bool,
    /// Waiting for a vfork child; does not answer interrupts.
    pub vforking: bool,
    /// Within a system call, by its number (only while calls are traced).
    pub syscall: Option<u64>,
    /// Stopped at a system call's entry.
    pub at_entry: bool,
    /// Let into a system call so that it stops again before any code of its own.
    pub in_call: bool,
    /// The system call it is about to enter has been reported.
    pub entry_told: bool,
    /// A system call that a signal has cut short: whether it has ended is decided with the
    /// signal, and nobody has been told.
    pub cut: Option<Cut>,
    /// The call that the kernel goes on with by `restart_syscall`.
    pub goes_on: Option<u64>,
    /// A call that it makes again: where, and which.
    pub made_again: Option<(u64, u64)>,
    /// A wait with a limit that it makes again.
    pub limited: Option<Limited>,
    /// A call of which some is done.
    pub transfer: Option<Transfer>,
    /// A call that it has come back from in its present stop may have ended because of it.
    pub may_be_cut: bool,
    /// Job control has it stopped.
    pub group_stop: bool,
    /// The last resume was for one instruction.
    pub stepping: bool,
    /// The kernel still owes the trap of such a resume.
    pub step_queued: bool,
    /// Hardware slots, as bits, that this instruction touches.
    pub touches: u8,
    /// An interrupt was sent and not yet answered.
    pub interrupted: bool,
    /// What a step command still has to do.
    pub plan: Option<Box<StepPlan>>,
    /// Open calls of functions with return traps.
    pub shadow: ShadowStack,
    /// Protected pages open for its system call.
    pub window: Option<Window>,
    /// Its system call has other memory than it was given.
    pub detour: Option<Detour>,
    /// No memory could be lent to the call it is about to make.
    pub stays: bool,
    /// It has the debug registers that all have.
    pub armed: bool,
    /// To follow it from CPU to CPU.
    pub stat: Option<Stat>,
    /// Held on the engine's CPU (see `pin`).
    pub held: Option<Held>,
    /// Had a hit while several are held, since that was last asked.
    pub hit_lately: bool,
    /// The watches that were told of its last access to memory, and where it
    /// is if slots have still to say that they were set off by that.
    pub told: SmallVec<[TrapId; 2]>,
    pub more_at: Option<u64>,
    /// What that access has loaded and stored, if it did both.
    pub exchange: Option<Exchange>,
    /// The same of a hit that is still to be told, and where the thread stands with it.
    pub foretold: Option<(Addr, Exchange)>,
    /// Its present stop is a hit of a trap or watchpoint, in its own code.
    pub trapped: bool,
}

impl Thread {
    /// What its present hit has loaded and stored is known, though it was not told yet.
    pub fn is_foretold(&self) -> bool {
        self.foretold.is_some_and(|(pc, _)| pc == self.regs.pc())
    }

    pub fn new(tid: Tid, state: State) -> Thread {
        Thread {
            tid,
            origin: tid,
            number: 1,
            state,
            regs: Regs::default(),
            pc_changed: false,
            regs_changed: false,
            happening: None,
            passed: None,
            in_place: None,
            replays: SmallVec::new(),
            signal: None,
            behind: None,
            before_fault: None,
            mask: None,
            queued: None,
            given: 0,
            disturbed: false,
            in_kernel: false,
            is_newborn: false,
            is_starting: false,
            exiting: false,
            killed: false,
            vforking: false,
            syscall: None,
            at_entry: false,
            in_call: false,
            entry_told: false,
            cut: None,
            goes_on: None,
            made_again: None,
            limited: None,
            transfer: None,
            may_be_cut: false,
            group_stop: false,
            stepping: false,
            step_queued: false,
            touches: 0,
            interrupted: false,
            plan: None,
            shadow: ShadowStack::default(),
            window: None,
            detour: None,
            stays: false,
            armed: false,
            stat: None,
            held: None,
            hit_lately: false,
            told: SmallVec::new(),
            more_at: None,
            exchange: None,
            foretold: None,
            trapped: false,
        }
    }

    /// One that was just created.
    pub fn newborn(tid: Tid) -> Thread {
        Thread {
            is_newborn: true,
            number: 0,
            ..Thread::new(tid, State::Running)
        }
    }

    /// Puts the pc elsewhere.
    pub fn set_pc(&mut self, pc: Addr) {
        self.regs.rip = pc.0;
        self.pc_changed = true;
    }

    /// It cannot touch a page before it stops again, nor can the kernel on its behalf.
    pub fn is_away(&self) -> bool {
        self.in_call && self.window.as_ref().is_none_or(|w| !w.is_open())
    }

    /// Stopped, with nothing left to report.
    pub fn idle(&self) -> bool {
        self.state == State::Stopped && self.happening.is_none()
    }
}

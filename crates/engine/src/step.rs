//! Stepping: by instruction, by line, over calls, out of functions.
//!
//! A step is a plan kept with its thread. Single steps and temporary traps of
//! owner `Step` drive it; other traps on the way are reported as usual, and
//! the plan goes on when the thread is resumed, or is given up with
//! `cancel_step`.

use crate::calls::Causes;
use crate::guide::{Guide, LinePart, frame};
use crate::sites::Exit;
use crate::thread::Happening;
use crate::{Addr, Cause, Error, FrameRef, On, Owner, Process, Result, Tid, Trap, TrapId, restart};
use iced_x86::{FlowControl, Mnemonic};
use std::ops::Range;
use std::rc::Rc;

const LONGEST_INSTRUCTION: u64 = 15;

/// `mov $SYS_rt_sigreturn, %rax; syscall`: handlers return to this, in every program.
const SIGNAL_RETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
const BEFORE_ITS_CALL: u64 = 7;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// One instruction.
    Instruction,
    /// One instruction, calls as one.
    InstructionOver,
    /// To another line, also in a called function.
    Into,
    /// To another line of this function or its caller.
    Over,
    /// Until the function returns.
    Out,
    /// Until this frame returns.
    OutOf(FrameRef),
    /// Until this address is reached, or a frame returns: the function's if none is given.
    Until(Addr, Option<FrameRef>),
}

/// What is left of a step.
pub struct StepPlan {
    kind: StepKind,
    guide: Rc<dyn Guide>,
    /// The line being left.
    ranges: Vec<Range<Addr>>,
    /// Code on the way that counts as that line's.
    stray: Option<Range<Addr>>,
    /// The function the step began in.
    frame: Option<FrameRef>,
    phase: Phase,
    /// The next single step enters a function.
    call_next: bool,
    /// On the way through a stub to the function that it stands for: the stack
    /// pointer with which that is entered.
    stub: Option<u64>,
    /// The signal that the thread is to get, if its handler is entered.
    enters_handler: Option<i32>,
    /// It has ended in the middle of a line that catches an exception.
    caught: bool,
}

#[derive(Debug)]
enum Phase {
    /// One instruction after the other.
    Stepping,
    /// Running until one of these traps.
    Running { traps: Vec<TrapId>, then: Then },
    /// One instruction after the other through a longjmp, until the stack
    /// pointer is above `from` and the jump is done.
    Jumping {
        from: u64,
        /// The instruction before.
        last: u64,
        traps: Vec<TrapId>,
        then: Then,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Stop,
    Look,
    /// In a handler of an exception, which is somewhere in the middle of its line: nobody has seen
    /// the line's beginning.
    LookInHandler,
    /// The instruction that was to be stepped has not run yet.
    Prepare,
}

impl std::fmt::Debug for StepPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StepPlan")
            .field("kind", &self.kind)
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}

impl StepPlan {
    fn is_in_line(&self, pc: Addr) -> bool {
        let mut code = self.ranges.iter().chain(&self.stray);
        code.any(|r| r.contains(&pc))
    }

    /// The thread must be resumed for one instruction.
    pub(crate) fn single_steps(&self) -> bool {
        matches!(self.phase, Phase::Stepping | Phase::Jumping { .. })
    }
}

impl Process {
    /// Begins a step of a stopped thread and lets the thread go. `wait`
    /// reports `StepDone`. The handler of a signal that the thread has before
    /// it is entered, and is the end of the step.
    pub fn step(&mut self, tid: Tid, kind: StepKind, guide: Rc<dyn Guide>) -> Result<()> {
        self.cancel_step(tid)?;
        let regs = *self.regs(tid)?;
        let frame = frame(&*guide, &regs, &|at| self.read_code_word(at));
        let line = guide.line(regs.pc());
        let plan = StepPlan {
            kind,
            guide,
            ranges: line.map(|l| l.ranges).unwrap_or_default(),
            stray: None,
            caught: false,
            frame,
            phase: Phase::Stepping,
            call_next: false,
            stub: None,
            enters_handler: self.enters_handler(tid)?,
        };
        let enters_handler = plan.enters_handler;
        self.stopped_mut(tid)?.plan = Some(Box::new(plan));
        let begun = match kind {
            StepKind::OutOf(frame) => self.run_to(tid, &[self.return_trap(tid, frame)], Then::Stop),
            StepKind::Out => match frame {
                Some(frame) => self.run_to(tid, &[self.return_trap(tid, frame)], Then::Stop),
                None => Err(Error::NoCode(regs.pc())),
            },
            StepKind::Until(at, outer) => match outer.or(frame) {
                Some(frame) => {
                    let there = Trap::new(On::Exec(at), Owner::Step).in_thread(tid);
                    let targets = [self.return_trap(tid, frame), there];
                    self.run_to(tid, &targets, Then::Stop)
                }
                None => Err(Error::NoCode(regs.pc())),
            },
            // The kernel stops a step at the handler's first instruction.
            _ if enters_handler.is_some() => Ok(()),
            _ => self.prepare_step(tid),
        };
        if let Err(error) = begun {
            self.cancel_step(tid)?;
            return Err(error);
        }
        self.go(tid)
    }

    /// The signal with which the thread goes on, if the program handles it at once.
    pub(crate) fn enters_handler(&self, tid: Tid) -> Result<Option<i32>> {
        let thread = self.stopped(tid)?;
        let signal = thread.signal.map(|info| info.signal()).or(thread.queued);
        Ok(signal.filter(|signal| restart::enters_handler(self.pid, tid, *signal)))
    }

    /// Gives up a step that has not ended.
    pub fn cancel_step(&mut self, tid: Tid) -> Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        if let Some(plan) = thread.plan.take()
            && let Phase::Running { traps, .. } | Phase::Jumping { traps, .. } = plan.phase
        {
            for id in traps {
                self.remove(id)?;
            }
        }
        Ok(())
    }

    fn return_trap(&self, tid: Tid, frame: FrameRef) -> Trap {
        Trap::new(On::Exec(frame.return_to), Owner::Step)
            .in_thread(tid)
            .in_frame(frame)
    }

    fn run_to(&mut self, tid: Tid, targets: &[Trap], then: Then) -> Result<()> {
        let mut traps = Vec::new();
        for target in targets {
            match self.insert(*target) {
                Ok(id) => traps.push(id),
                Err(error) => {
                    for id in traps {
                        self.remove(id)?;
                    }
                    return Err(error);
                }
            }
        }
        if let Some(plan) = self.plan_mut(tid) {
            plan.phase = Phase::Running { traps, then };
        }
        Ok(())
    }

    fn plan_mut(&mut self, tid: Tid) -> Option<&mut StepPlan> {
        self.threads.get_mut(&tid)?.plan.as_deref_mut()
    }

    /// Looks at the next instruction before it is stepped: calls that are to
    /// be stepped over run freely to their return, and so does the handler of
    /// a signal that came meanwhile.
    fn prepare_step(&mut self, tid: Tid) -> Result<()> {
        let Some(thread) = self.threads.get(&tid) else {
            return Ok(());
        };
        let regs = thread.regs;
        if thread.signal.is_some() {
            let here = FrameRef {
                cfa: regs.sp(),
                return_to: regs.pc(),
            };
            return self.run_to(tid, &[self.return_trap(tid, here)], Then::Prepare);
        }
        let call = self.instruction_at(regs.pc()).filter(|i| {
            matches!(
                i.flow_control(),
                FlowControl::Call | FlowControl::IndirectCall
            )
        });
        let goes_over = |plan: &mut StepPlan| {
            // Those on the way through a stub are the loader's.
            plan.stub.is_some() || matches!(plan.kind, StepKind::Over | StepKind::InstructionOver)
        };
        let over = self.plan_mut(tid).is_some_and(goes_over);
        if let (Some(call), true) = (call, over)
            && !(call.mnemonic() == Mnemonic::Syscall && self.is_signal_return(regs.pc()))
        {
            let back = FrameRef {
                cfa: regs.sp(),
                return_to: Addr(call.next_ip()),
            };
            let mut ends = vec![self.return_trap(tid, back)];
            // A stub may call what leads to the function, too, and comes back from neither.
            if let Some(sp) = self.plan_mut(tid).and_then(|plan| plan.stub) {
                let around = FrameRef {
                    cfa: Addr(sp.wrapping_add(8)),
                    return_to: Addr(self.read_u64(Addr(sp))?),
                };
                ends.push(self.return_trap(tid, around));
            }
            return self.run_to(tid, &ends, Then::Look);
        }
        if let Some(plan) = self.plan_mut(tid) {
            plan.phase = Phase::Stepping;
            // System calls are calls, too, and enter nothing.
            plan.call_next = call.is_some_and(|c| c.mnemonic() == Mnemonic::Call);
        }
        Ok(())
    }

    /// Brings the plan of a thread forward after something happened to it.
    pub(crate) fn advance_plan(
        &mut self,
        tid: Tid,
        happening: &Happening,
        causes: &mut Causes,
    ) -> Result<()> {
        if let Happening::Int3(at) = happening {
            self.follow_exit(tid, *at)?;
        }
        let regs = self.threads.get(&tid).map(|t| t.regs);
        let Some(plan) = self.plan_mut(tid) else {
            return Ok(());
        };
        let done = match (&mut plan.phase, happening) {
            (
                Phase::Jumping {
                    from,
                    last,
                    traps,
                    then,
                },
                Happening::Step(_) | Happening::Handler,
            ) => {
                let Some(regs) = regs else { return Ok(()) };
                let before = std::mem::replace(last, regs.rip);
                let next = before..=before.saturating_add(LONGEST_INSTRUCTION);
                if regs.rsp <= *from || next.contains(&regs.rip) {
                    return Ok(());
                }
                let (traps, then) = (std::mem::take(traps), *then);
                self.landed(tid, traps, then)?
            }
            (Phase::Stepping, Happening::Step(_)) => {
                // It has not come, and what comes later is a signal like any other.
                plan.enters_handler = None;
                self.look(tid, false)?
            }
            (Phase::Stepping, Happening::Handler) => true,
            // The one that the debugger has sent.
            (Phase::Stepping, Happening::Signal(info))
                if plan.enters_handler == Some(info.signal()) =>
            {
                plan.enters_handler = None;
                false
            }
            (Phase::Stepping, Happening::Signal(_)) => {
                self.prepare_step(tid)?;
                false
            }
            (Phase::Running { traps, then }, Happening::Int3(_)) => {
                let arrived = |c: &Cause| matches!(c, Cause::Trap { id } if traps.contains(id));
                if !causes.iter().any(arrived) {
                    return Ok(());
                }
                causes.retain(|c| !arrived(c));
                let (traps, then) = (std::mem::take(traps), *then);
                plan.phase = Phase::Stepping;
                for id in traps {
                    self.remove(id)?;
                }
                self.is_done(tid, then)?
            }
            _ => return Ok(()),
        };
        if done {
            let caught = self.plan_mut(tid).is_some_and(|p| p.caught);
            self.cancel_step(tid)?;
            causes.push(match caught {
                true => Cause::StepCaught,
                false => Cause::StepDone,
            });
            self.arrived_on_trap(tid, causes);
        }
        Ok(())
    }

    /// A thread whose step waits for a return enters a function that leaves
    /// frames: the return may never come.
    fn follow_exit(&mut self, tid: Tid, at: Addr) -> Result<()> {
        let exit = self.sites.get(at).and_then(|s| s.exit);
        // Clean-ups on the way are none of a step's; the handler calls a function of its own.
        let Some(exit) = exit.filter(|exit| *exit != Exit::Landing) else {
            return Ok(());
        };
        let Some(sp) = self.threads.get(&tid).map(|t| t.regs.sp()) else {
            return Ok(());
        };
        let Some(plan) = self.plan_mut(tid) else {
            return Ok(());
        };
        let Phase::Running { traps, then } = &mut plan.phase else {
            return Ok(());
        };
        let (traps, then) = (std::mem::take(traps), *then);
        if exit == Exit::Jump {
            plan.phase = Phase::Jumping {
                from: sp.0,
                last: at.0,
                traps,
                then,
            };
            return Ok(());
        }
        // The handler called this: it goes on when this returns.
        let handler = FrameRef {
            cfa: sp + 8,
            return_to: Addr(self.read_u64(sp)?),
        };
        if !self.is_left(&traps, handler.cfa) {
            self.wait_on(tid, traps, then);
            return Ok(());
        }
        for id in traps {
            self.remove(id)?;
        }
        let then = match then {
            Then::Look => Then::LookInHandler,
            other => other,
        };
        self.run_to(tid, &[self.return_trap(tid, handler)], then)
    }

    /// A frame that a step waits for is gone once the stack is up to `sp`.
    fn is_left(&self, traps: &[TrapId], sp: Addr) -> bool {
        let all = traps.iter().filter_map(|id| self.traps.get(*id));
        let mut frames = all.filter_map(|e| e.trap.frame);
        frames.any(|frame| sp >= frame.cfa)
    }

    fn wait_on(&mut self, tid: Tid, traps: Vec<TrapId>, then: Then) {
        if let Some(plan) = self.plan_mut(tid) {
            plan.phase = Phase::Running { traps, then };
        }
    }

    /// A longjmp has arrived; whether the step is complete there.
    fn landed(&mut self, tid: Tid, traps: Vec<TrapId>, then: Then) -> Result<bool> {
        let sp = self.threads.get(&tid).map(|t| t.regs.sp());
        if !sp.is_some_and(|sp| self.is_left(&traps, sp)) {
            self.wait_on(tid, traps, then);
            return Ok(false);
        }
        if let Some(plan) = self.plan_mut(tid) {
            plan.phase = Phase::Stepping;
        }
        for id in traps {
            self.remove(id)?;
        }
        self.is_done(tid, then)
    }

    /// Whether a step is complete where the thread has run to.
    fn is_done(&mut self, tid: Tid, then: Then) -> Result<bool> {
        match then {
            Then::Stop => Ok(true),
            Then::Look => self.look(tid, false),
            Then::LookInHandler => self.look(tid, true),
            Then::Prepare => self.prepare_step(tid).map(|()| false),
        }
    }

    /// A step that ends on a trap reports the trap too: resuming will not.
    fn arrived_on_trap(&mut self, tid: Tid, causes: &mut Causes) {
        let Some(thread) = self.threads.get(&tid) else {
            return;
        };
        let at = thread.regs.pc();
        if thread.passed == Some(at) {
            return;
        }
        if self.sites.get(at).is_some_and(|s| s.planted)
            && let Err(error) = self.code_hit(tid, at, causes)
        {
            tracing::debug!(%error, "trap at the end of a step");
        }
    }

    /// A signal's handler has returned, and the kernel is about to be told so.
    fn is_signal_return(&self, pc: Addr) -> bool {
        [0, BEFORE_ITS_CALL].into_iter().any(|into| {
            let mut code = [0; SIGNAL_RETURN.len()];
            let at = Addr(pc.0.wrapping_sub(into));
            self.read(at, &mut code).is_ok() && code == SIGNAL_RETURN
        })
    }

    fn jumps_anywhere(&self, pc: Addr) -> bool {
        let next = self.instruction_at(pc);
        next.is_some_and(|i| i.flow_control() == FlowControl::IndirectBranch)
    }

    /// Decides whether the step is complete where the thread is; otherwise
    /// prepares what comes next. `in_handler`: it is where an exception was caught.
    fn look(&mut self, tid: Tid, in_handler: bool) -> Result<bool> {
        let Some(thread) = self.threads.get(&tid) else {
            return Ok(false);
        };
        let regs = thread.regs;
        let pc = regs.pc();
        let Some(plan) = self.plan_mut(tid) else {
            return Ok(false);
        };
        let mut called = std::mem::take(&mut plan.call_next);
        match plan.kind {
            StepKind::Instruction | StepKind::InstructionOver => return Ok(true),
            StepKind::Out | StepKind::OutOf(_) | StepKind::Until(..) => return Ok(true),
            StepKind::Into | StepKind::Over => {}
        }
        if let Some(sp) = plan.stub {
            // The loader, asked for the function, has its own frames below, and
            // its last instruction is a jump.
            let guide = plan.guide.clone();
            let goes_on = || {
                let has_lines = || guide.entry_stop(pc).is_some();
                guide.is_stub(pc) || (self.jumps_anywhere(pc) && !has_lines())
            };
            if regs.rsp < sp || (regs.rsp == sp && goes_on()) {
                self.prepare_step(tid)?;
                return Ok(false);
            }
            called = regs.rsp == sp;
        }
        let Some(plan) = self.plan_mut(tid) else {
            return Ok(false);
        };
        plan.stub = None;
        // A jump to a function without lines is the last call of this one.
        let leaves = |f: FrameRef| regs.rsp.wrapping_add(8) == f.cfa.0;
        let tail_call = plan.frame.is_some_and(leaves)
            && !plan.is_in_line(pc)
            && plan.guide.is_entry(pc)
            && plan.guide.line(pc).is_none();
        if called || tail_call {
            let into = plan.kind == StepKind::Into;
            if into && plan.guide.is_stub(pc) {
                plan.stub = Some(regs.rsp);
                self.prepare_step(tid)?;
                return Ok(false);
            }
            let stop = plan.guide.entry_stop(pc).filter(|_| into);
            return match stop {
                Some(at) if at == pc => Ok(true),
                Some(at) => {
                    let trap = Trap::new(On::Exec(at), Owner::Step).in_thread(tid);
                    // A breakpoint's address may be on one of several ways only.
                    let return_to = Addr(self.read_u64(regs.sp())?);
                    let cfa = regs.sp() + 8;
                    let back = self.return_trap(tid, FrameRef { cfa, return_to });
                    self.run_to(tid, &[trap, back], Then::Stop)?;
                    Ok(false)
                }
                None => {
                    // The return address is on top of the stack.
                    let return_to = Addr(self.read_u64(regs.sp())?);
                    let cfa = regs.sp() + 8;
                    let trap = self.return_trap(tid, FrameRef { cfa, return_to });
                    self.run_to(tid, &[trap], Then::Look)?;
                    Ok(false)
                }
            };
        }
        if plan.is_in_line(pc) {
            self.prepare_step(tid)?;
            return Ok(false);
        }
        if self.is_signal_return(pc) {
            // Nobody has written that: to where the signal came.
            self.prepare_step(tid)?;
            return Ok(false);
        }
        let Some(plan) = self.plan_mut(tid) else {
            return Ok(false);
        };
        if plan.frame.is_some_and(|f| regs.rsp >= f.cfa.0) {
            // Back in the caller.
            return Ok(true);
        }
        match plan.guide.line(pc) {
            Some(line) if line.part == LinePart::Start => Ok(true),
            Some(line) if line.part == LinePart::Middle && in_handler => {
                plan.caught = true;
                Ok(true)
            }
            Some(line) => {
                match line.part {
                    LinePart::Stray(piece) => plan.stray = Some(piece),
                    // To its end first.
                    _ => plan.ranges = line.ranges,
                }
                self.prepare_step(tid)?;
                Ok(false)
            }
            None if plan.ranges.is_empty() => Ok(true),
            None => {
                self.prepare_step(tid)?;
                Ok(false)
            }
        }
    }
}

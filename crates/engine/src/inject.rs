//! Calls of the program's functions on behalf of the debugger.

use crate::process::{RING_GIVE_UP, RING_INTERRUPT};
use crate::{
    Addr, CallId, Cause, Error, FrameRef, On, Owner, Process, Regs, Result, Stop, Tid, Trap,
    TrapId, XState,
};
use verde_sys::{ptrace, wait};

/// Below the stack pointer a function may keep data of its own.
const RED_ZONE: u64 = 128;
/// The direction flag, clear at every call.
const DIRECTION: u64 = 1 << 10;

/// What a called function left in the registers.
#[derive(Clone, Debug)]
pub struct Returned {
    /// General registers: rax and rdx hold integer results.
    pub regs: Regs,
    /// Vector registers: xmm0 and xmm1 hold floating point results.
    pub xstate: XState,
    /// Traps of code it went through without a stop, each as often as it was hit.
    pub passed: Vec<TrapId>,
}

impl Process {
    /// Calls a function in a stopped thread and waits for its return. Up to
    /// six integer arguments; `vectors` changes vector registers first. Other
    /// threads stay as they are; what they report is kept. Traps hit on the
    /// way are passed in silence. Afterwards the thread is as it was, also
    /// when the function got a signal (`Error::CallFailed`) or somebody
    /// interrupted it (`Error::CallInterrupted`).
    pub fn call_function(
        &mut self,
        tid: Tid,
        function: Addr,
        args: &[u64],
        vectors: impl FnOnce(&mut XState),
    ) -> Result<Returned> {
        self.call_with_stack(tid, function, args, &[], vectors)
    }

    /// The same with further arguments on the stack, as the function expects
    /// them there: the first lowest.
    pub fn call_with_stack(
        &mut self,
        tid: Tid,
        function: Addr,
        args: &[u64],
        stack: &[u8],
        vectors: impl FnOnce(&mut XState),
    ) -> Result<Returned> {
        if self.stopped(tid)?.exiting {
            return Err(Error::NotNow(
                "the thread is ending: it can call nothing any more",
            ));
        }
        let born = self.set_born_aside(tid)?;
        let result = self.call_from_here(tid, function, (args, stack), vectors);
        self.put_born_back(tid, born)?;
        result
    }

    fn call_from_here(
        &mut self,
        tid: Tid,
        function: Addr,
        (args, stack): (&[u64], &[u8]),
        vectors: impl FnOnce(&mut XState),
    ) -> Result<Returned> {
        // From a call's entry it could go nowhere else.
        self.leave_kernel(tid)?;
        // The function may make calls of its own.
        self.call_anew(tid)?;
        let entry = self.modules.entry.ok_or(Error::Gone)?;
        let thread = self.stopped_mut(tid)?;
        let saved = thread.regs;
        let passed = thread.passed.take();
        let signal = (thread.signal.take(), thread.queued.take());
        let plan = thread.plan.take();
        let call = (thread.made_again.take(), thread.limited.take());
        let transfer = thread.transfer.take();
        let told = (std::mem::take(&mut thread.entry_told), thread.cut.take());
        let happening = thread.happening.take();
        self.queue.retain(|t| *t != tid);
        let saved_xstate = ptrace::xstate(tid)?;
        let last = CallId(self.calls);
        // Its instructions are none of the program's.
        let caller = self.calling.replace(tid);

        let result =
            self.call_and_wait(tid, function, (args, stack), vectors, &saved_xstate, entry);

        self.calling = caller;

        let Some(thread) = self.threads.get_mut(&tid) else {
            return result;
        };
        // Of calls that it has not come back from nobody has heard.
        thread.shadow.forget_after(last);
        thread.regs = saved;
        thread.regs_changed = true;
        thread.passed = passed;
        (thread.signal, thread.queued) = signal;
        thread.plan = plan;
        (thread.made_again, thread.limited) = call;
        thread.transfer = transfer;
        (thread.entry_told, thread.cut) = told;
        thread.disturbed = true;
        if happening.is_some() {
            thread.happening = happening;
            self.queue.push_front(tid);
        }
        crate::arrive::unless_gone(ptrace::set_xstate(tid, &saved_xstate))?;
        self.trim_resting()?;
        result
    }

    fn call_and_wait(
        &mut self,
        tid: Tid,
        function: Addr,
        (args, stack): (&[u64], &[u8]),
        vectors: impl FnOnce(&mut XState),
        xstate: &XState,
        entry: Addr,
    ) -> Result<Returned> {
        let thread = self.stopped_mut(tid)?;
        let mut regs = thread.regs;
        let room = RED_ZONE.saturating_add(stack.len() as u64);
        let base = regs.rsp.saturating_sub(room) & !15;
        for (i, place) in [
            &mut regs.rdi,
            &mut regs.rsi,
            &mut regs.rdx,
            &mut regs.rcx,
            &mut regs.r8,
            &mut regs.r9,
        ]
        .into_iter()
        .enumerate()
        {
            if let Some(arg) = args.get(i) {
                *place = *arg;
            }
        }
        regs.rsp = base - 8;
        // For functions with variable arguments: vector registers in use.
        regs.rax = 8;
        regs.eflags &= !DIRECTION;
        regs.rip = function.0;
        regs.orig_rax = u64::MAX;
        thread.regs = regs;
        thread.regs_changed = true;
        let mut changed = xstate.clone();
        vectors(&mut changed);
        ptrace::set_xstate(tid, &changed)?;
        // It returns to the program's first instruction, which has run its
        // only time.
        self.write(Addr(base), stack)?;
        self.write(Addr(base - 8), &entry.0.to_le_bytes())?;
        let frame = FrameRef {
            cfa: Addr(base),
            return_to: entry,
        };
        let back = Trap::new(On::Exec(entry), Owner::Step)
            .in_thread(tid)
            .in_frame(frame);
        let back = self.insert(back)?;
        let result = self.run_until(tid, |stop| stop.causes.contains(&Cause::Trap { id: back }));
        self.remove(back)?;
        let passed = result?;
        Ok(Returned {
            regs: *self.regs(tid)?,
            xstate: ptrace::xstate(tid)?,
            passed,
        })
    }

    /// Lets one thread run until a stop of it is the wanted one; the traps of code hit before.
    fn run_until(&mut self, tid: Tid, wanted: impl Fn(&Stop) -> bool) -> Result<Vec<TrapId>> {
        // One that was meant for an earlier call.
        let mut rung = self.doorbell.take() & !RING_GIVE_UP;
        let result = self.run_until_rung(tid, wanted, &mut rung);
        if rung != 0 {
            // Whoever waits next shall hear it.
            self.doorbell.button().ring(rung);
        }
        result
    }

    fn run_until_rung(
        &mut self,
        tid: Tid,
        wanted: impl Fn(&Stop) -> bool,
        rung: &mut u32,
    ) -> Result<Vec<TrapId>> {
        let mut passed = Vec::new();
        self.go(tid)?;
        loop {
            while let Some(i) = self.queue.iter().position(|t| *t == tid) {
                self.queue.remove(i);
                let Some(stop) = self.report(tid)? else {
                    continue;
                };
                if wanted(&stop) {
                    return Ok(passed);
                }
                passed.extend(stop.causes.iter().filter_map(|c| match c {
                    Cause::Trap { id } => Some(*id),
                    _ => None,
                }));
                let failed = stop.causes.iter().find_map(|c| match c {
                    Cause::Signal { signal, .. } => Some(*signal),
                    _ => None,
                });
                let only_told = |signal: &i32| {
                    let treatment = self.options.signals.get(*signal);
                    treatment.print && !treatment.stop
                };
                if let Some(signal) = failed.filter(|s| !only_told(s)) {
                    return Err(Error::CallFailed(signal));
                }
                self.go(tid)?;
            }
            if !self.threads.contains_key(&tid) || self.end.is_some() {
                return Err(Error::Gone);
            }
            *rung |= self.doorbell.take();
            if *rung & (RING_INTERRUPT | RING_GIVE_UP) != 0 {
                *rung &= !(RING_INTERRUPT | RING_GIVE_UP);
                let before = std::mem::replace(&mut self.stopping, true);
                let halted = self.halt(tid);
                self.stopping = before;
                halted?;
                self.queue.retain(|t| *t != tid);
                let thread = self.stopped_mut(tid).map_err(|_| Error::Gone)?;
                thread.happening = None;
                return Err(Error::CallInterrupted);
            }
            if let Some(result) = self.doorbell.guard(|| wait::any(true)) {
                self.noted(result)?;
            }
            // The function may end the program: with all threads.
            self.let_queued_end()?;
        }
    }
}

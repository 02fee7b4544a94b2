//! Shadow stacks: which calls of trapped functions are still open.
//!
//! Pure: addresses in, verdicts out. A frame is known by the stack pointer at
//! its entry. It returned when the thread is at its return address with the
//! stack pointer just above; it was abandoned (longjmp, exception) when the
//! stack pointer is above and the thread is anywhere else.

use crate::{CallId, TrapId};

/// An open call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Stack pointer at the entry: where the return address is.
    pub sp: u64,
    /// The return address.
    pub ret: u64,
    /// The function's first address.
    pub function: u64,
    /// The trap that asked.
    pub trap: TrapId,
    /// The call's number.
    pub call: CallId,
    /// A longjmp or a throw was seen since the entry.
    pub suspect: bool,
}

/// The address range of one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Lowest address.
    pub low: u64,
    /// One past the highest.
    pub high: u64,
    /// The thread's own, and no other thing's. Others may hold several
    /// coroutines side by side, where a higher stack pointer proves nothing.
    pub own: bool,
}

/// The open calls of one thread, apart for each stack it runs on: stack
/// pointers of a signal stack or a coroutine say nothing about the others.
#[derive(Clone, Debug, Default)]
pub struct ShadowStack {
    stacks: Vec<Stack>,
    current: usize,
}

#[derive(Clone, Debug)]
struct Stack {
    extent: Extent,
    frames: Vec<Frame>,
}

/// What a comparison with the present found out about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It returned here and now.
    Returned,
    /// It ended without returning.
    Abandoned,
    /// The thread ended in it.
    Cut,
}

impl ShadowStack {
    /// No call is open.
    pub fn is_empty(&self) -> bool {
        self.stacks.iter().all(|s| s.frames.is_empty())
    }

    /// How many calls are open.
    pub fn depth(&self) -> usize {
        self.stacks.iter().map(|s| s.frames.len()).sum()
    }

    /// Makes the stack holding `sp` the current one. `extent` is asked for
    /// stacks not seen before.
    pub fn select(&mut self, sp: u64, extent: impl FnOnce() -> Extent) {
        let holds = |s: &Stack| s.extent.low <= sp && sp < s.extent.high;
        if self.stacks.get(self.current).is_some_and(holds) {
            return;
        }
        if let Some(found) = self.stacks.iter().position(holds) {
            self.current = found;
            return;
        }
        let extent = extent();
        // A stack that grew is the same stack.
        if let Some(found) = self
            .stacks
            .iter()
            .position(|s| s.extent.high == extent.high)
        {
            self.stacks[found].extent.low = extent.low.min(self.stacks[found].extent.low);
            self.current = found;
            return;
        }
        self.stacks.push(Stack {
            extent,
            frames: Vec::new(),
        });
        self.current = self.stacks.len() - 1;
    }

    /// The present stack is the thread's own.
    fn certain(&self) -> bool {
        let current = self.stacks.get(self.current);
        current.is_some_and(|s| s.extent.own)
    }

    /// Settles the calls that are over for a thread at `pc` with stack
    /// pointer `sp`. `intact(sp, ret)` says whether the return address is
    /// still in its place; asked only where the stack pointer is no proof, or
    /// a longjmp or a throw was seen.
    pub fn settle(
        &mut self,
        sp: u64,
        pc: u64,
        mut intact: impl FnMut(u64, u64) -> bool,
        mut over: impl FnMut(Frame, Fate),
    ) {
        let certain = self.certain();
        let Some(stack) = self.stacks.get_mut(self.current) else {
            return;
        };
        if certain {
            while let Some(top) = stack.frames.last().copied() {
                if top.sp >= sp {
                    break;
                }
                stack.frames.pop();
                over(top, fate(&top, sp, pc, &mut intact));
            }
            return;
        }
        // Newest first, so that calls end in the order they would.
        for i in (0..stack.frames.len()).rev() {
            let frame = stack.frames[i];
            if frame.sp >= sp {
                continue;
            }
            let fate = fate(&frame, sp, pc, &mut intact);
            if fate == Fate::Abandoned && intact(frame.sp, frame.ret) {
                continue;
            }
            stack.frames.remove(i);
            over(frame, fate);
        }
    }

    /// Settles what a new call at `sp` proves: a frame whose return address
    /// was overwritten is over. An equal return address means a tail call
    /// (both return together), or a new call from the same place after the
    /// old one was abandoned. `exits_seen`: longjmp and throw are observed,
    /// so only a frame that saw one can have been abandoned; otherwise the
    /// same function twice is taken for a new call.
    pub fn enter(
        &mut self,
        sp: u64,
        ret: u64,
        function: u64,
        exits_seen: bool,
        mut over: impl FnMut(Frame),
    ) {
        let Some(stack) = self.stacks.get_mut(self.current) else {
            return;
        };
        let run = stack.frames.iter().rev().take_while(|f| f.sp == sp).count();
        if run == 0 {
            return;
        }
        let from = stack.frames.len() - run;
        let stale = |f: &Frame| {
            f.ret != ret
                || if exits_seen {
                    f.suspect
                } else {
                    f.function == function
                }
        };
        let Some(last) = stack.frames[from..].iter().rposition(stale) else {
            return;
        };
        for frame in stack.frames.drain(from..=from + last).rev() {
            over(frame);
        }
    }

    /// A call of a function is open that began with this stack pointer and
    /// return address, and nothing may have left it.
    pub fn is_open(&self, sp: u64, ret: u64, function: u64) -> bool {
        let stack = self.stacks.get(self.current);
        let here = stack.into_iter().flat_map(|s| s.frames.iter().rev());
        let mut here = here.take_while(|f| f.sp == sp);
        here.any(|f| f.function == function && f.ret == ret && !f.suspect)
    }

    /// Opens a call on the current stack.
    pub fn push(&mut self, frame: Frame) {
        if let Some(stack) = self.stacks.get_mut(self.current) {
            stack.frames.push(frame);
        }
    }

    /// Opens a call that began before anybody asked: it goes between the calls
    /// around it. `false`: it is known already. One that is known in its place
    /// and returns elsewhere was left in silence, and so may have been one
    /// that saw a longjmp or a throw: the call that is there now is another.
    pub fn adopt(&mut self, frame: Frame, mut left: impl FnMut(Frame)) -> bool {
        let Some(stack) = self.stacks.get_mut(self.current) else {
            return false;
        };
        let same = |f: &Frame| f.sp == frame.sp && f.trap == frame.trap;
        let stale = |f: &Frame| f.ret != frame.ret || f.suspect;
        for gone in stack.frames.extract_if(.., |f| same(f) && stale(f)) {
            left(gone);
        }
        if stack.frames.iter().any(same) {
            return false;
        }
        let at = stack.frames.partition_point(|f| f.sp >= frame.sp);
        stack.frames.insert(at, frame);
        true
    }

    /// A longjmp or throw begins: any open call may be over soon.
    pub fn suspect_all(&mut self) {
        for frame in self.stacks.iter_mut().flat_map(|s| &mut s.frames) {
            frame.suspect = true;
        }
    }

    /// A longjmp or throw has arrived on the thread's own stack, and what it
    /// left there is settled: the rest goes on. Of other stacks nothing is known.
    pub fn suspect_others(&mut self) {
        for stack in &mut self.stacks {
            for frame in &mut stack.frames {
                frame.suspect = !stack.extent.own;
            }
        }
    }

    /// The thread's own stack, and whether it is the current one.
    pub fn own(&self) -> Option<(Extent, bool)> {
        let own = self.stacks.iter().find(|s| s.extent.own)?;
        Some((own.extent, self.certain()))
    }

    /// Settles the calls of the thread's own stack that a jump to `sp` leaves,
    /// newest first.
    pub fn leave_below(&mut self, sp: u64, mut over: impl FnMut(Frame)) {
        let Some(own) = self.stacks.iter_mut().find(|s| s.extent.own) else {
            return;
        };
        while let Some(top) = own.frames.pop_if(|f| f.sp < sp) {
            over(top);
        }
    }

    /// The open calls, newest first.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.stacks.iter().rev().flat_map(|s| s.frames.iter().rev())
    }

    /// Forgets the calls of one trap.
    pub fn forget(&mut self, trap: TrapId) {
        for stack in &mut self.stacks {
            stack.frames.retain(|f| f.trap != trap);
        }
    }

    /// Forgets the calls that began after this one.
    pub fn forget_after(&mut self, last: CallId) {
        for stack in &mut self.stacks {
            stack.frames.retain(|f| f.call <= last);
        }
    }

    /// Keeps only the calls of traps that `known` accepts.
    pub fn retain(&mut self, known: impl Fn(TrapId) -> bool) {
        for stack in &mut self.stacks {
            stack.frames.retain(|f| known(f.trap));
        }
    }

    /// Ends every call (the thread ends), newest first.
    pub fn drain(&mut self, mut over: impl FnMut(Frame)) {
        for stack in &mut self.stacks {
            for frame in stack.frames.drain(..).rev() {
                over(frame);
            }
        }
    }
}

/// A handler that caught something joins the normal path where the call would have returned to.
/// It has made a call on the way, which overwrote the return address.
fn fate(frame: &Frame, sp: u64, pc: u64, intact: &mut impl FnMut(u64, u64) -> bool) -> Fate {
    let is_there = frame.sp + 8 == sp && frame.ret == pc;
    match is_there && (!frame.suspect || intact(frame.sp, frame.ret)) {
        true => Fate::Returned,
        false => Fate::Abandoned,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Extent = Extent {
        low: 0x1000,
        high: 0x9000,
        own: true,
    };
    const HEAP: Extent = Extent {
        low: 0x20000,
        high: 0x30000,
        own: false,
    };

    #[test]
    fn calls_that_began_before_go_between_the_others() {
        let mut shadow = ShadowStack::default();
        shadow.select(0x8000, || OWN);
        shadow.push(frame(0x8000, 1, 10, 1));
        shadow.push(frame(0x4000, 2, 11, 2));
        let late = Frame {
            trap: TrapId(7),
            ..frame(0x6000, 3, 12, 3)
        };
        let none = |_| panic!("every call goes on");
        assert!(shadow.adopt(late, none));
        assert!(!shadow.adopt(late, none), "known already");
        let mut ended = Vec::new();
        shadow.settle(0x4008, 2, |_, _| true, |f, fate| ended.push((f.call, fate)));
        shadow.settle(0x6008, 3, |_, _| true, |f, fate| ended.push((f.call, fate)));
        assert_eq!(
            ended,
            [(CallId(2), Fate::Returned), (CallId(3), Fate::Returned)]
        );
    }

    #[test]
    fn another_call_in_the_place_of_one_that_was_left() {
        let mut shadow = stack();
        shadow.push(frame(0x8000, 1, 10, 1));
        let mut left = Vec::new();
        let mut adopt = |s: &mut ShadowStack, f| s.adopt(f, |gone| left.push(gone.call.0));
        assert!(!adopt(&mut shadow, frame(0x8000, 1, 10, 2)), "the same");
        assert!(adopt(&mut shadow, frame(0x8000, 2, 10, 3)), "elsewhere");
        shadow.suspect_all();
        assert!(adopt(&mut shadow, frame(0x8000, 2, 10, 4)), "a longjmp");
        assert_eq!(left, [1, 3]);
        assert_eq!(settle(&mut shadow, 0x8008, 2), [(4, Fate::Returned)]);
    }

    #[test]
    fn a_jump_leaves_what_is_below() {
        let mut s = stack();
        s.push(frame(0x8000, 7, 1, 1));
        s.push(frame(0x7f00, 9, 1, 2));
        s.push(frame(0x7e00, 9, 1, 3));
        let mut over = Vec::new();
        s.leave_below(0x7f80, |f| over.push(f.call.0));
        assert_eq!(over, [3, 2]);
        assert_eq!(settle(&mut s, 0x8008, 7), [(1, Fate::Returned)]);
    }

    fn frame(sp: u64, ret: u64, function: u64, call: u64) -> Frame {
        Frame {
            sp,
            ret,
            function,
            trap: TrapId(1),
            call: CallId(call),
            suspect: false,
        }
    }

    fn stack() -> ShadowStack {
        let mut s = ShadowStack::default();
        s.select(0x8000, || OWN);
        s
    }

    fn settle(s: &mut ShadowStack, sp: u64, pc: u64) -> Vec<(u64, Fate)> {
        let mut out = Vec::new();
        s.settle(sp, pc, |_, _| true, |f, fate| out.push((f.call.0, fate)));
        out
    }

    #[test]
    fn recursion_returns_one_by_one() {
        let mut s = stack();
        s.push(frame(0x8000, 7, 1, 1));
        s.push(frame(0x7f00, 9, 1, 2));
        assert_eq!(settle(&mut s, 0x7f08, 9), [(2, Fate::Returned)]);
        assert_eq!(settle(&mut s, 0x7f80, 9), []);
        assert_eq!(settle(&mut s, 0x8008, 7), [(1, Fate::Returned)]);
    }

    #[test]
    fn tail_calls_return_together() {
        let mut s = stack();
        s.push(frame(0x8000, 7, 1, 1));
        s.enter(0x8000, 7, 2, true, |_| panic!("a tail call ends nothing"));
        s.push(frame(0x8000, 7, 2, 2));
        let both = [(2, Fate::Returned), (1, Fate::Returned)];
        assert_eq!(settle(&mut s, 0x8008, 7), both);
    }

    #[test]
    fn longjmp_abandons() {
        let mut s = stack();
        s.push(frame(0x8000, 7, 1, 1));
        s.push(frame(0x7f00, 9, 1, 2));
        let both = [(2, Fate::Abandoned), (1, Fate::Abandoned)];
        assert_eq!(settle(&mut s, 0x8008, 99), both);
    }

    #[test]
    fn a_new_call_from_the_same_place_is_no_tail_call() {
        for (exits_seen, throws) in [(true, true), (false, false)] {
            let mut s = stack();
            s.push(frame(0x8000, 7, 1, 1));
            if throws {
                s.suspect_all();
            }
            let mut over = Vec::new();
            s.enter(0x8000, 7, 1, exits_seen, |f| over.push(f.call.0));
            assert_eq!(over, [1]);
            assert!(s.is_empty());
        }
    }

    #[test]
    fn mutual_tail_recursion_keeps_every_call() {
        let mut s = stack();
        s.push(frame(0x8000, 7, 1, 1));
        s.enter(0x8000, 7, 2, true, |_| panic!("tail call"));
        s.push(frame(0x8000, 7, 2, 2));
        s.enter(0x8000, 7, 1, true, |_| panic!("tail call"));
        assert_eq!(s.depth(), 2);
    }

    #[test]
    fn a_signal_stack_leaves_the_other_alone() {
        let mut s = stack();
        s.push(frame(0x8000, 7, 1, 1));
        s.select(0x2f000, || HEAP);
        assert_eq!(settle(&mut s, 0x2f000, 5), []);
        s.push(frame(0x2e000, 3, 1, 2));
        assert_eq!(settle(&mut s, 0x2e008, 3), [(2, Fate::Returned)]);
        s.select(0x8008, || panic!("known"));
        assert_eq!(settle(&mut s, 0x8008, 7), [(1, Fate::Returned)]);
    }

    #[test]
    fn coroutines_in_one_mapping_survive_each_other() {
        // Seen before the thread's own stack is.
        let mut s = ShadowStack::default();
        s.select(0x21000, || HEAP);
        s.push(frame(0x21000, 7, 1, 1));
        assert_eq!(
            settle(&mut s, 0x2f000, 5),
            [],
            "another coroutine, higher up"
        );
        assert_eq!(settle(&mut s, 0x21008, 7), [(1, Fate::Returned)]);
    }
}

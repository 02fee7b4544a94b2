//! From what happened to a thread to the events that the monitors see.

use super::super::Debugger;
use super::super::here::{Here, Names};
use super::super::live::is_main;
use super::super::registers::{place, to_dwarf, with_vectors};
use super::data::Meaning;
use super::host::Watcher;
use super::reads::{How, Phase, Read, may_be_in_vectors};
use super::values::{Form, Owned, cast};
use super::{Fallen, Irv, Latch, Moved, nanoseconds_since};
use crate::code_host::CodeHost;
use crate::recorder::Found;
use crate::report::Row;
use crate::rows::{event_row, violation_row};
use crate::writes::Writes;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;
use verde_engine::{Addr, CallId, Cause, Follow, ForkKind, On, Regs, Tid, TrapId};
use verde_expr::{FrameScope, Value, compile, eval, returned_value};
use verde_monitor::{Arg, Event};
use verde_property::{Kind, When};
use verde_symbols::{
    FileAddr, INTEGER_ARGUMENTS, Levels, Modules, Registers, SourceFile, demangle,
};

/// Calls that a violation shows.
pub(super) const MOST_CALLS: usize = 64;

/// Backtraces of events that are kept.
const MOST_STACKS: u64 = 1 << 16;

/// Frames that are asked what a call was given.
const CALLERS: usize = 9;

/// What a trap is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Site {
        source: usize,
        site: usize,
    },
    Datum {
        source: usize,
        part: usize,
        /// The thread that has it for itself.
        owner: Option<Tid>,
    },
    /// A thread has what the event is about from now on.
    Birth {
        source: usize,
    },
}

impl Target {
    pub fn source(self) -> usize {
        match self {
            Target::Site { source, .. }
            | Target::Datum { source, .. }
            | Target::Birth { source } => source,
        }
    }
}

/// What a call began with, until it returns.
#[derive(Clone)]
pub struct Saved {
    /// The function, and where the return address is on the stack.
    pub place: (Addr, Addr),
    registers: Registers,
    /// For each source its parameters that are read at the entry.
    values: SmallVec<[(usize, Vec<Owned>); 1]>,
}

impl Saved {
    /// What a parameter of a source was.
    fn value(&self, source: usize, parameter: usize) -> Owned {
        let mut own = self.values.iter().filter(|(s, _)| *s == source);
        let value = own.next().and_then(|(_, values)| values.get(parameter));
        value.cloned().unwrap_or_default()
    }
}

/// An event on its way to the monitors.
struct Happening<'a> {
    source: usize,
    site: Option<usize>,
    tid: Tid,
    /// The thread that has the datum for itself.
    owner: Option<Tid>,
    brought: Owned,
    saved: Option<&'a Saved>,
}

/// The registers of a thread in the forms that reading needs, made when wanted.
struct Thread {
    regs: Regs,
    dwarf: Option<Registers>,
    vectors: bool,
}

impl Thread {
    fn new(regs: Regs) -> Thread {
        Thread {
            regs,
            dwarf: None,
            vectors: false,
        }
    }

    fn dwarf(&mut self) -> &Registers {
        self.dwarf.get_or_insert_with(|| to_dwarf(&self.regs))
    }
}

impl Debugger {
    /// The monitors see what happened to a thread. What they ask for is latched.
    pub(in super::super) fn feed(&mut self, tid: Tid, causes: &[Cause]) {
        let Some(mut irv) = self.irv.take() else {
            return;
        };
        for cause in causes {
            self.feed_one(&mut irv, tid, cause);
            if irv.latch.restore.is_some() {
                break;
            }
        }
        self.irv = Some(irv);
    }

    fn feed_one(&mut self, irv: &mut Irv, tid: Tid, cause: &Cause) {
        match *cause {
            Cause::Trap { id } => {
                if irv.start == Some(id) {
                    self.loaded(irv, tid);
                }
                for target in irv.targets_of(id) {
                    let (source, site) = match target {
                        Target::Site { source, site } => (source, site),
                        Target::Birth { source } => {
                            self.begin_for_thread(irv, source, tid);
                            continue;
                        }
                        Target::Datum { .. } => continue,
                    };
                    // Told of by what they bring, below.
                    if matches!(
                        irv.alphabet.sources[source].kind,
                        Kind::Signal | Kind::Thread
                    ) {
                        continue;
                    }
                    if irv.alphabet.sources[source].datum.is_some() {
                        self.begin_for_frame(irv, source, tid);
                        continue;
                    }
                    self.note_beginning(irv, tid, source, site);
                    self.happen(
                        irv,
                        Happening {
                            source,
                            site: Some(site),
                            tid,
                            owner: None,
                            brought: Owned::None,
                            saved: None,
                        },
                    );
                }
            }
            _ => self.feed_other(irv, tid, cause),
        }
    }

    /// Out of the way of the code that runs at every call.
    #[inline(never)]
    fn feed_other(&mut self, irv: &mut Irv, tid: Tid, cause: &Cause) {
        match *cause {
            Cause::Entry { id, call } => {
                if let Some(saved) = self.entry_values(irv, tid, &irv.awaiting(id)) {
                    irv.saved.insert(call, saved);
                }
            }
            Cause::Return { id, call } => self.call_over(irv, tid, id, call, Kind::Call),
            Cause::Abandoned { id, call } => self.call_over(irv, tid, id, call, Kind::Unwound),
            Cause::Cut { call, .. } => {
                irv.saved.remove(call);
            }
            Cause::Watch { id, write, .. } => {
                let mut targets = irv.targets_of(id);
                targets.sort_by_key(|t| irv.alphabet.sources[t.source()].when);
                for target in targets {
                    let Target::Datum {
                        source,
                        part,
                        owner,
                    } = target
                    else {
                        continue;
                    };
                    let meaning = self.touched(irv, (source, tid), (part, owner), write);
                    if let Meaning::Event(brought) = meaning {
                        self.happen(
                            irv,
                            Happening {
                                source,
                                site: None,
                                tid,
                                owner,
                                brought,
                                saved: None,
                            },
                        );
                    }
                }
            }
            Cause::WatchEnded { id, .. } => irv.frame_gone(id, &mut self.live),
            Cause::Syscall { id, value, .. } => {
                let when = match value {
                    None => When::Before,
                    Some(_) => When::After,
                };
                for target in irv.targets_of(id) {
                    let Target::Site { source, site } = target else {
                        continue;
                    };
                    if irv.alphabet.sources[source].when == when {
                        self.happen(
                            irv,
                            Happening {
                                source,
                                site: Some(site),
                                tid,
                                owner: None,
                                brought: value.map_or(Owned::None, Owned::Int),
                                saved: None,
                            },
                        );
                    }
                }
            }
            Cause::Signal { signal, .. } => {
                let on = On::Signal(signal);
                self.unplaced(irv, tid, Kind::Signal, Owned::Int(signal.into()), |s| {
                    s.sites.iter().any(|site| site.on == on)
                });
            }
            Cause::Clone(new) => {
                self.unplaced(irv, new, Kind::Thread, Owned::Int(new.0.into()), |s| {
                    s.name == "start"
                });
            }
            Cause::ThreadExit(status) => {
                self.unplaced(irv, tid, Kind::Thread, Owned::Int(status.into()), |s| {
                    s.name == "exit"
                });
                self.note_end(irv, tid);
                irv.unwatch_thread(tid, &mut self.live);
            }
            Cause::Followed { .. } => self.threads_replaced(irv),
            Cause::Fork {
                kind: ForkKind::Fork,
                ..
            } => {
                let text = "forked children run unchecked";
                let options = self.live.as_ref().map(|l| &l.process.options);
                let is_left = options.is_some_and(|o| o.follow == Follow::Parent);
                // Without a property there is nothing to check.
                if is_left && !irv.ones.is_empty() && irv.once(text) {
                    irv.output.print(&mut self.out, "verde", text);
                }
            }
            _ => {}
        }
    }

    /// A thread begins, which may have data of its own.
    #[inline(never)]
    fn begin_for_thread(&mut self, irv: &mut Irv, source: usize, tid: Tid) {
        self.thread_begins(irv, source, tid);
        self.say_complaints(irv);
    }

    /// A function begins whose variables may be watched.
    #[inline(never)]
    fn begin_for_frame(&mut self, irv: &mut Irv, source: usize, tid: Tid) {
        if irv.alphabet.sources[source].wanted > 0 {
            self.watch_datum(irv, source, Some(tid));
            self.say_complaints(irv);
        }
    }

    /// The program is over: the event `process exit`.
    pub(super) fn process_over(&mut self, irv: &mut Irv, tid: Tid, status: i64) {
        self.unplaced(irv, tid, Kind::Process, Owned::Int(status), |_| true);
    }

    /// Events without a place of code.
    #[inline(never)]
    fn unplaced(
        &mut self,
        irv: &mut Irv,
        tid: Tid,
        kind: Kind,
        brought: Owned,
        fits: impl Fn(&super::alphabet::Source) -> bool,
    ) {
        for source in 0..irv.alphabet.sources.len() {
            let s = &irv.alphabet.sources[source];
            if s.kind == kind && s.wanted > 0 && fits(s) {
                let site = (!s.sites.is_empty()).then_some(0);
                let brought = brought.clone();
                self.happen(
                    irv,
                    Happening {
                        source,
                        site,
                        tid,
                        owner: None,
                        brought,
                        saved: None,
                    },
                );
            }
        }
    }

    /// What a thread at the entry of a call has for those who may wait for its return: source
    /// and site of each.
    #[inline(never)]
    pub(super) fn entry_values(
        &mut self,
        irv: &Irv,
        tid: Tid,
        whom: &[(usize, usize)],
    ) -> Option<Saved> {
        let mut thread = self.thread_of(tid)?;
        let mut values = SmallVec::new();
        for &(source, site) in whom {
            let place = &irv.alphabet.sources[source].sites[site];
            let (reads, scope) = (place.reads.clone(), place.scope.clone());
            let read = |r: &Read| match r.phase {
                Phase::Entry => self.read_now(irv, &r.how, tid, &mut thread, scope.as_deref()),
                _ => Owned::None,
            };
            values.push((source, reads.iter().map(read).collect()));
        }
        let registers = thread.dwarf().clone();
        Some(Saved {
            place: (thread.regs.pc(), Addr(thread.regs.rsp)),
            registers,
            values,
        })
    }

    /// A call returned or was abandoned, which is an event for those who want it now.
    #[inline(never)]
    fn call_over(&mut self, irv: &mut Irv, tid: Tid, id: TrapId, call: CallId, kind: Kind) {
        let saved = irv.saved.remove(call);
        for (source, site) in irv.awaiting(id) {
            let s = &irv.alphabet.sources[source];
            if s.kind == kind && s.sites[site].trap.is_some() {
                self.happen(
                    irv,
                    Happening {
                        source,
                        site: Some(site),
                        tid,
                        owner: None,
                        brought: Owned::None,
                        saved: saved.as_ref(),
                    },
                );
            }
        }
    }

    fn thread_of(&self, tid: Tid) -> Option<Thread> {
        let live = self.live.as_ref()?;
        Some(Thread::new(*live.process.regs(tid).ok()?))
    }

    /// What `$tid` is: the same for a thread after a restore, which may give it another id.
    fn identity(&self, tid: Tid) -> Owned {
        let live = self.live.as_ref();
        let id = live.map_or(tid, |l| l.process.origin(tid));
        Owned::Int(id.0.into())
    }

    /// Reads the parameters and lets every monitor that knows the event see it.
    fn happen(&mut self, irv: &mut Irv, it: Happening) {
        let mut values = std::mem::take(&mut irv.values);
        values.clear();
        self.read_all(irv, &it, &mut values);
        irv.values = values;
        let source = &irv.alphabet.sources[it.source];
        let (kind, when) = (source.kind, source.when);
        let (loc, stands) = match (kind, when, it.site) {
            (Kind::Call, When::Before, Some(i)) | (Kind::Line, _, Some(i)) => {
                (source.sites[i].loc.clone(), Stands::At)
            }
            (Kind::Process | Kind::Thread, ..) => (None, Stands::At),
            (Kind::Signal, ..) => (self.current_place(irv, it.tid, Stands::At), Stands::At),
            _ => (
                self.current_place(irv, it.tid, Stands::Behind),
                Stands::Behind,
            ),
        };
        irv.n += 1;
        irv.stands = stands;
        let time = nanoseconds_since(irv.started);
        if irv.choices.stacks {
            self.keep_stack(irv, it.tid);
        }
        if let Some(trace) = &mut irv.trace {
            let source = &irv.alphabet.sources[it.source];
            trace.write(source, &irv.values, irv.n, it.tid, time, loc.as_deref());
        }
        let moment = Moment {
            tid: it.tid,
            time,
            loc,
        };
        if irv.zoom.is_some() {
            let value = it.brought.clone();
            self.say_closer(irv, it.source, &value, &moment);
        }
        let mut relevant = false;
        let users = irv.alphabet.sources[it.source].users.len();
        for user in 0..users {
            relevant |= self.apply_to(irv, it.source, user, &moment);
            if irv.latch.restore.is_some() {
                break;
            }
        }
        irv.relevant += u64::from(relevant);
        self.after_event(irv, it.source, &moment);
        self.board_event(irv, it.source, &moment);
        if irv.is_stale() {
            self.instrument(irv, Some(it.tid));
        }
        if !(irv.complaints.is_empty() && irv.warnings.is_empty()) {
            self.say_complaints(irv);
        }
    }

    /// Keeps the backtrace of the event that is being applied.
    #[inline(never)]
    fn keep_stack(&mut self, irv: &mut Irv, tid: Tid) {
        let frames = self.stack_text(tid, 64, irv.stands);
        let keep = irv.n;
        irv.stacks.insert(keep, frames.into());
        // Slices remember the last events only.
        irv.stacks.remove(&keep.wrapping_sub(MOST_STACKS));
    }

    fn read_all(&mut self, irv: &mut Irv, it: &Happening, values: &mut Vec<Owned>) {
        let source = &irv.alphabet.sources[it.source];
        if source.params.is_empty() {
            return;
        }
        let (kind, when) = (source.kind, source.when);
        let mut thread = self.thread_of(it.tid);
        if kind == Kind::Thread {
            // One that begins has no registers yet, and the program its variables.
            thread.get_or_insert_with(|| Thread::new(Regs::default()));
        }
        let (reads, scope): (Arc<[Read]>, Option<Arc<FrameScope>>) = match (it.site, &thread) {
            (Some(i), _) => (source.sites[i].reads.clone(), source.sites[i].scope.clone()),
            (None, Some(thread)) if source.datum.is_some() => {
                self.plan_here(irv, (it.source, it.owner), thread.regs.rip)
            }
            _ => (
                source
                    .params
                    .iter()
                    .map(|p| Read::of_end(&p.operand))
                    .collect(),
                None,
            ),
        };
        for (i, read) in reads.iter().enumerate() {
            let value = match (&read.how, read.phase) {
                (How::Brought, _) => it.brought.clone(),
                (How::Tid, _) => self.identity(it.tid),
                (How::Node(..), _) if kind == Kind::Process => {
                    let values = irv.at_end.get(&it.source);
                    values.and_then(|v| v.get(i)).cloned().unwrap_or_default()
                }
                (How::Here, _) => match &mut thread {
                    Some(thread) => {
                        let place = (it.source, it.owner);
                        let (plan, scope) = self.plan_here(irv, place, thread.regs.rip);
                        match plan.get(i) {
                            Some(r) => self.read_now(irv, &r.how, it.tid, thread, scope.as_deref()),
                            None => Owned::None,
                        }
                    }
                    None => Owned::None,
                },
                (How::Caller, _) => match &mut thread {
                    Some(thread) => self.caller_name(thread, kind, when),
                    None => Owned::None,
                },
                (_, Phase::Entry) => it.saved.map_or(Owned::None, |s| s.value(it.source, i)),
                (How::Kept, _) => thread.as_mut().map_or(Owned::None, |thread| {
                    let registers = thread.dwarf().clone();
                    let saved = self.call_around(irv, registers, scope.as_deref());
                    saved.map_or(Owned::None, |s| s.value(it.source, i))
                }),
                (how, Phase::FromEntry) => match (it.saved, &mut thread) {
                    (Some(saved), Some(thread)) => {
                        let mut then = Thread {
                            regs: thread.regs,
                            dwarf: Some(saved.registers.clone()),
                            vectors: true,
                        };
                        self.read_now(irv, how, it.tid, &mut then, scope.as_deref())
                    }
                    _ => Owned::None,
                },
                (how, Phase::Now) => match &mut thread {
                    Some(thread) => self.read_now(irv, how, it.tid, thread, scope.as_deref()),
                    None => Owned::None,
                },
            };
            values.push(value);
        }
    }

    /// How the parameters of a data event are read where a thread is: its own variables, else
    /// those of the frame that the local belongs to. Worked out once for each place.
    #[inline(never)]
    fn plan_here(&mut self, irv: &mut Irv, (source, owner): (usize, Option<Tid>), pc: u64) -> Plan {
        if let Some(known) = irv.plans.get(&(source, pc)) {
            return known.clone();
        }
        let here = self.images.module_at(pc).map(|(module, bias)| {
            let at = FileAddr::of(pc, bias);
            super::bind::inner_scope(&module, bias, at)
        });
        let home = irv.datum_frame(source, owner).cloned();
        let (mut chosen, mut wrong) = (None, None);
        for scope in [here, home].into_iter().flatten() {
            let mut whole = true;
            let params = &irv.alphabet.sources[source].params;
            let mut bind = |text: &str| {
                let here = Here::of_property(&self.images, Some(scope.clone()), &mut self.memo);
                compile(text, &here).map_err(|e| e.to_string())
            };
            let reads: Vec<Read> = params
                .iter()
                .map(|p| {
                    super::reads::of_place(p, Some(&scope), &mut bind).unwrap_or_else(|e| {
                        whole = false;
                        wrong = Some(e);
                        Read::without_place(&p.operand)
                    })
                })
                .collect();
            let plan: Plan = (reads.into(), Some(Arc::new(scope)));
            if whole {
                (chosen, wrong) = (Some(plan), None);
                break;
            }
            chosen.get_or_insert(plan);
        }
        let plan = chosen.unwrap_or_else(|| (Arc::from([]), None));
        if let Some(e) = wrong {
            let title = irv.alphabet.sources[source].title();
            irv.warnings.push(format!("event {title}: {e}"));
        }
        // A frame's own plan holds as long as the frame.
        if plan.1.as_ref().is_none_or(|s| s.frame.cfa.is_none()) {
            irv.plans.insert((source, pc), plan.clone());
        }
        plan
    }

    /// Reads one value by the registers given.
    fn read_now(
        &mut self,
        irv: &Irv,
        how: &How,
        tid: Tid,
        thread: &mut Thread,
        scope: Option<&FrameScope>,
    ) -> Owned {
        match how {
            How::Register {
                number,
                bytes,
                signed,
                boolean,
            } => {
                let mut regs = thread.regs;
                let Some(word) = place(&mut regs, *number) else {
                    return Owned::None;
                };
                register_value(*word, *bytes, *signed, *boolean)
            }
            _ => self.read_other(irv, how, tid, thread, scope),
        }
    }

    /// Reads a variable of the program while a thread ends; nothing when it is gone already.
    pub(super) fn read_at_end(&mut self, irv: &Irv, how: &How, tid: Tid) -> Option<Owned> {
        let mut thread = self.thread_of(tid)?;
        Some(match how {
            How::Node(..) => self.read_other(irv, how, tid, &mut thread, None),
            _ => Owned::None,
        })
    }

    /// What is not in a general register, out of the way of what is.
    #[inline(never)]
    fn read_other(
        &mut self,
        irv: &Irv,
        how: &How,
        tid: Tid,
        thread: &mut Thread,
        scope: Option<&FrameScope>,
    ) -> Owned {
        match how {
            How::Vector { number, single } => {
                self.with_vectors(tid, thread);
                match thread.dwarf().bytes(*number) {
                    Some(b) if *single && b.len() >= 4 => {
                        Owned::Float(f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into())
                    }
                    Some(b) if b.len() >= 8 => {
                        let mut word = [0; 8];
                        word.copy_from_slice(&b[..8]);
                        Owned::Float(f64::from_le_bytes(word))
                    }
                    _ => Owned::None,
                }
            }
            How::Node(node, form) | How::InPart(node, form) => {
                // Of a whole there may be members in general registers.
                if may_be_in_vectors(&node.ty) {
                    self.with_vectors(tid, thread);
                }
                let first = self.evaluate_at(node, *form, tid, thread, scope);
                if first == Owned::None && !thread.vectors {
                    // Perhaps it is in a vector register, which is read only when needed.
                    self.with_vectors(tid, thread);
                    return self.evaluate_at(node, *form, tid, thread, scope);
                }
                first
            }
            How::ByCaller(node, form) => {
                let scope = scope.map(|s| self.with_callers(s, thread));
                self.evaluate_at(node, *form, tid, thread, scope.as_ref())
            }
            How::Returned(ty, language, form) => {
                if !thread.vectors && !ty.is_integral() {
                    self.with_vectors(tid, thread);
                }
                let Some(live) = &self.live else {
                    return Owned::None;
                };
                let registers = thread.dwarf().clone();
                let memory = super::super::live::ProcessMemory(&live.process);
                match returned_value(ty, *language, &registers, &memory) {
                    Some(value) => self.own(tid, &value, *form),
                    None => Owned::None,
                }
            }
            How::Written(ty, form) => {
                let (Some(live), Some(at)) = (&self.live, thread.dwarf().get(INTEGER_ARGUMENTS[0]))
                else {
                    return Owned::None;
                };
                let memory = super::super::live::ProcessMemory(&live.process);
                let value = Value::at(ty.clone(), at, &memory);
                self.own(tid, &value, *form)
            }
            How::Tid => self.identity(tid),
            How::Time => Owned::uint(nanoseconds_since(irv.started)),
            How::AtEntry(register) => {
                let scope = scope.map(|s| match s.frame.cfa {
                    // The frame of a local knows its callers.
                    Some(_) => s.clone(),
                    None => self.with_callers(s, thread),
                });
                at_entry(register, scope.as_ref()).unwrap_or_default()
            }
            How::Register { .. }
            | How::Brought
            | How::Here
            | How::Kept
            | How::Caller
            | How::Unknown
            | How::Removed(_) => Owned::None,
        }
    }

    /// A value of the program as one of the property's.
    fn own(&mut self, tid: Tid, value: &Value, form: Form) -> Owned {
        let Some(live) = &mut self.live else {
            return Owned::None;
        };
        let here = Here {
            process: Some((&mut live.process, tid)),
            images: &self.images,
            frame: None,
            innermost: false,
            memo: &mut self.memo,
            names: Names::Offered,
        };
        Owned::of(value, form, &here)
    }

    #[inline(never)]
    fn with_vectors(&self, tid: Tid, thread: &mut Thread) {
        if thread.vectors {
            return;
        }
        thread.vectors = true;
        let Some(live) = &self.live else {
            return;
        };
        if let Ok(state) = live.process.xstate(tid) {
            thread.dwarf = Some(with_vectors(&thread.regs, &state));
        }
    }

    /// The scope of an instruction, with what the callers of its function say of the call.
    fn with_callers(&self, scope: &FrameScope, thread: &mut Thread) -> FrameScope {
        let mut scope = scope.clone();
        if let Some(live) = &self.live {
            let memory = super::super::live::ProcessMemory(&live.process);
            let registers = thread.dwarf().clone();
            let (frames, _) = verde_symbols::backtrace(&self.images, &memory, registers, CALLERS);
            let values = verde_symbols::call_site_values(&frames, 0, &memory);
            scope.entry = Some(Arc::new(values));
        }
        scope
    }

    #[inline(never)]
    fn evaluate_at(
        &mut self,
        node: &verde_expr::Node,
        form: super::values::Form,
        tid: Tid,
        thread: &mut Thread,
        scope: Option<&FrameScope>,
    ) -> Owned {
        let frame = scope.map(|s| {
            let mut frame = s.clone();
            // The frame of a local keeps its own registers.
            if frame.at_entry || frame.frame.cfa.is_none() {
                frame.frame.registers = thread.dwarf().clone();
                if frame.at_entry {
                    frame.frame.cfa = frame.frame.registers.sp().map(|sp| sp.wrapping_add(8));
                }
            }
            frame
        });
        let Some(live) = &mut self.live else {
            return Owned::None;
        };
        let mut frame = frame;
        if let Some(f) = &mut frame
            && f.frame.cfa.is_none()
        {
            let memory = super::super::live::ProcessMemory(&live.process);
            let (frames, _) =
                verde_symbols::backtrace(&self.images, &memory, f.frame.registers.clone(), 1);
            f.frame.cfa = frames.first().and_then(|f| f.cfa);
        }
        let mut here = Here {
            process: Some((&mut live.process, tid)),
            images: &self.images,
            frame,
            innermost: true,
            memo: &mut self.memo,
            names: Names::Offered,
        };
        match eval(node, &mut here) {
            Ok(value) => Owned::of(&value, form, &here),
            Err(_) => Owned::None,
        }
    }

    /// The function that called the one of the event.
    #[inline(never)]
    fn caller_name(&self, thread: &mut Thread, kind: Kind, when: When) -> Owned {
        let Some(live) = &self.live else {
            return Owned::None;
        };
        let ret = match (kind, when) {
            (Kind::Call, When::Before) => live.process.read_u64(Addr(thread.regs.rsp)).ok(),
            // It has returned: the thread is in the caller.
            (Kind::Call, When::After) => Some(thread.regs.rip),
            _ => {
                let memory = super::super::live::ProcessMemory(&live.process);
                let registers = thread.dwarf().clone();
                let (frames, _) = verde_symbols::backtrace(&self.images, &memory, registers, 2);
                frames.get(1).map(|f| f.pc)
            }
        };
        match ret.and_then(|ret| self.name_at(ret.wrapping_sub(1))) {
            Some(name) => Owned::Str(name),
            None => Owned::None,
        }
    }

    fn name_at(&self, addr: u64) -> Option<String> {
        let (module, bias) = self.images.module_at(addr)?;
        let at = FileAddr::of(addr, bias);
        if let Some(function) = module.function_at(at) {
            return Some(function.name);
        }
        let (symbol, _) = module.symbol_at(at)?;
        Some(demangle(symbol.name).unwrap_or_else(|| symbol.name.to_owned()))
    }

    /// Where a thread is, for an event that is not bound to one place.
    #[inline(never)]
    fn current_place(&self, irv: &mut Irv, tid: Tid, stands: Stands) -> Option<Arc<str>> {
        let live = self.live.as_ref()?;
        let pc = live.process.regs(tid).ok()?.rip;
        let at = match stands {
            Stands::At => pc,
            Stands::Behind => pc.wrapping_sub(1),
        };
        let known = irv.places.entry(at);
        known.or_insert_with(|| self.line_text(at)).clone()
    }

    fn apply_to(&mut self, irv: &mut Irv, source: usize, user: usize, at: &Moment) -> bool {
        let user = &irv.alphabet.sources[source].users[user];
        let Some(index) = irv.position(user.monitor) else {
            return false;
        };
        if !irv.ones[index].listens() {
            return false;
        }
        // Lent for the time of the event.
        let values = std::mem::take(&mut irv.values);
        let args: SmallVec<[Option<Arg>; 8]> = user
            .args
            .iter()
            .map(|i| Some(values.get(usize::from(*i)).map_or(Arg::None, Owned::arg)))
            .collect();
        let event = Event {
            n: irv.n,
            spec: user.spec,
            args: &args,
            tid: u64::try_from(at.tid.0).ok(),
            time: Some(at.time),
            loc: at.loc.as_deref(),
        };
        let relevant = self.apply_event(irv, index, &event, at.tid);
        drop(args);
        irv.values = values;
        if !relevant && irv.ones[index].switches.all_events {
            self.tell_not_taken(irv, source, index, at.tid);
        }
        relevant
    }

    /// `set_transition_debug_function`: an event that no state takes.
    #[cold]
    fn tell_not_taken(&mut self, irv: &mut Irv, source: usize, index: usize, tid: Tid) {
        let text = serde_json::json!([irv.alphabet.sources[source].name]).to_string();
        let at = (Some(tid), Some(irv.n));
        self.with_context(irv, index, at, |context, slices| {
            context.fire(slices, "debug", &text);
        });
    }

    /// One monitor sees an event. Whether some slice could take it.
    fn apply_event(&mut self, irv: &mut Irv, index: usize, event: &Event, tid: Tid) -> bool {
        let (monitor, mut parts) = irv.parts(index);
        let Some(monitor) = monitor else {
            return false;
        };
        parts.recorder.clear();
        let mut writes = Writes::default();
        let context = RefCell::new(parts.context(self, &mut writes, Some(tid)));
        let relevant = monitor.apply(event, &mut CodeHost(&context), &mut Watcher(&context));
        parts.carry_out(writes, monitor, Some(event.n));
        let gone = parts.latch.gone.take();
        let slices = monitor.slices();
        let moved = parts.latch.moved.take().and_then(|slice| match gone {
            Some((ended, history)) if ended == slice => Some(Moved::Ended(history)),
            _ if slices.is_live(slice) => Some(Moved::Live(slice, slices.created(slice))),
            _ => None,
        });
        let id = irv.ones[index].id;
        if let Some(moved) = moved {
            irv.moved = Some((id, moved));
        }
        let fallen = irv.latch.fallen.drain(..);
        irv.fallen.extend(fallen.map(|(past, history)| Fallen {
            monitor: id,
            past,
            history,
        }));
        relevant
    }

    /// Every property has seen the event: callbacks, rows, violations, failures.
    fn after_event(&mut self, irv: &mut Irv, source: usize, at: &Moment) {
        let show = irv.output.show();
        for user in 0..irv.alphabet.sources[source].users.len() {
            let monitor = irv.alphabet.sources[source].users[user].monitor;
            let Some(index) = irv.position(monitor) else {
                continue;
            };
            if irv.ones[index].monitor.is_none() {
                continue;
            }
            if show != crate::replay::Show::Final {
                irv.show_event(index, source);
            }
            self.event_applied(irv, index, at.tid);
            let one = &mut irv.ones[index];
            if one.switches.step_by_step && one.listens() {
                irv.latch.stop = true;
            }
            let violations = std::mem::take(&mut one.recorder.violations);
            for found in violations {
                self.violated(irv, index, found, Some(at));
            }
            let failures = std::mem::take(&mut irv.ones[index].recorder.failures);
            for failure in failures {
                self.failed(irv, index, &failure);
            }
            if let Some(failure) = irv.ones[index].recorder.callback.take() {
                self.callback_failed(irv, index, &failure);
            }
        }
    }

    /// Slices that broke their property at no event: somebody has put them into a state.
    pub(super) fn report_found(&mut self, irv: &mut Irv, index: usize) {
        let found = std::mem::take(&mut irv.ones[index].recorder.violations);
        for violation in found {
            self.violated(irv, index, violation, None);
        }
    }

    /// A slice breaks its property.
    #[cold]
    pub(super) fn violated(
        &mut self,
        irv: &mut Irv,
        index: usize,
        found: Found,
        at: Option<&Moment>,
    ) {
        let one = &irv.ones[index];
        let (id, stops) = (one.id, one.stops);
        let Some(m) = &one.monitor else {
            return;
        };
        let tid = at.and_then(|a| u64::try_from(a.tid.0).ok());
        let loc = at.and_then(|a| a.loc.clone());
        let mut row = violation_row(m, found, irv.choices.history, tid, loc.as_deref());
        if let Some(at) = at {
            let frames = self.stack(at.tid, MOST_CALLS, irv.stands);
            row.source = frames.iter().map(|f| self.text_of_line(f)).collect();
            row.backtrace = Some(frames.into_iter().map(|f| f.text).collect());
        }
        for event in &mut row.history {
            event.backtrace = irv.stacks.get(&event.n).map(|s| s.to_vec());
        }
        let frames = row.backtrace.as_deref().unwrap_or_default();
        if irv
            .known
            .as_ref()
            .is_some_and(|known| known(&row.property, frames))
        {
            irv.ones[index].tally.suppressed += 1;
            return;
        }
        // What was to be seen closer has been seen.
        if irv.zoom.take().is_some() {
            irv.latch.reinstrument = true;
        }
        if at.is_some() && self.can_zoom(irv) {
            irv.zoomed = true;
            irv.latch.zoom = Some(id);
            irv.put_off = Some((id, row));
            return;
        }
        if self.automation.zoom && at.is_some() && !irv.zoomed {
            irv.zoomed = true;
            let text = "no checkpoint is from before this event, so it cannot be seen closer";
            irv.output.remark(&mut self.out, text);
        }
        let is_new = irv.ones[index].count_violation(&row);
        irv.put_off = None;
        irv.latch.violated = true;
        if matches!(irv.output, super::Output::Prompt) {
            let again = if is_new { "" } else { " (found again)" };
            let line = super::methods::violation_line(&row);
            irv.latch.lines.push(line + again);
            // A scenario decides for itself what to stop for.
            irv.latch.stop |= stops && irv.scenario.is_none() && at.is_some();
        }
        self.board_violation(irv, &row, at.map(|a| a.time));
        if is_new {
            irv.output.row(Row::Violation(row));
        }
    }

    /// The calls of a thread, innermost first: `f at file.c:12`.
    #[cold]
    pub(super) fn stack_text(&self, tid: Tid, limit: usize, stands: Stands) -> Vec<String> {
        let frames = self.stack(tid, limit, stands).into_iter();
        frames.map(|f| f.text).collect()
    }

    /// The source of a call, if its file can be read.
    fn text_of_line(&mut self, frame: &Call) -> Option<String> {
        let (file, line) = frame.line.as_ref()?;
        let index = usize::try_from(*line).ok()?.checked_sub(1)?;
        let text = self.sources.lines(file)?.get(index)?;
        Some(text.trim().to_owned())
    }

    fn stack(&self, tid: Tid, limit: usize, stands: Stands) -> Vec<Call> {
        let Some(live) = &self.live else {
            return Vec::new();
        };
        let Ok(regs) = live.process.regs(tid) else {
            return Vec::new();
        };
        let memory = super::super::live::ProcessMemory(&live.process);
        let dwarf = to_dwarf(regs);
        let (mut frames, _) = verde_symbols::backtrace(&self.images, &memory, dwarf, limit);
        if let Some(innermost) = frames.first_mut() {
            innermost.is_exact = stands == Stands::At;
        }
        let found = Levels::of(frames, limit, is_main);
        let mut out = Vec::new();
        for (code, source) in found.levels {
            let frame = &found.frames[code];
            let text = match source {
                Some(source) => {
                    let place = source
                        .line
                        .as_ref()
                        .map(|(file, line)| format!(" at {}:{line}", file.name));
                    out.push(Call {
                        text: format!("{}{}", source.name, place.unwrap_or_default()),
                        line: source.line.clone(),
                    });
                    continue;
                }
                None => self.name_at(frame.lookup()),
            };
            let module = frame.module.as_ref().map(|(m, _)| m.path().display());
            let from = module.map(|m| format!(" from {m}")).unwrap_or_default();
            out.push(Call {
                text: format!("{}{from}", text.as_deref().unwrap_or("??")),
                line: None,
            });
        }
        out
    }
}

/// A call of a backtrace.
struct Call {
    text: String,
    line: Option<(Arc<SourceFile>, u32)>,
}

/// How parameters are read, and where.
pub type Plan = (Arc<[Read]>, Option<Arc<FrameScope>>);

/// When and where an event happened.
pub struct Moment {
    pub tid: Tid,
    pub time: u64,
    pub loc: Option<Arc<str>>,
}

/// Where a thread is at its event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// At the instruction that is meant.
    At,
    /// Behind it, after a store or a call: the next one may belong to another line.
    Behind,
}

impl Irv {
    /// A line about the event that was applied.
    #[inline(never)]
    fn show_event(&mut self, index: usize, source: usize) {
        let one = &mut self.ones[index];
        let Some(m) = one.monitor.as_ref().filter(|_| one.listens()) else {
            return;
        };
        let name = self.alphabet.sources[source].name.clone();
        let show = self.output.show();
        let row = event_row(m, &mut one.recorder, show, self.n, name, &mut self.python);
        self.output.row(Row::Event(row));
    }

    /// A trap is for this, too.
    pub(super) fn add_target(&mut self, id: TrapId, target: Target) {
        let targets = self.targets.entry(id).or_default();
        if !targets.contains(&target) {
            targets.push(target);
        }
    }

    fn targets_of(&self, id: TrapId) -> SmallVec<[Target; 2]> {
        self.targets.get(&id).cloned().unwrap_or_default()
    }

    /// What the monitors want the prompt to do, once.
    pub(super) fn take_latch(&mut self) -> Latch {
        std::mem::take(&mut self.latch)
    }
}

/// What a register held at the entry of a frame's function.
fn at_entry(register: &How, scope: Option<&FrameScope>) -> Option<Owned> {
    let How::Register {
        number,
        bytes,
        signed,
        boolean,
    } = register
    else {
        return None;
    };
    let word = scope?.entry.as_ref()?.entry_register(*number)?;
    Some(register_value(word, *bytes, *signed, *boolean))
}

fn register_value(word: u64, bytes: u8, signed: bool, boolean: bool) -> Owned {
    match (boolean, cast(word, bytes, signed)) {
        (true, number) => Owned::Bool(number != Owned::Int(0)),
        (false, number) => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_narrowed_to_their_type() {
        assert_eq!(
            register_value(0xffff_ffff_ffff_fffb, 4, true, false),
            Owned::Int(-5)
        );
        assert_eq!(
            register_value(0x1_0000_00c8, 1, false, false),
            Owned::Int(200)
        );
        assert_eq!(
            register_value(u64::MAX, 8, false, false),
            Owned::UInt(u64::MAX)
        );
        assert_eq!(register_value(0x100, 1, false, true), Owned::Bool(false));
        assert_eq!(register_value(0x100, 4, true, true), Owned::Bool(true));
        assert_eq!(register_value(1 << 32, 4, true, true), Owned::Bool(false));
    }
}

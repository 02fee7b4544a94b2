//! step, next, finish, until and their like.

use super::Debugger;
use super::failure::{NOT_RUN, Result, failure};
use super::guide::SymbolGuide;
use super::settings::Locking;
use super::stops::Reason;
use std::rc::Rc;
use verde_engine::{Addr, FrameRef, Guide, StepKind};
use verde_expr::{Data, Value, print_value, returned_value};
use verde_symbols::{FileAddr, Language, Modules, Type, is_returned_in_memory};

/// Which activations of its function a place counts in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Activation {
    Any,
    /// The selected one; calls that it makes are passed, those of the function itself as well.
    Selected,
}

impl Debugger {
    pub(super) fn step(&mut self, args: &str) -> Result<()> {
        self.steps(StepKind::Into, args)
    }

    pub(super) fn next(&mut self, args: &str) -> Result<()> {
        self.steps(StepKind::Over, args)
    }

    pub(super) fn stepi(&mut self, args: &str) -> Result<()> {
        self.steps(StepKind::Instruction, args)
    }

    pub(super) fn nexti(&mut self, args: &str) -> Result<()> {
        self.steps(StepKind::InstructionOver, args)
    }

    fn steps(&mut self, kind: StepKind, args: &str) -> Result<()> {
        if self.live.is_none() {
            return failure(NOT_RUN);
        }
        let count = match args {
            "" => 1,
            text => self.number(text)?,
        };
        for left in (0..count).rev() {
            let before = self.standing();
            let (reason, was_left) = self.whole_step(kind)?;
            // Only where it ends is of interest.
            if left > 0 && matches!(reason, Reason::Step | Reason::StepCaught) {
                continue;
            }
            // Another call is another frame, also when it is inlined.
            let same = !was_left && self.standing().calls == before.calls;
            return self.announce(reason, before.frame.filter(|_| same));
        }
        Ok(())
    }

    /// Without line information a step by line leaves the function.
    fn kind_here(&mut self, kind: StepKind) -> Result<StepKind> {
        let Some(live) = &self.live else {
            return failure(NOT_RUN);
        };
        let pc = live.frame(0)?.pc;
        if !matches!(kind, StepKind::Into | StepKind::Over) || self.line_at(pc).is_some() {
            return Ok(kind);
        }
        let name = self.function_name(0).unwrap_or_else(|| "??".to_owned());
        self.say(&format!(
            "Single stepping until exit from function {name},\n\
             which has no line number information."
        ))?;
        Ok(StepKind::Out)
    }

    /// A step by line that returned into the middle of the caller's line goes
    /// on to the end of that line. Also whether it has left the frame that it began in: the next
    /// call from the same place has one that looks the same.
    fn whole_step(&mut self, kind: StepKind) -> Result<(Reason, bool)> {
        let first = self.kind_here(kind)?;
        if !matches!(kind, StepKind::Into | StepKind::Over) {
            return Ok((self.one_step(first)?, false));
        }
        // The call that the program is about to make is entered without a move.
        if kind == StepKind::Into && self.enter_inlined()? {
            return Ok((Reason::Step, false));
        }
        let mut start = self.standing();
        let (began, mut left) = (start.frame, false);
        let first = match first {
            // It stands before one that is skipped.
            StepKind::Into if start.before_call => StepKind::Over,
            first => first,
        };
        let mut reason = self.one_step(first)?;
        while matches!(reason, Reason::Step) && self.current_line().is_some() {
            // Back in the caller, in the middle of the line that called: what is inlined
            // there is gone over as well.
            let now = self.standing();
            let is_outer = |now: FrameRef| began.is_some_and(|began| now.cfa > began.cfa);
            left |= now.frame.is_none_or(is_outer);
            let mut guide = self.symbol_guide();
            let is_back = self.returned_to_skipped(kind, &start);
            if is_back || (now.frame != start.frame && self.is_inside_line(0)) {
                start = self.standing();
                guide.piece = self.stray_piece().filter(|_| !is_back);
                if guide.piece.is_some() {
                    start.in_no_line();
                }
            }
            if !self.goes_on(kind, &start) {
                break;
            }
            let skipping = self.standing().before_call || self.is_skipping(&start);
            let kind = match skipping {
                true => StepKind::Over,
                false => kind,
            };
            reason = self.one_step_by(kind, Rc::new(guide))?;
        }
        Ok((reason, left))
    }

    /// The address of the thread where code begins that was moved before its statement.
    fn stray_piece(&self) -> Option<Addr> {
        let pc = self.live.as_ref()?.frame(0).ok()?.pc;
        let span = self.line_at(pc)?;
        let begins = span.begin == self.file_address(pc);
        (begins && !span.is_stmt).then_some(Addr(pc))
    }

    pub(super) fn one_step(&mut self, kind: StepKind) -> Result<Reason> {
        let guide = Rc::new(self.symbol_guide());
        self.one_step_by(kind, guide)
    }

    pub(super) fn symbol_guide(&self) -> SymbolGuide {
        SymbolGuide {
            images: self.images.clone(),
            skips: self.skips.clone(),
            piece: None,
        }
    }

    pub(super) fn one_step_by(&mut self, kind: StepKind, guide: Rc<dyn Guide>) -> Result<Reason> {
        if let Some(reason) = self.apply_deferred()? {
            return Ok(reason);
        }
        if !matches!(kind, StepKind::Instruction) {
            self.observe_exits()?;
        }
        self.give_terminal();
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        let is_locked = self.settings.locking != Locking::Off;
        live.process.tell_when_left(is_locked);
        live.process.leave_group_stop()?;
        live.process.step(live.tid, kind, guide)?;
        if !is_locked {
            live.process.resume_all()?;
        }
        self.wait()
    }

    pub(super) fn until(&mut self, args: &str) -> Result<()> {
        if !args.is_empty() {
            return self.go_to(args, Activation::Selected);
        }
        let Some(live) = &self.live else {
            return failure(NOT_RUN);
        };
        let (before, pc) = (live.frame_ref(0), live.frame(0)?.pc);
        // At the bottom of a loop the way back leads to code before, or to the line itself; so does
        // the end of a call that the function has made of itself.
        let passed = self.entry_of_function(pc)..self.end_of_line(pc);
        loop {
            let (reason, _) = self.whole_step(StepKind::Over)?;
            let now = self.live.as_ref().and_then(|live| live.frame(0).ok());
            let is_passed = now.is_some_and(|frame| passed.contains(&frame.pc));
            if !is_passed || !matches!(reason, Reason::Step) {
                return self.announce(reason, before);
            }
        }
    }

    /// Where the function of an address begins.
    fn entry_of_function(&self, pc: u64) -> u64 {
        let found = self.images.module_at(pc).and_then(|(module, bias)| {
            let function = module.function_at(FileAddr::of(pc, bias))?;
            Some(function.entry.at(bias))
        });
        found.unwrap_or(pc)
    }

    /// Where the code of the line at an address ends, in one piece.
    fn end_of_line(&self, pc: u64) -> u64 {
        let Some((module, bias)) = self.images.module_at(pc) else {
            return pc;
        };
        let Some(mut span) = module.line_at(FileAddr::of(pc, bias)) else {
            return pc;
        };
        while let Some(next) = module.line_at(FileAddr(span.end))
            && (next.line, &next.file) == (span.line, &span.file)
            && next.end > span.end
        {
            span = next;
        }
        FileAddr(span.end).at(bias)
    }

    pub(super) fn advance(&mut self, args: &str) -> Result<()> {
        self.go_to(args, Activation::Any)
    }

    /// Until a place is reached, or the selected frame returns.
    fn go_to(&mut self, args: &str, reached_in: Activation) -> Result<()> {
        if self.live.is_none() {
            return failure(NOT_RUN);
        }
        if args.is_empty() {
            return failure("Where to?  Name a function, FILE:LINE or *ADDRESS.");
        }
        let place = self.settled(args)?;
        let sites = self.sites(&place)?;
        let Some(at) = sites.first().and_then(|s| self.address(s)) else {
            return failure(format!("\"{args}\" is not loaded."));
        };
        let selected = self.live.as_ref();
        let frame = selected.and_then(|live| live.frame_ref(live.selected));
        loop {
            let reason = self.one_step(StepKind::Until(Addr(at), frame))?;
            let is_passed = reached_in == Activation::Selected
                && matches!(reason, Reason::Step)
                && self.is_called_by(frame);
            if !is_passed {
                return self.announce(reason, None);
            }
        }
    }

    /// Whether the program is in a call that a frame has made.
    fn is_called_by(&self, frame: Option<FrameRef>) -> bool {
        let innermost = self.live.as_ref().and_then(|live| live.frame_ref(0));
        // Stacks grow downwards.
        matches!((innermost, frame), (Some(now), Some(frame)) if now.cfa.0 < frame.cfa.0)
    }

    pub(super) fn finish(&mut self, _: &str) -> Result<()> {
        let Some(live) = &self.live else {
            return failure(NOT_RUN);
        };
        let level = live.selected;
        let Some(frame) = live.frame_ref(level) else {
            return failure("\"finish\" not meaningful in the outermost frame.");
        };
        if live.is_outermost(level) {
            return failure("\"finish\" not meaningful in the outermost frame.");
        }
        let result = live.frame(level).ok().and_then(|frame| {
            let (module, _) = frame.module.as_ref()?;
            let function = module.function_at(frame.file_addr()?)?;
            Some((module.return_type(&function)?, module.convention(&function)))
        });
        if let Some(reason) = self.apply_deferred()? {
            return self.announce(reason, None);
        }
        let line = self.frame_text(level, true);
        self.say(&format!("Run till exit from {line}"))?;
        // Nobody knows where an inlined call leaves its value.
        if let Some(call) = self.inlined_call(level) {
            let reason = self.leave_inlined(level, call)?;
            return self.announce(reason, None);
        }
        let reason = self.one_step(StepKind::OutOf(frame))?;
        // Not so where an exception or a longjmp has ended it.
        let pc = self.live.as_ref().and_then(|l| Some(l.frame(0).ok()?.pc));
        let returned = match &reason {
            Reason::Step => pc == Some(frame.return_to.0),
            // What ended with the function was also to be told: a watchpoint of its variables.
            Reason::Point(_) => self.has_just_left(frame),
            _ => false,
        };
        if returned && matches!(reason, Reason::Step) {
            self.stand_before_calls();
        }
        self.announce(reason, None)?;
        match result {
            Some((ty, language)) if returned => {
                match self.result_of(&ty, language, frame.return_to.0) {
                    Some(value) => self.say_returned(value),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Whether the selected thread has done nothing since a frame returned.
    fn has_just_left(&self, frame: FrameRef) -> bool {
        let live = self.live.as_ref();
        let regs = live.and_then(|l| l.process.regs(l.tid).ok());
        regs.is_some_and(|r| (Addr(r.rip), Addr(r.rsp)) == (frame.return_to, frame.cfa))
    }

    /// What a function has just returned.
    fn result_of(&mut self, ty: &Type, language: Language, return_to: u64) -> Option<Value> {
        let is_written = language == Language::Rust && is_returned_in_memory(ty, language);
        let written = match is_written {
            true => self.result_place(return_to),
            false => None,
        };
        let here = self.here();
        if let Some(at) = written {
            return Some(Value::at(ty.clone(), at, &here));
        }
        let registers = here.frame.as_ref()?.frame.registers.clone();
        let value = returned_value(ty, language, &registers, &here)?;
        // An address that is none: nobody knows where the result is.
        let is_lost = is_written && matches!(value.data, Data::Missing(_));
        (!is_lost).then_some(value)
    }

    fn say_returned(&mut self, value: Value) -> Result<()> {
        if value.ty.size().unwrap_or(0) == 0 {
            return Ok(());
        }
        if let Data::Missing(why) = &value.data {
            return self.say(&format!("Value returned is not available: {why}"));
        }
        let options = self.settings.print.clone();
        let text = print_value(&value, &self.here(), &options)?;
        let number = self.memo.remember(value);
        self.say(&format!("Value returned is ${number} = {text}"))
    }
}

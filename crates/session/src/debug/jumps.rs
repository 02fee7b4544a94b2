//! Going on elsewhere than where the program stopped: jump, return, signal.

use super::Debugger;
use super::failure::{NO_STACK, NOT_RUN, Result, failure};
use super::registers::over;
use verde_symbols::{Encoding, Kind, Type};

/// A result as the caller finds it in registers.
enum Returned {
    Integer(u64),
    Float([u8; 16]),
}

impl Debugger {
    pub(super) fn jump(&mut self, args: &str) -> Result<()> {
        if self.live.is_none() {
            return failure(NOT_RUN);
        }
        if args.is_empty() {
            return failure("Where to?  jump LINE, FILE:LINE, FUNCTION or *ADDRESS");
        }
        let place = self.settled(args)?;
        let sites = self.sites(&place)?;
        let [site] = sites.as_slice() else {
            return failure(format!(
                "Unreasonable jump request: \"{args}\" is not one place."
            ));
        };
        let Some(at) = self.address(site) else {
            return failure(format!("\"{args}\" is not loaded."));
        };
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        let mut regs = *live.process.regs(live.tid)?;
        regs.rip = at;
        live.process.set_regs(live.tid, &regs)?;
        self.say(&format!("Continuing at {at:#x}."))?;
        self.go_on()
    }

    /// Leaves the selected function without running the rest of it.
    pub(super) fn return_now(&mut self, args: &str) -> Result<()> {
        let Some(live) = &self.live else {
            return failure(NO_STACK);
        };
        let Some(level) = live.levels.get(live.selected).cloned() else {
            return failure(NO_STACK);
        };
        if level.source.as_ref().is_some_and(|s| s.is_inlined) {
            return failure("Can not force return from an inlined function.");
        }
        let (Some(frame), Some(caller)) = (live.frames.get(level.code), live.caller(level.code))
        else {
            return failure("Can not force return from the outermost function.");
        };
        let (known, pc) = (caller.registers.clone(), caller.pc);
        let result = frame.module.as_ref().and_then(|(module, _)| {
            let function = module.function_at(frame.file_addr()?)?;
            module.return_type(&function)
        });
        let value = match args {
            "" => None,
            text => Some(self.returned(text, result.as_ref())?),
        };
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        let mut regs = over(live.process.regs(live.tid)?, &known);
        regs.rip = pc;
        match value {
            Some(Returned::Integer(word)) => regs.rax = word,
            Some(Returned::Float(bytes)) => {
                let mut state = live.process.xstate(live.tid)?;
                state.set_xmm(0, bytes);
                live.process.set_xstate(live.tid, &state)?;
            }
            None => {}
        }
        live.process.set_regs(live.tid, &regs)?;
        let tid = live.tid;
        live.look(tid, &self.images)?;
        self.listing.reset();
        self.say_frame(0, true)
    }

    /// A value as a function of this type returns it.
    fn returned(&mut self, text: &str, ty: Option<&Type>) -> Result<Returned> {
        let value = self.evaluate(text)?;
        let size = ty.and_then(Type::size).unwrap_or(8);
        let float = match ty.map(|t| t.strip().kind().clone()) {
            Some(Kind::Base(Encoding::Float)) => true,
            Some(Kind::Record(_) | Kind::Array(..)) => {
                return failure("Only numbers and pointers can be returned.");
            }
            _ => false,
        };
        if !float {
            let wide = value.to_integer()?;
            return Ok(Returned::Integer(wide as u64));
        }
        let number = match value.to_float() {
            Ok(number) => number,
            Err(_) => value.to_integer()? as f64,
        };
        let mut bytes = [0; 16];
        match size {
            4 => bytes[..4].copy_from_slice(&(number as f32).to_le_bytes()),
            8 => bytes[..8].copy_from_slice(&number.to_le_bytes()),
            _ => return failure("A value of this type cannot be returned."),
        }
        Ok(Returned::Float(bytes))
    }

    /// `signal SIGNAL`: goes on with this signal; 0 is none.
    pub(super) fn signal(&mut self, args: &str) -> Result<()> {
        let signal = self.signal_for_thread(args)?;
        let text = match signal {
            Some(signal) => format!("signal {}", verde_sys::signals::name(signal)),
            None => "no signal".to_owned(),
        };
        self.say(&format!("Continuing with {text}."))?;
        self.go_on()
    }

    /// It comes when the program goes on, by whatever command.
    pub(super) fn queue_signal(&mut self, args: &str) -> Result<()> {
        self.signal_for_thread(args).map(drop)
    }

    /// Gives the selected thread a signal in place of the one that it has, or none.
    fn signal_for_thread(&mut self, args: &str) -> Result<Option<i32>> {
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        let signal = match args {
            "" => return failure("Which signal?  signal SIGUSR1; signal 0 for none"),
            "0" => None,
            name => match verde_sys::signals::by_name(name) {
                Some(signal) => Some(signal),
                None => return failure(format!("Unknown signal name '{name}'.")),
            },
        };
        match signal {
            Some(signal) => live.process.give_signal(live.tid, signal)?,
            None => live.process.cancel_signal(live.tid)?,
        }
        Ok(signal)
    }
}

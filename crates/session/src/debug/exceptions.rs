//! Catchpoints of C++ exceptions: `catch throw`, `catch catch` and `catch rethrow`, of all types
//! or of those whose names match.

use super::Debugger;
use super::failure::{Failure, NOT_RUN, Result, failure};
use super::location::take_condition;
use super::points::Kind;
use regex_lite::Regex;
use verde_engine::{Addr, Process, Tid};
use verde_symbols::demangle;

/// Exceptions are caught where the C++ library handles them.
#[derive(Clone, Copy)]
enum Moment {
    Throw,
    Catch,
    Rethrow,
}

/// What a catchpoint of exceptions waits for.
pub(super) struct Exception {
    moment: Moment,
    /// Only exceptions of types whose names fit.
    matching: Option<Regex>,
}

impl Exception {
    /// The moment's word of `catch`; `None`: it is none of these.
    fn parse(word: &str, matching: &str) -> Result<Option<Exception>> {
        let moment = match word {
            "throw" => Moment::Throw,
            "catch" => Moment::Catch,
            "rethrow" => Moment::Rethrow,
            _ => return Ok(None),
        };
        let matching = match matching {
            "" => None,
            text => Some(
                Regex::new(text)
                    .map_err(|e| Failure(format!("invalid type-matching regexp: {e}")))?,
            ),
        };
        Ok(Some(Exception { moment, matching }))
    }

    pub fn word(&self) -> &'static str {
        match self.moment {
            Moment::Throw => "throw",
            Moment::Catch => "catch",
            Moment::Rethrow => "rethrow",
        }
    }

    /// What has happened at a stop.
    pub fn done(&self) -> &'static str {
        match self.moment {
            Moment::Throw => "thrown",
            Moment::Catch => "caught",
            Moment::Rethrow => "rethrown",
        }
    }

    fn function(&self) -> &'static str {
        match self.moment {
            Moment::Throw => "__cxa_throw",
            Moment::Catch => "__cxa_begin_catch",
            Moment::Rethrow => "__cxa_rethrow",
        }
    }

    /// The types that it is for, as they were asked for.
    pub fn matching(&self) -> Option<&str> {
        self.matching.as_ref().map(Regex::as_str)
    }

    /// As `catch` takes it.
    pub fn typed(&self) -> String {
        match self.matching() {
            Some(text) => format!("{} {text}", self.word()),
            None => self.word().to_owned(),
        }
    }
}

/// The ABI's header of an exception begins with its type, or with what stands for another
/// exception, and ends with what the unwinder knows it by.
const HEADER: u64 = 80;
/// The unwinder's part, between the header and the object that was thrown.
const UNWINDER: u64 = 32;
/// Who made an exception, in the unwinder's first word: `GNUCC++`. Others have other headers.
const MAKER: u64 = 0x0047_4e55_4343_2b2b;
/// The longest name of a type.
const LONGEST: usize = 1 << 16;

fn word(process: &Process, at: u64) -> Result<u64> {
    let mut bytes = [0; 8];
    process.read(Addr(at), &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Where the type of an exception is told, by the unwinder's part of it; `None`: it is not of C++.
fn type_info(process: &Process, unwinder: u64) -> Result<Option<u64>> {
    let class = word(process, unwinder)?;
    if class >> 8 != MAKER {
        return Ok(None);
    }
    let first = word(process, unwinder.wrapping_sub(HEADER))?;
    Ok(Some(match class & 0xff {
        0 => first,
        // It stands for one that was thrown before (std::exception_ptr).
        _ => word(process, first.wrapping_sub(UNWINDER + HEADER))?,
    }))
}

/// The name of a type as it is written.
fn type_name(process: &Process, info: u64) -> Result<String> {
    let mut at = word(process, info.wrapping_add(8))?;
    let mut name = Vec::new();
    let mut byte = [0];
    while name.len() < LONGEST && process.read(Addr(at), &mut byte).is_ok() && byte[0] != 0 {
        name.push(byte[0]);
        at = at.wrapping_add(1);
    }
    let name = String::from_utf8_lossy(&name);
    // One that is compared by its address begins with a star.
    let name = name.trim_start_matches('*');
    let readable = demangle(&format!("_ZTS{name}"));
    let readable = readable
        .as_deref()
        .and_then(|r| r.strip_prefix("typeinfo name for "));
    Ok(readable.unwrap_or(name).to_owned())
}

impl Debugger {
    /// `catch throw [REGEX] [if CONDITION]` and its like; whether it was one.
    pub(super) fn catch_exception(
        &mut self,
        word: &str,
        rest: &str,
        temporary: bool,
    ) -> Result<bool> {
        let (matching, condition) = take_condition(rest)?;
        let Some(exception) = Exception::parse(word, matching)? else {
            return Ok(false);
        };
        let spec = exception.function().to_owned();
        // The C++ library, or one that needs it, may come later.
        let mut sites = self.sites(&spec).unwrap_or_default();
        let condition = match condition {
            Some(text) => Some(self.new_condition(&spec, &mut sites, text)?),
            None => None,
        };
        let number = self.add_point(Kind::Code { spec, sites }, temporary, condition);
        self.points.get_mut(number)?.exception = Some(exception);
        self.arm()?;
        self.say(&format!("Catchpoint {number} ({word})"))?;
        Ok(true)
    }

    /// Whether a point is for the exception that a thread is about to handle.
    pub(super) fn is_for_exception(&mut self, tid: Tid, index: usize) -> Result<bool> {
        let exception = self.points.list[index].exception.as_ref();
        let Some((moment, regex)) = exception.and_then(|e| Some((e.moment, e.matching.clone()?)))
        else {
            return Ok(true);
        };
        let name = self.exception_type(tid, moment)?;
        Ok(name.is_some_and(|name| regex.is_match(&name)))
    }

    /// The type of the exception that a thread is about to handle.
    fn exception_type(&mut self, tid: Tid, moment: Moment) -> Result<Option<String>> {
        let of_rethrown = match moment {
            // The exception caught last is in what the thread has for itself.
            Moment::Rethrow => {
                let header = "*(unsigned long *)((void *(*)(void))__cxa_get_globals)()";
                Some(self.value_in(tid, None, header)?.to_address()?)
            }
            Moment::Throw | Moment::Catch => None,
        };
        let Some(live) = &self.live else {
            return failure(NOT_RUN);
        };
        let process = &live.process;
        let regs = process.regs(tid)?;
        let info = match (moment, of_rethrown) {
            (_, Some(0)) => None,
            (_, Some(header)) => type_info(process, header.wrapping_add(HEADER))?,
            (Moment::Throw, None) => Some(regs.rsi),
            (_, None) => type_info(process, regs.rdi)?,
        };
        info.map(|info| type_name(process, info)).transpose()
    }
}

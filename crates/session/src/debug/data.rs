//! Values and types: print, ptype, x.

use super::Debugger;
use super::failure::{Result, failure};
use super::live::Live;
use super::print_settings::take_print_options;
use verde_expr::{
    Examine, Format, PrintOptions, Value, examine, layout, print_value, ptype, type_named, whatis,
};
use verde_symbols::{Encoding, Kind, Type};

/// Splits `/FORMAT rest`.
pub(super) fn split_format(args: &str) -> (&str, &str) {
    match args.strip_prefix('/') {
        Some(rest) => {
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(rest.len());
            (&rest[..end], rest[end..].trim())
        }
        None => ("", args),
    }
}

/// Options with what `/FORMAT` says.
fn with_format(mut options: PrintOptions, letters: &str) -> Result<PrintOptions> {
    for letter in letters.chars() {
        match Format::from_letter(letter) {
            Some(Format::Raw) => options.pretty = false,
            Some(Format::Instruction) | None => {
                return failure(format!("Undefined output format \"{letter}\"."));
            }
            format => options.format = format,
        }
    }
    Ok(options)
}

impl Debugger {
    /// How `/FORMAT` prints a value.
    pub(super) fn print_options(&self, letters: &str) -> Result<PrintOptions> {
        with_format(self.settings.print.clone(), letters)
    }

    /// The last values that were printed.
    pub(super) fn show_values(&mut self) -> Result<()> {
        const MOST: usize = 10;
        let all = self.memo.values();
        let first = all.len().saturating_sub(MOST);
        let last: Vec<(usize, Value)> = all.iter().cloned().enumerate().skip(first).collect();
        let named = last.into_iter().map(|(i, v)| ((i + 1).to_string(), v));
        let lines = self.value_lines(named.collect());
        self.say_all(lines, "No values have been printed.")
    }

    /// The variables of the session.
    pub(super) fn show_conveniences(&mut self) -> Result<()> {
        let lines = self.value_lines(self.memo.conveniences());
        self.say_all(
            lines,
            "There are no variables of the session: set $NAME = VALUE makes one.",
        )
    }

    fn value_lines(&mut self, values: Vec<(String, Value)>) -> Vec<String> {
        let options = self.settings.print.clone();
        let here = self.here();
        let show = |v: &Value| match v.ty.strip().kind() {
            Kind::Void => "void".to_owned(),
            _ => print_value(v, &here, &options).unwrap_or_else(|e| format!("<error: {e}>")),
        };
        let lines = values
            .iter()
            .map(|(name, v)| format!("${name} = {}", show(v)));
        lines.collect()
    }

    pub(super) fn print(&mut self, args: &str) -> Result<()> {
        self.show_value(args, false)
    }

    pub(super) fn call(&mut self, args: &str) -> Result<()> {
        self.show_value(args, true)
    }

    fn show_value(&mut self, args: &str, silent_void: bool) -> Result<()> {
        self.memo.take_passed();
        let shown = self.print_one(args, silent_void);
        let ended = |l: &Live| l.process.ended().is_some();
        if shown.is_err() && self.live.as_ref().is_some_and(ended) {
            let reason = self.wait()?;
            self.announce(reason, None)?;
            return failure("The program ended while in a function that was called from here.");
        }
        self.say_passed()?;
        shown
    }

    /// A function called from the prompt runs to its end: who waits at a breakpoint in it is told.
    fn say_passed(&mut self) -> Result<()> {
        let passed = self.memo.take_passed();
        let mut numbers: Vec<u32> = Vec::new();
        for id in passed {
            numbers.extend(self.points.of_trap(id));
        }
        let mut told = Vec::new();
        for number in numbers {
            let point = self.points.get_mut(number)?;
            let tested = point.condition.is_none();
            point.hits += u64::from(tested);
            if !told.contains(&number) {
                told.push(number);
                let note = match tested {
                    true => "",
                    false => " (its condition was not tested)",
                };
                self.say(&format!(
                    "The call passed breakpoint {number}{note}: the program does not stop in \
                     functions called from the prompt."
                ))?;
            }
        }
        Ok(())
    }

    fn print_one(&mut self, args: &str, silent_void: bool) -> Result<()> {
        let mut print = self.settings.print.clone();
        let args = take_print_options(&mut print, args)?;
        let (letters, text) = split_format(args);
        let options = with_format(print, letters)?;
        let text = if text.is_empty() { "$" } else { text };
        let states = self.with_states(text, false)?;
        let text = states.as_deref().unwrap_or(text);
        let value = self.evaluate(text)?;
        let is_void = matches!(value.ty.strip().kind(), Kind::Void);
        if is_void && silent_void {
            return Ok(());
        }
        let shown = match is_void {
            true => "void".to_owned(),
            false => print_value(&value, &self.here(), &options)?,
        };
        let number = self.memo.remember(value);
        if text.contains('=') || text.contains("++") || text.contains("--") {
            self.look_again()?;
        }
        self.say(&format!("${number} = {shown}"))
    }

    pub(super) fn ptype(&mut self, args: &str) -> Result<()> {
        if args.is_empty() {
            return failure("The type of what?  ptype TYPE or EXPRESSION");
        }
        let (letters, asked) = match args.strip_prefix('/') {
            Some(rest) => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
            None => ("", args),
        };
        let (ty, _) = match letters {
            "" | "o" => self.type_asked_for(asked.trim_start())?,
            other => return failure(format!("Of ptype there is /o, not \"/{other}\".")),
        };
        if letters == "o"
            && let Some(text) = layout(&ty)
        {
            return self.say(&text);
        }
        self.say(&format!("type = {}", ptype(&ty)))
    }

    pub(super) fn whatis(&mut self, args: &str) -> Result<()> {
        if args.is_empty() {
            return failure("The type of what?  whatis EXPRESSION");
        }
        let (ty, is_type) = self.type_asked_for(args)?;
        // Asked of a typedef itself, what it names.
        let is_typedef = matches!(ty.kind(), Kind::Typedef(_));
        let named = ty.target().filter(|_| is_type && is_typedef);
        self.say(&format!("type = {}", whatis(&named.unwrap_or(ty))))
    }

    /// The type, and whether it was named itself.
    fn type_asked_for(&mut self, text: &str) -> Result<(Type, bool)> {
        let found = type_named(text, &self.here());
        found.map_err(|e| self.explain(e))
    }

    pub(super) fn examine(&mut self, args: &str) -> Result<()> {
        let (letters, text) = split_format(args);
        let what = match args.is_empty() {
            true => self.examine,
            false => Examine::parse(letters, self.examine)?,
        };
        let start = match text {
            "" if self.examine_next == 0 => {
                return failure("Argument required (starting display address).");
            }
            "" => self.examine_next,
            text => self.address_to_examine(text)?,
        };
        self.examine = what;
        let (lines, next) = self.examined(what, start)?;
        self.examine_next = next;
        self.keep_examined(what, start, next)?;
        for line in lines {
            // A value that cannot be read ends the command.
            if let Some(at) = line.find("Cannot access memory") {
                return failure(line[at..].trim_end_matches('>'));
            }
            self.say(&line)?;
        }
        Ok(())
    }

    /// `$_` is the last address that was examined, `$__` what is there.
    fn keep_examined(&mut self, what: Examine, start: u64, next: u64) -> Result<()> {
        let size = match what.format {
            Format::Str | Format::Instruction => 1,
            _ => what.size,
        };
        let last = match what.format {
            Format::Str | Format::Instruction if what.count > 1 => {
                let others = Examine {
                    count: what.count - 1,
                    ..what
                };
                self.examined(others, start)?.1
            }
            Format::Str | Format::Instruction => start,
            _ => next.wrapping_sub(size),
        };
        let ty = match (what.format, size) {
            (Format::Float, 4) => Type::base("float", Encoding::Float, 4),
            (Format::Float, 8) => Type::base("double", Encoding::Float, 8),
            _ => Type::base(&format!("int{}_t", size * 8), Encoding::Signed, size),
        };
        let pointer = Value::integer(ty.pointer_to(), last.into());
        self.memo.set("_", pointer);
        let there = match what.format {
            Format::Str | Format::Instruction => Value::of(Type::void(), Vec::new()),
            _ => Value::at(ty, last, &self.here()),
        };
        self.memo.set("__", there);
        Ok(())
    }

    /// The place that `$_` is and where `x` goes on.
    pub(super) fn keep_address(&mut self, at: u64) {
        self.examine_next = at;
        let pointer = Type::void().pointer_to();
        self.memo.set("_", Value::integer(pointer, at.into()));
    }

    /// Where `x` begins for an expression.
    pub(super) fn address_to_examine(&mut self, text: &str) -> Result<u64> {
        let value = self.evaluate(text)?;
        first_address(&value)
    }

    /// Memory as lines, and the address after it.
    pub(super) fn examined(&mut self, what: Examine, start: u64) -> Result<(Vec<String>, u64)> {
        if what.format == Format::Instruction {
            return self.instructions(start, what.count);
        }
        let options = self.settings.print.clone();
        Ok(examine(&self.here(), start, what, &options))
    }
}

/// Where `x` begins for a value: an object's own place, or what a number or pointer says.
pub(super) fn first_address(value: &Value) -> Result<u64> {
    match value.ty.strip().kind() {
        Kind::Array(..) | Kind::Record(_) | Kind::Function(..) => match value.address() {
            Some(address) => Ok(address),
            None => failure("Value is not in memory."),
        },
        _ => Ok(value.to_address()?),
    }
}

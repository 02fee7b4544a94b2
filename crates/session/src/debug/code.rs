//! Instructions as text.

use super::Debugger;
use super::data::split_format;
use super::failure::{Result, failure};
use iced_x86::{
    Decoder, DecoderOptions, Formatter, FormatterOptions, GasFormatter, Instruction,
    IntelFormatter, MemorySizeOptions, Register,
};
use std::ops::Range;
use std::sync::Arc;
use verde_expr::symbol_text;
use verde_symbols::{FileAddr, Function, Kind, Memory, Module, Modules, SourceFile};

const LONGEST: usize = 15;

/// What `disassemble` shows besides the instructions.
#[derive(Default)]
struct Show {
    bytes: bool,
    source: bool,
}

/// Which source was shown.
#[derive(Default)]
struct SourceWalk {
    file: Option<Arc<SourceFile>>,
    line: u32,
    /// The last line of the file shown.
    last: u32,
}

/// Spaces and numbers as gdb has them, in either syntax.
fn like_gdb(options: &mut FormatterOptions) {
    options.set_first_operand_char_index(7);
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_space_after_operand_separator(false);
    options.set_rip_relative_addresses(true);
    options.set_branch_leading_zeros(false);
}

/// AT&T syntax.
fn text_of(instruction: &Instruction) -> String {
    let mut formatter = GasFormatter::new();
    let options = formatter.options_mut();
    like_gdb(options);
    // The library would also write `(%rbp,)`.
    options.set_always_show_scale(instruction.memory_index() != Register::None);
    options.set_show_zero_displacements(true);
    let mut out = String::new();
    formatter.format(instruction, &mut out);
    out
}

fn intel_text_of(instruction: &Instruction) -> String {
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    like_gdb(options);
    options.set_memory_size_options(MemorySizeOptions::Always);
    options.set_uppercase_keywords(true);
    options.set_show_branch_size(false);
    let mut out = String::new();
    formatter.format(instruction, &mut out);
    out
}

impl Debugger {
    pub(super) fn decode(&mut self, at: u64) -> Option<Instruction> {
        let here = self.here();
        let mut bytes = [0; LONGEST];
        // The last instructions of a mapping have fewer bytes behind them.
        let len = (1..=LONGEST)
            .rev()
            .find(|n| here.read(at, &mut bytes[..*n]).is_ok())?;
        let mut decoder = Decoder::with_ip(64, &bytes[..len], at, DecoderOptions::NONE);
        Some(decoder.decode())
    }

    /// One instruction with what its target is called, and where the next is.
    fn instruction(&mut self, at: u64) -> Option<(String, u64)> {
        let instruction = self.decode(at)?;
        let mut text = match instruction.is_invalid() {
            true => "(bad)".to_owned(),
            false if self.settings.intel => intel_text_of(&instruction),
            false => text_of(&instruction),
        };
        let target = match instruction.near_branch_target() {
            0 if instruction.is_ip_rel_memory_operand() => {
                let to = instruction.ip_rel_memory_address();
                text.push_str(&format!("        # {to:#x}"));
                Some(to)
            }
            0 => None,
            to => Some(to),
        };
        if let Some(symbol) = target.and_then(|to| symbol_text(&self.here(), to, true)) {
            text.push(' ');
            text.push_str(&symbol);
        }
        Some((text, at.wrapping_add(instruction.len().max(1) as u64)))
    }

    fn pc(&self) -> Option<u64> {
        let live = self.live.as_ref()?;
        Some(live.frame(live.selected).ok()?.pc)
    }

    /// `count` instructions as lines, and the address after them.
    pub(super) fn instructions(&mut self, from: u64, count: u64) -> Result<(Vec<String>, u64)> {
        let mut at = from;
        let mut lines = Vec::new();
        for _ in 0..count {
            let Some((text, next)) = self.instruction(at) else {
                // What could be read is shown first.
                match lines.is_empty() {
                    true => return failure(format!("Cannot access memory at address {at:#x}")),
                    false => break,
                }
            };
            let mark = if self.pc() == Some(at) { "=>" } else { "  " };
            let symbol = symbol_text(&self.here(), at, true);
            let symbol = symbol.map_or(String::new(), |s| format!(" {s}"));
            lines.push(format!("{mark} {at:#x}{symbol}:\t{text}"));
            at = next;
        }
        Ok((lines, at))
    }

    pub(super) fn disassemble(&mut self, args: &str) -> Result<()> {
        let (letters, what) = split_format(args);
        let mut show = Show::default();
        for letter in letters.chars() {
            match letter {
                'r' | 'b' => show.bytes = true,
                's' | 'm' => show.source = true,
                _ => return failure(format!("Invalid disassembly modifier \"{letter}\".")),
            }
        }
        if let Some((from, to)) = split_range(what) {
            return self.disassemble_range(from.trim(), to.trim(), &show);
        }
        let (function, bias) = self.function_to_show(what)?;
        self.say(&format!(
            "Dump of assembler code for function {}:",
            function.name
        ))?;
        let ranges: Vec<(u64, u64)> = function
            .ranges
            .iter()
            .map(|(from, to)| (from.at(bias), to.at(bias)))
            .collect();
        let entry = function.entry.at(bias);
        self.say_instructions(&ranges, Some(entry), &show)
    }

    fn function_to_show(&mut self, what: &str) -> Result<(Function, u64)> {
        let at = match what {
            "" => match self.pc() {
                Some(pc) => pc,
                None => return failure("No frame selected."),
            },
            name => {
                if let Some((module, function)) = self.functions(name)?.into_iter().next() {
                    let bias = self.bias_of(&module);
                    return Ok((function, bias));
                }
                let is_address = name.starts_with(|c: char| c == '$' || c.is_ascii_digit());
                match is_address || name.contains('+') {
                    true => self.evaluate(name)?.to_address()?,
                    false => return failure(self.unknown_function(name)),
                }
            }
        };
        match self.function_around(at) {
            Some(found) => Ok(found),
            None if what.is_empty() => {
                failure("No function contains program counter for selected frame.")
            }
            None => failure("No function contains specified address."),
        }
    }

    fn disassemble_range(&mut self, from: &str, to: &str, show: &Show) -> Result<()> {
        let address = |value: verde_expr::Value| match value.ty.strip().kind() {
            Kind::Function(..) => Ok(value.address().unwrap_or(0)),
            _ => value.to_address(),
        };
        let start = address(self.evaluate(from)?)?;
        let end = match to.strip_prefix('+') {
            Some(bytes) => start.saturating_add(self.evaluate(bytes)?.to_address()?),
            None => address(self.evaluate(to)?)?,
        };
        self.say(&format!(
            "Dump of assembler code from {start:#x} to {end:#x}:"
        ))?;
        self.say_instructions(&[(start, end)], None, show)
    }

    /// Instructions of some ranges; places are told from the entry, or from the symbol before.
    fn say_instructions(
        &mut self,
        ranges: &[(u64, u64)],
        entry: Option<u64>,
        show: &Show,
    ) -> Result<()> {
        let mut source = SourceWalk::default();
        for (from, to) in ranges {
            let mut at = *from;
            while at < *to {
                let Some((text, next)) = self.instruction(at) else {
                    return failure(format!("Cannot access memory at address {at:#x}"));
                };
                if show.source {
                    self.say_source_of(at, ranges, &mut source)?;
                }
                let mark = if self.pc() == Some(at) { "=>" } else { "  " };
                let place = match entry {
                    Some(entry) => format!(" <{:+}>", at.wrapping_sub(entry) as i64),
                    None => match symbol_text(&self.here(), at, true) {
                        Some(symbol) if !symbol.contains('+') => {
                            format!(" {}+0>", symbol.trim_end_matches('>'))
                        }
                        Some(symbol) => format!(" {symbol}"),
                        None => String::new(),
                    },
                };
                let bytes = match show.bytes {
                    true => self.bytes_text(at, next),
                    false => String::new(),
                };
                self.say(&format!("{mark} {at:#018x}{place}:\t{bytes}{text}"))?;
                at = next;
            }
        }
        self.say("End of assembler dump.")
    }

    fn bytes_text(&mut self, from: u64, to: u64) -> String {
        let mut bytes = vec![0; to.wrapping_sub(from) as usize];
        if self.here().read(from, &mut bytes).is_err() {
            return String::new();
        }
        let texts: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
        format!("{:<19}\t", texts.join(" "))
    }

    /// The source line that an instruction begins, with the lines without code before it.
    fn say_source_of(
        &mut self,
        at: u64,
        ranges: &[(u64, u64)],
        walk: &mut SourceWalk,
    ) -> Result<()> {
        let Some(span) = self.line_at(at) else {
            return Ok(());
        };
        let (file, line) = (span.file, span.line);
        let same_file = walk.file.as_ref().is_some_and(|f| f.path == file.path);
        if same_file && walk.line == line || line == 0 {
            return Ok(());
        }
        match same_file {
            false => self.say(&format!("{}:", file.name))?,
            true => self.say("")?,
        }
        // Lines in between are shown when no instruction is theirs.
        let first = match same_file && walk.last < line && line - walk.last <= 8 {
            true if !self.has_code(ranges, &file, walk.last + 1..line) => walk.last + 1,
            _ => line,
        };
        for line in first..=line {
            let text = self.sources.shown(&file, line);
            self.say(&text)?;
        }
        walk.last = if same_file { walk.last.max(line) } else { line };
        walk.line = line;
        walk.file = Some(file);
        Ok(())
    }

    fn has_code(&self, ranges: &[(u64, u64)], file: &SourceFile, lines: Range<u32>) -> bool {
        ranges.iter().any(|(from, to)| {
            let mut at = *from;
            while at < *to {
                let Some(span) = self.line_at(at) else {
                    return false;
                };
                if span.file.path == file.path && lines.contains(&span.line) {
                    return true;
                }
                let next = at
                    .wrapping_sub(self.file_address(at))
                    .wrapping_add(span.end);
                at = next.max(at + 1);
            }
            false
        })
    }

    fn bias_of(&self, module: &Module) -> u64 {
        self.images.bias(module).unwrap_or(0)
    }

    fn function_around(&self, pc: u64) -> Option<(Function, u64)> {
        let (module, bias) = self.images.module_at(pc)?;
        Some((module.function_at(FileAddr::of(pc, bias))?, bias))
    }
}

/// `FROM,TO`: at a comma that belongs to no name of a function.
fn split_range(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '<') => depth += 1,
            (None, ')') => depth -= 1,
            // No end of anything: a member of what is pointed to.
            (None, '>') if before != '-' => depth -= 1,
            (None, ',') if depth == 0 => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::split_range;

    #[test]
    fn commas_of_names_separate_nothing() {
        for name in [
            "f",
            "both<int,long>",
            "over(int, int)",
            "'ns::f(int, long)'",
        ] {
            assert_eq!(split_range(name), None);
        }
        assert_eq!(split_range("$pc,+8"), Some(("$pc", "+8")));
        assert_eq!(split_range("p->f,p->g"), Some(("p->f", "p->g")));
        assert_eq!(split_range("f(1, 2), +3"), Some(("f(1, 2)", " +3")));
    }
}

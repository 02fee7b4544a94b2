//! Instructions as text.

use super::Debugger;
use super::failure::{Result, failure};
use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter, Instruction};
use verde_expr::symbol_text;
use verde_symbols::{FileAddr, Function, Memory, Module, Modules};

const LONGEST: usize = 15;

/// AT&T syntax, spaced as gdb does.
fn text_of(instruction: &Instruction) -> String {
    let mut formatter = GasFormatter::new();
    let options = formatter.options_mut();
    options.set_first_operand_char_index(7);
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_space_after_operand_separator(false);
    options.set_rip_relative_addresses(true);
    options.set_branch_leading_zeros(false);
    let mut out = String::new();
    formatter.format(instruction, &mut out);
    out
}

impl Debugger {
    fn decode(&mut self, at: u64) -> Option<Instruction> {
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

    /// Prints `count` instructions; the address after them.
    pub(super) fn instructions(&mut self, from: u64, count: u64) -> Result<u64> {
        let mut at = from;
        for _ in 0..count {
            let Some((text, next)) = self.instruction(at) else {
                return failure(format!("Cannot access memory at address {at:#x}"));
            };
            let mark = if self.pc() == Some(at) { "=>" } else { "  " };
            let symbol = symbol_text(&self.here(), at, true);
            let symbol = symbol.map_or(String::new(), |s| format!(" {s}"));
            self.say(&format!("{mark} {at:#x}{symbol}:\t{text}"))?;
            at = next;
        }
        Ok(at)
    }

    pub(super) fn disassemble(&mut self, args: &str) -> Result<()> {
        let (function, bias) = match args {
            "" => {
                let Some(pc) = self.pc() else {
                    return failure("No frame selected.");
                };
                match self.function_around(pc) {
                    Some(found) => found,
                    None => {
                        return failure("No function contains program counter for selected frame.");
                    }
                }
            }
            name => match self.functions(name)?.into_iter().next() {
                Some((module, function)) => {
                    let bias = self.bias_of(&module);
                    (function, bias)
                }
                None => return failure(self.unknown_function(name)),
            },
        };
        self.say(&format!(
            "Dump of assembler code for function {}:",
            function.name
        ))?;
        let entry = function.entry.at(bias);
        for (from, to) in &function.ranges {
            let mut at = from.at(bias);
            while at < to.at(bias) {
                let Some((text, next)) = self.instruction(at) else {
                    return failure(format!("Cannot access memory at address {at:#x}"));
                };
                let mark = if self.pc() == Some(at) { "=>" } else { "  " };
                let into = at.wrapping_sub(entry) as i64;
                self.say(&format!("{mark} {at:#018x} <{into:+}>:\t{text}"))?;
                at = next;
            }
        }
        self.say("End of assembler dump.")
    }

    fn bias_of(&self, module: &Module) -> u64 {
        self.images.bias(module).unwrap_or(0)
    }

    fn function_around(&self, pc: u64) -> Option<(Function, u64)> {
        let (module, bias) = self.images.module_at(pc)?;
        Some((module.function_at(FileAddr::of(pc, bias))?, bias))
    }
}

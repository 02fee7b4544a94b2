//! `info float`: the x87's registers and what controls them.

use super::Debugger;
use super::failure::{Result, failure};
use super::registers::with_vectors;
use verde_expr::x87_text;

/// What is in the registers that are below: two bits each in the tag word.
const TAGS: [&str; 4] = ["Valid", "Zero", "Special", "Empty"];
/// That one has nothing.
const EMPTY: u32 = 3;
const EXCEPTIONS: [&str; 6] = ["IE", "DE", "ZE", "OE", "UE", "PE"];
const MASKS: [&str; 6] = ["IM", "DM", "ZM", "OM", "UM", "PM"];
const PRECISIONS: [&str; 4] = [
    "Single Precision (24-bits)",
    "Reserved",
    "Double Precision (53-bits)",
    "Extended Precision (64-bits)",
];
const ROUNDINGS: [&str; 4] = [
    "Round to nearest",
    "Round down",
    "Round up",
    "Round toward zero",
];

impl Debugger {
    pub(super) fn info_float(&mut self, _: &str) -> Result<()> {
        let Some(live) = &self.live else {
            return failure("The program has no registers now.");
        };
        let (regs, xstate) = (live.process.regs(live.tid)?, live.process.xstate(live.tid)?);
        let registers = with_vectors(regs, &xstate);
        let Some(
            [
                _,
                control,
                status,
                tags,
                code_segment,
                code,
                data_segment,
                data,
                opcode,
            ],
        ) = registers.control
        else {
            return failure("No floating-point info available for this frame.");
        };
        let top = status >> 11 & 7;
        for number in (0..8u32).rev() {
            let tag = tags >> (2 * number) & 3;
            let arrow = if number == top { "=>" } else { "  " };
            let bytes = registers.st[((number + 8 - top) % 8) as usize].unwrap_or_default();
            let hex: String = bytes.iter().rev().map(|b| format!("{b:02x}")).collect();
            let value = match tag {
                EMPTY => String::new(),
                _ => x87_text(&bytes),
            };
            let tag = TAGS[tag as usize];
            self.say(&format!("{arrow}R{number}: {tag:<7} 0x{hex}{value}"))?;
        }
        let exceptions = set_bits(status, &EXCEPTIONS, 0);
        let summary = set_bits(status, &["ES"], 7);
        let stack = set_bits(status, &["SF"], 6);
        let conditions = set_bits(status, &["C0", "C1", "C2"], 8) + &set_bits(status, &["C3"], 14);
        self.say(&format!(
            "\nStatus Word:         {status:#06x}  {exceptions}  {summary}  {stack}  {conditions}\n\
             {:23}TOP: {top}",
            ""
        ))?;
        let masks = set_bits(control, &MASKS, 0);
        let precision = PRECISIONS[(control >> 8 & 3) as usize];
        let rounding = ROUNDINGS[(control >> 10 & 3) as usize];
        self.say(&format!(
            "Control Word:        {control:#06x}  {masks}\n\
             {0:23}PC: {precision}\n{0:23}RC: {rounding}",
            ""
        ))?;
        // What is kept of the last instruction lacks the bits that all have.
        let opcode = match opcode {
            0 => 0,
            some => some | 0xd800,
        };
        self.say(&format!(
            "Tag Word:            {tags:#06x}\n\
             Instruction Pointer: {code_segment:#04x}:{code:#010x}\n\
             Operand Pointer:     {data_segment:#04x}:{data:#010x}\n\
             Opcode:              {opcode:#06x}"
        ))
    }
}

/// The names of bits from one on, blank where they are not set.
fn set_bits(word: u32, names: &[&str], first: u32) -> String {
    let name = |(name, bit): (&&str, u32)| match word >> bit & 1 {
        0 => "   ".to_owned(),
        _ => format!(" {name}"),
    };
    names.iter().zip(first..).map(name).collect()
}

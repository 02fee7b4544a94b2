//! `find`: where in memory a sequence of values is.

use super::Debugger;
use super::data::split_format;
use super::failure::{Result, failure};
use super::printf::expressions;
use verde_expr::{Value, symbol_text};
use verde_symbols::{Encoding, Memory, Type};

/// Memory is read in pieces of this size: pages, of which each can be read or not.
const PIECE: u64 = 1 << 12;
/// So many hits are told at most.
const MOST: usize = 1 << 20;

const USAGE: &str = "find[/SIZE][COUNT] START, +LENGTH or END, VALUE...; e.g. \
                     find/w buf, +100, 7; find start, end, \"text\"";

/// What `/SIZE` and `/COUNT` say.
struct Wanted {
    size: Option<usize>,
    most: usize,
}

impl Wanted {
    fn parse(letters: &str) -> Result<Wanted> {
        let mut size = None;
        let mut count = String::new();
        for letter in letters.chars() {
            match letter {
                'b' => size = Some(1),
                'h' => size = Some(2),
                'w' => size = Some(4),
                'g' => size = Some(8),
                digit if digit.is_ascii_digit() => count.push(digit),
                _ => return failure(USAGE),
            }
        }
        let most = match count.as_str() {
            "" => MOST,
            count => count.parse().unwrap_or(MOST).min(MOST),
        };
        Ok(Wanted { size, most })
    }

    /// The bytes of a value; a text has its end.
    fn bytes(&self, text: &str, value: &Value) -> Result<Vec<u8>> {
        match self.size {
            Some(size) if !text.starts_with('"') => {
                Ok(value.to_integer()?.to_le_bytes()[..size].to_vec())
            }
            _ => Ok(value.bytes()?.to_vec()),
        }
    }
}

impl Debugger {
    pub(super) fn find_in_memory(&mut self, args: &str) -> Result<()> {
        let (letters, text) = split_format(args);
        let wanted = Wanted::parse(letters)?;
        let parts = expressions(text);
        let [start, end, values @ ..] = parts.as_slice() else {
            return failure(USAGE);
        };
        if values.is_empty() || values.contains(&"") {
            return failure(USAGE);
        }
        let start = self.address_to_examine(start)?;
        let end = match end.strip_prefix('+') {
            Some(length) => start.checked_add(self.number(length)?),
            None => self.address_to_examine(end)?.checked_add(1),
        };
        let Some(end) = end.filter(|end| *end > start) else {
            return failure("Empty search range.");
        };
        let mut pattern = Vec::new();
        for text in values {
            let value = self.evaluate(text)?;
            pattern.extend(wanted.bytes(text, &value)?);
        }
        if pattern.is_empty() {
            return failure(USAGE);
        }
        let (found, unread) = self.occurrences(start..end, &pattern, wanted.most);
        for at in &found {
            let symbol = symbol_text(&self.here(), *at, true);
            let symbol = symbol.map_or(String::new(), |s| format!(" {s}"));
            self.say(&format!("{at:#x}{symbol}"))?;
        }
        let int = Type::base("int", Encoding::Signed, 4);
        let count = i128::try_from(found.len()).unwrap_or(i128::MAX);
        self.memo.set("numfound", Value::integer(int, count));
        if let Some(last) = found.last() {
            let pointer = Type::void().pointer_to();
            self.memo.set("_", Value::integer(pointer, (*last).into()));
        }
        if let Some(at) = unread {
            return failure(format!(
                "Cannot access memory at address {at:#x}: the search ends."
            ));
        }
        match found.len() {
            0 => self.say("Pattern not found."),
            1 => self.say("1 pattern found."),
            n => self.say(&format!("{n} patterns found.")),
        }
    }

    /// Where the bytes are, and from where on memory could not be read.
    fn occurrences(
        &mut self,
        range: std::ops::Range<u64>,
        pattern: &[u8],
        most: usize,
    ) -> (Vec<u64>, Option<u64>) {
        let here = self.here();
        let mut found = Vec::new();
        // What is read last may be the beginning of one.
        let mut tail: Vec<u8> = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let next = (at / PIECE + 1).saturating_mul(PIECE).min(range.end);
            let mut piece = vec![0; usize::try_from(next - at).unwrap_or_default()];
            if here.read(at, &mut piece).is_err() {
                return (found, Some(at));
            }
            let first = at - tail.len() as u64;
            tail.extend(piece);
            for (i, _) in tail
                .windows(pattern.len())
                .enumerate()
                .filter(|w| w.1 == pattern)
            {
                if found.len() == most {
                    return (found, None);
                }
                found.push(first + i as u64);
            }
            let kept = tail.len().min(pattern.len() - 1);
            tail.drain(..tail.len() - kept);
            at = next;
        }
        (found, None)
    }
}

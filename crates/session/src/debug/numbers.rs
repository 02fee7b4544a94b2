//! Breakpoints by their numbers: `enable`, `disable`, and how `delete` and others name them.

use super::Debugger;
use super::apply::range;
use super::failure::{Result, failure};
use super::points::{After, Condition, Kind};
use std::ops::RangeInclusive;
use verde_expr::Value;
use verde_symbols::{Encoding, Type};

/// `display 1 2` behind `delete`, `enable` and `disable`: the numbers.
pub(super) fn of_displays(args: &str) -> Option<&str> {
    let (word, numbers) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    (word == "display").then_some(numbers.trim())
}

/// `1.2` and `1.2-3`: a breakpoint, and some of its places.
fn places(word: &str) -> Option<(u32, RangeInclusive<usize>)> {
    let (number, places) = word.split_once('.')?;
    let (from, to) = places.split_once('-').unwrap_or((places, places));
    Some((number.parse().ok()?, from.parse().ok()?..=to.parse().ok()?))
}

impl Debugger {
    /// A new point; `$bpnum` is its number.
    pub(super) fn add_point(
        &mut self,
        kind: Kind,
        temporary: bool,
        condition: Option<Condition>,
    ) -> u32 {
        let number = self.points.add(kind, temporary, condition);
        let int = Type::base("int", Encoding::Signed, 4);
        let value = Value::integer(int, i128::from(number));
        self.memo.set("bpnum", value);
        number
    }

    /// The numbers of a list: `1 3-5 $n`.
    pub(super) fn point_numbers(&mut self, args: &str) -> Result<Vec<u32>> {
        self.numbers_of("breakpoint", args)
    }

    /// The same of other things that have numbers.
    pub(super) fn numbers_of(&mut self, what: &str, args: &str) -> Result<Vec<u32>> {
        let mut out = Vec::new();
        for word in args.split_whitespace() {
            let numbers = match word.starts_with('$') {
                true => vec![self.number(word)? as usize],
                false => range(word).unwrap_or_default(),
            };
            if numbers.is_empty() {
                return failure(format!("Bad {what} number '{word}'"));
            }
            out.extend(numbers.into_iter().filter_map(|n| u32::try_from(n).ok()));
        }
        Ok(out)
    }

    /// The breakpoints a command is about: those named, or all.
    pub(super) fn named_points(&mut self, args: &str) -> Result<Vec<u32>> {
        let args = args.strip_prefix("breakpoints").unwrap_or(args).trim();
        if args.is_empty() {
            return Ok(self.points.list.iter().map(|p| p.number).collect());
        }
        let numbers = self.point_numbers(args)?;
        for number in &numbers {
            self.points.get_mut(*number)?;
        }
        Ok(numbers)
    }

    pub(super) fn disable(&mut self, args: &str) -> Result<()> {
        if let Some(numbers) = of_displays(args) {
            return self.switch_displays(numbers, false);
        }
        self.switch(args, false, None)
    }

    /// `enable [once or delete] [NUMBER]...`
    pub(super) fn enable(&mut self, args: &str) -> Result<()> {
        if let Some(numbers) = of_displays(args) {
            return self.switch_displays(numbers, true);
        }
        let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        let after = match word {
            "once" => After::Disable,
            "delete" => After::Delete,
            _ => return self.switch(args, true, None),
        };
        if rest.trim().is_empty() {
            return failure(format!("Which breakpoints?  enable {word} NUMBER..."));
        }
        self.switch(rest, true, Some(after))
    }

    fn switch(&mut self, args: &str, on: bool, after: Option<After>) -> Result<()> {
        let mut whole = Vec::new();
        let mut some = Vec::new();
        for word in args.split_whitespace() {
            match places(word) {
                Some(places) => some.push(places),
                None => whole.push(word),
            }
        }
        for (number, wanted) in &some {
            self.switch_places(*number, wanted.clone(), on)?;
        }
        let numbers = match whole.is_empty() && !some.is_empty() {
            true => Vec::new(),
            false => self.named_points(&whole.join(" "))?,
        };
        for number in numbers {
            if !on {
                self.disarm(number)?;
            }
            let point = self.points.get_mut(number)?;
            point.enabled = on;
            point.after = after.unwrap_or(point.after);
        }
        self.arm()
    }

    fn switch_places(
        &mut self,
        number: u32,
        wanted: RangeInclusive<usize>,
        on: bool,
    ) -> Result<()> {
        let point = self.points.get_mut(number)?;
        let count = match &point.kind {
            Kind::Code { sites, .. } => sites.len(),
            Kind::Watch(_) | Kind::Catch(_) => 0,
        };
        if *wanted.start() == 0 || wanted.is_empty() || *wanted.end() > count {
            let bad = wanted.end();
            return failure(format!("Bad breakpoint location number '{bad}'"));
        }
        self.disarm(number)?;
        if let Kind::Code { sites, .. } = &mut self.points.get_mut(number)?.kind {
            for site in &mut sites[wanted.start() - 1..*wanted.end()] {
                site.disabled = !on;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{of_displays, places};

    #[test]
    fn numbers_of_places_and_displays() {
        assert_eq!(places("1.2"), Some((1, 2..=2)));
        assert_eq!(places("3.1-2"), Some((3, 1..=2)));
        assert_eq!(places("3"), None);
        assert_eq!(places("3.x"), None);
        assert_eq!(of_displays("display 1 2"), Some("1 2"));
        assert_eq!(of_displays("displays"), None);
    }
}

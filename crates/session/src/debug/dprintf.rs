//! Breakpoints that print and go on, and breakpoints by a pattern of names.

use super::Debugger;
use super::failure::{Result, failure};
use super::names::pattern;
use super::printf;
use super::skips::is_file;
use std::collections::BTreeSet;
use std::io::Write;
use verde_engine::Tid;
use verde_symbols::{Function, NameFilter};

/// Breakpoints of one command.
const MOST: usize = 1000;

impl Debugger {
    /// `dprintf LOCATION,"FORMAT",EXPRESSION...`
    pub(super) fn dprintf(&mut self, args: &str) -> Result<()> {
        let Some((place, printed)) = args.split_once(',') else {
            return failure("Where and what?  dprintf LOCATION,\"FORMAT\",EXPRESSION...");
        };
        printf::check(printed.trim())?;
        let (number, text) = self.place_break(place.trim(), false)?;
        self.points.get_mut(number)?.prints = Some(printed.trim().to_owned());
        self.say(&format!("Dprintf {number}{text}"))
    }

    /// Prints in a thread that goes on; the selected one stays selected.
    pub(super) fn print_in(&mut self, tid: Tid, args: &str) -> Result<()> {
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        let before = (
            live.tid,
            live.selected,
            std::mem::take(&mut live.frames),
            std::mem::take(&mut live.levels),
            live.seen,
            live.hidden.take(),
        );
        let done = live.look(tid, &self.images);
        let done = done.and_then(|()| self.printf(args));
        if let Some(live) = &mut self.live {
            (
                live.tid,
                live.selected,
                live.frames,
                live.levels,
                live.seen,
                live.hidden,
            ) = before;
        }
        if let Err(e) = done {
            self.say(&e.to_string())?;
        }
        self.out.flush()?;
        Ok(())
    }

    /// `rbreak [FILE:]REGEX`: at every function of the program, or of a file, whose name fits.
    pub(super) fn rbreak(&mut self, args: &str) -> Result<()> {
        let (file, text) = of_file(args);
        let regex = pattern(text)?;
        let fits = |name: &str| regex.is_match(name);
        let filter = NameFilter {
            fits: &fits,
            in_paths: false,
        };
        let found = self.images.program().functions_where(&filter, MOST);
        let is_there = |f: &Function| match (file, &f.declared) {
            (Some(wanted), Some((file, _))) => is_file(file, wanted),
            (Some(_), None) => false,
            (None, _) => true,
        };
        let described = found.into_iter().filter(|f| f.die.is_some() && is_there(f));
        let names: BTreeSet<String> = described
            .map(|f| match (file, &f.declared) {
                // Others may have a static function of the same name.
                (Some(_), Some((file, _))) => format!("{}:{}", file.name, f.name),
                _ => f.name,
            })
            .collect();
        if names.is_empty() {
            return failure(format!("No function fits \"{args}\"."));
        }
        for name in names {
            self.set_break(&name)?;
        }
        Ok(())
    }
}

/// Takes `FILE:` off a regular expression; `::` belongs to it.
fn of_file(text: &str) -> (Option<&str>, &str) {
    let at = text.match_indices(':').map(|(at, _)| at).find(|&at| {
        let is_pair = text[at + 1..].starts_with(':') || text[..at].ends_with(':');
        !is_pair
    });
    match at {
        Some(at) => (Some(text[..at].trim()), text[at + 1..].trim()),
        None => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::of_file;

    #[test]
    fn a_file_before_a_pattern() {
        assert_eq!(of_file("a.c:^f"), (Some("a.c"), "^f"));
        assert_eq!(of_file("ns::f"), (None, "ns::f"));
        assert_eq!(of_file("a.cpp:ns::f"), (Some("a.cpp"), "ns::f"));
        assert_eq!(of_file("^f"), (None, "^f"));
    }
}

//! `backtrace`: the calls that led here, with their variables when asked for.

use super::Debugger;
use super::failure::{Result, failure};
use super::live::ALL_FRAMES;
use verde_expr::{Named, locals, print_inner};

/// So many frames are shown at once: a stack may be deep, and the user may have seen enough.
const TOGETHER: usize = 100;

/// What `backtrace` was asked for.
#[derive(Default)]
struct Request<'a> {
    full: bool,
    /// How many frames; the outermost if negative.
    count: Option<&'a str>,
}

impl<'a> Request<'a> {
    fn parse(args: &'a str) -> Request<'a> {
        let mut request = Request::default();
        let mut rest = args.trim();
        loop {
            let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            match word {
                "full" | "-full" => request.full = true,
                _ => break,
            }
            rest = after.trim();
        }
        request.count = (!rest.is_empty()).then_some(rest);
        request
    }
}

impl Debugger {
    pub(super) fn backtrace(&mut self, args: &str) -> Result<()> {
        let request = Request::parse(args);
        let wanted = self.frames_asked_for(request.count)?;
        let count = match wanted {
            // One more tells whether there are more.
            Some(number) if number >= 0 => self.frames_up_to(amount(number).saturating_add(1))?,
            _ => self.all_frames()?,
        };
        let (first, last) = match wanted {
            None => (0, count),
            Some(number) if number >= 0 => (0, count.min(amount(number))),
            Some(number) => (count.saturating_sub(amount(number)), count),
        };
        for from in (first..last).step_by(TOGETHER) {
            self.say_calls(from, last.min(from + TOGETHER), request.full)?;
        }
        if last < count && self.style.is_on() {
            self.say("(More stack frames follow...)")?;
        }
        if last == count && self.live.as_ref().is_some_and(|live| live.is_cut) {
            self.say(&format!("Backtrace limit of {ALL_FRAMES} exceeded."))?;
        }
        Ok(())
    }

    /// Some frames, with their places below each other.
    fn say_calls(&mut self, first: usize, last: usize, full: bool) -> Result<()> {
        let mut parts = Vec::new();
        for level in first..last {
            self.quit_if_asked()?;
            parts.push(self.frame_parts(level, true));
        }
        let width = match self.style.is_on() {
            true => common_width(&parts),
            false => 0,
        };
        for (level, (call, place)) in (first..last).zip(parts) {
            let missing = width.saturating_sub(width_of(&call));
            self.say(&format!("{call}{}{place}", " ".repeat(missing)))?;
            if full {
                self.say_locals_of(level)?;
            }
        }
        self.out_flush()
    }

    /// The number that was given, if any.
    fn frames_asked_for(&mut self, wanted: Option<&str>) -> Result<Option<i64>> {
        let Some(text) = wanted else {
            return Ok(None);
        };
        Ok(Some(match text.parse::<i64>() {
            Ok(number) => number,
            Err(_) => i64::try_from(self.number(text)?).unwrap_or(i64::MAX),
        }))
    }

    fn say_locals_of(&mut self, level: usize) -> Result<()> {
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        let known = live.levels.get(level).is_some_and(|l| l.source.is_some());
        if !known {
            return self.say("No symbol table info available.");
        }
        let before = std::mem::replace(&mut live.selected, level);
        let lines = self.local_lines();
        if let Some(live) = &mut self.live {
            live.selected = before;
        }
        if lines.is_empty() {
            return self.say("No locals.");
        }
        for line in lines {
            self.say(&format!("        {}", line.replace('\n', "\n        ")))?;
        }
        Ok(())
    }

    /// The variables of the selected frame, as `info locals` shows them.
    pub(super) fn local_lines(&mut self) -> Vec<String> {
        let all = locals(&self.here());
        self.named_lines(&all)
    }

    pub(super) fn named_lines(&mut self, all: &[Named]) -> Vec<String> {
        let options = self.settings.print.clone();
        let here = self.here();
        let line = |n: &Named| format!("{} = {}", n.name, print_inner(&n.value, &here, &options));
        all.iter().map(line).collect()
    }

    /// The innermost frame of a function.
    pub(super) fn frame_of_function(&mut self, name: &str) -> Result<usize> {
        let count = self.all_frames()?;
        let fits = |found: &str| {
            let found = found.split(['(', '<']).next().unwrap_or(found);
            found == name || found.ends_with(&format!("::{name}"))
        };
        let found = (0..count).find(|l| self.function_name(*l).is_some_and(|n| fits(&n)));
        match found {
            Some(level) => Ok(level),
            None => failure(format!("No frame for function \"{name}\".")),
        }
    }
}

/// A number of frames, from whichever end.
fn amount(number: i64) -> usize {
    usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX)
}

/// Characters that take room on a terminal.
fn width_of(text: &str) -> usize {
    let mut in_code = false;
    let visible = text.chars().filter(|c| match (*c, in_code) {
        ('\x1b', _) => {
            in_code = true;
            false
        }
        (c, true) => {
            in_code = c != 'm';
            false
        }
        _ => true,
    });
    visible.count()
}

/// Where the places of a backtrace begin; long calls stand out.
fn common_width(parts: &[(String, String)]) -> usize {
    const MOST: usize = 64;
    let widths = parts.iter().map(|(call, _)| width_of(call));
    widths.filter(|w| *w <= MOST).max().unwrap_or(0)
}

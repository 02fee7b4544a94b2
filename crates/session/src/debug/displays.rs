//! Expressions shown at every stop.

use super::Debugger;
use super::apply::range;
use super::data::first_address;
use super::failure::{Result, failure};
use super::here::Here;
use verde_expr::{EvalError, Examine, Node, compile, eval, print_value};
use verde_symbols::DieId;

/// One of them.
pub(super) struct Display {
    number: u32,
    letters: String,
    text: String,
    enabled: bool,
    /// What its names mean, once that was known: variables of other functions, or of blocks within
    /// its own, that have the same names are others.
    meant: Option<Node>,
}

impl Display {
    /// What it means here; `None`: its variables are not those of the frame.
    fn here(&self, here: &Here) -> Option<Node> {
        let now = compile(&self.text, here).ok();
        let Some(meant) = &self.meant else {
            return now;
        };
        let locals = meant.locals();
        let now = now.filter(|now| now.locals() == locals);
        // A static variable is there wherever the program is.
        let is_there = || locals.is_empty() || are_visible(&locals, here);
        now.or_else(|| is_there().then(|| meant.clone()))
    }

    /// Whether it is of another frame than this. A name that is unknown yet is of none.
    fn is_elsewhere(&self, here: &Here) -> bool {
        let is_local = self.meant.as_ref().is_some_and(|m| !m.locals().is_empty());
        is_local && self.here(here).is_none()
    }
}

/// Whether the frame has these variables, be it that others hide them.
fn are_visible(locals: &[DieId], here: &Here) -> bool {
    let frame = here.frame.as_ref();
    let place = frame.and_then(|f| Some((f.frame.module.as_ref()?, f.source.as_ref()?, f)));
    let Some(((module, _), source, scope)) = place else {
        return false;
    };
    let at = scope.frame.file_addr();
    let blocks = at.map(|at| module.blocks(source.die, at));
    let variables = blocks.iter().flatten().flat_map(|b| &b.variables);
    let dies: Vec<DieId> = variables.map(|v| v.die).collect();
    locals.iter().all(|l| dies.contains(l))
}

#[derive(Default)]
pub(super) struct Displays {
    list: Vec<Display>,
    last: u32,
}

impl Displays {
    /// The program is another: names mean what they mean at the next stop.
    pub fn forget_variables(&mut self) {
        for display in &mut self.list {
            display.meant = None;
        }
    }
}

/// Formats that show memory, as `x` does: instructions, strings, a count or a size.
fn memory_format(letters: &str) -> bool {
    letters.contains(|c: char| c.is_ascii_digit() || "isbhwg".contains(c))
}

impl Debugger {
    pub(super) fn display(&mut self, args: &str) -> Result<()> {
        let (letters, text) = super::data::split_format(args);
        if text.is_empty() {
            return self.show_displays();
        }
        match memory_format(letters) {
            true => {
                Examine::parse(letters, self.examine)?;
            }
            false => {
                self.print_options(letters)?;
            }
        }
        if self.live.is_some() {
            self.evaluate(text)?;
        } else if let Err(e @ EvalError::UnknownName(_)) = compile(text, &self.here()) {
            // Its names have to be there, its value later.
            return Err(self.explain(e));
        }
        self.displays.last += 1;
        let mut display = Display {
            number: self.displays.last,
            letters: letters.to_owned(),
            text: text.to_owned(),
            enabled: true,
            meant: None,
        };
        let shown = self.display_line(&mut display)?;
        self.displays.list.push(display);
        match self.live {
            Some(_) => self.say(&shown),
            None => Ok(()),
        }
    }

    pub(super) fn undisplay(&mut self, args: &str) -> Result<()> {
        let numbers = self.display_numbers(args)?;
        self.displays.list.retain(|d| !numbers.contains(&d.number));
        Ok(())
    }

    /// `enable display` and `disable display`.
    pub(super) fn switch_displays(&mut self, args: &str, on: bool) -> Result<()> {
        let numbers = self.display_numbers(args)?;
        for display in &mut self.displays.list {
            if numbers.contains(&display.number) {
                display.enabled = on;
            }
        }
        Ok(())
    }

    /// Those that are named, or all.
    fn display_numbers(&self, args: &str) -> Result<Vec<u32>> {
        let known: Vec<u32> = self.displays.list.iter().map(|d| d.number).collect();
        if args.is_empty() {
            return Ok(known);
        }
        let mut numbers = Vec::new();
        for word in args.split_whitespace() {
            let Some(wanted) = range(word) else {
                return failure(format!("Bad display number '{word}'"));
            };
            for number in wanted {
                match known.iter().find(|k| **k as usize == number) {
                    Some(known) => numbers.push(*known),
                    None => return failure(format!("No display number {number}.")),
                }
            }
        }
        Ok(numbers)
    }

    pub(super) fn info_display(&mut self, _: &str) -> Result<()> {
        let list = std::mem::take(&mut self.displays.list);
        let here = self.here();
        let lines: Vec<String> = list
            .iter()
            .map(|d| {
                let enabled = if d.enabled { 'y' } else { 'n' };
                let format = match d.letters.as_str() {
                    "" => String::new(),
                    letters => format!("/{letters} "),
                };
                let elsewhere = match d.is_elsewhere(&here) {
                    false => "",
                    true => " (cannot be evaluated in the current context)",
                };
                format!("{}:   {enabled}  {format}{}{elsewhere}", d.number, d.text)
            })
            .collect();
        self.displays.list = list;
        if !lines.is_empty() {
            self.say("Auto-display expressions now in effect:\nNum Enb Expression")?;
        }
        self.say_all(lines, "There are no auto-display expressions now.")
    }

    /// What is to be seen at every stop; what has no value here is left out.
    pub(super) fn show_displays(&mut self) -> Result<()> {
        let mut list = std::mem::take(&mut self.displays.list);
        let mut lines = Vec::new();
        for display in list.iter_mut().filter(|d| d.enabled) {
            lines.extend(self.display_line(display).ok());
        }
        self.displays.list = list;
        for line in lines {
            self.say(&line)?;
        }
        Ok(())
    }

    fn display_line(&mut self, display: &mut Display) -> Result<String> {
        if self.live.is_none() {
            return Ok(String::new());
        }
        let Some(node) = display.here(&self.here()) else {
            return failure(format!("\"{}\" is of another block.", display.text));
        };
        let node = display.meant.insert(node).clone();
        if memory_format(&display.letters) {
            let what = Examine::parse(&display.letters, self.examine)?;
            let value = eval(&node, &mut self.here())?;
            let start = first_address(&value)?;
            let (lines, _) = self.examined(what, start)?;
            let lines = lines.join("\n");
            return Ok(format!(
                "{}: x/{} {}\n{lines}",
                display.number, display.letters, display.text
            ));
        }
        let options = self.print_options(&display.letters)?;
        let mut here = self.here();
        let value = eval(&node, &mut here)?;
        let shown = print_value(&value, &here, &options)?;
        let format = match display.letters.as_str() {
            "" => String::new(),
            letters => format!("/{letters} "),
        };
        Ok(format!(
            "{}: {format}{} = {shown}",
            display.number, display.text
        ))
    }
}

//! Expressions shown at every stop.

use super::Debugger;
use super::apply::range;
use super::failure::{Result, failure};
use verde_expr::{EvalError, Examine, compile, print_value};

/// One of them.
pub(super) struct Display {
    number: u32,
    letters: String,
    text: String,
    enabled: bool,
}

#[derive(Default)]
pub(super) struct Displays {
    list: Vec<Display>,
    last: u32,
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
        let display = Display {
            number: self.displays.last,
            letters: letters.to_owned(),
            text: text.to_owned(),
            enabled: true,
        };
        let shown = self.display_line(&display)?;
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
        let all = self.displays.list.iter();
        let lines: Vec<String> = all
            .map(|d| {
                let enabled = if d.enabled { 'y' } else { 'n' };
                match d.letters.as_str() {
                    "" => format!("{}:   {enabled}  {}", d.number, d.text),
                    letters => format!("{}:   {enabled}  /{letters} {}", d.number, d.text),
                }
            })
            .collect();
        if !lines.is_empty() {
            self.say("Auto-display expressions now in effect:\nNum Enb Expression")?;
        }
        self.say_all(lines, "There are no auto-display expressions now.")
    }

    /// What is to be seen at every stop; what has no value here is left out.
    pub(super) fn show_displays(&mut self) -> Result<()> {
        let list = std::mem::take(&mut self.displays.list);
        let mut lines = Vec::new();
        for display in list.iter().filter(|d| d.enabled) {
            lines.extend(self.display_line(display).ok());
        }
        self.displays.list = list;
        for line in lines {
            self.say(&line)?;
        }
        Ok(())
    }

    fn display_line(&mut self, display: &Display) -> Result<String> {
        if self.live.is_none() {
            return Ok(String::new());
        }
        if memory_format(&display.letters) {
            let what = Examine::parse(&display.letters, self.examine)?;
            let start = self.address_to_examine(&display.text)?;
            let (lines, _) = self.examined(what, start)?;
            let lines = lines.join("\n");
            return Ok(format!(
                "{}: x/{} {}\n{lines}",
                display.number, display.letters, display.text
            ));
        }
        let options = self.print_options(&display.letters)?;
        let mut here = self.here();
        let value = verde_expr::evaluate(&display.text, &mut here)?;
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

//! `save breakpoints FILE`: the commands that set the breakpoints again.

use super::Debugger;
use super::catches::{Event, Signals, call_name};
use super::failure::{Failure, Result, failure};
use super::points::{Access, After, Kind, Point};
use super::shell::with_home;
use verde_sys::signals;

impl Debugger {
    pub(super) fn save_points(&mut self, args: &str) -> Result<()> {
        let (what, file) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        if what.is_empty() || !"breakpoints".starts_with(what) {
            return failure("Save what?  save breakpoints FILE");
        }
        let file = file.trim();
        if file.is_empty() {
            return failure("Argument required (file name in which to save)");
        }
        let own = self.points.list.iter().filter(|p| !p.by_scenario);
        let lines: Vec<String> = own.flat_map(commands_of).collect();
        if lines.is_empty() {
            return self.say("Nothing to save.");
        }
        let path = with_home(file);
        let written = std::fs::write(&path, lines.join("\n") + "\n");
        let failed = |e| {
            let why = super::reason(&e);
            Failure(format!("Unable to open file '{file}' for saving ({why})"))
        };
        written.map_err(failed)?;
        self.say(&format!("Saved to file '{file}'."))
    }
}

/// The lines that make a point.
fn commands_of(point: &Point) -> Vec<String> {
    let once = point.after == After::Delete;
    let head = match (&point.kind, &point.exception) {
        (Kind::Code { .. }, Some(exception)) => {
            format!(
                "{} {}",
                if once { "tcatch" } else { "catch" },
                exception.typed()
            )
        }
        (Kind::Code { spec, .. }, None) => match &point.prints {
            Some(printed) => format!("dprintf {spec},{printed}"),
            None => {
                let thread = point.thread.map(|(number, _)| format!(" thread {number}"));
                let word = if once { "tbreak" } else { "break" };
                format!("{word} {spec}{}", thread.unwrap_or_default())
            }
        },
        (Kind::Watch(watch), _) => {
            let word = match watch.on {
                Access::Write | Access::Value => "watch",
                Access::Read => "rwatch",
                Access::Both => "awatch",
            };
            format!("{word} {}", watch.text)
        }
        (Kind::Catch(catch), _) => {
            format!(
                "{} {}",
                if once { "tcatch" } else { "catch" },
                typed(&catch.on)
            )
        }
    };
    let mut lines = vec![head];
    if let Some(condition) = &point.condition {
        lines.push(format!("  condition $bpnum {}", condition.text));
    }
    if point.ignore > 0 {
        lines.push(format!("  ignore $bpnum {}", point.ignore));
    }
    if !point.commands.is_empty() {
        lines.push("  commands".to_owned());
        lines.extend(point.commands.iter().map(|c| format!("    {c}")));
        lines.push("  end".to_owned());
    }
    if point.after == After::Disable {
        lines.push("enable once $bpnum".to_owned());
    }
    if !point.enabled {
        lines.push("disable $bpnum".to_owned());
    }
    lines
}

/// An event as `catch` takes it.
fn typed(event: &Event) -> String {
    let list = |word: &str, names: Vec<String>| match names.is_empty() {
        true => word.to_owned(),
        false => format!("{word} {}", names.join(" ")),
    };
    match event {
        Event::Syscall(calls) => list("syscall", calls.iter().map(|n| call_name(*n)).collect()),
        Event::Signal(Signals::Standard) => "signal".to_owned(),
        Event::Signal(Signals::Any) => "signal all".to_owned(),
        Event::Signal(Signals::These(numbers)) => list(
            "signal",
            numbers.iter().map(|n| signals::name(*n)).collect(),
        ),
        Event::Fork => "fork".to_owned(),
        Event::Vfork => "vfork".to_owned(),
        Event::Exec => "exec".to_owned(),
        Event::Load(text) => format!("load {text}").trim_end().to_owned(),
        Event::Unload(text) => format!("unload {text}").trim_end().to_owned(),
    }
}

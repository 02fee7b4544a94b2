//! `set print`: how values and frames are shown.

use super::Debugger;
use super::failure::{Failure, Result, failure};
use super::settings::{is_as, is_prefix, limit, on_or_off};
use verde_expr::{FrameArguments, PrintOptions};

/// What can be changed; a name of gdb's that another begins with comes first.
const NAMES: [&str; 12] = [
    "pretty",
    "object",
    "elements",
    "repeats",
    "max-depth",
    "array",
    "array-indexes",
    "address",
    "symbol",
    "union",
    "static-members",
    "frame-arguments",
];

/// What is so, whatever is said: scripts may say the same.
const FIXED: [(&str, &[&str]); 9] = [
    ("asm-demangle", &["on"]),
    ("demangle", &["on"]),
    ("entry-values", &["no", "default"]),
    ("finish", &["on"]),
    ("max-symbolic-offset", &["unlimited"]),
    ("null-stop", &["off"]),
    ("sevenbit-strings", &["off"]),
    ("symbol-filename", &["off"]),
    ("vtbl", &["off"]),
];

fn switch<'a>(print: &'a mut PrintOptions, name: &str) -> Option<&'a mut bool> {
    Some(match name {
        "pretty" => &mut print.lines,
        "object" => &mut print.object,
        "array" => &mut print.array_lines,
        "array-indexes" => &mut print.indexes,
        "address" => &mut print.addresses,
        "symbol" => &mut print.symbols,
        "union" => &mut print.unions,
        "static-members" => &mut print.statics,
        _ => return None,
    })
}

fn named(word: &str) -> Option<&'static str> {
    let exact = NAMES.into_iter().find(|n| *n == word);
    exact.or_else(|| NAMES.into_iter().find(|n| is_prefix(word, n, 3)))
}

/// Changes how values are shown.
fn change(print: &mut PrintOptions, name: &str, value: &str) -> Result<()> {
    let value = value.trim();
    if let Some(flag) = switch(print, name) {
        *flag = on_or_off(&format!("print {name}"), value)?;
        return Ok(());
    }
    match name {
        "elements" => print.elements = limit(value)?,
        "repeats" => print.repeats = limit(value)?,
        "max-depth" => print.depth = limit(value)?,
        _ => {
            print.frame_arguments = match value {
                "all" => FrameArguments::All,
                "scalars" => FrameArguments::Scalars,
                "none" => FrameArguments::None,
                "presence" => FrameArguments::Presence,
                _ => {
                    return failure("set print frame-arguments all, scalars, none, or presence");
                }
            }
        }
    }
    Ok(())
}

/// Takes `-pretty`, `-elements 3`, ... and `--` off the beginning of what is to be printed. Without
/// `--` there are none: `-obj` is a variable's value as well.
pub(super) fn take_print_options<'a>(print: &mut PrintOptions, text: &'a str) -> Result<&'a str> {
    let is_delimited = text.starts_with('-') && text.split_whitespace().any(|w| w == "--");
    if !is_delimited {
        return Ok(text);
    }
    let mut rest = text;
    loop {
        let (word, after) = first_word(rest);
        if word == "--" {
            return Ok(after);
        }
        let name = option_named(word).map_err(|why| Failure(format!("{why} option at: {rest}")))?;
        let (value, behind) = first_word(after);
        // A switch alone is on.
        let is_alone = switch(print, name).is_some() && value.starts_with('-');
        change(print, name, if is_alone { "" } else { value })?;
        rest = if is_alone { after } else { behind };
    }
}

fn first_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// What an option of `print` changes; otherwise what is wrong with it.
fn option_named(word: &str) -> std::result::Result<&'static str, &'static str> {
    let options = NAMES.into_iter().filter(|n| *n != "frame-arguments");
    let Some(word) = word.strip_prefix('-') else {
        return Err("Unrecognized");
    };
    let mut fitting = options.filter(|n| n.starts_with(word));
    match (fitting.next(), fitting.next()) {
        (Some(name), another) if another.is_none() || name == word => Ok(name),
        (Some(_), _) => Err("Ambiguous"),
        (None, _) => Err("Unrecognized"),
    }
}

impl Debugger {
    pub(super) fn set_print(&mut self, text: &str) -> Result<()> {
        let (what, value) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if let Some(name) = named(what) {
            return change(&mut self.settings.print, name, value);
        }
        match FIXED.into_iter().find(|(name, _)| *name == what) {
            Some((name, fixed)) => is_as(&format!("print {name}"), value.trim(), fixed),
            None => failure(format!(
                "\"set print {what}\" is not a command.  There is set print {}.",
                NAMES.join(", ")
            )),
        }
    }

    pub(super) fn show_print(&mut self) -> Result<()> {
        let mut print = self.settings.print.clone();
        let mut words = Vec::new();
        for name in NAMES {
            let value = match switch(&mut print, name) {
                Some(true) => "on".to_owned(),
                Some(false) => "off".to_owned(),
                None => match name {
                    "elements" => print.elements.to_string(),
                    "repeats" => print.repeats.to_string(),
                    "max-depth" => print.depth.to_string(),
                    _ => print.frame_arguments.word().to_owned(),
                },
            };
            words.push(format!("{name} {value}"));
        }
        self.say(&words.join(", "))
    }
}

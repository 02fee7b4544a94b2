//! The program's arguments: words as they are, or a line that a shell would read.

use super::failure::{Failure, Result, failure};
use super::settings::Settings;
use super::shell::shell_path;
use super::stops::description;
use std::ffi::OsString;
use std::os::fd::{OwnedFd, RawFd};
use verde_sys::expand::{Expansion, expand};

/// What the program is started with.
pub(super) enum Arguments {
    /// The words themselves, from a command line that a shell has read already.
    Words(Vec<OsString>),
    /// What was typed at the prompt.
    Typed(String),
}

/// Words, and the descriptors if a shell made some.
pub(super) struct Started {
    pub words: Vec<OsString>,
    pub descriptors: Option<Vec<(RawFd, OwnedFd)>>,
}

impl Arguments {
    /// What a line of the prompt says.
    pub fn typed(text: &str) -> Result<Arguments> {
        let text = text.trim();
        if text.ends_with('&') && !text.ends_with("\\&") {
            return failure(
                "Programs are not run in the background: run without \"&\", ^C stops the program.",
            );
        }
        Ok(Arguments::Typed(text.to_owned()))
    }

    /// What `show args` says: it can be typed again.
    pub fn shown(&self) -> String {
        match self {
            Arguments::Typed(text) => text.clone(),
            Arguments::Words(words) => {
                let words = words.iter().map(|w| quoted(&w.to_string_lossy()));
                words.collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// What the program gets. A line in which the shell would see more than words is given to it.
    pub fn start(&self, settings: &Settings) -> Result<Started> {
        let text = match self {
            Arguments::Words(words) => return Ok(Started::plain(words.clone())),
            Arguments::Typed(text) => text,
        };
        let (words, is_plain) = words(text);
        if is_plain || !settings.shell {
            return Ok(Started::plain(words));
        }
        let shell = shell_path();
        let name = shell.display().to_string();
        let done = expand(shell, text, settings.environment(), settings.cwd.clone());
        match done {
            Ok(Expansion::Words(words, descriptors)) => Ok(Started {
                words,
                descriptors: Some(descriptors),
            }),
            Ok(Expansion::Exited(0)) => failure(
                "The shell did not start the program: its arguments can have redirections, \
                 but no pipes and no other commands.",
            ),
            // It has said why.
            Ok(Expansion::Exited(code)) => {
                failure(format!("During startup program exited with code {code}."))
            }
            Ok(Expansion::Killed(signal)) => failure(format!(
                "During startup program terminated with signal {}, {}.",
                verde_sys::signals::name(signal),
                description(signal)
            )),
            Err(e) => Err(Failure(format!(
                "The shell {name} cannot be asked for the arguments ({e}): \
                 set startup-with-shell off takes them as they are."
            ))),
        }
    }
}

impl Started {
    fn plain(words: Vec<OsString>) -> Started {
        Started {
            words,
            descriptors: None,
        }
    }
}

/// A word as a shell has to read it.
fn quoted(word: &str) -> String {
    const SPECIAL: &str = "\t !\"#$&*()\\|[]{}<>?'`~^;";
    if word.is_empty() {
        return "''".to_owned();
    }
    let mut out = String::new();
    for c in word.chars() {
        match c {
            '\n' => out.push_str("'\n'"),
            c if SPECIAL.contains(c) => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// Words as every shell splits them, quotes taken off, and whether that is all there is to do.
fn words(text: &str) -> (Vec<OsString>, bool) {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut is_plain = true;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            ('\\', None) => word.get_or_insert_default().extend(chars.next()),
            ('\\', Some('"')) if chars.peek().is_some_and(|c| "$`\"\\".contains(*c)) => {
                word.get_or_insert_default().extend(chars.next());
            }
            (c, Some(q)) => {
                is_plain &= q == '\'' || !matches!(c, '$' | '`');
                word.get_or_insert_default().push(c);
            }
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => out.extend(word.take().map(OsString::from)),
            (c, None) => {
                let begins = word.is_none() && matches!(c, '~' | '#' | '=');
                is_plain &= !begins && !"<>|&;()$`*?[{!^".contains(c);
                word.get_or_insert_default().push(c);
            }
        }
    }
    out.extend(word.map(OsString::from));
    (out, is_plain && quote.is_none())
}

#[cfg(test)]
mod tests {
    use super::{Arguments, quoted, words};

    #[test]
    fn words_of_a_command_line() {
        let split = |text| words(text).0.join("|".as_ref());
        assert_eq!(split("a 'b c'  \"d \\\" e\" ''"), "a|b c|d \" e|");
        assert_eq!(split(r#""a\nb" a\ b 'c\'"#), "a\\nb|a b|c\\");
        assert_eq!(split("  "), "");
    }

    #[test]
    fn a_shell_is_needed_for_more_than_words() {
        let plain = [
            "",
            "a b -x=3 --y=~/z a#b",
            "'$HOME *' \"<a>\" \\* a\\ b",
            r#""\$HOME""#,
        ];
        let others = [
            "< in",
            "a>b",
            "2>&1",
            "*.c",
            "$HOME",
            "\"$HOME\"",
            "`x`",
            "~",
            "a?",
            "{a,b}",
            "'open",
            "# no",
            "a; b",
            "a | b",
        ];
        for text in plain {
            assert!(words(text).1, "{text}");
        }
        for text in others {
            assert!(!words(text).1, "{text}");
        }
    }

    #[test]
    fn words_are_shown_as_they_can_be_typed() {
        let given = ["a b", "", "c'd", "e\"", "$x", "plain"];
        let args = Arguments::Words(given.iter().map(Into::into).collect());
        assert_eq!(args.shown(), r#"a\ b '' c\'d e\" \$x plain"#);
        for word in given {
            assert_eq!(words(&quoted(word)), (vec![word.into()], true));
        }
    }

    #[test]
    fn nothing_runs_in_the_background() {
        assert!(Arguments::typed("a &").is_err());
        assert!(Arguments::typed("a \\&").is_ok());
    }
}

//! What the beginning of a word may become.

use super::Debugger;
use super::info::topics;
use std::path::Path;
use std::sync::Arc;
use verde_symbols::Module;
use verde_sys::{signals, syscalls};

const MOST: usize = 200;

/// Completes commands and names of the program.
pub struct Completer {
    program: Arc<Module>,
}

impl Debugger {
    /// Completion for this program.
    pub fn completer(&self) -> Completer {
        Completer {
            program: self.images.program().clone(),
        }
    }
}

/// What may follow some commands.
const SETTINGS: &[&str] = &["args", "cwd", "environment", "follow-fork-mode", "var"];
const EVENTS: &[&str] = &[
    "catch", "exec", "fork", "load", "rethrow", "signal", "syscall", "throw", "unload", "vfork",
];
const TREATMENTS: &[&str] = &["nopass", "noprint", "nostop", "pass", "print", "stop"];

impl Completer {
    /// Where the last word of a line begins, and what it may become.
    pub fn complete(&self, line: &str) -> (usize, Vec<String>) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let start = line
            .char_indices()
            .rev()
            .take_while(|(_, c)| is_word(*c))
            .last()
            .map_or(line.len(), |(at, _)| at);
        let word = &line[start..];
        let before = line[..start].trim();
        let mut words = before.split_whitespace();
        let command = words.next().unwrap_or_default();
        let second = words.next();
        let fitting = |names: &mut dyn Iterator<Item = String>| -> Vec<String> {
            names.filter(|n| n.starts_with(word)).take(MOST).collect()
        };
        let of = |names: &[&str]| fitting(&mut names.iter().map(|n| (*n).to_owned()));
        let found = match (command, second) {
            ("", _) => of(&Debugger::command_names()),
            ("info" | "i" | "inf", None) => fitting(&mut topics().map(str::to_owned)),
            ("help" | "h", None) => of(&Debugger::command_names()),
            ("set" | "show" | "unset", None) => of(SETTINGS),
            ("set", Some("follow-fork-mode")) => of(&["child", "parent"]),
            ("catch" | "tcatch", None) => of(EVENTS),
            ("catch" | "tcatch", Some("syscall")) => {
                fitting(&mut syscalls::names().map(str::to_owned))
            }
            ("catch" | "tcatch", Some("signal")) | ("signal" | "handle", None) => {
                signal_names(word)
            }
            ("handle", Some(_)) => of(TREATMENTS),
            ("thread", None) => of(&["apply"]),
            ("source", _) | ("set", Some("cwd")) => return files(line),
            ("verde", _) => return verde_words(line),
            _ if word.is_empty() => Vec::new(),
            ("break" | "b" | "tbreak" | "list" | "l" | "until" | "advance" | "jump", _) => {
                let mut all = self.program.names_starting_with(word, MOST);
                all.extend(self.source_names(word));
                all
            }
            _ => self.program.names_starting_with(word, MOST),
        };
        (start, found)
    }

    /// Source files, ready for a line number.
    fn source_names(&self, word: &str) -> Vec<String> {
        let files = self.program.source_files();
        let mut names: Vec<String> = files
            .iter()
            .filter_map(|f| f.name.rsplit('/').next())
            .filter(|name| name.starts_with(word))
            .map(|name| format!("{name}:"))
            .collect();
        names.sort();
        names.dedup();
        names.truncate(MOST);
        names
    }
}

fn signal_names(word: &str) -> Vec<String> {
    let all = (1..=31).map(signals::name);
    all.filter(|n| n.starts_with(word)).collect()
}

/// The paper's commands, then their files.
fn verde_words(line: &str) -> (usize, Vec<String>) {
    match line.strip_prefix("verde ") {
        Some(rest) if !rest.contains(' ') => {
            let fitting = Debugger::verde_names().filter(|n| n.starts_with(rest));
            let found = fitting.map(str::to_owned).collect();
            (line.len() - rest.len(), found)
        }
        _ => files(line),
    }
}

/// Files whose path the last word of a line begins.
fn files(line: &str) -> (usize, Vec<String>) {
    let start = line.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let word = &line[start..];
    let (dir, name) = match word.rfind('/') {
        Some(at) => word.split_at(at + 1),
        None => ("", word),
    };
    let path = if dir.is_empty() { "." } else { dir };
    let Ok(entries) = std::fs::read_dir(Path::new(path)) else {
        return (start, Vec::new());
    };
    let fitting = entries.flatten().filter_map(|entry| {
        let found = entry.file_name().into_string().ok()?;
        let wanted = found.starts_with(name) && (!found.starts_with('.') || name.starts_with('.'));
        let end = if entry.path().is_dir() { "/" } else { "" };
        wanted.then(|| format!("{dir}{found}{end}"))
    });
    let mut all: Vec<String> = fitting.take(MOST).collect();
    all.sort();
    (start, all)
}

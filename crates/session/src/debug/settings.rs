//! `set`, `unset` and `show`: how the program is started and followed.

use super::Debugger;
use super::failure::{Result, failure};
use super::files;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use verde_engine::Follow;
use verde_expr::{PrintOptions, Scope};
use verde_symbols::Language;

/// Which threads go on with the selected one.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Locking {
    /// All.
    #[default]
    Off,
    /// None.
    On,
    /// None while it is stepped.
    Step,
}

impl Locking {
    fn word(self) -> &'static str {
        match self {
            Locking::Off => "off",
            Locking::On => "on",
            Locking::Step => "step",
        }
    }
}

/// What the next start of the program uses.
pub(super) struct Settings {
    /// Changed variables; `None` for those taken out.
    changes: BTreeMap<OsString, Option<OsString>>,
    /// The debugger's own variables are not passed on.
    cleared: bool,
    pub cwd: Option<PathBuf>,
    /// Arguments that are more than words are for the shell to read.
    pub shell: bool,
    pub follow: Follow,
    /// The program's addresses differ from run to run.
    pub randomize: bool,
    /// A user and PID namespace for the program: restores keep ids without privileges. `None`: if
    /// checkpoints are asked for from the start.
    pub namespace: Option<bool>,
    /// malloc on huge pages: checkpoints of much memory are faster.
    huge_pages: bool,
    /// How values are shown.
    pub print: PrintOptions,
    /// Lines that `list` shows.
    list_size: Option<u32>,
    /// Instructions in Intel's syntax.
    pub intel: bool,
    pub locking: Locking,
    /// Directories whose files come back with checkpoints; none named: the working directory.
    pub fs_snapshot: Option<Vec<PathBuf>>,
    /// Lines that end the program are asked about.
    pub confirm: bool,
    /// Breakpoints may wait for a library that has their place.
    pub pending: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            changes: BTreeMap::new(),
            cleared: false,
            cwd: None,
            shell: true,
            follow: Follow::default(),
            randomize: false,
            namespace: None,
            huge_pages: false,
            print: PrintOptions::default(),
            list_size: None,
            intel: false,
            locking: Locking::default(),
            fs_snapshot: None,
            confirm: true,
            pending: false,
        }
    }
}

impl Settings {
    pub fn list_size(&self) -> u32 {
        self.list_size.unwrap_or(10)
    }

    /// The program's environment; `None`: the debugger's own.
    pub fn environment(&self) -> Option<Vec<(OsString, OsString)>> {
        if self.changes.is_empty() && !self.cleared && !self.huge_pages {
            return None;
        }
        let own = match self.cleared {
            true => Vec::new(),
            false => std::env::vars_os().collect(),
        };
        let kept = own
            .into_iter()
            .filter(|(n, _)| !self.changes.contains_key(n));
        let new = self.changes.iter().filter_map(|(name, value)| {
            let value = value.clone()?;
            Some((name.clone(), value))
        });
        let mut all: Vec<_> = kept.chain(new).collect();
        if self.huge_pages {
            add_tunable(&mut all);
        }
        Some(all)
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        match self.changes.get(OsStr::new(name)) {
            Some(changed) => changed.clone(),
            None if self.cleared => None,
            None => std::env::var_os(name),
        }
    }
}

/// Tells the C library to use huge pages, besides what it is told already.
fn add_tunable(environment: &mut Vec<(OsString, OsString)>) {
    const NAME: &str = "GLIBC_TUNABLES";
    let mut value = OsString::from("glibc.malloc.hugetlb=1");
    if let Some(at) = environment.iter().position(|(n, _)| n == NAME) {
        let (_, before) = environment.swap_remove(at);
        value.push(":");
        value.push(before);
    }
    environment.push((OsString::from(NAME), value));
}

pub(super) fn on_or_off(name: &str, text: &str) -> Result<bool> {
    match text {
        "" | "on" | "1" | "yes" | "enable" => Ok(true),
        "off" | "0" | "no" | "disable" => Ok(false),
        _ => failure(format!("set {name} on, or off")),
    }
}

/// How much is shown; 0 and `unlimited` for all that can be.
pub(super) fn limit(text: &str) -> Result<usize> {
    /// A value is put together in memory before it is shown.
    const MOST: usize = 1 << 20;
    match text.trim() {
        "0" | "unlimited" => Ok(MOST),
        text => match text.parse::<usize>() {
            Ok(number) => Ok(number.min(MOST)),
            Err(_) => failure(format!("\"{text}\" is not a number.")),
        },
    }
}

/// Accepts what is so anyway.
pub(super) fn is_as(name: &str, value: &str, fixed: &[&str]) -> Result<()> {
    let truth = |text: &str| on_or_off(name, text).ok();
    let is_same = |f: &&str| value == *f || (truth(f).is_some() && truth(value) == truth(f));
    match fixed.iter().any(is_same) {
        true => Ok(()),
        false => failure(format!(
            "\"set {name} {value}\" is not there: it is always {}.",
            fixed.join(" or ")
        )),
    }
}

/// What is so, whatever is said: scripts may say the same.
const FIXED: [(&str, &[&str]); 13] = [
    ("architecture", &["auto", "i386:x86-64"]),
    ("auto-solib-add", &["on"]),
    ("can-use-hw-watchpoints", &["1"]),
    ("detach-on-fork", &["on"]),
    ("disassemble-next-line", &["off"]),
    ("follow-exec-mode", &["same"]),
    ("max-value-size", &["unlimited"]),
    ("non-stop", &["off"]),
    ("schedule-multiple", &["off"]),
    ("step-mode", &["off"]),
    ("stop-on-solib-events", &["0"]),
    ("unwind-on-terminating-exception", &["on"]),
    ("unwindonsignal", &["on"]),
];

/// Splits `NAME=VALUE` or `NAME VALUE`.
fn assignment(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| c == '=' || c.is_whitespace())
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let rest = rest.trim_start();
    (name, rest.strip_prefix('=').unwrap_or(rest).trim_start())
}

pub(super) fn is_prefix(word: &str, name: &str, least: usize) -> bool {
    word.len() >= least && name.starts_with(word)
}

impl Debugger {
    /// The settings that have a name; anything else is an expression.
    pub(super) fn set_other(&mut self, what: &str, rest: &str, whole: &str) -> Result<()> {
        let rest = rest.trim();
        if is_prefix(what, "environment", 3) {
            return self.set_environment(rest);
        }
        match what {
            "cwd" => {
                self.settings.cwd = (!rest.is_empty()).then(|| PathBuf::from(rest));
                Ok(())
            }
            "follow-fork-mode" => {
                self.settings.follow = match rest {
                    "parent" => Follow::Parent,
                    "child" => Follow::Child,
                    _ => return failure("set follow-fork-mode parent, or child"),
                };
                if let Some(live) = &mut self.live {
                    live.process.options.follow = self.settings.follow;
                }
                Ok(())
            }
            "startup-with-shell" => {
                self.settings.shell = on_or_off(what, rest)?;
                Ok(())
            }
            "disable-randomization" => {
                self.settings.randomize = !on_or_off(what, rest)?;
                Ok(())
            }
            "substitute-path" => self.set_substitute(rest),
            "logging" => failure(
                "There is no log of the session: verde debug ... 2>&1 | tee FILE keeps one, or script(1).",
            ),
            "namespace" => {
                self.settings.namespace = Some(on_or_off(what, rest)?);
                Ok(())
            }
            "huge-pages" => {
                self.settings.huge_pages = on_or_off(what, rest)?;
                Ok(())
            }
            "listsize" => {
                let most = limit(rest)?.max(1);
                self.settings.list_size = u32::try_from(most).ok();
                Ok(())
            }
            "disassembly-flavor" => {
                self.settings.intel = match rest {
                    "att" => false,
                    "intel" => true,
                    _ => return failure("set disassembly-flavor att, or intel"),
                };
                Ok(())
            }
            "scheduler-locking" => {
                self.settings.locking = match rest {
                    "off" | "replay" => Locking::Off,
                    "on" => Locking::On,
                    "step" => Locking::Step,
                    _ => return failure("set scheduler-locking off, on, or step"),
                };
                Ok(())
            }
            "print" | "p" | "pr" => self.set_print(rest),
            "confirm" => {
                self.settings.confirm = on_or_off(what, rest)?;
                Ok(())
            }
            "breakpoint" => self.set_pending(rest),
            // What gdb's users have in their scripts, and what is so anyway.
            "debuginfod" | "history" | "style" | "verbose" if !rest.starts_with('=') => Ok(()),
            "pagination" => on_or_off(what, rest).map(drop),
            "width" | "height" => match rest {
                "" => failure("Argument required (integer to set it to, or \"unlimited\".)."),
                "unlimited" => Ok(()),
                number => Ok(self.evaluate(number)?.to_integer().map(drop)?),
            },
            "fs-snapshot" => {
                self.settings.fs_snapshot = files::directories(rest);
                if self.live.is_some() {
                    self.say("This takes effect with the next \"run\".")?;
                }
                Ok(())
            }
            "language" => self.set_language(rest),
            "" => failure("Set what?  set var LEFT = VALUE, set args, set env, set cwd"),
            _ if whole.starts_with('$') || whole.contains('=') => {
                self.evaluate(whole)?;
                self.look_again()
            }
            _ => match FIXED.iter().find(|(name, _)| *name == what) {
                Some((name, fixed)) => is_as(name, rest, fixed),
                None => failure(format!(
                    "\"set {what}\" is not a command.  Try \"set var\", \"set args\", \"set env\", \
                 \"set cwd\", \"set print\", \"set listsize\", \"set disassembly-flavor\", \
                 \"set scheduler-locking\", \"set follow-fork-mode\", \"set namespace\", \
                 \"set huge-pages\" or \"set fs-snapshot\"."
                )),
            },
        }
    }

    /// Expressions are of the language around: another cannot be chosen.
    fn set_language(&mut self, text: &str) -> Result<()> {
        let around = match self.here().language() {
            Language::C => "c",
            Language::Cpp => "c++",
            Language::Rust => "rust",
            Language::Asm => "asm",
        };
        is_as("language", text, &["auto", "local", around])
    }

    /// `set breakpoint pending on`
    fn set_pending(&mut self, text: &str) -> Result<()> {
        let (what, value) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        self.settings.pending = match (what, value.trim()) {
            ("pending", "auto") => false,
            ("pending", value) => on_or_off("breakpoint pending", value)?,
            _ => return failure("set breakpoint pending on, or off"),
        };
        Ok(())
    }

    fn set_environment(&mut self, text: &str) -> Result<()> {
        let (name, value) = assignment(text);
        if name.is_empty() {
            return failure("Which variable?  set env NAME=VALUE");
        }
        let value = Some(OsString::from(value));
        self.settings.changes.insert(OsString::from(name), value);
        Ok(())
    }

    pub(super) fn unset(&mut self, args: &str) -> Result<()> {
        let (what, name) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        if what == "substitute-path" {
            return self.unset_substitute(name.trim());
        }
        if !is_prefix(what, "environment", 3) {
            return failure("Unset what?  unset env [NAME], unset substitute-path [FROM]");
        }
        match name.trim() {
            "" => {
                self.settings.changes.clear();
                self.settings.cleared = true;
            }
            name => {
                self.settings.changes.insert(OsString::from(name), None);
            }
        }
        Ok(())
    }

    pub(super) fn show(&mut self, args: &str) -> Result<()> {
        let (what, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        if is_prefix(what, "environment", 3) {
            return self.show_environment(rest.trim());
        }
        match what {
            "args" => {
                let text = self.args.shown();
                self.say(&format!(
                    "Argument list to give program being debugged when it is started is \"{text}\"."
                ))
            }
            "cwd" => {
                let text = match &self.settings.cwd {
                    Some(dir) => format!(
                        "Current working directory that will be used when starting the inferior \
                         is \"{}\".",
                        dir.display()
                    ),
                    None => "You have not set the inferior's current working directory.\n\
                             The inferior will inherit Verde's cwd."
                        .to_owned(),
                };
                self.say(&text)
            }
            "startup-with-shell" => {
                let word = if self.settings.shell { "on" } else { "off" };
                self.say(&format!("Use of shell to start subprocesses is {word}."))
            }
            "follow-fork-mode" => {
                let side = match self.settings.follow {
                    Follow::Parent => "parent",
                    Follow::Child => "child",
                };
                self.say(&format!(
                    "Debugger response to a program call of fork or vfork is \"{side}\"."
                ))
            }
            "print" => self.show_print(),
            "listsize" => {
                let size = self.settings.list_size();
                self.say(&format!(
                    "Number of source lines that list shows by default is {size}."
                ))
            }
            "disassembly-flavor" => {
                let flavor = if self.settings.intel { "intel" } else { "att" };
                self.say(&format!("The disassembly flavor is \"{flavor}\"."))
            }
            "scheduler-locking" => {
                let word = self.settings.locking.word();
                self.say(&format!(
                    "Mode for locking scheduler during execution is \"{word}\"."
                ))
            }
            "confirm" => {
                let word = if self.settings.confirm { "on" } else { "off" };
                self.say(&format!(
                    "Whether to confirm potentially dangerous operations is {word}."
                ))
            }
            "disable-randomization" => {
                let word = if self.settings.randomize { "off" } else { "on" };
                self.say(&format!(
                    "Disabling randomization of debuggee's virtual address space is {word}."
                ))
            }
            "values" => self.show_values(),
            word if is_prefix(word, "convenience", 4) => self.show_conveniences(),
            "directories" => self.show_directories(),
            "substitute-path" => self.show_substitutes(),
            "user" => self.show_user(rest.trim()),
            "version" => self.say(concat!("Verde ", env!("CARGO_PKG_VERSION"))),
            _ => failure(
                "Show what?  show args, show env [NAME], show cwd, show print, show listsize, \
                 show disassembly-flavor, show scheduler-locking, show follow-fork-mode, \
                 show values, show convenience, show directories, show substitute-path",
            ),
        }
    }

    fn show_environment(&mut self, name: &str) -> Result<()> {
        if !name.is_empty() {
            return match self.settings.variable(name) {
                Some(value) => self.say(&format!("{name} = {}", value.to_string_lossy())),
                None => self.say(&format!("Environment variable \"{name}\" not defined.")),
            };
        }
        let all = self.settings.environment();
        let all = all.unwrap_or_else(|| std::env::vars_os().collect());
        for (name, value) in all {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            self.say(&format!("{name}={value}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn variables_are_named_in_both_ways() {
        assert_eq!(super::assignment("A=b c"), ("A", "b c"));
        assert_eq!(super::assignment("A b"), ("A", "b"));
        assert_eq!(super::assignment("A = b"), ("A", "b"));
        assert_eq!(super::assignment("A"), ("A", ""));
    }
}

//! Commands that users define: `define`, `document`, `show user`.

use super::Debugger;
use super::commands::{Reply, is_command};
use super::failure::{Result, failure};
use super::hooks::{Side, hooked};
use super::lists::Owner;
use std::collections::BTreeMap;

#[derive(Clone, Default)]
struct User {
    lines: Vec<String>,
    help: Vec<String>,
}

/// The commands by name.
#[derive(Default)]
pub(super) struct UserCommands {
    all: BTreeMap<String, User>,
    /// Hooks that run now; they are not run for what they do themselves.
    running: Vec<String>,
}

impl UserCommands {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The lines of a hook that begins; `None`: there is none, or it runs already.
    pub fn begin(&mut self, hook: &str) -> Option<Vec<String>> {
        if self.running.iter().any(|r| r == hook) {
            return None;
        }
        let lines = self.all.get(hook)?.lines.clone();
        self.running.push(hook.to_owned());
        Some(lines)
    }

    /// It has ended.
    pub fn end(&mut self, hook: &str) {
        self.running.retain(|r| r != hook);
    }

    pub fn define(&mut self, name: String, lines: Vec<String>) {
        self.all.entry(name).or_default().lines = lines;
    }

    pub fn document(&mut self, name: &str, help: Vec<String>) {
        if let Some(user) = self.all.get_mut(name) {
            user.help = help;
        }
    }

    /// Whether a line runs one of them.
    pub fn begins(&self, line: &str) -> bool {
        self.all.contains_key(name_in(line))
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.keys().map(String::as_str)
    }

    /// What `help` says of a command.
    pub fn help(&self, name: &str) -> Option<String> {
        let user = self.all.get(name)?;
        Some(match user.help.is_empty() {
            true => "User-defined.".to_owned(),
            false => user.help.join("\n"),
        })
    }

    fn text(&self, name: &str) -> Option<String> {
        let user = self.all.get(name)?;
        let mut text = format!("User command \"{name}\":");
        let mut depth = 1;
        for line in &user.lines {
            let word = line.split_whitespace().next().unwrap_or_default();
            let ends = matches!(word, "end" | "else");
            depth -= usize::from(ends && depth > 1);
            text.push_str(&format!("\n{:width$}{line}", "", width = 2 * depth));
            depth += usize::from(matches!(word, "if" | "while" | "commands" | "else"));
        }
        Some(text)
    }
}

/// What `$arg0`, `$arg1`... and `$argc` of a definition stand for.
pub(super) struct Substitutes(Vec<String>);

impl Substitutes {
    /// The words of a line; quotes keep spaces.
    pub fn of(text: &str) -> Substitutes {
        let mut words: Vec<String> = Vec::new();
        let (mut word, mut quote, mut escaped) = (String::new(), None, false);
        for c in text.chars() {
            if quote.is_none() && c.is_whitespace() {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                continue;
            }
            word.push(c);
            match quote {
                _ if escaped => escaped = false,
                _ if c == '\\' => escaped = true,
                Some(q) if q == c => quote = None,
                None if matches!(c, '"' | '\'') => quote = Some(c),
                _ => {}
            }
        }
        if !word.is_empty() {
            words.push(word);
        }
        Substitutes(words)
    }

    /// A line of the definition as it is run. Words that were not given are left.
    pub fn put_into(&self, line: &str) -> String {
        let mut out = String::new();
        let mut rest = line;
        while let Some(at) = rest.find("$arg") {
            out.push_str(&rest[..at]);
            let name = &rest[at + 4..];
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let length = name.find(|c| !is_word(c)).unwrap_or(name.len());
            let put = match &name[..length] {
                "c" => Some(self.0.len().to_string()),
                number => number
                    .parse()
                    .ok()
                    .and_then(|n: usize| self.0.get(n).cloned()),
            };
            let whole = &rest[at..at + 4 + length];
            out.push_str(put.as_deref().unwrap_or(whole));
            rest = &name[length..];
        }
        out + rest
    }
}

/// The name that a line begins with.
fn name_in(line: &str) -> &str {
    &line[..line.find(|c| !is_letter(c)).unwrap_or(line.len())]
}

pub(super) fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(is_letter)
}

impl Debugger {
    pub(super) fn define(&mut self, name: &str) -> Result<()> {
        if !is_name(name) {
            return failure("Name a command to define: define NAME, its lines, end.");
        }
        if is_command(name) {
            return failure(format!(
                "\"{name}\" is a command of Verde's; choose another name."
            ));
        }
        if hooked(name).is_some_and(|command| !self.has_what_to_hook(command)) {
            self.say(&format!(
                "warning: Your new `{name}' command does not hook any existing command."
            ))?;
        }
        self.read_list(Owner::Command(name.to_owned()), Vec::new());
        Ok(())
    }

    pub(super) fn document(&mut self, name: &str) -> Result<()> {
        if self.user.help(name).is_none() {
            return failure(format!("Command \"{name}\" is not user-defined."));
        }
        self.read_list(Owner::Help(name.to_owned()), Vec::new());
        Ok(())
    }

    /// Runs a line of a user's command; `None`: it begins with none.
    pub(super) fn run_user(&mut self, line: &str) -> Option<Result<Reply>> {
        let name = name_in(line);
        let lines = self.user.all.get(name)?.lines.clone();
        Some(self.run_user_lines(name, &lines, &line[name.len()..]))
    }

    fn run_user_lines(&mut self, name: &str, lines: &[String], args: &str) -> Result<Reply> {
        let quits = |reply: &Reply| *reply == Reply::Quit;
        let before = self.run_hook(Side::Before, name)?;
        if quits(&before) {
            return Ok(before);
        }
        let done = self.run_list(lines, Some(&Substitutes::of(args)))?;
        if quits(&done) {
            return Ok(done);
        }
        self.run_hook(Side::After, name)
    }

    pub(super) fn show_user(&mut self, name: &str) -> Result<()> {
        let names: Vec<String> = match name {
            "" => self.user.names().map(str::to_owned).collect(),
            name => vec![name.to_owned()],
        };
        for name in names {
            match self.user.text(&name) {
                Some(text) => self.say(&text)?,
                None => return failure(format!("Not a user command: \"{name}\".")),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Substitutes;

    #[test]
    fn words_are_put_into_lines() {
        let put = |line: &str| Substitutes::of("a+1 \"b c\" 'd'").put_into(line);
        assert_eq!(put("print $arg0 * $arg1"), "print a+1 * \"b c\"");
        assert_eq!(
            put("echo $argc $arg2.x $arg9 $argx"),
            "echo 3 'd'.x $arg9 $argx"
        );
        assert_eq!(put("p $a"), "p $a");
    }
}

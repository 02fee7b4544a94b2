//! Other names for commands: `alias NAME = COMMAND`.

use super::Debugger;
use super::commands::{entry, is_command, split};
use super::failure::{Result, failure};
use std::collections::BTreeMap;

/// What each name stands for.
#[derive(Default)]
pub(super) struct Aliases(BTreeMap<String, String>);

impl Aliases {
    /// A line with the command in place of another name for it.
    pub fn resolve(&self, line: &str) -> Option<String> {
        let (word, _) = split(line);
        let command = self.0.get(word)?;
        Some(format!("{command}{}", &line[word.len()..]))
    }
}

const USAGE: &str = "alias NAME = COMMAND [ARGUMENTS], e.g. alias px = print/x";

impl Debugger {
    pub(super) fn alias(&mut self, args: &str) -> Result<()> {
        let text = args.strip_prefix("-a ").unwrap_or(args);
        let text = text.trim().strip_prefix("-- ").unwrap_or(text);
        let Some((name, command)) = text.split_once('=') else {
            return failure(USAGE);
        };
        let (name, command) = (name.trim(), command.trim());
        if name.is_empty() || split(name) != (name, "") || command.is_empty() {
            return failure(USAGE);
        }
        let word = split(command).0;
        if self.user.help(word).is_none() && !is_command(word) && entry(word).is_err() {
            return failure(format!("Invalid command to alias to: {command}"));
        }
        if is_command(name) || self.user.help(name).is_some() || self.aliases.0.contains_key(name) {
            return failure(format!("Alias already exists: {name}"));
        }
        self.aliases.0.insert(name.to_owned(), command.to_owned());
        Ok(())
    }
}

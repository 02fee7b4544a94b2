//! `help`: commands by topic, with examples.

use super::Debugger;
use super::commands::{Entry, entries, entry};
use super::failure::{Failure, Result, failure};
use regex_lite::RegexBuilder;

/// Commands that belong together.
struct Topic {
    name: &'static str,
    title: &'static str,
    commands: &'static [&'static str],
    /// What to type, and what it does.
    examples: &'static [(&'static str, &'static str)],
}

const TOPICS: &[Topic] = &[
    Topic {
        name: "running",
        title: "Run the program and go on after a stop",
        commands: &[
            "run",
            "start",
            "starti",
            "continue",
            "step",
            "next",
            "finish",
            "until",
            "advance",
            "stepi",
            "nexti",
            "jump",
            "return",
            "signal",
            "queue-signal",
            "kill",
            "detach",
        ],
        examples: &[
            (
                "start",
                "run to the beginning of main; run goes on to the first breakpoint",
            ),
            (
                "next",
                "to the next line; step goes into the functions it calls",
            ),
            (
                "finish",
                "until this function returns; shows what it returns",
            ),
        ],
    },
    Topic {
        name: "stopping",
        title: "Say where and when to stop",
        commands: &[
            "break",
            "tbreak",
            "hbreak",
            "thbreak",
            "rbreak",
            "save",
            "dprintf",
            "skip",
            "watch",
            "rwatch",
            "awatch",
            "catch",
            "tcatch",
            "condition",
            "ignore",
            "commands",
            "delete",
            "clear",
            "disable",
            "enable",
            "handle",
        ],
        examples: &[
            (
                "break queue.c:41 if n > 3",
                "at a line, when a condition holds",
            ),
            (
                "watch list->size",
                "when this value changes, wherever that happens",
            ),
            (
                "catch syscall openat",
                "at a system call; also signal, fork, exec, throw",
            ),
        ],
    },
    Topic {
        name: "stack",
        title: "See how the program came here",
        commands: &[
            "backtrace",
            "frame",
            "up",
            "down",
            "thread",
            "taas",
            "faas",
            "info",
        ],
        examples: &[
            (
                "bt",
                "the calls that led here, innermost first; bt full with their variables",
            ),
            (
                "up",
                "to the caller; print and info locals then mean its variables",
            ),
            (
                "info threads",
                "every thread, and who waits for whom, where that is noted (mutexes of C and C++, joins)",
            ),
            ("thread apply all bt", "the calls of every thread"),
        ],
    },
    Topic {
        name: "data",
        title: "Look at values and change them",
        commands: &[
            "print",
            "display",
            "undisplay",
            "call",
            "printf",
            "output",
            "eval",
            "ptype",
            "whatis",
            "x",
            "find",
        ],
        examples: &[
            (
                "print *node->next",
                "an expression of C, C++ or Rust; print/x in hexadecimal",
            ),
            ("print a[0]@10", "ten elements from a[0] on"),
            ("print n = 5", "change a variable"),
        ],
    },
    Topic {
        name: "source",
        title: "Read the source and the machine code",
        commands: &["list", "directory", "disassemble"],
        examples: &[
            (
                "list",
                "the lines around this place; again for the next ones",
            ),
            ("x/5i $pc", "the next five instructions"),
        ],
    },
    Topic {
        name: "properties",
        title: "Check properties while the program runs",
        commands: &["verde"],
        examples: &[
            (
                "verde load-property f.prop",
                "then verde run, and it sees events; verde debug -p f.prop from the start",
            ),
            ("info monitors", "their states; info slices for each object"),
        ],
    },
    Topic {
        name: "settings",
        title: "How the program is started and followed; scripts",
        commands: &[
            "set", "unset", "show", "source", "define", "document", "alias", "cd", "pwd", "shell",
            "echo", "apropos", "help", "quit",
        ],
        examples: &[
            ("set args -v input.txt", "arguments of the next run"),
            (
                "set env LANG=C",
                "its environment; set cwd DIR its directory",
            ),
            (
                "source file",
                "run the commands of a file; verde debug -x file does, too",
            ),
        ],
    },
];

/// Commands of no topic above.
fn others() -> Vec<&'static str> {
    let known = |name: &str| TOPICS.iter().any(|t| t.commands.contains(&name));
    let names = entries().map(|e| e.name);
    names.filter(|n| !known(n)).collect()
}

impl Debugger {
    pub(super) fn help(&mut self, args: &str) -> Result<()> {
        if args.is_empty() {
            return self.help_overview();
        }
        if let Some(topic) = TOPICS.iter().find(|t| t.name == args) {
            return self.help_topic(topic);
        }
        if let Some(text) = self.user.help(args) {
            return self.say(&text);
        }
        if "quit".starts_with(args) {
            return self.say("quit: end the session");
        }
        if args == "source" {
            return self.say("source FILE: run the commands of a file");
        }
        let found = entry(args)?;
        if found.name == "info"
            && let Some((_, topic)) = args.split_once(char::is_whitespace)
            && let Some(text) = super::info::described().find(|(name, _)| *name == topic.trim())
        {
            return self.say(&format!("info {}: {}", text.0, text.1));
        }
        self.help_entry(&found)?;
        let all = TOPICS.iter().flat_map(|t| t.examples);
        let typed = |text: &str| entry(text).is_ok_and(|e| e.name == found.name);
        for example in all.filter(|(text, _)| typed(text)) {
            self.help_example(example)?;
        }
        Ok(())
    }

    /// Commands whose help speaks of something.
    pub(super) fn apropos(&mut self, args: &str) -> Result<()> {
        if args.is_empty() {
            return failure("About what?  apropos REGEX");
        }
        let regex = RegexBuilder::new(args).case_insensitive(true).build();
        let regex =
            regex.map_err(|e| Failure(format!("\"{args}\" is not a regular expression: {e}")))?;
        let fits = |e: &Entry| regex.is_match(e.name) || regex.is_match(e.help);
        let mut found = 0;
        for entry in entries().filter(fits) {
            found += 1;
            self.help_entry(&entry)?;
        }
        let about: Vec<String> = super::info::described()
            .filter(|(name, what)| regex.is_match(name) || regex.is_match(what))
            .map(|(name, what)| format!("info {name} -- {what}"))
            .collect();
        for line in &about {
            self.say(line)?;
        }
        match found + about.len() {
            0 => failure(format!(
                "No command speaks of \"{args}\".  help lists them all."
            )),
            _ => Ok(()),
        }
    }

    fn help_overview(&mut self) -> Result<()> {
        for topic in TOPICS {
            let title = self.style.strong(topic.title);
            self.say(&format!("{title} (help {})", topic.name))?;
            self.say(&format!("  {}", topic.commands.join(", ")))?;
            for example in topic.examples {
                self.help_example(example)?;
            }
        }
        let others = others();
        if !others.is_empty() {
            let title = self.style.strong("More");
            self.say(&format!("{title}\n  {}", others.join(", ")))?;
        }
        self.say(
            "\nhelp COMMAND explains a command. An unambiguous beginning of a name is enough; \
             an empty line repeats;\nthe tab key completes; ^C stops the running program.",
        )
    }

    fn help_topic(&mut self, topic: &Topic) -> Result<()> {
        let title = self.style.strong(topic.title);
        self.say(&title)?;
        for name in topic.commands {
            match entry(name) {
                Ok(entry) => self.help_entry(&entry)?,
                Err(_) if *name == "quit" => self.say("quit: end the session")?,
                Err(_) => self.say("source FILE: run the commands of a file")?,
            }
        }
        for example in topic.examples {
            self.help_example(example)?;
        }
        Ok(())
    }

    fn help_entry(&mut self, entry: &Entry) -> Result<()> {
        let text = match entry.help.split_once(':') {
            Some((usage, rest)) => format!("{}:{rest}", self.style.strong(usage)),
            None => entry.help.to_owned(),
        };
        match entry.short {
            [] => self.say(&text),
            short => self.say(&format!("{text} (short: {})", short.join(", "))),
        }
    }

    fn help_example(&mut self, (text, what): &(&str, &str)) -> Result<()> {
        let typed = self.style.function(&format!("{text:<28}"));
        self.say(&format!("    {typed} {}", self.style.faint(what)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_a_topic_exists_once() {
        let mut all: Vec<&str> = TOPICS
            .iter()
            .flat_map(|t| t.commands.iter().copied())
            .collect();
        for name in &all {
            let known = entry(name).is_ok_and(|e| e.name == *name);
            assert!(known || ["quit", "source"].contains(name), "{name}");
        }
        all.sort_unstable();
        let before = all.len();
        all.dedup();
        assert_eq!(all.len(), before);
    }
}

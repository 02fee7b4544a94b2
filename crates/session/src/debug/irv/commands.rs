//! The commands of the paper's appendix: `verde new`, `verde load-property`, ...

use super::super::Debugger;
use super::super::failure::{Failure, Result, failure};
use super::load::Warnings;
use super::{Irv, LoadFailure};
use std::path::Path;
use verde_property::render;

const COMMANDS: &[(&str, &str)] = &[
    ("activate", "announce the commands"),
    (
        "back",
        "[N]: before the N-th last change of state of the slice that moved last",
    ),
    ("checkpoint", "save the program and every monitor"),
    ("checkpoint-restart", "N: go back to a checkpoint"),
    ("cmd-group-begin", "begin a group of commands"),
    ("cmd-group-end", "run the group, up to the first error"),
    ("delete", "[NAME]: delete a monitor"),
    (
        "exec",
        "METHOD [ARGS]: call a method of the current monitor; e.g. verde exec get_current_states",
    ),
    ("get-current", "the name of the current monitor"),
    (
        "load-functions",
        "FILE: a Python file with functions for blocks and actions",
    ),
    (
        "load-property",
        "FILE [FUNCTIONS.py]: load a property into the current monitor",
    ),
    ("load-scenario", "FILE: what to do when states change"),
    (
        "new",
        "[NAME]: a new monitor, which becomes the current one",
    ),
    ("run", "the current monitor sees events from now on"),
    ("run-with-program", "[ARGS]: start monitors and program"),
    ("set-current", "NAME: choose the current monitor"),
    (
        "show-graph",
        "see the property, its slices and the program in a page",
    ),
];

impl Debugger {
    /// `verde COMMAND ARGS`.
    pub(in super::super) fn verde(&mut self, args: &str) -> Result<()> {
        let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        let rest = rest.trim();
        match word {
            "" | "help" => self.verde_help(),
            "activate" => self.say("[verde] The commands of monitors are there: verde help."),
            "new" => self.verde_new(rest),
            "get-current" => self.verde_get_current(),
            "set-current" => self.verde_set_current(rest),
            "delete" => self.verde_delete(rest),
            "load-property" => self.verde_load_property(rest),
            "load-functions" => self.verde_load_functions(rest),
            "load-scenario" => self.verde_load_scenario(rest),
            "run" => self.verde_run(),
            "run-with-program" => self.verde_run_with_program(rest),
            "exec" => self.verde_exec(rest),
            "back" => self.back(rest),
            "checkpoint" => self.execute("checkpoint").map(drop),
            "checkpoint-restart" => self.execute(&format!("restart {rest}")).map(drop),
            "cmd-group-begin" => self.begin_group(),
            "cmd-group-end" => self.end_group(),
            "show-graph" => self.show_graph(),
            _ => failure(format!(
                "\"verde {word}\" is not a command.  Try \"verde help\"."
            )),
        }
    }

    /// Names for completion.
    pub(in super::super) fn verde_names() -> impl Iterator<Item = &'static str> {
        COMMANDS.iter().map(|(name, _)| *name)
    }

    fn verde_help(&mut self) -> Result<()> {
        for (name, help) in COMMANDS {
            self.say(&format!("verde {name} {help}"))?;
        }
        Ok(())
    }

    fn verde_new(&mut self, name: &str) -> Result<()> {
        if name.contains(char::is_whitespace) {
            return failure("A monitor's name is one word.  verde new [NAME]");
        }
        let mut irv = self.take_irv();
        let name = match name {
            "" => irv.free_name(),
            name => name.to_owned(),
        };
        let taken = irv.ones.iter().any(|o| o.name == name);
        if !taken {
            irv.new_monitor(Some(name.clone()));
        }
        self.put_irv(irv);
        match taken {
            true => failure(format!("There is a monitor {name} already.")),
            false => self.say(&format!("[verde] Monitor {name} created.")),
        }
    }

    fn verde_get_current(&mut self) -> Result<()> {
        let name = self.irv.as_ref().and_then(|irv| {
            let one = irv.one(irv.current?)?;
            Some(one.name.clone())
        });
        match name {
            Some(name) => self.say(&format!("[verde] Current monitor: {name}")),
            None => failure("There is no monitor; try \"verde new\"."),
        }
    }

    fn verde_set_current(&mut self, name: &str) -> Result<()> {
        if name.is_empty() {
            return failure("Which?  verde set-current NAME");
        }
        let Some(irv) = &mut self.irv else {
            return failure(format!("There is no monitor named {name}."));
        };
        let Some(one) = irv.ones.iter().find(|o| o.name == name) else {
            return failure(format!("There is no monitor named {name}."));
        };
        irv.current = Some(one.id);
        self.say(&format!("[verde] Current monitor: {name}"))
    }

    fn verde_delete(&mut self, name: &str) -> Result<()> {
        let mut irv = self.take_irv();
        let found = match name {
            "" => irv.current.and_then(|id| irv.position(id)),
            name => irv.ones.iter().position(|o| o.name == name),
        };
        let deleted = found.map(|index| {
            irv.forget_monitor(index, &mut self.live);
            let one = irv.ones.remove(index);
            if irv.current == Some(one.id) {
                irv.current = irv.ones.last().map(|o| o.id);
            }
            one.name
        });
        self.put_irv(irv);
        match deleted {
            Some(name) => self.say(&format!("[verde] Monitor {name} deleted.")),
            None if name.is_empty() => failure("There is no monitor."),
            None => failure(format!("There is no monitor named {name}.")),
        }
    }

    fn verde_load_property(&mut self, args: &str) -> Result<()> {
        let mut words = args.split_whitespace();
        let Some(file) = words.next() else {
            return failure("Which?  verde load-property FILE [FUNCTIONS.py]");
        };
        let mut irv = self.take_irv();
        let mut loaded = Ok(Vec::new());
        for functions in words {
            if loaded.is_ok()
                && let Err(e) = irv.add_functions(Path::new(functions))
            {
                loaded = Err(e);
            }
        }
        if loaded.is_ok() {
            let id = match irv.current {
                Some(id) => id,
                None => irv.new_monitor(None),
            };
            // One that listens goes on listening, to the new property.
            let running = irv.one(id).is_some_and(|o| o.running);
            loaded = self.load_into(&mut irv, id, Path::new(file), running);
            if loaded.is_err() {
                irv.ones
                    .retain(|o| o.id != id || o.monitor.is_some() || !o.name.is_empty());
                irv.current = irv.current.filter(|c| irv.one(*c).is_some());
            }
        }
        self.put_irv(irv);
        self.say_loaded(loaded)
    }

    fn verde_load_functions(&mut self, file: &str) -> Result<()> {
        if file.is_empty() {
            return failure("Which?  verde load-functions FILE");
        }
        let loaded = self.load_functions(Path::new(file));
        self.say_loaded(loaded.map(|()| Vec::new()))
    }

    fn verde_load_scenario(&mut self, file: &str) -> Result<()> {
        if file.is_empty() {
            return failure("Which?  verde load-scenario FILE");
        }
        let loaded = self.add_scenario(Path::new(file));
        self.say_loaded(loaded)
    }

    fn say_loaded(&mut self, loaded: std::result::Result<Warnings, LoadFailure>) -> Result<()> {
        match loaded {
            Ok(warnings) => {
                for (source, found) in warnings {
                    let text = render(&source, &found, false);
                    self.say(text.trim_end())?;
                }
                Ok(())
            }
            Err(LoadFailure::Diagnostics(list)) => {
                let texts: Vec<String> = list
                    .iter()
                    .map(|(source, found)| render(source, found, false))
                    .collect();
                failure(texts.concat().trim_end())
            }
            Err(e) => failure(e.to_string()),
        }
    }

    fn verde_run(&mut self) -> Result<()> {
        let mut irv = self.take_irv();
        let index = irv.current.and_then(|id| irv.position(id));
        let ready = index.filter(|i| irv.ones[*i].monitor.is_some());
        let name = ready.map(|i| {
            irv.ones[i].running = true;
            irv.ones[i].switches.halted = false;
            irv.ones[i].name.clone()
        });
        self.instrument(&mut irv, None);
        self.say_complaints(&mut irv);
        self.put_irv(irv);
        match name {
            Some(name) => self.say(&format!("[verde] Monitor {name} runs.")),
            None => failure("The current monitor has no property; try \"verde load-property\"."),
        }
    }

    fn verde_run_with_program(&mut self, args: &str) -> Result<()> {
        let mut irv = self.take_irv();
        let mut any = false;
        for one in &mut irv.ones {
            one.running |= one.monitor.is_some();
            one.switches.halted = false;
            any |= one.monitor.is_some();
        }
        self.put_irv(irv);
        if !any {
            return failure("No monitor has a property; try \"verde load-property\".");
        }
        self.run(args)
    }

    fn verde_exec(&mut self, args: &str) -> Result<()> {
        let (method, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        if method.is_empty() {
            return failure("Which?  verde exec METHOD [ARGS]");
        }
        let mut irv = self.take_irv();
        let index = irv
            .current
            .and_then(|id| irv.position(id))
            .filter(|i| irv.ones[*i].monitor.is_some());
        let Some(index) = index else {
            self.put_irv(irv);
            return failure("The current monitor has no property; try \"verde load-property\".");
        };
        let tid = self.live.as_ref().map(|l| l.tid);
        let mut out = String::new();
        let done = self.with_context(&mut irv, index, (tid, None), |context, slices| {
            let asking = verde_pyhost::Asking {
                services: &mut context.desk,
                view: Some(slices.into()),
            };
            let uid = slices.property().uid;
            let done = context
                .python
                .method(uid, method, rest, Some(asking), &mut out);
            context.desk.print_all(&out);
            done
        });
        self.report_found(&mut irv, index);
        self.say_latched(&mut irv);
        let latch = irv.take_latch();
        if latch.reinstrument || irv.is_stale() {
            self.instrument(&mut irv, tid);
            self.say_complaints(&mut irv);
        }
        self.put_irv(irv);
        match done {
            Some(Ok(text)) if text.is_empty() => Ok(()),
            Some(Ok(text)) => self.say(&text),
            Some(Err(raised)) => Err(Failure(raised.error)),
            None => failure("The current monitor has no property."),
        }
    }

    fn begin_group(&mut self) -> Result<()> {
        let mut irv = self.take_irv();
        let nested = irv.group.is_some();
        irv.group.get_or_insert_default();
        self.put_irv(irv);
        match nested {
            true => failure("A group has begun already."),
            false => Ok(()),
        }
    }

    /// Runs the commands of a group, up to the first that fails.
    fn end_group(&mut self) -> Result<()> {
        let group = self.irv.as_mut().and_then(|irv| irv.group.take());
        let Some(group) = group else {
            return failure("No group has begun; try \"verde cmd-group-begin\".");
        };
        for line in group {
            self.execute(&line)
                .and_then(|_| self.quit_if_asked())
                .map_err(|e| Failure(format!("{line}: {e}")))?;
        }
        Ok(())
    }

    /// There will be no more commands: what a group without an end means.
    pub(in super::super) fn unfinished_group(&mut self) -> Option<String> {
        let group = self.irv.as_mut().and_then(|irv| irv.group.take())?;
        let commands = match group.len() {
            1 => "1 command".to_owned(),
            n => format!("{n} commands"),
        };
        Some(format!(
            "The group of commands has no end (\"verde cmd-group-end\"): {commands} did not run."
        ))
    }

    /// A line that belongs to a group waits for the group's end.
    pub(in super::super) fn joins_group(&mut self, line: &str) -> bool {
        let Some(group) = self.irv.as_mut().and_then(|irv| irv.group.as_mut()) else {
            return false;
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        if words == ["verde", "cmd-group-end"] || words == ["verde", "cmd-group-begin"] {
            return false;
        }
        if !line.is_empty() {
            group.push(line.to_owned());
        }
        true
    }

    fn show_graph(&mut self) -> Result<()> {
        let has = self.irv.as_ref().is_some_and(|irv| !irv.is_empty());
        match has {
            true => {
                let address = self.open_page()?;
                self.say(&format!("[verde] The graph is at {address}"))
            }
            false => failure("No property is loaded; try \"verde load-property\"."),
        }
    }
}

impl Irv {
    fn free_name(&self) -> String {
        (1..)
            .map(|k| format!("monitor{k}"))
            .find(|n| self.ones.iter().all(|o| o.name != *n))
            .unwrap_or_default()
    }
}

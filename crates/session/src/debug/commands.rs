//! Command names, their prefixes and their help.

use super::Debugger;
use super::failure::{Result, failure};
use super::hooks::Side;
use super::lists::Owner;
use std::path::Path;
use verde_symbols::distance;

/// What follows a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The next command; an empty line runs this text, if any.
    Next(Option<String>),
    /// The session is over.
    Quit,
}

/// What an empty line does after a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    No,
    Same,
    /// The same without arguments: it goes on where it ended.
    Bare,
}

type Handler = fn(&mut Debugger, &str) -> Result<()>;

struct Command {
    /// The name, then short forms that need not be unique prefixes.
    names: &'static [&'static str],
    run: Handler,
    again: Again,
    help: &'static str,
}

macro_rules! commands {
    ($($names:expr, $run:expr, $again:ident, $help:expr;)*) => {
        &[$(Command { names: &$names, run: $run, again: Again::$again, help: $help }),*]
    };
}

const COMMANDS: &[Command] = commands! {
    ["run", "r"], Debugger::run, No, "run [ARGS]: start the program; ARGS as in a shell, e.g. run -v *.txt < in > out";
    ["start"], Debugger::start, No, "start [ARGS]: start the program and stop at main";
    ["starti"], Debugger::starti, No, "starti [ARGS]: start the program and stop at its first instruction";
    ["break", "b", "br", "brea"], Debugger::set_break, No, "break LOCATION [if CONDITION]: stop there; e.g. break f, break a.c:12 if n > 3, break *0x1139, break -function f, break -source a.c -line 12";
    ["tbreak", "tb"], Debugger::set_tbreak, No, "tbreak LOCATION [if CONDITION]: stop there once";
    ["dprintf"], Debugger::dprintf, No, "dprintf LOCATION,\"FORMAT\",EXPRESSION...: print there and go on; e.g. dprintf list.c:12,\"n %d\\n\",n";
    ["hbreak"], Debugger::set_hbreak, No, "hbreak LOCATION [if CONDITION]: as break, which needs no help of the CPU's here";
    ["thbreak"], Debugger::set_thbreak, No, "thbreak LOCATION [if CONDITION]: as tbreak";
    ["save"], Debugger::save_points, No, "save breakpoints FILE: the commands that set the breakpoints again; source FILE runs them";
    ["rbreak"], Debugger::rbreak, No, "rbreak [FILE:]REGEX: stop at every function of the program, or of a file, whose name fits";
    ["skip"], Debugger::skip, No, "skip [function NAME or file FILE]: step does not enter it; skip delete [NUMBER]...; info skip lists them";
    ["watch"], Debugger::set_watch, No, "watch EXPRESSION [if CONDITION]: stop when it is written and changes; what is in registers is looked at after every instruction";
    ["rwatch"], Debugger::set_rwatch, No, "rwatch EXPRESSION: stop when it is read";
    ["awatch"], Debugger::set_awatch, No, "awatch EXPRESSION: stop when it is read or written";
    ["catch"], Debugger::set_catch, No, "catch EVENT: stop at syscall [NAME]..., signal [NAME]..., fork, vfork, exec, load [TEXT], unload, throw [TYPE], catch [TYPE], rethrow [TYPE] (exceptions; TYPE is a regular expression); e.g. catch syscall openat close";
    ["tcatch"], Debugger::set_tcatch, No, "tcatch EVENT: catch it once";
    ["commands"], Debugger::set_commands, No, "commands [NUMBER]...: the lines that follow, up to end, run when the breakpoint stops the program; silent as the first one says nothing of the stop";
    ["define"], Debugger::define, No, "define NAME: the lines that follow, up to end, are a new command; $arg0, $arg1... are the words behind its name; if, else and while EXPRESSION choose and repeat lines; hook-CMD and hookpost-CMD run before and after a command, hook-stop before every stop is told";
    ["alias"], Debugger::alias, No, "alias NAME = COMMAND [ARGUMENTS]: another name for a command; e.g. alias px = print/x";
    ["document"], Debugger::document, No, "document NAME: the lines that follow, up to end, are what help says of a command of your own";
    ["delete", "d"], Debugger::delete, No, "delete [NUMBER]...: forget breakpoints, all without a number; e.g. delete 2 4-6; delete display NUMBER; delete checkpoint NUMBER, delete checkpoint undo";
    ["clear"], Debugger::clear, No, "clear [LOCATION]: forget the breakpoints there; without one, of this line";
    ["disable"], Debugger::disable, No, "disable [NUMBER]...: keep breakpoints but do not stop; disable 1.2 one of several places; disable display NUMBER";
    ["enable"], Debugger::enable, No, "enable [once or delete] [NUMBER]...: stop at them again, once or for the last time";
    ["condition"], Debugger::condition, No, "condition NUMBER [CONDITION]: stop only if it holds; without one always";
    ["ignore"], Debugger::ignore, No, "ignore NUMBER COUNT: pass the next COUNT hits";
    ["continue", "c", "fg"], Debugger::resume, Same, "continue [N]: go on; N passes this breakpoint N-1 times";
    ["step", "s"], Debugger::step, Same, "step [N]: to the next line, into functions";
    ["next", "n"], Debugger::next, Same, "next [N]: to the next line, over functions";
    ["stepi", "si"], Debugger::stepi, Same, "stepi [N]: one instruction";
    ["nexti", "ni"], Debugger::nexti, Same, "nexti [N]: one instruction, calls as one";
    ["finish", "fin"], Debugger::finish, Same, "finish: until the selected function returns; shows its value";
    ["until", "u"], Debugger::until, Same, "until [LOCATION]: to a later line, or to a location, in the selected frame; ends when that returns";
    ["advance"], Debugger::advance, No, "advance LOCATION: run to a location, in whichever call; ends when the selected frame returns";
    ["jump", "j"], Debugger::jump, No, "jump LOCATION: go on there";
    ["return"], Debugger::return_now, No, "return [VALUE]: leave the selected function at once";
    ["signal"], Debugger::signal, No, "signal SIGNAL: go on with this signal; signal 0 with none";
    ["queue-signal"], Debugger::queue_signal, No, "queue-signal SIGNAL: the selected thread gets it when the program goes on; queue-signal 0 takes the one that it has";
    ["backtrace", "bt", "where"], Debugger::backtrace, Same, "backtrace [full] [N]: the calls that led here; the N innermost, the outermost if negative; full with their variables";
    ["frame", "f"], Debugger::frame, Same, "frame [N]: select a call of the backtrace; frame function NAME the innermost of a function; frame apply all [-q] [-s] COMMAND in each of them";
    ["up"], Debugger::up, Same, "up [N]: select the caller";
    ["down", "do"], Debugger::down, Same, "down [N]: select the called function again";
    ["thread", "t"], Debugger::thread, Same, "thread [N]: select a thread; thread apply all [-q] [-s] COMMAND in each of them (-q without headings, -s without errors); thread name [NAME]; thread find REGEX";
    ["taas"], Debugger::taas, No, "taas COMMAND: thread apply all -s COMMAND, errors are not told";
    ["faas"], Debugger::faas, No, "faas COMMAND: frame apply all -s COMMAND, errors are not told";
    ["print", "p", "inspect"], Debugger::print, Same, "print[/FORMAT] EXPRESSION: e.g. print *p, print/x n, print a[1]@3, print x = 5, print -pretty -- s (also -object, -elements N, -repeats N, -max-depth N)";
    ["call"], Debugger::call, Same, "call EXPRESSION: as print, silent for functions without a value";
    ["printf"], Debugger::printf, No, "printf \"FORMAT\", EXPRESSION...: e.g. printf \"%d %s\\n\", n, name";
    ["eval"], Debugger::eval, No, "eval \"FORMAT\", EXPRESSION...: run the command that printf would print";
    ["output"], Debugger::output, No, "output[/FORMAT] EXPRESSION: the value alone";
    ["ptype"], Debugger::ptype, Same, "ptype[/o] TYPE or EXPRESSION: the whole type; /o with offsets, sizes and holes";
    ["whatis"], Debugger::whatis, Same, "whatis EXPRESSION: the name of its type";
    ["x"], Debugger::examine, Bare, "x/NFU ADDRESS: N units of size U (b, h, w, g) in format F; e.g. x/4i $pc, x/8xb p, x/s name";
    ["find"], Debugger::find_in_memory, No, "find[/SIZE][COUNT] START, +LENGTH or END, VALUE...: where in memory these values are; e.g. find/w buf, +100, 7; a text is found with its zero";
    ["list", "l"], Debugger::list, Bare, "list [LINE or FUNCTION or FIRST,LAST]: source lines";
    ["directory"], Debugger::directory, No, "directory [DIRECTORY]...: where else sources are looked for; none without one; set substitute-path FROM TO for sources that have moved";
    ["disassemble"], Debugger::disassemble, Same, "disassemble [/rs] [FUNCTION or FROM,TO or FROM,+BYTES]: its instructions; /s with the source, /r with their bytes";
    ["info", "i", "inf"], Debugger::info, Same, "info all-registers, auxv, breakpoints, checkpoints, inferiors, locals, args, registers [NAME], threads [N]..., functions [REGEX], variables [REGEX], types [REGEX], symbol ADDRESS, address NAME, scope LOCATION, float, frame, line [LOCATION], proc [mappings], program, sharedlibrary, signals, skip, source, sources [REGEX], stack, vector";
    ["display"], Debugger::display, Same, "display[/FORMAT] EXPRESSION: print it at every stop where its variables are those meant now";
    ["undisplay"], Debugger::undisplay, No, "undisplay [NUMBER]...: no longer";
    ["handle"], Debugger::handle, No, "handle SIGNAL [no]stop [no]print [no]pass: what happens when the program gets it";
    ["set"], Debugger::set, No, "set var LEFT = VALUE; set args ARGS, as in a shell; set startup-with-shell on, off; set disable-randomization on, off; set substitute-path FROM TO; set env NAME=VALUE; set cwd DIRECTORY; set print pretty on, off; set print object on, off; set print elements N; set confirm on, off; set breakpoint pending on, off: places of libraries that are loaded later; set listsize N; set disassembly-flavor att, intel; set scheduler-locking off, on, step: which threads go on with the selected one; set follow-fork-mode parent, child: which side of a fork to stay with, also at the stop of catch fork";
    ["unset"], Debugger::unset, No, "unset env [NAME]: take a variable out of the program's environment; unset substitute-path [FROM]";
    ["show"], Debugger::show, No, "show args, env [NAME], cwd, print, confirm, user [NAME], values, convenience, directories, substitute-path, listsize, disassembly-flavor, scheduler-locking, follow-fork-mode";
    ["checkpoint"], Debugger::checkpoint, No, "checkpoint: save the program as it is now, for restart";
    ["restart"], Debugger::restart, No, "restart NUMBER: make the program what it was at a checkpoint; restart undo: back again";
    ["kill", "k"], Debugger::kill, No, "kill: end the program";
    ["detach"], Debugger::detach, No, "detach: let the program go on without debugger";
    ["pwd"], Debugger::pwd, No, "pwd: the debugger's directory, where programs are started";
    ["cd"], Debugger::cd, No, "cd [DIRECTORY]: change it";
    ["shell"], Debugger::shell, No, "shell [COMMAND] or !COMMAND: run a command of the shell";
    ["echo"], Debugger::echo, No, "echo TEXT: print a text";
    ["verde"], Debugger::verde, No, "verde COMMAND: properties and their monitors; verde help lists the commands";
    ["apropos"], Debugger::apropos, No, "apropos REGEX: the commands whose help speaks of it";
    ["help", "h"], Debugger::help, No, "help [TOPIC or COMMAND]: what there is, with examples";
};

/// Splits a line into its command word and the rest.
pub(super) fn split(line: &str) -> (&str, &str) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let end = line.find(|c| !is_word(c)).unwrap_or(line.len());
    // `p-1` is a print.
    let end = match line[..end].find('-') {
        Some(dash) if find(&line[..end]).is_err() && find(&line[..dash]).is_ok() => dash,
        _ => end,
    };
    (&line[..end], line[end..].trim())
}

fn find(word: &str) -> Result<&'static Command> {
    if let Some(exact) = COMMANDS.iter().find(|c| c.names.contains(&word)) {
        return Ok(exact);
    }
    let fit = |c: &&Command| !word.is_empty() && c.names[0].starts_with(word);
    let fitting: Vec<&Command> = COMMANDS.iter().filter(fit).collect();
    match fitting.as_slice() {
        [one] => Ok(one),
        [] => failure(undefined(word)),
        several => {
            let names: Vec<&str> = several.iter().map(|c| c.names[0]).collect();
            failure(format!(
                "Ambiguous command \"{word}\": {}.",
                names.join(", ")
            ))
        }
    }
}

/// What gdb's users look for at the prompt and find elsewhere.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (
        &["attach"],
        "A process is attached to from the shell: verde attach PID.",
    ),
    (
        &["file", "exec-file", "symbol-file"],
        "The program is named at the start: verde debug PROGRAM.",
    ),
    (
        &["core", "core-file"],
        "Core files cannot be read: run the program again, it stops where it crashes.",
    ),
    (
        &["target"],
        "Programs of other machines cannot be debugged: run Verde there.",
    ),
    (
        &["generate-core-file", "gcore"],
        "Core files cannot be written: checkpoint keeps the program as it is, for restart.",
    ),
    (
        &[
            "record",
            "reverse-step",
            "reverse-next",
            "reverse-continue",
            "rs",
            "rn",
            "rc",
        ],
        "There are no steps backwards: checkpoint, and restart to go back.",
    ),
    (
        &["python", "py", "python-interactive", "pi", "guile"],
        "There is no Python at the prompt: properties and scenarios have it, see verde help.",
    ),
    (
        &["macro", "macros"],
        "Macros are not known: print what they stand for; the source shows it, with list.",
    ),
    (
        &["layout", "tui"],
        "There are no windows: stops show the source around them, list shows more.",
    ),
];

/// What there is instead of something that gdb has.
pub(super) fn instead(word: &str) -> Option<&'static str> {
    let found = ELSEWHERE.iter().find(|e| e.0.contains(&word));
    found.map(|(_, what)| *what)
}

/// What to say of a word that is no command; people mistype.
fn undefined(word: &str) -> String {
    if let Some(what) = instead(word) {
        return what.to_owned();
    }
    let names = COMMANDS.iter().map(|c| c.names[0]);
    let near = nearest(word, names.chain(["source", "quit"]));
    match near {
        Some(name) => format!("Undefined command: \"{word}\".  Did you mean \"{name}\"?"),
        None => format!("Undefined command: \"{word}\".  Try \"help\"."),
    }
}

/// The name that differs least from a word, if any is near.
pub(super) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    // Everything is near a word of one or two letters.
    let limit = if length < 3 {
        0
    } else {
        (length / 3).clamp(1, 3)
    };
    let near = names.filter_map(|n| Some((distance(word, n, limit)?, n)));
    near.filter(|(d, _)| *d > 0).min().map(|(_, name)| name)
}

/// Whether a word ends the session.
pub(super) fn is_quit(word: &str) -> bool {
    matches!(word, "q" | "quit" | "exit")
}

/// Whether a word is the name of a command, whole or short.
pub(super) fn is_command(word: &str) -> bool {
    let others = ["source", "if", "while", "end", "else"];
    is_quit(word) || others.contains(&word) || COMMANDS.iter().any(|c| c.names.contains(&word))
}

/// The whole name of the command of a line.
pub(super) fn name_of(line: &str) -> Option<&'static str> {
    Some(find(split(line.trim()).0).ok()?.names[0])
}

/// A command as `help` shows it.
pub(super) struct Entry {
    pub name: &'static str,
    pub short: &'static [&'static str],
    pub help: &'static str,
}

impl Command {
    fn entry(&self) -> Entry {
        let (name, short) = self.names.split_first().unwrap_or((&"", &[]));
        Entry {
            name,
            short,
            help: self.help,
        }
    }
}

/// Every command.
pub(super) fn entries() -> impl Iterator<Item = Entry> {
    COMMANDS.iter().map(Command::entry)
}

/// The command that a line begins with.
pub(super) fn entry(line: &str) -> Result<Entry> {
    Ok(find(split(line).0)?.entry())
}

impl Debugger {
    /// Runs one command line. Empty lines and comments do nothing.
    pub fn execute(&mut self, line: &str) -> Result<Reply> {
        let reply = self.nested(|debugger| debugger.execute_one(line));
        self.tell_losses()?;
        reply
    }

    fn execute_one(&mut self, line: &str) -> Result<Reply> {
        // A line that ends in a backslash goes on in the next.
        if let Some(beginning) = line.trim_end().strip_suffix('\\') {
            self.continued.push_str(beginning);
            self.continued.push(' ');
            return Ok(Reply::Next(None));
        }
        let whole = std::mem::take(&mut self.continued) + line;
        let line = whole.trim();
        if self.joins_group(line) {
            return Ok(Reply::Next(None));
        }
        if let Some(reply) = self.take_line(&whole)? {
            return Ok(reply);
        }
        if line.is_empty() || line.starts_with('#') {
            return Ok(Reply::Next(None));
        }
        let other = self.aliases.resolve(line);
        let line = other.as_deref().unwrap_or(line);
        let (word, args) = split(line);
        if is_quit(word) {
            self.run_hook(Side::Before, "quit")?;
            return Ok(Reply::Quit);
        }
        if let Some(command) = line.strip_prefix('!') {
            self.shell(command.trim())?;
            return Ok(Reply::Next(None));
        }
        if word.is_empty() {
            return failure(undefined(line));
        }
        if word == "source" {
            if self.run_hook(Side::Before, word)? == Reply::Quit {
                return Ok(Reply::Quit);
            }
            let reply = self.source(Path::new(args))?;
            return Ok(match self.run_hook(Side::After, word)? {
                Reply::Quit => Reply::Quit,
                Reply::Next(_) => reply,
            });
        }
        if matches!(word, "if" | "while") {
            self.read_list(Owner::Block, vec![line.to_owned()]);
            return Ok(Reply::Next(None));
        }
        if let Some(reply) = self.run_user(line) {
            return reply;
        }
        let command = find(word)?;
        let name = command.names[0];
        self.refuse_for_block(name)?;
        if self.run_hook(Side::Before, name)? == Reply::Quit {
            return Ok(Reply::Quit);
        }
        (command.run)(self, args)?;
        let after = self.run_hook(Side::After, name)?;
        if after == Reply::Quit || self.run_attached()? == Reply::Quit {
            return Ok(Reply::Quit);
        }
        Ok(Reply::Next(match command.again {
            Again::No => None,
            Again::Same => Some(line.to_owned()),
            Again::Bare => Some(word.to_owned()),
        }))
    }

    /// Names of all commands, for completion.
    pub(super) fn command_names() -> Vec<&'static str> {
        let names = COMMANDS.iter().map(|c| c.names[0]);
        names.chain(["source", "quit"]).collect()
    }
}

//! The plain debugger: one program, commands in, text out.
//!
//! A [`Debugger`] lives on one thread, which the kernel ties to the program it
//! launches. [`Debugger::execute`] runs one command line; everything it has to
//! say goes to the writer given, a failure is one line for the caller to show.

mod aliases;
mod apply;
mod arguments;
mod attach;
mod attached;
mod backtrace;
mod breaks;
mod catches;
mod checkpoints;
mod closing;
mod code;
mod code_flow;
mod commands;
mod complete;
mod conditions;
mod context;
mod data;
mod displays;
mod dprintf;
mod entries;
mod exceptions;
mod exits;
mod failure;
mod files;
mod float_unit;
mod foreign_files;
mod frames;
mod going_back;
mod guide;
mod handle;
mod help;
mod here;
mod highlight;
mod hooks;
mod hot_scope;
mod idle;
mod images;
mod indirect;
mod inferior;
mod info;
mod inlined;
mod interpreted;
mod interrupts;
mod irv;
mod jumps;
mod leaving;
mod lists;
mod live;
mod location;
mod meant;
mod names;
mod numbers;
mod own_ids;
mod places;
mod points;
mod print_settings;
mod printf;
mod questions;
mod rebuilt;
mod registers;
mod remote;
mod results;
mod run;
mod saving;
mod scripts;
mod searching;
mod settings;
mod shell;
mod siginfo;
mod skips;
mod source;
mod source_paths;
mod stack_memory;
mod stepping;
mod stops;
mod style;
mod systems;
mod terminal;
mod threads;
mod ticking;
mod timeline;
mod tls;
mod user_commands;
mod waits;
mod watch_scope;
mod watches;

pub use commands::Reply;
pub use complete::Completer;
pub use failure::{Failure, Result};
pub use going_back::{Automation, Often};
pub use idle::PAUSE;
pub use interrupts::Interrupts;
pub use irv::{
    Choices, Ending, Interruption, Irv, Known, Limits, LoadFailure, Order, Output, PageOpener,
    RunOutcome, TraceFile, Turn, Warnings, lint_against, unknown_signals,
};
pub use lists::LIST_PROMPT;
pub use remote::{Remote, RemoteInterrupt, attach};

use here::{Here, Memo, Names};
use images::Images;
use live::Live;
use points::Points;
use source::{Listing, Sources};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use verde_engine::SignalPolicy;
use verde_expr::{EvalError, Examine, Format, FrameScope, Node, Value, arguments, locals};
use verde_symbols::{FunctionQuery, Outlook};

/// A program under the debugger, before, while and after it runs.
pub struct Debugger {
    program: PathBuf,
    /// What the program sees as its own name: what the user wrote.
    name: OsString,
    args: arguments::Arguments,
    images: Images,
    live: Option<Live>,
    checkpoints: checkpoints::Checkpoints,
    /// What the program writes, if that comes back with checkpoints.
    files: Option<std::rc::Rc<verde_checkpoint::Layers>>,
    points: Points,
    memo: Memo,
    sources: Sources,
    listing: Listing,
    /// Where inlined calls are entered.
    entries: entries::Entries,
    examine: Examine,
    examine_next: u64,
    displays: displays::Displays,
    skips: std::rc::Rc<skips::Skips>,
    signals: SignalPolicy,
    settings: settings::Settings,
    attached: attached::Attached,
    lists: lists::Lists,
    user: user_commands::UserCommands,
    aliases: aliases::Aliases,
    interrupts: Interrupts,
    hot: hot_scope::HotScopes,
    style: style::Style,
    terminal: terminal::Shared,
    /// Commands come from standard input.
    reads_input: bool,
    automation: Automation,
    automatic: going_back::Automatic,
    /// The monitors, once there are some.
    irv: Option<Box<Irv>>,
    /// Somebody watches the session.
    watched: Option<Box<irv::Watched>>,
    page: irv::Page,
    /// The beginning of a line that goes on.
    continued: String,
    /// Files of commands being read.
    nesting: usize,
    /// A command is run for a block of a monitor.
    for_block: bool,
    out: Box<dyn Write>,
}

impl Debugger {
    /// Opens a program; it is not started.
    pub fn open(program: PathBuf, args: Vec<OsString>, out: Box<dyn Write>) -> Result<Debugger> {
        let path = in_path(program.clone());
        let images = images_of(&path)?;
        Ok(Debugger::with(program, path, images, args, out))
    }

    /// The same; one that cannot be read is waited for: why, and the debugger. It is looked for
    /// again when it is to run.
    pub fn open_or_wait(
        program: PathBuf,
        args: Vec<OsString>,
        out: Box<dyn Write>,
    ) -> Result<(Debugger, Option<Failure>)> {
        let path = in_path(program.clone());
        let (images, missing) = match images_of(&path) {
            Ok(images) => (images, None),
            Err(why) => (Images::missing(&path)?, Some(why)),
        };
        Ok((Debugger::with(program, path, images, args, out), missing))
    }

    fn with(
        name: PathBuf,
        program: PathBuf,
        images: Images,
        args: Vec<OsString>,
        out: Box<dyn Write>,
    ) -> Debugger {
        Debugger {
            program,
            name: name.into_os_string(),
            args: arguments::Arguments::Words(args),
            images,
            live: None,
            checkpoints: checkpoints::Checkpoints::default(),
            files: None,
            points: Points::default(),
            memo: Memo::default(),
            sources: Sources::default(),
            listing: Listing::default(),
            entries: entries::Entries::default(),
            examine: Examine {
                count: 1,
                format: Format::Hex,
                size: 4,
            },
            examine_next: 0,
            displays: displays::Displays::default(),
            skips: std::rc::Rc::default(),
            signals: SignalPolicy::interactive(),
            settings: settings::Settings::default(),
            attached: attached::Attached::default(),
            lists: lists::Lists::default(),
            user: user_commands::UserCommands::default(),
            aliases: aliases::Aliases::default(),
            interrupts: Interrupts::default(),
            hot: hot_scope::HotScopes::default(),
            style: style::Style::default(),
            terminal: terminal::Shared::default(),
            reads_input: false,
            automation: Automation::default(),
            automatic: going_back::Automatic::default(),
            irv: None,
            watched: None,
            page: irv::Page::default(),
            continued: String::new(),
            nesting: 0,
            for_block: false,
            out,
        }
    }

    /// Writes a line for the user.
    fn say(&mut self, text: &str) -> Result<()> {
        // At once: what is written in parts up to a line's end wakes whoever reads it for each.
        self.out.write_all(format!("{text}\n").as_bytes())?;
        Ok(())
    }

    /// The scope of the selected frame.
    fn here(&mut self) -> Here<'_> {
        let (process, frame, innermost) = match &mut self.live {
            Some(live) => {
                let frame = live.scope(live.selected);
                let code = live.levels.get(live.selected).map(|l| l.code);
                (Some((&mut live.process, live.tid)), frame, code == Some(0))
            }
            None => (None, None, false),
        };
        Here {
            process,
            images: &self.images,
            frame,
            innermost,
            memo: &mut self.memo,
            names: Names::All,
        }
    }

    /// An expression for later: names and types are those of now, memory and registers are not.
    fn compile_ahead(
        &mut self,
        text: &str,
        frame: Option<FrameScope>,
    ) -> std::result::Result<Node, EvalError> {
        verde_expr::compile(text, &Here::ahead(&self.images, frame, &mut self.memo))
    }

    fn evaluate(&mut self, text: &str) -> Result<Value> {
        let value = verde_expr::evaluate(text, &mut self.here());
        value.map_err(|e| self.explain(e))
    }

    /// Why an expression failed, with the names that may have been meant.
    fn explain(&mut self, error: EvalError) -> Failure {
        let EvalError::UnknownName(name) = &error else {
            return error.into();
        };
        // Who writes a type means no variable that is called almost like it.
        if TYPE_WORDS.contains(&name.as_str()) {
            return error.into();
        }
        let here = self.here();
        let mut near = arguments(&here);
        near.extend(locals(&here));
        let near = commands::nearest(name, near.iter().map(|n| n.name.as_str()));
        let near = near.map(str::to_owned);
        let near = near.or_else(|| self.elsewhere(name)).or_else(|| {
            // A program has a name near every short one.
            let names = self.images.program().nearest_names(name, 8).into_iter();
            let last = name.rsplit("::").next().unwrap_or(name);
            let likely = |n: &String| last.len() > 4 || n.eq_ignore_ascii_case(last);
            names.into_iter().find(likely)
        });
        match near {
            Some(near) => Failure(format!("{error}  Did you mean \"{near}\"?")),
            None => error.into(),
        }
    }
}

impl Debugger {
    /// The path of the one thing of the program that is called so in another scope.
    fn elsewhere(&self, name: &str) -> Option<String> {
        let (program, anywhere) = (self.images.program(), Outlook::anywhere());
        let variables = program.globals(name, None, &anywhere).into_iter();
        let functions = program.functions_seen(&FunctionQuery::parse(name), &anywhere);
        let functions = functions.into_iter().filter_map(|(_, f)| f.die);
        let dies = variables.map(|(_, v)| v.die).chain(functions);
        let mut paths: Vec<String> = dies.filter_map(|die| program.path_of(die)).collect();
        paths.sort();
        paths.dedup();
        let only = paths.pop()?;
        paths.is_empty().then_some(only)
    }
}

const TYPE_WORDS: [&str; 8] = [
    "int", "char", "long", "short", "float", "double", "signed", "unsigned",
];

/// The files of a program, or why it is none.
fn images_of(program: &Path) -> Result<Images> {
    if let Err(e) = std::fs::metadata(program) {
        return failure::failure(format!("{}: {}", program.display(), reason(&e)));
    }
    if let Some(interpreter) = interpreted::interpreter(program) {
        let script = program.display();
        return failure::failure(format!(
            "{script}: a script: the program is its interpreter; give {interpreter} {script}"
        ));
    }
    let images = Images::open(program)?;
    if images.program().kind() == verde_symbols::FileKind::Core {
        return failure::failure(format!(
            "{}: a core file, not a program: run the program again, it stops where it crashes",
            program.display()
        ));
    }
    Ok(images)
}

/// A bare name that is no file here is looked for as a shell would.
fn in_path(program: PathBuf) -> PathBuf {
    let bare = program.components().count() == 1 && program.parent() == Some("".as_ref());
    if !bare || program.exists() {
        return program;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(&program));
    found.into_iter().find(|p| p.is_file()).unwrap_or(program)
}

/// A failed system call without its number.
fn reason(e: &std::io::Error) -> String {
    let text = e.to_string();
    match text.split_once(" (os error") {
        Some((what, _)) => what.to_owned(),
        None => text,
    }
}

//! `info` and what it knows.

use super::Debugger;
use super::apply::range;
use super::commands::{instead, nearest};
use super::exceptions::Exception;
use super::failure::{NO_STACK, NOT_RUN, Result, failure};
use super::location::Spec;
use super::names::pattern;
use super::points::{Kind, Point, Site};
use super::registers::to_dwarf;
use std::sync::Arc;
use verde_expr::{
    Loaded, arguments, flag_names, frame_arguments, mxcsr_names, name_of, print_value, symbol_text,
};
use verde_symbols::{
    CONTROL_NAMES, FileAddr, Function, Language, Module, Modules, REGISTER_NAMES, SourceFrame,
    demangle,
};

type Topic = (
    &'static str,
    fn(&mut Debugger, &str) -> Result<()>,
    &'static str,
);

/// What `info` can tell about, for completion.
pub(super) fn topics() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|t| t.0)
}

/// The same with what they tell.
pub(super) fn described() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOPICS.iter().map(|t| (t.0, t.2))
}

const TOPICS: &[Topic] = &[
    (
        "address",
        Debugger::info_address,
        "where a variable is kept",
    ),
    (
        "all-registers",
        Debugger::info_all_registers,
        "registers, also the vector and floating-point ones",
    ),
    (
        "args",
        Debugger::info_args,
        "arguments of the selected frame",
    ),
    (
        "auxv",
        Debugger::info_auxv,
        "what the kernel told the program at its start",
    ),
    (
        "breakpoints",
        Debugger::info_breakpoints,
        "breakpoints, watchpoints and catchpoints",
    ),
    (
        "checkpoints",
        Debugger::info_checkpoints,
        "states that restart goes back to",
    ),
    (
        "display",
        Debugger::info_display,
        "expressions shown at every stop",
    ),
    ("events", Debugger::info_events, "events of the properties"),
    (
        "float",
        Debugger::info_float,
        "the x87's registers, and what controls them",
    ),
    ("frame", Debugger::info_frame, "the selected frame"),
    (
        "functions",
        Debugger::info_functions,
        "functions by name; a regular expression may follow",
    ),
    (
        "inferiors",
        Debugger::info_inferiors,
        "the program and its process",
    ),
    ("line", Debugger::info_line, "the code of a line"),
    (
        "locals",
        Debugger::info_locals,
        "variables of the selected frame",
    ),
    (
        "monitors",
        Debugger::info_monitors,
        "properties and their states",
    ),
    (
        "proc",
        Debugger::info_proc,
        "the process; proc mappings its memory",
    ),
    (
        "program",
        Debugger::info_program,
        "where and why the program is stopped",
    ),
    (
        "registers",
        Debugger::info_registers,
        "registers of the selected frame",
    ),
    (
        "scope",
        Debugger::info_scope,
        "the variables that a function or line knows",
    ),
    (
        "sharedlibrary",
        Debugger::info_libraries,
        "libraries that are loaded; a regular expression may follow",
    ),
    (
        "signals",
        Debugger::info_signals,
        "what happens when the program gets a signal",
    ),
    (
        "skip",
        Debugger::info_skip,
        "functions and files that step does not enter",
    ),
    ("slices", Debugger::info_slices, "the monitors' objects"),
    ("source", Debugger::info_source, "the current source file"),
    (
        "sources",
        Debugger::info_sources,
        "the source files of the program; a regular expression may follow",
    ),
    ("stack", Debugger::backtrace, "the calls that led here"),
    ("symbol", Debugger::info_symbol, "what is at an address"),
    (
        "threads",
        Debugger::info_threads,
        "threads, where they are and what they wait for: a mutex of the C library and who holds it, \
         the end of a thread, a wake-up; numbers may follow",
    ),
    (
        "types",
        Debugger::info_types,
        "types by name; a regular expression may follow",
    ),
    (
        "variables",
        Debugger::info_variables,
        "global variables by name; a regular expression may follow",
    ),
    (
        "vector",
        Debugger::info_vector,
        "vector registers, and what controls them",
    ),
    ("watchpoints", Debugger::info_watchpoints, "watchpoints"),
];

/// gdb's order of the general registers, by DWARF number.
const ORDER: [u16; 17] = [0, 3, 2, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

/// The floating-point and vector registers.
fn wide_registers() -> impl Iterator<Item = String> {
    let named = |kind: &'static str, count: u8| (0..count).map(move |n| format!("{kind}{n}"));
    named("st", 8).chain(vector_registers())
}

fn vector_registers() -> impl Iterator<Item = String> {
    let named = |kind: &'static str| (0..16).map(move |n| format!("{kind}{n}"));
    named("xmm").chain(named("ymm"))
}

impl Debugger {
    pub(super) fn info(&mut self, args: &str) -> Result<()> {
        let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        if word.is_empty() {
            for (name, _, what) in TOPICS {
                self.say(&format!("info {name} -- {what}"))?;
            }
            return Ok(());
        }
        let short = match word {
            "b" | "br" => Some("breakpoints"),
            "f" => Some("frame"),
            "fu" | "fun" => Some("functions"),
            "r" | "reg" => Some("registers"),
            "a" | "ar" => Some("args"),
            "s" => Some("stack"),
            "share" | "dll" => Some("sharedlibrary"),
            "l" => Some("locals"),
            "lo" => Some("locals"),
            "t" | "th" => Some("threads"),
            "so" => Some("source"),
            "sym" => Some("symbol"),
            "sig" | "signal" => Some("signals"),
            "va" | "var" => Some("variables"),
            _ => None,
        };
        let word = short.unwrap_or(word);
        let fit = |t: &&Topic| t.0.starts_with(word);
        let exact = TOPICS.iter().find(|t| t.0 == word);
        let fitting: Vec<&Topic> = match exact {
            Some(topic) => vec![topic],
            None => TOPICS.iter().filter(fit).collect(),
        };
        let names = |list: &[&Topic]| list.iter().map(|t| t.0).collect::<Vec<_>>().join(", ");
        match fitting.as_slice() {
            [(_, run, _)] => run(self, rest.trim()),
            [] => {
                let all: Vec<&Topic> = TOPICS.iter().collect();
                if let Some(what) = instead(word) {
                    return failure(what);
                }
                match nearest(word, topics()) {
                    Some(near) => failure(format!(
                        "Undefined info command: \"{word}\".  Did you mean \"{near}\"?"
                    )),
                    None => failure(format!(
                        "Undefined info command: \"{word}\".  There is info {}.",
                        names(&all)
                    )),
                }
            }
            several => failure(format!(
                "Ambiguous info command \"{word}\": {}.",
                names(several)
            )),
        }
    }

    fn need_frame(&self) -> Result<()> {
        match self.live {
            Some(_) => Ok(()),
            None => failure("No frame selected."),
        }
    }

    fn info_args(&mut self, _: &str) -> Result<()> {
        self.need_frame()?;
        let all = arguments(&self.here());
        let lines = self.named_lines(&all);
        self.say_all(lines, "No arguments.")
    }

    fn info_locals(&mut self, _: &str) -> Result<()> {
        self.need_frame()?;
        let lines = self.local_lines();
        self.say_all(lines, "No locals.")
    }

    pub(super) fn say_all(&mut self, lines: Vec<String>, otherwise: &str) -> Result<()> {
        if lines.is_empty() {
            return self.say(otherwise);
        }
        for line in lines {
            self.say(&line)?;
        }
        Ok(())
    }

    fn info_breakpoints(&mut self, args: &str) -> Result<()> {
        let otherwise = match args {
            "" => "No breakpoints or watchpoints.".to_owned(),
            args => format!("No breakpoint or watchpoint matching '{args}'."),
        };
        self.list_points(|_| true, args, &otherwise)
    }

    fn info_watchpoints(&mut self, args: &str) -> Result<()> {
        let is_watch = |p: &Point| matches!(p.kind, Kind::Watch(_));
        self.list_points(is_watch, args, "No watchpoints.")
    }

    fn list_points(
        &mut self,
        wanted: fn(&Point) -> bool,
        numbers: &str,
        otherwise: &str,
    ) -> Result<()> {
        let numbers = self.point_numbers(numbers)?;
        let named = |p: &Point| numbers.is_empty() || numbers.contains(&p.number);
        let mut lines = Vec::new();
        let mut refuses = false;
        for point in self.points.list.iter().filter(|p| wanted(p) && named(p)) {
            lines.extend(self.point_lines(point));
            let sites = match &point.kind {
                Kind::Code { sites, .. } => sites.as_slice(),
                Kind::Watch(_) | Kind::Catch(_) => &[],
            };
            refuses |= sites.iter().any(Site::is_invalid);
        }
        if refuses {
            lines.push("(*): Breakpoint condition is invalid at this location.".to_owned());
        }
        if !lines.is_empty() {
            let column = self.address_column("Address");
            lines.insert(0, format!("Num     Type           Disp Enb {column}What"));
        }
        self.say_all(lines, otherwise)
    }

    /// Where a breakpoint is, unless addresses are not to be shown.
    fn address_column(&self, text: &str) -> String {
        match self.settings.print.addresses {
            true => format!("{text:<18} "),
            false => String::new(),
        }
    }

    fn point_lines(&self, point: &Point) -> Vec<String> {
        let keep = point.after.word();
        let enabled = if point.enabled { 'y' } else { 'n' };
        let column = |text: &str| self.address_column(text);
        let head = |kind: &str| format!("{:<7} {kind:<14} {keep:<4} {enabled} ", point.number);
        let mut lines = Vec::new();
        let mut places = Vec::new();
        match &point.kind {
            Kind::Watch(watch) => {
                let kind = head(watch.on.kind());
                lines.push(format!("{kind}  {}{}", column(""), watch.text));
            }
            Kind::Catch(catch) => {
                let (kind, what) = (head("catchpoint"), catch.on.what());
                lines.push(format!("{kind}  {}{what}", column("")));
            }
            Kind::Code { .. } if point.exception.is_some() => {
                let word = point.exception.as_ref().map_or("", Exception::word);
                let what = format!("exception {word}");
                lines.push(format!("{}  {}{what}", head("catchpoint"), column("")));
                let matching = point.exception.as_ref().and_then(Exception::matching);
                lines.extend(matching.map(|types| format!("\tmatching: {types}")));
            }
            Kind::Code { spec, sites } => {
                let kind = if point.prints.is_some() {
                    "dprintf"
                } else {
                    "breakpoint"
                };
                let all = sites.iter().enumerate();
                let place = |(i, s): (usize, &Site)| {
                    let at = self.address(s)?;
                    let off = match s.is_invalid() {
                        true => Some("N*"),
                        false => s.disabled.then_some("n"),
                    };
                    Some((i, off, at, self.place_text(spec, at, s)))
                };
                places = all.filter_map(place).collect();
                match places.as_slice() {
                    [(_, None, at, text)] => {
                        let thread = point.thread.map(|(n, _)| format!(" thread {n}"));
                        let thread = thread.unwrap_or_default();
                        let at = column(&format!("{at:#018x}"));
                        lines.push(format!("{}  {at}{text}{thread}", head(kind)));
                        places.clear();
                    }
                    [] => lines.push(format!("{}  {}{spec}", head(kind), column("<PENDING>"))),
                    _ => lines.push(format!("{}  {}", head(kind), column("<MULTIPLE>"))),
                }
            }
        }
        if let Some(condition) = &point.condition {
            lines.push(format!("\tstop only if {}", condition.text));
        }
        if let Some(args) = &point.prints {
            lines.push(format!("        printf {args}"));
        }
        if let Some((number, _)) = point.thread {
            lines.push(format!("\tstop only in thread {number}"));
        }
        let word = match (&point.kind, &point.exception) {
            (Kind::Catch(_), _) | (_, Some(_)) => "catchpoint",
            _ => "breakpoint",
        };
        match point.hits {
            0 => {}
            1 => lines.push(format!("\t{word} already hit 1 time")),
            n => lines.push(format!("\t{word} already hit {n} times")),
        }
        if point.ignore > 0 {
            lines.push(format!("\tignore next {} hits", point.ignore));
        }
        lines.extend(point.commands.iter().map(|c| format!("        {c}")));
        for (i, off, at, text) in places {
            let number = format!("{}.{}", point.number, i + 1);
            let enabled = off.map_or(enabled.to_string(), str::to_owned);
            let at = column(&format!("{at:#018x}"));
            lines.push(format!("{number:<27} {enabled:<3} {at}{text}"));
        }
        lines
    }

    /// The function of an address, as its breakpoints name it.
    pub(super) fn function_text(&self, at: u64) -> Option<String> {
        let (module, bias) = self.images.module_at(at)?;
        let frames = module.frames_at(FileAddr::of(at, bias));
        self.name_of_frame(frames.first()?, at)
    }

    fn name_of_frame(&self, frame: &SourceFrame, at: u64) -> Option<String> {
        let (module, bias) = self.images.module_at(at)?;
        let place = FileAddr::of(at, bias);
        // A name of C++ alone may mean several functions.
        let symbol = || demangle(module.symbol_at(place)?.0.name);
        let whole = match (frame.language, frame.is_inlined) {
            (Language::Cpp, false) => symbol(),
            (Language::Cpp, true) => module.readable_name(frame.die),
            _ => None,
        };
        Some(whole.unwrap_or_else(|| match frame.language {
            Language::Cpp => format!("{}({})", frame.name, parameters(&module, frame)),
            _ => frame.name.clone(),
        }))
    }

    /// `in f at a.c:12` of a breakpoint's place.
    fn place_text(&self, spec: &str, at: u64, site: &Site) -> String {
        if let Some(frame) = self.frame_meant(spec, at)
            && let Some(name) = self.name_of_frame(&frame, at)
            && let Some((file, line)) = &frame.line
        {
            return format!("in {name} at {}:{line}", file.name);
        }
        let line = site.line.clone();
        let line = line.or_else(|| self.line_at(at).map(|s| (s.file, s.line)));
        match (self.function_text(at), line) {
            (Some(name), Some((file, line))) => format!("in {name} at {}:{line}", file.name),
            (None, Some((file, line))) => format!("{}:{line}", file.name),
            _ => {
                let symbol = self.images.module_at(at).and_then(|(module, bias)| {
                    let (symbol, into) = module.symbol_at(FileAddr::of(at, bias))?;
                    Some(format!("<{}+{into}>", symbol.name))
                });
                symbol.unwrap_or_default()
            }
        }
    }

    fn info_frame(&mut self, _: &str) -> Result<()> {
        self.all_frames()?;
        let Some(live) = &self.live else {
            return failure(NO_STACK);
        };
        let level = live.selected;
        let frame = live.frame(level)?;
        let (pc, cfa, has_jumped) = (frame.pc, frame.cfa, frame.has_jumped);
        let saved = live.frame_ref(level).map(|f| f.return_to);
        let outer = live.frame(level + 1).ok().and_then(|f| f.cfa);
        let name = self.function_name(level);
        let place = self.current_line();
        let cfa = cfa.map_or("an unknown address".to_owned(), |c| format!("{c:#x}"));
        self.say(&format!("Stack level {level}, frame at {cfa}:"))?;
        let name = name.map_or(String::new(), |n| format!(" in {n}"));
        let line = place.map_or(String::new(), |(f, n)| format!(" ({}:{n})", f.name));
        let saved = saved.map_or("<not saved>".to_owned(), |c| c.to_string());
        self.say(&format!(" rip = {pc:#x}{name}{line}; saved rip = {saved}"))?;
        if has_jumped {
            self.say(" tail call frame: its function ended with a jump")?;
        }
        if let Some(outer) = outer {
            self.say(&format!(" called by frame at {outer:#x}"))?;
        }
        let options = self.settings.print.in_frame_lines();
        let arguments = frame_arguments(&self.here(), &options);
        self.say(&format!(" args: {arguments}"))
    }

    fn info_line(&mut self, text: &str) -> Result<()> {
        let settled = match text {
            "" => self.calling_line().unwrap_or_default(),
            text => self.settled(text)?,
        };
        let text = settled.as_str();
        let starts = match text {
            "" => match &self.live {
                Some(live) => vec![live.frame(live.selected)?.lookup()],
                None => return failure("No line here; name one."),
            },
            text => self.starts_of(text)?,
        };
        for at in starts {
            self.say_line_at(text, at)?;
        }
        Ok(())
    }

    /// The line of the selected frame if a call was inlined there: its code is the call's.
    fn calling_line(&self) -> Option<String> {
        let live = self.live.as_ref()?;
        let level = live.levels.get(live.selected).filter(|l| l.holds_inlined)?;
        let (file, line) = level.line()?;
        Some(format!("{}:{line}", file.path))
    }

    fn say_line_at(&mut self, text: &str, at: u64) -> Result<()> {
        let Some(span) = self.line_at(at) else {
            let symbol = symbol_text(&self.here(), at, true);
            let symbol = symbol.map_or_else(String::new, |s| format!(" {s}"));
            return self.say(&format!(
                "No line number information available for address {at:#x}{symbol}"
            ));
        };
        let bias = at.wrapping_sub(self.file_address(at));
        self.keep_address(span.begin.wrapping_add(bias));
        let mut place = |file: u64| {
            let at = file.wrapping_add(bias);
            match symbol_text(&self.here(), at, true) {
                Some(symbol) => format!("{at:#x} {symbol}"),
                None => format!("{at:#x}"),
            }
        };
        let (begin, end) = (place(span.begin), place(span.end));
        if let Spec::Line(_, line) = Spec::parse(text)
            && line != span.line
        {
            return self.say(&format!(
                "Line {line} of \"{}\" is at address {begin} but contains no code.",
                span.file.name,
            ));
        }
        self.say(&format!(
            "Line {} of \"{}\" starts at address {begin} and ends at {end}.",
            span.line, span.file.name,
        ))
    }

    /// The first instructions of a location: of functions their very entries.
    fn starts_of(&mut self, text: &str) -> Result<Vec<u64>> {
        let mut starts: Vec<u64> = match Spec::parse(text) {
            Spec::Function(name) => {
                let found = self.functions(name)?.into_iter();
                let entry = |(module, f): (Arc<Module>, Function)| {
                    f.entry.at(self.images.bias(&module).unwrap_or(0))
                };
                found.map(entry).collect()
            }
            Spec::Line(file, line) => {
                let files = match file {
                    Some(file) => self.files_named(file),
                    None => vec![self.default_file()?],
                };
                let all = self.images.loaded().iter();
                let start = |l: &Loaded| {
                    let starts = files
                        .iter()
                        .filter_map(|f| l.module.line_start(&f.path, line));
                    starts.map(|at| at.at(l.bias)).collect::<Vec<u64>>()
                };
                all.flat_map(start).collect()
            }
            Spec::Address(_) => Vec::new(),
        };
        starts.sort_unstable();
        starts.dedup();
        match starts.is_empty() {
            true => Ok(vec![self.address_of(text)?]),
            false => Ok(starts),
        }
    }

    pub(super) fn file_address(&self, at: u64) -> u64 {
        let bias = self.images.module_at(at).map_or(0, |(_, bias)| bias);
        at.wrapping_sub(bias)
    }

    fn info_program(&mut self, _: &str) -> Result<()> {
        let Some(live) = &self.live else {
            return failure(NOT_RUN);
        };
        let pc = live.frame(0)?.pc;
        let pid = live.process.pid();
        let program = self.program.display().to_string();
        self.say(&format!("Program {program}, process {pid}."))?;
        self.say(&format!("It stopped at {pc:#x}."))
    }

    fn info_registers(&mut self, names: &str) -> Result<()> {
        let Some(live) = &self.live else {
            return failure("The program has no registers now.");
        };
        let known = live.frame(live.selected)?.registers.clone();
        let regs = *live.process.regs(live.tid)?;
        let mut rows: Vec<(&str, Option<u64>)> = Vec::new();
        for number in ORDER {
            rows.push((REGISTER_NAMES[usize::from(number)], known.get(number)));
        }
        rows.push(("eflags", to_dwarf(&regs).eflags));
        for (name, value) in [
            ("cs", regs.cs),
            ("ss", regs.ss),
            ("ds", regs.ds),
            ("es", regs.es),
            ("fs", regs.fs),
            ("gs", regs.gs),
            ("fs_base", regs.fs_base),
            ("gs_base", regs.gs_base),
        ] {
            rows.push((name, Some(value)));
        }
        let general = rows.len();
        for (i, name) in CONTROL_NAMES.into_iter().enumerate() {
            rows.push((name, known.control.map(|all| all[i].into())));
        }
        let wanted: Vec<&str> = names.split_whitespace().collect();
        for name in &wanted {
            let bare = name.trim_start_matches('$');
            let bare = match bare {
                "pc" => "rip",
                "sp" => "rsp",
                "fp" => "rbp",
                other => other,
            };
            let line = match rows.iter().find(|r| r.0 == bare) {
                Some(row) => self.register_line(row.0, row.1),
                None if wide_registers().any(|w| w == bare) => self.wide_register_line(bare)?,
                None => return failure(format!("Invalid register `{bare}'")),
            };
            self.say(&line)?;
        }
        if wanted.is_empty() {
            for (name, value) in rows.into_iter().take(general) {
                let line = self.register_line(name, value);
                self.say(&line)?;
            }
        }
        Ok(())
    }

    fn info_all_registers(&mut self, names: &str) -> Result<()> {
        self.info_registers(names)?;
        if names.is_empty() {
            self.info_registers(&CONTROL_NAMES.join(" "))?;
            self.say_wide_registers(wide_registers())?;
        }
        Ok(())
    }

    fn info_vector(&mut self, _: &str) -> Result<()> {
        self.info_registers("mxcsr")?;
        self.say_wide_registers(vector_registers())
    }

    fn say_wide_registers(&mut self, names: impl Iterator<Item = String>) -> Result<()> {
        for name in names {
            let line = self.wide_register_line(&name)?;
            self.say(&line)?;
        }
        Ok(())
    }

    fn wide_register_line(&mut self, name: &str) -> Result<String> {
        let value = self.evaluate(&format!("${name}"))?;
        let options = self.settings.print.clone();
        let shown = print_value(&value, &self.here(), &options)?;
        Ok(format!("{name:<15}{shown}"))
    }

    /// The source files of everything that is loaded.
    fn info_sources(&mut self, text: &str) -> Result<()> {
        let regex = pattern(text)?;
        let mut lines = Vec::new();
        for loaded in self.images.loaded() {
            let files = loaded.module.source_files().into_iter().map(|f| f.path);
            let files: Vec<String> = files.filter(|f| regex.is_match(f)).collect();
            if !files.is_empty() {
                let program = loaded.module.path().display();
                lines.push(format!("{program}:\n\n{}\n", files.join(", ")));
            }
        }
        self.say_all(lines, "No source files: compile the program with -g.")
    }

    fn register_line(&mut self, name: &str, value: Option<u64>) -> String {
        let Some(value) = value else {
            return format!("{name:<15}<not saved>");
        };
        let natural = match name {
            "rip" => match symbol_text(&self.here(), value, true) {
                Some(symbol) => format!("{value:#x} {symbol}"),
                None => format!("{value:#x}"),
            },
            "rsp" | "rbp" => format!("{value:#x}"),
            "eflags" => flag_names(value),
            "mxcsr" => mxcsr_names(value),
            _ => (value as i64).to_string(),
        };
        format!("{name:<15}{:<20}{natural}", format!("{value:#x}"))
    }

    fn info_libraries(&mut self, text: &str) -> Result<()> {
        let regex = pattern(text)?;
        let none = match text {
            "" => "No shared libraries loaded at this time.",
            _ => "No shared libraries matched.",
        };
        let Some(live) = &self.live else {
            return self.say(none);
        };
        let mut lines = Vec::new();
        for image in live.process.modules() {
            let path = image.path.display().to_string();
            if image.kind == verde_engine::ModuleKind::Library && regex.is_match(&path) {
                let (from, to) = (image.start.0, image.end.0);
                lines.push(format!("{from:#018x}  {to:#018x}  {path}"));
            }
        }
        if !lines.is_empty() {
            let head = format!("{:<18}  {:<18}  Shared Object Library", "From", "To");
            lines.insert(0, head);
        }
        self.say_all(lines, none)
    }

    fn info_source(&mut self, _: &str) -> Result<()> {
        match self.current_line().or_else(|| self.main_line()) {
            Some((file, _)) => self.say(&format!(
                "Current source file is {}\nLocated in {}",
                file.name, file.path
            )),
            None => self.say("No current source file."),
        }
    }

    fn info_threads(&mut self, args: &str) -> Result<()> {
        let mut wanted = Vec::new();
        for word in args.split_whitespace() {
            match range(word) {
                Some(numbers) => wanted.extend(numbers),
                None => return failure(format!("Invalid thread ID: {args}")),
            }
        }
        let Some(live) = &self.live else {
            return self.say("No threads.");
        };
        let (current, selected) = (live.tid, live.selected);
        let all = live.process.numbered_threads();
        let mut rows = Vec::new();
        for (number, tid) in all {
            let Some(live) = &mut self.live else { break };
            let is_wanted = wanted.is_empty() || wanted.contains(&number);
            if !is_wanted || !live.process.is_stopped(tid) {
                continue;
            }
            let base = live.process.regs(tid)?.fs_base;
            live.look(tid, &self.images)?;
            let name = self.thread_name(tid);
            let mark = if tid == current { '*' } else { ' ' };
            let frame = self.frame_text(0, false);
            let target = format!("Thread {base:#x} (LWP {tid}) \"{name}\"");
            rows.push((format!("{mark} {number:<4}"), target, frame));
        }
        if rows.is_empty() && !wanted.is_empty() {
            return self.say(&format!("No threads match '{args}'."));
        }
        let width = rows.iter().map(|r| r.1.len()).max().unwrap_or(0).max(17);
        self.say(&format!("  Id   {:<width$} Frame ", "Target Id"))?;
        for (number, target, frame) in rows {
            self.say(&format!("{number} {target:<width$} {frame}"))?;
        }
        if let Some(live) = &mut self.live {
            live.look(current, &self.images)?;
            live.selected = selected;
        }
        self.look_again()?;
        self.say_waits()
    }
}

/// The types of a function's parameters as the linker's names would have them.
fn parameters(module: &Module, frame: &SourceFrame) -> String {
    let Some(ty) = module.type_of_function(frame.die) else {
        return String::new();
    };
    let verde_symbols::Kind::Function(_, links, ..) = ty.kind() else {
        return String::new();
    };
    let one = |link| {
        name_of(&ty.follow(link))
            .replace(" *", "*")
            .replace(" &", "&")
    };
    links.iter().map(one).collect::<Vec<_>>().join(", ")
}

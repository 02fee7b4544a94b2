//! The stack as text, and moving in it.

use super::Debugger;
use super::failure::{NO_STACK, Result, failure};
use super::here::{Here, Names};
use super::live::Seen;
use std::sync::Arc;
use verde_engine::Tid;
use verde_expr::frame_arguments;
use verde_symbols::{FileAddr, SourceFile};

impl Debugger {
    /// File and line of the selected frame.
    pub(super) fn current_line(&self) -> Option<(Arc<SourceFile>, u32)> {
        let live = self.live.as_ref()?;
        live.levels.get(live.selected)?.line().cloned()
    }

    /// The name of a frame's function, if anything knows it.
    pub(super) fn function_name(&self, level: usize) -> Option<String> {
        let live = self.live.as_ref()?;
        if let Some(source) = &live.levels.get(level)?.source {
            return Some(source.name.clone());
        }
        let frame = live.frame(level).ok()?;
        let (module, bias) = frame.module.as_ref()?;
        let at = FileAddr::of(frame.lookup(), *bias);
        module.linker_name_at(at, true).map(|(name, _)| name)
    }

    /// The function of a frame as it is shown. A lambda's class has no name: only the linker's
    /// tells whose it is.
    fn shown_name(&self, level: usize) -> Option<String> {
        let name = self.function_name(level)?;
        let of_lambda = || {
            let live = self.live.as_ref()?;
            let source = live.levels.get(level)?.source.as_ref()?;
            let (module, _) = live.frame(level).ok()?.module.as_ref()?;
            module.readable_name(source.die)
        };
        let linked = (name == "operator()").then(of_lambda).flatten();
        Some(linked.unwrap_or(name))
    }

    /// The frame does not stand at the beginning of a statement.
    pub(super) fn is_inside_line(&self, level: usize) -> bool {
        let Some(live) = &self.live else {
            return false;
        };
        let (Some(it), Ok(frame)) = (live.levels.get(level), live.frame(level)) else {
            return false;
        };
        if it.holds_inlined {
            return false;
        }
        let line = it.line();
        match self.line_at(frame.lookup()) {
            Some(span) if line.is_some() => {
                let start = frame
                    .module
                    .as_ref()
                    .map(|(_, bias)| FileAddr(span.begin).at(*bias));
                !frame.is_exact || !span.is_stmt || start != Some(frame.pc)
            }
            _ => true,
        }
    }

    /// A frame as gdb writes it, with its number or without.
    pub(super) fn frame_text(&mut self, level: usize, numbered: bool) -> String {
        let (call, place) = self.frame_parts(level, numbered);
        format!("{call}{place}")
    }

    /// A frame in two parts: the call, and where it stands.
    pub(super) fn frame_parts(&mut self, level: usize, numbered: bool) -> (String, String) {
        let style = self.style;
        let number = match numbered {
            true => format!("#{level:<2} "),
            false => String::new(),
        };
        let inside = self.is_inside_line(level);
        let name = self.shown_name(level);
        let Some(live) = &mut self.live else {
            return (number, String::new());
        };
        let Some(it) = live.levels.get(level).cloned() else {
            return (number, String::new());
        };
        let Ok(frame) = live.frame(level).cloned() else {
            return (number, String::new());
        };
        if frame.is_signal {
            return (format!("{number}<signal handler called>"), String::new());
        }
        // A person reads the line; the address is of use where there is none.
        let has_line = it.line().is_some();
        let is_wanted = inside && self.settings.print.addresses;
        let address = match is_wanted && !(style.is_on() && has_line) {
            true => format!("{} in ", style.address(&format!("{:#018x}", frame.pc))),
            false => String::new(),
        };
        let scope = live.scope(level);
        let here = Here {
            process: Some((&mut live.process, live.tid)),
            images: &self.images,
            frame: scope,
            innermost: it.code == 0,
            memo: &mut self.memo,
            names: Names::All,
        };
        let options = self.settings.print.in_frame_lines();
        let arguments = frame_arguments(&here, &options);
        let name = name.unwrap_or_else(|| "??".to_owned());
        let place = match it.line() {
            Some((file, line)) => format!(" at {}", style.file(&format!("{}:{line}", file.name))),
            None => match &frame.module {
                Some((module, _)) if !Arc::ptr_eq(module, self.images.program()) => {
                    format!(" from {}", style.file(&module.path().display().to_string()))
                }
                _ => String::new(),
            },
        };
        let name = style.function(&name);
        (format!("{number}{address}{name} ({arguments})"), place)
    }

    /// The source line of a frame, with the address when inside of it.
    pub(super) fn source_line(&mut self, level: usize) -> Result<String> {
        let inside = self.is_inside_line(level);
        let Some(live) = &self.live else {
            return failure(NO_STACK);
        };
        let pc = live.frame(level)?.pc;
        let line = live.levels.get(level).and_then(|l| l.line().cloned());
        let Some((file, line)) = line else {
            return failure("No line number information here.");
        };
        let text = self.stop_lines(&file, line);
        let is_wanted = inside && self.settings.print.addresses;
        Ok(match is_wanted && !self.style.is_on() {
            true => format!("{pc:#018x}\t{text}"),
            false => text,
        })
    }

    /// A frame with its source line.
    pub(super) fn say_frame(&mut self, level: usize, numbered: bool) -> Result<()> {
        let text = self.frame_lines(level, numbered);
        self.say(&text)
    }

    /// A frame, and the line that it is at.
    pub(super) fn frame_lines(&mut self, level: usize, numbered: bool) -> String {
        let text = self.frame_text(level, numbered);
        let line = self.live.as_ref().and_then(|live| {
            let it = live.levels.get(level)?;
            it.line().cloned()
        });
        match line {
            Some((file, line)) => text + "\n" + &self.stop_lines(&file, line),
            None => text,
        }
    }

    pub(super) fn all_frames(&mut self) -> Result<usize> {
        self.frames_seen(Seen::All)
    }

    /// How many frames there are, up to this number at least: a stack may be deep.
    pub(super) fn frames_up_to(&mut self, count: usize) -> Result<usize> {
        self.frames_seen(Seen::Levels(count))
    }

    fn frames_seen(&mut self, wanted: Seen) -> Result<usize> {
        match &mut self.live {
            Some(live) => {
                live.look_further(&self.images, wanted)?;
                Ok(live.levels.len())
            }
            None => failure(NO_STACK),
        }
    }

    fn select(&mut self, level: usize) -> Result<()> {
        let Some(live) = &mut self.live else {
            return failure(NO_STACK);
        };
        live.selected = level;
        self.listing.reset();
        self.say_frame(level, true)
    }

    pub(super) fn frame(&mut self, args: &str) -> Result<()> {
        let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        if word == "apply" {
            return self.frame_apply(rest.trim());
        }
        // Without a program there is none to name one of.
        self.frames_up_to(1)?;
        let level = match (word, rest.trim()) {
            ("", _) => self.live.as_ref().map_or(0, |l| l.selected),
            ("function", name) => self.frame_of_function(name)?,
            ("level", text) => usize::try_from(self.number(text)?).unwrap_or(usize::MAX),
            _ => usize::try_from(self.number(args)?).unwrap_or(usize::MAX),
        };
        if level >= self.frames_up_to(level.saturating_add(1))? {
            return failure(format!("No frame at level {args}."));
        }
        self.select(level)
    }

    pub(super) fn up(&mut self, args: &str) -> Result<()> {
        let by = self.how_many(args)?;
        self.select_from_here(by)
    }

    pub(super) fn down(&mut self, args: &str) -> Result<()> {
        let by = self.how_many(args)?;
        self.select_from_here(by.saturating_neg())
    }

    /// So many frames; against the direction if it is below zero.
    fn how_many(&mut self, args: &str) -> Result<isize> {
        match args {
            "" => Ok(1),
            text => {
                let number = self.evaluate(text)?.to_integer()?;
                let most = number.clamp(isize::MIN as i128, isize::MAX as i128);
                Ok(most as isize)
            }
        }
    }

    /// Selects a frame so many further out.
    fn select_from_here(&mut self, by: isize) -> Result<()> {
        let now = self.live.as_ref().map_or(0, |l| l.selected);
        let wanted = now.saturating_add_signed(by);
        let count = self.frames_up_to(wanted.max(now).saturating_add(2))?;
        if by > 0 && now + 1 >= count {
            return failure("Initial frame selected; you can't go up.");
        }
        if by < 0 && now == 0 {
            return failure("Bottom (innermost) frame selected; you can't go down.");
        }
        self.select(wanted.min(count.saturating_sub(1)))
    }

    /// Registers or variables were changed: the frames may be others.
    pub(super) fn look_again(&mut self) -> Result<()> {
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        let (tid, selected) = (live.tid, live.selected);
        live.look(tid, &self.images)?;
        if selected >= live.levels.len() {
            live.look_at_all(&self.images)?;
        }
        live.selected = selected.min(live.levels.len().saturating_sub(1));
        Ok(())
    }

    pub(super) fn thread(&mut self, args: &str) -> Result<()> {
        let Some(live) = &self.live else {
            return failure("No thread selected");
        };
        let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        match word {
            "apply" => return self.thread_apply(rest),
            "name" => return self.name_thread(rest.trim()),
            "find" => return self.find_threads(rest.trim()),
            _ => {}
        }
        if args.is_empty() {
            let text = self.thread_title(live.tid);
            return self.say(&format!("[Current thread is {text}]"));
        }
        let number = self.number(args)?;
        let number = usize::try_from(number).unwrap_or(0);
        let Some(live) = &mut self.live else {
            return failure("No thread selected");
        };
        let tid = live.process.thread_by_number(number);
        let Some(tid) = tid.filter(|t| live.process.is_stopped(*t)) else {
            return failure(format!("Unknown thread {args}."));
        };
        live.look(tid, &self.images)?;
        self.listing.reset();
        let title = self.thread_title(tid);
        self.say(&format!("[Switching to thread {title}]"))?;
        self.say_frame(0, true)
    }

    pub(super) fn thread_title(&self, tid: Tid) -> String {
        let Some(live) = &self.live else {
            return String::new();
        };
        let number = live.process.thread_number(tid).unwrap_or(0);
        match live.process.regs(tid) {
            Ok(regs) => format!("{number} (Thread {:#x} (LWP {tid}))", regs.fs_base),
            Err(_) => format!("{number} (LWP {tid})"),
        }
    }
}

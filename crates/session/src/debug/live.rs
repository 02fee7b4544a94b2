//! The running program: its process and the stack that is looked at.

use super::failure::{NO_STACK, Result, failure};
use super::images::Images;
use super::indirect::Choices;
use super::registers::{to_dwarf, with_vectors};
use super::stack_memory::StackMemory;
use std::collections::HashMap;
use std::sync::Arc;
use verde_engine::{Addr, FrameRef, Process, Tid};
use verde_expr::FrameScope;
use verde_symbols::{
    End, Frame, Language, Levels, LocationError, Memory, SourceFile, SourceFrame, backtrace,
};

/// Frames unwound when the program stops; all of them when somebody asks.
const FIRST_FRAMES: usize = 16;
pub(super) const ALL_FRAMES: usize = 1_000_000;

/// A frame as the user counts them, inlined calls included.
#[derive(Clone)]
pub(super) struct Level {
    /// Index of the frame of code.
    pub code: usize,
    pub source: Option<SourceFrame>,
    /// The line of code that has lines and no description, as that of assembler.
    bare_line: Option<(Arc<SourceFile>, u32)>,
    /// Another call was inlined into this frame, which is where it stands.
    pub holds_inlined: bool,
}

impl Level {
    /// Where it is in the source.
    pub fn line(&self) -> Option<&(Arc<SourceFile>, u32)> {
        match &self.source {
            Some(source) => source.line.as_ref(),
            None => self.bare_line.as_ref(),
        }
    }
}

pub(super) struct Live {
    pub process: Process,
    /// The selected thread.
    pub tid: Tid,
    /// The process that the user knows of.
    pub pid: Tid,
    /// Names that the user gave to threads.
    pub names: HashMap<Tid, String>,
    pub frames: Vec<Frame>,
    pub levels: Vec<Level>,
    /// How much of the stack the levels are of.
    pub seen: Seen,
    /// There are more than were looked at.
    pub is_cut: bool,
    /// The selected frame.
    pub selected: usize,
    /// How many modules were looked through for ways out of frames.
    pub exits_of: usize,
    /// Inlined calls that begin where the program stands and are not entered yet.
    pub hidden: Option<Hidden>,
    /// Code of indirect functions.
    pub choices: Choices,
}

/// How much of a stack was looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Seen {
    /// The innermost frame of code. A stop is told without asking the debug information of others.
    Innermost,
    /// Some frames.
    Near,
    /// So many levels at least.
    Levels(usize),
    All,
}

/// Levels that are not shown, and where.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Hidden {
    tid: Tid,
    pc: u64,
    levels: usize,
}

impl Hidden {
    /// What is hidden when one call more is entered.
    pub fn one_less(self) -> Option<Hidden> {
        let levels = self.levels - 1;
        (levels > 0).then_some(Hidden { levels, ..self })
    }
}

/// The memory of a process.
pub(super) struct ProcessMemory<'a>(pub &'a Process);

impl Memory for ProcessMemory<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> std::result::Result<(), LocationError> {
        let read = self.0.read(Addr(addr), buf);
        read.map_err(|_| LocationError::Memory(addr))
    }
}

impl Live {
    pub fn new(process: Process) -> Live {
        let tid = process.pid();
        Live {
            process,
            tid,
            pid: tid,
            names: HashMap::new(),
            frames: Vec::new(),
            levels: Vec::new(),
            seen: Seen::Innermost,
            is_cut: false,
            selected: 0,
            exits_of: 0,
            hidden: None,
            choices: Choices::default(),
        }
    }

    /// Looks at the stack of a thread, which becomes the selected one.
    pub fn look(&mut self, tid: Tid, images: &Images) -> Result<()> {
        self.tid = tid;
        self.selected = 0;
        self.unwind(images, Seen::Innermost)
    }

    /// A thread if it can be looked at, otherwise another one.
    pub fn that_or_other(&self, tid: Tid) -> Option<Tid> {
        let all = [tid].into_iter().chain(self.process.threads());
        all.into_iter().find(|t| self.process.is_stopped(*t))
    }

    /// Looks at the rest of the stack.
    pub fn look_at_all(&mut self, images: &Images) -> Result<()> {
        self.look_further(images, Seen::All)
    }

    /// Looks at as much of the stack at least.
    pub fn look_further(&mut self, images: &Images, wanted: Seen) -> Result<()> {
        match self.seen < wanted {
            true => self.unwind(images, wanted),
            false => Ok(()),
        }
    }

    fn unwind(&mut self, images: &Images, wanted: Seen) -> Result<()> {
        let regs = self.process.regs(self.tid)?;
        let registers = match self.process.xstate(self.tid) {
            Ok(state) => with_vectors(regs, &state),
            Err(_) => to_dwarf(regs),
        };
        let (limit, most) = match wanted {
            Seen::Innermost => (FIRST_FRAMES, 1),
            Seen::Near => (FIRST_FRAMES, FIRST_FRAMES),
            Seen::Levels(count) => {
                // Every frame is a level at least; the last one's caller tells it from others.
                let hidden = self.hidden.map_or(0, |h| h.levels);
                let limit = count
                    .saturating_add(hidden + 1)
                    .clamp(FIRST_FRAMES, ALL_FRAMES);
                (limit, limit)
            }
            Seen::All => (ALL_FRAMES, ALL_FRAMES),
        };
        let (frames, end) = backtrace(images, &StackMemory::new(&self.process), registers, limit);
        let found = Levels::of(frames, most, is_main);
        let mut levels: Vec<Level> = Vec::new();
        for (code, source) in found.levels {
            let inside = levels.last().filter(|l| l.code == code);
            let inside = inside.and_then(|l| l.source.as_ref());
            let holds_inlined = inside.is_some_and(|s| s.is_inlined);
            let bare_line = match source {
                Some(_) => None,
                None => found.frames.get(code).and_then(table_line),
            };
            levels.push(Level {
                code,
                source,
                bare_line,
                holds_inlined,
            });
        }
        let outermost = levels.last().and_then(|l| l.source.as_ref());
        self.is_cut = end == End::Limit && !outermost.is_some_and(is_main);
        self.seen = match end == End::Limit || wanted == Seen::Innermost {
            true => wanted,
            false => Seen::All,
        };
        let frames = found.frames;
        let pc = frames.first().map_or(0, |f| f.pc);
        self.frames = frames;
        self.levels = levels;
        if let Some(hidden) = self.hidden
            && hidden.tid == self.tid
            && hidden.pc == pc
        {
            self.levels.drain(..hidden.levels.min(self.levels.len()));
        }
        Ok(())
    }

    /// The program is shown before the innermost inlined calls, which begin where it stands.
    pub fn hide(&mut self, levels: usize) {
        if levels > 0 && levels < self.levels.len() {
            self.levels.drain(..levels);
            self.hidden = Some(Hidden {
                tid: self.tid,
                pc: self.frames.first().map_or(0, |f| f.pc),
                levels,
            });
        }
    }

    /// The scope of a frame by its number.
    pub fn scope(&self, level: usize) -> Option<FrameScope> {
        let it = self.levels.get(level)?;
        let memory = ProcessMemory(&self.process);
        FrameScope::new(&self.frames, it.code, it.source.clone(), &memory)
    }

    /// The frame of code of a level.
    pub fn frame(&self, level: usize) -> Result<&Frame> {
        let it = self.levels.get(level).and_then(|l| self.frames.get(l.code));
        match it {
            Some(frame) => Ok(frame),
            None => failure(NO_STACK),
        }
    }

    /// The frame that a frame of code returns to.
    pub fn caller(&self, code: usize) -> Option<&Frame> {
        let outer = self.frames.get(code + 1..)?;
        outer.iter().find(|f| !f.has_jumped)
    }

    /// Whether a level is the last that a user counts.
    pub fn is_outermost(&self, level: usize) -> bool {
        let Some(it) = self.levels.get(level) else {
            return true;
        };
        let is_main = it.source.as_ref().is_some_and(is_main);
        self.levels.get(level + 1).is_none() && (is_main || self.caller(it.code).is_none())
    }

    /// What tells this activation from any other; `None` for the outermost.
    pub fn frame_ref(&self, level: usize) -> Option<FrameRef> {
        let code = self.levels.get(level)?.code;
        Some(FrameRef {
            cfa: Addr(self.frames.get(code)?.cfa?),
            return_to: Addr(self.caller(code)?.pc),
        })
    }
}

/// The line of a frame, if the line table knows its code.
fn table_line(frame: &Frame) -> Option<(Arc<SourceFile>, u32)> {
    let (module, _) = frame.module.as_ref()?;
    let span = module.line_at(frame.file_addr()?)?;
    Some((span.file, span.line))
}

/// The function a user thinks of as the outermost.
pub(super) fn is_main(source: &SourceFrame) -> bool {
    match source.language {
        Language::Rust => source.name.matches("::").count() == 1 && source.name.ends_with("::main"),
        _ => source.name == "main",
    }
}

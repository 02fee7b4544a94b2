//! The program and the prompt, as code of monitors asks for them.

use super::super::Debugger;
use super::super::failure::failure;
use super::super::here::Here;
use super::super::points::Kind;
use crate::json::Json;
use serde_json::{Value as Answer, json};
use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;
use verde_engine::Tid;
use verde_expr::{PrintOptions, evaluate, name_of, print_value, text_of};
use verde_symbols::Type;

type Answered = Result<Answer, String>;

/// Commands that let the program go: the event must be over first.
const RESUMING: &[&str] = &[
    "run",
    "start",
    "starti",
    "continue",
    "step",
    "next",
    "stepi",
    "nexti",
    "finish",
    "until",
    "advance",
    "jump",
    "return",
    "signal",
    "kill",
    "detach",
    "restart",
    "verde",
    // A checkpoint of a moment at which the monitors are at work would be without them.
    "checkpoint",
];

/// Keeps what is written.
#[derive(Clone, Default)]
struct Capture(Rc<RefCell<Vec<u8>>>);

impl Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Debugger {
    /// Stops all threads and looks at the one whose event it is.
    pub(super) fn settle_for(&mut self, tid: Option<Tid>) -> Result<(), String> {
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        if live.process.ended().is_some() {
            // Nothing is left to look at.
            live.frames.clear();
            live.levels.clear();
            return Ok(());
        }
        let guard = live.process.stop_all().map_err(|e| e.to_string())?;
        guard.keep();
        let tid = tid.unwrap_or(live.tid);
        live.look(tid, &self.images).map_err(|e| e.to_string())
    }

    /// Runs a command of the prompt; its text, or nothing when it was shown.
    pub(super) fn command_of_block(&mut self, command: &str, shown: bool) -> Answered {
        let before = std::mem::replace(&mut self.for_block, true);
        let (text, done) = match shown {
            true => (Answer::Null, self.execute(command)),
            false => {
                let (text, done) = self.captured(|d| d.execute(command));
                (Answer::String(text), done)
            }
        };
        self.for_block = before;
        done.map_err(|e| e.to_string())?;
        Ok(text)
    }

    /// Whatever runs a command for a block, a file or a command of the user's own too, does not
    /// let the program go.
    pub(in super::super) fn refuse_for_block(&self, name: &str) -> super::super::Result<()> {
        match self.for_block && RESUMING.contains(&name) {
            true => failure(format!(
                "\"{name}\" is not possible while an event is being processed."
            )),
            false => Ok(()),
        }
    }

    /// What something writes, as text.
    pub(in super::super) fn captured<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> (String, T) {
        let capture = Capture::default();
        let before = std::mem::replace(&mut self.out, Box::new(capture.clone()));
        let result = f(self);
        self.out = before;
        let bytes = capture.0.take();
        (String::from_utf8_lossy(&bytes).into_owned(), result)
    }

    pub(super) fn value_for_block(&mut self, args: &Answer) -> Answered {
        let text = args["expression"].as_str().unwrap_or_default().to_owned();
        let level = args["level"].as_u64();
        let before = self.live.as_ref().map(|l| l.selected);
        if let (Some(level), Some(live)) = (level, &mut self.live) {
            let level = usize::try_from(level).unwrap_or(usize::MAX);
            if level >= live.levels.len() {
                live.look_at_all(&self.images).map_err(|e| e.to_string())?;
            }
            if level >= live.levels.len() {
                return Err(format!("No frame at level {level}."));
            }
            live.selected = level;
        }
        let answer = self.described(&text);
        if let (Some(before), Some(live)) = (before, &mut self.live) {
            live.selected = before;
        }
        answer
    }

    fn described(&mut self, text: &str) -> Answered {
        let mut here: Here = self.here();
        let value = evaluate(text, &mut here).map_err(|e| e.to_string())?;
        let shown = print_value(&value, &here, &PrintOptions::default());
        let number = match value.ty.is_float() {
            true => value.to_float().ok().map(|f| Json::Float(f).for_code()),
            false => value
                .to_integer()
                .ok()
                .and_then(|i| serde_json::from_str(&i.to_string()).ok()),
        };
        let ty = name_of(&value.ty);
        let address = value.address();
        Ok(json!({
            "text": shown.unwrap_or_else(|e| format!("<{e}>")),
            "number": number,
            "string": text_of(&value, &here, 1 << 16),
            "type": ty,
            "address": address,
            "pointer": is_pointer(&value.ty),
            "lvalue": address.map(|at| format!("*({ty} *) {at:#x}")),
        }))
    }

    pub(super) fn frame_for_block(&mut self, level: Option<u64>) -> Answered {
        let Some(live) = &mut self.live else {
            return Err("No frame is currently selected.".into());
        };
        let level = match level {
            Some(level) => usize::try_from(level).unwrap_or(usize::MAX),
            None => live.selected,
        };
        if level >= live.levels.len() {
            live.look_at_all(&self.images).map_err(|e| e.to_string())?;
        }
        let Some(it) = live.levels.get(level) else {
            return Ok(Answer::Null);
        };
        let line = it.source.as_ref().and_then(|s| s.line.clone());
        let pc = live.frame(level).map_err(|e| e.to_string())?.pc;
        Ok(json!({
            "level": level,
            "name": self.function_name(level),
            "pc": pc,
            "line": line.as_ref().map(|(_, line)| *line),
            "file": line.as_ref().map(|(file, _)| file.name.clone()),
        }))
    }

    pub(super) fn thread_for_block(&mut self) -> Answered {
        let Some(live) = &self.live else {
            return Ok(Answer::Null);
        };
        let number = live.process.thread_number(live.tid);
        let name = verde_sys::procfs::status_field(live.process.pid(), live.tid, "Name");
        Ok(json!({
            "num": number.unwrap_or(0),
            "pid": live.process.pid().0,
            "tid": live.tid.0,
            "name": name.unwrap_or_default(),
        }))
    }

    /// A breakpoint or watchpoint of a scenario: its number.
    pub(super) fn quiet_point(&mut self, command: &str) -> Answered {
        let (_, done) = self.captured(|d| d.execute(command).map(drop));
        done.map_err(|e| e.to_string())?;
        let point = self.points.list.last_mut();
        Ok(json!(point.map(|p| {
            p.by_scenario = true;
            p.number
        })))
    }

    /// Forgets points by number, or by the text they were set with.
    pub(super) fn drop_points(&mut self, which: &str, watch: bool) -> Answered {
        let numbers: Vec<u32> = self
            .points
            .list
            .iter()
            .filter(|p| match &p.kind {
                Kind::Watch(w) => watch && (w.text == which || p.number.to_string() == which),
                Kind::Code { spec, .. } => {
                    !watch && (spec == which || p.number.to_string() == which)
                }
                _ => false,
            })
            .map(|p| p.number)
            .collect();
        if numbers.is_empty() {
            return Err(format!("nothing is set on {which}"));
        }
        for number in numbers {
            self.remove_point(number).map_err(|e| e.to_string())?;
        }
        Ok(Answer::Null)
    }
}

/// It leads to something, whatever it is called.
fn is_pointer(ty: &Type) -> bool {
    use verde_symbols::Kind::{Pointer, Reference, RvalueReference};
    matches!(
        ty.strip().kind(),
        Pointer(_) | Reference(_) | RvalueReference(_)
    )
}

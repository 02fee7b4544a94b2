//! What Python code asks about the program and its monitors.

use super::host::{Desk, current_states};
use super::{Change, Write};
use crate::json::{Json, Object};
use serde_json::{Value, json};
use verde_monitor::{Cell, Slices, SlotRef, Tag};
use verde_property::StateId;
use verde_pyhost::Services;

type Answer = Result<Value, String>;

impl Services for Desk<'_> {
    fn request(
        &mut self,
        owner: u64,
        slices: Option<&Slices>,
        what: &str,
        args: &str,
    ) -> Result<String, String> {
        let args: Value = serde_json::from_str(args).map_err(|e| e.to_string())?;
        let answer = match what {
            "execute" | "eval" | "frame" | "thread" => self.ask_debugger(what, &args)?,
            "checkpoint" | "restore_checkpoint" | "set_watchpoint" | "set_breakpoint"
            | "unset_point" => self.act(what, &args)?,
            "stop" => {
                self.latch.stop = true;
                self.switches.halted |= flag(&args, "monitor");
                Value::Null
            }
            "quiet" => {
                self.switches.quiet = flag(&args, "on");
                Value::Null
            }
            "step_by_step" => {
                self.switches.step_by_step = flag(&args, "on");
                Value::Null
            }
            "all_events" => {
                self.switches.all_events = flag(&args, "on");
                self.latch.reinstrument = true;
                Value::Null
            }
            "callbacks" => {
                self.switches.callbacks = flag(&args, "any");
                Value::Null
            }
            _ => match slices {
                Some(slices) => self.ask_slices(owner, slices, what, &args)?,
                None => return Err(format!("there is no monitor to ask about {what}")),
            },
        };
        Ok(answer.to_string())
    }

    fn printed(&mut self, text: &str) {
        self.print_all(text);
    }
}

fn flag(args: &Value, name: &str) -> bool {
    args[name].as_bool().unwrap_or(false)
}

impl Desk<'_> {
    fn ask_slices(&mut self, owner: u64, slices: &Slices, what: &str, args: &Value) -> Answer {
        let property = slices.property();
        Ok(match what {
            "states" => property.states.iter().map(|s| s.name.as_str()).collect(),
            "current_states" => self.states_now(slices),
            "slices" => {
                let mut all: Vec<SlotRef> = slices.iter().collect();
                all.sort_by_key(|r| slices.created(*r));
                all.into_iter().map(|r| bindings(slices, r)).collect()
            }
            "env" => {
                let slice = self.slice_of(slices, &args["slice"])?;
                let mut env = serde_json::Map::new();
                for (i, name) in property.env.iter().enumerate() {
                    let cell = self.env_now(slices, slice, i);
                    if let Some(value) = cell_value(cell) {
                        env.insert(name.clone(), value);
                    }
                }
                Value::Object(env)
            }
            "has_env" => {
                self.slice_of(slices, &args["slice"])?;
                let name = args["name"].as_str().unwrap_or_default();
                Value::Bool(property.env.iter().any(|n| n == name))
            }
            "set_env" => {
                let slice = self.slice_of(slices, &args["slice"])?;
                let name = args["name"].as_str().unwrap_or_default();
                let Some(index) = property.env.iter().position(|n| n == name) else {
                    return Ok(Value::Bool(false));
                };
                // Without a cell it is as if it had never been assigned.
                let cell = Cell {
                    bits: args["cell"][0].as_u64().unwrap_or(0),
                    tag: Tag::from_byte(args["cell"][1].as_u64().unwrap_or(0) as u8),
                };
                self.write(slices, slice, Change::Env(index, cell));
                Value::Bool(true)
            }
            "set_state" => {
                // A scenario means the slice that it reacts to; a property's code the root.
                let named = args["slice"].as_object().is_some_and(|o| !o.is_empty());
                let slice = match self.slice {
                    Some(slice) if !named && owner != property.uid => slice,
                    _ => self.slice_of(slices, &args["slice"])?,
                };
                let name = args["state"].as_str().unwrap_or_default();
                let Some(index) = property.states.iter().position(|s| s.name == name) else {
                    return Err(format!("property {} has no state {name}", property.name));
                };
                self.write(slices, slice, Change::State(StateId(index as u16)));
                Value::Null
            }
            "bindings" => match self.slice {
                Some(slice) => bindings(slices, slice),
                None => json!({}),
            },
            "describe" => {
                let mut lines = Vec::new();
                for r in slices.iter() {
                    let bound = Object::of(&slices.bindings(r));
                    let head = match bound.is_empty() {
                        true => String::new(),
                        false => format!("[{bound}] "),
                    };
                    let state = property.state(self.state_now(slices, r)).name.clone();
                    let mut line: Vec<Value> = Vec::new();
                    for (i, name) in property.env.iter().enumerate() {
                        let Some(value) = shown(self.env_now(slices, r, i)) else {
                            continue;
                        };
                        let before = if line.is_empty() { " (" } else { ", " };
                        line.extend([json!(format!("{before}{name} = ")), value]);
                    }
                    if !line.is_empty() {
                        line.push(json!(")"));
                    }
                    line.insert(0, json!(format!("{head}Current state: {state}")));
                    lines.push(Value::Array(line));
                }
                lines.into()
            }
            _ => return Err(format!("unknown request {what}")),
        })
    }

    fn write(&mut self, slices: &Slices, slice: SlotRef, what: Change) {
        self.latch.reinstrument = true;
        self.writes.push(Write {
            slice,
            created: slices.created(slice),
            what,
        });
    }

    /// A value as it will be when the writes of this moment are done.
    fn env_now(&self, slices: &Slices, slice: SlotRef, name: usize) -> Cell {
        let mut written = self.writes.iter().rev().filter(|w| w.slice == slice);
        let found = written.find_map(|w| match w.what {
            Change::Env(n, cell) if n == name => Some(cell),
            _ => None,
        });
        found.unwrap_or_else(|| slices.env(slice, name))
    }

    fn state_now(&self, slices: &Slices, slice: SlotRef) -> StateId {
        let mut written = self.writes.iter().rev().filter(|w| w.slice == slice);
        let found = written.find_map(|w| match w.what {
            Change::State(state) => Some(state),
            Change::Env(..) => None,
        });
        found.unwrap_or_else(|| slices.state(slice))
    }

    fn states_now(&self, slices: &Slices) -> Value {
        if self.writes.is_empty() {
            return current_states(slices).into();
        }
        let property = slices.property();
        let mut names: Vec<&str> = slices
            .iter()
            .map(|r| property.state(self.state_now(slices, r)).name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names.into()
    }

    /// A slice by its bindings; without any, the root.
    fn slice_of(&self, slices: &Slices, wanted: &Value) -> Result<SlotRef, String> {
        let empty = wanted.as_object().is_none_or(|o| o.is_empty());
        if empty {
            return slices
                .root()
                .ok_or_else(|| "the root slice has ended".to_owned());
        }
        let found = slices.iter().find(|r| bindings(slices, *r) == *wanted);
        found.ok_or_else(|| format!("there is no slice {wanted}"))
    }

    /// A command, an expression, a frame: all threads are stopped first.
    fn ask_debugger(&mut self, what: &str, args: &Value) -> Answer {
        if self.debugger.live.is_some() && !self.latch.settled {
            self.debugger.settle_for(self.tid)?;
            self.latch.settled = true;
        }
        match what {
            "execute" => {
                let command = args["command"].as_str().unwrap_or_default();
                let shown = !flag(args, "capture") && self.output.says_states();
                self.debugger.command_of_block(command, shown)
            }
            "eval" => self.debugger.value_for_block(args),
            "frame" => self.debugger.frame_for_block(args["level"].as_u64()),
            _ => self.debugger.thread_for_block(),
        }
    }

    /// The actions of scenarios on the program.
    fn act(&mut self, what: &str, args: &Value) -> Answer {
        if self.debugger.live.is_some() && !self.latch.settled {
            self.debugger.settle_for(self.tid)?;
            self.latch.settled = true;
        }
        let text = |name: &str| args[name].as_str().unwrap_or_default().to_owned();
        match what {
            "set_watchpoint" => {
                let command = match text("mode").as_str() {
                    "w" => "watch",
                    "r" => "rwatch",
                    "rw" | "wr" => "awatch",
                    other => {
                        let why = format!("set_watchpoint: no mode {other:?}: one of w, r, rw");
                        return Err(why);
                    }
                };
                let line = format!("{command} {}", text("expression"));
                self.debugger.quiet_point(&line)
            }
            "set_breakpoint" => self
                .debugger
                .quiet_point(&format!("break {}", text("location"))),
            "unset_point" => self
                .debugger
                .drop_points(&text("which"), flag(args, "watch")),
            "checkpoint" => {
                let live = self.debugger.live.as_ref();
                if live.is_none_or(|l| l.process.ended().is_some()) {
                    return Err("there is no program to save".into());
                }
                let number = self.debugger.free_checkpoint(&self.latch.checkpoints);
                // What refuses it is said when it is to be taken.
                self.latch.checkpoints.push(number);
                let possible = self.debugger.can_be_saved();
                Ok(possible.then_some(number).map_or(Value::Null, |n| json!(n)))
            }
            _ => {
                let number = args["number"].as_u64().and_then(|n| u32::try_from(n).ok());
                let number = number.unwrap_or(0);
                let reserved = self.latch.checkpoints.contains(&number);
                if !reserved && !self.debugger.has_checkpoint(number) {
                    return Err(format!("there is no checkpoint {number}"));
                }
                self.latch.restore = Some(number);
                Ok(Value::Null)
            }
        }
    }
}

fn bindings(slices: &Slices, r: SlotRef) -> Value {
    let bound = Object::of(&slices.bindings(r));
    serde_json::to_value(bound).unwrap_or_default()
}

/// A value for Python: plain ones as JSON, its own by their handles.
fn cell_value(cell: Cell) -> Option<Value> {
    match cell.tag {
        Tag::Other => Some(json!({ "$handle": cell.bits })),
        _ => serde_json::to_value(Json::of_plain(cell)?).ok(),
    }
}

/// The same as text for the reader.
fn shown(cell: Cell) -> Option<Value> {
    match cell.tag {
        Tag::Other => cell_value(cell),
        _ => Some(json!(Json::of_plain(cell)?.to_string())),
    }
}

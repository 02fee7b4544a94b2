//! What Python code asks about its monitor, and tells it: all that needs no process, on the live
//! program and over a trace.

use crate::json::{Json, Object};
use serde_json::{Value, json};
use verde_monitor::{Cell, Host, Monitor, Observer, Slices, SlotRef, Step, Tag};
use verde_property::StateId;

pub(crate) type Answer = Result<Value, String>;

/// What a monitor's own code may switch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Switches {
    pub quiet: bool,
    pub step_by_step: bool,
    pub all_events: bool,
    /// Python functions want to hear of its moments.
    pub callbacks: bool,
    /// `stop_execution`: it sees no more events.
    pub halted: bool,
}

impl Switches {
    /// Whether it is one of these that was asked for.
    pub fn set(&mut self, what: &str, args: &Value) -> bool {
        match what {
            "quiet" => self.quiet = flag(args, "on"),
            "step_by_step" => self.step_by_step = flag(args, "on"),
            "all_events" => self.all_events = flag(args, "on"),
            "callbacks" => self.callbacks = flag(args, "any"),
            "stop" => self.halted |= flag(args, "monitor"),
            _ => return false,
        }
        true
    }
}

pub(crate) fn flag(args: &Value, name: &str) -> bool {
    args[name].as_bool().unwrap_or(false)
}

/// A change of a slice that code asked for while an event was on its way.
pub(crate) struct Write {
    slice: SlotRef,
    created: u64,
    what: Change,
}

#[derive(Clone, Copy)]
enum Change {
    Env(usize, Cell),
    State(StateId),
}

impl Write {
    /// Changes the slice, if it is still the one that was meant. `n`: the event that was on its way.
    pub fn carry_out(
        self,
        monitor: &mut Monitor,
        n: Option<u64>,
        host: &mut dyn Host,
        observer: &mut dyn Observer,
    ) {
        let slices = monitor.slices();
        let same = slices.is_live(self.slice) && slices.created(self.slice) == self.created;
        match self.what {
            Change::Env(name, cell) if same => monitor.set_env(self.slice, name, cell, host),
            Change::Env(_, cell) => host.release(cell),
            Change::State(state) if same => monitor.set_state(self.slice, state, n, observer),
            Change::State(_) => {}
        }
    }
}

/// Who answers about slices.
pub(crate) struct Inquiry<'a> {
    /// What was asked for at this moment, and is still to be done.
    pub writes: &'a mut Vec<Write>,
    /// The slice that a scenario reacts to.
    pub slice: Option<SlotRef>,
}

impl Inquiry<'_> {
    /// An answer about the slices, and what is to become of them.
    pub fn ask(&mut self, owner: u64, slices: &Slices, what: &str, args: &Value) -> Answer {
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
}

/// Names of the states that some slice is in.
pub(crate) fn current_states(slices: &Slices) -> Vec<String> {
    let property = slices.property();
    let states = property.states.iter().enumerate();
    states
        .filter(|(i, _)| slices.in_state(StateId(*i as u16)) > 0)
        .map(|(_, s)| s.name.clone())
        .collect()
}

/// What callbacks for `transition_taken` get.
pub(crate) fn taken_args(slices: &Slices, step: &Step) -> String {
    let property = slices.property();
    let t = &property.state(step.from).transitions[step.transition];
    let args = json!([
        {
            "source": property.state(step.from).name,
            "target": property.state(step.to).name,
            "event": t.label,
        },
        step.branch.word()
    ]);
    args.to_string()
}

/// What callbacks for `state_changed` get.
pub(crate) fn changed_args(slices: &Slices) -> String {
    json!([current_states(slices)]).to_string()
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

//! What Python code asks about its monitor, and tells it: all that needs no process, on the live
//! program and over a trace.

use crate::json::{Json, Object};
use crate::writes::{Change, Writes};
use serde_json::{Map, Value, json};
use verde_monitor::{Arg, Cell, Slices, SlotRef, Step, Tag, View};
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

/// Who answers about slices.
pub(crate) struct Inquiry<'a> {
    /// What was asked for at this moment, and is still to be done.
    pub writes: &'a mut Writes,
    /// The slice that a scenario reacts to.
    pub slice: Option<SlotRef>,
}

impl Inquiry<'_> {
    /// An answer about the slices, and what is to become of them.
    pub fn ask(&mut self, owner: u64, view: View, what: &str, args: &Value) -> Answer {
        let property = view.property();
        Ok(match what {
            "states" => property.states.iter().map(|s| s.name.as_str()).collect(),
            "current_states" => self.states_now(view),
            "slices" => {
                let mut all: Vec<SlotRef> = view.iter().collect();
                all.sort_by_key(|r| view.created(*r));
                all.into_iter().map(|r| bindings(view, r)).collect()
            }
            "env" => {
                let slice = slice_of(view, &args["slice"])?;
                let mut env = serde_json::Map::new();
                for (i, name) in property.env.iter().enumerate() {
                    let cell = self.writes.env(view, slice, i);
                    if let Some(value) = cell_value(cell) {
                        env.insert(name.clone(), value);
                    }
                }
                let beside = cell_value(self.writes.env(view, slice, view.beside()));
                json!([env, beside])
            }
            "has_env" => {
                slice_of(view, &args["slice"])?;
                let name = args["name"].as_str().unwrap_or_default();
                Value::Bool(property.env.iter().any(|n| n == name))
            }
            "set_env" => {
                let slice = slice_of(view, &args["slice"])?;
                // Without a name it is what code keeps beside the property's names.
                let index = match args["name"].as_str() {
                    None => view.beside(),
                    Some(name) => match property.env.iter().position(|n| n == name) {
                        None => return Ok(Value::Bool(false)),
                        Some(index) => index,
                    },
                };
                // Without a cell it is as if it had never been assigned.
                let cell = Cell {
                    bits: args["cell"][0].as_u64().unwrap_or(0),
                    tag: Tag::from_byte(args["cell"][1].as_u64().unwrap_or(0) as u8),
                };
                self.writes.push(view, slice, Change::Env(index, cell));
                Value::Bool(true)
            }
            "set_state" => {
                // A scenario means the slice that it reacts to; a property's code the root.
                let named = args["slice"].as_object().is_some_and(|o| !o.is_empty());
                let slice = match self.slice {
                    Some(slice) if !named && owner != property.uid => slice,
                    _ => slice_of(view, &args["slice"])?,
                };
                let name = args["state"].as_str().unwrap_or_default();
                let Some(index) = property.states.iter().position(|s| s.name == name) else {
                    return Err(format!("property {} has no state {name}", property.name));
                };
                let state = StateId(index as u16);
                self.writes.push(view, slice, Change::State(state));
                Value::Null
            }
            "bindings" => match self.slice {
                Some(slice) => bindings(view, slice),
                None => json!({}),
            },
            "describe" => {
                let mut lines = Vec::new();
                for r in view.iter() {
                    let bound = Object::of(&view.bindings(r));
                    let head = match bound.is_empty() {
                        true => String::new(),
                        false => format!("[{bound}] "),
                    };
                    let state = property.state(self.writes.state(view, r)).name.clone();
                    let mut line: Vec<Value> = Vec::new();
                    for (i, name) in property.env.iter().enumerate() {
                        let Some(value) = shown(self.writes.env(view, r, i)) else {
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

    fn states_now(&self, view: View) -> Value {
        if self.writes.is_empty() {
            return current_states(view).into();
        }
        let property = view.property();
        let mut names: Vec<&str> = view
            .iter()
            .map(|r| property.state(self.writes.state(view, r)).name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names.into()
    }
}

/// A slice by its bindings; without any, the root.
fn slice_of(view: View, wanted: &Value) -> Result<SlotRef, String> {
    let Some(named) = wanted.as_object().filter(|o| !o.is_empty()) else {
        let root = view.root();
        return root.ok_or_else(|| "the root slice has ended".to_owned());
    };
    // Mostly code asks about its own slice, and one that is being made is in no table.
    let own = view.own().filter(|r| binds(view, *r, named));
    let found = own.or_else(|| match by_key(view, named) {
        Found::Slice(r) => Some(r),
        Found::None => None,
        Found::Unclear => view.iter().find(|r| binds(view, *r, named)),
    });
    found.ok_or_else(|| format!("there is no slice {wanted}"))
}

enum Found {
    Slice(SlotRef),
    None,
    /// Only a look at all of them can tell.
    Unclear,
}

/// The slice whose key has these values.
fn by_key(view: View, named: &Map<String, Value>) -> Found {
    let is_structure = |v: &Value| v.is_array() || v.is_object();
    let text = |v: &Value| is_structure(v).then(|| v.to_string());
    let texts: Vec<Option<String>> = named.values().map(text).collect();
    let mut key: Vec<(&str, Arg)> = Vec::with_capacity(named.len());
    for ((name, value), text) in named.iter().zip(&texts) {
        let arg = match value {
            Value::Null => Arg::None,
            Value::Bool(b) => Arg::Bool(*b),
            Value::Number(n) => match (n.as_i64(), n.as_u64(), n.as_f64()) {
                (Some(i), ..) => Arg::Int(i),
                (_, Some(u), _) => Arg::UInt(u),
                (.., Some(f)) if f.fract() != 0.0 => Arg::Float(f),
                // An integer beyond 64 bits is text in the key, and JSON's reader has rounded it.
                _ => return Found::Unclear,
            },
            Value::String(t) => Arg::Str(t),
            // An infinity or NaN by its name.
            Value::Object(o) if o.contains_key("$float") => return Found::Unclear,
            _ => Arg::Json(text.as_deref().unwrap_or_default()),
        };
        key.push((name, arg));
    }
    // Texts of the program that are no JSON are strings here.
    let has_text = key
        .iter()
        .any(|(_, a)| matches!(a, Arg::Str(_) | Arg::Json(_)));
    match view.find(&key) {
        Some(r) => Found::Slice(r),
        None if has_text => Found::Unclear,
        None => Found::None,
    }
}

/// Whether these are the slice's bindings.
fn binds(view: View, r: SlotRef, named: &Map<String, Value>) -> bool {
    let bound = view.bindings(r);
    let mut all = bound.iter();
    bound.len() == named.len() && all.all(|(n, v)| named.get(*n).is_some_and(|w| is(*v, w)))
}

/// Whether it is this value in JSON.
fn is(value: Arg, json: &Value) -> bool {
    match (value, json) {
        (Arg::None, json) => json.is_null(),
        (Arg::Bool(b), json) => json.as_bool() == Some(b),
        (Arg::Int(i), json) => json.as_i64() == Some(i),
        (Arg::UInt(u), json) => json.as_u64() == Some(u),
        (Arg::Str(t), json) => json.as_str() == Some(t),
        (value, json) => Json::of_arg(value).for_code() == *json,
    }
}

/// Names of the states that some slice is in.
pub(crate) fn current_states(view: View) -> Vec<String> {
    let property = view.property();
    let states = property.states.iter().enumerate();
    states
        .filter(|(i, _)| view.in_state(StateId(*i as u16)) > 0)
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
    json!([current_states(slices.into())]).to_string()
}

fn bindings(view: View, r: SlotRef) -> Value {
    let Object(bound) = Object::of(&view.bindings(r));
    let named = bound.into_iter().map(|(name, v)| (name, v.for_code()));
    Value::Object(named.collect())
}

/// A value for Python: plain ones as JSON, its own by their handles.
fn cell_value(cell: Cell) -> Option<Value> {
    match cell.tag {
        Tag::Other => Some(json!({ "$handle": cell.bits })),
        _ => Some(Json::of_plain(cell)?.for_code()),
    }
}

/// The same as text for the reader.
fn shown(cell: Cell) -> Option<Value> {
    match cell.tag {
        Tag::Other => cell_value(cell),
        _ => Some(json!(Json::of_plain(cell)?.to_string())),
    }
}

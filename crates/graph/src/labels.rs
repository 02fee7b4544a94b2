//! What stands on the edges and in the nodes of a picture.

use std::collections::HashMap;
use verde_property::{BlockId, Property, StateId, Tier, Transition};

/// All transitions between two states, drawn as one edge.
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub labels: Vec<Label>,
}

/// One outcome of one transition.
pub struct Label {
    /// The transitions that it stands for, by their place in their state and whether they
    /// succeed.
    pub of: Vec<(usize, bool)>,
    /// `after fopen(ret as file)`.
    pub event: String,
    /// `[N < maxSize]`, `[not N < maxSize]`.
    pub guard: Option<String>,
    /// Code, then the action's call.
    pub code: Vec<String>,
    /// All of it, however long.
    pub full: String,
}

impl Label {
    fn reads_as(&self, other: &Label) -> bool {
        self.full == other.full
    }

    pub fn lines(&self) -> impl Iterator<Item = (Part, &str)> {
        std::iter::once((Part::Event, self.event.as_str()))
            .chain(self.guard.as_deref().map(|g| (Part::Guard, g)))
            .chain(self.code.iter().map(|c| (Part::Code, c.as_str())))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Event,
    Guard,
    Code,
}

/// Longest line of a label, in characters.
const WIDTH: usize = 56;
/// Most transitions written on one edge.
const LABELS: usize = 100;
/// Most lines of code in a label.
const LINES: usize = 3;

pub fn edges(p: &Property) -> Vec<Edge> {
    let mut edges: Vec<Edge> = Vec::new();
    let mut known: HashMap<(usize, usize), usize> = HashMap::new();
    for (from, s) in p.states.iter().enumerate() {
        for (place, t) in s.transitions.iter().enumerate() {
            for (success, outcome) in [(true, &t.success), (false, &t.failure)] {
                let Some(o) = outcome else { continue };
                let guard = guard(p, t, success);
                let code = o.block.map(|b| code(p, b)).unwrap_or_default();
                let action = o.action.as_ref().map(|a| format!("{a}()"));
                let full = std::iter::once(t.label.as_str())
                    .chain(guard.as_deref())
                    .chain(code.iter().copied())
                    .chain(action.as_deref());
                let label = Label {
                    of: vec![(place, success)],
                    full: full.collect::<Vec<_>>().join("\n"),
                    event: cut(&t.label),
                    guard: guard.as_deref().map(cut),
                    code: shortened(&code).into_iter().chain(action).collect(),
                };
                let to = o.to.index();
                let at = *known.entry((from, to)).or_insert_with(|| {
                    edges.push(Edge {
                        from,
                        to,
                        labels: Vec::new(),
                    });
                    edges.len() - 1
                });
                // A state that is defined twice repeats its transitions.
                let labels = &mut edges[at].labels;
                match labels.iter().position(|l| l.reads_as(&label)) {
                    Some(same) => labels[same].of.extend(label.of),
                    None if labels.len() < LABELS => labels.push(label),
                    None => {}
                }
            }
        }
    }
    edges
}

/// The guard as a condition when it is one `return`, else its first lines.
fn guard(p: &Property, t: &Transition, success: bool) -> Option<String> {
    let block = p.block(t.guard?);
    if matches!(block.tier, Tier::Empty) {
        return None;
    }
    let text = block.python.text.trim();
    let shown = match text
        .strip_prefix("return ")
        .filter(|r| !r.contains(['\n', ';']))
    {
        Some(condition) if success => condition.trim().to_string(),
        Some(condition) => negate(condition.trim()),
        None if !block.has_return => {
            let lines: Vec<&str> = text.split('\n').map(str::trim).collect();
            return Some(lines.join("; "));
        }
        None => {
            let lines: Vec<&str> = text.split('\n').map(str::trim).collect();
            let outcome = if success { "" } else { "not: " };
            format!("{outcome}{}", lines.join("; "))
        }
    };
    Some(format!("[{shown}]"))
}

fn negate(condition: &str) -> String {
    let simple = condition
        .chars()
        .all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    if simple {
        format!("not {condition}")
    } else {
        format!("not ({condition})")
    }
}

fn code(p: &Property, id: BlockId) -> Vec<&str> {
    let lines = p.block(id).python.text.split(['\n', ';']);
    let lines = lines.map(str::trim);
    lines
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .collect()
}

/// The first lines of a block.
fn shortened(lines: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = lines.iter().take(LINES).map(|l| cut(l)).collect();
    if lines.len() > LINES {
        out.push("…".into());
    }
    out
}

fn cut(text: &str) -> String {
    if text.chars().count() <= WIDTH {
        return text.to_string();
    }
    text.chars().take(WIDTH - 1).chain(['…']).collect()
}

/// The lines in a node: its name, its action, `final`.
pub fn node(p: &Property, state: StateId) -> Vec<String> {
    let s = p.state(state);
    let mut lines = vec![cut(&s.name)];
    if let Some(a) = &s.action {
        lines.push(cut(&format!("{a}()")));
    }
    if s.is_final {
        lines.push("final".into());
    }
    lines
}

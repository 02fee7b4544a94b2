//! What is known of watching a datum before it is watched: whether it is in memory at all, and
//! whether the CPU will do it.

use super::super::Debugger;
use super::super::here::Here;
use super::Irv;
use super::alphabet::Source;
use super::bind::{Note, inner_scope};
use super::data::{Locals, inner_blocks};
use super::remains::Blank;
use verde_engine::TrapId;
use verde_expr::{FrameScope, Loaded, Node, compile};
use verde_property::{Kind, canonical_name};
use verde_symbols::FileAddr;

/// Said of a datum that no trap can be set for.
pub(super) const NOT_IN_MEMORY: &str = "it is not in memory here, and cannot be watched";

/// What the CPU can watch at once: so many times so many bytes.
const SLOTS: u64 = 4;
const SLOT_BYTES: u64 = 8;

/// A datum as one function sees it, or as all do.
pub(super) struct Seen {
    node: Node,
    scope: Option<FrameScope>,
}

impl Seen {
    pub fn by_all(node: Node) -> Seen {
        Seen { node, scope: None }
    }
}

impl Debugger {
    /// A local of a function as it is when the function has begun, or one of its inner blocks.
    pub(super) fn seen_in(
        &mut self,
        loaded: &Loaded,
        begun: FileAddr,
        locals: &Locals,
    ) -> Option<Seen> {
        let outer = inner_scope(&loaded.module, loaded.bias, begun);
        let inner = inner_blocks(&outer, locals);
        [outer].into_iter().chain(inner).find_map(|scope| {
            let here = Here::of_property(&self.images, Some(scope.clone()), &mut self.memo);
            let node = compile(locals.text(), &here).ok()?;
            let scope = Some(scope);
            node.needs_frame().then_some(Seen { node, scope })
        })
    }

    /// Says of a datum that it cannot be watched, and how much of the CPU it needs.
    pub(super) fn note_watching(&self, source: &mut Source, all: &[Seen], notes: &mut Vec<Note>) {
        let ranges = |seen: &Seen| {
            let mut blank = Blank::new(seen.scope.as_ref(), &self.images, None);
            verde_expr::reads(&seen.node, &mut blank).memory
        };
        let ranges: Vec<Vec<(u64, u64)>> = all.iter().map(ranges).collect();
        let nowhere = ranges.iter().filter(|r| r.is_empty()).count();
        // Nothing of it will be seen, unless it turns out to be in memory.
        source.is_blind |= nowhere > 0 && nowhere == all.len();
        let title = source.title();
        let text = match (nowhere, all.len()) {
            (0, _) => None,
            (_, 1) => Some(format!("event {title}: {NOT_IN_MEMORY}")),
            (some, of) => Some(format!(
                "event {title}: in {some} of {of} functions it is not in memory, and cannot be watched"
            )),
        };
        notes.extend(text.map(|text| Note {
            text,
            is_error: false,
        }));
        let slots = |r: &Vec<(u64, u64)>| r.iter().map(|(_, len)| len.div_ceil(SLOT_BYTES)).sum();
        source.slots = ranges.iter().map(slots).max().unwrap_or(0);
    }

    /// A trap for a datum is set: the report says if the kernel's stores are not seen.
    pub(super) fn note_kernel(&mut self, irv: &mut Irv, index: usize, id: TrapId) {
        let process = self.live.as_ref().map(|l| &l.process);
        let by_cpu = process.and_then(|p| p.watch_in_hardware(id)) == Some(true);
        if by_cpu && tells_stores(&irv.alphabet.sources[index]) {
            self.say_kernel(irv, index);
        }
    }

    /// At the prompt that is said when the property is loaded, though nothing runs yet.
    pub(super) fn foretell_kernel(&mut self, irv: &mut Irv) {
        if matches!(irv.output, super::Output::Prompt) {
            for index in irv.by_cpu() {
                self.say_kernel(irv, index);
            }
        }
    }

    fn say_kernel(&mut self, irv: &mut Irv, index: usize) {
        let text = kernel_text(&irv.alphabet.sources[index]);
        if irv.once(&text) {
            irv.output.note(&mut self.out, &text);
        }
    }
}

impl Irv {
    /// The data whose stores the CPU will watch for, if all are watched at once: what needs more
    /// than is left of it is on pages, where the kernel's are seen.
    pub(super) fn by_cpu(&self) -> Vec<usize> {
        let mut left = SLOTS;
        let mut known: Vec<String> = Vec::new();
        let mut out = Vec::new();
        let sources = self.alphabet.sources.iter().enumerate();
        for (index, source) in sources.filter(|(_, s)| s.slots > 0 && !s.users.is_empty()) {
            let name = canonical_name(&source.name);
            if !known.contains(&name) {
                let Some(rest) = left.checked_sub(source.slots) else {
                    continue;
                };
                left = rest;
                known.push(name);
            }
            if tells_stores(source) {
                out.push(index);
            }
        }
        out
    }
}

fn tells_stores(source: &Source) -> bool {
    matches!(source.kind, Kind::Write | Kind::Update)
}

/// What the CPU does not see.
pub(super) fn kernel_text(source: &Source) -> String {
    format!(
        "event {}: the CPU watches it, which does not see what the kernel stores there for a system call (`read` into it)",
        source.title()
    )
}

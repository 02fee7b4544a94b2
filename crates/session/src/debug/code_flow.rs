//! How control passes through the instructions of one function.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::BTreeSet;
use verde_symbols::{FileAddr, Function, Module};

/// Larger functions are not looked through.
const MOST_BYTES: u64 = 1 << 20;
/// Jumps back times instructions of a function whose loops are looked through.
const MOST_IN_LOOPS: usize = 1 << 22;
/// Places that one jump may lead to by a table.
const MOST_CASES: u64 = 4096;
/// Instructions before a jump among which its table is named.
const BEFORE_JUMP: usize = 24;

/// A loop of a function.
pub(super) struct Loop {
    pub header: usize,
    /// The jumps back to the header.
    pub latches: Vec<usize>,
    /// Which instructions belong to it.
    body: BTreeSet<usize>,
}

impl Loop {
    pub fn contains(&self, at: usize) -> bool {
        self.body.contains(&at)
    }

    pub fn body(&self) -> impl Iterator<Item = usize> {
        self.body.iter().copied()
    }
}

/// The instructions of a function by number, in the order of their addresses.
pub(super) struct Flow {
    at: Vec<u64>,
    next: Vec<Vec<usize>>,
    /// Which instructions do nothing.
    padding: Vec<bool>,
    /// Where nothing that is known leads to: exceptions may.
    pub unled: Vec<usize>,
    pub entry: usize,
    /// The jumps back.
    back: BTreeSet<(usize, usize)>,
}

impl Flow {
    pub fn of(module: &Module, function: &Function) -> Option<Flow> {
        let size = |r: &(FileAddr, FileAddr)| r.1.0.saturating_sub(r.0.0);
        let whole = function.ranges.iter().map(size);
        if whole.fold(0, u64::saturating_add) > MOST_BYTES {
            return None;
        }
        let mut code: Vec<Instruction> = Vec::new();
        for (from, to) in &function.ranges {
            let length = usize::try_from(to.0.saturating_sub(from.0)).ok()?;
            let bytes = module.bytes_at(*from, length)?;
            code.extend(Decoder::with_ip(64, bytes, from.0, DecoderOptions::NONE));
        }
        code.sort_by_key(Instruction::ip);
        let at: Vec<u64> = code.iter().map(Instruction::ip).collect();
        let entry = at.binary_search(&function.entry.0).ok()?;
        let tables = Tables {
            module,
            code: &code,
            at: &at,
        };
        let next: Vec<Vec<usize>> = (0..code.len()).map(|i| tables.after(i)).collect();
        let mut led = vec![false; code.len()];
        led[entry] = true;
        next.iter().flatten().for_each(|&to| led[to] = true);
        let is_padding = |i: &Instruction| matches!(i.mnemonic(), Mnemonic::Nop | Mnemonic::Int3);
        let padding: Vec<bool> = code.iter().map(is_padding).collect();
        let unled = (0..code.len()).filter(|&i| !led[i] && !padding[i]);
        let unled = unled.collect();
        Some(Flow {
            back: jumps_back(&next, entry),
            at,
            next,
            padding,
            unled,
            entry,
        })
    }

    /// How many instructions there are.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    pub fn address(&self, index: usize) -> u64 {
        self.at[index]
    }

    pub fn number(&self, address: u64) -> Option<usize> {
        self.at.binary_search(&address).ok()
    }

    /// The instructions with an address in a range.
    pub fn within(&self, ranges: &[(FileAddr, FileAddr)]) -> BTreeSet<usize> {
        let numbers = |(from, to): &(FileAddr, FileAddr)| {
            let first = self.at.partition_point(|a| *a < from.0);
            first..self.at.partition_point(|a| *a < to.0).max(first)
        };
        ranges.iter().flat_map(numbers).collect()
    }

    /// The instructions of `wanted` that control comes to first, from `root` on and only through
    /// what `through` allows. Padding is none of them: a loop behind it does not pass it again.
    pub fn first(
        &self,
        root: usize,
        wanted: &BTreeSet<usize>,
        through: impl Fn(usize) -> bool,
    ) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut seen = vec![false; self.at.len()];
        let mut open = vec![root];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            if wanted.contains(&at) && !self.padding[at] {
                found.insert(at);
                continue;
            }
            open.extend(self.next[at].iter().filter(|to| through(**to)));
        }
        found
    }

    /// Whether one instruction leads to another without a jump back.
    pub fn leads(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.at.len()];
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let ahead = self.next[at]
                .iter()
                .filter(|n| !self.back.contains(&(at, **n)));
            for &next in ahead {
                if next == to {
                    return true;
                }
                open.push(next);
            }
        }
        false
    }

    /// The loops; none of a function that has too many to look through.
    pub fn loops(&self) -> Vec<Loop> {
        let mut all: Vec<Loop> = Vec::new();
        if self.back.len().saturating_mul(self.at.len()) > MOST_IN_LOOPS {
            return all;
        }
        for &(latch, header) in &self.back {
            match all.iter_mut().find(|l| l.header == header) {
                Some(known) => known.latches.push(latch),
                None => all.push(Loop {
                    header,
                    latches: vec![latch],
                    body: BTreeSet::from([header]),
                }),
            }
        }
        let mut before = vec![Vec::new(); self.at.len()];
        for (from, after) in self.next.iter().enumerate() {
            after.iter().for_each(|&to| before[to].push(from));
        }
        for one in &mut all {
            let mut open = one.latches.clone();
            while let Some(at) = open.pop() {
                if one.body.insert(at) {
                    open.extend(&before[at]);
                }
            }
        }
        all
    }
}

/// The steps back to an instruction that is still being looked through, in depth.
fn jumps_back(next: &[Vec<usize>], entry: usize) -> BTreeSet<(usize, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; next.len()];
    let mut out = BTreeSet::new();
    let mut path = vec![(entry, 0)];
    state[entry] = State::Open;
    while let Some((at, done)) = path.last_mut() {
        let from = *at;
        let Some(&to) = next[from].get(*done) else {
            state[from] = State::Done;
            path.pop();
            continue;
        };
        *done += 1;
        match state[to] {
            State::New => {
                state[to] = State::Open;
                path.push((to, 0));
            }
            State::Open => {
                out.insert((from, to));
            }
            State::Done => {}
        }
    }
    out
}

/// What follows an instruction.
struct Tables<'a> {
    module: &'a Module,
    code: &'a [Instruction],
    at: &'a [u64],
}

impl Tables<'_> {
    fn number(&self, address: u64) -> Option<usize> {
        self.at.binary_search(&address).ok()
    }

    fn after(&self, index: usize) -> Vec<usize> {
        let it = &self.code[index];
        let falls = self.number(it.next_ip());
        let target = || self.number(it.near_branch_target());
        match it.flow_control() {
            FlowControl::Return | FlowControl::Exception => Vec::new(),
            FlowControl::UnconditionalBranch => target().into_iter().collect(),
            FlowControl::ConditionalBranch => falls.into_iter().chain(target()).collect(),
            FlowControl::IndirectBranch => self.cases(index),
            _ => falls.into_iter().collect(),
        }
    }

    /// Where a jump by a table leads.
    fn cases(&self, index: usize) -> Vec<usize> {
        let jump = &self.code[index];
        if jump.op0_kind() == OpKind::Memory && jump.memory_base() == Register::None {
            let table = jump.memory_displacement64();
            let entry = |i: u64| self.word(table.wrapping_add(i * 8), 8);
            return self.all_of(entry);
        }
        let near = &self.code[index.saturating_sub(BEFORE_JUMP)..index];
        let named = near.iter().rev().chain(self.code).filter_map(table_named);
        let mut tables = named.map(|table| {
            let entry = |i: u64| {
                let shift = self.word(table.wrapping_add(i * 4), 4)?;
                Some(table.wrapping_add_signed(i64::from(shift as u32 as i32)))
            };
            self.all_of(entry)
        });
        tables.find(|t| !t.is_empty()).unwrap_or_default()
    }

    fn all_of(&self, entry: impl Fn(u64) -> Option<u64>) -> Vec<usize> {
        let places = (0..MOST_CASES).map_while(|i| self.number(entry(i)?));
        let places: BTreeSet<usize> = places.collect();
        places.into_iter().collect()
    }

    fn word(&self, address: u64, size: usize) -> Option<u64> {
        let bytes = self.module.bytes_at(FileAddr(address), size)?;
        let mut word = [0; 8];
        word.get_mut(..size)?.copy_from_slice(bytes.get(..size)?);
        Some(u64::from_le_bytes(word))
    }
}

/// The address that an instruction loads, which may be a table's.
fn table_named(it: &Instruction) -> Option<u64> {
    let loads = it.mnemonic() == Mnemonic::Lea && it.is_ip_rel_memory_operand();
    loads.then(|| it.ip_rel_memory_address())
}

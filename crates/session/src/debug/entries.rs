//! Where inlined calls are entered.
//!
//! GCC says it. LLVM gives the code of a call alone, which may begin with padding that never runs,
//! and whose lowest address may be a part that was put far away. So the first instructions of a
//! call are those that control comes to first. A loop that the compiler has turned over, split or
//! put twice has the call's code several times: the copies begin with the same line.

use super::code_flow::{Flow, Loop};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use verde_symbols::{DieId, FileAddr, Function, FunctionQuery, InlinedCall, Module};

/// Answers that are kept.
const MOST_KNOWN: usize = 32;
/// Calls times instructions of a function around them that are looked through for one answer.
const MOST_LOOKED_AT: usize = 1 << 22;

/// Where the calls of functions are entered, as found until now: breakpoints are placed again
/// whenever a library comes.
#[derive(Default)]
pub(super) struct Entries {
    known: RefCell<VecDeque<Known>>,
}

struct Known {
    module: Arc<Module>,
    name: String,
    places: Vec<FileAddr>,
}

impl Entries {
    /// The places to stop at for all the calls of the function of a name that were inlined,
    /// ascending.
    pub fn of(&self, module: &Arc<Module>, name: &str, query: &FunctionQuery) -> Vec<FileAddr> {
        let mut known = self.known.borrow_mut();
        let is_it = |k: &&Known| k.name == name && Arc::ptr_eq(&k.module, module);
        if let Some(found) = known.iter().find(is_it) {
            return found.places.clone();
        }
        let places = entries(module, &module.inlined_calls(query));
        if known.len() == MOST_KNOWN {
            known.pop_front();
        }
        known.push_back(Known {
            module: module.clone(),
            name: name.to_owned(),
            places: places.clone(),
        });
        places
    }
}

fn entries(module: &Module, calls: &[InlinedCall]) -> Vec<FileAddr> {
    let mut around: BTreeMap<Option<DieId>, (Option<Function>, Vec<&InlinedCall>)> =
        BTreeMap::new();
    for call in calls {
        let first = call.ranges.first().map_or(call.entry, |r| r.0);
        let function = module.function_at(first);
        let key = function.as_ref().and_then(|f| f.die);
        let (_, inside) = around.entry(key).or_insert((function, Vec::new()));
        inside.push(call);
    }
    let mut out = BTreeSet::new();
    for (function, calls) in around.into_values() {
        let flow = function.and_then(|f| Flow::of(module, &f));
        let few = |f: &Flow| f.len().saturating_mul(calls.len()) <= MOST_LOOKED_AT;
        match flow.filter(few) {
            Some(flow) => out.extend(Around::new(module, flow).entries(&calls)),
            None => out.extend(calls.iter().map(|c| c.entry)),
        }
    }
    out.into_iter().collect()
}

/// A function that calls were inlined into.
struct Around<'a> {
    module: &'a Module,
    flow: Flow,
    loops: Vec<Loop>,
}

impl<'a> Around<'a> {
    fn new(module: &'a Module, flow: Flow) -> Around<'a> {
        Around {
            module,
            loops: flow.loops(),
            flow,
        }
    }

    fn entries(&self, calls: &[&InlinedCall]) -> BTreeSet<FileAddr> {
        let mut each: Vec<BTreeSet<usize>> = calls.iter().map(|c| self.of_call(c)).collect();
        // Nothing of it runs that is known: where the debug information begins is the best guess.
        let lost = calls.iter().zip(&each).filter(|(_, e)| e.is_empty());
        let mut out: BTreeSet<FileAddr> = lost.map(|(c, _)| c.entry).collect();
        self.join_merged(calls, &mut each);
        let known = each.iter().flatten();
        out.extend(known.map(|i| FileAddr(self.flow.address(*i))));
        out
    }

    fn of_call(&self, call: &InlinedCall) -> BTreeSet<usize> {
        let own = self.flow.within(&call.ranges);
        let stated = self
            .flow
            .number(call.entry.0)
            .filter(|_| call.is_entry_stated);
        let reached = self.flow.first(self.flow.entry, &own, |_| true);
        let mut found = match stated {
            Some(stated) => {
                let alone = BTreeSet::from([stated]);
                let alike = reached
                    .into_iter()
                    .filter(|i| self.begins_alike(*i, &alone));
                // What leads to it are parts that were moved ahead.
                let copies = alike.filter(|i| !self.flow.leads(*i, stated));
                self.apart([stated].into_iter().chain(copies))
            }
            None if reached.is_empty() => {
                let roots = self.flow.unled.iter();
                let first = roots.flat_map(|r| self.flow.first(*r, &own, |_| true));
                self.apart(first.collect::<BTreeSet<usize>>())
            }
            None => self.apart(reached),
        };
        let copies = self.copies(&own, &found);
        found.extend(copies);
        found
    }

    /// Entries of loops of the caller that have the call's code another time.
    fn copies(&self, own: &BTreeSet<usize>, found: &BTreeSet<usize>) -> Vec<usize> {
        let is_callers = |l: &&Loop| {
            l.latches.iter().any(|i| !own.contains(i))
                && l.body().any(|i| own.contains(&i))
                && !l.body().any(|i| found.contains(&i))
        };
        let around = self.loops.iter().filter(is_callers);
        let starts = around.flat_map(|l| {
            let inside = |to: usize| to != l.header && l.contains(to);
            self.flow.first(l.header, own, inside)
        });
        starts.filter(|i| self.begins_alike(*i, found)).collect()
    }

    /// Whether a statement begins with an instruction, of a line in which one of the others is.
    fn begins_alike(&self, index: usize, others: &BTreeSet<usize>) -> bool {
        let line = |i: usize| self.module.line_at(FileAddr(self.flow.address(i)));
        let Some(own) = line(index) else {
            return false;
        };
        let begins = own.is_stmt && own.begin == self.flow.address(index);
        let same = |i: &usize| line(*i).is_some_and(|l| l.line == own.line && l.file == own.file);
        begins && others.iter().any(same)
    }

    /// Those that none before leads to: what comes later belongs to the same call.
    fn apart(&self, places: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut kept: BTreeSet<usize> = BTreeSet::new();
        for place in places {
            if !kept.iter().any(|k| self.flow.leads(*k, place)) {
                kept.insert(place);
            }
        }
        kept
    }

    /// What calls have in common may be done once, ahead of them, as a call of its own: of those
    /// only the first to come counts.
    fn join_merged(&self, calls: &[&InlinedCall], each: &mut [BTreeSet<usize>]) {
        for merged in 0..calls.len() {
            if !calls[merged].is_merged || each[merged].is_empty() {
                continue;
            }
            let line = |i: usize| calls[i].called.as_ref().map(|(file, line)| (file, *line));
            let others: Vec<usize> = (0..calls.len())
                .filter(|&i| i != merged && !calls[i].is_merged)
                .filter(|&i| line(i) == line(merged))
                .collect();
            let own = each[merged].clone();
            for &other in &others {
                let both: BTreeSet<usize> = own.union(&each[other]).copied().collect();
                let first = self.flow.first(self.flow.entry, &both, |_| true);
                if first.is_disjoint(&each[other]) {
                    each[other].clear();
                }
            }
        }
    }
}

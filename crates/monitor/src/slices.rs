//! The slices of one property: a table per level of the chain, counters, and
//! the strings of keys.

use crate::cell::{Arg, Cell, Tag};
use crate::groups::{Groups, hash};
use crate::index::Index;
use crate::interner::Interner;
use crate::layout::*;
use crate::plan::{Find, Plan};
use crate::words::Words;
use std::collections::HashMap;
use std::sync::Arc;
use verde_property::{Binding, Mask, Property, SpecId, StateId, Verdict};

/// Most parameters of `slice on`.
const MOST_KEYS: usize = verde_property::limits::SLICE_PARAMETERS;

/// A number that no text has: a slice with an unknown string does not exist.
const UNKNOWN: u64 = u64::MAX;

type Cells = [Cell; MOST_KEYS];

/// A slice. Valid until the slice ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotRef {
    pub level: u8,
    pub slot: u32,
}

/// Values of slice parameters, by their place in `slice on`.
#[derive(Clone, Copy)]
pub struct Key {
    cells: Cells,
}

impl Key {
    pub const EMPTY: Key = Key {
        cells: [Cell::UNSET; MOST_KEYS],
    };

    pub fn cell(&self, param: usize) -> Cell {
        self.cells[param]
    }
}

#[derive(Clone, Debug)]
struct Level {
    mask: Mask,
    layout: Layout,
    stride: usize,
    words: Words,
    /// Slots that were ever used.
    slots: u32,
    /// First free slot plus one.
    free: u32,
    live: usize,
    index: Index,
    groups: Vec<Groups>,
}

impl Level {
    #[inline(always)]
    fn word(&self, slot: u32, word: usize) -> u64 {
        self.words[slot as usize * self.stride + word]
    }

    #[inline(always)]
    fn set(&mut self, slot: u32, word: usize, value: u64) {
        self.words[slot as usize * self.stride + word] = value;
    }

    fn key(&self, slot: u32, i: usize) -> Cell {
        self.layout.cell(self.slot(slot), i)
    }

    #[inline]
    fn slot(&self, slot: u32) -> &[u64] {
        &self.words[slot as usize * self.stride..][..self.stride]
    }

    #[inline]
    fn slot_mut(&mut self, slot: u32) -> &mut [u64] {
        &mut self.words[slot as usize * self.stride..][..self.stride]
    }

    /// The slot with this key.
    #[inline]
    fn find(&self, key: &[Cell]) -> Option<u32> {
        self.index.find(hash(key), |slot| self.same(slot, key))
    }

    #[inline]
    fn same(&self, slot: u32, key: &[Cell]) -> bool {
        let words = self.slot(slot);
        key.iter()
            .enumerate()
            .all(|(i, c)| self.layout.cell(words, i) == *c)
    }

    /// The slot's cells of the parameters in `of`, which is within the level's mask.
    fn part(&self, slot: u32, of: Mask) -> (Cells, usize) {
        let mut out = [Cell::UNSET; MOST_KEYS];
        let mut n = 0;
        for (i, param) in self.mask.iter().enumerate() {
            if of.contains(param) {
                out[n] = self.key(slot, i);
                n += 1;
            }
        }
        (out, n)
    }

    /// Puts the slot, whose key is stored already, into the index.
    fn enlist(&mut self, hash_of_key: u64, slot: u32) {
        let (words, layout, stride) = (&self.words, self.layout, self.stride);
        self.index.insert(hash_of_key, slot, |s| {
            let slot = &words[s as usize * stride..][..stride];
            let mut cells = [Cell::UNSET; MOST_KEYS];
            for (i, c) in cells[..layout.keys].iter_mut().enumerate() {
                *c = layout.cell(slot, i);
            }
            hash(&cells[..layout.keys])
        });
    }

    /// The slot that is taken next.
    fn next(&self) -> u32 {
        match self.free {
            0 => self.slots,
            free => free - 1,
        }
    }

    fn allocate(&mut self) -> u32 {
        let slot = self.next();
        if self.free != 0 {
            self.free = self.word(slot, CREATED) as u32;
        } else {
            self.slots += 1;
            self.words.extend(self.stride);
        }
        slot
    }
}

/// All slices of a property. Readers see it between any two steps of an event.
#[derive(Clone, Debug)]
pub struct Slices {
    property: Arc<Property>,
    plan: Arc<Plan>,
    levels: Vec<Level>,
    /// What code keeps in a slice beside its names ([`Slices::beside`]); few slices have any, so it
    /// takes no room in their slots.
    kept: HashMap<SlotRef, Cell>,
    interner: Interner,
    created: u64,
    ended: u64,
    /// Ended slices that count for the verdict: in non-accepting, in accepting states.
    ended_counted: [u64; 2],
    live_in_state: Vec<u64>,
    /// Live slices that count for the verdict, by their state's verdict.
    counted: [u64; 4],
    /// For each event the number of states with slices that have transitions on it.
    wanted: Vec<u32>,
    /// For each event the number of levels with slices that it can end.
    wanted_ends: Vec<u32>,
    /// Changes whenever the set of enabled events does.
    version: u64,
}

impl Slices {
    pub fn new(property: Arc<Property>, plan: Arc<Plan>) -> Slices {
        let levels = property
            .chain
            .iter()
            .zip(&plan.groups)
            .zip(&plan.layouts)
            .map(|((mask, groups), layout)| Level {
                mask: *mask,
                layout: *layout,
                stride: layout.stride(),
                words: Words::default(),
                slots: 0,
                free: 0,
                live: 0,
                index: Index::default(),
                groups: groups.iter().map(|g| Groups::new(*g)).collect(),
            })
            .collect();
        Slices {
            levels,
            kept: HashMap::new(),
            interner: Interner::default(),
            created: 0,
            ended: 0,
            ended_counted: [0; 2],
            live_in_state: vec![0; property.states.len()],
            counted: [0; 4],
            wanted: vec![0; property.events.len()],
            wanted_ends: vec![0; property.events.len()],
            version: 0,
            property,
            plan,
        }
    }

    pub fn property(&self) -> &Arc<Property> {
        &self.property
    }

    // ---- reading

    #[inline]
    fn level(&self, r: SlotRef) -> &Level {
        &self.levels[r.level as usize]
    }

    #[inline]
    pub fn state(&self, r: SlotRef) -> StateId {
        StateId(self.level(r).word(r.slot, META) as u16)
    }

    pub fn is_live(&self, r: SlotRef) -> bool {
        let l = self.level(r);
        r.slot < l.slots && l.word(r.slot, META) & LIVE != 0
    }

    /// Slices are numbered in the order of their creation.
    pub fn created(&self, r: SlotRef) -> u64 {
        self.level(r).word(r.slot, CREATED)
    }

    /// Where the next slice of a level will be.
    pub(crate) fn next(&self, level: u8) -> SlotRef {
        let slot = self.levels[level as usize].next();
        SlotRef { level, slot }
    }

    /// The number of the next slice.
    pub(crate) fn next_created(&self) -> u64 {
        self.created
    }

    pub fn history(&self, r: SlotRef) -> u64 {
        self.level(r).word(r.slot, HISTORY)
    }

    /// The cell of an environment that comes after the property's names: one value, for all that code
    /// keeps in the slice under other names. It lives, is copied and ends as they do.
    pub fn beside(&self) -> usize {
        self.property.env.len()
    }

    pub fn env(&self, r: SlotRef, i: usize) -> Cell {
        if i == self.beside() {
            return self.kept.get(&r).copied().unwrap_or(Cell::UNSET);
        }
        let l = self.level(r);
        l.layout.cell(l.slot(r.slot), l.layout.keys + i)
    }

    /// Adds the whole environment to `out`, the cell beside the names included.
    pub fn load_env(&self, r: SlotRef, out: &mut Vec<Cell>) {
        let l = self.level(r);
        let words = l.slot(r.slot);
        out.extend((l.layout.keys..l.layout.cells()).map(|i| l.layout.cell(words, i)));
        out.push(self.env(r, self.beside()));
    }

    /// The parameters that the slice binds.
    pub fn mask(&self, r: SlotRef) -> Mask {
        self.level(r).mask
    }

    /// The parameters that its parent binds; nothing for the root.
    pub fn parent_mask(&self, r: SlotRef) -> Option<Mask> {
        if r.level == 0 {
            return None;
        }
        let level = (self.level(r).word(r.slot, META) >> 16) as u8;
        Some(self.levels[level as usize].mask)
    }

    pub fn key(&self, r: SlotRef) -> Key {
        let l = self.level(r);
        let mut key = Key::EMPTY;
        for (i, param) in l.mask.iter().enumerate() {
            key.cells[param] = l.key(r.slot, i);
        }
        key
    }

    /// A key's value for people and other languages.
    pub fn value(&self, c: Cell) -> Arg<'_> {
        match c.tag {
            Tag::Unset | Tag::None | Tag::Other => Arg::None,
            Tag::Bool => Arg::Bool(c.bits != 0),
            Tag::Int => Arg::Int(c.bits as i64),
            Tag::UInt => Arg::UInt(c.bits),
            Tag::Float => Arg::Float(f64::from_bits(c.bits)),
            Tag::Text => Arg::Str(self.interner.get(c.bits as u32)),
            Tag::Json => Arg::Json(self.interner.get(c.bits as u32)),
        }
    }

    /// The slice's bindings with their names, in the order of `slice on`.
    pub fn bindings(&self, r: SlotRef) -> Vec<(&str, Arg<'_>)> {
        self.named(self.mask(r), &self.key(r))
    }

    pub fn named(&self, mask: Mask, key: &Key) -> Vec<(&str, Arg<'_>)> {
        mask.iter()
            .map(|i| (self.property.slice_on[i].as_str(), self.value(key.cells[i])))
            .collect()
    }

    /// Live slices, from the root down; within a level by their place in memory.
    pub fn iter(&self) -> impl Iterator<Item = SlotRef> + '_ {
        self.levels.iter().enumerate().flat_map(|(level, l)| {
            (0..l.slots)
                .filter(|slot| l.word(*slot, META) & LIVE != 0)
                .map(move |slot| SlotRef {
                    level: level as u8,
                    slot,
                })
        })
    }

    /// Live slices other than the root.
    pub fn live(&self) -> u64 {
        self.levels.iter().skip(1).map(|l| l.live as u64).sum()
    }

    pub fn root(&self) -> Option<SlotRef> {
        let root = SlotRef { level: 0, slot: 0 };
        self.is_live(root).then_some(root)
    }

    /// Slices that ended, the root apart when there is `slice on`.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// Live slices in a state, the root included.
    pub fn in_state(&self, s: StateId) -> u64 {
        self.live_in_state[s.index()]
    }

    /// Whether the slice counts for the property's verdict.
    pub fn counts(&self, r: SlotRef) -> bool {
        r.level as usize + 1 == self.levels.len()
    }

    /// The property's verdict now.
    pub fn verdict(&self) -> Verdict {
        let worst = [
            (Verdict::False, self.ended_counted[0] + self.counted[0]),
            (Verdict::CurrentlyFalse, self.counted[1]),
            (Verdict::CurrentlyTrue, self.counted[2]),
        ];
        for (v, n) in worst {
            if n > 0 {
                return v;
            }
        }
        // New objects may come.
        if self.property.is_sliced() {
            Verdict::CurrentlyTrue
        } else {
            Verdict::True
        }
    }

    /// Whether some slice that counts is definitely false, or ended in a non-accepting state.
    pub fn definitely_false(&self) -> bool {
        self.ended_counted[0] + self.counted[0] > 0
    }

    /// Whether some slice that counts is, or ended, in a non-accepting state.
    pub fn fails(&self) -> bool {
        self.definitely_false() || self.counted[1] > 0
    }

    /// Some slice's state has a transition on the event.
    pub fn has_candidates(&self, e: SpecId) -> bool {
        self.wanted[e.index()] > 0
    }

    /// The event can have an effect: it must be observed.
    pub fn enabled(&self, e: SpecId) -> bool {
        self.wanted[e.index()] + self.wanted_ends[e.index()] > 0
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    /// Memory of all tables, in bytes.
    pub fn bytes(&self) -> usize {
        self.levels
            .iter()
            .map(|l| {
                l.words.bytes()
                    + l.index.bytes()
                    + l.groups.iter().map(Groups::bytes).sum::<usize>()
            })
            .sum()
    }

    // ---- finding

    /// The event's values for the slice parameters that it binds; the missing one otherwise.
    pub fn key_of(&self, b: &Binding, args: &[Option<Arg>], key: &mut Key) -> Result<(), u16> {
        for (param, arg) in b.mask.iter().zip(&b.args) {
            let value = args.get(*arg as usize).copied().flatten().ok_or(*arg)?;
            key.cells[param] = self.key_cell(value);
        }
        Ok(())
    }

    #[inline]
    fn key_cell(&self, a: Arg) -> Cell {
        let known = |id: Option<u32>, tag| Cell {
            bits: id.map_or(UNKNOWN, u64::from),
            tag,
        };
        match a {
            Arg::None => Cell::NONE,
            Arg::Bool(b) => Cell::bool(b),
            Arg::Int(i) => Cell::int(i),
            Arg::UInt(u) => Cell::uint(u),
            // Keys compare as mathematical numbers: 1.0 is 1.
            Arg::Float(f) if f.fract() == 0.0 && f.abs() < 9.0e15 => Cell::int(f as i64),
            Arg::Float(f) => Cell::float(f),
            Arg::Str(t) => known(self.interner.find(t), Tag::Text),
            Arg::Json(t) => known(self.interner.find_structure(t), Tag::Json),
        }
    }

    /// An argument as the key of a slice has it.
    pub(crate) fn as_key<'a>(&'a self, a: Arg<'a>) -> Arg<'a> {
        match (self.key_cell(a), a) {
            (c, Arg::Str(_) | Arg::Json(_)) if c.bits == UNKNOWN => a,
            (c, _) => self.value(c),
        }
    }

    /// The slice with these bindings, and no others, in whatever order.
    pub fn find_named(&self, bindings: &[(&str, Arg)]) -> Option<SlotRef> {
        let (mut key, mut mask) = (Key::EMPTY, Mask::EMPTY);
        for (name, value) in bindings {
            let param = self.property.slice_on.iter().position(|n| n == name)?;
            key.cells[param] = self.key_cell(*value);
            mask = mask.union(Mask::one(param));
        }
        let level = self.levels.iter().position(|l| l.mask == mask)?;
        self.find_exact(level as u8, &key)
    }

    pub fn find_exact(&self, level: u8, key: &Key) -> Option<SlotRef> {
        let l = &self.levels[level as usize];
        let mut buffer = [Cell::UNSET; MOST_KEYS];
        let slot = l.find(project(l.mask, key, &mut buffer))?;
        Some(SlotRef { level, slot })
    }

    /// The slice of the level whose key the arguments with these numbers are;
    /// the missing one's number when the event lacks one.
    #[inline]
    pub(crate) fn find_bound(
        &self,
        level: u8,
        key: &[u16],
        args: &[Option<Arg>],
    ) -> Result<Option<SlotRef>, u16> {
        let slot = self.with_key(level, key, args, Level::find)?;
        Ok(slot.map(|slot| SlotRef { level, slot }))
    }

    /// The hash of that slice's key.
    #[inline]
    pub(crate) fn hash_bound(
        &self,
        level: u8,
        key: &[u16],
        args: &[Option<Arg>],
    ) -> Result<u64, u16> {
        self.with_key(level, key, args, |_, cells| hash(cells))
    }

    /// Reads what [`Slices::guess`] needs.
    #[inline]
    pub(crate) fn touch(&self, level: u8, hash: u64) -> u64 {
        self.levels[level as usize].index.touch(hash)
    }

    /// The slice that most likely has a key with this hash.
    #[inline]
    pub(crate) fn guess(&self, level: u8, hash: u64) -> Option<SlotRef> {
        let slot = self.levels[level as usize].index.guess(hash)?;
        Some(SlotRef { level, slot })
    }

    #[inline(always)]
    fn with_key<T>(
        &self,
        level: u8,
        key: &[u16],
        args: &[Option<Arg>],
        f: impl FnOnce(&Level, &[Cell]) -> T,
    ) -> Result<T, u16> {
        let cell = |arg: u16| match args.get(arg as usize) {
            Some(Some(value)) => Ok(self.key_cell(*value)),
            _ => Err(arg),
        };
        let l = &self.levels[level as usize];
        // By far the most common, and then there is nothing to loop over.
        if let [arg] = *key {
            return Ok(f(l, &[cell(arg)?]));
        }
        let mut cells = [Cell::UNSET; MOST_KEYS];
        for (c, arg) in cells.iter_mut().zip(key) {
            *c = cell(*arg)?;
        }
        Ok(f(l, &cells[..key.len()]))
    }

    /// The slices of a level that agree with `key`, in creation order.
    pub fn find(&self, level: u8, find: Find, key: &Key, mut found: impl FnMut(SlotRef)) {
        let group = match find {
            Find::Exact => {
                if let Some(r) = self.find_exact(level, key) {
                    found(r);
                }
                return;
            }
            Find::Group(g) => g as usize,
        };
        let l = &self.levels[level as usize];
        let g = &l.groups[group];
        let mut buffer = [Cell::UNSET; MOST_KEYS];
        let cells = project(g.mask, key, &mut buffer);
        let Some(record) = g.find(hash(cells), cells) else {
            return;
        };
        let mut next = g.ends(record).0;
        while next != 0 {
            let slot = next - 1;
            found(SlotRef { level, slot });
            next = (l.word(slot, l.layout.link(group)) >> 32) as u32;
        }
    }

    /// The join of a slice's key with an event's.
    pub fn join(&self, r: SlotRef, bound: Mask, key: &Key) -> Key {
        let mut joined = self.key(r);
        for i in bound.iter() {
            joined.cells[i] = key.cells[i];
        }
        joined
    }

    pub fn level_mask(&self, level: u8) -> Mask {
        self.levels[level as usize].mask
    }

    // ---- changing

    /// Strings of a key that is about to be stored get their numbers.
    pub fn hold_texts(&mut self, key: &mut Key, mask: Mask, b: &Binding, args: &[Option<Arg>]) {
        for (param, arg) in b.mask.iter().zip(&b.args) {
            let id = match args.get(*arg as usize).copied().flatten() {
                Some(Arg::Str(t)) => self.interner.hold(t),
                Some(Arg::Json(t)) => self.interner.hold_structure(t),
                _ => continue,
            };
            key.cells[param].bits = u64::from(id);
        }
        // What the parent already bound is held once more.
        for param in mask.iter().filter(|p| !b.mask.contains(*p)) {
            let c = key.cells[param];
            if matches!(c.tag, Tag::Text | Tag::Json) {
                self.interner.hold_again(c.bits as u32);
            }
        }
    }

    /// `env`: as [`Slices::load_env`] gives it.
    pub fn create(
        &mut self,
        level: u8,
        key: &Key,
        state: StateId,
        parent: u8,
        env: &[Cell],
        history: u64,
    ) -> SlotRef {
        let beside = self.beside();
        let l = &mut self.levels[level as usize];
        let slot = l.allocate();
        let meta = state.0 as u64 | (parent as u64) << 16 | LIVE;
        l.set(slot, META, meta);
        l.set(slot, CREATED, self.created);
        l.set(slot, HISTORY, history);
        self.created += 1;
        let mut buffer = [Cell::UNSET; MOST_KEYS];
        let cells = project(l.mask, key, &mut buffer);
        let layout = l.layout;
        let words = l.slot_mut(slot);
        for (i, c) in cells.iter().chain(&env[..beside]).enumerate() {
            layout.set_cell(words, i, *c);
        }
        l.enlist(hash(cells), slot);
        for g in 0..l.groups.len() {
            link(l, g, slot);
        }
        l.live += 1;
        if l.live == 1 {
            for e in &self.plan.level_ends[level as usize] {
                self.wanted_ends[e.index()] += 1;
                self.version += 1;
            }
        }
        self.enter(state, level as usize + 1 == self.levels.len());
        let r = SlotRef { level, slot };
        self.keep(r, env[beside]);
        r
    }

    /// Takes the slice out of every table. Its environment's references are the caller's to release.
    pub fn remove(&mut self, r: SlotRef) {
        self.keep(r, Cell::UNSET);
        let state = self.state(r);
        let counts = self.counts(r);
        self.leave(state, counts);
        let accepting = self.property.state(state).accepting;
        if counts {
            self.ended_counted[accepting as usize] += 1;
        }
        if r.level > 0 || !self.property.is_sliced() {
            self.ended += 1;
        }
        let l = &mut self.levels[r.level as usize];
        let (cells, n) = l.part(r.slot, l.mask);
        l.index.remove(hash(&cells[..n]), r.slot);
        for g in 0..l.groups.len() {
            unlink(l, g, r.slot);
        }
        for c in &cells[..n] {
            if matches!(c.tag, Tag::Text | Tag::Json) {
                self.interner.drop_one(c.bits as u32);
            }
        }
        l.set(r.slot, META, 0);
        l.set(r.slot, CREATED, l.free as u64);
        l.free = r.slot + 1;
        l.live -= 1;
        if l.live == 0 {
            for e in &self.plan.level_ends[r.level as usize] {
                self.wanted_ends[e.index()] -= 1;
                self.version += 1;
            }
        }
    }

    pub fn set_state(&mut self, r: SlotRef, to: StateId) {
        let from = self.state(r);
        if from == to {
            return;
        }
        let counts = self.counts(r);
        self.leave(from, counts);
        self.enter(to, counts);
        let l = &mut self.levels[r.level as usize];
        let meta = l.word(r.slot, META) & !0xffff | to.0 as u64;
        l.set(r.slot, META, meta);
    }

    pub fn set_env(&mut self, r: SlotRef, i: usize, c: Cell) {
        if i == self.beside() {
            return self.keep(r, c);
        }
        let l = &mut self.levels[r.level as usize];
        l.layout.env(i).set(l.slot_mut(r.slot), c);
    }

    fn keep(&mut self, r: SlotRef, c: Cell) {
        if c != Cell::UNSET {
            self.kept.insert(r, c);
        } else if !self.kept.is_empty() {
            self.kept.remove(&r);
        }
    }

    /// The words of the slice's slot.
    #[inline]
    pub(crate) fn slot_mut(&mut self, r: SlotRef) -> &mut [u64] {
        self.levels[r.level as usize].slot_mut(r.slot)
    }

    pub fn set_history(&mut self, r: SlotRef, at: u64) {
        self.levels[r.level as usize].set(r.slot, HISTORY, at);
    }

    /// True the first time it is called for a slice, and after `forget_reported`.
    pub fn mark_reported(&mut self, r: SlotRef) -> bool {
        let l = &mut self.levels[r.level as usize];
        let meta = l.word(r.slot, META);
        l.set(r.slot, META, meta | REPORTED);
        meta & REPORTED == 0
    }

    /// The next violation of the slice is another one.
    pub fn forget_reported(&mut self, r: SlotRef) {
        let l = &mut self.levels[r.level as usize];
        let meta = l.word(r.slot, META);
        l.set(r.slot, META, meta & !REPORTED);
    }

    fn enter(&mut self, s: StateId, counts: bool) {
        if counts {
            self.counted[self.property.state(s).verdict as usize] += 1;
        }
        let n = &mut self.live_in_state[s.index()];
        *n += 1;
        if *n == 1 {
            self.version += 1;
            for e in self.plan.events_of(s) {
                self.wanted[e.index()] += 1;
            }
        }
    }

    fn leave(&mut self, s: StateId, counts: bool) {
        if counts {
            self.counted[self.property.state(s).verdict as usize] -= 1;
        }
        let n = &mut self.live_in_state[s.index()];
        *n -= 1;
        if *n == 0 {
            self.version += 1;
            for e in self.plan.events_of(s) {
                self.wanted[e.index()] -= 1;
            }
        }
    }
}

/// The cells of a mask's parameters, side by side.
fn project<'k>(mask: Mask, key: &'k Key, buffer: &'k mut Cells) -> &'k [Cell] {
    let n = mask.len();
    // The first parameters already are.
    if mask.0 & (mask.0 + 1) == 0 {
        return &key.cells[..n];
    }
    for (k, i) in mask.iter().enumerate() {
        buffer[k] = key.cells[i];
    }
    &buffer[..n]
}

/// Appends the slot to its group's list.
fn link(l: &mut Level, group: usize, slot: u32) {
    let (cells, n) = l.part(slot, l.groups[group].mask);
    let h = hash(&cells[..n]);
    let g = &mut l.groups[group];
    let record = match g.find(h, &cells[..n]) {
        Some(r) => r,
        None => g.make(h, &cells[..n]),
    };
    let (first, last) = g.ends(record);
    g.set_ends(record, if first == 0 { slot + 1 } else { first }, slot + 1);
    let word = l.layout.link(group);
    l.set(slot, word, last as u64);
    if last != 0 {
        let w = l.word(last - 1, word) & 0xffff_ffff;
        l.set(last - 1, word, w | ((slot + 1) as u64) << 32);
    }
}

fn unlink(l: &mut Level, group: usize, slot: u32) {
    let (cells, n) = l.part(slot, l.groups[group].mask);
    let h = hash(&cells[..n]);
    let Some(record) = l.groups[group].find(h, &cells[..n]) else {
        return;
    };
    let word = l.layout.link(group);
    let w = l.word(slot, word);
    let (prev, next) = (w as u32, (w >> 32) as u32);
    let (mut first, mut last) = l.groups[group].ends(record);
    if prev != 0 {
        let p = l.word(prev - 1, word) & 0xffff_ffff;
        l.set(prev - 1, word, p | (next as u64) << 32);
    } else {
        first = next;
    }
    if next != 0 {
        let q = l.word(next - 1, word) & !0xffff_ffff;
        l.set(next - 1, word, q | prev as u64);
    } else {
        last = prev;
    }
    if first == 0 {
        l.groups[group].drop_record(h, record);
    } else {
        l.groups[group].set_ends(record, first, last);
    }
}

//! Typed blocks as flat code, which runs on a slice in its slot: no copy of the
//! environment and no walk over a tree. What nearly every block does is to
//! compare and count whole numbers; that takes a few instructions here, and any
//! other plain value is left to [`crate::num`].
//!
//! Flat code is a short cut and never the last word. A block that prints has
//! none, and code that meets a value of Python's, a number of more than 64 bits
//! or an error gives up with nothing changed, for [`crate::interp`] to find out
//! from the beginning what is to be done.

mod compile;
mod quick;

use crate::cell::{Arg, Cell, Tag};
use crate::host::Truth;
use crate::layout::Place;
use crate::num::{self, Num};
use quick::Quick;
use verde_property::ir::{BinOp, CmpOp};

/// Most values that wait for the rest of their expression.
const TEMPORARIES: usize = 4;

#[derive(Clone, Copy, Debug)]
enum From {
    Int(i64),
    /// Any other constant, by its number.
    Const(u16),
    Env(Place),
    /// A parameter of the event.
    Arg(u16),
    Temporary(u8),
}

#[derive(Clone, Copy, Debug)]
enum To {
    Env(Place),
    Temporary(u8),
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Copy(From, To),
    Add(From, From, To),
    Subtract(From, From, To),
    Binary(BinOp, From, From, To),
    Negate(From, To),
    Invert(From, To),
    /// Goes on at another place unless the comparison holds.
    UnlessHolds(CmpOp, From, From, u16),
    /// Goes on at another place when the truth of the value is the given one.
    When(bool, From, u16),
    WhenNone(bool, From, u16),
    Jump(u16),
    Return(Truth),
    /// Returns the value's truth; of `None` none.
    ReturnTruth(From),
}

/// A block's code. Jumps lead forward only.
#[derive(Clone, Debug)]
pub struct Flat {
    ops: Box<[Op]>,
    consts: Box<[Cell]>,
    /// All of it at once, for whole numbers.
    quick: Option<Quick>,
    /// It can give up after it has stored something.
    hesitates: bool,
    stores: bool,
}

/// What was overwritten, to be taken back from the end to the beginning.
pub type Undo = Vec<(Place, Cell)>;

pub fn roll_back(slot: &mut [u64], undo: &mut Undo) {
    for (place, old) in undo.drain(..).rev() {
        place.set(slot, old);
    }
}

impl Flat {
    /// Whether it stores anything.
    pub fn stores(&self) -> bool {
        self.stores
    }

    /// Runs on a slot. `None`: it gave up, and what it stored is in `undo`.
    /// With `keep` all that it stores is there.
    #[inline]
    pub fn run(
        &self,
        args: &[Option<Arg>],
        slot: &mut [u64],
        undo: &mut Undo,
        keep: bool,
    ) -> Option<Truth> {
        if let Some(quick) = &self.quick
            && !keep
            && let Some(truth) = quick.run(args, slot)
        {
            return Some(truth);
        }
        self.run_ops(args, slot, undo, keep)
    }

    #[inline(never)]
    fn run_ops(
        &self,
        args: &[Option<Arg>],
        slot: &mut [u64],
        undo: &mut Undo,
        keep: bool,
    ) -> Option<Truth> {
        let mut m = Machine {
            args,
            consts: &self.consts,
            slot,
            undo,
            keep: keep | self.hesitates,
            temporaries: [Cell::NONE; TEMPORARIES],
        };
        let mut at = 0;
        while let Some(op) = self.ops.get(at) {
            at += 1;
            match *op {
                Op::Add(l, r, to) => {
                    let quick = m.pair(l, r).and_then(|(l, r)| l.checked_add(r));
                    match quick {
                        Some(v) => m.put(to, Cell::int(v))?,
                        None => m.binary(BinOp::Add, l, r, to)?,
                    }
                }
                Op::Subtract(l, r, to) => {
                    let quick = m.pair(l, r).and_then(|(l, r)| l.checked_sub(r));
                    match quick {
                        Some(v) => m.put(to, Cell::int(v))?,
                        None => m.binary(BinOp::Sub, l, r, to)?,
                    }
                }
                Op::UnlessHolds(op, l, r, to) => {
                    let holds = match m.pair(l, r) {
                        Some((l, r)) => num::holds(op, l.cmp(&r)),
                        None => m.compare(op, l, r)?,
                    };
                    if !holds {
                        at = to as usize;
                    }
                }
                Op::Return(truth) => return Some(truth),
                Op::Jump(to) => at = to as usize,
                Op::Copy(from, to) => {
                    let value = m.cell(from);
                    // Only plain values lie in a slot by themselves.
                    Num::of_cell(value)?;
                    m.put(to, value)?;
                }
                Op::Binary(op, l, r, to) => m.binary(op, l, r, to)?,
                Op::Negate(v, to) => {
                    let v = num::negate(m.num(v)?).ok()?;
                    m.put(to, v.cell())?;
                }
                Op::Invert(v, to) => {
                    let v = num::invert(m.num(v)?).ok()?;
                    m.put(to, v.cell())?;
                }
                Op::When(truth, v, to) => {
                    if m.num(v)?.truth() == truth {
                        at = to as usize;
                    }
                }
                Op::WhenNone(is, v, to) => {
                    if (m.num(v)? == Num::None) == is {
                        at = to as usize;
                    }
                }
                Op::ReturnTruth(v) => return Some(Truth::of(m.num(v)?)),
            }
        }
        Some(Truth::None)
    }
}

struct Machine<'a> {
    args: &'a [Option<Arg<'a>>],
    consts: &'a [Cell],
    slot: &'a mut [u64],
    undo: &'a mut Undo,
    keep: bool,
    temporaries: [Cell; TEMPORARIES],
}

impl Machine<'_> {
    #[inline]
    fn int(&self, from: From) -> Option<i64> {
        let c = match from {
            From::Int(i) => return Some(i),
            From::Env(place) => place.get(self.slot),
            From::Arg(i) => {
                return match self.args.get(i as usize) {
                    Some(Some(Arg::Int(i))) => Some(*i),
                    _ => None,
                };
            }
            From::Temporary(i) => self.temporaries[i as usize % TEMPORARIES],
            From::Const(_) => return None,
        };
        (c.tag == Tag::Int).then_some(c.bits as i64)
    }

    #[inline]
    fn pair(&self, l: From, r: From) -> Option<(i64, i64)> {
        Some((self.int(l)?, self.int(r)?))
    }

    /// Any value; a parameter that only Python understands is unset.
    fn cell(&self, from: From) -> Cell {
        match from {
            From::Int(i) => Cell::int(i),
            From::Const(i) => self.consts[i as usize],
            From::Env(place) => place.get(self.slot),
            From::Arg(i) => match self.args.get(i as usize).copied().flatten() {
                None | Some(Arg::None) => Cell::NONE,
                Some(Arg::Bool(b)) => Cell::bool(b),
                Some(Arg::Int(i)) => Cell::int(i),
                Some(Arg::UInt(u)) => Cell::uint(u),
                Some(Arg::Float(f)) => Cell::float(f),
                Some(Arg::Str(_) | Arg::Json(_)) => Cell::UNSET,
            },
            From::Temporary(i) => self.temporaries[i as usize % TEMPORARIES],
        }
    }

    fn num(&self, from: From) -> Option<Num> {
        Num::of_cell(self.cell(from))
    }

    /// Whatever is not quick.
    #[inline(never)]
    fn binary(&mut self, op: BinOp, l: From, r: From, to: To) -> Option<()> {
        let v = num::binary(op, self.num(l)?, self.num(r)?).ok()?;
        self.put(to, v.cell())
    }

    #[inline(never)]
    fn compare(&self, op: CmpOp, l: From, r: From) -> Option<bool> {
        num::compare(op, self.num(l)?, self.num(r)?).ok()
    }

    #[inline]
    fn put(&mut self, to: To, c: Cell) -> Option<()> {
        match to {
            To::Env(place) => {
                let old = place.get(self.slot);
                // A reference of the host's that would have to be released.
                if old.tag == Tag::Other {
                    return None;
                }
                if self.keep {
                    self.undo.push((place, old));
                }
                place.set(self.slot, c);
            }
            To::Temporary(i) => self.temporaries[i as usize % TEMPORARIES] = c,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;

//! The blocks that most properties consist of, `return a < b` and `n = n + 1`,
//! as one operation on whole numbers.

use super::{From, Op, To};
use crate::cell::{Arg, Tag};
use crate::host::Truth;
use crate::layout::Place;
use crate::num;
use verde_property::ir::CmpOp;

/// It gives up, with nothing changed, unless every value is a whole number of 64 bits.
#[derive(Clone, Debug)]
pub struct Quick {
    does: Does,
    left: Operand,
    right: Operand,
    /// The tags of all its cells, which lie in one word.
    tags: usize,
    mask: u64,
    ints: u64,
}

#[derive(Clone, Copy, Debug)]
enum Does {
    /// Returns whether the comparison holds.
    Ask(CmpOp),
    /// Store into a word whose tag says already that it is a whole number.
    Add(usize),
    Subtract(usize),
}

#[derive(Clone, Copy, Debug)]
enum Operand {
    Int(i64),
    Word(usize),
    Arg(u16),
}

impl Quick {
    pub fn of(ops: &[Op]) -> Option<Quick> {
        let (left, right, target) = match *ops {
            [
                Op::UnlessHolds(_, l, r, 2),
                Op::Return(Truth::True),
                Op::Return(Truth::False),
            ] => (l, r, None),
            [Op::Add(l, r, To::Env(place)) | Op::Subtract(l, r, To::Env(place))] => {
                (l, r, Some(place))
            }
            _ => return None,
        };
        let mut cells: Vec<Place> = target.into_iter().collect();
        let mut operand = |from| {
            Some(match from {
                From::Int(i) => Operand::Int(i),
                From::Arg(i) => Operand::Arg(i),
                From::Env(place) => {
                    cells.push(place);
                    Operand::Word(place.word())
                }
                From::Const(_) | From::Temporary(_) => return None,
            })
        };
        let (left, right) = (operand(left)?, operand(right)?);
        let tags = cells.first().map_or(0, |c| c.tags());
        if cells.iter().any(|c| c.tags() != tags) {
            return None;
        }
        let all = |tag: u64| cells.iter().fold(0, |w, c| w | tag << c.shift());
        let does = match (ops[0], target) {
            (Op::Add(..), Some(place)) => Does::Add(place.word()),
            (Op::Subtract(..), Some(place)) => Does::Subtract(place.word()),
            (Op::UnlessHolds(op, ..), None) => Does::Ask(op),
            _ => return None,
        };
        Some(Quick {
            does,
            left,
            right,
            tags,
            mask: all(0xff),
            ints: all(Tag::Int as u64),
        })
    }

    #[inline]
    pub fn run(&self, args: &[Option<Arg>], slot: &mut [u64]) -> Option<Truth> {
        if slot[self.tags] & self.mask != self.ints {
            return None;
        }
        let left = self.left.value(args, slot)?;
        let right = self.right.value(args, slot)?;
        match self.does {
            Does::Ask(op) => Some(match num::holds(op, left.cmp(&right)) {
                true => Truth::True,
                false => Truth::False,
            }),
            Does::Add(word) => {
                slot[word] = left.checked_add(right)? as u64;
                Some(Truth::None)
            }
            Does::Subtract(word) => {
                slot[word] = left.checked_sub(right)? as u64;
                Some(Truth::None)
            }
        }
    }
}

impl Operand {
    #[inline]
    fn value(self, args: &[Option<Arg>], slot: &[u64]) -> Option<i64> {
        match self {
            Operand::Word(word) => Some(slot[word] as i64),
            Operand::Int(i) => Some(i),
            Operand::Arg(i) => match args.get(i as usize) {
                Some(Some(Arg::Int(i))) => Some(*i),
                _ => None,
            },
        }
    }
}

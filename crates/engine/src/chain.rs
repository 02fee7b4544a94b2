//! The order in which several threads have changed one operand, before any of them was told of.
//!
//! What one left there is what the next has found. `xadd` and `xchg` lose what they added or stored,
//! but a register has what they found; of others it is known what they make of what they find.

use crate::Regs;
use crate::arithmetic::{is_sum, undo};
use crate::exchange::{loaded, stored};
use iced_x86::{Instruction, Mnemonic};

/// So many attempts are made to find an order.
const ATTEMPTS: usize = 4096;

/// An instruction that has loaded and stored the operand.
pub(crate) struct Link {
    pub instruction: Instruction,
    /// As far as they can be told; the flags are those after it.
    pub before: Regs,
    pub after: Regs,
    pub len: usize,
}

impl Link {
    /// A register has what was loaded.
    pub fn is_known(&self) -> bool {
        loaded(&self.instruction, &self.after, self.len).is_some()
    }

    /// What it has found if it has left this; `None`: it cannot have.
    fn found(&self, left: u64) -> Option<u64> {
        let (instruction, len) = (&self.instruction, self.len);
        let Some(old) = loaded(instruction, &self.after, len) else {
            return undo(instruction, &self.before, left, len);
        };
        let fits = match stored(instruction, &self.before, old, len) {
            Some(new) => new == left,
            None if instruction.mnemonic() == Mnemonic::Xadd => {
                is_sum(old, left, self.after.eflags, len)
            }
            None => true,
        };
        fits.then_some(old)
    }
}

/// What each has found and left, if together they have led from one value to another. Where all
/// tell what they have found (`xchg`, `xadd`) what they have left together is certain, and who has
/// left what if at most two have lost it. Otherwise more than one order may fit: small steps are
/// likelier.
pub(crate) fn in_order(links: &[Link], from: u64, to: u64) -> Option<Vec<(u64, u64)>> {
    let mut search = Search {
        links,
        from,
        values: vec![None; links.len()],
        attempts: ATTEMPTS,
    };
    search.leads_to(to).then_some(())?;
    search.values.into_iter().collect()
}

struct Search<'a> {
    links: &'a [Link],
    from: u64,
    values: Vec<Option<(u64, u64)>>,
    attempts: usize,
}

impl Search<'_> {
    /// Those that have no place yet have left this in the end.
    fn leads_to(&mut self, left: u64) -> bool {
        let open = (0..self.links.len()).filter(|i| self.values[*i].is_none());
        let mut last: Vec<(usize, u64)> = open
            .filter_map(|i| Some((i, self.links[i].found(left)?)))
            .collect();
        if last.is_empty() {
            return left == self.from && self.values.iter().all(Option::is_some);
        }
        last.sort_by_key(|(_, found)| left.wrapping_sub(*found).cast_signed().unsigned_abs());
        for (i, found) in last {
            if self.attempts == 0 {
                return false;
            }
            self.attempts -= 1;
            self.values[i] = Some((found, left));
            if self.leads_to(found) {
                return true;
            }
            self.values[i] = None;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Addr;
    use crate::relocate::decode;

    const PARITY: u64 = 1 << 2;

    fn link(code: &[u8], rdx: u64, eflags: u64) -> Link {
        let regs = Regs {
            rdx,
            rax: rdx,
            eflags,
            ..Regs::default()
        };
        Link {
            instruction: decode(code, Addr(0)).expect("an instruction"),
            before: regs,
            after: regs,
            len: 4,
        }
    }

    /// lock xadd [rdi],edx
    fn xadd(found: u64, flags: u64) -> Link {
        link(&[0xf0, 0x0f, 0xc1, 0x17], found, flags)
    }

    /// xchg [rdi],edx
    fn xchg(found: u64) -> Link {
        link(&[0x87, 0x17], found, 0)
    }

    #[test]
    fn what_one_left_the_next_has_found() {
        let two = [xadd(1, 0), xadd(0, 0)];
        assert_eq!(in_order(&two, 0, 2), Some(vec![(1, 2), (0, 1)]));
        // The parity of the sum says who has left what: 0 + 3, 3 + 1, 4 + 2.
        let three = [xadd(4, PARITY), xadd(0, PARITY), xadd(3, 0)];
        let values = vec![(4, 6), (0, 3), (3, 4)];
        assert_eq!(in_order(&three, 0, 6), Some(values));
        let stored = [xchg(7), xchg(1), xchg(9)];
        let found = in_order(&stored, 1, 5).expect("an order");
        let mut left: Vec<u64> = found.iter().map(|(_, left)| *left).collect();
        left.sort_unstable();
        assert_eq!(left, [5, 7, 9]);
        // lock add dword [rdi],5, between two of them
        let add = link(&[0xf0, 0x83, 0x07, 5], 0, 0);
        let mixed = [xchg(6), add, xchg(0)];
        assert_eq!(in_order(&mixed, 0, 9), Some(vec![(6, 9), (1, 6), (0, 1)]));
    }

    #[test]
    fn there_may_be_no_order() {
        assert_eq!(in_order(&[xchg(7), xchg(8)], 1, 5), None);
        // or dword [rdi],8: what it found is lost.
        let or = link(&[0x83, 0x0f, 8], 0, 0);
        assert_eq!(in_order(&[xchg(1), or], 1, 8), None);
        let many: Vec<Link> = (0..64).map(xchg).collect();
        assert_eq!(in_order(&many, 100, 5), None);
    }
}

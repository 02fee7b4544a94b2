//! Giving new open files the numbers that those of then had.

use crate::Result;
use crate::leader::Leader;
use std::os::fd::RawFd;
use verde_engine::Tid;
use verde_sys::descriptor::Descriptor;
use verde_sys::limits::Room;
use verde_sys::number as n;

/// All numbers of one open file, with its flags.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers(Vec<(RawFd, i32)>);

impl Numbers {
    /// Those of the descriptors that are chosen.
    pub fn of<'a>(
        list: impl IntoIterator<Item = &'a Descriptor>,
        is: impl Fn(&Descriptor) -> bool,
    ) -> Numbers {
        let same = list.into_iter().filter(|d| is(d));
        Numbers(same.map(|d| (d.number, d.all_flags())).collect())
    }

    pub fn contain(&self, number: RawFd) -> bool {
        self.0.iter().any(|(n, _)| *n == number)
    }

    pub fn first(&self) -> Option<(RawFd, i32)> {
        self.0.first().copied()
    }

    /// Closes them in a frozen copy.
    pub fn close(&self, frozen: &mut Leader) -> Result<()> {
        for (number, _) in &self.0 {
            frozen.call("close", n::SYS_close, &[*number as u64])?;
        }
        Ok(())
    }

    /// Gives them to a new open file that is out of their way.
    pub fn give(&self, leader: &mut Leader, file: u64) -> Result<()> {
        for (number, flags) in &self.0 {
            let args = [file, *number as u64, (flags & n::O_CLOEXEC) as u64];
            leader.call("dup3", n::SYS_dup3, &args)?;
        }
        leader.call("close", n::SYS_close, &[file])?;
        Ok(())
    }
}

/// Two files are made together, of which one may be above already, and then each is moved out of
/// the way before its first number is free again: that makes three above at most.
const MADE_TOGETHER: u64 = 3;

/// Room in a process for new open files above those that it had.
pub(super) fn room(pid: Tid, above: u64) -> verde_sys::Result<Room> {
    Room::below(pid, above + MADE_TOGETHER)
}

/// A number above those of every descriptor.
pub(super) fn above(list: &[Descriptor]) -> u64 {
    list.iter().map(|d| d.number as u64 + 1).max().unwrap_or(0)
}

/// Moves a new open file out of the way of the numbers that others shall have.
pub(super) fn move_away(leader: &mut Leader, file: u64, above: u64) -> Result<u64> {
    let moved = leader.call("fcntl", n::SYS_fcntl, &[file, n::F_DUPFD as u64, above])?;
    leader.call("close", n::SYS_close, &[file])?;
    Ok(moved)
}

/// Gives the ends of a new pair, which a call has left in the scratch memory,
/// their numbers.
pub(super) fn give_both(leader: &mut Leader, numbers: [&Numbers; 2], above: u64) -> Result<()> {
    let [both] = leader.words(0)?;
    let first = move_away(leader, both & 0xffff_ffff, above)?;
    let second = move_away(leader, both >> 32, above)?;
    numbers[0].give(leader, first)?;
    numbers[1].give(leader, second)
}

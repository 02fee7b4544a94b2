//! Memory in the program for code and data of the debugger, shared by nobody
//! else.

use crate::{Addr, Error, Process, Result, slots};
use verde_sys::{number as n, payload};

const PAGE: u64 = 4096;
/// Enough for most programs; a page of it is code.
const USUAL: u64 = 64 * 1024;

/// A piece of the program's memory that is the debugger's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// The code of [`verde_sys::payload`].
    pub code: Addr,
    /// Data, readable and writable.
    pub data: Addr,
    /// Bytes of data.
    pub room: u64,
}

impl Process {
    /// Memory in the program with at least `room` bytes of data. It stays
    /// until the program is let go; what is in it may be overwritten by the
    /// next user.
    pub fn scratch(&mut self, room: u64) -> Result<Scratch> {
        if let Some(scratch) = self.scratch.filter(|s| s.room >= room) {
            return Ok(scratch);
        }
        self.drop_scratch();
        let size = (room.next_multiple_of(PAGE) + PAGE).max(USUAL);
        let base = self.map_hole(size)?;
        let scratch = Scratch {
            code: base,
            data: base + PAGE,
            room: size - PAGE,
        };
        self.scratch = Some(scratch);
        let executable = (n::PROT_READ | n::PROT_EXEC) as u64;
        let args = [base.0, PAGE, executable, 0, 0, 0];
        if let Err(error) = self.remote_call("mprotect", n::SYS_mprotect, args) {
            self.drop_scratch();
            return Err(match self.denies_new_code() {
                true => Error::NoNewCode,
                false => error,
            });
        }
        self.memory.write(base, payload::code())?;
        Ok(scratch)
    }

    /// Maps readable and writable memory where nothing is.
    pub(crate) fn map_hole(&mut self, size: u64) -> Result<Addr> {
        let maps = self.memory.maps()?;
        let near = self.modules().first().map_or(Addr(0), |m| m.start);
        let hole = slots::find_hole(&maps, near, size).ok_or(Error::NoRoom(near))?;
        let writable = (n::PROT_READ | n::PROT_WRITE) as u64;
        let flags = (n::MAP_PRIVATE | n::MAP_ANONYMOUS | n::MAP_FIXED_NOREPLACE) as u64;
        let args = [hole.0, size, writable, flags, u64::MAX, 0];
        Ok(Addr(self.remote_call("mmap", n::SYS_mmap, args)?))
    }

    /// Whether the program has asked the kernel to refuse that (`PR_SET_MDWE`).
    fn denies_new_code(&mut self) -> bool {
        const PR_GET_MDWE: u64 = 66;
        let asked = self.remote_call("prctl", n::SYS_prctl, [PR_GET_MDWE, 0, 0, 0, 0, 0]);
        asked.is_ok_and(|denied| denied != 0)
    }

    /// Gives the memory back to the program.
    pub(crate) fn drop_scratch(&mut self) {
        let Some(scratch) = self.scratch.take() else {
            return;
        };
        let args = [scratch.code.0, scratch.room + PAGE, 0, 0, 0, 0];
        if let Err(error) = self.remote_call("munmap", n::SYS_munmap, args) {
            tracing::debug!(%error, "scratch memory stays mapped");
        }
    }
}

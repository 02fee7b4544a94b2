//! The first thread of a process, borrowed for system calls.

use crate::Result;
use crate::snapshot::Program;
use verde_engine::{Addr, Scratch, Tid};
use verde_sys::memory::Contents;
use verde_sys::remote::Remote;

/// Makes system calls in a process, with arguments in its scratch memory.
pub(crate) struct Leader {
    pub remote: Remote,
    pub memory: Contents,
    pub scratch: Scratch,
    /// The process calls its tasks by other ids than we do.
    pub namespaced: bool,
    /// A seccomp filter is off meanwhile.
    pub filtered: bool,
}

impl Leader {
    /// Borrows a stopped process.
    pub fn borrow(
        pid: Tid,
        instruction: Addr,
        scratch: Scratch,
        program: &Program,
    ) -> Result<Leader> {
        Ok(Leader {
            remote: Remote::begin(pid, instruction)?,
            memory: Contents::open(pid)?,
            scratch,
            namespaced: program.namespaced,
            filtered: program.filtered,
        })
    }

    /// The process, borrowed if it has not been yet.
    pub fn get_or_borrow(
        leader: &mut Option<Leader>,
        borrow: impl FnOnce() -> Result<Leader>,
    ) -> Result<&mut Leader> {
        Ok(match leader {
            Some(leader) => leader,
            None => leader.insert(borrow()?),
        })
    }

    /// A system call; its value.
    pub fn call(&mut self, name: &'static str, number: i64, args: &[u64]) -> Result<u64> {
        let mut all = [0; 6];
        all[..args.len()].copy_from_slice(args);
        Ok(self.remote.call(name, number, all)?)
    }

    /// Places bytes in the scratch memory, `offset` from its beginning.
    pub fn place(&self, offset: u64, bytes: &[u8]) -> Result<u64> {
        let at = self.scratch.data + offset;
        self.memory.write(at, bytes)?;
        Ok(at.0)
    }

    /// Words that a call has left in the scratch memory.
    pub fn words<const N: usize>(&self, offset: u64) -> Result<[u64; N]> {
        let mut words = [0; N];
        for (i, word) in words.iter_mut().enumerate() {
            *word = self
                .memory
                .read_u64(self.scratch.data + offset + 8 * i as u64)?;
        }
        Ok(words)
    }
}

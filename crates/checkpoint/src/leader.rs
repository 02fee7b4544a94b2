//! The first thread of a process, borrowed for system calls.

use crate::Result;
use crate::snapshot::Program;
use std::cell::OnceCell;
use verde_engine::{Addr, Scratch, Tid};
use verde_sys::memory::{self, Contents};
use verde_sys::remote::Remote;

/// Makes system calls in a process, with arguments in its scratch memory.
pub(crate) struct Leader {
    pub remote: Remote,
    memory: OnceCell<Contents>,
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
        let remote = Remote::begin(pid, instruction)?;
        let (namespaced, filtered) = (program.namespaced, program.filtered);
        Ok(Leader::new(remote, scratch, namespaced, filtered))
    }

    /// One that is borrowed already.
    pub fn new(remote: Remote, scratch: Scratch, namespaced: bool, filtered: bool) -> Leader {
        Leader {
            remote,
            memory: OnceCell::new(),
            scratch,
            namespaced,
            filtered,
        }
    }

    /// With memory that is open already.
    pub fn with_memory(self, memory: Contents) -> Leader {
        Leader {
            memory: OnceCell::from(memory),
            ..self
        }
    }

    /// All of its memory.
    pub fn memory(&self) -> Result<&Contents> {
        match self.memory.get() {
            Some(memory) => Ok(memory),
            None => {
                let memory = Contents::open(self.remote.tid())?;
                Ok(self.memory.get_or_init(|| memory))
            }
        }
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
        let at_once = || memory::write_once(self.remote.tid(), at, bytes).is_ok();
        if self.memory.get().is_some() || !at_once() {
            self.memory()?.write(at, bytes)?;
        }
        Ok(at.0)
    }

    /// Words that a call has left in the scratch memory.
    pub fn words<const N: usize>(&self, offset: u64) -> Result<[u64; N]> {
        let mut words = [0; N];
        let memory = self.memory()?;
        for (i, word) in words.iter_mut().enumerate() {
            *word = memory.read_u64(self.scratch.data + offset + 8 * i as u64)?;
        }
        Ok(words)
    }
}

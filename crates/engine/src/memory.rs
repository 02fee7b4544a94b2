//! Memory of the program without the engine's int3, and system calls made by
//! the program for the engine.

use crate::thread::State;
use crate::{Addr, Error, Process, Result, Tid};
use verde_sys::memory::Contents;
use verde_sys::remote::{Remote, RemoteError};
use verde_sys::{number, procfs, ptrace};

/// What filters of containers answer.
const FORBIDDEN: [i32; 2] = [number::EPERM, number::ENOSYS];

impl Process {
    /// The memory as it is, planted int3 included.
    pub fn contents(&self) -> Result<Contents> {
        Ok(self.memory.try_clone()?)
    }

    /// Reads memory, also while the program runs. Planted int3 are hidden.
    pub fn read(&self, at: Addr, into: &mut [u8]) -> Result<()> {
        self.memory.read(at, into)?;
        self.sites.hide(at, into);
        Ok(())
    }

    /// Reads as much as is mapped; the number of bytes read.
    pub fn read_some(&self, at: Addr, into: &mut [u8]) -> usize {
        let done = self.memory.read_some(at, into);
        self.sites.hide(at, &mut into[..done]);
        done
    }

    /// Reads one word of data.
    pub fn read_u64(&self, at: Addr) -> Result<u64> {
        Ok(self.memory.read_u64(at)?)
    }

    /// Reads several places of data at once, the fast way for events.
    pub fn read_batch(&self, places: &mut [(Addr, &mut [u8])]) -> Result<usize> {
        Ok(self.memory.read_batch(places)?)
    }

    /// Reads a C string without its NUL, at most `limit` bytes.
    pub fn read_c_string(&self, at: Addr, limit: usize) -> Result<Vec<u8>> {
        Ok(self.memory.read_c_string(at, limit)?)
    }

    /// Writes memory, also read-only code. Planted int3 stay.
    pub fn write(&mut self, at: Addr, bytes: &[u8]) -> Result<()> {
        if self
            .sites
            .planted_in(at, bytes.len() as u64)
            .next()
            .is_none()
        {
            return Ok(self.memory.write(at, bytes)?);
        }
        let mut bytes = bytes.to_vec();
        self.sites.keep(at, &mut bytes);
        Ok(self.memory.write(at, &bytes)?)
    }

    /// Whether the code is what it should be: a probe where one is planted, the program's own
    /// byte where it was taken out. The first place that is not, but for code that the program
    /// makes itself.
    pub fn wrong_code(&self) -> Option<Addr> {
        let mut byte = [0; 1];
        for (at, site) in self.sites.iter().filter(|(_, site)| !site.volatile) {
            if self.memory.read(at, &mut byte).is_err() {
                continue;
            }
            let wanted = match site.planted {
                true => crate::sites::INT3,
                false => site.bytes[0],
            };
            if byte[0] != wanted {
                return Some(at);
            }
        }
        None
    }

    /// The memory map.
    pub fn maps(&self) -> Result<Vec<procfs::Mapping>> {
        Ok(self.memory.maps()?)
    }

    /// The mapping at an address. An error may mean that this kernel cannot tell.
    pub fn mapping_at(&self, at: Addr) -> Result<Option<procfs::Mapping>> {
        Ok(self.memory.mapping_at(at)?)
    }

    /// The mappings that are shared with other processes, by rising address. An error may mean
    /// that this kernel cannot tell.
    pub fn shared_maps(&self) -> Result<Vec<procfs::Mapping>> {
        Ok(self.memory.shared_maps()?)
    }

    /// A `syscall` instruction anywhere in the program's code.
    pub(crate) fn find_syscall_instruction(&self) -> Option<Addr> {
        let maps = self.memory.maps().ok()?;
        let code = || maps.iter().filter(|m| m.execute && m.name != "[vsyscall]");
        // The vDSO has one and is small; else any library will do.
        let vdso = code().filter(|m| m.name == "[vdso]");
        let rest = code().filter(|m| m.name != "[vdso]");
        vdso.chain(rest)
            .find_map(|map| self.find_in(map.start, map.end))
    }

    fn find_in(&self, start: Addr, end: Addr) -> Option<Addr> {
        const CHUNK: u64 = 64 * 1024;
        let mut at = start;
        while at < end {
            let mut bytes = vec![0; CHUNK.min(end - at) as usize];
            let got = self.read_some(at, &mut bytes);
            if let Some(i) = bytes[..got].windows(2).position(|w| w == [0x0f, 0x05]) {
                return Some(at + i as u64);
            }
            // One byte of overlap.
            at = at + (CHUNK - 1);
        }
        None
    }

    /// Makes the program execute a system call, in a stopped thread if there
    /// is one; else one thread is stopped for it.
    pub(crate) fn remote_call(
        &mut self,
        name: &'static str,
        number: i64,
        args: [u64; 6],
    ) -> Result<u64> {
        let instruction = self.syscall_instruction.ok_or(Error::Gone)?;
        let (tid, stopped_here) = match self.remote_candidate() {
            Some(tid) => (tid, false),
            None => {
                self.stop_one()?;
                // Threads that are about to end are of no use.
                (self.remote_candidate().ok_or(Error::Gone)?, true)
            }
        };
        self.settle(tid)?;
        let result = self.remote_call_in(tid, instruction, name, number, args);
        if stopped_here {
            self.go(tid)?;
        }
        result
    }

    /// A stopped thread that can make a system call for the engine.
    pub(crate) fn remote_candidate(&self) -> Option<Tid> {
        let usable = self.threads.values().filter(|t| {
            // At a system call's entry no other call can be made.
            t.state == State::Stopped && !t.vforking && !t.at_entry && !t.exiting
        });
        // Best one that needs no settling.
        usable.min_by_key(|t| (t.in_kernel, t.tid)).map(|t| t.tid)
    }

    /// The same in a given stopped thread.
    pub(crate) fn remote_call_in(
        &mut self,
        tid: Tid,
        instruction: Addr,
        name: &'static str,
        number: i64,
        args: [u64; 6],
    ) -> Result<u64> {
        self.stopped_mut(tid)?.disturbed = true;
        let filter = procfs::status_field(self.pid, tid, "Seccomp").is_some_and(|v| v != "0");
        let inherited = filter && self.has_our_filters(tid);
        let filtered = filter && !inherited;
        if filtered {
            // A filter may kill the program for a call it does not expect.
            ptrace::suspend_seccomp(tid, self.fate, true).map_err(|_| Error::Seccomp(name))?;
        }
        let result = {
            let mut remote = Remote::begin(tid, instruction)?;
            remote.call(name, number, args)
        };
        if filtered {
            // The thread may be gone; nothing is left to restore then.
            let _ = ptrace::suspend_seccomp(tid, self.fate, false);
        }
        match &result {
            Err(RemoteError::Ended(status)) => self.arrived(tid, *status)?,
            // It went on past its exit event: nobody may wait for a stop of it.
            Err(RemoteError::Sys(e)) if e.is_gone() => {
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.state = State::Exiting;
                    thread.exiting = true;
                    thread.killed = true;
                }
            }
            Err(RemoteError::Refused(e)) if inherited && FORBIDDEN.contains(&e.errno) => {
                return Err(Error::Seccomp(name));
            }
            _ => {}
        }
        Ok(result?)
    }

    /// What filters a thread has are those that we are under ourselves, as in a container: they do
    /// not kill for what debuggers do. Of a process that ran before, nobody can tell.
    pub fn has_our_filters(&self, tid: Tid) -> bool {
        !self.is_attached() && procfs::has_our_filters(self.pid, tid)
    }
}

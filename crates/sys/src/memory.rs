//! Memory of another process: one descriptor on /proc/pid/mem for single
//! accesses, process_vm_readv for batches, one on /proc/pid/maps.

use crate::before_change::about_to_change;
use crate::error::{Result, SysError};
use crate::procfs::{self, Mapping};
use crate::{Addr, Tid, mapping_query};
use std::fs::{File, OpenOptions};
use std::ops::Deref;
use std::os::unix::fs::FileExt;

/// Read and write access to what is in the memory of a process, also while it
/// runs and whatever its page protections. Belongs to the address space, not to
/// the pid: after an exec it must be opened again. What is open stays so when
/// the program forbids others to look at it (`PR_SET_DUMPABLE`).
#[derive(Debug)]
pub struct Contents {
    file: File,
    pid: Tid,
}

/// The same, and what is where.
#[derive(Debug)]
pub struct Memory {
    contents: Contents,
    maps: File,
}

impl Deref for Memory {
    type Target = Contents;

    fn deref(&self) -> &Contents {
        &self.contents
    }
}

impl Memory {
    /// Opens the memory of a traced process.
    pub fn open(pid: Tid) -> Result<Memory> {
        Memory::of(Contents::open(pid)?)
    }

    /// The same where what is in it is open already.
    pub fn of(contents: Contents) -> Result<Memory> {
        let maps = File::open(format!("/proc/{}/maps", contents.pid))
            .map_err(|e| SysError::from_io("open /proc/pid/maps", &e))?;
        Ok(Memory { contents, maps })
    }

    /// The memory map, by rising address.
    pub fn maps(&self) -> Result<Vec<Mapping>> {
        let text = procfs::contents(&self.maps)
            .map_err(|e| SysError::from_io("read /proc/pid/maps", &e))?;
        if text.is_empty() {
            // The address space is gone.
            return Err(SysError {
                call: "read /proc/pid/maps",
                errno: libc::ESRCH,
            });
        }
        Ok(procfs::parse_maps(&String::from_utf8_lossy(&text)))
    }

    /// The mapping at an address. An error may mean that this kernel cannot tell.
    pub fn mapping_at(&self, at: Addr) -> Result<Option<Mapping>> {
        mapping_query::at(&self.maps, at)
    }

    /// The mappings that are shared with other processes, by rising address. An error may mean
    /// that this kernel cannot tell.
    pub fn shared_maps(&self) -> Result<Vec<Mapping>> {
        mapping_query::shared(&self.maps)
    }
}

/// Writes a few bytes to memory that the process itself can write, in less time than it takes to
/// open it.
pub fn write_once(pid: Tid, at: Addr, bytes: &[u8]) -> Result<()> {
    about_to_change();
    let local = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let remote = libc::iovec {
        iov_base: at.0 as *mut libc::c_void,
        iov_len: bytes.len(),
    };
    // SAFETY: the bytes are read only, and `remote` is only interpreted in the other process.
    let written = unsafe { libc::process_vm_writev(pid.0, &local, 1, &remote, 1, 0) };
    match usize::try_from(written) {
        Ok(written) if written == bytes.len() => Ok(()),
        Ok(_) => Err(SysError {
            call: "process_vm_writev",
            errno: libc::EFAULT,
        }),
        Err(_) => Err(SysError::last("process_vm_writev")),
    }
}

impl Contents {
    /// Opens the memory of a traced process.
    pub fn open(pid: Tid) -> Result<Contents> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"))
            .map_err(|e| SysError::from_io("open /proc/pid/mem", &e))?;
        Ok(Contents { file, pid })
    }

    /// The same once more.
    pub fn try_clone(&self) -> Result<Contents> {
        let file = self.file.try_clone();
        Ok(Contents {
            file: file.map_err(|e| SysError::from_io("dup", &e))?,
            pid: self.pid,
        })
    }

    /// Reads exactly `into.len()` bytes.
    pub fn read(&self, at: Addr, into: &mut [u8]) -> Result<()> {
        self.file
            .read_exact_at(into, at.0)
            .map_err(|e| SysError::from_io("read memory", &e))
    }

    /// Reads as many bytes as are mapped from `at` on; the number read.
    pub fn read_some(&self, at: Addr, into: &mut [u8]) -> usize {
        let mut done = 0;
        while done < into.len() {
            match self.file.read_at(&mut into[done..], at.0 + done as u64) {
                Ok(0) | Err(_) => break,
                Ok(n) => done += n,
            }
        }
        done
    }

    /// Reads one 64-bit word.
    pub fn read_u64(&self, at: Addr) -> Result<u64> {
        let mut word = [0; 8];
        self.read(at, &mut word)?;
        Ok(u64::from_ne_bytes(word))
    }

    /// Writes all bytes, also to read-only code.
    pub fn write(&self, at: Addr, bytes: &[u8]) -> Result<()> {
        about_to_change();
        self.file
            .write_all_at(bytes, at.0)
            .map_err(|e| SysError::from_io("write memory", &e))
    }

    /// Reads a string up to (without) its NUL, at most `limit` bytes.
    pub fn read_c_string(&self, at: Addr, limit: usize) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        let mut chunk = [0u8; 64];
        while text.len() < limit {
            let here = at + text.len() as u64;
            // Up to the page's end: the next page may not exist.
            let room = (4096 - (here.0 & 4095) as usize).min(chunk.len());
            self.read(here, &mut chunk[..room])?;
            match chunk[..room].iter().position(|&b| b == 0) {
                Some(end) => {
                    text.extend_from_slice(&chunk[..end]);
                    break;
                }
                None => text.extend_from_slice(&chunk[..room]),
            }
        }
        text.truncate(limit);
        Ok(text)
    }

    /// Reads several places in one system call; protections are obeyed.
    /// Returns the number of bytes read, in the order given: short when a
    /// place is not mapped.
    pub fn read_batch(&self, places: &mut [(Addr, &mut [u8])]) -> Result<usize> {
        let mut total = 0;
        // The kernel takes at most IOV_MAX (1024) entries.
        for part in places.chunks_mut(1024) {
            let mut local = Vec::with_capacity(part.len());
            let mut remote = Vec::with_capacity(part.len());
            let mut wanted = 0;
            for (at, into) in part.iter_mut() {
                wanted += into.len();
                local.push(libc::iovec {
                    iov_base: into.as_mut_ptr().cast(),
                    iov_len: into.len(),
                });
                remote.push(libc::iovec {
                    iov_base: at.0 as *mut libc::c_void,
                    iov_len: into.len(),
                });
            }
            // SAFETY: `local` describes live, exclusively borrowed buffers;
            // `remote` is only interpreted in the other process.
            let n = unsafe {
                libc::process_vm_readv(
                    self.pid.0,
                    local.as_ptr(),
                    local.len() as libc::c_ulong,
                    remote.as_ptr(),
                    remote.len() as libc::c_ulong,
                    0,
                )
            };
            if n < 0 {
                return match SysError::last("process_vm_readv") {
                    // The program forbids it; what is open stays so.
                    e if e.errno == libc::EPERM => Ok(total + self.read_each(part)),
                    e => Err(e),
                };
            }
            total += n as usize;
            if (n as usize) < wanted {
                break;
            }
        }
        Ok(total)
    }

    /// The same, one after the other.
    fn read_each(&self, places: &mut [(Addr, &mut [u8])]) -> usize {
        let mut total = 0;
        for (at, into) in places {
            let read = self.read_some(*at, into);
            total += read;
            if read < into.len() {
                break;
            }
        }
        total
    }
}

//! Memory of another process: one descriptor on /proc/pid/mem for single
//! accesses, process_vm_readv for batches.

use crate::error::{Result, SysError};
use crate::{Addr, Tid};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

/// Read and write access to the memory of a process, also while it runs and
/// whatever its page protections. Belongs to the address space, not to the
/// pid: after an exec it must be opened again.
#[derive(Debug)]
pub struct Memory {
    file: File,
    pid: Tid,
}

impl Memory {
    /// Opens the memory of a traced process.
    pub fn open(pid: Tid) -> Result<Memory> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"))
            .map_err(|e| SysError::from_io("open /proc/pid/mem", &e))?;
        Ok(Memory { file, pid })
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
                return Err(SysError::last("process_vm_readv"));
            }
            total += n as usize;
            if (n as usize) < wanted {
                break;
            }
        }
        Ok(total)
    }
}

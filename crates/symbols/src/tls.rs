//! Where a thread's copy of a module's thread-local variables is.

use crate::module::Module;
use crate::registers::Memory;

impl Module {
    /// The program's own block: it lies just below the thread pointer (`fs_base`).
    pub fn static_tls(&self, thread_pointer: u64) -> Option<u64> {
        let image = self.tls()?;
        thread_pointer.checked_sub(image.size.checked_next_multiple_of(image.align)?)
    }
}

/// The block of the module with this number (the loader's `l_tls_modid`, 1 for the program) in a
/// thread, from the thread's vector of blocks; `None` while the thread has not touched it.
pub fn dynamic_tls(memory: &dyn Memory, thread_pointer: u64, module: u64) -> Option<u64> {
    // glibc: the second word of the control block is the vector, of pairs, indexed by the number.
    let vector = memory.read_u64(thread_pointer.checked_add(8)?).ok()?;
    let slot = vector.checked_add(module.checked_mul(16)?)?;
    let block = memory.read_u64(slot).ok()?;
    (block != u64::MAX && block != 0).then_some(block)
}

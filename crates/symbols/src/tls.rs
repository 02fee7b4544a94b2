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

/// glibc: the second word of the control block is the vector of blocks.
const VECTOR: u64 = 8;
/// The vector is of pairs, and has its length in the one before the first.
const PAIR: u64 = 16;

/// The block of the module with this number (the loader's `l_tls_modid`, 1 for the program) in a
/// thread, from the thread's vector of blocks; `None` while the thread has not touched it. In a
/// vector older than `generation` it is that of another module, which had the number before.
pub fn dynamic_tls(
    memory: &dyn Memory,
    thread_pointer: u64,
    module: u64,
    generation: u64,
) -> Option<u64> {
    let (noted, slot) = dynamic_tls_slot(memory, thread_pointer, module);
    let vector = memory.read_u64(noted).ok()?;
    if memory.read_u64(vector).ok()? < generation {
        return None;
    }
    let block = memory.read_u64(slot?).ok()?;
    (block != u64::MAX && block != 0).then_some(block)
}

/// Where a thread has the address of its vector of blocks, and where in that it has the block of
/// a module: `None` while the vector is too short for it.
pub fn dynamic_tls_slot(
    memory: &dyn Memory,
    thread_pointer: u64,
    module: u64,
) -> (u64, Option<u64>) {
    let noted = thread_pointer.wrapping_add(VECTOR);
    let slot = || {
        let vector = memory.read_u64(noted).ok()?;
        let length = memory.read_u64(vector.checked_sub(PAIR)?).ok()?;
        let slot = vector.checked_add(module.checked_mul(PAIR)?)?;
        (module <= length).then_some(slot)
    };
    (noted, slot())
}

//! Which thread-local block is a library's: the loader's numbers of modules.
//!
//! A number is given again when its library is gone. A thread has what it had under it until it
//! next looks at the loader's list: then its vector of blocks is of that generation.

use super::images::Images;
use verde_engine::{Addr, Process};
use verde_expr::Loaded;
use verde_symbols::Module;

/// Parts of the list that are gone through.
const MOST_PARTS: usize = 1000;

/// Where the C library keeps the numbers, as it describes it for debuggers.
#[derive(Clone, Copy)]
pub(super) struct Numbering {
    /// In the loader's record of a library.
    number: u64,
    list: Option<List>,
}

/// The loader's list of numbers, in parts.
#[derive(Clone, Copy)]
struct List {
    /// Where the address of its first part is.
    first: u64,
    /// In a part.
    len: u64,
    next: u64,
    entries: u64,
    /// Of an entry, and in it.
    size: u64,
    generation: u64,
}

impl Numbering {
    pub fn find(process: &Process, loaded: &[Loaded]) -> Option<Numbering> {
        let symbol = |name: &str| {
            loaded.iter().find_map(|l| {
                let mut all = l.module.symbols().iter();
                Some(all.find(|s| s.name == name)?.addr.at(l.bias))
            })
        };
        let word = |at: u64| {
            let mut bytes = [0; 4];
            process.read(Addr(at), &mut bytes).ok()?;
            Some(u64::from(u32::from_le_bytes(bytes)))
        };
        // A field is described by bits, elements and offset.
        let offset = |name: &str| word(symbol(&format!("_thread_db_{name}"))?.checked_add(8)?);
        let list = || {
            let globals = symbol("_rtld_global")?;
            Some(List {
                first: globals.checked_add(offset("rtld_global__dl_tls_dtv_slotinfo_list")?)?,
                len: offset("dtv_slotinfo_list_len")?,
                next: offset("dtv_slotinfo_list_next")?,
                entries: offset("dtv_slotinfo_list_slotinfo")?,
                size: word(symbol("_thread_db_sizeof_dtv_slotinfo")?)?,
                generation: offset("dtv_slotinfo_gen")?,
            })
        };
        Some(Numbering {
            number: offset("link_map_l_tls_modid")?,
            list: list(),
        })
    }
}

fn read(process: &Process, at: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    process.read(Addr(at), &mut bytes).ok()?;
    Some(u64::from_le_bytes(bytes))
}

impl List {
    /// Where the generation of an entry is. A part and the numbers in it are the program's to write.
    fn generation_at(&self, part: u64, index: u64) -> Option<u64> {
        let entry = index.checked_mul(self.size)?.checked_add(self.entries)?;
        part.checked_add(entry)?.checked_add(self.generation)
    }

    fn generation_of(&self, process: &Process, number: u64) -> Option<u64> {
        let mut part = read(process, self.first)?;
        let mut index = number;
        for _ in 0..MOST_PARTS {
            let len = read(process, part.checked_add(self.len)?)?;
            if index < len {
                return read(process, self.generation_at(part, index)?);
            }
            index -= len;
            part = read(process, part.checked_add(self.next)?)?;
        }
        None
    }
}

impl Images {
    /// The number under which a thread finds the block of a module, and the generation that its
    /// vector of blocks must have for that; 0 where nothing is known of generations.
    pub fn tls_number(&self, process: &Process, module: &Module) -> Option<(u64, u64)> {
        let bias = self.bias(module)?;
        let images = process.modules();
        let record = images.iter().find(|m| m.bias == bias)?.record?;
        let numbering = self.numbering(process)?;
        let number = read(process, record.0.checked_add(numbering.number)?)?;
        let list = numbering.list;
        let generation = list.and_then(|l| l.generation_of(process, number));
        (number != 0).then_some((number, generation.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_cannot_be() {
        let list = List {
            first: 0,
            len: 0,
            next: 8,
            entries: 16,
            size: 16,
            generation: 8,
        };
        assert_eq!(list.generation_at(0x1000, 2), Some(0x1038));
        assert_eq!(list.generation_at(0x1000, u64::MAX), None);
        assert_eq!(list.generation_at(0x1000, u64::MAX / 16), None);
        assert_eq!(list.generation_at(u64::MAX - 32, 1), None);
    }
}

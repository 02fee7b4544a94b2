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
        let offset = |name: &str| word(symbol(&format!("_thread_db_{name}"))? + 8);
        let list = || {
            let globals = symbol("_rtld_global")?;
            Some(List {
                first: globals + offset("rtld_global__dl_tls_dtv_slotinfo_list")?,
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
    fn generation_of(&self, process: &Process, number: u64) -> Option<u64> {
        let mut part = read(process, self.first)?;
        let mut index = number;
        for _ in 0..MOST_PARTS {
            let len = read(process, part.checked_add(self.len)?)?;
            if index < len {
                let entry = part.checked_add(self.entries + index * self.size)?;
                return read(process, entry.checked_add(self.generation)?);
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

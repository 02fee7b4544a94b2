//! Stubs that jump to functions of other modules.

use crate::addr::FileAddr;
use crate::demangle;
use crate::module::Module;
use object::{Object, ObjectSymbol, RelocationTarget};

/// `jmp *disp(%rip)`, the heart of every stub.
const JUMP: [u8; 2] = [0xff, 0x25];
/// Before it there may be `endbr64` and a `bnd` prefix.
const LONGEST: usize = 16;

impl Module {
    /// What the linker calls the place of an address, and how far into that it is: a symbol, or
    /// the stub of one. `readable`: names as in the source.
    pub fn linker_name_at(&self, addr: FileAddr, readable: bool) -> Option<(String, u64)> {
        let plain = |name: &str| match readable {
            true => demangle(name).unwrap_or_else(|| name.to_owned()),
            false => name.to_owned(),
        };
        match self.symbol_at(addr) {
            Some((symbol, into)) => Some((plain(symbol.name), into)),
            None => {
                let (name, into) = self.stub_at(addr)?;
                Some((format!("{}@plt", plain(name)), into))
            }
        }
    }

    /// The function that the stub around an address leads to, and how far into the stub it is.
    pub fn stub_at(&self, addr: FileAddr) -> Option<(&'static str, u64)> {
        if !self.is_plt(addr) {
            return None;
        }
        // Stubs are as long as their alignment.
        [16, 8].into_iter().find_map(|size| {
            let into = addr.0 % size;
            let name = self.plt_target(FileAddr(addr.0 - into))?;
            Some((name, into))
        })
    }

    /// The function of another module that the stub at an address leads to, as the linker calls it.
    pub fn plt_target(&self, stub: FileAddr) -> Option<&'static str> {
        if !self.is_plt(stub) {
            return None;
        }
        let bytes = self.bytes_at(stub, LONGEST)?;
        let jump = bytes.windows(2).position(|w| w == JUMP)?;
        let displacement = bytes.get(jump + 2..jump + 6)?;
        let displacement = i32::from_le_bytes(displacement.try_into().ok()?);
        let next = stub.0.wrapping_add(jump as u64 + 6);
        let slot = next.wrapping_add_signed(displacement.into());
        let file = &self.elf.file;
        let mut relocations = file.dynamic_relocations()?;
        let (_, relocation) = relocations.find(|(at, _)| *at == slot)?;
        match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let mut symbols = file.dynamic_symbols();
                symbols.find(|s| s.index() == index)?.name().ok()
            }
            _ => None,
        }
    }
}

//! Which thread-local block is a library's: the loader's numbers of modules.

use super::images::Images;
use verde_engine::{Addr, Process};
use verde_symbols::Module;

/// glibc describes its own structures for debuggers: bits, elements, offset.
const DESCRIPTION: &str = "_thread_db_link_map_l_tls_modid";

impl Images {
    /// The number under which a thread finds the block of a module.
    pub fn tls_number(&self, process: &Process, module: &Module) -> Option<u64> {
        let bias = self.bias(module)?;
        let images = process.modules();
        let record = images.iter().find(|m| m.bias == bias)?.record?;
        let described = self.loaded().iter().find_map(|l| {
            let mut all = l.module.symbols().iter();
            let symbol = all.find(|s| s.name == DESCRIPTION)?;
            Some(symbol.addr.at(l.bias))
        })?;
        let mut words = [0; 12];
        process.read(Addr(described), &mut words).ok()?;
        let [_, _, _, _, _, _, _, _, a, b, c, d] = words;
        let offset = u64::from(u32::from_le_bytes([a, b, c, d]));
        let mut number = [0; 8];
        process.read(record + offset, &mut number).ok()?;
        Some(u64::from_le_bytes(number)).filter(|n| *n != 0)
    }
}

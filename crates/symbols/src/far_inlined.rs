//! Inlined copies of functions that another unit describes: a crate is compiled in several units,
//! and link-time optimisation inlines across files.

use crate::index::{open_walker, share};
use crate::units::{DieId, Info};
use std::collections::HashMap;

/// The copies, by the function.
#[derive(Default)]
pub(crate) struct FarInlined {
    copies: HashMap<DieId, Vec<DieId>>,
}

impl FarInlined {
    pub fn build(info: &Info) -> FarInlined {
        let parts = share(info, |units| {
            let mut found = Vec::new();
            let mut walker = None;
            for unit in units {
                walker = open_walker(info, unit, walker.as_ref());
                let copies = walker.as_ref().map(|w| w.inlined_from_afar());
                for (offset, link) in copies.unwrap_or_default() {
                    let function = info.follow_link(unit, link);
                    found.extend(function.map(|f| (f, DieId { unit, offset })));
                }
            }
            found
        });
        let mut all = FarInlined::default();
        for (function, copy) in parts.into_iter().flatten() {
            all.copies.entry(function).or_default().push(copy);
        }
        all
    }

    /// Those of one function.
    pub fn of(&self, function: DieId) -> &[DieId] {
        self.copies.get(&function).map_or(&[], |c| c)
    }
}

//! Registers whose bits have names.

use verde_symbols::Type;

/// The type of the CPU's flags.
pub(crate) const EFLAGS: &str = "i386_eflags";
/// The type of the SSE unit's.
pub(crate) const MXCSR: &str = "i386_mxcsr";

const OF_CPU: [(u32, &str); 9] = [
    (0, "CF"),
    (2, "PF"),
    (4, "AF"),
    (6, "ZF"),
    (7, "SF"),
    (8, "TF"),
    (9, "IF"),
    (10, "DF"),
    (11, "OF"),
];

const OF_SSE: [(u32, &str); 14] = [
    (0, "IE"),
    (1, "DE"),
    (2, "ZE"),
    (3, "OE"),
    (4, "UE"),
    (5, "PE"),
    (6, "DAZ"),
    (7, "IM"),
    (8, "DM"),
    (9, "ZM"),
    (10, "OM"),
    (11, "UM"),
    (12, "PM"),
    (15, "FZ"),
];

/// The CPU's flags that are set, by name.
pub fn flag_names(value: u64) -> String {
    named(&OF_CPU, value)
}

/// The same of the SSE unit's.
pub fn mxcsr_names(value: u64) -> String {
    named(&OF_SSE, value)
}

/// The bits that are set of a register whose bits have names; `None` for other types.
pub(crate) fn set_flags(ty: &Type, value: u64) -> Option<String> {
    match ty.name()? {
        EFLAGS => Some(flag_names(value)),
        MXCSR => Some(mxcsr_names(value)),
        _ => None,
    }
}

fn named(names: &[(u32, &str)], value: u64) -> String {
    let set = names.iter().filter(|(bit, _)| value >> bit & 1 != 0);
    let names: Vec<&str> = set.map(|(_, name)| *name).collect();
    format!("[ {} ]", names.join(" "))
}

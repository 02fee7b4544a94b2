//! Bounds on what a file may contain, so that no input takes unbounded time or memory.

/// Largest property or scenario file, in bytes.
pub const FILE: usize = 16 << 20;
/// Largest Python block, in bytes. Longer code belongs in a functions file.
pub const BLOCK: usize = 64 << 10;
/// Deepest nesting of brackets or replacement fields in a block (CPython's own limit is 200).
pub const NESTING: usize = 200;
/// Deepest `*&*...` or `entry(entry(...))` of a parameter.
pub const PARAMETER_DEPTH: usize = 16;
pub const STATES: usize = 10_000;
pub const TRANSITIONS: usize = 50_000;
/// Different events of a property: their numbers have 16 bits.
pub const EVENTS: usize = 20_000;
/// Different parameters of one event, over all its transitions.
pub const PARAMETERS_OF_EVENT: usize = 1_000;
/// Parameters of `slice on`: a key is looked up in a small array on the event path.
pub const SLICE_PARAMETERS: usize = 8;
/// Parameters of one event.
pub const EVENT_PARAMETERS: usize = 64;
/// Deepest expression or statement of the typed subset.
pub const TYPED_DEPTH: usize = 100;

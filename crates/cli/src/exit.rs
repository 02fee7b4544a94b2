//! Exit codes, as `docs` and scripts rely on them.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub u8);

impl Exit {
    pub const OK: Exit = Exit(0);
    /// Usage, a tool's error, a block that raised, a malformed trace.
    pub const ERROR: Exit = Exit(1);
    pub const VIOLATED: u8 = 100;
    /// The stream was cut.
    pub const INCONCLUSIVE: Exit = Exit(101);
    pub const TIME_LIMIT: Exit = Exit(124);
    pub const INTERRUPTED: Exit = Exit(130);
}

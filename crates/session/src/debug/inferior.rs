//! What is known of the process as such: `info inferiors`, `info auxv`.

use super::Debugger;
use super::failure::{NOT_RUN, Result, failure};
use std::path::Path;
use verde_engine::Addr;
use verde_sys::procfs;

/// How an entry of the auxiliary vector is shown.
#[derive(Clone, Copy)]
enum Shown {
    Decimal,
    Hex,
    /// The address of a string.
    Text,
}

use Shown::{Decimal, Hex, Text};

/// Entries by number, as gdb describes them.
const ENTRIES: &[(u64, &str, &str, Shown)] = &[
    (0, "AT_NULL", "End of vector", Hex),
    (3, "AT_PHDR", "Program headers for program", Hex),
    (4, "AT_PHENT", "Size of program header entry", Decimal),
    (5, "AT_PHNUM", "Number of program headers", Decimal),
    (6, "AT_PAGESZ", "System page size", Decimal),
    (7, "AT_BASE", "Base address of interpreter", Hex),
    (8, "AT_FLAGS", "Flags", Hex),
    (9, "AT_ENTRY", "Entry point of program", Hex),
    (11, "AT_UID", "Real user ID", Decimal),
    (12, "AT_EUID", "Effective user ID", Decimal),
    (13, "AT_GID", "Real group ID", Decimal),
    (14, "AT_EGID", "Effective group ID", Decimal),
    (15, "AT_PLATFORM", "String identifying platform", Text),
    (
        16,
        "AT_HWCAP",
        "Machine-dependent CPU capability hints",
        Hex,
    ),
    (17, "AT_CLKTCK", "Frequency of times()", Decimal),
    (23, "AT_SECURE", "Boolean, was exec setuid-like?", Decimal),
    (25, "AT_RANDOM", "Address of 16 random bytes", Hex),
    (26, "AT_HWCAP2", "Extension of AT_HWCAP", Hex),
    (31, "AT_EXECFN", "File name of executable", Text),
    (
        33,
        "AT_SYSINFO_EHDR",
        "System-supplied DSO's ELF header",
        Hex,
    ),
    (
        51,
        "AT_MINSIGSTKSZ",
        "Minimum stack size for signal delivery",
        Hex,
    ),
];

/// A path is no longer.
const LONGEST: usize = 4096;

impl Debugger {
    pub(super) fn info_auxv(&mut self, _: &str) -> Result<()> {
        let Some(live) = &self.live else {
            return failure(NOT_RUN);
        };
        let vector = procfs::auxv(live.process.pid()).map_err(verde_engine::Error::Sys)?;
        let mut lines = Vec::new();
        for (kind, value) in vector.entries() {
            let known = ENTRIES.iter().find(|e| e.0 == kind);
            let (name, what, shown) = known.map_or(("???", "", Hex), |e| (e.1, e.2, e.3));
            let value = match shown {
                Decimal => value.to_string(),
                Hex => format!("{value:#x}"),
                Text => {
                    let text = live.process.read_c_string(Addr(value), LONGEST);
                    let text = text.unwrap_or_default();
                    format!("{value:#x} \"{}\"", text.escape_ascii())
                }
            };
            lines.push(format!("{kind:<4} {name:<20} {what:<30} {value}"));
        }
        self.say_all(lines, "No auxiliary vector.")
    }

    pub(super) fn info_inferiors(&mut self, _: &str) -> Result<()> {
        let (what, by) = match &self.live {
            Some(live) => (format!("process {}", live.process.pid()), "1 (native)"),
            None => ("<null>".to_owned(), ""),
        };
        // By exec it may have become another.
        let runs = self.live.as_ref().map(|live| live.process.pid());
        let runs = runs.and_then(|pid| procfs::executable(pid).ok());
        let own = std::path::absolute(&self.program)?;
        let is_own = |path: &Path| std::fs::canonicalize(&own).is_ok_and(|own| own == path);
        let program = runs.filter(|r| !is_own(r)).unwrap_or_else(|| own.clone());
        self.say("  Num  Description       Connection           Executable        ")?;
        self.say(&format!(
            "* 1    {what:<17} {by:<20} {} ",
            program.display()
        ))
    }
}

//! How much memory a process has.

use crate::{Tid, procfs};
use std::sync::OnceLock;

const PAGE: u64 = 4096;

/// Sizes in bytes, as the kernel counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// All mappings, without `[vsyscall]`, which is nobody's.
    pub mapped: u64,
    /// What of them is in pages of RAM.
    pub resident: u64,
    /// What of that is no file's and not shared by a mapping: it has written it, or has it from a fork.
    pub own: u64,
    /// The mappings that are not shared and can be written.
    pub writable: u64,
}

impl Sizes {
    /// Those of a process.
    pub fn of(pid: Tid) -> Option<Sizes> {
        let text = procfs::piece(format!("/proc/{pid}/statm")).ok()?;
        let mut pages = text.split(' ').map(|word| word.parse().ok());
        let mut next = || pages.next()?.map(|pages: u64| pages * PAGE);
        let (mapped, resident, of_files) = (next()?, next()?, next()?);
        let (_code, _libraries) = (next()?, next()?);
        Some(Sizes {
            mapped,
            resident,
            own: resident.saturating_sub(of_files),
            writable: next()?,
        })
    }
}

/// Whether [`Sizes::own`] counts every page that a process has written. Kernels before 6.18 count
/// by and by, and pages that are swapped out are no part of it.
pub fn count_every_page() -> bool {
    static EXACT: OnceLock<bool> = OnceLock::new();
    *EXACT.get_or_init(|| release() >= Some((6, 18))) && !has_swap()
}

fn release() -> Option<(u32, u32)> {
    let text = procfs::text("/proc/sys/kernel/osrelease".to_owned()).ok()?;
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

fn has_swap() -> bool {
    // SAFETY: the call fills the structure.
    unsafe {
        let mut about: libc::sysinfo = std::mem::zeroed();
        libc::sysinfo(&mut about) != 0 || about.totalswap != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::current_process;

    #[test]
    fn own_pages_are_counted() {
        let sizes = Sizes::of(current_process()).expect("sizes");
        assert!(sizes.own > 0 && sizes.own < sizes.resident && sizes.resident < sizes.mapped);
        assert!(sizes.writable > 0 && sizes.writable < sizes.mapped);
        assert_eq!(Sizes::of(Tid(i32::MAX)), None);
        assert!(release().is_some_and(|(major, _)| major >= 5));
    }
}

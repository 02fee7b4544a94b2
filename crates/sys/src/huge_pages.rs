//! The system's pools of huge pages, which programs take theirs from (`MAP_HUGETLB`).

use crate::procfs;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// No program can have any, for there are none. Where the kernel does not tell there may be some.
pub fn are_none() -> bool {
    static POOLS: OnceLock<Option<Vec<File>>> = OnceLock::new();
    let is_empty = |pool: &File| {
        let mut text = [0; 32];
        pool.read_at(&mut text, 0)
            .is_ok_and(|n| text[..n].trim_ascii() == b"0")
    };
    let pools = POOLS.get_or_init(pools).as_ref();
    pools.is_some_and(|pools| pools.iter().all(is_empty))
}

/// The files that tell how many pages there are of each size.
fn pools() -> Option<Vec<File>> {
    let sizes = fs::read_dir("/sys/kernel/mm/hugepages").ok()?;
    let open = |size: std::io::Result<fs::DirEntry>| File::open(size?.path().join("nr_hugepages"));
    sizes.map(|size| open(size).ok()).collect()
}

/// Bytes of the huge pages that the system has left and has promised to nobody.
pub fn free() -> u64 {
    let text = procfs::text("/proc/meminfo".to_owned()).unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(name));
        let number = line.and_then(|l| l.trim_start_matches(':').split_whitespace().next());
        number.and_then(|n| n.parse::<u64>().ok()).unwrap_or(0)
    };
    let pages = field("HugePages_Free").saturating_sub(field("HugePages_Rsvd"));
    pages * field("Hugepagesize") * 1024
}

//! Memory that a fork does not copy as it is: what the program excluded from
//! forks, what it wants cleared by them, and what it shares.

use crate::fork::{Copy, Frozen, fork};
use crate::leader::Leader;
use crate::snapshot::{Group, Item, Items};
use crate::{Error, Result, Warning};
use std::cell::OnceCell;
use verde_engine::{Addr, Process, Tid};
use verde_sys::huge_pages;
use verde_sys::memory::{Contents, Memory};
use verde_sys::number as n;
use verde_sys::pagemap::PageMap;
use verde_sys::procfs::{self, Mapping};
use verde_sys::ptrace;
use verde_sys::remote::RemoteError;
use verde_sys::sizes::{self, Sizes};

/// Shared memory kept with a snapshot, at most.
const MOST_SHARED: u64 = 64 << 20;
/// Where the kernel cannot tell, cleared memory is looked for in so many pages.
const LOOKED_AT: u64 = 16;
const PAGE: u64 = 4096;

/// A range with a property that its copies must get back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    start: Addr,
    len: u64,
    /// The advice that makes it forkable, and the one that takes that back.
    advice: (u64, u64),
}

const EXCLUDED: (u64, u64) = (n::MADV_DOFORK as u64, n::MADV_DONTFORK as u64);
const CLEARED: (u64, u64) = (n::MADV_KEEPONFORK as u64, n::MADV_WIPEONFORK as u64);

/// The mappings of a stopped process. Few of them are asked for as a rule, and all of them take
/// longer than most of a checkpoint.
pub(crate) struct Maps<'a> {
    of: Of<'a>,
    all: OnceCell<Vec<Mapping>>,
}

enum Of<'a> {
    Program(&'a Process),
    Memory(Memory),
    Frozen(Tid),
}

impl<'a> Maps<'a> {
    pub fn of(process: &'a Process) -> Maps<'a> {
        Maps::new(Of::Program(process))
    }

    /// Those of a frozen one, of which few are asked for.
    pub fn asking(pid: Tid) -> Result<Maps<'a>> {
        Ok(Maps::new(Of::Memory(Memory::open(pid)?)))
    }

    /// Those of a frozen one.
    pub fn of_frozen(pid: Tid) -> Maps<'a> {
        Maps::new(Of::Frozen(pid))
    }

    fn new(of: Of<'a>) -> Maps<'a> {
        Maps {
            of,
            all: OnceCell::new(),
        }
    }

    fn all(&self) -> Result<&[Mapping]> {
        if let Some(all) = self.all.get() {
            return Ok(all);
        }
        let all = match &self.of {
            Of::Program(process) => process.maps()?,
            Of::Memory(memory) => memory.maps()?,
            Of::Frozen(pid) => procfs::maps(*pid)?,
        };
        Ok(self.all.get_or_init(|| all))
    }

    /// Those that others have, too.
    fn shared(&self) -> Result<Vec<Mapping>> {
        let asked = match &self.of {
            Of::Program(process) => process.shared_maps().ok(),
            Of::Memory(memory) => memory.shared_maps().ok(),
            Of::Frozen(_) => None,
        };
        match asked {
            Some(shared) => Ok(shared),
            // Not every kernel can tell.
            None => Ok(self.all()?.iter().filter(|m| m.shared).cloned().collect()),
        }
    }

    /// Nobody but the process has what is there.
    pub fn is_own(&self, at: Addr) -> Result<bool> {
        let asked = match &self.of {
            Of::Program(process) => process.mapping_at(at).ok(),
            Of::Memory(memory) => memory.mapping_at(at).ok(),
            Of::Frozen(_) => None,
        };
        match asked {
            Some(mapping) => Ok(mapping.is_some_and(|m| !m.shared)),
            None => Ok(self.all()?.iter().any(|m| !m.shared && m.contains(at))),
        }
    }

    /// Huge pages of the system's pool that are the program's own, if the pool has too few left for
    /// another set of them.
    pub fn scarce_huge_pages(&self) -> Result<Option<u64>> {
        if huge_pages::are_none() {
            return Ok(None);
        }
        let taken = |m: &&Mapping| !m.shared && m.name.starts_with("/anon_hugepage");
        let taken = self.all()?.iter().filter(taken);
        let taken: u64 = taken.map(|m| m.end - m.start).sum();
        Ok((taken > 0 && huge_pages::free() < taken).then_some(taken))
    }

    /// Those that a copy does not have.
    fn missing_in(&self, copy: Tid) -> Result<Vec<&Mapping>> {
        let copied = procfs::maps(copy)?;
        // One that was killed has no memory at all.
        if copied.is_empty() {
            return Err(Error::Lost);
        }
        let is_there = |m: &Mapping| copied.iter().any(|c| c.start <= m.start && m.end <= c.end);
        Ok(self.all()?.iter().filter(|m| !is_there(m)).collect())
    }
}

/// Forks a process with all its memory. The copy is complete; the ranges tell
/// what its own copies must have changed. `group`: that of the program. `made`: a copy that
/// was made already, and the sizes of the original since.
pub(crate) fn fork_all(
    leader: &mut Leader,
    group: Group,
    maps: &Maps,
    made: Option<(Frozen, Option<Sizes>)>,
) -> Result<(Frozen, Vec<Range>)> {
    let (mut plain, here) = match made {
        Some(made) => made,
        None => {
            let copy = freeze(leader, group, Copy::default())?;
            (copy, Sizes::of(leader.remote.tid()))
        }
    };
    let there = Sizes::of(plain.pid);
    plain.is_small = there.as_ref().is_some_and(is_small);
    let ranges = uncopied(leader, maps, plain.pid, (here, there))?;
    if ranges.is_empty() {
        return Ok((plain, ranges));
    }
    let mut forkable = Vec::new();
    for range in ranges {
        match advise(leader, &range, range.advice.0) {
            Ok(()) => forkable.push(range),
            // Memory of devices stays excluded, and what the kernel may drop at any time cleared.
            Err(Error::Remote(RemoteError::Refused(_))) => {}
            Err(error) => return Err(error),
        }
    }
    if forkable.is_empty() {
        return Ok((plain, forkable));
    }
    let is_small = plain.is_small;
    drop(plain);
    let copy = freeze(leader, group, Copy::default());
    // Each, whatever becomes of the others.
    let back = |range| advise(leader, range, range.advice.1);
    let back: Vec<Result<()>> = forkable.iter().map(back).collect();
    let mut copy = copy?;
    copy.is_small = is_small;
    back.into_iter().collect::<Result<()>>()?;
    Ok((copy, forkable))
}

/// A frozen process with the same memory. `group`: that of the program.
pub(crate) fn share(leader: &mut Leader, group: Group) -> Result<Frozen> {
    let sharing = Copy {
        share_memory: true,
        ..Copy::default()
    };
    freeze(leader, group, sharing)
}

fn freeze(leader: &mut Leader, group: Group, copy: Copy) -> Result<Frozen> {
    Frozen::new(fork(leader, copy)?, group, leader.filtered)
}

/// Gives a copy's ranges the property that they had.
pub(crate) fn restore_ranges(leader: &mut Leader, ranges: &[Range]) -> Result<()> {
    ranges
        .iter()
        .try_for_each(|range| advise(leader, range, range.advice.1))
}

fn advise(leader: &mut Leader, range: &Range, advice: u64) -> Result<()> {
    let args = [range.start.0, range.len, advice];
    leader.call("madvise", n::SYS_madvise, &args).map(drop)
}

/// It is torn down in less time than it takes to have somebody else do that.
pub(crate) fn is_small(sizes: &Sizes) -> bool {
    const SMALL: u64 = 8 << 20;
    sizes.resident <= SMALL
}

/// What the copy lacks. `sizes`: those of the original and of the copy.
fn uncopied(
    leader: &Leader,
    maps: &Maps,
    copy: Tid,
    sizes: (Option<Sizes>, Option<Sizes>),
) -> Result<Vec<Range>> {
    let original = leader.remote.tid();
    // A copy is smaller by what was left out, and has fewer pages by what was cleared. The kernel
    // tells sizes much faster than maps and pages.
    let sizes = sizes.0.zip(sizes.1);
    let is_mapped = sizes.is_some_and(|(here, there)| here.mapped == there.mapped);
    let has_pages = sizes.is_some_and(|(here, there)| here.own == there.own);
    let is_whole = is_mapped && has_pages && sizes::count_every_page();
    let ranges = match is_whole {
        true => Vec::new(),
        false => lacking(leader, maps, copy, is_mapped)?,
    };
    // One that was killed meanwhile seems to have no memory that the copy could lack, and a copy
    // that was killed lacks all of it.
    ptrace::regs(original)?;
    ptrace::regs(copy).map_err(|_| Error::Lost)?;
    Ok(ranges)
}

/// The same by a look at everything. `is_mapped`: no mapping is missing.
fn lacking(leader: &Leader, maps: &Maps, copy: Tid, is_mapped: bool) -> Result<Vec<Range>> {
    let missing = match is_mapped {
        true => Vec::new(),
        false => maps.missing_in(copy)?,
    };
    let mut ranges: Vec<Range> = missing.iter().map(|m| range(m, EXCLUDED)).collect();
    let is_there = |map: &&Mapping| missing.iter().all(|m| m.start != map.start);
    let maps = maps.all()?.iter().filter(|m| can_be_cleared(m));
    let looked_at: Vec<&Mapping> = maps.filter(is_there).collect();
    let cleared = match lack_pages(&looked_at, leader.remote.tid(), copy) {
        Ok(lacking) => lacking,
        // Not every kernel can tell.
        Err(_) => {
            let memory = Contents::open(copy)?;
            let original_memory = leader.memory()?;
            let is_cleared = |map: &&Mapping| is_cleared(map, original_memory, &memory);
            looked_at.into_iter().filter(is_cleared).collect()
        }
    };
    ranges.extend(cleared.into_iter().map(|map| range(map, CLEARED)));
    Ok(ranges)
}

/// Those of which the first page with something in it is not in the copy.
fn lack_pages<'a>(
    maps: &[&'a Mapping],
    original: Tid,
    copy: Tid,
) -> verde_sys::Result<Vec<&'a Mapping>> {
    let (here, there) = (PageMap::open(original)?, PageMap::open(copy)?);
    let mut lacking = Vec::new();
    for map in maps {
        if let Some(page) = here.first_used(map.start, map.end)?
            && there.first_used(page, page + PAGE)?.is_none()
        {
            lacking.push(*map);
        }
    }
    Ok(lacking)
}

fn range(map: &Mapping, advice: (u64, u64)) -> Range {
    Range {
        start: map.start,
        len: map.end - map.start,
        advice,
    }
}

/// Only private memory without a file can be cleared by a fork.
fn can_be_cleared(map: &Mapping) -> bool {
    let anonymous = map.name.is_empty() || map.name.starts_with("[anon:");
    anonymous && !map.shared
}

/// The first page with contents is empty in the copy.
fn is_cleared(map: &Mapping, original: &Contents, copy: &Contents) -> bool {
    let mut page = [0u8; PAGE as usize];
    let pages = ((map.end - map.start) / PAGE).min(LOOKED_AT);
    for at in (0..pages).map(|i| map.start + i * PAGE) {
        if original.read(at, &mut page).is_err() {
            return false;
        }
        if page.iter().any(|b| *b != 0) {
            let mut other = [0u8; PAGE as usize];
            return copy.read(at, &mut other).is_ok() && other.iter().all(|b| *b == 0);
        }
    }
    false
}

/// Contents of memory shared with other processes, and so with the copies.
pub(crate) struct Shared(Vec<Piece>);

/// Memory that works with the process that made it, and with no copy of it.
pub(crate) fn bound(map: &Mapping) -> Option<&'static str> {
    // The kernel's side of it is not copied.
    let requests = map.name.starts_with("/[aio]");
    requests.then_some("asynchronous I/O (io_setup)")
}

struct Piece {
    at: Addr,
    name: String,
    /// Where in the file it begins.
    offset: u64,
    bytes: Vec<u8>,
    /// Its protection, if that has to be lifted to write it.
    closed: Option<u64>,
}

impl Shared {
    pub fn save(maps: &Maps, leader: &mut Leader, warnings: &mut Vec<Warning>) -> Result<Shared> {
        let mut list = Vec::new();
        let mut left = MOST_SHARED;
        let mut omitted = 0;
        let shared = maps.shared()?;
        if shared.iter().any(is_secret) {
            warnings.push(Warning::SecretMemory);
        }
        for map in &shared {
            if let Some(what) = bound(map) {
                return Err(Error::Unsupported(what));
            }
            let device = map.name.starts_with("/dev/")
                && !map.name.starts_with("/dev/shm/")
                && !map.name.starts_with("/dev/zero");
            if device || is_secret(map) {
                continue;
            }
            let len = map.end - map.start;
            // Many a large file is only ever read.
            let large_file = len > left && !map.name.ends_with(" (deleted)");
            if !map.write && (large_file || !is_closed(&shared, map, leader)?) {
                continue;
            }
            if len > left {
                omitted += len;
                continue;
            }
            left -= len;
            let mut bytes = vec![0; len as usize];
            // A mapping may be longer than its file.
            let got = leader.memory()?.read_some(map.start, &mut bytes);
            bytes.truncate(got);
            list.push(Piece {
                at: map.start,
                name: map.name.clone(),
                offset: map.offset,
                bytes,
                closed: (!map.write).then_some(map.protection() as u64),
            });
        }
        if omitted > 0 {
            warnings.push(Warning::SharedMemory(omitted));
        }
        Ok(Shared(list))
    }

    /// All of a file of this length is kept, for it is in memory.
    pub fn keeps<'a>(&self, path: impl Fn() -> &'a str, len: u64) -> bool {
        let is_all = |p: &Piece| p.offset == 0 && p.bytes.len() as u64 >= len && p.name == path();
        self.0.iter().any(is_all)
    }

    /// `borrow` gives the process that `memory` is of.
    pub fn restore(
        &self,
        memory: &Contents,
        leader: &mut Option<Leader>,
        borrow: impl Fn() -> Result<Leader>,
        without: &Items,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        if without.contains(Item::Shared) {
            return Ok(());
        }
        let mut cut = Vec::new();
        for piece in &self.0 {
            let mut now = vec![0; piece.bytes.len()];
            let got = memory.read_some(piece.at, &mut now);
            // Beyond the end of a file that was cut since there is no memory.
            if got < piece.bytes.len() {
                cut.push(piece.name.clone());
            }
            let bytes = &piece.bytes[..got];
            // Files are not touched without need.
            if now[..got] == *bytes {
                continue;
            }
            let Some(protection) = piece.closed else {
                memory.write(piece.at, bytes)?;
                continue;
            };
            let leader = Leader::get_or_borrow(leader, &borrow)?;
            let len = piece.bytes.len() as u64;
            protect(leader, piece.at, len, protection | WRITABLE)?;
            let written = memory.write(piece.at, bytes);
            protect(leader, piece.at, len, protection)?;
            written?;
        }
        if !cut.is_empty() {
            warnings.push(Warning::CutFiles(cut));
        }
        Ok(())
    }
}

fn is_secret(map: &Mapping) -> bool {
    is_secret_file(&map.name)
}

/// Nobody but the program reads it, and only as memory (`memfd_secret`).
pub(crate) fn is_secret_file(name: &str) -> bool {
    name.starts_with("/secretmem")
}

const WRITABLE: u64 = n::PROT_WRITE as u64;

fn protect(leader: &mut Leader, at: Addr, len: u64, protection: u64) -> Result<()> {
    let args = [at.0, len, protection];
    leader.call("mprotect", n::SYS_mprotect, &args).map(drop)
}

/// Memory that the program cannot write now, but could make writable, and that it does not write
/// in another place. The kernel tells that in no other way than by doing it.
fn is_closed(shared: &[Mapping], map: &Mapping, leader: &mut Leader) -> Result<bool> {
    let of_file = map.name.starts_with('/') || map.name.starts_with("[anon_shmem:");
    if !of_file || shared.iter().any(|other| writes(other, map)) {
        return Ok(false);
    }
    let (len, protection) = (map.end - map.start, map.protection() as u64);
    match protect(leader, map.start, len, protection | WRITABLE) {
        Ok(()) => protect(leader, map.start, len, protection).map(|()| true),
        Err(Error::Remote(RemoteError::Refused(_))) => Ok(false),
        Err(error) => Err(error),
    }
}

/// What is written to the one mapping is all of the other, too. Both are shared.
fn writes(one: &Mapping, other: &Mapping) -> bool {
    one.write
        && (one.inode, &one.name) == (other.inode, &other.name)
        && one.offset <= other.offset
        && other.offset + (other.end - other.start) <= one.offset + (one.end - one.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Program;
    use std::time::{Duration, Instant};
    use verde_engine::{Launch, Options, StopGuard};
    use verde_sys::ptrace::Go;
    use verde_sys::{signals, wait};

    fn launched() -> Process {
        let launch = Launch {
            program: "/bin/true".into(),
            ..Launch::default()
        };
        Process::launch(&launch, Options::default()).expect("launched")
    }

    fn borrowed(world: &mut StopGuard<'_>) -> Leader {
        world.calm().expect("calm");
        let scratch = world.scratch(4096).expect("memory");
        let instruction = world.syscall_instruction().expect("an instruction");
        let pid = world.pid();
        Leader::borrow(pid, instruction, scratch, &Program::plain(pid)).expect("borrowed")
    }

    #[test]
    fn every_kernel_tells_the_same_of_mappings() {
        let mut process = launched();
        let mut world = process.stop_all().expect("stopped");
        let mut leader = borrowed(&mut world);
        let (len, protection) = (3 * PAGE, (n::PROT_READ | n::PROT_WRITE) as u64);
        let kind = (n::MAP_SHARED | n::MAP_ANONYMOUS) as u64;
        let args = [0, len, protection, kind, u64::MAX, 0];
        let shared = leader.call("mmap", n::SYS_mmap, &args).expect("a mapping");
        let own = leader.scratch.data;
        let pid = world.pid();
        let asked = Maps::asking(pid).expect("its memory");
        for maps in [Maps::of(&world), asked, Maps::of_frozen(pid)] {
            let found = maps.shared().expect("mappings");
            let found: Vec<_> = found.iter().map(|m| (m.start, m.end, m.write)).collect();
            assert_eq!(found, [(Addr(shared), Addr(shared + len), true)]);
            assert!(maps.is_own(own).expect("a mapping"));
            assert!(!maps.is_own(Addr(shared)).expect("a mapping"));
            assert!(!maps.is_own(Addr(0)).expect("no mapping"));
        }
    }

    #[test]
    fn what_a_copy_lacks_is_not_asked_of_the_dead() {
        let mut process = launched();
        let mut world = process.stop_all().expect("stopped");
        let pid = world.pid();
        let mut leader = borrowed(&mut world);
        let copy = fork(&mut leader, Copy::default()).expect("a copy");
        let maps = Maps::of_frozen(pid);
        // Asked for while both lived.
        let sizes = || (Sizes::of(pid), Sizes::of(copy.pid()));
        let before = sizes();
        let lacks = |sizes| uncopied(&leader, &maps, copy.pid(), sizes);
        assert!(lacks(before).is_ok_and(|ranges| ranges.is_empty()));
        signals::send(pid, n::SIGKILL).expect("killed");
        // It is there until it was told that it will end.
        while wait::task(pid).is_ok_and(|status| !status.is_end()) {
            ptrace::resume(pid, Go::Continue, 0).expect("resumed");
        }
        assert!(lacks(before).is_err());
        assert!(lacks(sizes()).is_err());
    }

    #[test]
    fn a_copy_that_was_killed_is_lost_and_lacks_nothing() {
        let mut process = launched();
        let mut world = process.stop_all().expect("stopped");
        let pid = world.pid();
        let mut leader = borrowed(&mut world);
        let group = Group::of(pid).expect("a group");
        let copy = freeze(&mut leader, group, Copy::default()).expect("a copy");
        let sizes = Sizes::of(pid);
        signals::send(copy.pid, n::SIGKILL).expect("killed");
        while procfs::maps(copy.pid).is_ok_and(|maps| !maps.is_empty()) {
            std::thread::yield_now();
        }
        let maps = Maps::of_frozen(pid);
        let made = fork_all(&mut leader, group, &maps, Some((copy, sizes)));
        let made = made.map(drop);
        assert!(matches!(made, Err(Error::Lost)), "{made:?}");
    }

    #[test]
    fn a_copy_that_is_killed_while_it_is_looked_at_marks_no_memory() {
        let mut process = launched();
        let mut world = process.stop_all().expect("stopped");
        let pid = world.pid();
        let mut leader = borrowed(&mut world);
        let group = Group::of(pid).expect("a group");
        for round in 0..400 {
            let copy = freeze(&mut leader, group, Copy::default()).expect("a copy");
            let doomed = copy.pid;
            let made = std::thread::scope(|scope| {
                scope.spawn(move || {
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_micros(round) {
                        std::hint::spin_loop();
                    }
                    // It may have been dropped.
                    let _ = signals::send(doomed, n::SIGKILL);
                });
                // Without sizes everything is looked at.
                fork_all(
                    &mut leader,
                    group,
                    &Maps::of_frozen(pid),
                    Some((copy, None)),
                )
            });
            let ranges = made.map_or(0, |(_, ranges)| ranges.len());
            assert_eq!(ranges, 0, "round {round}");
        }
    }
}

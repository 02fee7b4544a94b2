//! What /proc says about a process.

use crate::error::{Result, SysError};
use crate::{Addr, Tid};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::OnceLock;

fn read(call: &'static str, path: String) -> Result<Vec<u8>> {
    whole(path).map_err(|e| SysError::from_io(call, &e))
}

/// All of a file of /proc. Nobody knows its size, so it is not asked for: checkpoints read
/// hundreds of them.
fn whole(path: String) -> std::io::Result<Vec<u8>> {
    contents(&File::open(path)?)
}

/// All of such a file as it is now.
pub(crate) fn contents(file: &File) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; 8192];
    let mut length = 0;
    loop {
        if length == bytes.len() {
            bytes.resize(2 * length, 0);
        }
        match file.read_at(&mut bytes[length..], length as u64) {
            Ok(0) => break,
            Ok(n) => length += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// All of a file of /proc, as text.
pub(crate) fn text(path: String) -> std::io::Result<String> {
    let bytes = whole(path)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// All of a file that the kernel writes in one piece: what is short is all.
pub(crate) fn piece(path: String) -> std::io::Result<String> {
    let file = File::open(path)?;
    let mut bytes = vec![0; 1024];
    loop {
        match file.read_at(&mut bytes, 0) {
            Ok(n) if n < bytes.len() => {
                bytes.truncate(n);
                return Ok(String::from_utf8_lossy(&bytes).into_owned());
            }
            Ok(_) => bytes.resize(8 * bytes.len(), 0),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// The threads of a process, as listed now.
pub fn threads(pid: Tid) -> Result<Vec<Tid>> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"))
        .map_err(|e| SysError::from_io("list /proc/pid/task", &e))?;
    let mut tids: Vec<Tid> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .map(Tid)
        .collect();
    tids.sort();
    Ok(tids)
}

/// Whether `tid` is a thread of `pid`.
pub fn is_thread_of(pid: Tid, tid: Tid) -> bool {
    fs::exists(format!("/proc/{pid}/task/{tid}")).unwrap_or(false)
}

/// The auxiliary vector's entry of a type, if there.
pub fn auxv(pid: Tid) -> Result<Auxv> {
    let bytes = read("read /proc/pid/auxv", format!("/proc/{pid}/auxv"))?;
    let words: Vec<u64> = bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|w| u64::from_ne_bytes(*w))
        .collect();
    Ok(Auxv { words })
}

/// The auxiliary vector: what the kernel told the program about itself.
#[derive(Clone, Debug, Default)]
pub struct Auxv {
    words: Vec<u64>,
}

impl Auxv {
    fn get(&self, kind: u64) -> Option<u64> {
        let pair = self
            .words
            .as_chunks::<2>()
            .0
            .iter()
            .find(|p| p[0] == kind)?;
        Some(pair[1])
    }

    /// Kinds and values, in the kernel's order.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u64)> {
        self.words.as_chunks::<2>().0.iter().map(|p| (p[0], p[1]))
    }

    /// The program's entry point.
    pub fn entry(&self) -> Option<Addr> {
        self.get(libc::AT_ENTRY).map(Addr)
    }

    /// The program headers in memory, and their number.
    pub fn program_headers(&self) -> Option<(Addr, u64)> {
        Some((Addr(self.get(libc::AT_PHDR)?), self.get(libc::AT_PHNUM)?))
    }

    /// Where the dynamic loader is; `None` for a static program.
    pub fn loader(&self) -> Option<Addr> {
        self.get(libc::AT_BASE).filter(|&a| a != 0).map(Addr)
    }

    /// Where the kernel's vDSO is.
    pub fn vdso(&self) -> Option<Addr> {
        self.get(libc::AT_SYSINFO_EHDR).map(Addr)
    }
}

/// One line of /proc/pid/maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First byte.
    pub start: Addr,
    /// One past the last byte.
    pub end: Addr,
    /// Readable.
    pub read: bool,
    /// Writable.
    pub write: bool,
    /// Executable.
    pub execute: bool,
    /// Shared with other processes (not copied on write).
    pub shared: bool,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file's inode; 0: there is no file.
    pub inode: u64,
    /// File path, `[heap]` and the like, or empty.
    pub name: String,
}

impl Mapping {
    /// The address lies in this mapping.
    pub fn contains(&self, at: Addr) -> bool {
        self.start <= at && at < self.end
    }

    /// The protection as mprotect takes it.
    pub fn protection(&self) -> i32 {
        (if self.read { libc::PROT_READ } else { 0 })
            | (if self.write { libc::PROT_WRITE } else { 0 })
            | (if self.execute { libc::PROT_EXEC } else { 0 })
    }
}

/// The memory map of a process, by rising address.
pub fn maps(pid: Tid) -> Result<Vec<Mapping>> {
    let text = read("read /proc/pid/maps", format!("/proc/{pid}/maps"))?;
    Ok(parse_maps(&String::from_utf8_lossy(&text)))
}

/// The mappings in the text of such a file.
pub(crate) fn parse_maps(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(mapping).collect()
}

/// The processes that threads of a process have started.
pub fn children(pid: Tid, threads: &[Tid]) -> Vec<Tid> {
    let mut list = Vec::new();
    for tid in threads {
        let text = text(format!("/proc/{pid}/task/{tid}/children"));
        let text = text.unwrap_or_default();
        list.extend(
            text.split_whitespace()
                .filter_map(|w| w.parse().ok())
                .map(Tid),
        );
    }
    list
}

/// A timer made by `timer_create`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PosixTimer {
    /// Its id.
    pub id: i32,
    /// The signal it sends.
    pub signal: i32,
    /// The value that comes with the signal.
    pub value: u64,
    /// How it tells (`SIGEV_SIGNAL` and so on).
    pub notify: i32,
    /// The thread it tells, if it is one.
    pub thread: Option<Tid>,
    /// Its clock.
    pub clock: i32,
}

/// The timers made by `timer_create` in a process.
pub fn timers(pid: Tid) -> Result<Vec<PosixTimer>> {
    let text = read("read /proc/pid/timers", format!("/proc/{pid}/timers"));
    // Kernels without checkpoint support have no such file.
    let text = text.unwrap_or_default();
    Ok(parse_timers(&String::from_utf8_lossy(&text)))
}

fn parse_timers(text: &str) -> Vec<PosixTimer> {
    let lines: Vec<&str> = text.lines().collect();
    lines.chunks(4).filter_map(timer).collect()
}

fn timer(lines: &[&str]) -> Option<PosixTimer> {
    let mut lines = lines.iter();
    let mut field = |name: &str| lines.next()?.strip_prefix(name);
    let id = field("ID: ")?.parse().ok()?;
    let (signal, value) = field("signal: ")?.split_once('/')?;
    let (how, whom) = field("notify: ")?.split_once('/')?;
    let clock = field("ClockID: ")?.parse().ok()?;
    let thread = whom.strip_prefix("tid.").and_then(|t| t.parse().ok());
    let notify = match (how, thread) {
        ("none", _) => libc::SIGEV_NONE,
        ("thread", _) => libc::SIGEV_THREAD,
        (_, Some(_)) => libc::SIGEV_THREAD_ID,
        _ => libc::SIGEV_SIGNAL,
    };
    Some(PosixTimer {
        id,
        signal: signal.parse().ok()?,
        value: u64::from_str_radix(value, 16).ok()?,
        notify,
        thread: thread.map(Tid),
        clock,
    })
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || {
        rest = rest.trim_start_matches(' ');
        let (word, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = tail;
        word
    };
    let (start, end) = field().split_once('-')?;
    let flags = field().as_bytes();
    let offset = u64::from_str_radix(field(), 16).ok()?;
    let _device = field();
    let inode = field().parse().unwrap_or(0);
    Some(Mapping {
        start: Addr(u64::from_str_radix(start, 16).ok()?),
        end: Addr(u64::from_str_radix(end, 16).ok()?),
        read: flags.first() == Some(&b'r'),
        write: flags.get(1) == Some(&b'w'),
        execute: flags.get(2) == Some(&b'x'),
        shared: flags.get(3) == Some(&b's'),
        offset,
        inode,
        name: rest.trim_start_matches(' ').to_string(),
    })
}

/// The executable of a process.
pub fn executable(pid: Tid) -> Result<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe"))
        .map_err(|e| SysError::from_io("read /proc/pid/exe", &e))
}

/// Whether the next child of a process is in another pid namespace than the process itself.
pub fn has_namespace_for_children(pid: Tid) -> bool {
    static OURS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let link = |pid: Tid, name: &str| fs::read_link(format!("/proc/{pid}/ns/{name}")).ok();
    let theirs = link(pid, "pid_for_children");
    // It is ours as a rule, and one look tells.
    if theirs.is_some() && theirs == *OURS.get_or_init(|| fs::read_link("/proc/self/ns/pid").ok()) {
        return false;
    }
    // One without any process has no name yet.
    link(pid, "pid").is_some_and(|own| theirs != Some(own))
}

/// The value of a `Name:` line of /proc/pid/task/tid/status.
pub fn status_field(pid: Tid, tid: Tid, name: &str) -> Option<String> {
    let text = text(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let line = text
        .lines()
        .find(|l| l.strip_prefix(name).is_some_and(|r| r.starts_with(':')))?;
    Some(line[name.len() + 1..].trim().to_string())
}

/// The system call that a thread is blocked in; `None`: it runs, or is stopped elsewhere.
pub fn blocked_in(pid: Tid, tid: Tid) -> Option<i64> {
    let text = text(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    text.split(' ').next()?.parse().ok()
}

/// How often a process got a page of memory, or a copy of one, so far.
pub fn faults(pid: Tid) -> Option<u64> {
    let text = text(format!("/proc/{pid}/stat")).ok()?;
    // The name can hold anything but is the last in parentheses.
    let rest = &text[text.rfind(')')? + 1..];
    rest.split_whitespace().nth(7)?.parse().ok()
}

/// Bytes of memory that a process has alone, and its share of what it has in
/// common with others (Pss).
pub fn proportional_size(pid: Tid) -> Result<u64> {
    let text = read("read smaps_rollup", format!("/proc/{pid}/smaps_rollup"))?;
    let text = String::from_utf8_lossy(&text);
    let field = text.lines().find_map(|l| l.strip_prefix("Pss:"));
    let number = field.and_then(|f| f.split_whitespace().next()?.parse::<u64>().ok());
    Ok(number.unwrap_or(0) * 1024)
}

/// The highest of all scores: where memory runs out its process is killed first.
pub const FIRST_TO_GO: i32 = 1000;

/// How soon a process is killed where memory runs out (`oom_score_adj`).
pub fn oom_score(pid: Tid) -> Option<i32> {
    let text = text(format!("/proc/{pid}/oom_score_adj")).ok()?;
    text.trim().parse().ok()
}

/// Chooses it, for all processes with the same memory.
pub fn set_oom_score(pid: Tid, score: i32) -> Result<()> {
    fs::write(format!("/proc/{pid}/oom_score_adj"), score.to_string())
        .map_err(|e| SysError::from_io("write /proc/pid/oom_score_adj", &e))
}

/// What a thread may do, as text: two threads with the same may do the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The mode of seccomp and how many filters it has.
    pub seccomp: (String, String),
    /// Users, groups and capabilities.
    pub credentials: Vec<String>,
}

/// What a thread may do.
pub fn rights(pid: Tid, tid: Tid) -> Option<Rights> {
    const CREDENTIALS: [&str; 7] = [
        "Uid",
        "Gid",
        "Groups",
        "CapInh",
        "CapPrm",
        "CapEff",
        "NoNewPrivs",
    ];
    let text = text(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let mut seccomp = (String::new(), String::new());
    let mut credentials = vec![String::new(); CREDENTIALS.len()];
    for (name, value) in text.lines().filter_map(|l| l.split_once(':')) {
        let field = match name {
            "Seccomp" => &mut seccomp.0,
            "Seccomp_filters" => &mut seccomp.1,
            _ => match CREDENTIALS.iter().position(|c| *c == name) {
                Some(i) => &mut credentials[i],
                None => continue,
            },
        };
        *field = value.trim().to_owned();
    }
    Some(Rights {
        seccomp,
        credentials,
    })
}

/// The seccomp filters of a thread are this process's, if this process has started its program:
/// they are inherited, and can only become more.
pub fn has_our_filters(pid: Tid, tid: Tid) -> bool {
    let us = crate::signals::current_process();
    let of = |pid, tid| rights(pid, tid).map(|rights| rights.seccomp);
    // Old kernels do not count them.
    of(pid, tid).is_some_and(|its| !its.1.is_empty() && of(us, us) == Some(its))
}

/// The id of a thread in the innermost PID namespace it is in.
pub fn inner_id(pid: Tid, tid: Tid) -> Option<Tid> {
    let ids = status_field(pid, tid, "NSpid")?;
    ids.split_whitespace().last()?.parse().ok().map(Tid)
}

/// How long a thread has run on a CPU.
pub fn run_time(pid: Tid, tid: Tid) -> Option<std::time::Duration> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    let nanoseconds = text.split(' ').next()?.parse().ok()?;
    Some(std::time::Duration::from_nanos(nanoseconds))
}

/// A thread's stat file kept open, to ask cheaply for its state and CPU.
#[derive(Debug)]
pub struct Stat {
    file: File,
}

impl Stat {
    /// Opens the stat file of a thread.
    pub fn open(pid: Tid, tid: Tid) -> Result<Stat> {
        let file = File::open(format!("/proc/{pid}/task/{tid}/stat"))
            .map_err(|e| SysError::from_io("open /proc/pid/stat", &e))?;
        Ok(Stat { file })
    }

    /// The n-th field as numbered in proc(5), for n > 2.
    fn field<T: std::str::FromStr>(&self, n: usize) -> Option<T> {
        let mut line = [0u8; 1024];
        let len = self.file.read_at(&mut line, 0).ok()?;
        // The second field is the command in parentheses and may hold spaces.
        let after = line[..len].iter().rposition(|&b| b == b')')? + 2;
        let field = line.get(after..len)?.split(|&b| b == b' ').nth(n - 3)?;
        std::str::from_utf8(field).ok()?.trim().parse().ok()
    }

    /// The CPU the thread last ran on.
    pub fn cpu(&self) -> Option<usize> {
        self.field(39)
    }

    /// Its session has a controlling terminal.
    pub fn has_terminal(&self) -> bool {
        self.field::<i64>(7).is_some_and(|device| device != 0)
    }

    /// The state letter: R, S, D, Z, T, t, X.
    pub fn state(&self) -> Option<char> {
        self.field(3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals;

    #[test]
    fn parses_maps_with_spaces_in_names() {
        let line = "7f00a000-7f00b000 r-xp 00001000 08:01 131   /tmp/a b (deleted)";
        let m = mapping(line).expect("a mapping");
        assert_eq!(m.start, Addr(0x7f00_a000));
        assert!(m.read && !m.write && m.execute && !m.shared);
        assert_eq!(m.name, "/tmp/a b (deleted)");
        assert_eq!(m.offset, 0x1000);
        assert!(mapping("nonsense").is_none());
    }

    #[test]
    fn parses_timers() {
        let text = "ID: 1\nsignal: 10/00000000000000ff\nnotify: signal/pid.42\nClockID: 1\n\
                    ID: 0\nsignal: 32/0000000000000001\nnotify: signal/tid.43\nClockID: 0\n";
        let timers = parse_timers(text);
        assert_eq!(timers.len(), 2);
        assert_eq!(
            (timers[0].id, timers[0].value, timers[0].clock),
            (1, 255, 1)
        );
        assert_eq!(timers[0].notify, libc::SIGEV_SIGNAL);
        assert_eq!(timers[1].thread, Some(Tid(43)));
        assert_eq!(timers[1].notify, libc::SIGEV_THREAD_ID);
    }

    #[test]
    fn own_process_is_readable() {
        let pid = signals::current_process();
        assert!(threads(pid).expect("threads").contains(&pid));
        assert!(auxv(pid).expect("auxv").entry().is_some());
        assert!(maps(pid).expect("maps").iter().any(|m| m.name == "[stack]"));
        let stat = Stat::open(pid, pid).expect("stat");
        assert!(stat.cpu().is_some());
        assert!(matches!(stat.state(), Some('R' | 'S' | 'D')));
    }
}

//! Who waits for whom: threads asleep in the kernel for a mutex, for the
//! end of another thread, or to be woken. Read from the system call itself, so that it needs
//! no debug information of the C library.

use super::Debugger;
use super::failure::Result;
use super::live::Live;
use verde_engine::{Addr, Tid};
use verde_expr::symbol_text;
use verde_sys::procfs::inner_id;

/// What a thread waits for.
enum Wait {
    /// A mutex at an address, which a thread holds; it may be itself.
    Mutex(u64, Tid),
    /// That another thread ends.
    End(Tid),
    /// To be woken at an address: a condition variable, a semaphore, a lock that does not note
    /// its holder.
    Wake(u64),
}

impl Wait {
    /// The thread that it waits for.
    fn on(&self) -> Option<Tid> {
        match self {
            Wait::Mutex(_, other) | Wait::End(other) => Some(*other),
            Wait::Wake(_) => None,
        }
    }
}

const SYS_FUTEX: u64 = 202;
/// The operation without its flags.
const COMMAND: u64 = 127;
const FUTEX_WAIT: u64 = 0;
const FUTEX_WAIT_BITSET: u64 = 9;
/// A mutex of the C library that somebody waits for.
const LOCKED_AND_WAITED_FOR: i32 = 2;
/// A part of a thread's descriptor in the C library that holds its id; each is longer.
const DESCRIPTOR: usize = 1024;

/// A mutex of the C library, by its words: the lock, how often a recursive one is held, the
/// holder, the users, the kind, how often it was tried, and the links of a list.
struct Mutex([i32; 10]);

impl Mutex {
    /// The id of its holder. Other locks have the same word for being waited for, and small
    /// numbers beside it that can be the ids of threads: all must be as in a mutex.
    fn holder(&self) -> Option<i32> {
        const TYPE: i32 = 3;
        const RECURSIVE: i32 = 1;
        /// Between processes; with or without elision. Others have more in the lock's word.
        const OPTIONS: i32 = 0x80 | 0x100 | 0x200;
        let Mutex([lock, times, holder, users, kind, _, links @ ..]) = self;
        let is_kind = kind & !(TYPE | OPTIONS) == 0;
        let is_recursive = kind & TYPE == RECURSIVE;
        // The links are for those that survive their holders.
        let is_mutex = *lock == LOCKED_AND_WAITED_FOR
            && is_kind
            && is_recursive == (*times != 0)
            && *users != 0
            && *links == [0; 4];
        is_mutex.then_some(*holder)
    }
}

/// The threads of a program, by the ids that it knows them by: others in a namespace of its own.
struct Ids(Vec<(Tid, Tid)>);

impl Ids {
    fn of(live: &Live) -> Ids {
        let pid = live.process.pid();
        let own = |tid: Tid| (inner_id(pid, tid).unwrap_or(tid), tid);
        Ids(live.process.threads().into_iter().map(own).collect())
    }

    fn find(&self, own: i32) -> Option<Tid> {
        let mut all = self.0.iter();
        all.find(|(id, _)| id.0 == own).map(|(_, tid)| *tid)
    }

    fn own(&self, thread: Tid) -> Option<i32> {
        let mut all = self.0.iter();
        all.find(|(_, tid)| *tid == thread).map(|(id, _)| id.0)
    }
}

impl Live {
    fn wait_of(&self, tid: Tid, ids: &Ids) -> Option<Wait> {
        let regs = self.process.regs(tid).ok()?;
        let is_call = regs.orig_rax == SYS_FUTEX;
        let is_wait = matches!(regs.rsi & COMMAND, FUTEX_WAIT | FUTEX_WAIT_BITSET);
        if !is_call || !is_wait {
            return None;
        }
        let [now] = self.words(regs.rdi)?;
        if let Some(other) = ids.find(now)
            && other != tid
            && self.is_id_of_thread(regs.rdi, ids.own(tid)?, regs.fs_base)
        {
            return Some(Wait::End(other));
        }
        let mutex = self.words(regs.rdi).map(Mutex);
        let holder = mutex.and_then(|mutex| ids.find(mutex.holder()?));
        Some(match holder {
            Some(holder) => Wait::Mutex(regs.rdi, holder),
            None => Wait::Wake(regs.rdi),
        })
    }

    /// Whether an address is where the C library has the id of a thread, which the kernel clears
    /// when it ends, waking who joins it. The value alone does not tell: in a namespace ids are as
    /// small as the states of locks. So it must lie in a thread's descriptor, as far from its
    /// start as the waiting thread's own id from the start of its own.
    fn is_id_of_thread(&self, at: u64, own_id: i32, own_start: u64) -> bool {
        let Some(own) = self.words::<{ DESCRIPTOR / 4 }>(own_start) else {
            return false;
        };
        let words = (0..).step_by(4).zip(own);
        let mut places = words.filter(|(_, word)| *word == own_id);
        places.any(|(offset, _)| {
            // A descriptor starts with its own address: the instruction set has no other way to
            // ask for it.
            let start = at.checked_sub(offset);
            let mut first = [0; 8];
            start.is_some_and(|start| {
                let read = self.process.read(Addr(start), &mut first);
                read.is_ok() && u64::from_ne_bytes(first) == start
            })
        })
    }

    fn words<const N: usize>(&self, at: u64) -> Option<[i32; N]> {
        let mut bytes = vec![0; N * 4];
        self.process.read(Addr(at), &mut bytes).ok()?;
        let (words, _) = bytes.as_chunks();
        let mut words = words.iter().map(|word| i32::from_ne_bytes(*word));
        Some(std::array::from_fn(|_| words.next().unwrap_or(0)))
    }
}

impl Debugger {
    /// Says which threads wait for others, and whether they do so in a circle.
    pub(super) fn say_waits(&mut self) -> Result<()> {
        let Some(live) = &self.live else {
            return Ok(());
        };
        let number = |tid: Tid| live.process.thread_number(tid).unwrap_or(0);
        let ids = Ids::of(live);
        let mut waits = Vec::new();
        for (thread, tid) in live.process.numbered_threads() {
            if live.process.is_stopped(tid)
                && let Some(wait) = live.wait_of(tid, &ids)
            {
                waits.push((thread, wait.on().map(number), wait));
            }
        }
        let others = waits.iter().filter_map(|(a, b, _)| Some((*a, (*b)?)));
        let edges: Vec<(usize, usize)> = others.filter(|(a, b)| a != b).collect();
        for (thread, other, wait) in waits {
            let text = match (wait, other) {
                (Wait::Mutex(at, _), Some(other)) if other == thread => {
                    let place = self.futex_text(at);
                    let text = format!(
                        "Thread {thread} waits for the mutex at {place}, which it holds itself: \
                         a deadlock."
                    );
                    self.style.strong(&text)
                }
                (Wait::Mutex(at, _), Some(other)) => format!(
                    "Thread {thread} waits for the mutex at {}, which thread {other} holds.",
                    self.futex_text(at)
                ),
                (Wait::End(_), Some(other)) => {
                    format!("Thread {thread} waits for the end of thread {other}.")
                }
                (Wait::Mutex(at, _) | Wait::Wake(at), None) | (Wait::Wake(at), Some(_)) => format!(
                    "Thread {thread} waits to be woken at {}; nothing there says by whom.",
                    self.futex_text(at)
                ),
                (Wait::End(_), None) => continue,
            };
            self.say(&text)?;
        }
        match circle(&edges) {
            Some(threads) => {
                let names: Vec<String> = threads.iter().map(usize::to_string).collect();
                let text = format!(
                    "Threads {} wait for each other: a deadlock.",
                    names.join(", ")
                );
                let text = self.style.strong(&text);
                self.say(&text)
            }
            None => Ok(()),
        }
    }

    /// An address, and the variable there.
    fn futex_text(&mut self, at: u64) -> String {
        let symbol = symbol_text(&self.here(), at, true);
        symbol.map_or_else(|| format!("{at:#x}"), |s| format!("{at:#x} {s}"))
    }
}

/// Threads that wait for each other, each for one other.
fn circle(edges: &[(usize, usize)]) -> Option<Vec<usize>> {
    let next = |from: usize| edges.iter().find(|e| e.0 == from).map(|e| e.1);
    edges.iter().find_map(|(start, _)| {
        let mut path = vec![*start];
        let mut at = next(*start)?;
        while at != *start {
            if path.contains(&at) {
                return None;
            }
            path.push(at);
            at = next(at)?;
        }
        Some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::circle;

    #[test]
    fn circles_are_found() {
        assert_eq!(circle(&[]), None);
        assert_eq!(circle(&[(1, 2), (2, 3)]), None);
        assert_eq!(circle(&[(1, 2), (2, 3), (3, 2)]), Some(vec![2, 3]));
        assert_eq!(circle(&[(1, 2), (2, 4), (4, 1)]), Some(vec![1, 2, 4]));
    }
}

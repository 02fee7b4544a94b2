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
/// A mutex of the C library that somebody waits for; its holder comes two words later.
const LOCKED_AND_WAITED_FOR: i32 = 2;
const HOLDER: u64 = 8;

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
}

impl Live {
    fn wait_of(&self, tid: Tid, ids: &Ids) -> Option<Wait> {
        let regs = self.process.regs(tid).ok()?;
        let is_call = regs.orig_rax == SYS_FUTEX;
        let is_wait = matches!(regs.rsi & COMMAND, FUTEX_WAIT | FUTEX_WAIT_BITSET);
        if !is_call || !is_wait {
            return None;
        }
        let word = |at: u64| {
            let mut bytes = [0; 4];
            self.process.read(Addr(at), &mut bytes).ok()?;
            Some(i32::from_ne_bytes(bytes))
        };
        let now = word(regs.rdi)?;
        if now == LOCKED_AND_WAITED_FOR {
            let holder = regs.rdi.checked_add(HOLDER).and_then(word);
            let holder = holder.and_then(|number| ids.find(number));
            return Some(match holder {
                Some(holder) => Wait::Mutex(regs.rdi, holder),
                None => Wait::Wake(regs.rdi),
            });
        }
        // The C library clears the id of a thread when it ends, and wakes who joins it.
        let ending = ids.find(now).filter(|other| *other != tid);
        Some(ending.map_or(Wait::Wake(regs.rdi), Wait::End))
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

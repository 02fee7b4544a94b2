//! Who waits for whom: threads asleep in the kernel for a mutex, or for the
//! end of another thread. Read from the system call itself, so that it needs
//! no debug information of the C library.

use super::Debugger;
use super::failure::Result;
use super::live::Live;
use verde_engine::{Addr, Tid};
use verde_expr::symbol_text;
use verde_sys::procfs::inner_id;

/// What a thread waits for.
enum Wait {
    /// A mutex at an address, which another thread holds.
    Mutex(u64, Tid),
    /// That another thread ends.
    End(Tid),
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
        let known = |number: i32| ids.find(number).filter(|other| *other != tid);
        let now = word(regs.rdi)?;
        if now == LOCKED_AND_WAITED_FOR {
            let holder = known(word(regs.rdi.checked_add(HOLDER)?)?)?;
            return Some(Wait::Mutex(regs.rdi, holder));
        }
        // The C library clears the id of a thread when it ends, and wakes who joins it.
        known(now).map(Wait::End)
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
                let other = match wait {
                    Wait::Mutex(_, holder) => number(holder),
                    Wait::End(other) => number(other),
                };
                waits.push((thread, other, wait));
            }
        }
        let edges: Vec<(usize, usize)> = waits.iter().map(|(a, b, _)| (*a, *b)).collect();
        for (thread, other, wait) in waits {
            let text = match wait {
                Wait::Mutex(at, _) => {
                    let symbol = symbol_text(&self.here(), at, true);
                    let symbol = symbol.map_or(String::new(), |s| format!(" {s}"));
                    format!(
                        "Thread {thread} waits for the mutex at {at:#x}{symbol}, \
                         which thread {other} holds."
                    )
                }
                Wait::End(_) => format!("Thread {thread} waits for the end of thread {other}."),
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

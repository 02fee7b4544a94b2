//! What epoll instances wait for. An instance is shared with the present
//! process; only a process with the descriptors in its table can change it.

use crate::Result;
use crate::leader::Leader;
use crate::snapshot::{Item, Items};
use std::os::fd::RawFd;
use verde_engine::Tid;
use verde_sys::descriptor::Descriptor;
use verde_sys::descriptors::is_waited_for;
use verde_sys::number as n;

const ADD: u64 = 1;
const DELETE: u64 = 2;
const MODIFY: u64 = 3;

/// The epoll instances of a process.
pub(super) struct Epolls {
    list: Vec<Epoll>,
    /// Numbers of files for signals (signalfd): who waits on one waits for the
    /// signals of the process that began to wait, which is gone.
    signals: Vec<RawFd>,
}

struct Epoll {
    number: RawFd,
    waits: Vec<Wait>,
    /// Files that are open under other numbers only than those that it knows them by.
    moved: Vec<Moved>,
}

struct Moved {
    /// The number that it is known by.
    on: RawFd,
    /// One that it has.
    number: RawFd,
    /// Flags of another file that has the former.
    taken: Option<i32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Wait {
    on: RawFd,
    events: u32,
    data: u64,
}

/// `       5 events:       19 data:                5  pos:0 ino:...`
fn wait(text: &str) -> Option<Wait> {
    let mut words = text.split_whitespace();
    let on = words.next()?.parse().ok()?;
    let mut field = |name: &str| {
        words.find(|w| *w == name)?;
        u64::from_str_radix(words.next()?, 16).ok()
    };
    Some(Wait {
        on,
        events: field("events:")? as u32,
        data: field("data:")?,
    })
}

fn waits(descriptor: &Descriptor) -> Vec<Wait> {
    descriptor.fields("tfd").filter_map(wait).collect()
}

/// The inode of what is waited for.
fn inode(text: &str) -> Option<u64> {
    let inode = text
        .split_whitespace()
        .find_map(|w| w.strip_prefix("ino:"))?;
    u64::from_str_radix(inode, 16).ok()
}

/// Which files an instance knows by numbers that they do not have any more.
fn moved(pid: Tid, epoll: &Descriptor, list: &[Descriptor]) -> Vec<Moved> {
    let mut moved = Vec::new();
    let mut seen: Vec<RawFd> = Vec::new();
    for text in epoll.fields("tfd") {
        let (Some(wait), Some(inode)) = (wait(text), inode(text)) else {
            continue;
        };
        let nth = seen.iter().filter(|on| **on == wait.on).count() as u32;
        seen.push(wait.on);
        // Old kernels do not tell it.
        let is_it = |d: &Descriptor| d.field("ino").and_then(|i| i.parse().ok()) == Some(inode);
        let there = list.binary_search_by_key(&wait.on, |d| d.number).ok();
        if there.is_some_and(|i| is_it(&list[i])) {
            continue;
        }
        let mut found = list.iter().filter(|d| is_it(d)).map(|d| d.number);
        let same = |n: &RawFd| is_waited_for(pid, *n, epoll.number, wait.on, nth);
        if let Some(number) = found.find(same) {
            moved.push(Moved {
                on: wait.on,
                number,
                taken: there.map(|i| list[i].all_flags()),
            });
        }
    }
    moved
}

impl Epolls {
    pub fn save(pid: Tid, list: &[Descriptor]) -> Epolls {
        let epolls = list.iter().filter(|d| d.anonymous() == Some("[eventpoll]"));
        let epolls = epolls.map(|d| Epoll {
            number: d.number,
            waits: waits(d),
            moved: moved(pid, d, list),
        });
        let signals = list.iter().filter(|d| d.anonymous() == Some("[signalfd]"));
        Epolls {
            list: epolls.collect(),
            signals: signals.map(|d| d.number).collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Some instance waits for a file of this number.
    pub fn wait_on(&self, number: RawFd) -> bool {
        let mut waits = self.list.iter().flat_map(|e| &e.waits);
        waits.any(|w| w.on == number)
    }

    /// `new`: numbers of files that were made anew, which no instance knows;
    /// their predecessors leave it by themselves.
    pub fn restore(
        &self,
        pid: Tid,
        leader: &mut Leader,
        new: impl Fn(RawFd) -> bool,
        without: &Items,
    ) -> Result<()> {
        if without.contains(Item::Epoll) {
            return Ok(());
        }
        for epoll in &self.list {
            let Ok(now) = Descriptor::of(pid, epoll.number) else {
                continue;
            };
            let mut now = waits(&now);
            now.retain(|n| !new(n.on));
            let is_bound = |w: &Wait| self.signals.contains(&w.on);
            let is_over = |w: &Wait| is_bound(w) || !epoll.waits.iter().any(|e| e.on == w.on);
            for old in now.extract_if(.., |w| is_over(w)) {
                tell(control(leader, epoll.number, DELETE, &old));
            }
            for wait in epoll.waits.iter().filter(|w| !now.contains(w)) {
                if let Some(moved) = epoll.moved.iter().find(|m| m.on == wait.on) {
                    tell(moved.add(leader, epoll.number, wait));
                    continue;
                }
                let known = now.iter().any(|n| n.on == wait.on);
                let ways = if known { [MODIFY, ADD] } else { [ADD, MODIFY] };
                // Another name of an instance has done it, or the file under
                // this number is another one than that which is waited for.
                let done = control(leader, epoll.number, ways[0], wait);
                tell(done.or_else(|_| control(leader, epoll.number, ways[1], wait)));
            }
        }
        Ok(())
    }
}

impl Moved {
    /// Adds the file under the number that it had.
    fn add(&self, leader: &mut Leader, epoll: RawFd, wait: &Wait) -> Result<()> {
        let (on, number) = (self.on as u64, self.number as u64);
        let aside = match self.taken {
            Some(_) => Some(leader.call("fcntl", n::SYS_fcntl, &[on, n::F_DUPFD as u64, 0])?),
            None => None,
        };
        let there = leader.call("dup3", n::SYS_dup3, &[number, on, 0]);
        let done = there.and_then(|_| control(leader, epoll, ADD, wait));
        match aside {
            Some(aside) => {
                let flags = self.taken.unwrap_or_default() & n::O_CLOEXEC;
                leader.call("dup3", n::SYS_dup3, &[aside, on, flags as u64])?;
                leader.call("close", n::SYS_close, &[aside])?;
            }
            None => drop(leader.call("close", n::SYS_close, &[on])?),
        }
        done
    }
}

fn control(leader: &mut Leader, epoll: RawFd, operation: u64, wait: &Wait) -> Result<()> {
    let mut event = wait.events.to_ne_bytes().to_vec();
    event.extend(wait.data.to_ne_bytes());
    let at = leader.place(0, &event)?;
    let args = [epoll as u64, operation, wait.on as u64, at];
    leader.call("epoll_ctl", n::SYS_epoll_ctl, &args)?;
    Ok(())
}

fn tell(done: Result<()>) {
    if let Err(error) = done {
        // Waiting on a file that is open under another number only.
        tracing::debug!(%error, "an epoll entry is not restored");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn entries_as_the_kernel_writes_them() {
        let text = "        5 events:       19 data:         deadbeef  pos:0 ino:61af sdev:7";
        let wait = super::wait(text).expect("an entry");
        assert_eq!((wait.on, wait.events, wait.data), (5, 0x19, 0xdead_beef));
    }
}

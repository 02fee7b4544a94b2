//! Pipes and pairs of sockets with both ends in the process: what is on its
//! way through them.

use crate::Result;
use crate::leader::Leader;
use crate::snapshot::{Item, Items};
use std::os::fd::{AsFd, RawFd};
use verde_sys::descriptors::{self, Descriptor};
use verde_sys::number as n;
use verde_sys::pidfd::PidFd;
use verde_sys::unix_sockets::UnixSockets;

/// The pipes of a process that both begin and end in it.
pub(super) struct Pipes {
    list: Vec<Pipe>,
    /// Nobody else has an end of them, so they can be made anew. Otherwise a
    /// frozen copy that keeps them open would keep their readers waiting.
    own: bool,
    /// A number above every descriptor.
    above: RawFd,
}

/// Each end with all its numbers and their flags.
struct Pipe {
    read: Vec<(RawFd, i32)>,
    write: Vec<(RawFd, i32)>,
    size: i32,
    contents: Vec<u8>,
}

impl Pipes {
    /// `alone`: the process has no children that could have inherited ends.
    pub fn save(list: &[Descriptor], handle: &PidFd, alone: bool) -> Result<Pipes> {
        let mut pipes = Vec::new();
        let mut seen = Vec::new();
        for reader in list.iter().filter(|d| d.reads()) {
            let Some(inode) = reader.inode("pipe").filter(|i| !seen.contains(i)) else {
                continue;
            };
            seen.push(inode);
            let end = |on: fn(&Descriptor) -> bool| -> Vec<(RawFd, i32)> {
                let same = list
                    .iter()
                    .filter(|d| on(d) && d.inode("pipe") == Some(inode));
                same.map(|d| (d.number, d.flags())).collect()
            };
            let write = end(Descriptor::writes);
            if write.is_empty() {
                continue;
            }
            let fd = handle.descriptor(reader.number)?;
            pipes.push(Pipe {
                read: end(Descriptor::reads),
                write,
                size: descriptors::pipe_size(fd.as_fd())?,
                contents: descriptors::pipe_contents(fd.as_fd())?,
            });
        }
        let above = list.iter().map(|d| d.number + 1).max().unwrap_or(0);
        Ok(Pipes {
            list: pipes,
            own: alone,
            above,
        })
    }

    /// A copy can do without them and gets them anew.
    pub fn are_own(&self) -> bool {
        self.own && !self.list.is_empty()
    }

    /// Closes them in a frozen copy.
    pub fn close(&self, frozen: &mut Leader) -> Result<()> {
        for (number, _) in self.list.iter().flat_map(|p| p.read.iter().chain(&p.write)) {
            frozen.call("close", n::SYS_close, &[*number as u64])?;
        }
        Ok(())
    }

    /// Makes them anew in a copy of the frozen one.
    pub fn make(&self, leader: &mut Leader, without: &Items) -> Result<()> {
        if without.contains(Item::Pipes) {
            return Ok(());
        }
        for pipe in &self.list {
            let at = leader.place(0, &[0; 8])?;
            leader.call("pipe2", n::SYS_pipe2, &[at, 0])?;
            let [both] = leader.words(0)?;
            // Out of the way of the numbers that they shall have.
            let mut ends = [both & 0xffff_ffff, both >> 32];
            for end in &mut ends {
                let args = [*end, n::F_DUPFD as u64, self.above as u64];
                let moved = leader.call("fcntl", n::SYS_fcntl, &args)?;
                leader.call("close", n::SYS_close, &[*end])?;
                *end = moved;
            }
            for (end, numbers) in ends.into_iter().zip([&pipe.read, &pipe.write]) {
                for (number, flags) in numbers {
                    let args = [end, *number as u64, (flags & n::O_CLOEXEC) as u64];
                    leader.call("dup3", n::SYS_dup3, &args)?;
                }
                leader.call("close", n::SYS_close, &[end])?;
            }
        }
        Ok(())
    }

    /// Gives them the contents they had.
    pub fn restore(&self, handle: &PidFd, without: &Items) -> Result<()> {
        if without.contains(Item::Pipes) {
            return Ok(());
        }
        for pipe in &self.list {
            let (Some((reader, read_flags)), Some((writer, write_flags))) =
                (pipe.read.first(), pipe.write.first())
            else {
                continue;
            };
            if self.own {
                descriptors::set_pipe_size(handle.descriptor(*reader)?.as_fd(), pipe.size)?;
            } else {
                descriptors::drain(handle.descriptor(*reader)?)?;
            }
            if !pipe.contents.is_empty() {
                descriptors::fill(handle.descriptor(*writer)?, &pipe.contents)?;
            }
            super::set_flags_of(&handle.descriptor(*reader)?, *read_flags)?;
            super::set_flags_of(&handle.descriptor(*writer)?, *write_flags)?;
        }
        Ok(())
    }
}

/// The connected sockets of a process that both belong to it.
pub(super) struct Pairs(Vec<Way>);

/// One direction of a pair.
struct Way {
    from: RawFd,
    to: RawFd,
    flags: i32,
    stream: bool,
    messages: Vec<Vec<u8>>,
}

impl Pairs {
    /// The pairs, and the numbers of the sockets that lead elsewhere.
    pub fn save(list: &[Descriptor], handle: &PidFd) -> Result<(Pairs, Vec<RawFd>)> {
        let mut ways = Vec::new();
        let mut external = Vec::new();
        let mut diagnosis = None;
        let mut seen = Vec::new();
        for to in list {
            let Some(inode) = to.inode("socket").filter(|i| !seen.contains(i)) else {
                continue;
            };
            seen.push(inode);
            if diagnosis.is_none() {
                diagnosis = UnixSockets::open().ok();
            }
            let ask = |d: &UnixSockets| d.peer(inode).ok().flatten();
            let peer = diagnosis.as_ref().and_then(ask);
            let is_peer = |d: &&Descriptor| peer.is_some() && d.inode("socket") == peer;
            let Some(from) = list.iter().find(is_peer) else {
                external.push(to.number);
                continue;
            };
            let mut way = Way {
                from: from.number,
                to: to.number,
                flags: to.flags(),
                stream: descriptors::is_stream(handle.descriptor(to.number)?.as_fd())?,
                messages: Vec::new(),
            };
            way.messages = way.take(handle)?;
            way.put(handle)?;
            ways.push(way);
        }
        Ok((Pairs(ways), external))
    }

    pub fn restore(&self, handle: &PidFd, without: &Items) -> Result<()> {
        if without.contains(Item::Pairs) {
            return Ok(());
        }
        for way in &self.0 {
            way.take(handle)?;
            way.put(handle)?;
            super::set_flags_of(&handle.descriptor(way.to)?, way.flags)?;
        }
        Ok(())
    }
}

impl Way {
    /// Takes out what has not been received.
    fn take(&self, handle: &PidFd) -> Result<Vec<Vec<u8>>> {
        if self.stream {
            let bytes = descriptors::drain(handle.descriptor(self.to)?)?;
            return Ok(if bytes.is_empty() {
                Vec::new()
            } else {
                vec![bytes]
            });
        }
        let mut messages = Vec::new();
        while let Some(message) = descriptors::take_message(handle.descriptor(self.to)?)? {
            messages.push(message);
        }
        Ok(messages)
    }

    /// Sends it again.
    fn put(&self, handle: &PidFd) -> Result<()> {
        for message in &self.messages {
            descriptors::fill(handle.descriptor(self.from)?, message)?;
        }
        Ok(())
    }
}

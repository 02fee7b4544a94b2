//! Pipes and pairs of sockets with both ends in the process: what is on its
//! way through them.

use crate::Result;
use crate::snapshot::{Item, Items};
use std::os::fd::{AsFd, RawFd};
use verde_sys::descriptors::{self, Descriptor};
use verde_sys::pidfd::PidFd;
use verde_sys::unix_sockets::UnixSockets;

/// The pipes of a process that both begin and end in it.
pub(super) struct Pipes(Vec<Pipe>);

struct Pipe {
    read: (RawFd, i32),
    write: (RawFd, i32),
    contents: Vec<u8>,
}

impl Pipes {
    pub fn save(list: &[Descriptor], handle: &PidFd) -> Result<Pipes> {
        let mut pipes = Vec::new();
        let mut seen = Vec::new();
        for reader in list.iter().filter(|d| d.reads()) {
            let Some(inode) = reader.inode("pipe").filter(|i| !seen.contains(i)) else {
                continue;
            };
            let same = |d: &&Descriptor| d.writes() && d.inode("pipe") == Some(inode);
            let Some(writer) = list.iter().find(same) else {
                continue;
            };
            seen.push(inode);
            let end = handle.descriptor(reader.number)?;
            pipes.push(Pipe {
                read: (reader.number, reader.flags()),
                write: (writer.number, writer.flags()),
                contents: descriptors::pipe_contents(end.as_fd())?,
            });
        }
        Ok(Pipes(pipes))
    }

    pub fn restore(&self, handle: &PidFd, without: &Items) -> Result<()> {
        if without.contains(Item::Pipes) {
            return Ok(());
        }
        for pipe in &self.0 {
            let (number, flags) = pipe.read;
            descriptors::drain(handle.descriptor(number)?)?;
            super::set_flags_of(&handle.descriptor(number)?, flags)?;
            let (number, flags) = pipe.write;
            if !pipe.contents.is_empty() {
                descriptors::fill(handle.descriptor(number)?, &pipe.contents)?;
            }
            super::set_flags_of(&handle.descriptor(number)?, flags)?;
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

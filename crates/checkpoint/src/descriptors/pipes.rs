//! Pipes and FIFOs with both ends in the process, and pipes that nobody writes
//! to any more: what is on its way through them.

use super::epoll::Epolls;
use super::numbers::{self, Numbers};
use super::theirs::Theirs;
use crate::Result;
use crate::leader::Leader;
use crate::snapshot::{Item, Items};
use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::os::fd::{AsFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use verde_sys::descriptor::Descriptor;
use verde_sys::descriptors::{self, Readable};
use verde_sys::inherited;
use verde_sys::number as n;
use verde_sys::pidfd::PidFd;

/// The pipes of a process that end in it, and begin nowhere else.
pub(super) struct Pipes {
    list: Vec<Pipe>,
    above: u64,
}

struct Pipe {
    read: Numbers,
    write: Numbers,
    /// Nobody else has an end of it, so it can be made anew. Otherwise a
    /// frozen copy that keeps it open would keep its readers waiting.
    own: bool,
    size: i32,
    /// Packets, or everything at once.
    contents: Vec<Vec<u8>>,
}

/// How to treat our own input, if the process has it, too.
pub(super) struct Inputs<'a> {
    /// We read it ourselves: it stays.
    pub keep: bool,
    /// One of these that waits on it would go on with the present open file, which we keep open.
    pub epolls: &'a Epolls,
}

const ENDED: Readable = Readable {
    data: false,
    closed: true,
};

fn is_the_same(d: &Descriptor, ours: impl AsFd) -> bool {
    let ours = descriptors::identity(ours);
    ours.is_some() && d.about().map(|m| (m.dev(), m.ino())) == ours
}

fn is_our_input(d: &Descriptor) -> bool {
    is_the_same(d, io::stdin())
}

fn is_our_standard(d: &Descriptor) -> bool {
    is_our_input(d) || is_the_same(d, io::stdout()) || is_the_same(d, io::stderr())
}

/// A pipe that whoever started us left open, as make does for those whom it lets work: what is in
/// it is not the program's.
fn is_of_others(node: u64) -> bool {
    inherited::shared()
        .iter()
        .any(|s| s.is_pipe && s.node == node)
}

/// Who started us has it, and has left it to the program through us.
pub(super) fn is_inherited(d: &Descriptor) -> bool {
    let is_left_open = |about: &Metadata| {
        let mut shared = inherited::shared().iter();
        shared.any(|s| (s.device, s.node) == (about.dev(), about.ino()))
    };
    d.about().is_some_and(is_left_open) || is_our_standard(d)
}

/// The numbers of those of which children have ends, too, or others that the process has started:
/// children of before a restart, or children's children that are nobody's. As long as a frozen
/// copy has one, the end does not come that somebody may wait for.
pub(super) fn of_children(list: &[Descriptor], handle: &PidFd, theirs: &Theirs<'_>) -> Vec<RawFd> {
    let pipes: Vec<_> = list.iter().filter_map(|d| Some((d, d.pipe()?))).collect();
    let mut ends: HashMap<u64, (bool, bool)> = HashMap::new();
    for (d, number) in &pipes {
        let (read, write) = ends.entry(*number).or_default();
        *read |= d.reads();
        *write |= d.writes();
    }
    // Somebody else has the other end of a pipe that has no name: who has it from the process as a
    // rule.
    let leads_out = |d: &Descriptor, number| ends[&number] != (true, true) && !is_left(d, handle);
    let is_theirs = |(d, number): &(&Descriptor, u64)| {
        (theirs.have("pipe", *number) || leads_out(d, *number)) && !theirs.are_older(d)
    };
    let shared = pipes.into_iter().filter(is_theirs);
    shared.map(|(d, _)| d.number).collect()
}

/// Nobody has the other end of a pipe.
fn is_left(d: &Descriptor, handle: &PidFd) -> bool {
    match d.open_file() {
        Some(end) => descriptors::is_left(end),
        // One that cannot be asked is not looked at either.
        None => handle
            .descriptor(d.number)
            .map_or(true, |end| descriptors::is_left(end.as_fd())),
    }
}

/// Which pipe a descriptor leads to, and whether it has a name.
fn pipe_of(d: &Descriptor) -> Option<(u64, u64, bool)> {
    if let Some(inode) = d.pipe() {
        return Some((0, inode, false));
    }
    let meta = d.about()?;
    let fifo = meta.file_type().is_fifo() && d.flags() & n::O_PATH == 0;
    fifo.then(|| (meta.dev(), meta.ino(), true))
}

impl Pipe {
    /// Gives a new one what it held.
    fn fill(&self, handle: &PidFd, writer: RawFd) -> Result<()> {
        let end = handle.descriptor(writer)?;
        descriptors::set_pipe_size(end.as_fd(), self.size)?;
        if self.contents.len() > 1 {
            // Packets.
            super::set_flags_of(&end, n::O_DIRECT)?;
        }
        for piece in &self.contents {
            descriptors::fill(handle.descriptor(writer)?, piece)?;
        }
        Ok(())
    }
}

impl Pipes {
    /// `theirs`: what children have. Also the numbers of
    /// those from which the process reads what others write.
    pub fn save(
        list: &[Descriptor],
        handle: &PidFd,
        theirs: &Theirs<'_>,
        inputs: Inputs<'_>,
    ) -> Result<(Pipes, Vec<RawFd>)> {
        let mut ends: HashMap<_, Vec<&Descriptor>> = HashMap::new();
        let mut of_readers = Vec::new();
        for d in list {
            if let Some(id) = pipe_of(d) {
                ends.entry(id).or_default().push(d);
                of_readers.extend(d.reads().then_some((d, id)));
            }
        }
        let mut pipes = Vec::new();
        let mut external = Vec::new();
        for (reader, id) in of_readers {
            // A second reader finds them gone.
            let Some(here) = ends.remove(&id) else {
                continue;
            };
            let has_writer = here.iter().any(|d| d.writes());
            if has_writer && is_of_others(id.1) {
                continue;
            }
            let fd = handle.descriptor(reader.number)?;
            let own = !id.2 && theirs.leave("pipe", id.1);
            if !has_writer {
                let there = descriptors::readable(fd.as_fd());
                let ours = is_our_input(reader);
                if there == ENDED || (inputs.keep && ours) {
                    continue;
                }
                let waits = |d: &&Descriptor| d.reads() && inputs.epolls.wait_on(d.number);
                let waited_for = ours && here.iter().any(waits);
                // With all that it will ever hold it can be made anew.
                if !there.closed || !own || waited_for {
                    external.push(reader.number);
                    continue;
                }
            }
            let read = Numbers::of(here.iter().copied(), Descriptor::reads);
            let write = Numbers::of(here.iter().copied(), Descriptor::writes);
            let mut contents = descriptors::pipe_contents(fd.as_fd())?;
            if write
                .first()
                .is_some_and(|(_, flags)| flags & n::O_DIRECT == 0)
            {
                contents = vec![contents.concat()];
            }
            contents.retain(|c| !c.is_empty());
            pipes.push(Pipe {
                read,
                write,
                own,
                size: descriptors::pipe_size(fd.as_fd())?,
                contents,
            });
        }
        let pipes = Pipes {
            list: pipes,
            above: numbers::above(list),
        };
        Ok((pipes, external))
    }

    fn own(&self) -> impl Iterator<Item = &Pipe> {
        self.list.iter().filter(|p| p.own)
    }

    /// A copy can do without some, and gets them anew.
    pub fn are_own(&self) -> bool {
        self.own().next().is_some()
    }

    /// Such a one has this number.
    pub fn are_new(&self, number: RawFd) -> bool {
        self.own()
            .any(|p| p.read.contain(number) || p.write.contain(number))
    }

    /// Closes those in a frozen copy.
    pub fn close(&self, frozen: &mut Leader) -> Result<()> {
        for pipe in self.own() {
            pipe.read.close(frozen)?;
            pipe.write.close(frozen)?;
        }
        Ok(())
    }

    /// Makes them anew in a copy of the frozen one.
    pub fn make(&self, leader: &mut Leader, handle: &PidFd, without: &Items) -> Result<()> {
        if without.contains(Item::Pipes) {
            return Ok(());
        }
        for pipe in self.own() {
            let at = leader.place(0, &[0; 8])?;
            leader.call("pipe2", n::SYS_pipe2, &[at, 0])?;
            if pipe.write.first().is_none() {
                // Now or never.
                let [both] = leader.words(0)?;
                pipe.fill(handle, (both >> 32) as RawFd)?;
            }
            numbers::give_both(leader, [&pipe.read, &pipe.write], self.above)?;
        }
        Ok(())
    }

    /// Gives them the contents they had.
    pub fn restore(&self, handle: &PidFd, without: &Items) -> Result<()> {
        if without.contains(Item::Pipes) {
            return Ok(());
        }
        for pipe in &self.list {
            let Some((reader, read_flags)) = pipe.read.first() else {
                continue;
            };
            let Some((writer, write_flags)) = pipe.write.first() else {
                super::set_flags_of(&handle.descriptor(reader)?, read_flags)?;
                continue;
            };
            match pipe.own {
                true => descriptors::set_pipe_size(handle.descriptor(reader)?.as_fd(), pipe.size)?,
                false => drop(descriptors::drain(handle.descriptor(reader)?)?),
            }
            // The first, for packets are what is written with that flag.
            super::set_flags_of(&handle.descriptor(writer)?, write_flags)?;
            for piece in &pipe.contents {
                descriptors::fill(handle.descriptor(writer)?, piece)?;
            }
            super::set_flags_of(&handle.descriptor(reader)?, read_flags)?;
        }
        Ok(())
    }
}

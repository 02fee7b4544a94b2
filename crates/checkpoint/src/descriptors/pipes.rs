//! Pipes and FIFOs with both ends in the process: what is on its way through them. And pipes of
//! which others have the other end, or had.
//!
//! A frozen copy that kept an end open would keep whoever waits at the other end waiting, so it
//! keeps none that its successors can have back.

use super::epoll::Epolls;
use super::numbers::{self, Numbers};
use super::{Held, own_files};
use crate::Result;
use crate::leader::Leader;
use crate::snapshot::{Item, Items};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use verde_sys::descriptor::Descriptor;
use verde_sys::descriptors::{self, Readable};
use verde_sys::inherited;
use verde_sys::number as n;
use verde_sys::pidfd::PidFd;
use verde_sys::pipe_ends;

/// The pipes of a process that can be brought back.
pub(super) struct Pipes {
    list: Vec<Pipe>,
    above: u64,
}

struct Pipe {
    read: Numbers,
    write: Numbers,
    others: Others,
    size: i32,
    /// Packets, or everything at once.
    contents: Vec<Vec<u8>>,
}

/// Who else has an end of a pipe.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// Nobody, so it can be made anew.
    Nobody,
    /// Children, it seems. While somebody has one the pipe, which has this number, can be opened
    /// again there.
    Somebody(u64),
    /// It has a name, or there is no room to make others: it stays open in the frozen copy.
    Unknown,
}

/// Which pipes frozen copies can do without.
#[derive(Clone, Copy)]
pub(super) struct Sharing {
    /// The process has no children that could have inherited ends.
    pub alone: bool,
    /// It has room for other descriptors beside its own.
    pub room: bool,
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

/// The program has it from us, as we have it from others.
fn is_our_output(d: &Descriptor) -> bool {
    is_the_same(d, io::stdout()) || is_the_same(d, io::stderr())
}

/// A pipe that whoever started us left open, as make does for those whom it lets work: what is in
/// it is not the program's.
fn is_of_others(node: u64) -> bool {
    inherited::shared()
        .iter()
        .any(|s| s.is_pipe && s.node == node)
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

impl Sharing {
    /// Who else has an end of a pipe with both ends in the process, or that nobody writes to any
    /// more. `is_free`: copies can do without it.
    fn others(self, is_free: bool, number: u64) -> Others {
        match (is_free, self.alone) {
            (false, _) => Others::Unknown,
            (true, true) => Others::Nobody,
            (true, false) => Others::Somebody(number),
        }
    }
}

impl Pipe {
    /// One with these ends.
    fn look(here: &[&Descriptor], handle: &PidFd, others: Others) -> Result<Pipe> {
        let read = Numbers::of(here.iter().copied(), Descriptor::reads);
        let write = Numbers::of(here.iter().copied(), Descriptor::writes);
        let (reader, writer) = (read.first(), write.first());
        let mut contents = match reader {
            Some((reader, _)) => descriptors::pipe_contents(handle.descriptor(reader)?.as_fd())?,
            None => Vec::new(),
        };
        if writer.is_some_and(|(_, flags)| flags & n::O_DIRECT == 0) {
            contents = vec![contents.concat()];
        }
        contents.retain(|c| !c.is_empty());
        let size = match reader.or(writer) {
            Some((end, _)) => descriptors::pipe_size(handle.descriptor(end)?.as_fd())?,
            None => 0,
        };
        Ok(Pipe {
            read,
            write,
            others,
            size,
            contents,
        })
    }

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
    /// Also the numbers of those from which the process reads what others write.
    pub fn save(
        list: &[Descriptor],
        handle: &PidFd,
        sharing: Sharing,
        inputs: Inputs<'_>,
    ) -> Result<(Pipes, Vec<RawFd>)> {
        let mut all: BTreeMap<_, Vec<&Descriptor>> = BTreeMap::new();
        for d in list.iter().filter(|d| d.reads() || d.writes()) {
            if let Some(id) = pipe_of(d) {
                all.entry(id).or_default().push(d);
            }
        }
        let mut pipes = Vec::new();
        let mut external = Vec::new();
        for ((_, number, is_named), here) in all {
            let reader = here.iter().find(|d| d.reads());
            let has_writer = here.iter().any(|d| d.writes());
            let is_free = sharing.room && !is_named;
            // Who knows whether one of somebody else could be opened again.
            let is_of_child = is_free && !sharing.alone && !is_of_others(number);
            let found = match (reader, has_writer) {
                (Some(_), true) if is_of_others(number) => None,
                (Some(_), true) => Some(sharing.others(is_free, number)),
                (Some(reader), false) => {
                    let there = descriptors::readable(handle.descriptor(reader.number)?.as_fd());
                    let ours = is_our_input(reader);
                    if there == ENDED || (inputs.keep && ours) {
                        continue;
                    }
                    let waits = |d: &&Descriptor| inputs.epolls.wait_on(d.number);
                    let waited_for = ours && here.iter().any(waits);
                    let found = match there.closed {
                        // With all that it will ever hold it can be made anew.
                        true if waited_for || !is_free || (ours && !sharing.alone) => None,
                        true => Some(sharing.others(is_free, number)),
                        false if ours || !is_of_child => None,
                        false => Some(Others::Somebody(number)),
                    };
                    if found.is_none() || !there.closed {
                        external.push(reader.number);
                    }
                    found
                }
                (None, _) if !is_of_child || here.iter().any(|d| is_our_output(d)) => None,
                (None, _) => Some(Others::Somebody(number)),
            };
            if let Some(others) = found {
                pipes.push(Pipe::look(&here, handle, others)?);
            }
        }
        external.sort_unstable();
        let pipes = Pipes {
            list: pipes,
            above: numbers::above(list),
        };
        Ok((pipes, external))
    }

    /// Those that a frozen copy does without.
    fn let_go(&self) -> impl Iterator<Item = &Pipe> {
        self.list.iter().filter(|p| p.others != Others::Unknown)
    }

    /// There are such ones.
    pub fn are_let_go(&self) -> bool {
        self.let_go().next().is_some()
    }

    /// The numbers of the pipes that others have, too.
    pub fn shared(&self) -> Vec<u64> {
        let shared = self.list.iter().filter_map(|p| match p.others {
            Others::Somebody(number) => Some(number),
            _ => None,
        });
        shared.collect()
    }

    /// A copy gets the descriptor with this number anew.
    pub fn are_new(&self, number: RawFd) -> bool {
        self.let_go()
            .any(|p| p.read.contain(number) || p.write.contain(number))
    }

    /// Closes those that a frozen copy does without.
    pub fn close(&self, frozen: &mut Leader) -> Result<()> {
        for pipe in self.let_go() {
            pipe.read.close(frozen)?;
            pipe.write.close(frozen)?;
        }
        Ok(())
    }

    /// Makes them anew in a copy of the frozen one, or opens those again of which others still
    /// have an end: their numbers.
    pub fn make(
        &self,
        leader: &mut Leader,
        handle: &PidFd,
        held: &Held,
        without: &Items,
    ) -> Result<Vec<u64>> {
        let mut opened = Vec::new();
        if without.contains(Item::Pipes) {
            return Ok(opened);
        }
        let shared = self.shared();
        let places = match shared.is_empty() {
            true => BTreeMap::new(),
            false => pipe_ends::places(&shared, &held.numbers()),
        };
        for pipe in self.let_go() {
            if let Others::Somebody(number) = pipe.others
                && let Some(place) = places.get(&number)
                && self.open(pipe, (number, place), leader, handle)?
            {
                opened.push(number);
                continue;
            }
            let at = leader.place(0, &[0; 8])?;
            leader.call("pipe2", n::SYS_pipe2, &[at, 0])?;
            if pipe.write.first().is_none() {
                // Now or never.
                let [both] = leader.words(0)?;
                pipe.fill(handle, (both >> 32) as RawFd)?;
            }
            numbers::give_both(leader, [&pipe.read, &pipe.write], self.above)?;
        }
        Ok(opened)
    }

    /// Opens one again where somebody has an end of it. `false`: not there any more.
    fn open(
        &self,
        pipe: &Pipe,
        (number, place): (u64, &str),
        leader: &mut Leader,
        handle: &PidFd,
    ) -> Result<bool> {
        let mut files = Vec::new();
        let mut is_there = true;
        for (numbers, mode) in [(&pipe.read, n::O_RDONLY), (&pipe.write, n::O_WRONLY)] {
            if numbers.first().is_none() || !is_there {
                continue;
            }
            let file = own_files::open(leader, place, mode)?;
            is_there = match file {
                Some(file) => {
                    let found = descriptors::identity(handle.descriptor(file as RawFd)?);
                    found.is_some_and(|(_, found)| found == number)
                }
                None => false,
            };
            files.extend(file.map(|file| (file, numbers)));
        }
        for (file, numbers) in files {
            if is_there {
                let file = numbers::move_away(leader, file, self.above)?;
                numbers.give(leader, file)?;
            } else {
                leader.call("close", n::SYS_close, &[file])?;
            }
        }
        Ok(is_there)
    }

    /// Gives them the contents they had. `opened`: what [`Pipes::make`] has told.
    pub fn restore(&self, handle: &PidFd, opened: &[u64], without: &Items) -> Result<()> {
        if without.contains(Item::Pipes) {
            return Ok(());
        }
        for pipe in &self.list {
            let (reader, writer) = (pipe.read.first(), pipe.write.first());
            let (Some((reader, read_flags)), Some((writer, write_flags))) = (reader, writer) else {
                if let Some((end, flags)) = reader.or(writer) {
                    super::set_flags_of(&handle.descriptor(end)?, flags)?;
                }
                continue;
            };
            let is_new = match pipe.others {
                Others::Nobody => true,
                Others::Somebody(number) => !opened.contains(&number),
                Others::Unknown => false,
            };
            match is_new {
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

//! Pairs of connected Unix sockets that both belong to the process: what was
//! sent and not yet received. The program's own are only looked at.

use super::numbers::{self, Numbers};
use super::theirs::Theirs;
use crate::Result;
use crate::leader::Leader;
use crate::snapshot::{Item, Items};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use verde_sys::descriptor::Descriptor;
use verde_sys::number as n;
use verde_sys::pidfd::PidFd;
use verde_sys::sockets::{self, SocketOptions, Unread};
use verde_sys::unix_sockets::{UnixSocket, UnixSockets};

/// The pairs of a process.
pub(super) struct Pairs {
    list: Vec<Pair>,
    above: u64,
}

struct Pair {
    ends: [End; 2],
    /// Nobody else has an end of it, so it can be made anew.
    own: bool,
}

/// One end; without numbers if it was closed.
struct End {
    numbers: Numbers,
    socket: UnixSocket,
    state: Option<State>,
}

/// What an open end has.
struct State {
    options: SocketOptions,
    unread: Unread,
}

/// Sockets that are no pairs, or whose contents cannot come back.
#[derive(Default)]
pub(super) struct Others {
    /// Numbers of those that lead elsewhere.
    pub external: Vec<RawFd>,
    /// Numbers of those that others have from this process, too, or that lead to such.
    pub of_children: Vec<RawFd>,
    /// Numbers of those with descriptors on their way.
    pub carrying: Vec<RawFd>,
    /// Numbers of those with urgent data.
    pub urgent: Vec<RawFd>,
}

impl Pairs {
    /// `theirs`: what children have.
    pub fn save(
        list: &[Descriptor],
        handle: &PidFd,
        theirs: &Theirs<'_>,
    ) -> Result<(Pairs, Others)> {
        let mut pairs = Pairs {
            list: Vec::new(),
            above: numbers::above(list),
        };
        let mut others = Others::default();
        let mut diagnosis = None;
        let mut seen = Vec::new();
        for first in list {
            let Some(inode) = first.socket().filter(|i| !seen.contains(i)) else {
                continue;
            };
            seen.push(inode);
            if diagnosis.is_none() {
                diagnosis = UnixSockets::open().ok();
            }
            let ask = |inode: u64| diagnosis.as_ref()?.get(inode).ok()?;
            let numbers = |inode| Numbers::of(list, |d| d.socket() == Some(inode));
            let Some(near) = ask(inode) else {
                others.external.push(first.number);
                continue;
            };
            let peer = near.peer.filter(|peer| *peer != 0);
            let far = peer.and_then(|peer| Some((peer, ask(peer)?)));
            let both = || [Some(inode), peer].into_iter().flatten();
            // Without a name the other end comes from the process as a rule.
            let leads_out = far.is_some_and(|(peer, far)| {
                far.peer == Some(inode)
                    && !near.named
                    && !far.named
                    && numbers(peer).first().is_none()
            });
            let is_theirs = leads_out || both().any(|end| theirs.have("socket", end));
            if is_theirs && !theirs.are_older(first) {
                others.of_children.push(first.number);
            }
            let (far, far_numbers) = match far {
                Some((peer, far)) if far.peer == Some(inode) => (far, numbers(peer)),
                None if near.is_left() => (near, Numbers::default()),
                _ => {
                    others.external.push(first.number);
                    continue;
                }
            };
            if far_numbers.first().is_none() && !near.is_left() {
                others.external.push(first.number);
                continue;
            }
            seen.extend(near.peer);
            let mut ends = [
                End::new(numbers(inode), near, handle)?,
                End::new(far_numbers, far, handle)?,
            ];
            let longest = ends.iter().filter_map(|e| e.state.as_ref());
            let longest = longest.map(|s| s.options.longest_message()).max();
            for end in &mut ends {
                let number = end.numbers.first().map(|(number, _)| number);
                let unread = end.look(handle, longest.unwrap_or(0))?;
                if unread.is_some_and(|u| u.descriptors) {
                    others.carrying.extend(number);
                }
                if unread.is_some_and(|u| u.urgent) {
                    others.urgent.extend(number);
                }
            }
            renew(&ends, handle)?;
            pairs.list.push(Pair {
                ends,
                own: !near.named && !far.named && both().all(|end| theirs.leave("socket", end)),
            });
        }
        Ok((pairs, others))
    }

    fn own(&self) -> impl Iterator<Item = &Pair> {
        self.list.iter().filter(|p| p.own)
    }

    /// A copy can do without some, and gets them anew.
    pub fn are_own(&self) -> bool {
        self.own().next().is_some()
    }

    /// Such a one has this number.
    pub fn are_new(&self, number: RawFd) -> bool {
        let mut ends = self.own().flat_map(|p| &p.ends);
        ends.any(|e| e.numbers.contain(number))
    }

    /// Closes those in a frozen copy.
    pub fn close(&self, frozen: &mut Leader) -> Result<()> {
        for end in self.own().flat_map(|p| &p.ends) {
            end.numbers.close(frozen)?;
        }
        Ok(())
    }

    /// Makes them anew in a copy of the frozen one, with what they had.
    pub fn make(&self, leader: &mut Leader, handle: &PidFd, without: &Items) -> Result<()> {
        if without.contains(Item::Pairs) {
            return Ok(());
        }
        for Pair { ends, .. } in self.own() {
            let at = leader.place(0, &[0; 8])?;
            let args = [n::AF_UNIX as u64, ends[0].socket.kind.into(), 0, at];
            leader.call("socketpair", n::SYS_socketpair, &args)?;
            let [both] = leader.words(0)?;
            // Kept until the other end has got what was sent before its end.
            let sides = [
                handle.descriptor(both as u32 as RawFd)?,
                handle.descriptor((both >> 32) as RawFd)?,
            ];
            let numbers = [&ends[0].numbers, &ends[1].numbers];
            numbers::give_both(leader, numbers, self.above)?;
            for (end, other) in ends.iter().zip(sides.iter().rev()) {
                if let Some(state) = &end.state {
                    sockets::widen(other.as_fd())?;
                    state.send(other)?;
                }
            }
            for (end, side) in ends.iter().zip(&sides) {
                if let (Some((_, flags)), Some(state)) = (end.numbers.first(), &end.state) {
                    sockets::shut(side.as_fd(), end.socket.shut)?;
                    state.options.apply(side.as_fd())?;
                    super::set_flags_of(side, flags)?;
                }
            }
        }
        Ok(())
    }

    /// Gives the others what they had.
    pub fn restore(&self, handle: &PidFd, without: &Items) -> Result<()> {
        if without.contains(Item::Pairs) {
            return Ok(());
        }
        for Pair { ends, .. } in self.list.iter().filter(|p| !p.own) {
            for (to, from) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
                let (Some((number, flags)), Some(state)) = (to.numbers.first(), &to.state) else {
                    continue;
                };
                let receiver = handle.descriptor(number)?;
                if let Some((sender, _)) = from.numbers.first() {
                    sockets::discard(receiver.as_fd(), to.socket.ends_with_empty());
                    let sent = state.send(&handle.descriptor(sender)?);
                    if let Err(error) = sent {
                        // Closed meanwhile in that direction, which is for good.
                        tracing::debug!(number, %error, "a socket has not got its contents");
                    }
                }
                super::set_flags_of(&receiver, flags)?;
            }
        }
        Ok(())
    }
}

/// An empty message that was looked at once is not seen again by the next
/// checkpoint; so the messages are sent anew.
fn renew([first, second]: &[End; 2], handle: &PidFd) -> Result<()> {
    for (to, from) in [(first, second), (second, first)] {
        let (Some(state), Some(receiver), Some(sender)) =
            (&to.state, to.numbers.first(), from.numbers.first())
        else {
            continue;
        };
        let unread = &state.unread;
        let empty = unread.messages.iter().any(Vec::is_empty);
        let closed = to.socket.shut != 0 || from.socket.shut != 0;
        if empty && !closed && !unread.descriptors && !state.options.passes_credentials() {
            sockets::discard(handle.descriptor(receiver.0)?.as_fd(), false);
            state.send(&handle.descriptor(sender.0)?)?;
        }
    }
    Ok(())
}

impl End {
    fn new(numbers: Numbers, socket: UnixSocket, handle: &PidFd) -> Result<End> {
        let number = numbers.first();
        let open = number.map(|(n, _)| handle.descriptor(n)).transpose()?;
        let options = open.map(|fd| SocketOptions::of(fd.as_fd())).transpose()?;
        let state = options.map(|options| State {
            options,
            unread: Unread::default(),
        });
        Ok(End {
            numbers,
            socket,
            state,
        })
    }

    /// Looks at what was not received.
    fn look(&mut self, handle: &PidFd, longest: usize) -> Result<Option<&Unread>> {
        let (Some((number, _)), Some(state)) = (self.numbers.first(), &mut self.state) else {
            return Ok(None);
        };
        let fd = handle.descriptor(number)?;
        let socket = &self.socket;
        let ends = socket.ends_with_empty();
        state.unread = sockets::unread(fd.as_fd(), socket.is_stream(), longest, ends)?;
        Ok(Some(&state.unread))
    }
}

impl State {
    /// Sends what was not received.
    fn send(&self, from: &OwnedFd) -> Result<()> {
        for message in &self.unread.messages {
            sockets::send(from.as_fd(), message)?;
        }
        Ok(())
    }
}

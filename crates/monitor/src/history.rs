//! The last events of every slice, in one ring of pages: an entry names the one
//! before it of the same slice, and is gone when the ring has come round.

use crate::cell::{Arg, Tag};
use crate::monitor::Event;
use std::collections::VecDeque;
use std::sync::Arc;
use verde_property::{SpecId, StateId};

/// A ring entry, read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub n: u64,
    pub event: SpecId,
    pub from: StateId,
    /// The state after the event; the same when no transition was taken.
    pub to: StateId,
    pub taken: bool,
    pub tid: Option<u64>,
    pub time: Option<u64>,
    pub loc: Option<String>,
    /// The event's parameters in their order; absent ones left out.
    pub args: Vec<(u16, Field)>,
}

/// A value that outlives its event. Long strings are cut.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    None,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Str(String),
    Json(String),
}

/// What an event did to a slice.
#[derive(Clone, Copy)]
pub struct Change {
    pub from: StateId,
    pub to: StateId,
    pub taken: bool,
}

impl Change {
    pub fn taken(from: StateId, to: StateId) -> Change {
        Change {
            from,
            to,
            taken: true,
        }
    }

    /// No transition was taken.
    pub fn none(state: StateId) -> Change {
        Change {
            from: state,
            to: state,
            taken: false,
        }
    }
}

/// A copy has the pages that are full in common with the original: checkpoints keep many.
#[derive(Clone, Debug)]
pub struct History {
    /// The page that is written, of this history alone.
    page: Box<Page>,
    /// Those before it, oldest first.
    full: VecDeque<Arc<Page>>,
    /// Most pages that are full.
    most: usize,
    /// Where the next entry will be. Places count from the beginning, `PAGE` for every page, and
    /// are at least 1: 0 means "no entry".
    head: u64,
}

/// An entry begins in the first `PAGE` words.
type Page = [u64; PAGE + LONGEST];

/// Words of an entry before its texts and values.
const HEADER: usize = 6;
/// Longest text kept, in bytes.
const TEXT: usize = 120;
/// Most parameters kept of one event: four bits of a word tell the kind of each.
const ARGS: usize = 16;
const LONGEST: usize = HEADER + (1 + ARGS) * (1 + TEXT.div_ceil(8));
/// Small enough that a copy costs little, large enough that the room for the longest does.
const PAGE: usize = 1024;
const ABSENT: u64 = u64::MAX;
const TAKEN: u64 = 1 << 48;
const LOCATED: u64 = 1 << 49;

impl History {
    /// `words`: how much room there is for all entries but the last words of some, at least two
    /// pages.
    pub fn new(words: usize) -> Self {
        History {
            page: Box::new([0; PAGE + LONGEST]),
            full: VecDeque::new(),
            most: (words / PAGE).saturating_sub(1).max(1),
            head: 1,
        }
    }

    /// Writes an entry after `previous` and returns its place.
    #[inline]
    pub fn push(&mut self, previous: u64, e: &Event, change: Change) -> u64 {
        let place = self.head;
        let start = place as usize % PAGE;
        let Some(entry) = self.page[start..].first_chunk_mut::<LONGEST>() else {
            return previous;
        };
        let (flags, kinds, end) = match put_integers(entry, e) {
            Some(written) => written,
            None => put_values(entry, e),
        };
        entry[0] = previous;
        entry[1] = e.n;
        entry[2] = u64::from(e.spec.0)
            | u64::from(change.from.0) << 16
            | u64::from(change.to.0) << 32
            | if change.taken { TAKEN } else { 0 }
            | flags;
        entry[3] = e.tid.unwrap_or(ABSENT);
        entry[4] = e.time.unwrap_or(ABSENT);
        entry[5] = kinds;
        self.head = place + end as u64;
        if start + end >= PAGE {
            self.turn(place);
        }
        place
    }

    /// The page of the last entry is full.
    #[cold]
    fn turn(&mut self, last: u64) {
        let mut oldest = match self.full.len() < self.most {
            true => None,
            false => self.full.pop_front(),
        };
        // What stands in the page that is written is not read again: it is after the last entry.
        match oldest.as_mut().and_then(Arc::get_mut) {
            Some(unshared) => unshared.copy_from_slice(&*self.page),
            None => oldest = Some(Arc::new(*self.page)),
        }
        self.full.extend(oldest);
        self.head = (last / PAGE as u64 + 1) * PAGE as u64;
    }

    /// The last `most` events that lead to `last`, oldest first.
    pub fn read(&self, mut last: u64, most: usize) -> Vec<Entry> {
        let mut out = Vec::new();
        while last > 0 && out.len() < most {
            let Some((previous, entry)) = self.entry(last) else {
                break;
            };
            out.push(entry);
            if previous >= last {
                break;
            }
            last = previous;
        }
        out.reverse();
        out
    }

    /// The page of a place, unless it is gone.
    fn page(&self, at: u64) -> Option<&Page> {
        let page = |place: u64| place / PAGE as u64;
        let before = page(self.head).checked_sub(page(at))? as usize;
        match self.full.len().checked_sub(before)? {
            i if i == self.full.len() => Some(&self.page),
            i => self.full.get(i).map(|page| &**page),
        }
    }

    /// The entry at a place, and the place of the one before it.
    fn entry(&self, at: u64) -> Option<(u64, Entry)> {
        let page = self.page(at)?;
        let mut i = at as usize % PAGE;
        let mut take = || {
            let w = page.get(i).copied().unwrap_or(0);
            i += 1;
            w
        };
        let previous = take();
        let n = take();
        let head = take();
        let tid = take();
        let time = take();
        let kinds = take();
        let loc = (head & LOCATED != 0).then(|| take_text(&mut take));
        let mut args = Vec::new();
        for k in 0..ARGS {
            let field = match Tag::from_byte((kinds >> (4 * k)) as u8 & 15) {
                Tag::None => Field::None,
                Tag::Bool => Field::Bool(take() != 0),
                Tag::Int => Field::Int(take() as i64),
                Tag::UInt => Field::UInt(take()),
                Tag::Float => Field::Float(f64::from_bits(take())),
                Tag::Text => Field::Str(take_text(&mut take)),
                Tag::Json => Field::Json(take_text(&mut take)),
                Tag::Unset | Tag::Other => continue,
            };
            args.push((k as u16, field));
        }
        let entry = Entry {
            n,
            event: SpecId(head as u16),
            from: StateId((head >> 16) as u16),
            to: StateId((head >> 32) as u16),
            taken: head & TAKEN != 0,
            tid: Some(tid).filter(|t| *t != ABSENT),
            time: Some(time).filter(|t| *t != ABSENT),
            loc,
            args,
        };
        Some((previous, entry))
    }
}

/// The values of most events: flags, the kinds of the values, and where they end.
#[inline]
fn put_integers(entry: &mut [u64; LONGEST], e: &Event) -> Option<(u64, u64, usize)> {
    const ALL: u64 = Tag::Int as u64 * 0x1111_1111_1111_1111;
    let n = e.args.len();
    if n > ARGS || e.loc.is_some() {
        return None;
    }
    for (word, arg) in entry[HEADER..HEADER + ARGS].iter_mut().zip(e.args) {
        let Some(Arg::Int(v)) = arg else {
            return None;
        };
        *word = *v as u64;
    }
    let kinds = ALL.checked_shr(64 - 4 * n as u32).unwrap_or(0);
    Some((0, kinds, HEADER + n))
}

/// The same for any values.
#[inline(never)]
fn put_values(entry: &mut [u64; LONGEST], e: &Event) -> (u64, u64, usize) {
    let mut end = HEADER;
    let mut put = |w: u64| {
        entry[end] = w;
        end += 1;
    };
    if let Some(loc) = e.loc {
        put_text(&mut put, loc);
    }
    let mut kinds = 0;
    for (i, a) in e.args.iter().take(ARGS).enumerate() {
        let Some(a) = a else { continue };
        let kind = match *a {
            Arg::None => Tag::None,
            Arg::Bool(b) => {
                put(u64::from(b));
                Tag::Bool
            }
            Arg::Int(v) => {
                put(v as u64);
                Tag::Int
            }
            Arg::UInt(v) => {
                put(v);
                Tag::UInt
            }
            Arg::Float(f) => {
                put(f.to_bits());
                Tag::Float
            }
            Arg::Str(t) => {
                put_text(&mut put, t);
                Tag::Text
            }
            Arg::Json(t) => {
                put_text(&mut put, t);
                Tag::Json
            }
        };
        kinds |= (kind as u64) << (4 * i);
    }
    let flags = if e.loc.is_some() { LOCATED } else { 0 };
    (flags, kinds, end)
}

fn cut(t: &str) -> &str {
    let mut n = t.len().min(TEXT);
    while !t.is_char_boundary(n) {
        n -= 1;
    }
    &t[..n]
}

fn put_text(put: &mut impl FnMut(u64), t: &str) {
    let t = cut(t).as_bytes();
    put(t.len() as u64);
    for chunk in t.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        put(u64::from_le_bytes(word));
    }
}

fn take_text(take: &mut impl FnMut() -> u64) -> String {
    let n = (take() as usize).min(TEXT);
    let mut bytes = Vec::with_capacity(n + 8);
    while bytes.len() < n {
        bytes.extend_from_slice(&take().to_le_bytes());
    }
    bytes.truncate(n);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_events_come_back_in_order() {
        let mut h = History::new(1 << 10);
        let mut last = [0u64; 3];
        for n in 0..500u64 {
            let slice = (n % 3) as usize;
            let name = format!("file{n}.c:{n}");
            let args = [
                Some(Arg::Int(-(n as i64))),
                None,
                Some(Arg::Str("é")),
                Some(Arg::UInt(u64::MAX)),
            ];
            last[slice] = h.push(
                last[slice],
                &Event {
                    n,
                    spec: SpecId(7),
                    tid: n.is_multiple_of(2).then_some(n),
                    time: None,
                    loc: Some(&name),
                    args: &args,
                },
                Change {
                    from: StateId(1),
                    to: StateId(2),
                    taken: n.is_multiple_of(2),
                },
            );
            let events = h.read(last[slice], 5);
            assert!(!events.is_empty() && events.len() <= 5);
            for (k, e) in events.iter().rev().enumerate() {
                let m = n - 3 * k as u64;
                assert_eq!((e.n, e.taken, e.event), (m, m.is_multiple_of(2), SpecId(7)));
                assert_eq!(e.loc.as_deref(), Some(format!("file{m}.c:{m}").as_str()));
                assert_eq!(e.args[0], (0, Field::Int(-(m as i64))));
                assert_eq!(e.args[1], (2, Field::Str("é".into())));
            }
        }
    }

    /// Writes a short entry.
    fn push(h: &mut History, last: &mut u64, n: u64) {
        let event = Event {
            n,
            spec: SpecId(1),
            tid: None,
            time: None,
            loc: None,
            args: &[Some(Arg::Int(n as i64))],
        };
        *last = h.push(*last, &event, Change::none(StateId(0)));
    }

    fn numbers(h: &History, last: u64) -> Vec<u64> {
        let entries = h.read(last, usize::MAX);
        entries.iter().map(|e| e.n).collect()
    }

    #[test]
    fn it_grows_to_its_capacity_and_then_forgets() {
        const PAGES: usize = 12;
        /// Each entry takes seven words; that of a page's last may go beyond it.
        const IN_PAGE: usize = PAGE.div_ceil(7);
        let mut h = History::new(PAGES * PAGE);
        let mut last = 0;
        for n in 0..10_000u64 {
            push(&mut h, &mut last, n);
            assert!(h.full.len() < PAGES);
            // Reading all of it for each event would take long.
            if n % 100 != 0 {
                continue;
            }
            let kept = numbers(&h, last);
            let all = n as usize + 1;
            assert!(
                kept.len() == all || kept.len() > (PAGES - 1) * IN_PAGE - 2,
                "{n}"
            );
            assert!(kept.len() <= PAGES * IN_PAGE, "{n}");
            assert_eq!(kept.last(), Some(&n));
            assert!(kept.windows(2).all(|w| w[1] == w[0] + 1));
        }
        assert_eq!(h.full.len(), PAGES - 1);
    }

    #[test]
    fn copies_share_what_is_full_and_go_their_own_ways() {
        let mut h = History::new(8 * PAGE);
        let mut last = 0;
        for n in 0..3000 {
            push(&mut h, &mut last, n);
        }
        let kept = numbers(&h, last);
        let copies: Vec<(History, u64)> = (0..50).map(|_| (h.clone(), last)).collect();
        for (copy, _) in &copies {
            let mut pages = copy.full.iter().zip(&h.full);
            assert!(copy.full.len() == 7 && pages.all(|(a, b)| Arc::ptr_eq(a, b)));
        }
        // The original comes round twice, one of the copies goes on otherwise.
        for n in 3000..6000 {
            push(&mut h, &mut last, n);
        }
        let (mut other, mut of_other) = copies[1].clone();
        push(&mut other, &mut of_other, 77);
        assert_eq!(numbers(&other, of_other).last(), Some(&77));
        for (copy, last) in &copies {
            assert_eq!(numbers(copy, *last), kept);
        }
        assert_eq!(numbers(&h, last).last(), Some(&5999));
    }
}

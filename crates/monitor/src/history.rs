//! The last events of every slice, in one ring of words: an entry names the one
//! before it of the same slice, and is gone when the ring has come round.

use crate::cell::{Arg, Tag};
use crate::words::Words;
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

/// What is written: an event as one slice saw it.
pub struct Record<'a> {
    pub n: u64,
    pub event: SpecId,
    pub from: StateId,
    pub to: StateId,
    pub taken: bool,
    pub tid: Option<u64>,
    pub time: Option<u64>,
    pub loc: Option<&'a str>,
    pub args: &'a [Option<Arg<'a>>],
}

#[derive(Clone, Debug)]
pub struct History {
    words: Words,
    /// Words written since the beginning, at least 1: 0 means "no entry".
    head: u64,
}

const HEADER: usize = 5;
/// Longest text kept, in bytes.
const TEXT: usize = 120;
/// Most parameters kept of one event.
const ARGS: usize = 16;
const ABSENT: u64 = u64::MAX;
const TAKEN: u64 = 1 << 48;

impl History {
    /// `words` is rounded up to a power of two; one entry never needs more than half of it.
    pub fn new(words: usize) -> Self {
        History {
            words: Words::zeroed(words.next_power_of_two().max(1 << 10)),
            head: 1,
        }
    }

    /// Writes an entry after `previous` and returns its place.
    pub fn push(&mut self, previous: u64, r: &Record) -> u64 {
        let size = self.size(r);
        let capacity = self.words.len();
        let at = (self.head as usize) & (capacity - 1);
        if at + size > capacity {
            // Entries do not wrap: skip the rest.
            self.head += (capacity - at) as u64;
        }
        let place = self.head;
        let start = (place as usize) & (capacity - 1);
        let entry = &mut self.words[start..start + size];
        let mut i = 0;
        let mut put = |w: u64| {
            entry[i] = w;
            i += 1;
        };
        let args = r.args.iter().take(ARGS);
        put(previous);
        put(r.n);
        put(r.event.0 as u64
            | (r.from.0 as u64) << 16
            | (r.to.0 as u64) << 32
            | if r.taken { TAKEN } else { 0 }
            | (args.len() as u64) << 56);
        put(r.tid.unwrap_or(ABSENT));
        put(r.time.unwrap_or(ABSENT));
        put_text(&mut put, r.loc.unwrap_or(""));
        for a in args {
            match *a {
                None => put(Tag::Unset as u64),
                Some(Arg::None) => put(Tag::None as u64),
                Some(Arg::Bool(b)) => put(Tag::Bool as u64 | (b as u64) << 8),
                Some(Arg::Int(v)) => {
                    put(Tag::Int as u64);
                    put(v as u64);
                }
                Some(Arg::UInt(v)) => {
                    put(Tag::UInt as u64);
                    put(v);
                }
                Some(Arg::Float(f)) => {
                    put(Tag::Float as u64);
                    put(f.to_bits());
                }
                Some(Arg::Str(t)) => {
                    put(Tag::Text as u64);
                    put_text(&mut put, t);
                }
                Some(Arg::Json(t)) => {
                    put(Tag::Json as u64);
                    put_text(&mut put, t);
                }
            }
        }
        self.head = place + size as u64;
        place
    }

    fn size(&self, r: &Record) -> usize {
        let args = r.args.iter().take(ARGS).map(|a| match a {
            None | Some(Arg::None | Arg::Bool(_)) => 1,
            Some(Arg::Int(_) | Arg::UInt(_) | Arg::Float(_)) => 2,
            Some(Arg::Str(t) | Arg::Json(t)) => 1 + text_words(t),
        });
        HEADER + text_words(r.loc.unwrap_or("")) + args.sum::<usize>()
    }

    /// The last `most` events that lead to `last`, oldest first.
    pub fn read(&self, mut last: u64, most: usize) -> Vec<Entry> {
        let mut out = Vec::new();
        let oldest = self.head.saturating_sub(self.words.len() as u64);
        while last > 0 && last >= oldest && out.len() < most {
            let (previous, entry) = self.entry(last);
            out.push(entry);
            if previous >= last {
                break;
            }
            last = previous;
        }
        out.reverse();
        out
    }

    fn entry(&self, at: u64) -> (u64, Entry) {
        let mut i = (at as usize) & (self.words.len() - 1);
        let mut take = || {
            let w = self.words.get(i).copied().unwrap_or(0);
            i += 1;
            w
        };
        let previous = take();
        let n = take();
        let head = take();
        let tid = take();
        let time = take();
        let loc = take_text(&mut take);
        let mut args = Vec::new();
        for k in 0..(head >> 56) as u16 {
            let w = take();
            let field = match Tag::from_byte(w as u8) {
                Tag::None => Field::None,
                Tag::Bool => Field::Bool(w >> 8 != 0),
                Tag::Int => Field::Int(take() as i64),
                Tag::UInt => Field::UInt(take()),
                Tag::Float => Field::Float(f64::from_bits(take())),
                Tag::Text => Field::Str(take_text(&mut take)),
                Tag::Json => Field::Json(take_text(&mut take)),
                Tag::Unset | Tag::Other => continue,
            };
            args.push((k, field));
        }
        let entry = Entry {
            n,
            event: SpecId(head as u16),
            from: StateId((head >> 16) as u16),
            to: StateId((head >> 32) as u16),
            taken: head & TAKEN != 0,
            tid: Some(tid).filter(|t| *t != ABSENT),
            time: Some(time).filter(|t| *t != ABSENT),
            loc: Some(loc).filter(|l| !l.is_empty()),
            args,
        };
        (previous, entry)
    }
}

fn cut(t: &str) -> &str {
    let mut n = t.len().min(TEXT);
    while !t.is_char_boundary(n) {
        n -= 1;
    }
    &t[..n]
}

fn text_words(t: &str) -> usize {
    1 + cut(t).len().div_ceil(8)
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
                &Record {
                    n,
                    event: SpecId(7),
                    from: StateId(1),
                    to: StateId(2),
                    taken: n.is_multiple_of(2),
                    tid: n.is_multiple_of(2).then_some(n),
                    time: None,
                    loc: Some(&name),
                    args: &args,
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
}

//! The usual line of a trace, read in one pass.
//!
//! A general JSON reader spends most of a replay on generality. This one knows
//! the fields, plain strings and plain numbers; on anything else it gives up
//! and the general reader decides, so every error is that one's.

use crate::trace::Fields;
use verde_monitor::Arg;

/// `None`: not a usual line.
pub fn parse(text: &str) -> Option<Fields<'_>> {
    // No control characters: then a space is the only white space, and a
    // string ends at its quote.
    if text.bytes().any(|b| b < 0x20) {
        return None;
    }
    let mut r = Reader {
        text,
        bytes: text.as_bytes(),
        i: 0,
    };
    let mut f = Fields::default();
    let mut seen = 0u16;
    r.byte(b'{')?;
    loop {
        let key = r.string()?;
        r.byte(b':')?;
        let field = match key {
            "n" => {
                f.n = Some(r.number()?);
                1
            }
            "kind" => {
                f.kind = Some(r.string()?);
                2
            }
            "when" => {
                f.when = Some(r.string()?);
                4
            }
            "event" => {
                f.event = r.string()?;
                8
            }
            "args" => {
                r.args(&mut f)?;
                16
            }
            "tid" => {
                f.tid = Some(r.number()?);
                32
            }
            "time" => {
                f.time = Some(r.number()?);
                64
            }
            "loc" => {
                f.loc = Some(r.string()?);
                128
            }
            "scope" => {
                f.scope = Some(r.string()?);
                256
            }
            _ => return None,
        };
        if seen & field != 0 {
            return None;
        }
        seen |= field;
        match r.next()? {
            b',' => {}
            b'}' => break,
            _ => return None,
        }
    }
    r.space();
    (r.i == r.bytes.len() && seen & 8 != 0).then_some(f)
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    i: usize,
}

impl<'a> Reader<'a> {
    #[inline]
    fn space(&mut self) {
        while self.bytes.get(self.i) == Some(&b' ') {
            self.i += 1;
        }
    }

    /// The next byte that is not white space.
    #[inline]
    fn next(&mut self) -> Option<u8> {
        self.space();
        let b = *self.bytes.get(self.i)?;
        self.i += 1;
        Some(b)
    }

    #[inline]
    fn byte(&mut self, want: u8) -> Option<()> {
        (self.next()? == want).then_some(())
    }

    /// A string without escapes.
    #[inline]
    fn string(&mut self) -> Option<&'a str> {
        self.byte(b'"')?;
        let start = self.i;
        let n = memchr::memchr2(b'"', b'\\', &self.bytes[start..])?;
        self.i = start + n + 1;
        if self.bytes[start + n] == b'"' {
            self.text.get(start..start + n)
        } else {
            None
        }
    }

    /// An integer of at most 18 digits, so that it cannot overflow.
    #[inline]
    fn digits(&mut self) -> Option<u64> {
        let start = self.i;
        let mut n = 0u64;
        while let Some(b @ b'0'..=b'9') = self.bytes.get(self.i) {
            n = n.wrapping_mul(10).wrapping_add(u64::from(b - b'0'));
            self.i += 1;
        }
        let len = self.i - start;
        let plain = !matches!(self.bytes.get(self.i), Some(b'.' | b'e' | b'E'));
        let no_zeros = len == 1 || self.bytes.get(start) != Some(&b'0');
        ((1..=18).contains(&len) && plain && no_zeros).then_some(n)
    }

    #[inline]
    fn number(&mut self) -> Option<u64> {
        self.space();
        self.digits()
    }

    fn word(&mut self, word: &str, value: Arg<'a>) -> Option<Arg<'a>> {
        self.bytes[self.i..].starts_with(word.as_bytes()).then(|| {
            self.i += word.len();
            value
        })
    }

    fn args(&mut self, f: &mut Fields<'a>) -> Option<()> {
        self.byte(b'{')?;
        self.space();
        if self.bytes.get(self.i) == Some(&b'}') {
            self.i += 1;
            return Some(());
        }
        loop {
            let key = self.string()?;
            self.byte(b':')?;
            self.space();
            let value = match *self.bytes.get(self.i)? {
                b'"' => Arg::Str(self.string()?),
                b'-' => {
                    self.i += 1;
                    Arg::Int(-(self.digits()? as i64))
                }
                b'0'..=b'9' => Arg::Int(self.digits()? as i64),
                b't' => self.word("true", Arg::Bool(true))?,
                b'f' => self.word("false", Arg::Bool(false))?,
                b'n' => self.word("null", Arg::None)?,
                _ => return None,
            };
            f.args.0.push((key, value));
            match self.next()? {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }
}

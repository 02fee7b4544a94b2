//! Events as lines of a trace, as `verde record` writes them.

use super::alphabet::Source;
use super::values::Owned;
use crate::json::{Json, Object};
use crate::trace::{key_of, plain_one};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use verde_engine::Tid;
use verde_property::{Kind, ParamSpec, When};

/// A trace that is being written.
pub struct TraceFile {
    out: BufWriter<File>,
    /// Bytes that were written.
    len: u64,
    error: Option<io::Error>,
}

#[derive(Serialize)]
struct Line<'a> {
    n: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<i32>,
    kind: &'a str,
    when: &'a str,
    event: &'a str,
    args: Object,
    #[serde(skip_serializing_if = "Option::is_none")]
    loc: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'a str>,
    time: u64,
}

/// The values by their keys. Properties may declare a parameter differently: what differs from the
/// value under the parameter's own text has a key with its type.
fn arguments(params: &[ParamSpec], values: &[Owned]) -> Vec<(String, Json)> {
    let mut out = Vec::with_capacity(params.len());
    for (i, value) in values.iter().enumerate().take(params.len()) {
        let plain = plain_one(params, i);
        if plain == i || values.get(plain) != Some(value) {
            out.push((key_of(params, i), Json::of_arg(value.arg())));
        }
    }
    out
}

impl TraceFile {
    /// To an empty file.
    pub fn new(file: File) -> TraceFile {
        TraceFile {
            out: BufWriter::with_capacity(1 << 16, file),
            len: 0,
            error: None,
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The program went back to where the trace was that long: the rest did not happen.
    pub(super) fn cut(&mut self, len: u64) {
        if self.error.is_some() || len == self.len {
            return;
        }
        self.error = match len < self.len {
            true => self.cut_file(len).err(),
            false => Some(io::Error::other(
                "the program is where it was before it went back to a checkpoint, and that part of the trace is cut off",
            )),
        };
        self.len = len;
    }

    fn cut_file(&mut self, len: u64) -> io::Result<()> {
        self.out.flush()?;
        let file = self.out.get_mut();
        if !file.metadata()?.is_file() {
            return Err(io::Error::other(
                "the program went back to a checkpoint, and what was written cannot be taken back; record to a file",
            ));
        }
        file.set_len(len)?;
        file.seek(SeekFrom::Start(len)).map(drop)
    }

    pub(super) fn write(
        &mut self,
        source: &Source,
        values: &[Owned],
        n: u64,
        tid: Tid,
        time: u64,
        loc: Option<&str>,
    ) {
        let args = arguments(&source.params, values);
        let scope = source.has_global.then_some(crate::trace::ANY_SCOPE);
        self.line(&Line {
            n,
            tid: Some(tid.0),
            kind: source.kind.word(),
            when: source.when.word(),
            event: &source.name,
            args: Object(args),
            loc,
            scope,
            time,
        });
    }

    /// The program was replaced by exec: no event of a property, but its monitors begin anew.
    pub(super) fn write_exec(&mut self, n: u64, tid: Tid, time: u64) {
        self.about_run(crate::trace::EXEC, n, Some(tid), time);
    }

    /// The program would have gone on: what follows is not known.
    pub(super) fn write_cut(&mut self, n: u64, time: u64) {
        self.about_run(crate::trace::CUT, n, None, time);
    }

    fn about_run(&mut self, event: &str, n: u64, tid: Option<Tid>, time: u64) {
        self.line(&Line {
            n,
            tid: tid.map(|t| t.0),
            kind: Kind::Process.word(),
            when: When::Before.word(),
            event,
            args: Object(Vec::new()),
            loc: None,
            scope: None,
            time,
        });
    }

    fn line(&mut self, line: &Line) {
        if self.error.is_some() {
            return;
        }
        let text = match serde_json::to_vec(line) {
            Ok(mut text) => {
                text.push(b'\n');
                text
            }
            Err(e) => {
                self.error = Some(e.into());
                return;
            }
        };
        self.len += text.len() as u64;
        self.error = self.out.write_all(&text).err();
    }

    /// Writes out what is left; what went wrong on the way.
    pub fn finish(mut self) -> io::Result<()> {
        match self.error.take() {
            Some(e) => Err(e),
            None => self.out.flush(),
        }
    }
}

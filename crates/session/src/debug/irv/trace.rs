//! Events as lines of a trace, as `verde record` writes them.

use super::alphabet::Source;
use super::values::Owned;
use crate::json::{Json, Object};
use serde::Serialize;
use std::io::{self, Write};
use verde_engine::Tid;
use verde_property::{Kind, When};

/// A trace that is being written.
pub struct TraceFile {
    out: Box<dyn Write>,
    error: Option<io::Error>,
}

#[derive(Serialize)]
struct Line<'a> {
    n: u64,
    tid: i32,
    kind: &'a str,
    when: &'a str,
    event: &'a str,
    args: Object,
    #[serde(skip_serializing_if = "Option::is_none")]
    loc: Option<&'a str>,
    time: u64,
}

impl TraceFile {
    pub fn new(out: Box<dyn Write>) -> TraceFile {
        TraceFile { out, error: None }
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
        let args = source
            .params
            .iter()
            .zip(values)
            .map(|(p, v)| (p.text.clone(), Json::of_arg(v.arg())))
            .collect();
        self.line(&Line {
            n,
            tid: tid.0,
            kind: source.kind.word(),
            when: source.when.word(),
            event: &source.name,
            args: Object(args),
            loc,
            time,
        });
    }

    /// The program was replaced by exec: no event of a property, but its monitors begin anew.
    pub(super) fn write_exec(&mut self, n: u64, tid: Tid, time: u64) {
        self.line(&Line {
            n,
            tid: tid.0,
            kind: Kind::Process.word(),
            when: When::Before.word(),
            event: crate::trace::EXEC,
            args: Object(Vec::new()),
            loc: None,
            time,
        });
    }

    fn line(&mut self, line: &Line) {
        if self.error.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut self.out, line)
            .map_err(io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"));
        self.error = written.err();
    }

    /// Writes out what is left; what went wrong on the way.
    pub fn finish(mut self) -> io::Result<()> {
        match self.error.take() {
            Some(e) => Err(e),
            None => self.out.flush(),
        }
    }
}

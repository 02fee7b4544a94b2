//! The report of an unattended run: rows as they come, and the files that are written at its end.

use crate::check::complain;
use crate::diagnostics::Format;
use crate::paint::Paint;
use crate::{human, junit, sarif};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use verde_session::report::{FinalRow, PrintRow, Row};

/// What is said where nothing better is at hand.
pub const ELSEWHERE: &str = "there is no verdict; standard error says why";

/// Rows as they come, and what the summaries need.
pub struct Report {
    out: Box<dyn Write>,
    /// It goes to a file of its own.
    apart: bool,
    format: Format,
    paint: Paint,
    pub error: Option<io::Error>,
    junit: Option<(File, junit::Failures)>,
    sarif: Option<(File, sarif::Results)>,
    pub last: Option<FinalRow>,
}

/// Where a report goes.
pub struct Files<'a> {
    /// Standard error without it.
    pub output: &'a Option<PathBuf>,
    pub junit: &'a Option<PathBuf>,
    pub sarif: &'a Option<PathBuf>,
}

impl Report {
    /// Creates the files. What cannot be written is better known before the program has run; the
    /// error was said, and the other files say it as well.
    pub fn create(files: &Files, format: Format) -> Result<Report, ()> {
        let created = [files.output, files.junit, files.sarif].map(create);
        let wrong = created.iter().find_map(|c| c.as_ref().err().cloned());
        let [output, junit, sarif] = created.map(|c| c.ok().flatten());
        let apart = output.is_some();
        let (out, paint): (Box<dyn Write>, Paint) = match output {
            Some(file) => (Box::new(BufWriter::new(file)), Paint::off()),
            None => (Box::new(io::stderr()), Paint::stderr()),
        };
        let mut report = Report {
            out,
            apart,
            format,
            paint,
            error: None,
            junit: junit.map(|file| (file, junit::Failures::default())),
            sarif: sarif.map(|file| (file, sarif::Results::default())),
            last: None,
        };
        match wrong {
            Some(text) => {
                complain(&text);
                report.refuse(&text);
                Err(())
            }
            None => Ok(report),
        }
    }

    pub fn row(&mut self, row: Row) {
        if let Row::Violation(v) = &row {
            if let Some((_, failures)) = &mut self.junit {
                failures.add(v);
            }
            if let Some((_, results)) = &mut self.sarif {
                results.add(v);
            }
        }
        if let Row::Final(f) = &row {
            self.last = Some(f.clone());
        }
        if self.error.is_some() {
            return;
        }
        let written = match self.format {
            Format::Human => human::write_row(&row, self.paint, &mut self.out),
            Format::Jsonl => serde_json::to_writer(&mut self.out, &row)
                .map_err(io::Error::from)
                .and_then(|()| self.out.write_all(b"\n")),
        };
        // What a report on a terminal says is seen while the program runs.
        self.error = written.and_then(|()| self.out.flush()).err();
    }

    /// There is no verdict: whoever reads the files must not take nothing for success.
    pub fn refuse(&mut self, reason: &str) {
        if self.apart {
            self.row(Row::Print(PrintRow {
                property: "verde".into(),
                text: reason.to_owned(),
            }));
        }
        let junit = junit::refused(reason);
        self.write_files(Some(junit), &[reason.to_owned()]);
    }

    /// Writes the files of a run that has a verdict. `incomplete`: why it is not the whole truth.
    /// The number of those that could not be written.
    pub fn finish(&self, incomplete: &[String], apart: &junit::Apart) -> u64 {
        let junit = self.junit.as_ref().zip(self.last.as_ref());
        let text = junit.map(|((_, failures), last)| failures.text(last, apart));
        self.write_files(text, incomplete)
    }

    fn write_files(&self, junit: Option<String>, incomplete: &[String]) -> u64 {
        let junit = self
            .junit
            .as_ref()
            .zip(junit)
            .map(|((f, _), text)| (f, text));
        let sarif = self
            .sarif
            .as_ref()
            .map(|(file, r)| (file, r.text(incomplete)));
        let mut failed = 0;
        for (what, written) in [("JUnit", junit), ("SARIF", sarif)] {
            if let Some((mut file, text)) = written
                && let Err(e) = file.write_all(text.as_bytes())
            {
                complain(&format!("cannot write the {what} report: {e}"));
                failed += 1;
            }
        }
        failed
    }
}

/// The file of a report, if one is wanted.
fn create(path: &Option<PathBuf>) -> Result<Option<File>, String> {
    let Some(path) = path else {
        return Ok(None);
    };
    match File::create(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) => Err(format!("cannot write {}: {e}", path.display())),
    }
}

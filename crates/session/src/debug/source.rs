//! Lines of source files.

use super::Debugger;
use super::failure::{NO_LINES, Result, failure};
use super::location::{Spec, moved, offset};
use super::source_paths::SourcePaths;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use verde_symbols::SourceFile;

/// Lines of a file, kept once read.
#[derive(Default)]
pub(super) struct Sources {
    files: HashMap<String, Option<Vec<String>>>,
    /// Files that are not here, and were said not to be.
    missing: HashSet<String>,
    /// Where else they are looked for.
    pub paths: SourcePaths,
}

impl Sources {
    pub fn lines(&mut self, file: &SourceFile) -> Option<&Vec<String>> {
        let read = || {
            let mut places = self.paths.places(file).into_iter();
            let bytes = places.find_map(|place| std::fs::read(place).ok())?;
            let text = String::from_utf8_lossy(&bytes);
            Some(text.lines().map(str::to_owned).collect())
        };
        let entry = self.files.entry(file.path.clone());
        entry.or_insert_with(read).as_ref()
    }

    /// Files may have changed: they are read again.
    pub fn forget(&mut self) {
        self.files.clear();
    }

    /// They may be elsewhere now.
    pub fn look_again(&mut self) {
        self.forget();
        self.missing.clear();
    }

    /// A line as it is shown: number, tab, text.
    pub fn shown(&mut self, file: &SourceFile, line: u32) -> String {
        let index = (line as usize).wrapping_sub(1);
        if let Some(lines) = self.lines(file) {
            return match lines.get(index) {
                Some(text) => format!("{line}\t{text}"),
                None => format!("{line}\tin {}", file.name),
            };
        }
        let first = self.missing.insert(file.path.clone());
        let why = if first {
            " (the source is not here)"
        } else {
            ""
        };
        format!("{line}\tin {}{why}", file.name)
    }

    /// The lines from `first` on, as many of `most` as there are.
    pub fn some(&mut self, file: &SourceFile, first: u32, most: usize) -> Vec<String> {
        let from = (first as usize).saturating_sub(1);
        let lines = self.lines(file).map_or(&[][..], Vec::as_slice);
        lines.iter().skip(from).take(most).cloned().collect()
    }

    fn count(&mut self, file: &SourceFile) -> Option<u32> {
        u32::try_from(self.lines(file)?.len()).ok()
    }
}

/// Where `list` goes on.
#[derive(Default)]
pub(super) struct Listing {
    pub file: Option<Arc<SourceFile>>,
    next: u32,
    first: u32,
    /// Where the program stood before it ended, if nothing was listed since.
    left: Option<(Arc<SourceFile>, u32)>,
}

impl Listing {
    /// The program is gone: `list` goes on where it was, or begins around where the program stood.
    pub fn leave(&mut self, stood: Option<(Arc<SourceFile>, u32)>) {
        if self.file.is_none() {
            self.left = stood;
        }
    }

    /// Where the program stood that is gone.
    pub fn left(&self) -> Option<(Arc<SourceFile>, u32)> {
        self.left.clone()
    }

    /// The program stopped here: `list` begins around it.
    pub fn reset(&mut self) {
        *self = Listing::default();
    }

    /// The line after the last that was listed.
    pub fn goes_on(&self) -> Option<(Arc<SourceFile>, u32)> {
        Some((self.file.clone()?, self.next))
    }
}

impl Debugger {
    pub(super) fn list(&mut self, args: &str) -> Result<()> {
        let args = args.trim();
        let several = match args.is_empty() || args.contains(',') {
            true => Vec::new(),
            false => self.several_meant(args),
        };
        for meant in &several {
            self.say(&meant.to_string())?;
            let (first, last) = self.around(meant.line);
            self.list_lines(meant.file.clone(), first, last)?;
        }
        if !several.is_empty() {
            return Ok(());
        }
        let (file, first, last) = self.lines_to_list(args)?;
        if let (Spec::Address(_), false) = (Spec::parse(args), args.contains(',')) {
            let at = self.address_of(args)?;
            if let (Some(name), Some(span)) = (self.function_text(at), self.line_at(at)) {
                let (file, line) = (&span.file.name, span.line);
                self.say(&format!("{at:#x} is in {name} ({file}:{line})."))?;
            }
        }
        self.list_lines(file, first, last)
    }

    fn list_lines(&mut self, file: Arc<SourceFile>, first: u32, last: u32) -> Result<()> {
        let Some(count) = self.sources.count(&file) else {
            return failure(format!("{}: No such file or directory.", file.name));
        };
        if first > count {
            return failure(format!(
                "Line number {first} out of range; \"{}\" has {count} lines.",
                file.name
            ));
        }
        for line in first..=last.min(count) {
            let text = self.listed_line(&file, line);
            self.say(&text)?;
        }
        self.listing = Listing {
            file: Some(file),
            next: last.min(count) + 1,
            first,
            left: None,
        };
        Ok(())
    }

    /// The first and the last line to list around one.
    fn around(&self, line: u32) -> (u32, u32) {
        let size = self.settings.list_size();
        let first = line.saturating_sub(size / 2).max(1);
        (first, first.saturating_add(size - 1))
    }

    fn lines_to_list(&mut self, args: &str) -> Result<(Arc<SourceFile>, u32, u32)> {
        let size = self.settings.list_size();
        if args == "-" && self.listing.file.is_some() {
            let file = self.default_file()?;
            if self.listing.first <= 1 {
                return failure(format!("Already at the start of {}.", file.name));
            }
            let last = self.listing.first - 1;
            return Ok((file, last.saturating_sub(size - 1).max(1), last));
        }
        if matches!(args, "" | "+" | "-") {
            if let Some((file, first)) = self.listing.goes_on() {
                return Ok((file, first, first.saturating_add(size - 1)));
            }
            let here = self.current_line().or_else(|| self.listing.left());
            let here = here.or_else(|| self.main_line());
            let Some((file, line)) = here else {
                return failure(NO_LINES);
            };
            let (first, last) = self.around(line);
            return Ok((file, first, last));
        }
        if let Some((from, to)) = args.split_once(',') {
            if from.trim().is_empty() && !to.trim().is_empty() {
                let (file, last) = self.line_of(to)?;
                return Ok((file, last.saturating_sub(size - 1).max(1), last));
            }
            let (file, first) = self.line_of(from)?;
            let last = match to.trim() {
                "" => first.saturating_add(size - 1),
                to => match offset(to) {
                    Some(by) => moved(first, by),
                    None => self.line_of(to)?.1,
                },
            };
            return Ok((file, first, last));
        }
        let (file, line) = self.line_of(args)?;
        let (first, last) = self.around(line);
        Ok((file, first, last))
    }

    fn line_of(&mut self, text: &str) -> Result<(Arc<SourceFile>, u32)> {
        if let Some(by) = offset(text) {
            let listed = self.listing.goes_on().or_else(|| self.current_line());
            return match listed.or_else(|| self.main_line()) {
                Some((file, line)) => Ok((file, moved(line, by))),
                None => failure(NO_LINES),
            };
        }
        match Spec::parse(text) {
            Spec::Line(None, line) => Ok((self.default_file()?, line)),
            Spec::Line(Some(name), line) => match self.files_named(name).into_iter().next() {
                Some(file) => Ok((file, line)),
                None => failure(format!("No source file named {name}.")),
            },
            Spec::Function(name) => {
                let found = self.functions(name)?;
                let function = found.into_iter().find_map(|(_, f)| f.declared);
                let function = function.or_else(|| self.inlined_named(name));
                match function.or_else(|| self.variable_named(name)) {
                    Some(place) => Ok(place),
                    None => failure(self.unknown_function(name)),
                }
            }
            Spec::Address(_) => {
                let at = self.address_of(text)?;
                match self.line_at(at) {
                    Some(span) => Ok((span.file, span.line)),
                    None => failure(format!("No line number information for address {at:#x}.")),
                }
            }
        }
    }

    /// Where a location is in memory.
    pub(super) fn address_of(&mut self, text: &str) -> Result<u64> {
        let sites = self.sites(text)?;
        let at = sites.first().and_then(|s| self.address(s));
        Ok(at.unwrap_or(0))
    }
}

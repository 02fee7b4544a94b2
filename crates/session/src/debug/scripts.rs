//! Commands from files, and one command for several threads.

use super::commands::Reply;
use super::failure::{Failure, Result, failure};
use super::{Debugger, reason};
use std::path::Path;

/// Files that read files.
const DEEPEST: usize = 16;

impl Debugger {
    /// Runs the commands of a file, up to the first that fails.
    pub fn source(&mut self, path: &Path) -> Result<Reply> {
        let bytes = std::fs::read(path)
            .map_err(|e| Failure(format!("{}: {}", path.display(), reason(&e))))?;
        if self.nesting >= DEEPEST {
            return failure(format!("{}: files read each other", path.display()));
        }
        self.nesting += 1;
        let done = self.source_text(path, &String::from_utf8_lossy(&bytes));
        self.nesting -= 1;
        done
    }

    fn source_text(&mut self, path: &Path, text: &str) -> Result<Reply> {
        for (i, line) in text.lines().enumerate() {
            let place = |e| located(e, &format!("{}:{}", path.display(), i + 1));
            if self.execute(line).map_err(place)? == Reply::Quit {
                return Ok(Reply::Quit);
            }
        }
        let place = |e| located(e, &path.display().to_string());
        self.end_of_lines().map_err(place)?;
        Ok(Reply::Next(None))
    }

    /// `thread apply all COMMAND`, `thread apply 1 2 COMMAND`.
    pub(super) fn thread_apply(&mut self, args: &str) -> Result<()> {
        let Some(live) = &self.live else {
            return failure("No threads.");
        };
        let (current, selected) = (live.tid, live.selected);
        let numbers = live.numbers.clone();
        let mut rest = args.trim();
        let mut wanted = Vec::new();
        if let Some(after) = rest.strip_prefix("all ") {
            wanted = (1..=numbers.len()).rev().collect();
            rest = after.trim();
        }
        while let Some((word, after)) = rest.split_once(char::is_whitespace)
            && let Some(numbers) = range(word)
        {
            wanted.extend(numbers);
            rest = after.trim();
        }
        if wanted.is_empty() || rest.is_empty() {
            return failure("Which threads and what?  thread apply all COMMAND");
        }
        let mut done = Ok(());
        for number in wanted {
            let tid = numbers.get(number.wrapping_sub(1)).copied();
            let Some(live) = &mut self.live else { break };
            let Some(tid) = tid.filter(|t| live.process.is_stopped(*t)) else {
                continue;
            };
            live.look(tid, &self.images)?;
            let title = self.thread_title(tid);
            let title = title.strip_suffix(')').unwrap_or(&title);
            let title = format!("\nThread {title} \"{}\"):", self.thread_name(tid));
            self.say(&title)?;
            if let Err(e) = self.execute(rest) {
                done = Err(e);
                break;
            }
        }
        if let Some(live) = &mut self.live
            && live.process.is_stopped(current)
        {
            live.look(current, &self.images)?;
            live.selected = selected;
            self.look_again()?;
        }
        done
    }
}

/// A failure with its place. Where nobody reads, there is nothing to say.
fn located(e: Failure, place: &str) -> Failure {
    match e.is_output_closed() {
        true => e,
        false => Failure(format!("{place}: {e}")),
    }
}

/// `3` or `1-3`, in the order written.
fn range(word: &str) -> Option<Vec<usize>> {
    let (from, to) = match word.split_once('-') {
        Some((from, to)) => (from.parse().ok()?, to.parse().ok()?),
        None => {
            let one: usize = word.parse().ok()?;
            (one, one)
        }
    };
    // No program has more threads than the kernel has numbers.
    (from <= to && to <= 1 << 22).then(|| (from..=to).collect())
}

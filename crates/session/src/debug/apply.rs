//! One command for several threads or frames.

use super::Debugger;
use super::failure::{NO_STACK, Result, failure};

/// What `apply` does besides the command.
#[derive(Clone, Copy, Default)]
struct Flags {
    /// Without headings.
    quiet: bool,
    /// Errors, and what would have stood above them, are not told.
    silent: bool,
    /// Errors are told, and the rest is done.
    goes_on: bool,
}

impl Flags {
    fn split(mut text: &str) -> (Flags, &str) {
        let mut flags = Flags::default();
        while let Some((word, rest)) = text.split_once(char::is_whitespace) {
            match word {
                "-q" => flags.quiet = true,
                "-s" => flags.silent = true,
                "-c" => flags.goes_on = true,
                _ => break,
            }
            text = rest.trim_start();
        }
        (flags, text)
    }
}

impl Debugger {
    pub(super) fn taas(&mut self, command: &str) -> Result<()> {
        self.thread_apply(&format!("all -s {command}"))
    }

    pub(super) fn faas(&mut self, command: &str) -> Result<()> {
        self.frame_apply(&format!("all -s {command}"))
    }

    fn apply_one(&mut self, title: &str, flags: Flags, command: &str) -> Result<()> {
        if !flags.silent {
            if !flags.quiet {
                self.say(title)?;
            }
            match self.execute(command) {
                Err(e) if flags.goes_on => self.say(&e.to_string())?,
                other => drop(other?),
            }
            return self.quit_if_asked();
        }
        // The heading comes with the first thing that is said.
        let (said, done) = self.captured(|d| d.execute(command));
        self.quit_if_asked()?;
        if done.is_err() || said.is_empty() {
            return Ok(());
        }
        if !flags.quiet {
            self.say(title)?;
        }
        self.out.write_all(said.as_bytes())?;
        Ok(())
    }

    /// `frame apply all COMMAND`, `frame apply 3 COMMAND`: in the innermost frames.
    pub(super) fn frame_apply(&mut self, args: &str) -> Result<()> {
        let count = self.all_frames()?;
        let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        let wanted = match word {
            "all" => Some(count),
            word => word.parse::<usize>().ok().map(|n| n.min(count)),
        };
        let (flags, command) = Flags::split(rest.trim());
        let (Some(wanted), false) = (wanted, command.is_empty()) else {
            return failure("Which frames and what?  frame apply all COMMAND");
        };
        let Some(before) = self.live.as_ref().map(|l| (l.tid, l.selected)) else {
            return failure(NO_STACK);
        };
        let mut done = Ok(());
        for level in 0..wanted {
            match &mut self.live {
                Some(live) => live.selected = level,
                None => break,
            }
            let title = self.frame_text(level, true);
            done = self.apply_one(&title, flags, command);
            if done.is_err() {
                break;
            }
        }
        if let Some(live) = &mut self.live
            && live.tid == before.0
        {
            live.selected = before.1;
        }
        done
    }

    /// `thread apply all COMMAND`, `thread apply 1 2 COMMAND`.
    pub(super) fn thread_apply(&mut self, args: &str) -> Result<()> {
        let Some(live) = &self.live else {
            return failure("No threads.");
        };
        let (current, selected) = (live.tid, live.selected);
        let all = live.process.numbered_threads();
        let mut rest = args.trim();
        let mut wanted = Vec::new();
        if let Some(after) = rest.strip_prefix("all ") {
            wanted = all.iter().map(|(number, _)| *number).rev().collect();
            rest = after.trim();
        }
        while let Some((word, after)) = rest.split_once(char::is_whitespace)
            && let Some(numbers) = range(word)
        {
            wanted.extend(numbers);
            rest = after.trim();
        }
        let (flags, rest) = Flags::split(rest);
        if wanted.is_empty() || rest.is_empty() {
            return failure("Which threads and what?  thread apply all COMMAND");
        }
        let mut done = Ok(());
        for number in wanted {
            let tid = all.iter().find(|(n, _)| *n == number).map(|(_, tid)| *tid);
            if tid.is_none() {
                self.say(&format!("warning: Unknown thread {number}"))?;
            }
            let Some(live) = &mut self.live else { break };
            let Some(tid) = tid.filter(|t| live.process.is_stopped(*t)) else {
                continue;
            };
            live.look(tid, &self.images)?;
            let title = self.thread_title(tid);
            let title = title.strip_suffix(')').unwrap_or(&title);
            let title = format!("\nThread {title} \"{}\"):", self.thread_name(tid));
            done = self.apply_one(&title, flags, rest);
            if done.is_err() {
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

/// `3` or `1-3`, in the order written.
pub(super) fn range(word: &str) -> Option<Vec<usize>> {
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

//! What happens at each signal of the program.

use super::Debugger;
use super::failure::{Result, failure};
use super::stops::description;
use verde_engine::Treatment;
use verde_sys::number;

impl Debugger {
    /// `handle SIGNAL... [no]stop [no]print [no]pass`.
    pub(super) fn handle(&mut self, args: &str) -> Result<()> {
        let mut signals = Vec::new();
        let mut words = Vec::new();
        for word in args.split_whitespace() {
            match (word, verde_sys::signals::by_name(word)) {
                // Those that the debugger lives by have to be named.
                ("all", _) => signals.extend((1..=64).filter(|s| !is_debuggers(*s))),
                // `stop` is a flag, though SIGSTOP may be called so elsewhere.
                (_, Some(signal)) if !is_flag(word) => signals.push(signal),
                _ => words.push(word),
            }
        }
        if signals.is_empty() {
            return failure("Which signals?  handle SIGUSR1 nostop noprint pass");
        }
        for &signal in &signals {
            let mut treatment = self.signals.get(signal);
            for word in &words {
                change(&mut treatment, word)?;
            }
            self.signals.set(signal, treatment);
            if let Some(live) = &mut self.live {
                live.process.options.signals.set(signal, treatment);
            }
        }
        self.signal_table(&signals)
    }

    /// `info signals [SIGNAL]`.
    pub(super) fn info_signals(&mut self, args: &str) -> Result<()> {
        if args.is_empty() {
            let all: Vec<i32> = (1..=64).collect();
            self.signal_table(&all)?;
            return self.say("\nUse the \"handle\" command to change these tables.");
        }
        match verde_sys::signals::by_name(args) {
            Some(signal) => self.signal_table(&[signal]),
            None => failure(format!("Unknown signal name '{args}'.")),
        }
    }

    fn signal_table(&mut self, signals: &[i32]) -> Result<()> {
        self.say("Signal        Stop\tPrint\tPass to program\tDescription")?;
        for &signal in signals {
            let treatment = self.signals.get(signal);
            let word = |yes| if yes { "Yes" } else { "No" };
            self.say(&format!(
                "{:<13} {}\t{}\t{}\t\t{}",
                verde_sys::signals::name(signal),
                word(treatment.stop),
                word(treatment.print),
                word(treatment.pass),
                description(signal)
            ))?;
        }
        Ok(())
    }
}

fn is_debuggers(signal: i32) -> bool {
    matches!(signal, number::SIGINT | number::SIGTRAP)
}

fn is_flag(word: &str) -> bool {
    let mut any = Treatment {
        stop: false,
        print: false,
        pass: false,
    };
    change(&mut any, word).is_ok()
}

/// A signal that stops the program is told; one that is not told does not stop.
fn change(treatment: &mut Treatment, word: &str) -> Result<()> {
    match word {
        "stop" => (treatment.stop, treatment.print) = (true, true),
        "nostop" => treatment.stop = false,
        "print" => treatment.print = true,
        "noprint" => (treatment.stop, treatment.print) = (false, false),
        "pass" | "noignore" => treatment.pass = true,
        "nopass" | "ignore" => treatment.pass = false,
        _ => return failure(format!("Unrecognized or ambiguous flag word: \"{word}\".")),
    }
    Ok(())
}

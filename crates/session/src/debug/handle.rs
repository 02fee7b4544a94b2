//! What happens at each signal of the program.

use super::Debugger;
use super::failure::{Result, failure};
use verde_engine::Treatment;

impl Debugger {
    /// `handle SIGNAL... [no]stop [no]print [no]pass`.
    pub(super) fn handle(&mut self, args: &str) -> Result<()> {
        let mut signals = Vec::new();
        let mut words = Vec::new();
        for word in args.split_whitespace() {
            match (word, verde_sys::signals::by_name(word)) {
                ("all", _) => signals.extend(1..=64),
                (_, Some(signal)) => signals.push(signal),
                _ => words.push(word),
            }
        }
        if signals.is_empty() {
            return failure("Which signals?  handle SIGUSR1 nostop noprint pass");
        }
        for signal in signals {
            let mut treatment = self.signals.get(signal);
            for word in &words {
                change(&mut treatment, word)?;
            }
            self.signals.set(signal, treatment);
            if let Some(live) = &mut self.live {
                live.process.options.signals.set(signal, treatment);
            }
        }
        Ok(())
    }
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

//! What to do with each signal of the program.

use verde_sys::number as n;

/// Treatment of one signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Treatment {
    /// Report a stop, for the program to stay there.
    pub stop: bool,
    /// Tell the user: reported too.
    pub print: bool,
    /// Deliver it to the program.
    pub pass: bool,
}

/// Treatment of every signal, real-time ones included.
#[derive(Clone, Debug)]
pub struct SignalPolicy {
    table: [Treatment; 65],
}

const PASS: Treatment = Treatment {
    stop: false,
    print: false,
    pass: true,
};

/// The C library's own, for cancelling threads and for changing user ids in
/// all of them: no business of the program's.
const OF_THREADS: [usize; 2] = [32, 33];

impl SignalPolicy {
    /// Every signal goes to the program without a stop: unattended runs.
    pub fn transparent() -> SignalPolicy {
        SignalPolicy { table: [PASS; 65] }
    }

    /// gdb's defaults: stop on what usually means trouble.
    pub fn interactive() -> SignalPolicy {
        let stop = Treatment {
            stop: true,
            print: true,
            pass: true,
        };
        let mut table = [stop; 65];
        for signal in [
            n::SIGALRM,
            n::SIGCHLD,
            n::SIGURG,
            n::SIGIO,
            n::SIGVTALRM,
            n::SIGPROF,
            n::SIGWINCH,
        ] {
            table[signal as usize] = PASS;
        }
        for signal in OF_THREADS {
            table[signal] = PASS;
        }
        for signal in [n::SIGINT, n::SIGTRAP] {
            table[signal as usize].pass = false;
        }
        SignalPolicy { table }
    }

    /// Treatment of a signal; numbers out of range pass.
    pub fn get(&self, signal: i32) -> Treatment {
        self.table.get(signal as usize).copied().unwrap_or(PASS)
    }

    /// Changes the treatment of a signal; `false` for a number out of range.
    pub fn set(&mut self, signal: i32, treatment: Treatment) -> bool {
        match self.table.get_mut(signal as usize) {
            Some(place) if signal > 0 => {
                *place = treatment;
                true
            }
            _ => false,
        }
    }
}

impl Default for SignalPolicy {
    fn default() -> SignalPolicy {
        SignalPolicy::interactive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_of_the_library_do_not_stop() {
        let stops = |signal| SignalPolicy::interactive().get(signal).stop;
        let table: Vec<bool> = [32, 33, 34, n::SIGSEGV].map(stops).to_vec();
        assert_eq!(table, [false, false, true, true]);
    }
}

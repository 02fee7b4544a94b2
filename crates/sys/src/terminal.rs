//! Handing the terminal to the program while it runs and back while it is
//! stopped: foreground process group and line settings of both sides, and
//! whether the standard streams make their readers wait.

use crate::Tid;
use crate::error::{Result, SysError};
use std::os::fd::{AsRawFd, OwnedFd};

/// The controlling terminal, shared by the debugger and the program.
pub struct Terminal {
    fd: OwnedFd,
    ours: libc::termios,
    theirs: Option<libc::termios>,
    /// The group that had the terminal last: a shell gives it to its jobs.
    their_group: Option<i32>,
    our_group: i32,
    given: bool,
}

/// Line settings of the terminal.
#[derive(Clone, Copy)]
pub struct TerminalSettings(libc::termios);

impl Terminal {
    /// The controlling terminal of this process; `None` when there is none or
    /// this process is in the background.
    pub fn open() -> Option<Terminal> {
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/tty")
            .ok()?;
        let fd = OwnedFd::from(file);
        // SAFETY: no memory is involved.
        let our_group = unsafe { libc::getpgrp() };
        // SAFETY: as above.
        if unsafe { libc::tcgetpgrp(fd.as_raw_fd()) } != our_group {
            return None;
        }
        let ours = settings(&fd).ok()?;
        Some(Terminal {
            fd,
            ours,
            theirs: None,
            their_group: None,
            our_group,
            given: false,
        })
    }

    /// Gives the terminal to a process group, with the settings it had when
    /// it last owned it.
    pub fn give(&mut self, group: Tid) -> Result<()> {
        if !self.given {
            self.ours = settings(&self.fd)?;
        }
        if let Some(theirs) = &self.theirs {
            set_settings(&self.fd, theirs)?;
        }
        let last = self.their_group.take();
        match last.map(|group| set_foreground(&self.fd, group)) {
            Some(Ok(())) => {}
            // The first time, or that group has ended.
            _ => set_foreground(&self.fd, group.0)?,
        }
        self.given = true;
        Ok(())
    }

    /// Takes the terminal back, remembering the program's settings.
    pub fn take(&mut self) -> Result<()> {
        if !self.given {
            return Ok(());
        }
        self.theirs = settings(&self.fd).ok();
        // SAFETY: no memory is involved.
        let group = unsafe { libc::tcgetpgrp(self.fd.as_raw_fd()) };
        self.their_group = (group > 0 && group != self.our_group).then_some(group);
        set_foreground(&self.fd, self.our_group)?;
        self.given = false;
        set_settings(&self.fd, &self.ours)
    }

    /// The settings that the program has when it runs.
    pub fn program_settings(&self) -> Option<TerminalSettings> {
        let now = match self.given {
            true => settings(&self.fd).ok(),
            false => Some(self.theirs.unwrap_or(self.ours)),
        };
        now.map(TerminalSettings)
    }

    /// Changes them.
    pub fn set_program_settings(&mut self, settings: &TerminalSettings) -> Result<()> {
        self.theirs = Some(settings.0);
        match self.given {
            true => set_settings(&self.fd, &settings.0),
            false => Ok(()),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that is gone.
        let _ = self.take();
    }
}

/// Which of the standard streams do not make their users wait (`O_NONBLOCK`): a flag of the open
/// files, which the program shares with the debugger, terminals or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Impatience([bool; STREAMS.len()]);

const STREAMS: [libc::c_int; 3] = [libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO];

impl Impatience {
    /// How the streams are now; one that is closed is like one that waits.
    fn now() -> Impatience {
        Impatience(STREAMS.map(|fd| open_flags(fd).is_some_and(|f| f & libc::O_NONBLOCK != 0)))
    }

    fn set(self) {
        // Several numbers may be of one open file: it is looked at again for each.
        for (fd, impatient) in STREAMS.into_iter().zip(self.0) {
            let Some(before) = open_flags(fd) else {
                continue;
            };
            let wanted = match impatient {
                true => before | libc::O_NONBLOCK,
                false => before & !libc::O_NONBLOCK,
            };
            if wanted != before {
                // SAFETY: no memory is involved. Every open file takes the flag.
                unsafe { libc::fcntl(fd, libc::F_SETFL, wanted) };
            }
        }
    }
}

fn open_flags(fd: libc::c_int) -> Option<libc::c_int> {
    // SAFETY: no memory is involved.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    (flags >= 0).then_some(flags)
}

/// The standard streams, shared by the debugger and the program.
#[derive(Default)]
pub struct Streams {
    ours: Option<Impatience>,
    theirs: Option<Impatience>,
    given: bool,
}

impl Streams {
    /// The program runs: they are as it has left them.
    pub fn give(&mut self) {
        if self.given {
            return;
        }
        self.given = true;
        self.ours = Some(Impatience::now());
        if let Some(theirs) = self.theirs {
            theirs.set();
        }
    }

    /// The program is stopped: they are as the debugger had them.
    pub fn take(&mut self) {
        if !self.given {
            return;
        }
        self.given = false;
        self.theirs = Some(Impatience::now());
        if let Some(ours) = self.ours {
            ours.set();
        }
    }

    /// There is no program any more, and nothing to give to the next.
    pub fn close(&mut self) {
        self.take();
        self.theirs = None;
    }

    /// How the program has them when it runs.
    pub fn of_program(&self) -> Impatience {
        match self.theirs {
            Some(theirs) if !self.given => theirs,
            _ => Impatience::now(),
        }
    }

    /// Changes that. Others may have changed the open files meanwhile, with those of the program.
    pub fn set_of_program(&mut self, theirs: Impatience) {
        self.theirs = Some(theirs);
        let now = match self.given {
            true => self.theirs,
            false => self.ours,
        };
        if let Some(now) = now {
            now.set();
        }
    }
}

fn settings(fd: &OwnedFd) -> Result<libc::termios> {
    // SAFETY: termios is plain data, filled in by the call.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(fd.as_raw_fd(), &mut settings) != 0 {
            return Err(SysError::last("tcgetattr"));
        }
        Ok(settings)
    }
}

fn set_settings(fd: &OwnedFd, settings: &libc::termios) -> Result<()> {
    without_ttou(|| {
        // SAFETY: `settings` was filled in by tcgetattr.
        if unsafe { libc::tcsetattr(fd.as_raw_fd(), libc::TCSADRAIN, settings) } != 0 {
            return Err(SysError::last("tcsetattr"));
        }
        Ok(())
    })
}

fn set_foreground(fd: &OwnedFd, group: i32) -> Result<()> {
    without_ttou(|| {
        // SAFETY: no memory is involved.
        if unsafe { libc::tcsetpgrp(fd.as_raw_fd(), group) } != 0 {
            return Err(SysError::last("tcsetpgrp"));
        }
        Ok(())
    })
}

/// Changing a terminal from the background stops the caller with SIGTTOU
/// unless it is blocked.
fn without_ttou<T>(act: impl FnOnce() -> T) -> T {
    // SAFETY: sigset_t is plain data; only the calling thread's mask changes.
    unsafe {
        let mut block: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut block);
        libc::sigaddset(&mut block, libc::SIGTTOU);
        libc::pthread_sigmask(libc::SIG_BLOCK, &block, &mut before);
        let result = act();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}

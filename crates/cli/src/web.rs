//! The live page of a command.

use std::io::Write;
use verde_session::board::Board;
use verde_session::debug::{Debugger, Failure, PageOpener};

/// Whether and how a page is opened.
#[derive(Default)]
pub struct Web {
    /// At the start; else when the user asks for it.
    pub at_once: bool,
    pub opener: Option<PageOpener>,
}

impl Web {
    /// Gives the session its page.
    pub(crate) fn open(self, debugger: &mut Debugger) -> Result<(), Failure> {
        if let Some(opener) = self.opener {
            debugger.set_page_opener(opener);
        }
        if !self.at_once {
            return Ok(());
        }
        announce(&debugger.open_page()?);
        Ok(())
    }

    /// The page of something that is only watched, if one is wanted.
    pub(crate) fn open_for(self, board: impl FnOnce() -> Board) -> Result<(), Failure> {
        if let Some(mut opener) = self.opener.filter(|_| self.at_once) {
            announce(&opener(board()).map_err(Failure)?);
        }
        Ok(())
    }
}

fn announce(address: &str) {
    // Not `eprintln!`: a closed standard error must not panic.
    let _ = writeln!(std::io::stderr(), "verde: the live page is at {address}");
}

//! The live page of a command.

use crate::Exit;
use std::io::Write;
use verde_session::debug::{Debugger, PageOpener};

/// Whether and how a page is opened.
#[derive(Default)]
pub struct Web {
    /// At the start; else when the user asks for it.
    pub at_once: bool,
    pub opener: Option<PageOpener>,
}

impl Web {
    /// Gives the session its page. The error was shown.
    pub(crate) fn open(self, debugger: &mut Debugger) -> Result<(), Exit> {
        if let Some(opener) = self.opener {
            debugger.set_page_opener(opener);
        }
        if !self.at_once {
            return Ok(());
        }
        let mut err = std::io::stderr();
        match debugger.open_page() {
            Ok(address) => {
                // Not `eprintln!`: a closed standard error must not panic.
                let _ = writeln!(err, "verde: the live page is at {address}");
                Ok(())
            }
            Err(e) => {
                let _ = writeln!(err, "verde: {e}");
                Err(Exit::ERROR)
            }
        }
    }
}

//! Whether the program gets a user and PID namespace of its own, in which a
//! restore can keep its ids without privileges.

use super::Debugger;
use super::files::is_root;
use verde_engine::{Error, Launch, Options, Process, Result};
use verde_sys::namespace::REFUSED;

const WHY: &str = "the program runs in a user and PID namespace of its own, so that checkpoints \
                   keep its ids (without: set namespace off)";

impl Debugger {
    /// It was chosen, or an ordinary user has asked for checkpoints.
    pub(super) fn wants_namespace(&self) -> bool {
        let asked = || self.automation.often.is_some() || self.scenario_saves();
        let chosen = self.settings.namespace;
        chosen.unwrap_or_else(|| !is_root() && asked())
    }

    /// Starts the program, with a namespace if one is wanted. One that nobody has chosen is done
    /// without where it is forbidden; restores warn then.
    pub(super) fn start_process(
        &mut self,
        mut launch: Launch,
        options: Options,
    ) -> Result<Process> {
        let unasked = launch.namespace && self.settings.namespace.is_none();
        let started = Process::launch(&launch, options.clone());
        match started {
            Err(Error::Sys(e))
                if unasked && launch.overlays.is_empty() && REFUSED.contains(&e.call) =>
            {
                tracing::debug!(error = %e, "no namespace");
                launch.namespace = false;
                Process::launch(&launch, options)
            }
            started => {
                if unasked && started.is_ok() {
                    self.remark_once(WHY);
                }
                started
            }
        }
    }
}

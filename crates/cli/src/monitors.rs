//! Properties, functions files and scenario of a session with a program.

use crate::check::complain;
use crate::replay::load_failed;
use crate::suppress::Suppressions;
use crate::{Exit, paint::Paint};
use std::path::PathBuf;
use std::time::Duration;
use verde_property::render;
use verde_session::debug::{Automation, Choices, Debugger, LoadFailure, Output, Warnings};

/// What to load, and how the monitors are to behave.
#[derive(Clone, Debug)]
pub struct MonitorSetup {
    pub properties: Vec<PathBuf>,
    pub functions: Vec<PathBuf>,
    pub scenario: Option<PathBuf>,
    /// Files with violations that are known.
    pub suppress: Vec<PathBuf>,
    pub all_events: bool,
    pub history: usize,
    pub history_stacks: bool,
    pub block_limit: Duration,
    pub automation: Automation,
}

impl MonitorSetup {
    fn choices(&self) -> Choices {
        Choices {
            all_events: self.all_events,
            history: self.history,
            stacks: self.history_stacks,
            block_limit: self.block_limit,
        }
    }

    /// Loads everything into a debugger. The error was shown.
    pub(crate) fn load(&self, debugger: &mut Debugger, output: Output) -> Result<(), Exit> {
        debugger.set_up_monitors(self.choices(), output);
        debugger.automate(self.automation);
        if !self.suppress.is_empty() {
            let mut known = Suppressions::default();
            for path in &self.suppress {
                let read = known.read(path);
                let odd =
                    read.map_err(|e| complain(&format!("cannot read {}: {e}", path.display())))?;
                for line in odd {
                    complain(&format!(
                        "warning: {}:{line}: not `property:function:file`: the line suppresses nothing",
                        path.display()
                    ));
                }
            }
            debugger.suppress(Box::new(move |property, frames| {
                known.cover(property, frames)
            }));
        }
        for path in &self.functions {
            debugger.load_functions(path).map_err(|e| load_failed(&e))?;
        }
        if let Some(path) = &self.scenario {
            shown(debugger.add_scenario(path))?;
        }
        for path in &self.properties {
            shown(debugger.add_property(path))?;
        }
        shown(Ok(debugger.scenario_warnings()))
    }
}

fn shown(loaded: Result<Warnings, LoadFailure>) -> Result<(), Exit> {
    let warnings = loaded.map_err(|e| load_failed(&e))?;
    for (source, found) in warnings {
        eprint!("{}", render(&source, &found, Paint::stderr().on()));
    }
    Ok(())
}

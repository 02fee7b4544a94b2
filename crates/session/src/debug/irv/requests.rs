//! What Python code asks about the program and its monitors.

use super::host::Desk;
use crate::inquiry::{Answer, Inquiry, flag};
use serde_json::{Value, json};
use verde_monitor::View;
use verde_pyhost::Services;

impl Services for Desk<'_> {
    fn request(
        &mut self,
        owner: u64,
        view: Option<View>,
        what: &str,
        args: &str,
    ) -> Result<String, String> {
        let args: Value = serde_json::from_str(args).map_err(|e| e.to_string())?;
        let answer = match what {
            "execute" | "eval" | "frame" | "thread" => self.ask_debugger(what, &args)?,
            "checkpoint" | "restore_checkpoint" | "set_watchpoint" | "set_breakpoint"
            | "unset_point" => self.act(what, &args)?,
            _ if self.switches.set(what, &args) => {
                self.latch.stop |= what == "stop";
                self.latch.reinstrument |= what == "all_events";
                Value::Null
            }
            _ => match view {
                Some(view) => {
                    let before = self.writes.len();
                    let mut inquiry = Inquiry {
                        writes: self.writes,
                        slice: self.slice,
                    };
                    let answer = inquiry.ask(owner, view, what, &args)?;
                    self.latch.reinstrument |= self.writes.len() > before;
                    answer
                }
                None => return Err(format!("there is no monitor to ask about {what}")),
            },
        };
        Ok(answer.to_string())
    }

    fn printed(&mut self, text: &str) {
        self.print_all(text);
    }
}

impl Desk<'_> {
    /// A command, an expression, a frame: all threads are stopped first.
    fn ask_debugger(&mut self, what: &str, args: &Value) -> Answer {
        if self.debugger.live.is_some() && !self.latch.settled {
            self.debugger.settle_for(self.tid)?;
            self.latch.settled = true;
        }
        match what {
            "execute" => {
                let command = args["command"].as_str().unwrap_or_default();
                let shown = !flag(args, "capture") && self.output.says_states();
                self.debugger.command_of_block(command, shown)
            }
            "eval" => self.debugger.value_for_block(args),
            "frame" => self.debugger.frame_for_block(args["level"].as_u64()),
            _ => self.debugger.thread_for_block(),
        }
    }

    /// The actions of scenarios on the program.
    fn act(&mut self, what: &str, args: &Value) -> Answer {
        if self.debugger.live.is_some() && !self.latch.settled {
            self.debugger.settle_for(self.tid)?;
            self.latch.settled = true;
        }
        let text = |name: &str| args[name].as_str().unwrap_or_default().to_owned();
        match what {
            "set_watchpoint" => {
                let command = match text("mode").as_str() {
                    "w" => "watch",
                    "r" => "rwatch",
                    "rw" | "wr" => "awatch",
                    other => {
                        let why = format!("set_watchpoint: no mode {other:?}: one of w, r, rw");
                        return Err(why);
                    }
                };
                let line = format!("{command} {}", text("expression"));
                self.debugger.quiet_point(&line)
            }
            "set_breakpoint" => self
                .debugger
                .quiet_point(&format!("break {}", text("location"))),
            "unset_point" => self
                .debugger
                .drop_points(&text("which"), flag(args, "watch")),
            "checkpoint" => {
                let live = self.debugger.live.as_ref();
                if live.is_none_or(|l| l.process.ended().is_some()) {
                    return Err("there is no program to save".into());
                }
                let number = self.debugger.free_checkpoint(&self.latch.checkpoints);
                // What refuses it is said when it is to be taken.
                self.latch.checkpoints.push(number);
                let possible = self.debugger.can_be_saved();
                Ok(possible.then_some(number).map_or(Value::Null, |n| json!(n)))
            }
            _ => {
                let number = args["number"].as_u64().and_then(|n| u32::try_from(n).ok());
                let number = number.unwrap_or(0);
                let reserved = self.latch.checkpoints.contains(&number);
                if !reserved && !self.debugger.has_checkpoint(number) {
                    return Err(format!("there is no checkpoint {number}"));
                }
                self.latch.restore = Some(number);
                Ok(Value::Null)
            }
        }
    }
}

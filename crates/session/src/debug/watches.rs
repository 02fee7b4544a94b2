//! Watchpoints.

use super::Debugger;
use super::failure::{NOT_RUN, Result, failure};
use super::here::Here;
use super::location::split_condition;
use super::points::{Access, Condition, Kind, Watch};
use verde_engine::{Addr, On, Owner, Trap};
use verde_expr::{EvalError, Value, compile, eval};

impl Debugger {
    pub(super) fn set_watch(&mut self, args: &str) -> Result<()> {
        self.add_watch(args, Access::Write)
    }

    pub(super) fn set_rwatch(&mut self, args: &str) -> Result<()> {
        self.add_watch(args, Access::Read)
    }

    pub(super) fn set_awatch(&mut self, args: &str) -> Result<()> {
        self.add_watch(args, Access::Both)
    }

    fn add_watch(&mut self, args: &str, on: Access) -> Result<()> {
        let (text, condition) = split_condition(args);
        if text.is_empty() {
            return failure("Watch what?  Name a variable or another place in memory.");
        }
        let mut here = self.here();
        let node = compile(text, &here)?;
        let value = eval(&node, &mut here)?;
        if value.address().is_none() {
            return failure(format!("Cannot watch \"{text}\": it is not in memory."));
        }
        let condition = match condition {
            Some(c) => Some(Condition {
                text: c.to_owned(),
                node: Some(compile(c, &here)?),
            }),
            None => None,
        };
        // Bound without a frame too, it is no local.
        let is_local = self.bind_without_frame(text).is_err();
        let frame = match &self.live {
            Some(live) if is_local => live.frame_ref(live.selected),
            _ => None,
        };
        let watch = Watch {
            text: text.to_owned(),
            node,
            on,
            old: None,
            at: Addr(0),
            frame,
            trap: None,
        };
        let number = self
            .points
            .add(Kind::Watch(Box::new(watch)), false, condition);
        if let Err(e) = self.arm() {
            self.remove_point(number)?;
            return Err(e);
        }
        self.say(&format!("{} {number}: {text}", on.title()))
    }

    fn bind_without_frame(&mut self, text: &str) -> std::result::Result<(), EvalError> {
        let here = Here {
            process: None,
            images: &self.images,
            frame: None,
            innermost: false,
            memo: &mut self.memo,
        };
        compile(text, &here).map(|_| ())
    }

    /// Sets the trap of a watchpoint, from the value it has now.
    pub(super) fn arm_watch(&mut self, index: usize) -> Result<()> {
        let node = match &self.points.list[index].kind {
            Kind::Watch(watch) if watch.trap.is_none() => watch.node.clone(),
            _ => return Ok(()),
        };
        if self.live.is_none() {
            return Ok(());
        }
        let value: Value = eval(&node, &mut self.here())?;
        let (Some(at), Some(len)) = (value.address(), value.ty.size()) else {
            return failure("Cannot watch a value that is not in memory.");
        };
        let at = Addr(at);
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        let Kind::Watch(watch) = &mut self.points.list[index].kind else {
            return Ok(());
        };
        let on = match watch.on {
            Access::Write => On::Write { at, len },
            Access::Read => On::Read { at, len },
            Access::Both => On::Access { at, len },
        };
        let mut trap = Trap::new(on, Owner::User);
        if let Some(frame) = watch.frame {
            trap = trap.in_thread(live.tid).in_frame(frame);
        }
        watch.trap = Some(live.process.insert(trap)?);
        watch.at = at;
        watch.old = Some(value);
        Ok(())
    }
}

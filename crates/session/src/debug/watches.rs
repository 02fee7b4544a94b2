//! Watchpoints.
//!
//! An expression is watched by all that it reads: `p->x` changes when `x` is
//! written, and when `p` is. What is not in memory is looked at after every
//! instruction.

use super::Debugger;
use super::failure::{Result, failure};
use super::here::{Here, Names};
use super::live::ProcessMemory;
use super::location::take_condition;
use super::points::{Access, Condition, Kind, Watch};
use super::watch_scope::{Wanted, scope_of};
use std::sync::Arc;
use verde_engine::{Addr, Error, On, Owner, Tid, Trap, TrapId};
use verde_expr::{EvalError, Loaded, Node, Value, compile, eval, reads};
use verde_symbols::{LocationError, Modules};

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
        let (text, condition) = take_condition(args)?;
        let place = ["-location ", "-l "]
            .iter()
            .find_map(|o| text.strip_prefix(o));
        if place.unwrap_or(text).trim().is_empty() {
            return failure("Watch what?  Name a variable or another place in memory.");
        }
        let (fixed, text) = match place.map(str::trim) {
            Some(place) => (Some(self.fixed_place(place)?), format!("-location {place}")),
            None => (None, text.to_owned()),
        };
        let states = match condition {
            Some(c) => self.with_states(c, true)?,
            None => None,
        };
        let function = self.selected_function();
        let node = match fixed {
            Some(node) => node,
            None => {
                let node = compile(&text, &self.here());
                node.map_err(|e| self.explain(e))?
            }
        };
        let mut here = self.here();
        if node.has_effects() {
            return failure(format!("Cannot watch \"{text}\": it changes the program."));
        }
        if node.names_other_frames() {
            return failure(format!(
                "Cannot watch \"{text}\" from here: select the frame of its function first."
            ));
        }
        let seen = reads(&node, &mut here);
        if seen.memory.is_empty() {
            // One that cannot be had says why.
            eval(&node, &mut here)?.bytes()?;
            if !seen.elsewhere {
                return failure(format!("Cannot watch constant value `{text}'."));
            }
            if on != Access::Write {
                return failure("Expression cannot be implemented with read/access watchpoint.");
            }
        }
        let on = match on {
            Access::Write if seen.elsewhere => Access::Value,
            on => on,
        };
        let condition = match condition {
            Some(c) => Some(Condition {
                text: c.to_owned(),
                node: Some(Arc::new(compile(states.as_deref().unwrap_or(c), &here)?)),
                function,
            }),
            None => None,
        };
        let frame = match &self.live {
            // Registers alone are those of the innermost frame, whichever that is.
            Some(live) if !node.locals().is_empty() => {
                let frame = live.frame_ref(live.selected);
                frame.map(|frame| (live.tid, frame))
            }
            _ => None,
        };
        let is_own = node.is_thread_local();
        let watch = Watch {
            text: text.clone(),
            node,
            on,
            old: None,
            ranges: Vec::new(),
            frame,
            owner: None,
            function,
            traps: Vec::new(),
            raced: Vec::new(),
        };
        let number = self.add_point(Kind::Watch(Box::new(watch)), false, condition);
        if let Err(e) = self.arm() {
            self.remove_point(number)?;
            return Err(e);
        }
        self.say(&format!("{} {number}: {text}", on.title()))?;
        match &self.live {
            Some(live) if is_own => {
                let thread = live.process.thread_number(live.tid).unwrap_or(0);
                self.say(&format!(
                    "Each thread has its own: that of thread {thread} is watched."
                ))
            }
            _ => Ok(()),
        }
    }

    /// The place that an expression means now, whatever becomes of its parts.
    fn fixed_place(&mut self, text: &str) -> Result<Node> {
        let value = self.evaluate(text)?;
        match Node::at_place_of(&value) {
            Some(node) => Ok(node),
            None => failure(format!("Cannot watch \"{text}\": it is not in memory.")),
        }
    }

    /// What a watched expression is now, and what it reads. A value that
    /// cannot be had is one, too: the pointer may be null.
    pub(super) fn look_at_watched(
        &mut self,
        index: usize,
        tid: Tid,
    ) -> Option<(Value, Vec<(u64, u64)>)> {
        let Kind::Watch(watch) = &self.points.list[index].kind else {
            return None;
        };
        let (node, frame, function) = (watch.node.clone(), watch.frame, watch.function);
        let is_value = watch.on == Access::Value;
        let tid = watch.owner.unwrap_or(tid);
        let tid = frame.map_or(tid, |(owner, _)| owner);
        let wanted = match frame {
            Some((_, frame)) => Some(Wanted {
                frame: Some(frame),
                function,
            }),
            None if is_value => Some(Wanted {
                frame: None,
                function: None,
            }),
            None => None,
        };
        if let (true, Some(wanted)) = (is_value, wanted)
            && let Some(value) = self.value_nearby(tid, wanted, &node)
        {
            return Some((value, Vec::new()));
        }
        let live = self.live.as_mut()?;
        let scope = match wanted {
            Some(wanted) => Some(scope_of(&live.process, tid, wanted, &self.images)?),
            None => None,
        };
        let mut here = Here {
            process: Some((&mut live.process, tid)),
            images: &self.images,
            frame: scope,
            innermost: false,
            memo: &mut self.memo,
            names: Names::All,
        };
        let value = match eval(&node, &mut here) {
            Ok(value) => value,
            Err(EvalError::Location(why)) => Value::missing(node.ty.clone(), why),
            Err(_) => Value::missing(node.ty.clone(), LocationError::OptimizedOut),
        };
        let ranges = match is_value {
            true => Vec::new(),
            false => reads(&node, &mut here).memory,
        };
        Some((value, ranges))
    }

    /// Sets the traps of a watchpoint, from the value it has now.
    pub(super) fn arm_watch(&mut self, index: usize) -> Result<()> {
        let Some(tid) = self.live.as_ref().map(|l| l.tid) else {
            return Ok(());
        };
        match &mut self.points.list[index].kind {
            Kind::Watch(watch) if watch.traps.is_empty() => {
                if watch.node.is_thread_local() || watch.on == Access::Value {
                    watch.owner.get_or_insert(tid);
                }
            }
            _ => return Ok(()),
        }
        let Some((value, ranges)) = self.look_at_watched(index, tid) else {
            return Ok(());
        };
        if let Kind::Watch(watch) = &mut self.points.list[index].kind {
            watch.old = Some(value);
        }
        self.watch_ranges(index, ranges)
    }

    /// Watches these ranges of memory instead of those before.
    pub(super) fn watch_ranges(&mut self, index: usize, ranges: Vec<(u64, u64)>) -> Result<()> {
        let (Some(live), Kind::Watch(watch)) = (&mut self.live, &mut self.points.list[index].kind)
        else {
            return Ok(());
        };
        if watch.ranges == ranges && !watch.traps.is_empty() {
            return Ok(());
        }
        for id in watch.traps.drain(..) {
            match live.process.remove(id) {
                Ok(()) | Err(Error::NoTrap(_) | Error::Gone) => {}
                Err(e) => return Err(e.into()),
            }
        }
        if watch.on == Access::Value {
            let mut trap = Trap::new(On::Instruction, Owner::User);
            trap.thread = watch.owner;
            if let Some((tid, frame)) = watch.frame {
                trap = trap.in_thread(tid).in_frame(frame);
            }
            watch.traps.push(live.process.insert(trap)?);
        }
        for (i, (at, len)) in ranges.iter().enumerate() {
            let (at, len) = (Addr(*at), *len);
            let on = match watch.on {
                Access::Read if i == 0 => On::Read { at, len },
                Access::Both if i == 0 => On::Access { at, len },
                // What leads to the place matters when it changes.
                _ => On::Write { at, len },
            };
            let mut trap = Trap::new(on, Owner::User);
            if let Some((tid, frame)) = watch.frame {
                trap = trap.in_thread(tid).in_frame(frame);
            }
            match live.process.insert(trap) {
                Ok(id) => watch.traps.push(id),
                // A pointer to nowhere can be followed once it leads somewhere.
                Err(Error::CannotWatch { .. }) if i == 0 && ranges.len() > 1 => {}
                Err(e) => return Err(e.into()),
            }
        }
        watch.ranges = ranges;
        Ok(())
    }

    /// The value of a watched variable, which nothing leads to: it is where it
    /// was, and needs no frame to be found.
    fn at_one_place(&mut self, index: usize) -> Option<Value> {
        let (Some(live), Kind::Watch(watch)) = (&self.live, &self.points.list[index].kind) else {
            return None;
        };
        let old = watch.old.as_ref()?;
        match watch.ranges.as_slice() {
            [(at, _)] if old.address() == Some(*at) && old.bits.is_none() => {
                let memory = ProcessMemory(&live.process);
                Some(Value::at(old.ty.clone(), *at, &memory))
            }
            _ => None,
        }
    }

    /// After a change: all that is watched is as every store so far has left it, and the threads
    /// are known whose stores are among those and have not been told. Nobody may run meanwhile,
    /// who could have stored and not stopped yet.
    pub(super) fn settle_stores(&mut self, index: usize, tid: Tid) -> Result<Option<Value>> {
        let (Some(live), Kind::Watch(watch)) = (&mut self.live, &self.points.list[index].kind)
        else {
            return Ok(None);
        };
        let is_hardware = |id: &TrapId| live.process.watch_in_hardware(*id) == Some(true);
        let is_alone = live.process.threads().len() < 2;
        if is_alone || watch.on != Access::Write || !watch.traps.iter().any(is_hardware) {
            return Ok(None);
        }
        let held = match live.process.stop_all() {
            Ok(world) => world.release(),
            // The end is told next.
            Err(Error::Gone) => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let seen = self.watched_now(index, tid);
        let (Some(live), Kind::Watch(watch)) = (&mut self.live, &mut self.points.list[index].kind)
        else {
            return Ok(None);
        };
        watch.raced = live.process.untold_touches(&watch.traps);
        for tid in held {
            live.process.resume(tid)?;
        }
        Ok(seen?.map(|(_, new)| new))
    }

    /// Libraries have come or gone, and what is watched with them: it begins with the value that
    /// it has there, which nobody has stored.
    pub(super) fn watch_in_new(&mut self, tid: Tid, before: &[Loaded]) -> Result<()> {
        for index in 0..self.points.list.len() {
            match &self.points.list[index].kind {
                Kind::Watch(watch) if watch.frame.is_none() && !watch.traps.is_empty() => {}
                _ => continue,
            }
            let Some((value, ranges)) = self.look_at_watched(index, tid) else {
                continue;
            };
            let is_new = ranges.iter().any(|(at, _)| {
                let module = self.images.module_at(*at);
                module.is_some_and(|(module, bias)| {
                    let same = |l: &Loaded| Arc::ptr_eq(&l.module, &module) && l.bias == bias;
                    !before.iter().any(same)
                })
            });
            if let Kind::Watch(watch) = &mut self.points.list[index].kind
                && (is_new || watch.ranges != ranges)
            {
                watch.old = Some(value);
                self.watch_ranges(index, ranges)?;
            }
        }
        Ok(())
    }

    /// A watched expression was written or read: its value before and now.
    /// What leads to its place may have changed as well.
    pub(super) fn watched_now(
        &mut self,
        index: usize,
        tid: Tid,
    ) -> Result<Option<(Option<Value>, Value)>> {
        let new = match self.at_one_place(index) {
            Some(new) => new,
            None => {
                let Some((new, ranges)) = self.look_at_watched(index, tid) else {
                    return Ok(None);
                };
                self.watch_ranges(index, ranges)?;
                new
            }
        };
        let Kind::Watch(watch) = &mut self.points.list[index].kind else {
            return Ok(None);
        };
        let old = watch.old.replace(new.clone());
        Ok(Some((old, new)))
    }
}

//! Data that each thread has for itself: watched in every thread there is, and
//! in every one that begins, before it runs.
//!
//! Of a library that was loaded later a thread gets its own when it first needs
//! it. Until then the place where the C library notes its address is watched.

use super::super::Debugger;
use super::super::here::Here;
use super::Irv;
use super::data::Home;
use super::feed::Target;
use verde_engine::{Addr, On, Owner, Tid, Trap};
use verde_expr::{Node, Scope};
use verde_symbols::{FunctionQuery, Memory, dynamic_tls_slot};

impl Debugger {
    /// The event is wanted: every thread's datum is bound, and those to come will be.
    pub(super) fn watch_in_threads(&mut self, irv: &mut Irv, index: usize, node: &Node) {
        let Some(live) = &mut self.live else {
            return;
        };
        // All are asked where theirs is, and none is born meanwhile.
        let Ok(stopped) = live.process.stop_all().map(|guard| guard.release()) else {
            return;
        };
        let threads = live.process.threads();
        let mut births = vec![On::Start];
        let is_set_up = |tid: &Tid| live.process.regs(*tid).is_ok_and(|r| r.fs_base != 0);
        if !threads.iter().any(is_set_up) {
            births.extend(self.first_own());
        }
        for on in births {
            self.await_birth(irv, index, on);
        }
        for tid in threads {
            self.bind_datum_of(irv, index, node, tid);
        }
        if let Some(live) = &mut self.live {
            for tid in stopped {
                // It ended meanwhile, which is reported.
                let _ = live.process.resume(tid);
            }
        }
    }

    /// Where the first thread of a program without a loader has made its own.
    fn first_own(&self) -> Option<On> {
        let program = self.images.loaded().first()?;
        let mains = program.module.functions(&FunctionQuery::parse("main"));
        Some(On::Exec(Addr(mains.first()?.entry.at(program.bias))))
    }

    fn await_birth(&mut self, irv: &mut Irv, index: usize, on: On) {
        let Some(live) = &mut self.live else {
            return;
        };
        match live.process.insert(Trap::new(on, Owner::Monitor)) {
            Ok(id) => {
                irv.add_target(id, Target::Birth { source: index });
                if let Some(datum) = &mut irv.alphabet.sources[index].datum {
                    datum.births.push(id);
                }
            }
            Err(verde_engine::Error::Gone) => {}
            Err(e) => {
                let title = irv.alphabet.sources[index].title();
                irv.complain(format!("event {title} cannot be observed: {e}"));
            }
        }
    }

    /// A thread has begun, or has what is its own from now on.
    pub(super) fn thread_begins(&mut self, irv: &mut Irv, index: usize, tid: Tid) {
        let text = irv.alphabet.sources[index].name.clone();
        if let Ok(node) = self.global_datum(&text) {
            self.bind_datum_of(irv, index, &node, tid);
        }
    }

    fn bind_datum_of(&mut self, irv: &mut Irv, index: usize, node: &Node, tid: Tid) {
        let regs = self.live.as_ref().and_then(|l| l.process.regs(tid).ok());
        let datum = irv.alphabet.sources[index].datum.as_ref();
        // Without a thread pointer nothing is its own yet.
        if regs.is_some_and(|r| r.fs_base != 0) && datum.is_some_and(|d| !d.own.contains_key(&tid))
        {
            self.bind_datum(irv, index, node.clone(), Home::Thread(tid));
        }
    }

    /// Another process is followed: its threads are others.
    pub(super) fn threads_replaced(&mut self, irv: &mut Irv) {
        for index in 0..irv.alphabet.sources.len() {
            let datum = irv.alphabet.sources[index].datum.as_ref();
            if datum.is_some_and(|d| !d.births.is_empty()) {
                irv.unwatch_datum(index, &mut self.live);
                self.watch_datum(irv, index, None);
            }
        }
    }
}

impl Here<'_> {
    /// What will lead to the thread's own data of an expression that do not exist yet: where
    /// its vector of blocks is noted, and the block in it.
    pub(super) fn awaited(&self, node: &Node) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        let Some((process, tid)) = &self.process else {
            return out;
        };
        let Ok(pointer) = process.regs(*tid).map(|r| r.fs_base) else {
            return out;
        };
        for module in node.thread_local_modules() {
            if self.tls(module).is_some() {
                continue;
            }
            let Some((number, _)) = self.images.tls_number(process, module) else {
                continue;
            };
            let memory: &dyn Memory = self;
            let (vector, slot) = dynamic_tls_slot(memory, pointer, number);
            out.extend([vector].into_iter().chain(slot).map(|at| (at, 8)));
        }
        out.dedup();
        out
    }
}

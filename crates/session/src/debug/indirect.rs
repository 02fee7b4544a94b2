//! Indirect functions (IFUNC): their symbol is a resolver's, which chooses the code that runs.

use super::Debugger;
use super::live::Live;
use std::sync::Arc;
use verde_engine::{Addr, On, Owner, Tid, Trap, TrapId};
use verde_symbols::{FileAddr, Function, FunctionQuery, Module, Modules};

/// How far the choices of a process are.
#[derive(Default)]
pub(super) struct Choices {
    /// Where resolvers can be asked from; until then the loader is at work.
    awaited: Option<TrapId>,
    /// What resolvers chose.
    known: std::collections::HashMap<u64, u64>,
}

impl Debugger {
    /// A program starts: its resolvers rely on what is done before it runs.
    pub(super) fn await_choices(&mut self) {
        let (Some(live), Some(program)) = (&mut self.live, self.images.loaded().first()) else {
            return;
        };
        live.choices = Choices::default();
        let module = &program.module;
        // A static program is its own loader.
        let at = match module.interpreter() {
            Some(_) => Some(module.entry()),
            None => {
                let mains = module.functions(&FunctionQuery::parse("main"));
                mains.first().map(|f| f.entry)
            }
        };
        let on = at.map(|at| On::Exec(Addr(at.at(program.bias))));
        live.choices.awaited =
            on.and_then(|on| live.process.insert(Trap::new(on, Owner::User)).ok());
    }

    /// Whether a trap is the one where resolvers can be asked; it is taken out.
    pub(super) fn choices_begin(&mut self, id: TrapId) -> bool {
        let Some(live) = self.live.as_mut().filter(|l| l.choices.awaited == Some(id)) else {
            return false;
        };
        live.choices.awaited = None;
        // Gone already, it cannot be hit again.
        let _ = live.process.remove(id);
        true
    }

    /// Functions with the code that indirect ones among them have; without those that have not
    /// chosen yet.
    pub(super) fn with_choices(
        &mut self,
        functions: Vec<(Arc<Module>, Function)>,
    ) -> Vec<(Arc<Module>, Function)> {
        let mut out = Vec::new();
        for (module, function) in functions {
            if !function.is_ifunc {
                out.push((module, function));
                continue;
            }
            let can_ask = |l: &Live| l.choices.awaited.is_none();
            let bias = self.images.bias(&module);
            let Some(bias) = bias.filter(|_| self.live.as_ref().is_some_and(can_ask)) else {
                continue;
            };
            let chosen = self.choice(function.entry.at(bias));
            let Some((at, (module, bias))) =
                chosen.and_then(|at| Some((at, self.images.module_at(at)?)))
            else {
                continue;
            };
            let function = module.function_at(FileAddr::of(at, bias));
            out.extend(function.map(|function| (module, function)));
        }
        out
    }

    /// What was chosen for a resolver before.
    pub(super) fn known_choice(&self, resolver: u64) -> Option<u64> {
        self.live.as_ref()?.choices.known.get(&resolver).copied()
    }

    /// Lets the program choose the code of an indirect function.
    pub(super) fn choice(&mut self, resolver: u64) -> Option<u64> {
        if let Some(known) = self.known_choice(resolver) {
            return Some(known);
        }
        let live = self.live.as_mut()?;
        let stopped = |t: &Tid| live.process.is_stopped(*t);
        let tid = live.process.threads().into_iter().find(stopped)?;
        let returned = live
            .process
            .call_function(tid, Addr(resolver), &[], |_| {})
            .ok()?;
        let target = returned.regs.rax;
        self.images.module_at(target)?;
        live.choices.known.insert(resolver, target);
        Some(target)
    }
}

//! From an event of a trace to the monitors that know it.

use crate::trace::TraceEvent;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use verde_monitor::Arg;
use verde_property::ast::Operand;
use verde_property::{Kind, ParamSpec, Property, SpecId, When, canonical_name};

/// A monitor by its number, and its own number for the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub monitor: usize,
    pub spec: SpecId,
}

#[derive(Default)]
pub struct Router {
    /// By kind and moment, then by canonical name.
    routes: FxHashMap<(Kind, When), FxHashMap<String, Vec<Route>>>,
}

impl Router {
    pub fn add(&mut self, monitor: usize, property: &Property) {
        for (i, e) in property.events.iter().enumerate() {
            self.routes
                .entry((e.kind, e.when))
                .or_default()
                .entry(canonical_name(&e.name))
                .or_default()
                .push(Route {
                    monitor,
                    spec: SpecId(i as u16),
                });
        }
    }

    pub fn find(&self, e: &TraceEvent) -> &[Route] {
        let Some(names) = self.routes.get(&(e.kind, e.when)) else {
            return &[];
        };
        let name = e.name;
        let routes = names.get(name).or_else(|| {
            name.contains(char::is_whitespace)
                .then(|| names.get(&canonical_name(name)))
                .flatten()
        });
        routes.map_or(&[], Vec::as_slice)
    }
}

pub type ArgList<'a> = SmallVec<[Option<Arg<'a>>; 8]>;

/// The values of an event's parameters, in the order that the monitor expects.
pub fn arguments<'a>(e: &TraceEvent<'a>, params: &[ParamSpec]) -> ArgList<'a> {
    params
        .iter()
        .map(|p| {
            let value = e.args.declared(&p.text, p.ty.as_deref());
            value.or_else(|| match p.operand {
                Operand::Tid => e.tid.map(Arg::uint),
                Operand::Time => e.time.map(Arg::uint),
                _ => None,
            })
        })
        .collect()
}

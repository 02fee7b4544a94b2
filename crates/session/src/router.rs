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

/// By kind and moment, then by canonical name.
type Routes = FxHashMap<(Kind, When), FxHashMap<String, Vec<Route>>>;

#[derive(Default)]
pub struct Router {
    /// Events under the names that properties give them.
    named: Routes,
    /// With what properties call `::f` under `f` as well: a trace that others wrote has no scopes.
    unscoped: Routes,
}

impl Router {
    pub fn add(&mut self, monitor: usize, property: &Property) {
        let routes = property.events.iter().enumerate().map(|(i, e)| {
            let spec = SpecId(i as u16);
            let route = Route { monitor, spec };
            ((e.kind, e.when), canonical_name(&e.name), route)
        });
        let routes: Vec<_> = routes.collect();
        for (key, name, route) in &routes {
            for map in [&mut self.named, &mut self.unscoped] {
                let names = map.entry(*key).or_default();
                names.entry(name.clone()).or_default().push(*route);
            }
        }
        for (key, name, route) in routes {
            let Some(name) = name.strip_prefix("::") else {
                continue;
            };
            let names = self.unscoped.entry(key).or_default();
            let others = names.entry(name.to_owned()).or_default();
            // A property that names both tells them apart.
            if others.iter().all(|o| o.monitor != monitor) {
                others.push(route);
            }
        }
    }

    pub fn find(&self, e: &TraceEvent) -> &[Route] {
        let routes = match e.any_scope {
            true => &self.named,
            false => &self.unscoped,
        };
        let Some(names) = routes.get(&(e.kind, e.when)) else {
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

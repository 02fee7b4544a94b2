//! The scopes around a DIE: `ns::Class` of a member function, `crate::module` of a Rust one.

use crate::names::plain_arguments;
use crate::scan::{Link, RawDie, Scope, Walker};
use crate::type_read::{child_id, children};
use crate::units::{DieId, Entry, Info, Language, Unit};
use gimli::constants as dw;
use std::sync::Arc;

/// How often what is described elsewhere may be in something that is described elsewhere.
const MAX_MOVES: usize = 8;

/// One scope of a path.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub name: String,
    /// People leave it out: anonymous and inline namespaces, Rust's numbered impls.
    pub optional: bool,
}

/// The declaration a definition refers to, which has the name and is in the scope.
pub(crate) fn declaration(info: &Info, id: DieId) -> DieId {
    let mut id = id;
    for _ in 0..4 {
        let Some((unit, entry)) = info.die(id) else {
            break;
        };
        let origin = entry
            .attr_value(dw::DW_AT_specification)
            .or_else(|| entry.attr_value(dw::DW_AT_abstract_origin));
        match info.follow(&unit, origin) {
            Some(next) => id = next,
            None => break,
        }
    }
    id
}

/// The same in the unit of the class, where the class has one: what the others have of the class says
/// nothing about parameters.
pub(crate) fn whole_declaration(info: &Info, id: DieId) -> DieId {
    let declared = declaration(info, id);
    in_unit_of_class(info, declared).unwrap_or(declared)
}

fn in_unit_of_class(info: &Info, id: DieId) -> Option<DieId> {
    let (unit, entry) = info.die(id)?;
    let class = scopes_with(unit.scopes(), id.offset).last()?;
    let signature = unit.entry(class.start)?.attr_value(dw::DW_AT_signature);
    let class = info.follow(&unit, signature)?;
    let there = info.unit(class.unit)?;
    let text = |unit: &Unit, entry: &Entry, name| unit.string(entry.attr_value(name));
    let found = children(&there, class.offset).into_iter().find(|child| {
        let same = |name| text(&there, child, name) == text(&unit, &entry, name);
        child.tag() == entry.tag() && same(dw::DW_AT_name) && same(dw::DW_AT_linkage_name)
    });
    found.map(|child| child_id(&there, &child))
}

/// The names of the scopes around a DIE, outermost first.
pub(crate) fn scope_names(info: &Info, id: DieId) -> Vec<String> {
    let steps = scope_steps(info, id);
    steps.into_iter().map(|s| s.name).collect()
}

/// Scopes around a DIE, outermost first, by the unit's own scope table.
pub(crate) fn scope_steps(info: &Info, id: DieId) -> Vec<Step> {
    let Some(unit) = info.unit(id.unit) else {
        return Vec::new();
    };
    let Some(walker) = unit.walker() else {
        return Vec::new();
    };
    scopes_around(walker, unit.scopes(), id.offset)
}

/// Scopes around an offset, outermost first.
pub(crate) fn scopes_around(walker: &Walker, scopes: &[Scope], offset: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut offset = offset;
    for _ in 0..MAX_MOVES {
        let around = scopes_with(scopes, offset).filter_map(|s| walker.die(s.start));
        let around: Vec<RawDie> = around.collect();
        let named = around.iter().filter_map(|die| step(walker, die));
        steps = named.chain(steps).collect();
        // A class that is described outside of the scope that declares it.
        match around.first().map(|die| (die.tag, die.origin)) {
            Some((tag, Some(Link::Unit(at)))) if tag != dw::DW_TAG_namespace.0 => offset = at,
            _ => break,
        }
    }
    steps
}

fn scopes_with(scopes: &[Scope], offset: u32) -> impl Iterator<Item = &Scope> {
    // Scopes start in order, and those that contain the offset start before it.
    let before = scopes.partition_point(|s| s.start < offset);
    scopes[..before].iter().filter(move |s| offset < s.end)
}

fn step(walker: &Walker, die: &RawDie) -> Option<Step> {
    let is_namespace = die.tag == dw::DW_TAG_namespace.0;
    let name = die.name.or_else(|| match die.origin? {
        // A namespace opened again in another place refers to the first.
        Link::Unit(at) => walker.die(at)?.name,
        _ => None,
    });
    let Some(name) = name else {
        let name = if is_namespace {
            "(anonymous namespace)"
        } else if die.tag == dw::DW_TAG_enumeration_type.0 {
            // Unscoped enumerators live in the scope around.
            return None;
        } else {
            "{unnamed}"
        };
        return Some(Step {
            name: name.to_owned(),
            optional: true,
        });
    };
    let optional =
        is_namespace && (name.starts_with("{impl#") || name == "__cxx11" || die.exported);
    Some(Step {
        name: name.to_owned(),
        optional,
    })
}

/// The full path of a DIE as users see it.
pub(crate) fn qualified(info: &Arc<Info>, id: DieId) -> Option<String> {
    let declared = declaration(info, id);
    let (unit, entry) = info.die(declared)?;
    let name = unit.string(entry.attr_value(dw::DW_AT_name))?;
    let mut path = scope_names(info, declared);
    path.push(name.to_owned());
    let path = path.join("::");
    Some(match unit.language {
        Language::Cpp => plain_arguments(&path),
        _ => path,
    })
}

//! C++ lambdas that were inlined: of those no compiler keeps a name. They are found as the
//! operators of classes without a name in the function that a query names before them:
//! `f(int)::{lambda(int)#1}::operator()`.

use crate::index::EntryKind;
use crate::module::Module;
use crate::query::FunctionQuery;
use crate::type_read::{child_id, children};
use crate::units::{DieId, Entry, Unit};
use gimli::constants as dw;

const OPERATOR: &str = "operator()";

/// A lambda as the linker's names have it.
struct Lambda {
    /// The function around it.
    within: FunctionQuery,
    parameters: usize,
    /// Among those with such parameters, from 0.
    number: usize,
}

impl Lambda {
    fn of(query: &FunctionQuery) -> Option<Lambda> {
        let [within @ .., lambda, operator] = query.path.as_slice() else {
            return None;
        };
        let inside = lambda.strip_prefix("{lambda(")?.strip_suffix('}')?;
        let (list, number) = inside.rsplit_once(")#")?;
        if operator != OPERATOR || within.is_empty() {
            return None;
        }
        // What is inlined has no linker's name that would tell its parameters.
        let mut within = FunctionQuery::parse(&within.join("::"));
        within.parameters = None;
        Some(Lambda {
            within,
            parameters: crate::names::normal_parameters(list)
                .iter()
                .filter(|p| !p.is_empty())
                .count(),
            number: number.parse::<usize>().ok()?.checked_sub(1)?,
        })
    }
}

impl Module {
    /// The abstract instance of the lambda that a name means, in each function of that name.
    pub(crate) fn inlined_lambdas(&self, query: &FunctionQuery) -> Vec<DieId> {
        let (Some(wanted), Some(info)) = (Lambda::of(query), self.info()) else {
            return Vec::new();
        };
        let kinds = [EntryKind::Inlined, EntryKind::Function];
        let around = kinds.map(|kind| self.matching(&wanted.within, kind));
        let found = around.iter().flatten().filter_map(|id| {
            let unit = info.unit(id.unit)?;
            let all = children(&unit, id.offset);
            let mut fitting = all
                .iter()
                .filter_map(|class| operator_of(&unit, class))
                .filter(|operator| parameters_of(&unit, operator) == wanted.parameters);
            Some(child_id(&unit, &fitting.nth(wanted.number)?))
        });
        found.collect()
    }
}

/// What is called of a lambda's class.
fn operator_of(unit: &Unit, class: &Entry) -> Option<Entry> {
    let is_class = matches!(
        class.tag(),
        dw::DW_TAG_structure_type | dw::DW_TAG_class_type
    );
    let name = unit.string(class.attr_value(dw::DW_AT_name));
    if !is_class || name.is_some_and(|n| !n.starts_with('<')) {
        return None;
    }
    let members = children(unit, child_id(unit, class).offset);
    members.into_iter().find(|m| {
        m.tag() == dw::DW_TAG_subprogram
            && unit.string(m.attr_value(dw::DW_AT_name)) == Some(OPERATOR)
    })
}

/// Parameters besides the lambda itself.
fn parameters_of(unit: &Unit, operator: &Entry) -> usize {
    let all = children(unit, child_id(unit, operator).offset);
    let passed = all.iter().filter(|p| {
        let is_own = p.attr_value(dw::DW_AT_artificial).is_some();
        p.tag() == dw::DW_TAG_formal_parameter && !is_own
    });
    passed.count()
}

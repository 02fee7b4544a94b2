//! Rows made from monitors.

use crate::json::{Json, Object};
use crate::recorder::{Found, Recorder};
use crate::replay::Show;
use crate::report::*;
use crate::trace::key_of;
use verde_monitor::{Entry, FinalVerdict, Host, Monitor, SlotRef};
use verde_property::{Property, StateId};

fn slice_row(m: &Monitor, r: SlotRef, host: &mut dyn Host) -> SliceRow {
    let slices = m.slices();
    let property = m.property();
    let state = property.state(slices.state(r));
    let env = property
        .env
        .iter()
        .enumerate()
        .filter_map(|(i, name)| Json::of_cell(slices.env(r, i), host).map(|v| (name.clone(), v)))
        .collect();
    SliceRow {
        slice: Object::of(&slices.bindings(r)),
        parent: slices
            .parent_mask(r)
            .map(|mask| Object::of(&slices.named(mask, &slices.key(r)))),
        state: state.name.clone(),
        verdict: state.verdict.word(),
        env: Object(env),
    }
}

pub fn violation_row(
    m: &Monitor,
    found: Found,
    history: usize,
    tid: Option<u64>,
    loc: Option<&str>,
) -> ViolationRow {
    let property = m.property();
    ViolationRow {
        property: property.name.clone(),
        slice: found.slice,
        state: found.state,
        how: found.how,
        n: found.n,
        tid,
        loc: loc.map(str::to_string),
        backtrace: None,
        source: Vec::new(),
        history: history_rows(m, found.history, history),
    }
}

/// The last events that a slice saw.
pub fn history_rows(m: &Monitor, place: u64, most: usize) -> Vec<HistoryRow> {
    let entries = m.history(place, most);
    entries
        .iter()
        .map(|e| history_row(m.property(), e))
        .collect()
}

fn history_row(property: &Property, e: &Entry) -> HistoryRow {
    let spec = property.event(e.event);
    let state = |s: StateId| property.state(s).name.clone();
    HistoryRow {
        n: e.n,
        kind: spec.kind.word(),
        when: spec.when.word(),
        event: spec.name.clone(),
        args: Object(
            e.args
                .iter()
                .map(|(i, v)| (key_of(&spec.params, *i as usize), Json::of_field(v)))
                .collect(),
        ),
        from: state(e.from),
        to: state(e.to),
        taken: e.taken,
        tid: e.tid,
        loc: e.loc.clone(),
        time: e.time,
        backtrace: None,
    }
}

/// The slices that are there, by state.
pub fn final_slices(m: &Monitor) -> FinalSlices {
    let slices = m.slices();
    let property = m.property();
    let root_state = slices.root().map(|r| slices.state(r));
    let sliced = property.is_sliced();
    let by_state = property.states.iter().enumerate().map(|(i, s)| {
        let id = StateId(i as u16);
        // The root is a slice like the others only when there is no `slice on`.
        let root = u64::from(sliced && root_state == Some(id));
        (s.name.clone(), slices.in_state(id) - root)
    });
    let total = if sliced {
        slices.live()
    } else {
        u64::from(root_state.is_some())
    };
    FinalSlices::count(by_state, total, slices.ended())
}

pub fn final_word(verdict: FinalVerdict) -> &'static str {
    match verdict {
        FinalVerdict::True => "true",
        FinalVerdict::False => "false",
        FinalVerdict::Inconclusive => "inconclusive",
    }
}

pub fn final_property(m: &Monitor, verdict: FinalVerdict, violations: u64) -> FinalProperty {
    FinalProperty {
        property: m.property().name.clone(),
        verdict: final_word(verdict),
        violations,
        suppressed: 0,
        error: None,
        failures: 0,
        away: None,
        slices: final_slices(m),
    }
}

/// The row of an event that the monitor has seen; what it names is taken from the recorder.
pub fn event_row(
    m: &Monitor,
    recorder: &mut Recorder,
    show: Show,
    n: u64,
    event: String,
    host: &mut dyn Host,
) -> EventRow {
    let slices = m.slices();
    let shown: Vec<SlotRef> = match show {
        Show::All => slices.iter().collect(),
        _ => {
            let mut touched = std::mem::take(&mut recorder.touched);
            // A slot may already belong to the next slice.
            touched.retain(|(r, created)| slices.is_live(*r) && slices.created(*r) == *created);
            touched.into_iter().map(|(r, _)| r).collect()
        }
    };
    EventRow {
        n,
        event,
        property: m.property().name.clone(),
        verdict: slices.verdict().word(),
        taken: std::mem::take(&mut recorder.taken),
        slices: shown.into_iter().map(|r| slice_row(m, r, host)).collect(),
        ended: std::mem::take(&mut recorder.ended),
    }
}

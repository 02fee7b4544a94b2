//! `info monitors`, `info slices`, `info events`.

use super::super::Debugger;
use super::super::failure::{Result, failure};
use super::host::env_object;
use super::{Fallen, Irv, One};
use crate::board::Filter;
use crate::inquiry::current_states;
use crate::json::{Json, Object};
use crate::rows::{final_slices, history_rows};
use verde_monitor::{Monitor, Slices, SlotRef};
use verde_property::{Property, StateId};
use verde_pyhost::PythonHost;

/// Slices shown at once.
const MOST: usize = 1000;

impl Debugger {
    pub(in super::super) fn info_monitors(&mut self, _: &str) -> Result<()> {
        let Some(irv) = self.irv.take() else {
            return self.say("No monitors.");
        };
        let mut lines = Vec::new();
        for one in &irv.ones {
            let mark = if irv.current == Some(one.id) {
                '*'
            } else {
                ' '
            };
            let Some(m) = &one.monitor else {
                lines.push(format!("{mark} {}  (no property)", one.name));
                continue;
            };
            let slices = m.slices();
            let what = match (one.dropped, one.switches.halted, one.running) {
                (true, ..) => "dropped",
                (_, true, _) => "stopped",
                (_, _, false) => "not running",
                _ => "running",
            };
            lines.push(format!(
                "{mark} {}  {}  {what}  {}  {}",
                one.name,
                m.property().source.name,
                slices.verdict().word(),
                counts(m)
            ));
            lines.push(format!(
                "    states: {}; violations: {}",
                current_states(slices.into()).join(", "),
                one.tally.violations
            ));
        }
        self.irv = Some(irv);
        if lines.is_empty() {
            return self.say("No monitors.");
        }
        for line in lines {
            self.say(&line)?;
        }
        Ok(())
    }

    pub(in super::super) fn info_slices(&mut self, args: &str) -> Result<()> {
        let lines = self.chosen(args, |irv, index, shown| {
            let one = &irv.ones[index];
            let state = one.monitor.as_ref()?.property().state(shown.state);
            let who = match shown.bindings.is_empty() {
                true => "(root)".to_owned(),
                false => format!("[{}]", shown.bindings),
            };
            let ended = if shown.ended { "  ended" } else { "" };
            Some(vec![format!(
                "{} {who}  {}  {}  ({}){ended}",
                one.name,
                state.name,
                state.verdict.word(),
                shown.env
            )])
        })?;
        self.say_list(lines)
    }

    pub(in super::super) fn info_events(&mut self, args: &str) -> Result<()> {
        let (stacks, args) = match args.strip_prefix("-stacks") {
            Some(rest) => (true, rest.trim()),
            None => (false, args),
        };
        let lines = self.chosen(args, |irv, index, shown| {
            let one = &irv.ones[index];
            let m = one.monitor.as_ref()?;
            let rows = history_rows(m, shown.history, irv.choices.history);
            if rows.is_empty() {
                return None;
            }
            let who = match shown.bindings.is_empty() {
                true => String::new(),
                false => format!(" [{}]", shown.bindings),
            };
            let ended = if shown.ended { " (ended)" } else { "" };
            let mut lines = vec![format!("{}{who}{ended}:", one.name)];
            for row in rows {
                let event = row.text();
                let loc = row.loc.map(|l| format!("  {l}")).unwrap_or_default();
                let tid = row.tid.map(|t| format!("  thread {t}")).unwrap_or_default();
                let step = match row.taken {
                    true => format!("{} -> {}", row.from, row.to),
                    false => "-".to_owned(),
                };
                lines.push(format!("{:>8}  {event}  {step}{loc}{tid}", row.n));
                if stacks {
                    let frames = irv.stacks.get(&row.n);
                    for (i, frame) in frames.iter().flat_map(|f| f.iter()).enumerate() {
                        lines.push(format!("            #{i} {frame}"));
                    }
                }
            }
            Some(lines)
        })?;
        let has_stacks = self.irv.as_ref().is_some_and(|i| i.choices.stacks);
        if stacks && !has_stacks && !lines.is_empty() {
            self.say("There are no stacks: --history-stacks keeps those of the events.")?;
        }
        self.say_list(lines)
    }

    /// Runs something for each slice that a filter chooses, in the order of their creation; those
    /// that this stop's events ended badly come last.
    fn chosen(
        &mut self,
        filter: &str,
        f: impl Fn(&Irv, usize, Shown) -> Option<Vec<String>>,
    ) -> Result<Vec<String>> {
        let Some(mut irv) = self.irv.take() else {
            return failure("No monitors.");
        };
        let mut lines = Vec::new();
        // The first word may name the property whose slices are meant.
        let (first, others) = filter
            .split_once(char::is_whitespace)
            .unwrap_or((filter, ""));
        let named = |one: &One| one.monitor.is_some() && one.name == first;
        let (only, filter) = match irv.ones.iter().any(named) {
            true => (Some(first), others),
            false => (None, filter),
        };
        // Another property may have the names that one lacks.
        let (mut wrong, mut right) = (None, false);
        for index in 0..irv.ones.len() {
            let Irv {
                ones,
                python,
                fallen,
                ..
            } = &mut *irv;
            let one = &ones[index];
            let Some(m) = &one.monitor else {
                continue;
            };
            if only.is_some_and(|name| one.name != name) {
                continue;
            }
            let filter = match Filter::parse(filter, m.property()) {
                Ok(filter) => filter,
                Err(e) => {
                    wrong = Some(e);
                    continue;
                }
            };
            right = true;
            let slices = m.slices();
            let mut text = String::new();
            let mut found: Vec<SlotRef> = slices
                .iter()
                .filter(|r| filter.passes(slices, *r, python, &mut text))
                .collect();
            found.sort_by_key(|r| slices.created(*r));
            let total = found.len();
            let live = found.into_iter().take(MOST);
            let mut shown: Vec<Shown> = live.map(|r| Shown::of(slices, r, python)).collect();
            let own = fallen.iter().filter(|x| x.monitor == one.id);
            let own = own.filter(|x| filter.passes_past(&x.past));
            shown.extend(own.map(|x| Shown::of_fallen(x, m.property())));
            for it in shown {
                lines.extend(f(&irv, index, it).unwrap_or_default());
            }
            if total > MOST {
                lines.push(format!("... and {} more; a filter helps", total - MOST));
            }
        }
        self.irv = Some(irv);
        match wrong {
            Some(wrong) if !right => failure(wrong),
            _ => Ok(lines),
        }
    }

    fn say_list(&mut self, lines: Vec<String>) -> Result<()> {
        if lines.is_empty() {
            return self.say("None.");
        }
        for line in lines {
            self.say(&line)?;
        }
        Ok(())
    }
}

/// A slice that is shown.
struct Shown {
    bindings: Object,
    state: StateId,
    env: Object,
    history: u64,
    ended: bool,
}

impl Shown {
    fn of(slices: &Slices, slice: SlotRef, python: &mut PythonHost) -> Shown {
        Shown {
            bindings: Object::of(&slices.bindings(slice)),
            state: slices.state(slice),
            env: env_object(slices, slice, python),
            history: slices.history(slice),
            ended: false,
        }
    }

    fn of_fallen(fallen: &Fallen, property: &Property) -> Shown {
        let named = |names: &[String], values: &[Option<Json>]| {
            let both = names.iter().zip(values);
            let known = both.filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
            Object(known.collect())
        };
        Shown {
            bindings: named(&property.slice_on, &fallen.past.keys),
            state: fallen.past.state,
            env: named(&property.env, &fallen.past.env),
            history: fallen.history,
            ended: true,
        }
    }
}

/// `3 slices: 2 in ready, 1 in sink`; the root is one only where there are no others.
fn counts(m: &Monitor) -> String {
    let slices = final_slices(m);
    let states = slices.by_state.0.iter();
    let parts: Vec<String> = states.map(|(state, n)| format!("{n} in {state}")).collect();
    match (m.property().is_sliced(), slices.total) {
        (false, 0) => "ended".to_owned(),
        (false, _) => parts.join(", "),
        (true, 0) => "no slices".to_owned(),
        (true, 1) => format!("1 slice: {}", parts.join(", ")),
        (true, n) => format!("{n} slices: {}", parts.join(", ")),
    }
}

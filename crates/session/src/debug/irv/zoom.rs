//! Looking closer: after a violation the last interval again, with the data
//! watched that the property names.

use super::super::Debugger;
use super::super::failure::Failure;
use super::alphabet::MonitorId;
use super::values::Owned;
use super::{Irv, Moment, Moved};
use crate::json::Json;
use crate::rows::history_rows;
use verde_engine::Tid;
use verde_property::Kind;

/// What is being looked at again.
pub(super) struct Zoom {
    pub monitor: MonitorId,
}

impl Debugger {
    /// Whether a violation is to be looked at again before it is reported: the first is.
    pub(super) fn can_zoom(&self, irv: &Irv) -> bool {
        self.automation.zoom && !irv.zoomed && self.can_go_before(irv.n)
    }

    /// A violation that did not come again when it was looked at closer is reported as it was.
    pub(super) fn report_put_off(&mut self, irv: &mut Irv) {
        let Some((id, row)) = irv.put_off.take() else {
            return;
        };
        let text = "the violation did not come again; it is reported as it was seen first";
        irv.output.remark(&mut self.out, text);
        if let Some(index) = irv.position(id) {
            irv.ones[index].count_violation(&row);
        }
        irv.violated = true;
        if matches!(irv.output, super::Output::Prompt) {
            irv.latch.lines.push(super::methods::violation_line(&row));
        }
        let time = row.history.last().and_then(|h| h.time);
        self.board_violation(irv, &row, time);
        irv.output.row(crate::report::Row::Violation(row));
    }

    /// Goes back before the event that violated, and watches more from there.
    pub(super) fn zoom_in(&mut self, monitor: MonitorId, event: u64) {
        let done = self.go_before(event, None);
        let Some(mut irv) = self.irv.take() else {
            return;
        };
        match done {
            Ok(text) => {
                irv.output.remark(&mut self.out, &text);
                irv.zoom = Some(Zoom { monitor });
                self.instrument(&mut irv, None);
                self.say_complaints(&mut irv);
                let watched = irv.alphabet.sources.iter().any(|s| irv.is_zoomed(s));
                let text = match watched {
                    true => {
                        "the last interval again, with the data that the property names (what came from outside may differ)"
                    }
                    false => "the last interval again; the property names no data to watch",
                };
                irv.output.remark(&mut self.out, text);
            }
            Err(Failure(e)) => {
                self.report_put_off(&mut irv);
                irv.errors += 1;
                irv.output.remark(&mut self.out, &format!("error: {e}"));
            }
        }
        self.irv = Some(irv);
    }

    /// A datum was touched while looking closer.
    #[cold]
    pub(super) fn say_closer(&mut self, irv: &mut Irv, source: usize, value: &Owned, at: &Moment) {
        let it = &irv.alphabet.sources[source];
        if !irv.is_zoomed(it) {
            return;
        }
        let frames = self.stack_text(at.tid, 2, irv.stands);
        let place = frames.first().cloned().unwrap_or_default();
        let text = format!(
            "closer: {} = {} in {place}",
            it.name,
            Json::of_arg(value.arg())
        );
        irv.output.remark(&mut self.out, &text);
    }

    /// Numbers of the events that changed the state of the slice that moved last, and the
    /// threads that brought them.
    pub(in super::super) fn changes_of_last_slice(&self) -> Vec<(u64, Option<Tid>)> {
        let found = self.irv.as_ref().and_then(|irv| {
            let (id, moved) = irv.moved.as_ref()?;
            let m = irv.one(*id)?.monitor.as_ref()?;
            let slices = m.slices();
            let history = match *moved {
                Moved::Live(slice, created) => {
                    let same = slices.is_live(slice) && slices.created(slice) == created;
                    same.then(|| slices.history(slice))?
                }
                Moved::Ended(history) => history,
            };
            Some(history_rows(m, history, usize::MAX))
        });
        let rows = found.unwrap_or_default();
        let changes = rows.iter().filter(|r| r.taken && r.from != r.to);
        let tid = |tid: u64| i32::try_from(tid).ok().map(Tid);
        changes.map(|r| (r.n, r.tid.and_then(tid))).collect()
    }
}

impl Irv {
    /// A source that is watched because somebody looks closer.
    pub(super) fn is_zoomed(&self, source: &super::alphabet::Source) -> bool {
        let data = matches!(source.kind, Kind::Write | Kind::Read | Kind::Update);
        let Some(zoom) = &self.zoom else {
            return false;
        };
        data && source.users.iter().any(|u| u.monitor == zoom.monitor)
    }
}

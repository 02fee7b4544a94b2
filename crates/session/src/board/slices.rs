//! Slices for watchers: pages of a table, and one in detail.

use super::filter::{Filter, integer, show};
use super::frame::{LastStep, PropertyView, SliceId};
use super::order::{Column, part};
use super::request::{Query, SliceDetail, SliceLine, SlicePage};
use crate::json::Object;
use crate::recorder::Taken;
use crate::rows::history_rows;
use std::time::Instant;
use verde_monitor::{Branch, Cell, Host, Monitor, Slices, SlotRef, Tag};
use verde_property::StateId;

/// Most rows of one page.
const MOST: usize = 500;

/// The slices that pass the query's filter, in the order of their creation or of a column.
pub fn page(m: &Monitor, query: &Query, host: &mut dyn Host) -> Result<SlicePage, String> {
    let begun = Instant::now();
    let slices = m.slices();
    let filter = Filter::parse(&query.filter, m.property())?;
    let mut text = String::new();
    let mut found: Vec<SlotRef> = Vec::new();
    let mut total = 0;
    for r in slices.iter() {
        total += 1;
        if filter.is_empty() || filter.passes(slices, r, host, &mut text) {
            found.push(r);
        }
    }
    let matching = found.len();
    let found = found.into_iter();
    let shown = match query.by.as_str() {
        "" => part(found.map(|r| (slices.created(r), r)).collect(), query, MOST),
        name => {
            let column = Column::find(name, m.property())?;
            let keyed = found.map(|r| {
                let key = column.key(slices, r, host, &mut text);
                ((key, slices.created(r)), r)
            });
            part(keyed.collect(), query, MOST)
        }
    };
    let rows = shown
        .into_iter()
        .map(|r| line(slices, query.property, r, host))
        .collect();
    Ok(SlicePage {
        total,
        matching,
        offset: query.offset.min(matching),
        rows,
        micros: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
    })
}

fn line(slices: &Slices, property: usize, r: SlotRef, host: &mut dyn Host) -> SliceLine {
    let mut env = Vec::new();
    let mut text = String::new();
    for (i, name) in slices.property().env.iter().enumerate() {
        let cell = slices.env(r, i);
        if cell.tag != Tag::Unset {
            show(slices, cell, host, &mut text);
            env.push((name.clone(), text.clone()));
        }
    }
    SliceLine {
        id: SliceId {
            property,
            level: r.level,
            slot: r.slot,
            created: slices.created(r),
        },
        slice: pairs(Object::of(&slices.bindings(r))),
        state: slices.state(r).index(),
        env,
    }
}

pub fn pairs(object: Object) -> Vec<(String, String)> {
    let shown = object.0.into_iter();
    shown.map(|(name, v)| (name, v.to_string())).collect()
}

/// The slice that is meant, if it still lives.
pub fn find(m: &Monitor, id: &SliceId) -> Option<SlotRef> {
    let slices = m.slices();
    let r = SlotRef {
        level: id.level,
        slot: id.slot,
    };
    let there = usize::from(id.level) < m.property().chain.len() && slices.is_live(r);
    (there && slices.created(r) == id.created).then_some(r)
}

pub fn detail(
    m: &Monitor,
    id: &SliceId,
    most: usize,
    host: &mut dyn Host,
) -> Result<SliceDetail, String> {
    let r = find(m, id).ok_or("this slice has ended")?;
    let slices = m.slices();
    let property = m.property();
    let parent = slices
        .parent_mask(r)
        .map(|mask| pairs(Object::of(&slices.named(mask, &slices.key(r)))));
    Ok(SliceDetail {
        line: line(slices, id.property, r, host),
        verdict: property.state(slices.state(r)).verdict.word(),
        parent,
        history: history_rows(m, slices.history(r), most),
    })
}

/// A property at this moment; the caller adds what only it knows.
pub fn property_view(index: usize, m: &Monitor, last: Option<&Taken>) -> PropertyView {
    let slices = m.slices();
    let property = m.property();
    let root = slices.root().map(|r| slices.state(r));
    let sliced = property.is_sliced();
    let counts = (0..property.states.len()).map(|i| {
        let id = StateId(u16::try_from(i).unwrap_or(u16::MAX));
        slices.in_state(id) - u64::from(sliced && root == Some(id))
    });
    let last = last.map(|taken| {
        let id = SliceId {
            property: index,
            level: taken.slice.level,
            slot: taken.slice.slot,
            created: taken.created,
        };
        let there = find(m, &id);
        LastStep {
            slice: id,
            title: there.map(|r| Object::of(&slices.bindings(r)).to_string()),
            from: taken.from.index(),
            to: taken.to.index(),
            state: there.map(|r| slices.state(r).index()),
            transition: taken.transition,
            success: taken.branch == Branch::Success,
        }
    });
    PropertyView {
        name: property.name.clone(),
        verdict: slices.verdict().word(),
        counts: counts.collect(),
        root: root.map(StateId::index),
        live: slices.live(),
        ended: slices.ended(),
        outcome: None,
        violations: 0,
        listens: true,
        last,
    }
}

/// A value as the user writes it: a number, True, False or None.
pub fn parse_value(text: &str) -> Result<Cell, String> {
    let text = text.trim();
    if let Some(i) = integer(text) {
        if let Ok(i) = i64::try_from(i) {
            return Ok(Cell::int(i));
        }
        if let Ok(u) = u64::try_from(i) {
            return Ok(Cell::uint(u));
        }
    }
    // It would become a floating-point number, which is another value.
    let digits = text.trim_start_matches(['-', '+']);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        return Err(format!("{text}: integers have 64 bits here"));
    }
    match text {
        "True" | "true" => return Ok(Cell::bool(true)),
        "False" | "false" => return Ok(Cell::bool(false)),
        "None" => return Ok(Cell::NONE),
        _ => {}
    }
    match text.parse::<f64>() {
        Ok(f) => Ok(Cell::float(f)),
        Err(_) => Err(format!("{text}: a number, True, False or None is expected")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use verde_monitor::{Arg, Event, NoPython, Options};
    use verde_property::{Functions, SpecId, load_property};

    const QUEUE: &[u8] = b"slice on queue
initialization { N = 0; maxSize = 0 }
state init accepting {
    transition { event queue_new(queue, size : int) { maxSize = size - 1 } success queue_ready }
}
state queue_ready accepting {
    transition {
        event queue_push(queue, prod_id) { return N < maxSize }
        success { N = N + 1 } queue_ready
        failure sink
    }
}
state sink non-accepting
";

    fn queues(count: u64) -> Monitor {
        let loaded = load_property("queue", QUEUE, &Functions::default());
        let property = Arc::new(loaded.model.expect("the property is right"));
        let mut m = Monitor::new(property.clone(), Options::default(), &mut NoPython, &mut ())
            .unwrap_or_else(|_| panic!("the property starts"));
        let spec = |name: &str| {
            let at = property.events.iter().position(|e| e.name == name);
            SpecId(at.unwrap_or_default() as u16)
        };
        let mut n = 0;
        let mut send = |name: &str, a: u64, b: i64| {
            n += 1;
            let args = [Some(Arg::UInt(a)), Some(Arg::Int(b))];
            let event = Event {
                n,
                spec: spec(name),
                args: &args,
                tid: None,
                time: None,
                loc: None,
            };
            m.apply(&event, &mut NoPython, &mut ());
        };
        for i in 0..count {
            let queue = 0x5555_0000_0000 + i;
            send("queue_new", queue, 5);
            for _ in 0..i % 6 {
                send("queue_push", queue, 1);
            }
        }
        m
    }

    fn matching(m: &Monitor, filter: &str) -> Result<usize, String> {
        let query = Query {
            property: 0,
            filter: filter.into(),
            offset: 0,
            limit: 10,
            by: String::new(),
            down: false,
        };
        page(m, &query, &mut NoPython).map(|p| p.matching)
    }

    #[test]
    fn filters_by_state_value_and_beginning() {
        let m = queues(60);
        assert_eq!(matching(&m, ""), Ok(61));
        assert_eq!(matching(&m, "state:sink"), Ok(10));
        assert_eq!(matching(&m, "state:queue_ready N>=3"), Ok(20));
        assert_eq!(matching(&m, "N>3 state:sink"), Ok(10));
        assert_eq!(matching(&m, "queue=0x55.."), Ok(60));
        assert_eq!(matching(&m, "queue=0x555500000003"), Ok(1));
        assert_eq!(matching(&m, "!state:sink !state:init"), Ok(50));
        assert_eq!(matching(&m, "N!=0 N<2"), Ok(10));
        assert!(matching(&m, "M>3").is_err_and(|e| e.contains("queue, N, maxSize")));
        assert!(matching(&m, "state:nowhere").is_err());
        assert_eq!(matching(&m, "STATE:sink"), Ok(10));
        assert_eq!(matching(&m, "Verdict:false"), Ok(10));
        for (odd, says) in [
            ("state:", "init, queue_ready, sink"),
            ("verdict:no", "currently-true"),
            ("N>0 (", "NAME=VALUE"),
            ("\"", "NAME=VALUE"),
        ] {
            assert!(matching(&m, odd).is_err_and(|e| e.contains(says)), "{odd}");
        }
    }

    #[test]
    fn pages_follow_the_order_of_creation() {
        let m = queues(60);
        let rows = |offset, down| {
            let query = Query {
                property: 0,
                filter: "queue=0x55..".into(),
                offset,
                limit: 7,
                by: String::new(),
                down,
            };
            let page = page(&m, &query, &mut NoPython).expect("a right filter");
            let created: Vec<u64> = page.rows.iter().map(|r| r.id.created).collect();
            created
        };
        let all: Vec<u64> = (0..9).flat_map(|i| rows(7 * i, false)).collect();
        assert_eq!(all.len(), 60);
        assert!(all.is_sorted());
        let mut back: Vec<u64> = (0..9).flat_map(|i| rows(7 * i, true)).collect();
        back.reverse();
        assert_eq!(all, back);
    }

    #[test]
    fn pages_follow_the_order_of_a_column() {
        let m = queues(60);
        let rows = |by: &str, offset, down| {
            let query = Query {
                property: 0,
                filter: "queue=0x55..".into(),
                offset,
                limit: 7,
                by: by.into(),
                down,
            };
            page(&m, &query, &mut NoPython).map(|p| p.rows)
        };
        let all = |by: &str, down| -> Vec<SliceLine> {
            (0..9)
                .flat_map(|i| rows(by, 7 * i, down).expect("a column"))
                .collect()
        };
        let n: Vec<String> = all("N", false)
            .into_iter()
            .map(|r| r.env[0].1.clone())
            .collect();
        assert_eq!(n.len(), 60);
        assert!(n.is_sorted(), "{n:?}");
        assert_eq!((n[0].as_str(), n[59].as_str()), ("0", "4"));
        let states: Vec<usize> = all("state", true).iter().map(|r| r.state).collect();
        assert!(states.iter().rev().is_sorted() && states[0] > states[59]);
        let queues: Vec<u64> = all("queue", true).iter().map(|r| r.id.created).collect();
        assert!(
            queues.iter().rev().is_sorted(),
            "created in the order of their addresses"
        );
        assert!(rows("M", 0, false).is_err());
    }

    #[test]
    fn a_slice_in_detail() {
        let m = queues(2);
        let query = Query {
            property: 0,
            filter: "queue=0x555500000001".into(),
            offset: 0,
            limit: 1,
            by: String::new(),
            down: false,
        };
        let page = page(&m, &query, &mut NoPython).expect("a right filter");
        let id = page.rows[0].id;
        let detail = detail(&m, &id, 32, &mut NoPython).expect("it lives");
        assert_eq!(detail.parent, Some(Vec::new()));
        assert_eq!(detail.history.len(), 2);
        assert_eq!(detail.line.env[0], ("N".into(), "1".into()));
        let other = SliceId { created: 99, ..id };
        assert!(super::detail(&m, &other, 32, &mut NoPython).is_err());
    }

    #[test]
    fn values_are_numbers_and_words() {
        assert_eq!(parse_value(" 0x10 "), Ok(Cell::int(16)));
        assert_eq!(parse_value("-3"), Ok(Cell::int(-3)));
        assert_eq!(parse_value("True"), Ok(Cell::bool(true)));
        assert_eq!(
            parse_value("18446744073709551615"),
            Ok(Cell::uint(u64::MAX))
        );
        assert_eq!(parse_value("1e3"), Ok(Cell::float(1000.0)));
        for wide in ["100000000000000000000000", "-9223372036854775809"] {
            assert!(parse_value(wide).is_err_and(|e| e.contains("64 bits")));
        }
        assert!(parse_value("'text'").is_err());
    }
}

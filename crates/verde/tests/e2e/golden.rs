//! The golden cases: exact after every event.

use crate::common::{root, verde};
use serde_json::Value;

/// Everything in `want` is in `got`; `got` may say more. `true` is not 1; 1 is 1.0.
fn same(want: &Value, got: &Value) -> bool {
    match (want, got) {
        (Value::Object(w), Value::Object(g)) => {
            w.iter().all(|(k, v)| g.get(k).is_some_and(|x| same(v, x)))
        }
        (Value::Array(w), Value::Array(g)) => {
            w.len() == g.len() && w.iter().zip(g).all(|(a, b)| same(a, b))
        }
        (Value::Number(w), Value::Number(g)) => {
            w == g || w.as_f64() == g.as_f64() && (w.is_f64() || g.is_f64())
        }
        _ => want == got,
    }
}

/// A slice's row and its environment have exactly these names, no more.
fn same_names(want: &Value, got: &Value) -> bool {
    let keys = |v: &Value| -> Vec<String> {
        v.as_object()
            .map(|o| o.keys().cloned().collect())
            .unwrap_or_default()
    };
    let sorted = |v: &Value| {
        let mut k = keys(v);
        k.sort();
        k
    };
    ["slice", "env"]
        .iter()
        .all(|f| sorted(&want[*f]) == sorted(&got[*f]))
}

fn rows(text: &str) -> Vec<Value> {
    text.lines()
        .filter(|l| !l.trim().is_empty())
        .map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}")))
        .filter(|v: &Value| v["type"] != "print")
        .collect()
}

/// Sets are put in an order of their own.
fn sort_sets(row: &mut Value) {
    for field in ["slices", "ended"] {
        if let Some(list) = row.get_mut(field).and_then(Value::as_array_mut) {
            list.sort_by_key(|v| {
                let mut pairs: Vec<String> = v["slice"]
                    .as_object()
                    .unwrap()
                    .iter()
                    .map(|(k, v)| format!("{k}={v}"))
                    .collect();
                pairs.sort();
                pairs
            });
        }
    }
}

/// Violations belong to the event that was last or comes next; within one event they are a set.
fn violations(rows: &[Value]) -> Vec<String> {
    let mut list: Vec<String> = rows
        .iter()
        .filter(|r| r["type"] == "violation")
        .map(|r| {
            format!(
                "{:?} {} {} {}",
                r["n"].as_u64(),
                r["property"],
                r["state"],
                r["slice"]
            )
        })
        .collect();
    list.sort();
    list
}

#[test]
fn golden_cases() {
    let mut checked = 0;
    let mut dirs: Vec<_> = std::fs::read_dir(root().join("tests/golden"))
        .unwrap()
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.is_dir())
        .collect();
    dirs.sort();
    for dir in dirs {
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        let ran = verde(
            &dir,
            &[
                "replay", "-p", "p.prop", "--format", "jsonl", "--show", "all", "t.jsonl",
            ],
        );
        let read = |f: &str| std::fs::read_to_string(dir.join(f)).unwrap();
        let code: i32 = read("exit").trim().parse().unwrap();
        assert_eq!(ran.code, code, "{name}: {}", ran.err);
        let mut want = rows(&read("expected.jsonl"));
        let mut got = rows(&ran.out);
        want.iter_mut().chain(&mut got).for_each(sort_sets);
        assert_eq!(violations(&want), violations(&got), "{name}");
        let other = |r: &&Value| r["type"] != "violation";
        let (w, g): (Vec<_>, Vec<_>) = (
            want.iter().filter(other).collect(),
            got.iter().filter(other).collect(),
        );
        assert_eq!(w.len(), g.len(), "{name}: number of rows");
        for (w, g) in w.iter().zip(&g) {
            assert!(same(w, g), "{name}\nwant {w}\ngot  {g}");
            let lists = |v: &Value| v["slices"].as_array().cloned().unwrap_or_default();
            for (a, b) in lists(w).iter().zip(&lists(g)) {
                assert!(same_names(a, b), "{name}\nwant {a}\ngot  {b}");
            }
        }
        if code == 1 {
            assert!(!ran.err.trim().is_empty(), "{name} explains nothing");
        }
        checked += 1;
    }
    assert_eq!(checked, 40);
}

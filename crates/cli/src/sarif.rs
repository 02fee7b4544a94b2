//! A report as SARIF 2.1.0: one result for each distinct violation.

use crate::junit::title;
use serde_json::{Value, json};
use std::collections::HashMap;
use verde_session::report::ViolationRow;

/// Distinct violations that are told.
const MOST: usize = 10_000;

/// The distinct violations, in the order in which they were found.
#[derive(Default)]
pub struct Results {
    places: HashMap<Vec<String>, usize>,
    rules: Vec<String>,
    list: Vec<(Value, u64)>,
}

impl Results {
    pub fn add(&mut self, v: &ViolationRow) {
        let key = identity(v);
        if let Some(place) = self.places.get(&key) {
            self.list[*place].1 += 1;
            return;
        }
        if self.list.len() == MOST {
            return;
        }
        if !self.rules.contains(&v.property) {
            self.rules.push(v.property.clone());
        }
        self.places.insert(key, self.list.len());
        self.list.push((result(v), 1));
    }

    /// `incomplete`: why the results are not the whole truth.
    pub fn text(&self, incomplete: &[String]) -> String {
        let counted = |(result, count): &(Value, u64)| {
            let mut result = result.clone();
            result["occurrenceCount"] = json!(count);
            result
        };
        let results: Vec<Value> = self.list.iter().map(counted).collect();
        log(&self.rules, &results, incomplete)
    }
}

fn log(rules: &[String], results: &[Value], incomplete: &[String]) -> String {
    let note = |text: &String| json!({ "level": "error", "message": { "text": text } });
    let notes: Vec<Value> = incomplete.iter().map(note).collect();
    let rules: Vec<Value> = rules.iter().map(|r| json!({ "id": r })).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "verde",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "invocations": [{
                "executionSuccessful": incomplete.is_empty(),
                "toolExecutionNotifications": notes,
            }],
            "results": results,
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

/// Two violations are one when property, state and the calls are the same.
fn identity(v: &ViolationRow) -> Vec<String> {
    let mut key = vec![
        v.property.clone(),
        v.state.clone(),
        v.loc.clone().unwrap_or_default(),
    ];
    key.extend(v.backtrace.iter().flatten().cloned());
    key
}

fn result(v: &ViolationRow) -> Value {
    let flow: Vec<Value> = v
        .history
        .iter()
        .filter_map(|h| {
            let mut at = location(h.loc.as_deref()?)?;
            at["message"] = json!({
                "text": format!("{}({}): {} -> {}", h.event, h.args, h.from, h.to)
            });
            Some(json!({ "location": at }))
        })
        .collect();
    let stack: Vec<Value> = v
        .backtrace
        .iter()
        .flatten()
        .map(|frame| {
            let (name, place) = frame.split_once(" at ").unwrap_or((frame, ""));
            let mut at = location(place).unwrap_or_else(|| json!({}));
            at["logicalLocations"] = json!([{ "name": name }]);
            json!({ "location": at })
        })
        .collect();
    // What is missing at the end of the run has no place of its own: where the slice was last.
    let mut places = v.history.iter().rev().filter_map(|h| h.loc.as_deref());
    let place = v.loc.as_deref().or_else(|| places.next());
    let mut result = json!({
        "ruleId": v.property,
        "level": "error",
        "message": { "text": title(v) },
        "locations": place.and_then(location).into_iter().collect::<Vec<_>>(),
    });
    if !flow.is_empty() {
        result["codeFlows"] = json!([{ "threadFlows": [{ "locations": flow }] }]);
    }
    if !stack.is_empty() {
        result["stacks"] = json!([{ "frames": stack }]);
    }
    result
}

/// `file.c:12` as a place.
fn location(text: &str) -> Option<Value> {
    let (file, line) = text.rsplit_once(':')?;
    let line: u64 = line.parse().ok()?;
    let mut place = json!({ "artifactLocation": { "uri": uri(file) } });
    // Lines are counted from 1; what a compiler has made up has none.
    if line > 0 {
        place["region"] = json!({ "startLine": line });
    }
    Some(json!({ "physicalLocation": place }))
}

/// A file's name as a URI, or as a reference relative to where the sources are.
fn uri(file: &str) -> String {
    let mut out = String::from(if file.starts_with('/') { "file://" } else { "" });
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b'+' => {
                out.push(byte.into());
            }
            byte => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let uri = |text| location(text).map(|p| p["physicalLocation"].clone());
        let at = |uri: &str, line: u64| json!({ "artifactLocation": { "uri": uri }, "region": { "startLine": line } });
        assert_eq!(uri("a b#1.c:3"), Some(at("a%20b%231.c", 3)));
        assert_eq!(uri("/src/ä.c:3"), Some(at("file:///src/%C3%A4.c", 3)));
        let without = json!({ "artifactLocation": { "uri": "x%3Ay.c" } });
        assert_eq!(uri("x:y.c:0"), Some(without));
        assert_eq!(location("nowhere"), None);
    }
}

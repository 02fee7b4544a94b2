//! The property as a graph for Graphviz.

use crate::labels::{edges, node};
use std::fmt::Write;
use verde_property::{Property, StateId};

pub fn dot(p: &Property) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = writeln!(out, "digraph {} {{", quote(&p.name));
    out.push_str(
        "  rankdir=TB;\n  node [fontname=\"sans-serif\", shape=box, style=\"rounded,filled\"];\n",
    );
    out.push_str("  edge [fontname=\"monospace\", fontsize=10];\n");
    out.push_str("  start [shape=point, label=\"\"];\n");
    for (i, s) in p.states.iter().enumerate() {
        let (rings, fill, line) = if s.accepting {
            (2, "#d8f0d8", "#2e7d32")
        } else {
            (1, "#fadcdc", "#b3261e")
        };
        let width = if s.is_final { 3 } else { 1 };
        let _ = writeln!(
            out,
            "  s{i} [label={}, peripheries={rings}, fillcolor=\"{fill}\", color=\"{line}\", penwidth={width}];",
            quote(&node(p, StateId(i as u16)).join("\n"))
        );
    }
    let _ = writeln!(out, "  start -> s{};", p.init.index());
    for e in edges(p) {
        let text: Vec<String> = e
            .labels
            .iter()
            .map(|l| l.lines().map(|(_, t)| format!("{t}\n")).collect::<String>())
            .collect();
        // `\l` ends a line and aligns it to the left.
        let label = quote(&text.join("\n")).replace("\\n", "\\l");
        let _ = writeln!(out, "  s{} -> s{} [label={label}];", e.from, e.to);
    }
    out.push_str("}\n");
    out
}

pub(crate) fn quote(text: &str) -> String {
    format!("\"{}\"", escape(text))
}

pub(crate) fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out
}

//! The property as a graph that moves: DOT whose nodes, edges and lines can be
//! found again in the picture.

use crate::dot::{escape, quote};
use crate::labels::{edges, node};
use serde::Serialize;
use std::fmt::Write;
use verde_property::{Property, StateId};

pub struct Live {
    /// Nodes have the ids `s0`, `s1`, ...; edges `e0`, `e1`, ...
    pub dot: String,
    pub edges: Vec<LiveEdge>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LiveEdge {
    pub from: usize,
    pub to: usize,
    pub labels: Vec<LiveLabel>,
}

/// What stands on an edge for one outcome of one transition.
#[derive(Clone, Debug, Serialize)]
pub struct LiveLabel {
    /// Lines of text in the picture.
    pub lines: usize,
    /// The transitions, by their place in their state and whether they succeed.
    pub of: Vec<(usize, bool)>,
    /// All of it, where the picture has no room.
    pub full: String,
}

/// The colours are the page's, by the classes `accepting`, `rejecting`, `final`.
pub fn live(p: &Property) -> Live {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = writeln!(out, "digraph {} {{", quote(&p.name));
    // Fonts whose widths the layout knows; the page draws with its own, which are as wide.
    out.push_str(
        "  bgcolor=\"transparent\"; rankdir=TB; nodesep=0.3; ranksep=0.3;\n  \
         node [fontname=\"Helvetica\", fontsize=14, shape=ellipse, style=filled, margin=\"0.16,0.1\"];\n  \
         edge [fontname=\"Courier\", fontsize=11];\n  \
         start [shape=point, width=0.12, label=\"\", id=\"start\"];\n",
    );
    for (i, s) in p.states.iter().enumerate() {
        let rings = if s.accepting { 2 } else { 1 };
        let kind = if s.accepting {
            "accepting"
        } else {
            "rejecting"
        };
        let is_final = if s.is_final { " final" } else { "" };
        // The last line is for the number of slices.
        let lines = node(p, StateId(i as u16)).join("\n");
        let _ = writeln!(
            out,
            "  s{i} [id=\"s{i}\", class=\"{kind}{is_final}\", peripheries={rings}, label={}];",
            quote(&format!("{lines}\n000,000"))
        );
    }
    let _ = writeln!(out, "  start -> s{} [id=\"begin\"];", p.init.index());
    let mut found = Vec::new();
    for (i, e) in edges(p).into_iter().enumerate() {
        let mut text = String::new();
        let mut labels = Vec::new();
        for (k, label) in e.labels.iter().enumerate() {
            if k > 0 {
                text.push_str(" \\l");
            }
            let mut lines = 0;
            for (_, line) in label.lines() {
                // `\l` ends a line and aligns it to the left, where the edge is: hence the space.
                let _ = write!(text, " {}", escape(line));
                text.push_str("\\l");
                lines += 1;
            }
            labels.push(LiveLabel {
                lines,
                of: label.of.clone(),
                full: label.full.clone(),
            });
        }
        let _ = writeln!(
            out,
            "  s{} -> s{} [id=\"e{i}\", label=\"{text}\"];",
            e.from, e.to
        );
        found.push(LiveEdge {
            from: e.from,
            to: e.to,
            labels,
        });
    }
    out.push_str("}\n");
    Live {
        dot: out,
        edges: found,
    }
}

//! The property as a picture of its own, without Graphviz.

use crate::labels::{self, Edge, Part};
use crate::layout::{EdgeIn, Layout, Point, Route, Size, layout};
use std::fmt::Write;
use verde_property::{Property, StateId};

/// Width of a character of the label font, whose size is 11.
const CHAR: f64 = 6.7;
/// Width of a character of the state font, whose size is 14.
const STATE_CHAR: f64 = 8.4;
const LINE: f64 = 15.0;
const STATE_LINE: f64 = 18.0;
const PAD: f64 = 14.0;
const MARGIN: f64 = 24.0;
/// From an edge to its label.
const BESIDE: f64 = 2.0;
/// How far a loop bulges.
const LOOP: f64 = 34.0;

const STYLE: &str = "\
text{font-family:'DejaVu Sans Mono','Liberation Mono',Menlo,Consolas,monospace;font-size:11px;fill:#333}\
.name{font-size:14px;font-weight:600;text-anchor:middle;fill:#111}\
.note{font-size:11px;text-anchor:middle;font-style:italic}\
.event{font-weight:600;fill:#222}.guard{fill:#1a4f8b}.code{fill:#666}\
.edge{fill:none;stroke:#777;stroke-width:1.4}\
.paper{fill:#fff}.label{fill:#fff;fill-opacity:.9}\
.accepting{fill:#d8f0d8;stroke:#2e7d32;stroke-width:1.6}\
.non-accepting{fill:#fadcdc;stroke:#b3261e;stroke-width:1.6}\
.ring{fill:none}.final{stroke-width:4}";

struct Node {
    lines: Vec<String>,
    width: f64,
    height: f64,
    loop_label: Option<usize>,
}

pub fn svg(p: &Property) -> String {
    let edges = labels::edges(p);
    let nodes: Vec<Node> = (0..p.states.len())
        .map(|i| {
            let lines = labels::node(p, StateId(i as u16));
            let width = lines
                .iter()
                .map(|l| l.chars().count() as f64 * STATE_CHAR)
                .fold(40.0, f64::max)
                + 2.0 * PAD;
            Node {
                height: 22.0 + STATE_LINE * lines.len() as f64,
                width,
                loop_label: edges.iter().position(|e| e.from == i && e.to == i),
                lines,
            }
        })
        .collect();
    let sizes: Vec<Size> = nodes.iter().map(|n| node_size(n, &edges)).collect();
    let straight: Vec<&Edge> = edges.iter().filter(|e| e.from != e.to).collect();
    let inputs: Vec<EdgeIn> = straight
        .iter()
        .map(|e| {
            let (w, h) = label_size(e);
            EdgeIn {
                from: e.from,
                to: e.to,
                // Beside the line, which would strike the text.
                label: Size {
                    left: BESIDE,
                    right: BESIDE + w,
                    height: h,
                },
            }
        })
        .collect();
    let l = layout(&sizes, &inputs, p.init.index());
    draw(p, &nodes, &edges, &straight, &l)
}

/// The text of a loop hangs to the right of its state.
fn node_size(n: &Node, edges: &[Edge]) -> Size {
    let half = n.width / 2.0;
    let (right, height) = match n.loop_label {
        Some(e) => {
            let (w, h) = label_size(&edges[e]);
            (half + LOOP + w + 6.0, n.height.max(h))
        }
        None => (half, n.height),
    };
    Size {
        left: half,
        right,
        height,
    }
}

fn label_size(e: &Edge) -> (f64, f64) {
    let chars = e
        .labels
        .iter()
        .flat_map(|l| l.lines().map(|(_, t)| t.chars().count()))
        .max()
        .unwrap_or(0);
    let lines: usize = e.labels.iter().map(|l| l.lines().count()).sum();
    let gaps = e.labels.len().saturating_sub(1) as f64 * 6.0;
    (chars as f64 * CHAR + 12.0, lines as f64 * LINE + gaps + 8.0)
}

fn draw(p: &Property, nodes: &[Node], edges: &[Edge], straight: &[&Edge], l: &Layout) -> String {
    let mut out = String::new();
    let (w, h) = (l.width + 2.0 * MARGIN, l.height + 2.0 * MARGIN + 24.0);
    // Writing to a String does not fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w:.0} {h:.0}\" width=\"{w:.0}\" height=\"{h:.0}\" \
         role=\"img\">\n<title>Property {}</title>\n<style>{STYLE}</style>\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 10 8\" refX=\"9\" refY=\"4\" markerWidth=\"9\" markerHeight=\"8\" \
         orient=\"auto-start-reverse\"><path d=\"M0 0L10 4L0 8z\" fill=\"#777\"/></marker></defs>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n<g transform=\"translate({MARGIN} {:.0})\">\n",
        escape(&p.name),
        MARGIN + 24.0
    );
    let start = l.nodes[p.init.index()];
    // In the middle, unless other edges come in there.
    let enters = |(e, r): (&&Edge, &Route)| e.to == p.init.index() && r.label.y < start.y;
    let aside = match straight.iter().zip(&l.edges).any(enters) {
        true => nodes[p.init.index()].width / 4.0,
        false => 0.0,
    };
    let top = start.y - nodes[p.init.index()].height / 2.0;
    let _ = writeln!(
        out,
        "<circle cx=\"{x:.1}\" cy=\"{cy:.1}\" r=\"4\" fill=\"#333\"/>\
         <path class=\"edge\" d=\"M{x:.1} {from:.1}V{top:.1}\" marker-end=\"url(#arrow)\"/>",
        x = start.x - aside,
        cy = top - 26.0,
        from = top - 22.0,
    );
    for (e, r) in straight.iter().zip(&l.edges) {
        let mut points = r.points.clone();
        meet_box(&mut points, l, nodes, e);
        let _ = writeln!(
            out,
            "<path class=\"edge\" d=\"{}\" marker-end=\"url(#arrow)\"/>",
            smooth(&points)
        );
    }
    for (i, n) in nodes.iter().enumerate() {
        state(&mut out, p, i, n, l.nodes[i]);
        if let Some(e) = n.loop_label {
            self_loop(&mut out, n, &edges[e], l.nodes[i]);
        }
    }
    for (e, r) in straight.iter().zip(&l.edges) {
        let (_, h) = label_size(e);
        text_block(&mut out, e, r.label.x + BESIDE, r.label.y - h / 2.0);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// A row is as high as its highest box: pull the ends to the state's own border.
fn meet_box(points: &mut [Point], l: &Layout, nodes: &[Node], e: &Edge) {
    let (from, to) = (l.nodes[e.from], l.nodes[e.to]);
    let down = from.y < to.y;
    let side = if down { 1.0 } else { -1.0 };
    if let Some(first) = points.first_mut() {
        first.y = from.y + side * nodes[e.from].height / 2.0;
    }
    if let Some(last) = points.last_mut() {
        last.y = to.y - side * nodes[e.to].height / 2.0;
    }
}

fn state(out: &mut String, p: &Property, i: usize, n: &Node, at: Point) {
    let s = &p.states[i];
    let kind = if s.accepting {
        "accepting"
    } else {
        "non-accepting"
    };
    let last = if s.is_final { " final" } else { "" };
    let (x, y) = (at.x - n.width / 2.0, at.y - n.height / 2.0);
    let _ = write!(
        out,
        "<g class=\"state\" id=\"state-{}\"><rect class=\"{kind}{last}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" \
         height=\"{:.1}\" rx=\"14\"/>",
        escape(&s.name),
        n.width,
        n.height
    );
    // Not by colour alone: accepting states have a second ring.
    if s.accepting {
        let _ = write!(
            out,
            "<rect class=\"{kind} ring\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"11\"/>",
            x + 4.0,
            y + 4.0,
            n.width - 8.0,
            n.height - 8.0
        );
    }
    let first = at.y - (n.lines.len() as f64 - 1.0) * STATE_LINE / 2.0 + 5.0;
    for (k, line) in n.lines.iter().enumerate() {
        let class = if k == 0 { "name" } else { "note" };
        let _ = write!(
            out,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            at.x,
            first + k as f64 * STATE_LINE,
            escape(line)
        );
    }
    out.push_str("</g>\n");
}

fn self_loop(out: &mut String, n: &Node, e: &Edge, at: Point) {
    let x = at.x + n.width / 2.0;
    let (a, b) = (at.y - n.height / 5.0, at.y + n.height / 5.0);
    let far = x + LOOP;
    let _ = writeln!(
        out,
        "<path class=\"edge\" d=\"M{x:.1} {a:.1}C{far:.1} {:.1} {far:.1} {:.1} {x:.1} {b:.1}\" marker-end=\"url(#arrow)\"/>",
        a - 16.0,
        b + 16.0
    );
    let (_, h) = label_size(e);
    text_block(out, e, x + LOOP, at.y - h / 2.0);
}

fn text_block(out: &mut String, e: &Edge, x: f64, y: f64) {
    let (w, h) = label_size(e);
    let _ = write!(
        out,
        "<g><rect class=\"label\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"4\"/>"
    );
    let mut line = y + 4.0 + 11.0;
    for l in &e.labels {
        for (part, text) in l.lines() {
            let class = match part {
                Part::Event => "event",
                Part::Guard => "guard",
                Part::Code => "code",
            };
            let _ = write!(
                out,
                "<text class=\"{class}\" x=\"{:.1}\" y=\"{line:.1}\" xml:space=\"preserve\">{}</text>",
                x + 6.0,
                escape(text)
            );
            line += LINE;
        }
        line += 6.0;
    }
    out.push_str("</g>\n");
}

/// Curves that are vertical at every point on the way.
fn smooth(points: &[Point]) -> String {
    let mut d = String::new();
    for (i, p) in points.iter().enumerate() {
        if i == 0 {
            let _ = write!(d, "M{:.1} {:.1}", p.x, p.y);
            continue;
        }
        let q = points[i - 1];
        let middle = (q.y + p.y) / 2.0;
        let _ = write!(
            d,
            "C{:.1} {middle:.1} {:.1} {middle:.1} {:.1} {:.1}",
            q.x, p.x, p.x, p.y
        );
    }
    d
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no place for other control characters.
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

//! Plots with logarithmic axes, as SVG.

use std::fmt::Write;

pub struct Plot {
    pub title: String,
    pub x: String,
    pub y: String,
    pub curves: Vec<Curve>,
}

pub struct Curve {
    pub name: String,
    pub colour: &'static str,
    /// Published points are shown without a line between them.
    pub line: bool,
    pub points: Vec<Point>,
}

/// A measurement; `low` and `high` are its spread.
#[derive(Clone, Copy)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub low: f64,
    pub high: f64,
}

pub const OURS: &str = "#0b6e4f";
pub const OURS_TOO: &str = "#4fb286";
pub const BASELINE: &str = "#b3001b";
pub const BASELINE_TOO: &str = "#e07a5f";
pub const PAPER: &str = "#26547c";
pub const PAPER_TOO: &str = "#7a9cc6";

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 210.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 56.0;

/// One axis: the decades that it shows and the pixels they go to.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for v in values.filter(|v| *v > 0.0 && v.is_finite()) {
            low = low.min(v.log10());
            high = high.max(v.log10());
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let (low, mut high) = ((low - 0.02).floor(), (high + 0.02).ceil());
        if high <= low {
            high = low + 1.0;
        }
        Axis {
            low,
            high,
            from,
            to,
        }
    }

    /// What is not above zero sits at the axis' beginning.
    fn at(&self, v: f64) -> f64 {
        let v = if v > 0.0 { v.log10() } else { self.low };
        let part = (v.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        self.from + part * (self.to - self.from)
    }

    fn decades(&self) -> impl Iterator<Item = i32> {
        self.low as i32..=self.high as i32
    }
}

impl Plot {
    pub fn svg(&self) -> String {
        let points = || self.curves.iter().flat_map(|c| &c.points);
        let x = Axis::over(points().map(|p| p.x), LEFT, WIDTH - RIGHT);
        let y = Axis::over(points().flat_map(|p| [p.y, p.high]), HEIGHT - BOTTOM, TOP);
        let mut out = String::new();
        self.frame(&mut out, &x, &y);
        for (i, curve) in self.curves.iter().enumerate() {
            curve.draw(&mut out, &x, &y);
            let (at, line) = (TOP + 10.0 + 20.0 * i as f64, WIDTH - RIGHT + 14.0);
            let colour = curve.colour;
            let _ = writeln!(
                out,
                "<circle cx=\"{line}\" cy=\"{:.1}\" r=\"4\" fill=\"{colour}\"/><text x=\"{}\" y=\"{at}\">{}</text>",
                at - 4.0,
                line + 10.0,
                escape(&curve.name)
            );
        }
        out.push_str("</svg>\n");
        out
    }

    fn frame(&self, out: &mut String, x: &Axis, y: &Axis) {
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"15\" font-weight=\"bold\">{}</text>",
            escape(&self.title)
        );
        let (left, right, top, bottom) = (LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM);
        for d in x.decades() {
            let at = x.at(10f64.powi(d));
            let _ = writeln!(
                out,
                "<path d=\"M{at:.1} {top}V{bottom}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 18.0,
                decade(d)
            );
        }
        for d in y.decades() {
            let at = y.at(10f64.powi(d));
            let _ = writeln!(
                out,
                "<path d=\"M{left} {at:.1}H{right}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 8.0,
                at + 4.0,
                decade(d)
            );
        }
        let _ = writeln!(
            out,
            "<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>\n\
             <text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (left + right) / 2.0,
            HEIGHT - 16.0,
            escape(&self.x),
            (top + bottom) / 2.0,
            escape(&self.y)
        );
    }
}

impl Curve {
    fn draw(&self, out: &mut String, x: &Axis, y: &Axis) {
        let colour = self.colour;
        if self.line && self.points.len() > 1 {
            let mut path = String::new();
            for (i, p) in self.points.iter().enumerate() {
                let letter = if i == 0 { 'M' } else { 'L' };
                let _ = write!(path, "{letter}{:.1} {:.1}", x.at(p.x), y.at(p.y));
            }
            let _ = writeln!(
                out,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
            );
        }
        for p in &self.points {
            let (px, py) = (x.at(p.x), y.at(p.y));
            if p.low < p.high {
                let (low, high) = (y.at(p.low), y.at(p.high));
                let _ = writeln!(
                    out,
                    "<path d=\"M{px:.1} {low:.1}V{high:.1}\" stroke=\"{colour}\" stroke-opacity=\"0.5\"/>"
                );
            }
            let _ = match self.line {
                true => writeln!(
                    out,
                    "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"4\" fill=\"{colour}\"/>"
                ),
                false => writeln!(
                    out,
                    "<path d=\"M{px:.1} {py:.1}m-6 0h12m-6 -6v12\" stroke=\"{colour}\" stroke-width=\"2\"/>"
                ),
            };
        }
    }
}

fn decade(d: i32) -> String {
    match d {
        0..=6 => 10i64.pow(d.unsigned_abs()).to_string(),
        -4..=-1 => format!("{:.*}", d.unsigned_abs() as usize, 10f64.powi(d)),
        _ => format!("1e{d}"),
    }
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_are_equally_far_apart() {
        let axis = Axis::over([0.02, 30.0].into_iter(), 0.0, 400.0);
        assert_eq!(axis.at(0.01), 0.0);
        assert_eq!(axis.at(1.0), 200.0);
        assert_eq!(axis.at(100.0), 400.0);
        assert_eq!(axis.at(-1.0), 0.0);
        assert_eq!(decade(-2), "0.01");
    }

    #[test]
    fn names_are_escaped() {
        let plot = Plot {
            title: "a < b".into(),
            x: "x".into(),
            y: "y".into(),
            curves: Vec::new(),
        };
        assert!(plot.svg().contains("a &lt; b"));
    }
}

//! What repeated measurements say: the median, and how far they were apart.

/// Measurements of one thing, at least one, smallest first.
#[derive(Clone, Debug)]
pub struct Sample(Vec<f64>);

impl Sample {
    pub fn median(&self) -> f64 {
        self.0.get(self.0.len() / 2).copied().unwrap_or(f64::NAN)
    }

    pub fn min(&self) -> f64 {
        self.0.first().copied().unwrap_or(f64::NAN)
    }

    pub fn max(&self) -> f64 {
        self.0.last().copied().unwrap_or(f64::NAN)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn map(&self, f: impl Fn(f64) -> f64) -> Sample {
        self.0.iter().copied().map(f).collect()
    }

    /// Median and spread as times: `8.1 us (7.2-9.9)`.
    pub fn time(&self) -> String {
        let (scale, unit) = unit_of(self.median());
        let show = |v: f64| digits(v * scale);
        format!(
            "{} {unit} ({}-{})",
            show(self.median()),
            show(self.min()),
            show(self.max())
        )
    }

    /// Median and spread as they are.
    pub fn plain(&self) -> String {
        let (low, high) = (digits(self.min()), digits(self.max()));
        format!("{} ({low}-{high})", digits(self.median()))
    }

    /// Median and spread as parts of a hundred.
    pub fn percent(&self) -> String {
        let hundred = self.map(|v| v * 100.0);
        let (low, high) = (digits(hundred.min()), digits(hundred.max()));
        format!("{} % ({low}-{high})", digits(hundred.median()))
    }
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Sample {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Sample(values)
    }
}

/// A time in seconds, with the unit that suits it.
pub fn seconds(s: f64) -> String {
    let (scale, unit) = unit_of(s);
    format!("{} {unit}", digits(s * scale))
}

fn unit_of(s: f64) -> (f64, &'static str) {
    match s.abs() {
        s if s < 1e-6 => (1e9, "ns"),
        s if s < 1e-3 => (1e6, "us"),
        s if s < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    }
}

/// Three digits that mean something.
pub fn digits(v: f64) -> String {
    match v.abs() {
        a if a >= 100.0 => format!("{v:.0}"),
        a if a >= 10.0 => format!("{v:.1}"),
        a if a >= 0.1 || a == 0.0 => format!("{v:.2}"),
        _ => format!("{v:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_spread_with_their_unit() {
        let sample: Sample = [9e-6, 7e-6, 12.5e-6].into_iter().collect();
        assert_eq!(sample.time(), "9.00 us (7.00-12.5)");
        assert_eq!(sample.map(|v| v * 1e6).plain(), "9.00 (7.00-12.5)");
        assert_eq!(seconds(0.25), "250 ms");
        assert_eq!(seconds(2.0), "2.00 s");
    }
}

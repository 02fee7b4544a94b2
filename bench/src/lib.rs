//! What the measurements share.

pub mod lab;
pub mod plot;
pub mod prompt;
pub mod report;
pub mod stats;

use std::sync::Arc;
use std::time::Instant;
use verde_property::{Functions, Property, load_property};

/// The paper's queue property, without its prints.
pub const QUEUE: &str = "\
slice on queue
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
    transition {
        event queue_pop(queue, prod_id) { return N > 0 }
        success { N = N - 1 } queue_ready
        failure sink
    }
}
state sink non-accepting
";

pub fn property(text: &str) -> Arc<Property> {
    let loaded = load_property("queue.prop", text.as_bytes(), &Functions::default());
    match loaded.model {
        Some(p) => Arc::new(p),
        None => panic!(
            "{}",
            verde_property::render(&loaded.source, &loaded.found, false)
        ),
    }
}

/// A small fast generator; every run sees the same numbers.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// Median and spread (smallest, largest) of `times` runs of `f`, in seconds.
pub fn measure(times: usize, mut f: impl FnMut()) -> (f64, f64, f64) {
    let mut all: Vec<f64> = (0..times)
        .map(|_| {
            let t = Instant::now();
            f();
            t.elapsed().as_secs_f64()
        })
        .collect();
    all.sort_by(f64::total_cmp);
    (all[all.len() / 2], all[0], all[all.len() - 1])
}

/// Whatever can go wrong in a measurement.
pub type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// The figure in the middle.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Median, smallest and largest as text.
pub fn spread(figures: &[f64]) -> String {
    let smallest = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:.2} ({smallest:.2}-{largest:.2})", median(figures))
}

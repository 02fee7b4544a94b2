//! Threads of a scope, which may still be about to release what they are made of when the program ends.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

fn main() {
    let n = AtomicU32::new(0);
    std::thread::scope(|s| {
        for i in 0..4 {
            let n = &n;
            s.spawn(move || n.fetch_add(black_box(i), Ordering::Relaxed));
        }
    });
    if std::env::args().nth(1).as_deref() == Some("box") {
        std::mem::forget(black_box(Box::new(n)));
    }
    std::process::exit(0);
}

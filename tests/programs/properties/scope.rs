//! Threads of a scope, which may still be about to release what they are made of when the program ends.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

fn main() {
    let word = std::env::args().nth(1).unwrap_or_default();
    let n = AtomicU32::new(0);
    std::thread::scope(|s| {
        for i in 0..4 {
            let n = &n;
            s.spawn(move || n.fetch_add(black_box(i), Ordering::Relaxed));
        }
        if word == "thread" {
            s.spawn(|| std::mem::forget(black_box(Box::new(1))));
        }
    });
    if word == "box" {
        std::mem::forget(black_box(Box::new(n)));
    }
    drop(word);
    std::process::exit(0);
}

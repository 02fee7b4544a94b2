//! Threads that ask who they are as `std::thread::scope` does, and do not allocate then what a scope's threads share.

use std::hint::black_box;

/// The library's own is inlined in most places: this one is found by the same name.
mod thread {
    pub mod current {
        #[inline(never)]
        pub fn current_or_unnamed() {
            std::hint::black_box(());
        }
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("ended") => {
            let asks = std::thread::spawn(thread::current::current_or_unnamed);
            asks.join().expect("it ends");
        }
        Some("zeroed") => {
            thread::current::current_or_unnamed();
            drop(black_box(vec![0u64; black_box(100)]));
        }
        _ => {}
    }
    std::mem::forget(black_box(Box::new(7)));
    std::process::exit(0);
}

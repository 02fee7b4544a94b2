//! Twenty-five threads over a channel, a mutex and an atomic; checks itself.
//! Writes marks while it works, and then until its input is at its end.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

const EACH: u64 = 40_000;
const SENDERS: u64 = 5;

fn mark() {
    let mut out = io::stdout().lock();
    out.write_all(b".").and_then(|()| out.flush()).unwrap();
}

fn main() {
    let (sender, receiver) = mpsc::sync_channel::<u64>(16);
    let receiver = Arc::new(Mutex::new(receiver));
    let sum = Arc::new(AtomicU64::new(0));
    let mut threads = Vec::new();
    for p in 0..SENDERS {
        let sender = sender.clone();
        threads.push(thread::spawn(move || {
            for i in 0..EACH {
                sender.send(p * EACH + i).unwrap();
                if i % 64 == 0 {
                    thread::sleep(Duration::from_micros(50));
                }
            }
        }));
    }
    drop(sender);
    for _ in 0..20 {
        let (receiver, sum) = (receiver.clone(), sum.clone());
        threads.push(thread::spawn(move || {
            loop {
                let value = receiver.lock().unwrap().recv();
                match value {
                    Ok(value) => {
                        if value % 500 == 0 {
                            mark();
                        }
                        sum.fetch_add(value, Ordering::SeqCst)
                    }
                    Err(_) => break,
                };
            }
        }));
    }
    for thread in threads {
        thread.join().unwrap();
    }
    while io::stdin().read(&mut [0]).is_err() {
        mark();
        thread::sleep(Duration::from_millis(1));
    }
    let count = SENDERS * EACH;
    println!("\n{}", sum.load(Ordering::SeqCst) == count * (count - 1) / 2);
}

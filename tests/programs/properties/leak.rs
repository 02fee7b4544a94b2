// What Rust's library keeps to the end, and one leak if a word asks for it.
use std::cell::RefCell;
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{LazyLock, Once, OnceLock, mpsc};

static TABLE: LazyLock<Vec<u32>> = LazyLock::new(|| (0..100).collect());
static NAME: OnceLock<String> = OnceLock::new();
static BROKEN: Once = Once::new();
thread_local! {
    static OWN: RefCell<Vec<u8>> = RefCell::new(vec![0; 33]);
}

fn main() {
    let word = std::env::args().nth(1).unwrap_or_default();
    // Left by a panic: what comes after it counts.
    std::panic::set_hook(Box::new(|_| {}));
    let caught = std::panic::catch_unwind(|| BROKEN.call_once(|| panic!("not today")));
    drop(std::panic::take_hook());
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let numbers: HashMap<u32, String> = (0..50).map(|i| (i, i.to_string())).collect();
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..3)
        .map(|i| {
            let sender = sender.clone();
            std::thread::spawn(move || {
                OWN.with_borrow_mut(|own| own.push(i));
                sender.send(i.to_string()).unwrap();
            })
        })
        .collect();
    drop(sender);
    for thread in threads {
        thread.join().unwrap();
    }
    OWN.with_borrow_mut(|own| own.push(1));
    std::thread::scope(|scope| {
        // Without the join it would let go of the scope after the program goes on, or never.
        scope.spawn(|| println!("in a scope")).join().unwrap();
    });
    let name = NAME.get_or_init(|| "x".repeat(40));
    println!("{} {} {} {}", numbers.len(), receiver.iter().count(), TABLE.len(), name.len());
    eprintln!("{} {}", caught.is_err(), line.len());
    match word.as_str() {
        "box" => {
            black_box(Box::leak(Box::new([1u8; 100])));
        }
        "vec" => std::mem::forget(black_box(vec![1u8; 200])),
        _ => {}
    }
}

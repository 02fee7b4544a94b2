//! The monitor alone and `verde replay` against a plain Python monitor.
//!
//! `make bench-monitor`, or `cargo run --release -p verde-bench --bin monitor -- target/release/verde`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::Command;
use verde_bench::{QUEUE, Random, measure, property};
use verde_monitor::{Arg, Event, Monitor, NoPython, Options};
use verde_property::SpecId;

/// Events that are announced together.
const ANNOUNCED: usize = 16;

fn main() {
    // For a profiler: one size only.
    if let Ok(Ok(slices)) = std::env::var("SLICES").map(|s| s.parse()) {
        return events(slices);
    }
    let verde = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "target/release/verde".into());
    println!("## This machine now\n");
    println!(
        "one dependent read at random in 64 MiB: {:.0} ns",
        memory_latency()
    );
    println!("\n## One event on a random slice\n");
    println!(
        "| live slices | ns per event, each alone (min-max of 5) | announced in groups of {ANNOUNCED} | of the 150 ns allowed | bytes per slice | of the 128 allowed |"
    );
    println!("|---:|---:|---:|---:|---:|---:|");
    for slices in [1u64, 1_000, 100_000, 1_000_000, 4_000_000] {
        events(slices);
    }
    println!("\n## `verde replay` of 2,000,000 events\n");
    replay(&verde);
}

/// What any table of a million entries pays at least: the figures below are to
/// be read beside it, for a shared machine can be several times slower than itself.
fn memory_latency() -> f64 {
    const WORDS: usize = 8 << 20;
    let mut random = Random(5);
    // One cycle through all words, in a random order.
    let mut order: Vec<u32> = (0..WORDS as u32).collect();
    for i in (1..WORDS).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    let mut next = vec![0u64; WORDS];
    for (k, i) in order.iter().enumerate() {
        next[*i as usize] = order[(k + 1) % WORDS].into();
    }
    const READS: u32 = 2_000_000;
    let mut at = 0u64;
    let (median, ..) = measure(3, || {
        for _ in 0..READS {
            at = next[at as usize];
        }
    });
    std::hint::black_box(at);
    median / f64::from(READS) * 1e9
}

fn events(slices: u64) {
    let p = property(QUEUE);
    let find = |name: &str| {
        let i = p
            .events
            .iter()
            .position(|e| e.name == name)
            .unwrap_or_default();
        SpecId(i as u16)
    };
    let (new, push, pop) = (find("queue_new"), find("queue_push"), find("queue_pop"));
    let mut m = match Monitor::new(p, Options::default(), &mut NoPython, &mut ()) {
        Ok(m) => m,
        Err(f) => panic!("{f:?}"),
    };
    // Keys as malloc would give them.
    let key = |i: u64| Arg::uint(0x5555_5555_0000 + i * 48);
    let mut n = 0;
    let mut apply = |m: &mut Monitor, spec, args: &[Option<Arg>]| {
        n += 1;
        let event = Event {
            n,
            spec,
            args,
            tid: Some(7),
            time: None,
            loc: None,
        };
        m.apply(&event, &mut NoPython, &mut ());
    };
    for i in 0..slices {
        apply(&mut m, new, &[Some(key(i)), Some(Arg::Int(1 << 40))]);
        // Enough that hardly a queue runs empty: a slice in its sink costs less.
        for _ in 0..8 {
            apply(&mut m, push, &[Some(key(i)), Some(Arg::Int(3))]);
        }
    }
    let bytes = m.slices().bytes() as f64 / slices as f64;
    const EVENTS: u64 = 2_000_000;
    let mut random = Random(1);
    let mut next = |k: u64| {
        let spec = if k % 3 == 2 { pop } else { push };
        let args = [Some(key(random.below(slices))), Some(Arg::Int(3))];
        (spec, args)
    };
    let alone = measure(5, || {
        for k in 0..EVENTS {
            let (spec, args) = next(k);
            apply(&mut m, spec, &args);
        }
    });
    // As `verde replay` does: the lines that were read already are announced.
    let announced = measure(5, || {
        for k in (0..EVENTS).step_by(ANNOUNCED) {
            let events: [_; ANNOUNCED] = std::array::from_fn(|i| next(k + i as u64));
            m.expect(events.iter().map(|(spec, args)| (*spec, &args[..])));
            for (spec, args) in &events {
                apply(&mut m, *spec, args);
            }
        }
    });
    let ns = |s: f64| s / EVENTS as f64 * 1e9;
    let cell = |(median, min, max): (f64, f64, f64)| {
        format!("{:.0} ({:.0}-{:.0})", ns(median), ns(min), ns(max))
    };
    println!(
        "| {slices} | {} | {} | {:.2} | {bytes:.0} | {:.2} |",
        cell(alone),
        cell(announced),
        ns(announced.0) / 150.0,
        bytes / 128.0
    );
}

fn replay(verde: &str) {
    const EVENTS: u64 = 2_000_000;
    let dir = std::env::temp_dir().join(format!("verde-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder for the trace");
    let (trace, prop) = (dir.join("trace.jsonl"), dir.join("queue.prop"));
    std::fs::write(&prop, QUEUE).expect("the property");
    let mut out = BufWriter::new(File::create(&trace).expect("the trace"));
    let mut random = Random(2);
    let queues = 1000;
    for n in 1..=EVENTS {
        let (event, extra) = match n {
            n if n <= queues => ("queue_new", "\"size\":1000000".to_string()),
            n if n % 5 < 3 => ("queue_push", format!("\"prod_id\":{}", random.below(20))),
            _ => ("queue_pop", format!("\"prod_id\":{}", random.below(20))),
        };
        let q = if n <= queues {
            n
        } else {
            1 + random.below(queues)
        };
        writeln!(
            out,
            "{{\"n\":{n},\"tid\":{},\"kind\":\"call\",\"when\":\"before\",\"event\":\"{event}\",\"args\":{{\"queue\":{},{extra}}},\"loc\":\"queue.c:41\",\"time\":{}}}",
            4000 + random.below(25),
            93_824_992_231_072 + q * 64,
            n * 1000
        )
        .expect("the trace");
    }
    drop(out);
    let run = |mut c: Command| {
        let out = c.output().expect("the program runs");
        assert!(
            out.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
    };
    let ours = || {
        let mut c = Command::new(verde);
        c.args(["replay", "--show", "final", "-p"])
            .arg(&prop)
            .arg(&trace);
        c
    };
    let baseline = concat!(env!("CARGO_MANIFEST_DIR"), "/baseline/plain_monitor.py");
    let python = || {
        let mut c = Command::new("python3");
        c.arg(baseline).arg(&trace);
        c
    };
    // Interleaved, so that both see the same machine.
    let (mut us, mut them) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        us.push(measure(1, || run(ours())).0);
        them.push(measure(1, || run(python())).0);
    }
    us.sort_by(f64::total_cmp);
    them.sort_by(f64::total_cmp);
    let rate = |s: f64| EVENTS as f64 / s;
    println!("| | events per second (median of 3) | spread in s |");
    println!("|---|---:|---:|");
    println!(
        "| `verde replay --show final` | {:.0} | {:.2}-{:.2} |",
        rate(us[1]),
        us[0],
        us[2]
    );
    println!(
        "| plain Python monitor | {:.0} | {:.2}-{:.2} |",
        rate(them[1]),
        them[0],
        them[2]
    );
    println!(
        "\nratio: {:.1} times the Python monitor (at least 5 asked, and 1,000,000 events per second)",
        them[1] / us[1]
    );
    let _ = std::fs::remove_dir_all(&dir);
}

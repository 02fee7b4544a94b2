//! Resolves functions and lines in a program and prints where breakpoints on them go, with time and
//! memory: `resolve PROGRAM FUNCTION|FILE:LINE...`. The benchmark of the symbol crate runs it against gdb.

use std::time::Instant;
use verde_symbols::{FunctionQuery, Module};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments
        .next()
        .ok_or("usage: resolve PROGRAM FUNCTION...")?;
    let start = Instant::now();
    let module = Module::open(&program)?;
    for name in arguments {
        let line = name
            .rsplit_once(':')
            .and_then(|(f, l)| Some((f, l.parse().ok()?)));
        if let Some(found) = line.and_then(|(file, line)| module.line_addresses(file, line)) {
            println!(
                "{}:{} at {:x?}",
                found.file.name, found.line, found.addresses
            );
            println!("{:.1} ms", start.elapsed().as_secs_f64() * 1e3);
            continue;
        }
        for function in module.functions(&FunctionQuery::parse(&name)) {
            let addr = module.breakpoint_address(&function);
            match module.line_at(addr) {
                Some(span) => println!(
                    "{} at {addr}: {}:{}",
                    function.name, span.file.name, span.line
                ),
                None => println!("{} at {addr}", function.name),
            }
        }
        println!("{:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status
        .lines()
        .filter(|l| l.starts_with("VmHWM") || l.starts_with("RssAnon"));
    println!("{}", peak.collect::<Vec<_>>().join("  "));
    Ok(())
}

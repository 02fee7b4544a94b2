//! Where the figures come from.

use std::process::Command;
use verde_bench::lab::{Lab, succeed};

/// Processor, kernel, versions and load, as a list.
pub fn describe(lab: &Lab) -> String {
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = file("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|l| l.strip_prefix("model name"));
    let model = model.map_or("unknown", |l| l.trim_start_matches([':', ' ', '\t']));
    let cores = cpuinfo
        .lines()
        .filter(|l| l.starts_with("processor"))
        .count();
    let virtual_one = match cpuinfo.contains("hypervisor") {
        true => ", virtual",
        false => "",
    };
    let meminfo = file("/proc/meminfo");
    let memory = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"));
    let memory = memory.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok());
    let version = |program: &str, option: &str| {
        let text = succeed(Command::new(program).arg(option)).unwrap_or_default();
        text.lines().next().unwrap_or("unknown").to_owned()
    };
    let load = file("/proc/loadavg");
    let load: Vec<&str> = load.split_whitespace().take(1).collect();
    format!(
        "- {model}, {cores} cores{virtual_one}, {:.0} GB; Linux {}\n- {}; {}; {}; built by {}\n- other work on the machine when it began: load {}\n",
        memory.unwrap_or(0.0) / 1048576.0,
        file("/proc/sys/kernel/osrelease").trim(),
        version(&lab.verde.display().to_string(), "--version"),
        version("gdb", "--version"),
        version("gcc", "--version"),
        version("rustc", "--version"),
        load.join(" ")
    )
}

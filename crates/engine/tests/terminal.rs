//! The terminal belongs to the program while it runs and to the debugger
//! while it is stopped.
//!
//! Without arguments this is the test, which runs itself under `script` to
//! have a terminal.

mod common;

use common::{compile, exec, next, transparent};
use std::fs;
use std::process::{Command, Stdio};
use verde_engine::{Launch, Process, Tid};
use verde_sys::terminal::Terminal;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).map(String::as_str) == Some("inside") {
        inside();
        println!("terminal handed over");
        return;
    }
    if args
        .iter()
        .skip(1)
        .any(|a| !a.starts_with('-') && !"terminal".contains(a.as_str()))
    {
        return;
    }
    let myself = std::env::current_exe().expect("this program");
    let output = Command::new("script")
        .args([
            "-q",
            "-e",
            "-c",
            &format!("{} inside", myself.display()),
            "/dev/null",
        ])
        .stdin(Stdio::null())
        .output()
        .expect("script");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("terminal handed over"), "{text}");
    println!("test terminal ... ok");
}

/// The foreground process group of the terminal of a process.
fn foreground(pid: Tid) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("stat");
    let (_, rest) = stat.rsplit_once(") ").expect("fields");
    let field = rest.split(' ').nth(5).expect("tpgid");
    field.parse().expect("a group")
}

fn echoes() -> bool {
    let settings = Command::new("stty")
        .arg("-a")
        .stdin(Stdio::inherit())
        .output();
    let text = settings.expect("stty").stdout;
    let text = String::from_utf8_lossy(&text).into_owned();
    text.split_whitespace().any(|word| word == "echo")
}

fn inside() {
    let me = verde_sys::signals::current_process();
    let mut terminal = Terminal::open().expect("a terminal");
    let ours = foreground(me);
    let program = compile("tty.c", &["-O1"]);
    let launch = Launch {
        program: program.path.clone(),
        own_group: true,
        ..Launch::default()
    };
    let mut process = Process::launch(&launch, transparent()).expect("launched");
    let theirs = process.pid();
    let begin = program.address(&process, "begin");
    exec(&mut process, begin);
    assert!(echoes());
    for round in 0..3 {
        terminal.give(theirs).expect("given");
        assert_eq!(foreground(me), theirs.0, "the program runs");
        process.resume_all().expect("resumed");
        let stop = next(&mut process);
        assert_eq!(stop.traps().count(), 1, "{stop:?}");
        // The program has switched echo off; taking back restores ours.
        assert_eq!(foreground(me), theirs.0);
        terminal.take().expect("taken");
        assert_eq!(foreground(me), ours, "the program is stopped");
        assert!(echoes(), "round {round}");
    }
    terminal.give(theirs).expect("given");
    // It checks that it found its own settings again each time.
    process.resume_all().expect("resumed");
    let end = next(&mut process).ended();
    assert_eq!(end, Some(verde_engine::End::Exited(0)));
    terminal.take().expect("taken");
    assert_eq!(foreground(me), ours);
}

//! An attached program survives SIGKILL of the debugger the user sees.
//!
//! Without arguments this is the test: it starts a program under load, and
//! over and over itself as a debugger (`debugger PID`) that splits in two,
//! attaches with a trap that is hit all the time, and is killed.

mod common;

use common::{compile, source, transparent, until};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio, exit};
use verde_engine::{Cause, ModuleKind, On, Owner, Process, Tid, Trap};
use verde_sys::guardian::{Side, split};
use verde_sys::{procfs, signals};

const ROUNDS: usize = 200;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).map(String::as_str) == Some("debugger") {
        let pid = Tid(args[2].parse().expect("a pid"));
        let f: u64 = args[3].parse().expect("an address");
        debugger(pid, f);
    }
    // Arguments of a test filter that does not mean this test.
    if args
        .iter()
        .skip(1)
        .any(|a| !a.starts_with('-') && !"survives".contains(a.as_str()))
    {
        return;
    }
    survives();
    println!("test survives ... ok");
}

fn survives() {
    assert!(source("waits.c").exists());
    let program = compile("waits.c", &["-O1"]);
    let mut child = program.spawn(&["spin", "4"]);
    let pid = Tid(child.id() as i32);
    let mut first = String::new();
    let mut lines = BufReader::new(child.stdout.take().expect("output"));
    lines.read_line(&mut first).expect("a line");
    until("all threads run", || {
        procfs::threads(pid).is_ok_and(|t| t.len() == 4)
    });
    let main = procfs::maps(pid).expect("maps");
    let code = main
        .iter()
        .find(|m| m.execute && m.name == program.path.to_str().expect("a path"))
        .expect("code")
        .clone();
    let text = || {
        let mut bytes = vec![0; (code.end - code.start) as usize];
        let memory = verde_sys::memory::Memory::open(pid).expect("memory");
        memory.read(code.start, &mut bytes).expect("text");
        bytes
    };
    let before = text();
    let myself = std::env::current_exe().expect("this program");
    for round in 0..ROUNDS {
        let mut debugger = Command::new(&myself)
            .args([
                "debugger",
                &pid.to_string(),
                &program.symbol("f").to_string(),
            ])
            .stdout(Stdio::piped())
            .spawn()
            .expect("a debugger");
        let mut ready = [0; 1];
        let mut output = debugger.stdout.take().expect("output");
        output.read_exact(&mut ready).expect("attached");
        let visible = Tid(debugger.id() as i32);
        signals::send(visible, 9).expect("killed");
        debugger.wait().expect("reaped");
        until("the session has let go", || {
            procfs::status_field(pid, pid, "TracerPid").is_none_or(|tracer| tracer == "0")
        });
        assert!(
            child.try_wait().expect("status").is_none(),
            "the program died in round {round}"
        );
        until("no thread is traced", || {
            procfs::threads(pid)
                .expect("alive")
                .iter()
                .all(|tid| procfs::status_field(pid, *tid, "TracerPid").as_deref() == Some("0"))
        });
        assert_eq!(text(), before, "code after round {round}");
    }
    child.kill().expect("killed");
    child.wait().expect("reaped");
}

/// What the user starts, and kills.
fn debugger(pid: Tid, f: u64) -> ! {
    match split().expect("split") {
        Side::Visible { mut channel, .. } => {
            let mut byte = [0; 1];
            channel.read_exact(&mut byte).expect("news");
            std::io::stdout().write_all(&byte).expect("told");
            std::io::stdout().flush().expect("told");
            // Until it is killed.
            let _ = channel.read_exact(&mut byte);
            exit(1)
        }
        Side::Session { channel } => session(pid, f, channel),
    }
}

/// What holds the program.
fn session(pid: Tid, f: u64, mut channel: std::os::unix::net::UnixStream) -> ! {
    let mut process = Process::attach(pid, transparent()).expect("attached");
    let main = process
        .modules()
        .iter()
        .find(|m| m.kind == ModuleKind::Main);
    let at = verde_engine::Addr(main.expect("main").bias + f);
    process
        .insert(Trap::new(On::Exec(at), Owner::User))
        .expect("a trap");
    let interrupter = process.interrupter();
    let mut listener = channel.try_clone().expect("a channel");
    std::thread::spawn(move || {
        let mut byte = [0; 1];
        while listener.read(&mut byte).is_ok_and(|n| n > 0) {}
        interrupter.interrupt();
    });
    process.resume_all().expect("resumed");
    let mut hits = 0;
    process
        .run(|_, stop| {
            hits += 1;
            if hits == 20 {
                channel.write_all(b"r").expect("told");
            }
            Ok(stop.causes.contains(&Cause::Interrupted))
        })
        .expect("run");
    process.detach().expect("detached");
    exit(0)
}

//! What `verde debug` does while nobody types: checkpoints that are restored next are made ready.

mod lab;

use lab::shell::Shell;
use lab::{Fallible, Lab};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Has more memory than what is copied at once.
const SOURCE: &str = r#"#include <stdlib.h>
#include <string.h>
static int count;
static char *memory;
static void mark(void) { count++; }
int main(void) {
    memory = malloc(20 << 20);
    memset(memory, 1, 20 << 20);
    for (int i = 0; i < 3; i++) {
        mark();
        memset(memory, 2 + i, 20 << 20);
    }
    return memory[5] + count;
}
"#;

/// How many processes run the program, frozen ones among them.
fn processes(lab: &Lab) -> usize {
    let program = fs::canonicalize(lab.path("prog")).expect("the program");
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let runs = |entry: &fs::DirEntry| {
        fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == program)
    };
    all.filter(runs).count()
}

fn until_there_are(lab: &Lab, wanted: usize) {
    let end = Instant::now() + Duration::from_secs(60);
    while processes(lab) != wanted {
        assert!(Instant::now() < end, "{} processes", processes(lab));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Restores use up what was made ready: with the program there are a checkpoint and its copy, and
/// as many for the moment before the last restart.
#[test]
fn checkpoints_are_ready_for_who_types() -> Fallible {
    for terminal in ["xterm", "dumb"] {
        typed(terminal)?;
    }
    Ok(())
}

fn typed(terminal: &str) -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let mut shell = Shell::with_terminal(&lab, terminal)?;
    shell.send("$VERDE debug ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.command("break mark", "Breakpoint 1 at ")?;
    shell.command("run", "Breakpoint 1, ")?;
    // What is typed meanwhile is not lost.
    shell.send("checkpoint\nprint 40 +")?;
    shell.expect("Checkpoint 1: ")?;
    until_there_are(&lab, 3);
    shell.send(" 2\n")?;
    shell.expect("$1 = 42")?;
    shell.command("continue", "Breakpoint 1, ")?;
    shell.command("print count", "$2 = 1")?;
    for round in 0..3 {
        shell.command("restart 1", "Checkpoint 1: ")?;
        until_there_are(&lab, 5);
        shell.command(
            "print memory[9] + count",
            &format!("${} = 1", 3 + 3 * round),
        )?;
        shell.command("restart undo", " before the last restart: ")?;
        until_there_are(&lab, 5);
        shell.command(
            "print memory[9] + count",
            &format!("${} = 3", 4 + 3 * round),
        )?;
        shell.command("print/d memory[5]", &format!("${} = 2", 5 + 3 * round))?;
    }
    // The first one's copy goes for the sake of the next one's.
    shell.command("checkpoint", "Checkpoint 2: ")?;
    until_there_are(&lab, 6);
    shell.command("delete checkpoint 1", "")?;
    shell.command("delete checkpoint undo", "")?;
    until_there_are(&lab, 3);
    shell.command("delete checkpoint 2", "")?;
    until_there_are(&lab, 1);
    shell.command("delete 1", "")?;
    shell.command("continue", "exited with code 07]")?;
    shell.send("quit\n")?;
    shell.expect("shell> ")?;
    assert_eq!(processes(&lab), 0);
    Ok(())
}

/// The prompt is shown once for each line, whether or not it came at once.
#[test]
fn programs_that_type_are_not_disturbed() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
    verde.arg("debug").arg(lab.path("prog"));
    let mut verde = verde.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = verde.stdin.take().ok_or("no input")?;
    write!(input, "break mark\nrun\ncheckpoint\n")?;
    until_there_are(&lab, 3);
    write!(input, "restart 1\nprint count\n")?;
    until_there_are(&lab, 5);
    write!(
        input,
        "restart 1\nrestart 1\nprint count\ndelete\ncontinue\n"
    )?;
    drop(input);
    let output = verde.wait_with_output()?;
    let text = String::from_utf8(output.stdout)?;
    assert_eq!(text.matches("(verde) ").count(), 11, "{text}");
    assert_eq!(text.matches(" restored in ").count(), 3, "{text}");
    assert!(text.contains("$2 = 0\n"), "{text}");
    assert!(text.contains("exited with code 07]"), "{text}");
    Ok(())
}

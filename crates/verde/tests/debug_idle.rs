//! What `verde debug` does while nobody types: the memory that a restart goes on in is copied.

mod lab;

use lab::shell::Shell;
use lab::{Fallible, Lab};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use verde_sys::{Tid, task};

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

/// The processes that run the program, frozen ones among them.
fn processes(lab: &Lab) -> Vec<Tid> {
    let program = fs::canonicalize(lab.path("prog")).expect("the program");
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let runs = |entry: &fs::DirEntry| {
        fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == program)
    };
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok().map(Tid);
    all.filter(runs).filter_map(number).collect()
}

/// Whether none of them has the memory of another.
fn are_apart(processes: &[Tid]) -> bool {
    let mut rest = processes.iter();
    while let Some(one) = rest.next() {
        if rest.clone().any(|other| task::shares_memory(*one, *other)) {
            return false;
        }
    }
    true
}

fn until_there_are(lab: &Lab, wanted: usize) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let there = processes(lab);
        if there.len() == wanted && are_apart(&there) {
            return;
        }
        assert!(Instant::now() < end, "{there:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Restarts go on in the memory of a checkpoint, which has a copy soon.
#[test]
fn checkpoints_are_copied_while_nobody_types() -> Fallible {
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
    shell.command("checkpoint", "Checkpoint 1: ")?;
    until_there_are(&lab, 2);
    shell.command("continue", "Breakpoint 1, ")?;
    shell.command("print count", "$1 = 1")?;
    for round in 0..3 {
        let value = |n: u32| n + 4 * round;
        // What is typed meanwhile is not lost.
        shell.send("restart 1\nprint 40 +")?;
        shell.expect("Checkpoint 1: ")?;
        until_there_are(&lab, 3);
        shell.send(" 2\n")?;
        shell.expect(&format!("${} = 42", value(2)))?;
        let print = "print memory[9] + count";
        shell.command(print, &format!("${} = 1", value(3)))?;
        shell.command("restart undo", " before the last restart: ")?;
        until_there_are(&lab, 3);
        shell.command(print, &format!("${} = 3", value(4)))?;
        shell.command("print/d memory[5]", &format!("${} = 2", value(5)))?;
    }
    shell.command("checkpoint", "Checkpoint 2: ")?;
    until_there_are(&lab, 4);
    shell.command("delete checkpoint 1", "")?;
    shell.command("delete checkpoint undo", "")?;
    until_there_are(&lab, 2);
    shell.command("delete checkpoint 2", "")?;
    until_there_are(&lab, 1);
    shell.command("delete 1", "")?;
    shell.command("continue", "exited with code 07]")?;
    shell.send("quit\n")?;
    shell.expect("shell> ")?;
    assert!(processes(&lab).is_empty());
    Ok(())
}

/// The prompt is shown once for each line, whether or not it came at once. Only one pause is
/// waited for.
#[test]
fn programs_that_type_are_not_disturbed() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
    verde.arg("debug").arg(lab.path("prog"));
    let mut verde = verde.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = verde.stdin.take().ok_or("no input")?;
    write!(input, "break mark\nrun\ncheckpoint\nrestart 1\n")?;
    until_there_are(&lab, 3);
    let at_once = "restart 1\nrestart 1\ncheckpoint\ncontinue\nrestart 2\nrestart 1\n\
                   restart undo\ncontinue\nprint count\nrestart 1\nprint count\n";
    write!(input, "{at_once}")?;
    write!(input, "set var memory[9] = 7\nrestart 2\nprint memory[9]\n")?;
    write!(input, "delete\ncontinue\n")?;
    drop(input);
    let output = verde.wait_with_output()?;
    let text = String::from_utf8(output.stdout)?;
    assert_eq!(text.matches("(verde) ").count(), 21, "{text}");
    assert_eq!(text.matches(" restored in ").count(), 8, "{text}");
    for value in ["$1 = 1\n", "$2 = 0\n", "$3 = 1 '\\001'\n"] {
        assert!(text.contains(value), "{value}: {text}");
    }
    assert!(text.contains("exited with code 07]"), "{text}");
    Ok(())
}

#[test]
fn a_checkpoint_that_cannot_be_copied_is_told() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
    verde.arg("debug").arg(lab.path("prog"));
    let mut verde = verde.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = verde.stdin.take().ok_or("no input")?;
    write!(input, "break mark\nrun\n")?;
    until_there_are(&lab, 1);
    let program = processes(&lab);
    writeln!(input, "checkpoint")?;
    until_there_are(&lab, 2);
    let all = processes(&lab);
    let frozen = all.iter().find(|pid| !program.contains(pid));
    let frozen = frozen.ok_or("no frozen process")?;
    write!(input, "restart 1\n!kill -9 {frozen}\ncontinue\n")?;
    write!(input, "info checkpoints\ndelete\ncontinue\n")?;
    drop(input);
    let output = verde.wait_with_output()?;
    let text = String::from_utf8(output.stdout)?;
    for part in [
        "warning: a checkpoint is lost, for its memory could not be copied: ",
        "1  process ",
        ", lost\n",
        "exited with code 07]",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    Ok(())
}

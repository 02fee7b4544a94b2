//! `verde debug` from outside: what it says about a small program, compared
//! with gdb where gdb is there.

mod lab;

use lab::{Fallible, Lab};
use std::io::Write;
use std::process::{Command, Stdio};

const SOURCE: &str = r#"#include <stdio.h>
#include <string.h>
struct item { int id; double weight; struct item *next; };
static struct item last = {2, 1.5, 0};
int counter;
static int inner(struct item *p, int k) {
    int local = k * 2;
    counter += local;
    return local + p->next->id;
}
static int outer(int k) {
    struct item first = {1, 0.5, &last};
    int r = inner(&first, k);
    return r + 1;
}
static void crash(int *p) {
    *p = 1;
}
int main(int argc, char **argv) {
    int total = 0;
    if (argc > 1 && !strcmp(argv[1], "crash")) crash(0);
    if (argc > 1) return 3;
    for (int i = 1; i <= 3; i++)
        total += outer(i);
    printf("total %d counter %d\n", total, counter);
    return 0;
}
"#;

fn new_lab() -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::c(SOURCE, &["-O0"])
}

#[test]
fn stops_frames_and_values_are_gdbs() -> Fallible {
    let lab = new_lab()?;
    lab.same_as_gdb(&[
        "break inner",
        "run",
        "bt",
        "print *p",
        "print k",
        "info args",
    ])?;
    lab.same_as_gdb(&[
        "break prog.c:8",
        "run",
        "info locals",
        "up",
        "info locals",
        "print first.next->weight",
        "down",
        "ptype struct item",
        "print/x counter + 255",
        "x/2dw &last",
        "list outer",
    ])?;
    lab.same_as_gdb(&[
        "break inner if k == 3",
        "run",
        "print k",
        "info breakpoints",
    ])?;
    lab.same_as_gdb(&[
        "tbreak outer",
        "run",
        "next",
        "step",
        "next",
        "next",
        "next",
        "next",
    ])?;
    lab.same_as_gdb(&[
        "break inner",
        "run",
        "finish",
        "next",
        "print r",
        "until",
        "stepi",
    ])?;
    lab.same_as_gdb(&["break inner", "run", "x/4i $pc", "print $rip", "whatis p"])
}

#[test]
fn a_watchpoint_shows_old_and_new() -> Fallible {
    let lab = new_lab()?;
    lab.same_as_gdb(&["watch counter", "run", "continue", "print counter", "bt 1"])?;
    let text = lab.text(&[
        "break outer",
        "run",
        "next",
        "watch r",
        "delete 1",
        "continue",
        "continue",
    ])?;
    assert!(text.contains("New value = 4"), "{text}");
    assert!(text.contains("Watchpoint 2 deleted"), "{text}");
    Ok(())
}

#[test]
fn values_can_be_changed() -> Fallible {
    let lab = new_lab()?;
    let commands = [
        "break prog.c:8",
        "run",
        "set var local = 100",
        "delete",
        "continue",
    ];
    let text = lab.text(&commands)?;
    assert!(text.contains("total 119 counter 110"), "{text}");
    assert!(text.contains("exited normally]"), "{text}");
    lab.same_as_gdb(&[
        "break prog.c:14",
        "run",
        "print inner(&first, 5)",
        "print counter",
    ])
}

#[test]
fn ends_are_told() -> Fallible {
    let lab = new_lab()?;
    let text = |args: &[&str]| -> std::io::Result<String> {
        let output = lab.verde(&["run", "bt"], args)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let crashed = text(&["crash"])?;
    assert!(
        crashed.contains("Program received signal SIGSEGV, Segmentation fault."),
        "{crashed}"
    );
    assert!(crashed.contains("crash (p=0x0) at "), "{crashed}");
    assert!(crashed.contains("#1  0x"), "{crashed}");
    let failed = text(&["other"])?;
    assert!(failed.contains("exited with code 03]"), "{failed}");
    Ok(())
}

#[test]
fn mistakes_are_one_line_and_the_next_command_runs() -> Fallible {
    let lab = new_lab()?;
    let commands = [
        "no-such-command",
        "print nonexistent",
        "break innr",
        "continue",
        "bt",
        "print 1 +",
        "delete 9",
        "info nothing",
        "x/4q 0",
        "print 40 + 2",
    ];
    let output = lab.verde(&commands, &[])?;
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.lines().count(), commands.len() - 1, "{errors}");
    assert!(
        errors.contains("Undefined command: \"no-such-command\"."),
        "{errors}"
    );
    assert!(errors.contains("inner"), "a near name is offered: {errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "$1 = 42\n");
    Ok(())
}

/// Without a program the prompt goes on, and one that comes is taken.
#[test]
fn a_program_that_cannot_be_read_is_waited_for() -> Fallible {
    let lab = new_lab()?;
    let prog = lab.path("prog");
    let aside = lab.path("aside");
    std::fs::rename(&prog, &aside)?;
    let text = lab.path("text");
    std::fs::write(&text, "no program\n")?;
    for (file, why) in [
        (&prog, "No such file or directory"),
        (&text, "not an ELF file"),
    ] {
        let script = format!(
            "print 40 + 2\nlist\nbt\nbreak main\nrun\nshell ln -f {} {}\nrun\nbreak main\nrun\n",
            aside.display(),
            file.display()
        );
        let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
        verde.arg("debug").arg(file).stdin(Stdio::piped());
        verde.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut verde = verde.spawn()?;
        let input = verde.stdin.take();
        input.ok_or("a pipe")?.write_all(script.as_bytes())?;
        let output = verde.wait_with_output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        let first = errors.lines().next().unwrap_or_default();
        assert_eq!(first, format!("{}: {why}", file.display()));
        assert!(output.status.success(), "{errors}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("$1 = 42"), "{text}");
        assert!(text.contains("Breakpoint 1, main"), "{text}\n{errors}");
        let batch = lab.path("missing");
        let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
        let output = verde.args(["debug", "--batch"]).arg(batch).output()?;
        assert_eq!(output.status.code(), Some(1));
    }
    Ok(())
}

#[test]
fn programs_that_cannot_be_debugged() -> Fallible {
    let lab = new_lab()?;
    std::fs::write(lab.path("text"), "no program")?;
    for name in ["missing", "text", "."] {
        let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
        let output = verde
            .args(["debug", "--batch"])
            .arg(lab.path(name))
            .output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{name}: {errors}");
    }
    Ok(())
}

#[test]
fn files_and_pipes_give_commands() -> Fallible {
    let lab = new_lab()?;
    std::fs::write(
        lab.path("script"),
        "# a comment\nbreak inner\n\nrun\nprint k\n",
    )?;
    let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
    verde
        .args(["debug", "--batch", "-x"])
        .arg(lab.path("script"));
    let output = verde.arg(lab.path("prog")).stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("$1 = 1\n"), "{text}");

    std::fs::write(lab.path("input"), "b inner\nr\np k\nc\np k\n\nq\n")?;
    let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
    verde.arg("debug").arg(lab.path("prog"));
    let output = verde
        .stdin(std::fs::File::open(lab.path("input"))?)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for wanted in ["(verde) ", "$1 = 1\n", "$2 = 2\n", "$3 = 2\n"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    Ok(())
}

#[test]
fn expressions_are_displayed_at_every_stop() -> Fallible {
    let lab = new_lab()?;
    let commands = [
        "break inner",
        "run",
        "display k",
        "display/x counter",
        "next",
        "undisplay 1",
        "next",
    ];
    let text = lab.text(&commands)?;
    let wanted = "1: k = 1\n2: /x counter = 0x0\n8\t    counter += local;\n\
                  1: k = 1\n2: /x counter = 0x0\n9\t    return local + p->next->id;\n\
                  2: /x counter = 0x2\n";
    assert!(text.ends_with(wanted), "{text}");
    Ok(())
}

#[test]
fn functions_of_libraries_can_be_named_before_they_are_loaded() -> Fallible {
    let lab = new_lab()?;
    let text = lab.text(&["tbreak printf", "run", "bt -1", "continue"])?;
    assert!(text.contains("Temporary breakpoint 1, "), "{text}");
    assert!(text.contains("in main (argc=1"), "{text}");
    assert!(text.contains("total 21 counter 12"), "{text}");
    Ok(())
}

#[test]
fn a_second_run_begins_anew() -> Fallible {
    let lab = new_lab()?;
    let commands = [
        "break inner",
        "run",
        "continue",
        "print k",
        "watch local",
        "run",
        "print k",
        "info watchpoints",
        "kill",
        "print counter",
    ];
    let text = lab.text(&commands)?;
    for wanted in [
        "$1 = 2\n",
        "$2 = 1\n",
        "No watchpoints.",
        " killed]",
        "$3 = 0\n",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    Ok(())
}

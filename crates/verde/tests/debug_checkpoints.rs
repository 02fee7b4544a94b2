//! Checkpoints at the prompt of `verde debug`.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

type Fallible = Result<(), Box<dyn std::error::Error>>;

const SOURCE: &str = r#"#include <stdio.h>
int counter;
static int inner(int k) {
    int local = k * 2;
    counter += local;
    return local;
}
int main(void) {
    int total = 0;
    for (int i = 1; i <= 5; i++)
        total += inner(i);
    printf("total %d counter %d\n", total, counter);
    return 0;
}
"#;

/// What `verde debug` prints for these commands; failed ones are shown too.
fn session(commands: &[&str]) -> Result<String, Box<dyn std::error::Error>> {
    session_of(SOURCE, commands)
}

fn session_of(source: &str, commands: &[&str]) -> Result<String, Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("prog.c"), source)?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O0", "-o", "prog", "prog.c"]);
    assert!(gcc.current_dir(dir.path()).status()?.success());
    run(&dir.path().join("prog"), commands)
}

fn run(program: &Path, commands: &[&str]) -> Result<String, Box<dyn std::error::Error>> {
    run_with(&[], program, commands)
}

fn run_with(
    options: &[&str],
    program: &Path,
    commands: &[&str],
) -> Result<String, Box<dyn std::error::Error>> {
    let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
    verde.args(["debug", "--batch"]).args(options);
    for command in commands {
        verde.args(["--ex", command]);
    }
    let output = verde.arg(program).stdin(Stdio::null()).output()?;
    let mut text = String::from_utf8(output.stdout)?;
    text.push_str(&String::from_utf8(output.stderr)?);
    Ok(text)
}

/// The values that `print` showed, in order.
fn printed(text: &str) -> Vec<&str> {
    let values = text.lines().filter(|l| l.starts_with('$'));
    values.filter_map(|l| l.split(" = ").nth(1)).collect()
}

#[test]
fn restart_goes_back_and_can_be_undone() -> Fallible {
    let text = session(&[
        "break inner",
        "run",
        "checkpoint",
        "continue",
        "continue",
        "print counter",
        "restart 1",
        "print counter",
        "print k",
        "restart undo",
        "print counter",
        "print k",
        "restart 1",
        "continue",
        "print k",
    ])?;
    assert_eq!(printed(&text), ["6", "0", "1", "6", "3", "2"], "{text}");
    let line = |start: &str, end: &str| {
        let mut lines = text.lines();
        lines.any(|l| l.starts_with(start) && l.contains(end) && l.ends_with(" ms"))
    };
    assert!(
        line("Checkpoint 1: process ", "prog.c:4 saved in "),
        "{text}"
    );
    assert!(
        line("Checkpoint 1: process ", "prog.c:4 restored in "),
        "{text}"
    );
    Ok(())
}

#[test]
fn a_program_that_ended_comes_back() -> Fallible {
    let text = session(&[
        "break inner",
        "run",
        "checkpoint",
        "delete 1",
        "continue",
        "restart 1",
        "print counter",
        "continue",
    ])?;
    assert_eq!(text.matches("exited normally").count(), 2, "{text}");
    assert_eq!(text.matches("total 30 counter 30").count(), 2, "{text}");
    assert_eq!(printed(&text), ["0"]);
    Ok(())
}

#[test]
fn breakpoints_and_watchpoints_of_now_are_set() -> Fallible {
    let text = session(&[
        "break inner",
        "run",
        "checkpoint",
        "delete 1",
        "break 12",
        "watch counter",
        "restart 1",
        "continue",
        "print counter",
        "delete 3",
        "continue",
        "print total",
    ])?;
    let hits = text
        .lines()
        .filter(|l| l.starts_with("Breakpoint ") && l.contains(", "));
    assert!(text.contains("Old value = 0\nNew value = 2"), "{text}");
    let hits: Vec<&str> = hits.filter(|l| !l.contains(" at 0x")).collect();
    assert!(
        hits.last().is_some_and(|l| l.contains("main () at")),
        "{text}"
    );
    assert_eq!(printed(&text), ["2", "30"], "{text}");
    Ok(())
}

#[test]
fn numbers_are_the_least_free_ones() -> Fallible {
    let text = session(&[
        "break inner",
        "run",
        "checkpoint",
        "checkpoint",
        "checkpoint",
        "delete checkpoint 2",
        "info checkpoints",
        "checkpoint",
        "delete checkpoint 1 2 3",
        "info checkpoints",
        "checkpoint",
    ])?;
    let saved: Vec<&str> = text
        .lines()
        .filter(|l| l.contains(" saved in "))
        .filter_map(|l| l.strip_prefix("Checkpoint ")?.split(':').next())
        .collect();
    assert_eq!(saved, ["1", "2", "3", "2", "1"], "{text}");
    assert!(text.contains("\nNo checkpoints.\n"), "{text}");
    assert!(text.contains("\n1  process ") && text.contains("\n3  process "));
    Ok(())
}

#[test]
fn numbers_are_expressions_and_ranges() -> Fallible {
    let text = session(&[
        "break inner",
        "run",
        "checkpoint",
        "checkpoint",
        "checkpoint",
        "set $k = 1",
        "restart $k",
        "restart $k + 1",
        "delete checkpoint $k 2-3",
        "info checkpoints",
    ])?;
    for number in ["1", "2"] {
        let said = format!("\nCheckpoint {number}: process ");
        let times = text.lines().filter(|l| format!("\n{l}").starts_with(&said));
        assert_eq!(times.count(), 2, "{text}");
    }
    assert!(
        text.contains("restart undo") && !text.contains("\n3  "),
        "{text}"
    );
    Ok(())
}

#[test]
fn failures_are_one_line() -> Fallible {
    for (commands, message) in [
        (&["checkpoint"][..], "The program is not being run."),
        (&["restart 3"], "No checkpoint number 3."),
        (&["restart x"], "No symbol \"x\" in current context."),
        (&["restart"], "Which checkpoint?"),
        (&["restart undo"], "Nothing to undo."),
        (&["delete checkpoint 1"], "No checkpoint number 1."),
    ] {
        let text = session(commands)?;
        assert!(text.contains(message), "{commands:?}: {text}");
    }
    Ok(())
}

#[test]
fn a_namespace_and_huge_pages_are_options() -> Fallible {
    let dir = tempfile::tempdir()?;
    let source = "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
        int main(void) {\n    int pid = getpid();\n    \
        printf(\"%s\\n\", getenv(\"GLIBC_TUNABLES\"));\n    \
        return pid != getpid() || pid > 100;\n}\n";
    std::fs::write(dir.path().join("prog.c"), source)?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O0", "-o", "prog", "prog.c"]);
    assert!(gcc.current_dir(dir.path()).status()?.success());
    let program = dir.path().join("prog");
    let commands = ["break 6", "run", "checkpoint", "restart 1", "continue"];
    let text = run_with(&["--namespace", "--huge-pages"], &program, &commands)?;
    assert!(text.contains("glibc.malloc.hugetlb=1\n"), "{text}");
    assert!(!text.contains("warning:"), "{text}");
    assert!(text.contains("exited normally"), "{text}");
    Ok(())
}

#[test]
fn a_restart_is_undone_after_the_end_too() -> Fallible {
    let text = session(&[
        "break inner",
        "run",
        "checkpoint",
        "continue",
        "restart 1",
        "delete checkpoint 1",
        "delete",
        "continue",
        "restart undo",
        "print k",
    ])?;
    assert!(text.contains("exited normally"), "{text}");
    assert_eq!(printed(&text), ["2"], "{text}");
    Ok(())
}

#[test]
fn a_restart_that_cannot_be_undone_says_so() -> Fallible {
    let source = "#include <sys/syscall.h>\n#include <unistd.h>\nchar settings[256];\n\
        void before(void) {}\nvoid after(void) {}\nint main(void) {\n    before();\n    \
        syscall(SYS_io_uring_setup, 8, settings);\n    after();\n    return 0;\n}\n";
    let text = session_of(
        source,
        &[
            "break before",
            "break after",
            "run",
            "checkpoint",
            "continue",
            "restart 1",
            "restart undo",
        ],
    )?;
    assert!(text.contains("restored in"), "{text}");
    let warning = "warning: \"restart undo\" will not work: ";
    let line = text.lines().find(|l| l.starts_with(warning));
    assert!(line.is_some_and(|l| l.contains("io_uring")), "{text}");
    assert!(text.contains("Nothing to undo."), "{text}");
    Ok(())
}

#[test]
fn input_is_read_again() -> Fallible {
    let dir = tempfile::tempdir()?;
    let source = "#include <unistd.h>\nchar got[3];\nint look(void) { return 0; }\n\
        int main(void) {\n    for (int i = 0; i < 3; i++) {\n        \
        if (read(0, got, 2) != 2) return 1;\n        look();\n    }\n    return 0;\n}\n";
    std::fs::write(dir.path().join("prog.c"), source)?;
    std::fs::write(dir.path().join("input"), "aabbcc")?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O0", "-o", "prog", "prog.c"]);
    assert!(gcc.current_dir(dir.path()).status()?.success());
    let with = |input: Stdio| -> Fallible {
        let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
        verde.args(["debug", "--batch"]);
        for command in [
            "break look",
            "run",
            "checkpoint",
            "continue",
            "continue",
            "restart 1",
            "continue",
            "print got",
            "continue",
            "continue",
        ] {
            verde.args(["--ex", command]);
        }
        let output = verde.arg(dir.path().join("prog")).stdin(input).output()?;
        let text = String::from_utf8(output.stdout)?;
        assert_eq!(printed(&text), ["\"bb\""], "{text}");
        assert!(text.contains("exited normally"), "{text}");
        assert!(!text.contains("warning"), "{text}");
        Ok(())
    };
    with(std::fs::File::open(dir.path().join("input"))?.into())?;
    // All that there will ever be is in the pipe.
    let (reader, mut writer) = std::io::pipe()?;
    writer.write_all(b"aabbcc")?;
    drop(writer);
    with(reader.into())
}

/// Whoever started us left a file open and goes on writing to it: a restart does not take it back.
#[test]
fn a_log_of_others_goes_on_where_it_was() -> Fallible {
    let dir = tempfile::tempdir()?;
    let source = "#include <unistd.h>\nint look(void) { return 0; }\n\
        int main(void) {\n    look();\n    if (write(7, \"one\\n\", 4) != 4) return 1;\n    \
        look();\n    return 0;\n}\n";
    std::fs::write(dir.path().join("prog.c"), source)?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O0", "-o", "prog", "prog.c"]);
    assert!(gcc.current_dir(dir.path()).status()?.success());
    let script = "exec 7>log; echo before >&7; \"$VERDE\" debug --batch --ex 'break look' --ex run \
        --ex checkpoint --ex continue --ex 'restart 1' --ex continue --ex kill ./prog; echo after >&7";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(dir.path());
    shell.env("VERDE", env!("CARGO_BIN_EXE_verde"));
    let output = shell.stdin(Stdio::null()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let log = std::fs::read_to_string(dir.path().join("log"))?;
    assert_eq!(log, "before\none\none\nafter\n", "{text}");
    assert!(!text.contains("warning"), "{text}");
    Ok(())
}

#[test]
fn output_that_the_program_locks_goes_on_where_it_was() -> Fallible {
    let dir = tempfile::tempdir()?;
    let source = "#include <sys/file.h>\n#include <unistd.h>\nint look(void) { return 0; }\n\
        int main(void) {\n    flock(1, LOCK_EX);\n    write(1, \"first\\n\", 6);\n    look();\n    \
        write(1, \"second\\n\", 7);\n    return 0;\n}\n";
    std::fs::write(dir.path().join("prog.c"), source)?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O0", "-o", "prog", "prog.c"]);
    assert!(gcc.current_dir(dir.path()).status()?.success());
    let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
    verde.args(["debug", "--batch"]);
    for command in [
        "break look",
        "run",
        "checkpoint",
        "continue",
        "restart 1",
        "continue",
    ] {
        verde.args(["--ex", command]);
    }
    let output = dir.path().join("output");
    verde.arg(dir.path().join("prog")).stdin(Stdio::null());
    assert!(
        verde
            .stdout(std::fs::File::create(&output)?)
            .status()?
            .success()
    );
    let text = std::fs::read_to_string(output)?;
    let said: Vec<&str> = text
        .lines()
        .filter(|l| matches!(*l, "first" | "second") || l.contains("exited normally"))
        .map(|l| if l.contains("exited") { "end" } else { l })
        .collect();
    assert_eq!(said, ["first", "second", "end", "second", "end"], "{text}");
    Ok(())
}

#[test]
fn children_that_go_on_without_the_program_are_named() -> Fallible {
    let source = "#include <signal.h>\n#include <unistd.h>\nint child;\nvoid before(void) {}\n\
        void after(void) {}\nint main(void) {\n    before();\n    if (!(child = fork())) {\n        \
        alarm(20);\n        pause();\n    }\n    after();\n    kill(child, SIGKILL);\n    \
        return 0;\n}\n";
    let text = session_of(
        source,
        &[
            "break before",
            "break after",
            "run",
            "checkpoint",
            "continue",
            "print child",
            "restart 1",
            "restart undo",
            "continue",
        ],
    )?;
    let [child] = printed(&text)[..] else {
        panic!("{text}");
    };
    let warning = "warning: child processes of the present go on without their parent: ";
    let warned: Vec<&str> = text
        .lines()
        .filter_map(|l| l.strip_prefix(warning))
        .collect();
    assert_eq!(warned, [child], "{text}");
    Ok(())
}

/// Runs a command and tells how many of its children it has left to others.
const REAPER: &str = r#"#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = fork();
    if (pid == 0) {
        execv(argv[1], argv + 1);
        _exit(127);
    }
    int status, left = 0;
    waitpid(pid, &status, 0);
    while (wait(NULL) > 0)
        left++;
    printf("status %d, left %d\n", status, left);
    return 0;
}
"#;

#[test]
fn no_process_outlives_the_session() -> Fallible {
    let dir = tempfile::tempdir()?;
    for (name, source) in [("prog", SOURCE), ("reaper", REAPER)] {
        let file = dir.path().join(format!("{name}.c"));
        std::fs::write(&file, source)?;
        let mut gcc = Command::new("gcc");
        gcc.args(["-g", "-O0", "-o", name]).arg(file);
        assert!(gcc.current_dir(dir.path()).status()?.success());
    }
    for options in [&[][..], &["--namespace"]] {
        let mut reaper = Command::new(dir.path().join("reaper"));
        reaper.arg(env!("CARGO_BIN_EXE_verde"));
        reaper.args(["debug", "--batch"]).args(options);
        for command in ["break inner", "run", "checkpoint", "c", "checkpoint"] {
            reaper.args(["--ex", command]);
        }
        reaper
            .args(["--ex", "restart 1"])
            .arg(dir.path().join("prog"));
        let output = reaper.stdin(Stdio::null()).output()?;
        let text = String::from_utf8(output.stdout)?;
        assert!(text.contains("Checkpoint 2: "), "{text}");
        assert!(text.ends_with("status 0, left 0\n"), "{text}");
    }
    Ok(())
}

const SORTS: &str = r#"#include <stdio.h>
#include <unistd.h>
static void started(void) {}
static void asked(void) {}
static void closing(void) {}
int main(void) {
    int to[2], from[2];
    alarm(60);
    if (pipe(to) || pipe(from))
        return 1;
    if (fork() == 0) {
        dup2(to[0], 0), dup2(from[1], 1);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execlp("sort", "sort", NULL);
        _exit(1);
    }
    started();
    close(to[0]), close(from[1]);
    dprintf(to[1], "b\na\n");
    asked();
    dprintf(to[1], "c\n");
    closing();
    close(to[1]);
    char text[100];
    for (int n; (n = read(from[0], text, sizeof text)) > 0;)
        printf("sorted %.*s\n", n, text);
    return 0;
}
"#;

/// The child is still connected whenever the program closes its copies of the child's ends.
#[test]
fn pipes_to_children_of_before_a_restart_stay() -> Fallible {
    let text = session_of(
        SORTS,
        &[
            "break started",
            "break asked",
            "run",
            "checkpoint",
            "continue",
            "restart 1",
            "restart 1",
            "checkpoint",
            "restart 2",
            "restart undo",
            "delete checkpoint 1",
            "delete checkpoint 2",
            "delete checkpoint un",
            "delete",
            "continue",
        ],
    )?;
    assert_eq!(
        text.matches("(descriptors 3, 4, 5, 6)").count(),
        2,
        "{text}"
    );
    // What was written before the first restart has come, too.
    assert!(text.contains("sorted a\na\nb\nb\nc\n"), "{text}");
    assert!(text.contains(" exited normally]"), "{text}");
    Ok(())
}

/// The child of before the restart waits for the end of its input.
#[test]
fn nothing_keeps_pipes_open_when_all_checkpoints_are_gone() -> Fallible {
    let text = session_of(
        SORTS,
        &[
            "break asked",
            "break closing",
            "run",
            "checkpoint",
            "continue",
            "restart 1",
            "delete checkpoint 1",
            "info checkpoints",
            "delete checkpoint undo",
            "delete checkpoint undo",
            "continue",
            "continue",
        ],
    )?;
    assert!(text.contains("restart undo"), "{text}");
    assert!(text.contains("\nNothing to undo.\n"), "{text}");
    // What was written before the checkpoint, and after it twice.
    assert!(text.contains("sorted a\nb\nc\nc\n"), "{text}");
    Ok(())
}

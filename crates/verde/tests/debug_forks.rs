//! What becomes of a child is decided when the program goes on from the stop of its fork.

mod lab;

use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r#"#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
int shared, cells[3000];
int in_child(int x) {
    shared = x;
    cells[2000] = x;
    return x + 1;
}
int in_parent(int x) { return x + 2; }
static void say(const char *text) {
    if (write(1, text, strlen(text)) < 0) _exit(9);
}
int main(int argc, char **argv) {
    pid_t child = argc > 1 ? vfork() : fork();
    if (child == 0) {
        if (argc > 1) {
            execl(argv[1], argv[1], (char *)0);
            _exit(9);
        }
        int r = in_child(3);
        say("the child\n");
        _exit(r);
    }
    int status;
    in_parent(1);
    waitpid(child, &status, 0);
    say(WEXITSTATUS(status) == 4 ? "it left 4\n" : "it left something else\n");
    return 0;
}
"#;

fn lab() -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::c(SOURCE, &["-O0"])
}

/// Frames and values, which say which process was stopped and where. What a process says that is
/// not held comes at any moment, in the middle of a line as well.
fn places(text: &str) -> Vec<String> {
    let text = text.replace("the child\n", "").replace("it left 4\n", "");
    let said = |line: &&str| line.starts_with('#') || line.starts_with('$');
    text.lines().filter(said).map(str::to_owned).collect()
}

/// The process that a catchpoint has told of.
fn told_child(text: &str) -> Option<u32> {
    let rest = text.split("forked process ").nth(1)?;
    rest.split(')').next()?.parse().ok()
}

/// Whether a process is there and has not ended.
fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|s| s.trim().chars().next());
    state.is_some_and(|s| s != 'Z' && s != 'X')
}

#[test]
fn the_side_is_chosen_at_the_stop() -> Fallible {
    let lab = lab()?;
    for side in ["child", "parent"] {
        let follow = format!("set follow-fork-mode {side}");
        // Breakpoints that are there at the fork, that come at the stop and that go there.
        let commands = [
            "break say",
            "catch fork",
            "run",
            &follow,
            "break in_child",
            "break in_parent",
            "delete 1",
            "continue",
            "bt 1",
            "continue",
        ];
        let text = lab.text(&commands)?;
        let who = match side {
            "child" => "[Attaching after process ",
            _ => "in_parent (x=1)",
        };
        in_order(&text, &["(forked process ", who]);
        for done in ["the child\n", "it left 4\n"] {
            assert!(text.contains(done), "{side}: {text}");
        }
        let code = if side == "child" {
            "code 04]"
        } else {
            "normally]"
        };
        assert!(text.contains(code), "{side}: {text}");
        if let Some(gdb) = lab.gdb(&commands)? {
            assert_eq!(places(&text), places(&gdb), "{side}");
        }
    }
    Ok(())
}

/// What is watched from the stop on is watched in the child, by registers and by pages.
#[test]
fn data_are_watched_in_the_child() -> Fallible {
    let commands = [
        "catch fork",
        "run",
        "set follow-fork-mode child",
        "watch shared",
        "watch cells",
        "continue",
        "print shared",
        "print cells[2000]",
        "continue",
        "print cells[2000]",
        "bt 1",
    ];
    let text = lab()?.text(&commands)?;
    in_order(
        &text,
        &[
            "[Attaching after process ",
            "New value = 3\n",
            "$1 = 3\n$2 = 0\n",
            "watchpoint 3: cells",
            "$3 = 3\n#0  in_child (x=3) at ",
        ],
    );
    Ok(())
}

/// The child is none of what is called for the user, and steps go on in it.
#[test]
fn calls_do_not_decide_and_steps_do() -> Fallible {
    let lab = lab()?;
    let commands = [
        "catch fork",
        "run",
        "print in_parent(5)",
        "set follow-fork-mode child",
        "finish",
        "up",
        "finish",
        "next",
        "next",
        "bt 1",
    ];
    let text = lab.text(&commands)?;
    in_order(
        &text,
        &["$1 = 7\n", "Attaching after process", "#0  main ("],
    );
    // Where the fork is not caught a step goes on in the child, too.
    let commands = [
        "set follow-fork-mode child",
        "break main",
        "run",
        "next",
        "next",
        "next",
        "print child",
        "bt 1",
    ];
    let text = lab.text(&commands)?;
    in_order(&text, &["Attaching after process", "$1 = 0\n#0  main ("]);
    if let Some(gdb) = lab.gdb(&commands)? {
        let line = |text: &str| {
            places(text)
                .last()
                .map(|l| l.rsplit(':').next().map(str::to_owned))
        };
        assert_eq!(line(&text), line(&gdb));
    }
    Ok(())
}

/// The child that was held goes with the program, as with gdb.
#[test]
fn killed_with_its_maker() -> Fallible {
    let lab = lab()?;
    for kind in ["fork", "vfork"] {
        let run = if kind == "fork" {
            "run"
        } else {
            "run /bin/true"
        };
        let catch = format!("catch {kind}");
        for end in ["kill", "info line", "checkpoint"] {
            let output = lab.verde(&["tcatch exec", &catch, run, end], &[])?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let child = told_child(&text).ok_or(text.clone())?;
            assert!(!lives(child), "{kind}, {end}: {text}");
            assert!(!text.contains("the child"), "{kind}, {end}: {text}");
        }
    }
    // Another run, and a way back to before the fork.
    for again in ["run", "restart 1"] {
        let commands = ["break main", "run", "checkpoint", "catch fork", "c", again];
        let text = lab.text(&[&commands[..], &["delete", "c"]].concat())?;
        assert_eq!(text.matches("the child\n").count(), 1, "{again}: {text}");
        assert!(text.contains("it left 4\n"), "{again}: {text}");
        assert!(!told_child(&text).is_some_and(lives), "{again}: {text}");
    }
    Ok(())
}

#[test]
fn let_go_with_its_maker() -> Fallible {
    let lab = lab()?;
    for side in ["child", "parent"] {
        let follow = format!("set follow-fork-mode {side}");
        let text = lab.text(&["break in_child", "catch fork", "run", &follow, "detach"])?;
        for done in ["the child\n", "it left 4\n"] {
            assert!(text.contains(done), "{side}: {text}");
        }
        let text = lab.text(&["catch vfork", "run /bin/true", &follow, "detach"])?;
        assert!(text.contains("it left something else\n"), "{side}: {text}");
    }
    Ok(())
}

/// A child that borrows the memory is followed into its program.
#[test]
fn the_child_of_a_vfork_is_followed() -> Fallible {
    let lab = lab()?;
    let commands = [
        "catch vfork",
        "catch exec",
        "run /bin/true",
        "set follow-fork-mode child",
        "continue",
        "info threads",
        "continue",
    ];
    let text = lab.text(&commands)?;
    in_order(
        &text,
        &[
            "(vforked process ",
            " vfork to child process ",
            "[Detaching vfork parent process ",
            " is executing new program: /",
            "\nCatchpoint 2 (exec'd /",
            "* 1 ",
            "exited normally]",
        ],
    );
    // It cannot run for the user before.
    let commands = ["catch vfork", "run /bin/true", "print in_parent(1)"];
    let output = lab.verde(&commands, &[])?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("shares the program's memory"), "{errors}");
    let commands = [
        "catch vfork",
        "run /bin/true",
        "break in_parent",
        "c",
        "bt 1",
    ];
    in_order(&lab.text(&commands)?, &["#0  in_parent (x=1)"]);
    Ok(())
}

const AT_ONCE: &str = r#"#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
static pthread_barrier_t all;
static int well;
static void *make(void *unused) {
    int status;
    pthread_barrier_wait(&all);
    // The C library's own has locks: one after the other.
    pid_t child = syscall(SYS_fork);
    if (child == 0) _exit(4);
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 4)
        __atomic_add_fetch(&well, 1, __ATOMIC_SEQ_CST);
    return unused;
}
int main(void) {
    pthread_t threads[8];
    pthread_barrier_init(&all, 0, 8);
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], 0, make, 0);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
    printf("%d ended well\n", well);
    return 0;
}
"#;

/// Children that nobody has been told of when the program is let go are let go with it.
#[test]
fn children_made_at_once() -> Fallible {
    let lab = Lab::c(AT_ONCE, &["-O0", "-pthread"])?;
    let mut ways: Vec<Vec<&str>> = vec![vec!["catch fork", "run", "detach"]; 10];
    let all = vec!["catch fork", "run", "c", "c", "c", "delete", "c"];
    ways.push(all);
    for commands in ways {
        let text = lab.text(&commands)?;
        assert!(text.contains("8 ended well\n"), "{commands:?}: {text}");
    }
    Ok(())
}

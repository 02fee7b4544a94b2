//! Software watchpoints around system calls and the ends of threads.

mod lab;

use lab::{Fallible, Lab, in_order};

const CALLS: &str = r#"#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static int ends[2];
static volatile int seen;
static void on_child(int signal) { seen += signal != 0; }
int main(void) {
    register long keep = 1;
    char byte;
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
    if (HANDLED) sigaction(SIGCHLD, &action, 0);
    pipe(ends);
    pid_t child = fork();
    if (child == 0) { usleep(500000); _exit(0); }
    pid_t writer = fork();
    if (writer == 0) { usleep(1500000); write(ends[1], "x", 1); _exit(0); }
    long got = read(ends[0], &byte, 1);
    keep = keep + got * ((seen > 0) == HANDLED);
    return keep != 2;
}
"#;

#[test]
fn calls_are_told_whole_while_instructions_are_followed() -> Fallible {
    let lab = Lab::c(CALLS, &["-O0", "-DHANDLED=1"])?;
    let text = lab.text(&[
        "break 13",
        "run",
        "watch keep",
        "catch syscall clone",
        "continue",
        "continue",
        "delete 3",
        "continue",
    ])?;
    in_order(
        &text,
        &[
            "(call to syscall clone)",
            "(returned from syscall clone)",
            "Old value = 1\nNew value = 2\n",
        ],
    );
    Ok(())
}

#[test]
fn a_call_that_is_made_again_has_no_value_between() -> Fallible {
    let lab = Lab::c(CALLS, &["-O0", "-DHANDLED=1"])?;
    // What the kernel keeps for itself is between -516 and -512.
    let text = lab.text(&[
        "break 17",
        "run",
        "watch $rax if (long)$rax <= -512 && (long)$rax >= -516",
        "continue",
    ])?;
    assert!(!text.contains("New value"), "{text}");
    assert!(text.contains("exited normally"), "{text}");
    Ok(())
}

/// A signal without a handler leads back to the call at once: its end is an end of a call.
#[test]
fn a_call_that_goes_on_ends_once() -> Fallible {
    let lab = Lab::c(CALLS, &["-O0", "-DHANDLED=0"])?;
    let text = lab.text(&[
        "break 17",
        "run",
        "watch keep",
        "catch syscall read",
        "continue",
        "continue",
        "continue",
    ])?;
    in_order(
        &text,
        &[
            "(call to syscall read)",
            "(returned from syscall read)",
            "Old value = 1\nNew value = 2\n",
        ],
    );
    assert_eq!(text.matches("to syscall read").count(), 1, "{text}");
    assert_eq!(text.matches("from syscall read").count(), 1, "{text}");
    Ok(())
}

const THREAD: &str = r#"#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static void work(void) {
    register long keep = 1;
    volatile long there = keep;
    (void)there;
    syscall(SYS_exit, 0);
}
static void *thread(void *unused) {
    work();
    return unused;
}
int main(void) {
    pthread_t one;
    pthread_create(&one, 0, thread, 0);
    pthread_join(one, 0);
    return 0;
}
"#;

#[test]
fn a_register_is_watched_until_its_thread_ends() -> Fallible {
    let lab = Lab::c(THREAD, &["-O0", "-pthread"])?;
    let text = lab.text(&[
        "break 7",
        "run",
        "watch $fs_base",
        "continue",
        "info watchpoints",
        "continue",
    ])?;
    in_order(
        &text,
        &[
            "Watchpoint 2 deleted because its thread has ended.",
            "No watchpoints.",
            "exited normally",
        ],
    );
    Ok(())
}

const EXITS: &str = r#"#include <pthread.h>
#include <stdlib.h>
static volatile int go;
static int spin(void) {
    register long keep = 1;
    go = 1;
    while (keep) {}
    return 0;
}
static void *thread(void *unused) {
    spin();
    return unused;
}
int main(void) {
    pthread_t one;
    pthread_create(&one, 0, thread, 0);
    while (!go) {}
    exit(3);
}
"#;

/// A thread that the program's end takes with it has not left the block of its variables.
#[test]
fn the_end_of_the_program_is_the_news() -> Fallible {
    let lab = Lab::c(EXITS, &["-O0", "-pthread"])?;
    for watch in ["watch keep", "watch $rbx"] {
        let text = lab.text(&["break 6", "run", watch, "continue"])?;
        in_order(&text, &["Watchpoint 2: ", "exited with code 03]"]);
        assert!(!text.contains("deleted"), "{watch}: {text}");
    }
    Ok(())
}

/// The watch and what would have told its end are gone with the thread.
#[test]
fn a_restore_to_before_the_thread_of_a_watch() -> Fallible {
    let lab = Lab::c(THREAD, &["-O0", "-pthread"])?;
    for watch in ["watch keep", "watch there"] {
        let text = lab.text(&[
            "break main",
            "run",
            "checkpoint",
            "break 7",
            "continue",
            watch,
            "restart 1",
            "delete",
            "continue",
        ])?;
        in_order(&text, &["restored in", "exited normally"]);
    }
    Ok(())
}

//! Software watchpoints around system calls and the ends of threads.

mod lab;

use lab::{Fallible, Lab, in_order};

const CALLS: &str = r#"#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static int ends[2];
static void on_child(int signal) { (void)signal; }
int main(void) {
    register long keep = 1;
    char byte;
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
    sigaction(SIGCHLD, &action, 0);
    pipe(ends);
    pid_t child = fork();
    if (child == 0) _exit(0);
    pid_t writer = fork();
    if (writer == 0) { usleep(300000); write(ends[1], "x", 1); _exit(0); }
    long got = read(ends[0], &byte, 1);
    keep = keep + got;
    return keep != 2;
}
"#;

#[test]
fn calls_are_told_whole_while_instructions_are_followed() -> Fallible {
    let lab = Lab::c(CALLS, &["-O0"])?;
    let text = lab.text(&[
        "break 12",
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
    let lab = Lab::c(CALLS, &["-O0"])?;
    // What the kernel keeps for itself is between -516 and -512.
    let text = lab.text(&[
        "break 16",
        "run",
        "watch $rax if (long)$rax <= -512 && (long)$rax >= -516",
        "continue",
    ])?;
    assert!(!text.contains("New value"), "{text}");
    assert!(text.contains("exited normally"), "{text}");
    Ok(())
}

const THREAD: &str = r#"#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static void work(void) {
    register long keep = 1;
    (void)keep;
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
        "break 6",
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

//! Commands for several threads or frames, and which threads go on.

mod lab;

use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r#"#include <pthread.h>
#include <unistd.h>
volatile long ticks;
static volatile int done;
static void *worker(void *p) {
    for (;;)
        ticks++;
    return p;
}
static void spend(void) {
    for (volatile int i = 0; i < 10000000; i++)
        ;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    while (ticks < 1000)
        ;
    done = 1;
    spend();
    done = 2;
    spend();
    done = 3;
    long now = ticks;
    while (ticks == now)
        ;
    return 0;
}
"#;

fn lab() -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::c(SOURCE, &["-O0", "-pthread"])
}

#[test]
fn a_locked_scheduler_lets_one_thread_go_on() -> Fallible {
    let text = lab()?.text(&[
        "break 19",
        "run",
        "show scheduler-locking",
        "set scheduler-locking step",
        "print $before = ticks",
        "next",
        "next",
        "print ticks == $before",
        "set scheduler-locking on",
        "tbreak 23",
        "continue",
        "print ticks == $before",
        "set scheduler-locking off",
        "break spend",
        "jump 22",
        "finish",
        // It comes there only if the other thread runs.
        "delete",
        "tbreak 27",
        "continue",
        "print ticks == $before",
    ])?;
    in_order(
        &text,
        &[
            "Mode for locking scheduler during execution is \"off\".\n",
            "20\t    spend();\n21\t    done = 2;\n$2 = 1\n",
            "Temporary breakpoint 2, main () at prog.c:23\n23\t    done = 3;\n$3 = 1\n",
            "Run till exit",
            "main () at prog.c:27\n",
            "\n$4 = 0\n",
        ],
    );
    Ok(())
}

#[test]
fn threads_and_frames_are_named_found_and_asked() -> Fallible {
    let text = lab()?.text(&[
        "break 19",
        "run",
        "info threads 1",
        "info threads 7",
        "thread name first one",
        "thread find ^first",
        "thread find nobody",
        "thread apply all -q print 5",
        "taas print p == 0",
        "thread apply all -s print no_such_name",
        "break spend",
        "continue",
        "frame apply all -q print done",
        "faas print t != 0",
        "frame apply 1 print 9",
    ])?;
    in_order(
        &text,
        &[
            "  Id   Target Id",
            "\n* 1    Thread 0x",
            "No threads match '7'.\n",
            "Thread 1 has name 'first one'\n",
            "No threads match 'nobody'\n",
            "$1 = 5\n$2 = 5\n\nThread 2 (Thread 0x",
            "$3 = 1\n",
            "Thread 1 \"first one\" hit Breakpoint 2, spend () at prog.c:11\n",
            "\n$4 = 1\n$5 = 1\n#1  0x",
            " in main () at prog.c:20\n$6 = 1\n#0  spend () at prog.c:11\n$7 = 9\n",
        ],
    );
    assert!(!text.contains("no_such_name"), "{text}");
    Ok(())
}

#[test]
fn the_process_from_its_first_instruction() -> Fallible {
    let lab = lab()?;
    let text = lab.text(&[
        "info inferiors",
        "starti",
        "info inferiors",
        "info auxv",
        "info",
        "break 19",
        "continue",
    ])?;
    in_order(
        &text,
        &[
            "* 1    <null>",
            "\nProgram stopped.\n0x",
            " in _start () from /",
            "* 1    process ",
            "AT_PAGESZ            System page size               4096\n",
            "AT_EXECFN            File name of executable        0x",
            "/prog\"\n",
            "info args -- arguments of the selected frame\n",
            "Breakpoint 1, main () at prog.c:19\n",
        ],
    );
    lab.same_as_gdb(&[
        "set listsize 4",
        "list 12",
        "list",
        "set disassembly-flavor intel",
        "disassemble spend",
        "info line 10",
        "info line 14",
    ])
}

#[test]
fn nothing_was_examined_yet() -> Fallible {
    let output = lab()?.verde(&["x"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("Argument required (starting display address)."));
    Ok(())
}

/// The one thread that may run ends: the prompt comes back, and the others can be let go.
#[test]
fn the_locked_thread_ends() -> Fallible {
    let source = "#include <pthread.h>\nint n;\nstatic void *work(void *p) { n++; return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0);\n\
        \x20 return n - 1; }\n";
    let lab = Lab::c(source, &["-O0", "-pthread"])?;
    let text = lab.text(&[
        "break work",
        "run",
        "set scheduler-locking on",
        "continue",
        "print n",
        "set scheduler-locking off",
        "continue",
    ])?;
    let wanted = [
        "The thread has ended, and the others are not to run",
        "$1 = 1",
        "exited normally",
    ];
    in_order(&text, &wanted);
    Ok(())
}

const SHORT: &str = r"#include <pthread.h>
static void *quick(void *p) { return p; }
static int stop_here(int n) { return n + 1; }
static void *slow(void *p) {
    stop_here(5);
    return p;
}
static void make(void *(*what)(void *)) {
    pthread_t t;
    pthread_create(&t, 0, what, 0);
    pthread_join(t, 0);
}
int main(void) {
    for (int i = 0; i < 3; i++) make(quick);
    make(slow);
    make(quick);
    make(slow);
    return 0;
}
";

/// Threads have the numbers in the order of their creation, also those that nobody has seen; they
/// come back with a checkpoint.
#[test]
fn threads_are_numbered_as_they_are_created() -> Fallible {
    let lab = Lab::c(SHORT, &["-O0", "-pthread"])?;
    let commands = [
        "break stop_here if $_thread > 1",
        "run",
        "print $_thread",
        "thread apply all print $_thread",
        "continue",
        "print $_thread",
        "thread 2",
    ];
    let said = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|l| l.starts_with('$'));
        lines.map(str::to_owned).collect()
    };
    let output = lab.verde(&commands, &[])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said(&text), ["$1 = 5", "$2 = 5", "$3 = 1", "$4 = 7"]);
    assert!(
        text.contains("\nThread 7 \"prog\" hit Breakpoint 1, "),
        "{text}"
    );
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("Unknown thread 2."), "{errors}");
    if let Some(gdb) = lab.gdb(&commands)? {
        assert_eq!(said(&gdb), said(&text));
    }
    let back = [
        "break stop_here",
        "run",
        "checkpoint",
        "continue",
        "print $_thread",
        "restart 1",
        "print $_thread",
        "continue",
        "print $_thread",
    ];
    assert_eq!(said(&lab.text(&back)?), ["$1 = 7", "$2 = 5", "$3 = 7"]);
    Ok(())
}

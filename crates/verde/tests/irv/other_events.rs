//! System calls, signals, lines, threads, the end of the process.

use crate::bench::Bench;

#[test]
fn system_calls_lines_and_the_exit() {
    let bench = Bench::c(
        "#include <unistd.h>\nint main(void) {\n  write(1, \"hi\\n\", 3);\n  int x = 5;\n  x++;\n  return x;\n}",
        &["-O0"],
    );
    let seen = bench.seen(&[
        "event syscall write(arg 0, arg 2)",
        "after event syscall write(ret)",
        "event line prog.c:5(x)",
        "event process exit(ret)",
    ]);
    assert_eq!(
        seen,
        [
            r#"syscall before write {"arg 0":1,"arg 2":3}"#,
            r#"syscall after write {"ret":3}"#,
            r#"line before prog.c:5 {"x":5}"#,
            r#"process before exit {"ret":6}"#,
        ]
    );
}

#[test]
fn signals_reach_the_program_and_the_monitors() {
    let bench = Bench::c(
        "#include <signal.h>\n#include <stdio.h>\nstatic volatile int got;\nstatic void on(int s) { got += s; }\n\
         int main(void) { signal(SIGUSR1, on); for (int i = 0; i < 3; i++) raise(SIGUSR1); printf(\"%d\\n\", got); return 0; }",
        &[],
    );
    let seen = bench.seen(&["event signal SIGUSR1(ret)", "event on(s)"]);
    let one = [
        r#"signal before SIGUSR1 {"ret":10}"#,
        r#"call before on {"s":10}"#,
    ];
    assert_eq!(seen, one.repeat(3));
}

/// Real-time signals are counted from their first or their last.
#[test]
fn real_time_signals() {
    let bench = Bench::c(
        "#include <signal.h>\nstatic void on(int s) { }\n\
         int main(void) { for (int s = SIGRTMIN; s <= SIGRTMAX; s++) signal(s, on);\n\
         raise(SIGRTMIN); raise(SIGRTMIN + 1); raise(SIGRTMAX - 2); raise(SIGRTMAX); return 0; }",
        &[],
    );
    let names = ["SIGRTMIN", "SIGRTMIN+1", "SIGRTMAX-2", "SIGRTMAX"];
    let events = names.map(|name| format!("event signal {name}"));
    let expected = names.map(|name| format!("signal before {name} {{}}"));
    assert_eq!(bench.seen(&events.each_ref().map(String::as_str)), expected);
}

#[test]
fn threads_begin_and_end() {
    let bench = Bench::c(
        "#include <pthread.h>\nstatic void *run(void *p) { return p; }\n\
         int main(void) { for (int i = 0; i < 3; i++) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); } return 0; }",
        &["-pthread"],
    );
    let events = bench.events(&["event thread start($tid)", "event thread exit($tid)"]);
    let tids = |name: &str| -> Vec<i64> {
        let fitting = events.iter().filter(|e| e["event"] == name);
        fitting.filter_map(|e| e["args"]["$tid"].as_i64()).collect()
    };
    let (started, ended) = (tids("start"), tids("exit"));
    assert_eq!(started.len(), 3);
    // The first thread ends, too.
    assert!(started.iter().all(|t| ended.contains(t)), "{events:?}");
}

/// Traps of system calls have no address, so they would outlive the program.
#[test]
fn system_calls_before_and_after_exec() {
    let bench = Bench::c(
        "#include <fcntl.h>\n#include <unistd.h>\n\
         int main(int c, char **v) { int fd = open(\"/dev/null\", O_RDONLY); close(fd); close(fd + c - 1);\n\
         if (c > 1) execl(v[0], v[0], (char *)0); return 5; }",
        &[],
    );
    let property = "slice on fd
state init { transition { event syscall close(arg 0 as fd) success closed } }
state closed { transition { after event syscall openat(ret as fd) success open }
               transition { event syscall close(arg 0 as fd) success twice } }
state open { transition { event syscall close(arg 0 as fd) success closed } }
state twice non-accepting";
    let ran = bench.check_property(property, &["x"]);
    assert_eq!(ran.code, 100, "{}", ran.err);
    let [violation] = ran.of_type("violation")[..] else {
        panic!("{:?}", ran.rows);
    };
    assert_eq!(violation["slice"]["fd"], 3);
    assert_eq!(ran.last()["program"]["exit"], 5);
}

/// Variables of the program, and what is no variable.
#[test]
fn variables_at_events_without_a_place() {
    let bench = Bench::c(
        "#include <pthread.h>\n#include <signal.h>\n#include <fcntl.h>\n#include <unistd.h>\n\
         static int got = 1;\nstatic void on(int s) { got++; }\n\
         static void *run(void *p) { got++; return p; }\n\
         static void spin(int limit) { volatile int mine = limit; *(char *)&mine; asm volatile(\"\" ::: \"memory\");\n\
         \x20 raise(SIGUSR1); }\n\
         int main(void) { signal(SIGUSR1, on); spin(5); pthread_t t; pthread_create(&t, 0, run, 0);\n\
         \x20 pthread_join(t, 0); close(open(\"/etc/hostname\", O_RDONLY)); return 0; }",
        &["-O0", "-w", "-pthread"],
    );
    let seen = bench.seen(&[
        "event signal SIGUSR1(got)",
        "event thread start(got)",
        "event syscall close(got)",
    ]);
    let signals = seen.iter().filter(|s| s.starts_with("signal"));
    assert_eq!(
        signals.collect::<Vec<_>>(),
        [r#"signal before SIGUSR1 {"got":1}"#]
    );
    assert!(
        seen.contains(&r#"thread before start {"got":2}"#.to_owned()),
        "{seen:?}"
    );
    assert_eq!(seen[seen.len() - 1], r#"syscall before close {"got":3}"#);

    let texts = bench.seen(&["event syscall openat(arg 1 as path : str)"]);
    let last = texts.last().map(String::as_str);
    assert_eq!(
        last,
        Some(r#"syscall before openat {"arg 1":"/etc/hostname"}"#)
    );

    for (event, said) in [
        ("signal SIGUSR1(nosuch)", "No symbol \"nosuch\""),
        ("syscall write(nosuch)", "No symbol \"nosuch\""),
        (
            "syscall write(ret)",
            "`ret` exists only in an `after` event",
        ),
        ("syscall write(arg 6)", "a system call has 6 arguments"),
        ("thread start(arg 0)", "`ret` is what the event brings"),
        ("process exit(nosuch)", "No symbol \"nosuch\""),
    ] {
        let property = format!(
            "state init {{ transition {{ event {event} success bad }} }} state bad non-accepting"
        );
        let ran = bench.check_property(&property, &[]);
        assert_eq!(ran.code, 1, "{event}: {}", ran.err);
        assert!(ran.err.contains(said), "{event}: {}", ran.err);
    }
}

/// A signal comes while some function runs, whose variables are those that are meant.
#[test]
fn locals_of_what_a_signal_interrupts() {
    let bench = Bench::c(
        "int main(void) { int mine = 41; mine++; __builtin_trap(); return mine; }",
        &["-O0"],
    );
    let ran = bench.events_and_remarks(&["event signal SIGILL(mine)"]);
    let args: Vec<_> = ran.0.iter().map(|e| e["args"].to_string()).collect();
    assert_eq!(args, [r#"{"mine":42}"#], "{}", ran.1);
}

#[test]
fn the_first_function_of_the_program() {
    let bench = Bench::c("int main(void) { return 0; }", &[]);
    let seen = bench.seen(&["event _start()", "event main()"]);
    assert_eq!(seen, ["call before _start {}", "call before main {}"]);
}

/// When the process has ended its memory is gone: what it held is read before.
#[test]
fn variables_at_the_end_of_the_process() {
    let bench = Bench::c(
        "#include <stdlib.h>\n#include <pthread.h>\n#include <unistd.h>\n\
         static int got = 1; static const char *word = \"no\"; static void last(void) { got = 7; word = \"end\"; }\n\
         static void *wait(void *p) { for (;;) pause(); }\n\
         int main(void) { atexit(last); pthread_t t; for (int i = 0; i < 8; i++) pthread_create(&t, 0, wait, 0); return 3; }",
        &["-O0", "-w", "-pthread"],
    );
    let seen = bench.seen(&["event process exit(ret, got, word : str)"]);
    assert_eq!(
        seen,
        [r#"process before exit {"got":7,"ret":3,"word":"end"}"#]
    );
}

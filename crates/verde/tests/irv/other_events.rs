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

//! Programs and properties that do not end well: a clear report and the right exit code.

use crate::bench::{Bench, in_order};

const F: &str = "#include <stdlib.h>\n__attribute__((noinline)) void f(int x) { asm volatile(\"\" :: \"r\"(x)); }\n";

fn program(main: &str) -> Bench {
    Bench::c(
        &format!(
            "{F}#include <unistd.h>\n#include <stdio.h>\n#include <sys/wait.h>\n#include <fcntl.h>\nint main(void) {{ {main} }}"
        ),
        &["-O1"],
    )
}

const LOOP: &str = "initialization { n = 0 }
state init accepting { transition { event f(x) success { n = n + 1 } init } }
state bad non-accepting";

#[test]
fn a_program_that_dies_of_a_signal() {
    let bench = program("f(1); abort();");
    let ran = bench.check_property(LOOP, &[]);
    assert_eq!(ran.code, 128 + 6);
    assert_eq!(ran.last()["program"]["signal"], "SIGABRT");
    assert_eq!(ran.last()["properties"][0]["verdict"], "true");
}

/// More data than the CPU can watch, on the page of a lock that threads contend for.
#[test]
fn a_program_that_is_killed_on_guarded_pages() {
    let bench = Bench::c(
        "#include <pthread.h>\n#include <signal.h>\n#include <unistd.h>\n#include <stdlib.h>\n\
         volatile int a, b, c, d, e; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int rounds;\n\
         static void *work(void *x) { for (;;) { pthread_mutex_lock(&m); a = b = c = d = e + 1;\n\
         e = e + 1; if (e == rounds) kill(getpid(), SIGKILL); pthread_mutex_unlock(&m); }\n\
         return x; }\n\
         int main(int n, char **v) { (void)n; rounds = atoi(v[1]); pthread_t t;\n\
         for (int i = 0; i < 7; i++) pthread_create(&t, 0, work, 0); work(0); }",
        &["-O1", "-pthread"],
    );
    let event = |what: &str| format!("transition {{ event {what} success init }}");
    let events = ["write a", "write b", "write c", "write d", "read e"].map(event);
    let property = format!("state init accepting {{ {} }}", events.join("\n"));
    for rounds in 1..=6 {
        let ran = bench.check_property(&property, &[&rounds.to_string()]);
        assert_eq!(ran.code, 128 + 9, "{}", ran.err);
        assert_eq!(ran.last()["program"]["signal"], "SIGKILL");
        assert_eq!(ran.last()["properties"][0]["verdict"], "true");
    }
}

#[test]
fn a_leak_is_reported_at_the_end() {
    let bench = program("f(1); return 0;");
    bench.write(
        "p.prop",
        "state init accepting { transition { event f(x) success open } }
         state open non-accepting { transition { event f(x) success init } }",
    );
    let ran = bench.check(&["-p", "p.prop", "--sarif", "s.sarif"], &[]);
    assert_eq!(ran.code, 100);
    let violations = ran.of_type("violation");
    assert_eq!(violations.len(), 1);
    assert!(violations[0]["n"].is_null());
    // It is shown where the slice came to its state.
    let text = std::fs::read_to_string(bench.path("s.sarif")).expect("a report");
    let sarif: serde_json::Value = serde_json::from_str(&text).expect("SARIF is JSON");
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["region"]["startLine"], 2, "{text}");
}

#[test]
fn forked_children_and_new_programs_are_unharmed() {
    let bench = program(
        "f(1); if (fork() == 0) { f(2); f(3); _exit(7); } int s; wait(&s); f(WEXITSTATUS(s));\n\
         if (vfork() == 0) _exit(0); wait(&s); execl(\"/bin/echo\", \"echo\", \"new\", (char *)0); return 1;",
    );
    let alone = bench.alone(&[]);
    let ran = bench.check_property(LOOP, &[]);
    assert_eq!(
        (ran.code, &ran.out),
        (alone.code, &alone.out),
        "{}",
        ran.err
    );
    assert_eq!(ran.last()["events"], 2);
}

#[test]
fn a_new_program_begins_with_new_monitors() {
    let bench = Bench::c(
        &format!(
            "{F}#include <unistd.h>\n\
             static int value = 5; int *shared = &value;\n\
             int main(int c, char **v) {{ f(1); *shared = 7;\n\
             if (c < 2) execl(\"/proc/self/exe\", \"prog\", \"again\", (char *)0); f(2); return 0; }}"
        ),
        &["-O0"],
    );
    bench.write(
        "p.prop",
        "slice on x
initialization { n = 0 }
state init accepting { transition { event f(x) success { n = n + 1 } open } }
state open non-accepting { transition { event f(x) success { n = n + 1 } init } }",
    );
    bench.write(
        "q.prop",
        "initialization { n = 0 }
state init accepting { transition { event write *shared (ret) success { n = n + ret } init } }",
    );
    let ran = bench.check(&["-p", "p.prop", "-p", "q.prop", "--show", "changed"], &[]);
    let text = "the program was replaced by exec: the monitors begin anew";
    assert_eq!(ran.printed(), [text]);
    assert_eq!(ran.code, 100);
    // Open at the end are those of the second program alone.
    assert_eq!(ran.of_type("violation").len(), 2);
    let rows = ran.of_type("event");
    let env = |property: &str| -> Vec<i64> {
        let own = rows.iter().filter(|r| r["property"] == property);
        own.map(|r| r["slices"][0]["env"]["n"].as_i64().unwrap_or(-1))
            .collect()
    };
    assert_eq!(env("p"), [1, 1, 1]);
    assert_eq!(env("q"), [7, 7], "bound after the loader's work, each time");

    let options = ["-p", "p.prop", "-p", "q.prop"];
    let mut record = bench.command("record");
    record.args(options).args(["-o", "t.jsonl", "./prog"]);
    assert!(record.status().expect("verde runs").success());
    let mut replay = bench.command("replay");
    replay.args(options).args(["--format", "jsonl", "t.jsonl"]);
    let replayed = replay.output().expect("verde runs");
    let text = String::from_utf8_lossy(&replayed.stdout).into_owned();
    let offline: Vec<serde_json::Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).expect("a row is JSON"))
        .collect();
    let of_type = |wanted: &str| -> Vec<&serde_json::Value> {
        offline.iter().filter(|r| r["type"] == wanted).collect()
    };
    assert_eq!(
        of_type("event"),
        ran.of_type("event"),
        "the trace tells of it"
    );
    assert_eq!(of_type("print"), ran.of_type("print"));
    assert_eq!(of_type("violation").len(), 2);
}

#[test]
fn blocks_that_raise_drop_their_property_only() {
    let bench = program("for (int i = 0; i < 5; i++) f(i); puts(\"end\"); return 0;");
    bench.write("good.prop", LOOP);
    bench.write(
        "raises.prop",
        "initialization { n = 0 }
state init accepting { transition { event f(x) { return 1 / (2 - x) > 0 } success init failure init } }
state bad non-accepting",
    );
    let ran = bench.check(&["-p", "raises.prop", "-p", "good.prop"], &[]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.out, "end\n");
    assert!(ran.err.contains("raises.prop:2"), "{}", ran.err);
    assert!(ran.err.contains("ZeroDivisionError"), "{}", ran.err);
    assert_eq!(ran.last()["events"], 5);
}

/// A block that raised is an error in every report, not a case that was skipped.
#[test]
fn blocks_that_raise_are_errors_in_reports() {
    let bench = program("for (int i = 0; i < 5; i++) f(i); puts(\"end\"); return 0;");
    bench.write("good.prop", LOOP);
    let raising = |guard: &str| {
        format!(
            "initialization {{ n = 0 }}\n\
             state init accepting {{ transition {{ event f(x) {{ {guard} }} success init failure bad }} }}\n\
             state bad accepting {{ transition {{ event signal SIGUSR1 success worse }} }}\nstate worse non-accepting"
        )
    };
    // A typed block, and one of Python's.
    for guard in [
        "return 1 / (2 - x) < 9",
        "import os; return 1 / (2 - x) < 9",
    ] {
        bench.write("raises.prop", &raising(guard));
        let files = ["--junit", "j.xml", "--sarif", "s.sarif"];
        let ran = bench.check(
            &[&["-p", "raises.prop", "-p", "good.prop"], &files[..]].concat(),
            &[],
        );
        assert_eq!(ran.code, 1, "{}", ran.err);
        let text = "raises.prop:2: ZeroDivisionError: division by zero";
        let junit = std::fs::read_to_string(bench.path("j.xml")).expect("a JUnit report");
        let counts = "tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"0\"";
        assert!(junit.contains(counts), "{junit}");
        let error = format!("<error type=\"ZeroDivisionError\" message=\"{text}\">");
        assert!(junit.contains(&error), "{junit}");
        assert!(!junit.contains("<skipped"), "{junit}");
        let sarif = std::fs::read_to_string(bench.path("s.sarif")).expect("a SARIF report");
        let sarif: serde_json::Value = serde_json::from_str(&sarif).expect("SARIF is JSON");
        let run = &sarif["runs"][0]["invocations"][0];
        assert_eq!(run["executionSuccessful"], false);
        let notes = run["toolExecutionNotifications"]
            .as_array()
            .expect("notifications");
        assert_eq!(notes.len(), 1, "{run}");
        assert_eq!(notes[0]["level"], "error");
        assert_eq!(
            notes[0]["message"]["text"],
            format!("property raises: {text}")
        );
        let last = &ran.last()["properties"];
        assert_eq!(last[0]["error"]["text"], text);
        assert_eq!(last[0]["error"]["type"], "ZeroDivisionError");
        assert_eq!(last[0]["verdict"], "inconclusive");
        assert_eq!(last[1]["error"], serde_json::Value::Null);
        let done = bench
            .command("check")
            .args(["-p", "raises.prop", "--output", "report.txt", "./prog"])
            .output();
        assert_eq!(done.expect("verde runs").status.code(), Some(1));
        let report = std::fs::read_to_string(bench.path("report.txt")).expect("a report");
        assert!(report.contains(&format!("error: {text}")), "{report}");
    }
    // What belongs to no property is an error of the run.
    bench.write("s.sc", "on entering state init { undefined_thing }\n");
    let ran = bench.check(&["-p", "good.prop", "-s", "s.sc", "--junit", "j.xml"], &[]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let junit = std::fs::read_to_string(bench.path("j.xml")).expect("a JUnit report");
    assert!(junit.contains("errors=\"1\" skipped=\"0\""), "{junit}");
    assert!(junit.contains("name=\"(run)\""), "{junit}");
}

/// As blocks that do: `check` drops the property, the prompt stops there, `replay` ends.
#[test]
fn callbacks_that_raise_drop_their_property_only() {
    let bench = program("for (int i = 0; i < 5; i++) f(i); puts(\"end\"); return 0;");
    bench.write("good.prop", LOOP);
    bench.write(
        "f.py",
        "def wrong(*args):\n    print('called')\n    return 1 / 0\n",
    );
    let kinds = [
        ("state_changed", "callback `wrong` for state_changed"),
        ("transition_taken", "callback `wrong` for transition_taken"),
        ("event_applied", "callback `wrong` for event_applied"),
        ("", "transition debug function `wrong`"),
    ];
    for (kind, what) in kinds {
        let register = match kind {
            "" => "monitor.set_transition_debug_function(wrong)".to_owned(),
            _ => format!("monitor.register_event(\"{kind}\", wrong)"),
        };
        // Somebody else listens to each event, too; with a debug function `one` takes none.
        let takes = if kind.is_empty() { "g" } else { "f" };
        bench.write(
            "raises.prop",
            &format!(
                "initialization {{ {register} }}
state init {{ transition {{ event f(x) success one }} }}
state one {{ transition {{ event {takes}(x) success init }} }}
state bad non-accepting"
            ),
        );
        let options = ["-p", "raises.prop", "-f", "f.py"];
        let ran = bench.check(&[&options[..], &["-p", "good.prop"]].concat(), &[]);
        assert_eq!((ran.code, &*ran.out), (1, "end\n"), "{}", ran.err);
        let failed = format!("{what} failed: ZeroDivisionError: division by zero");
        let says = format!("error: property raises: {failed}\n");
        assert_eq!(ran.err.matches(&says).count(), 1, "{}", ran.err);
        assert_eq!(ran.err.matches("no longer checked").count(), 1);
        assert_eq!(ran.printed(), ["called"], "{kind}");
        let last = &ran.last()["properties"];
        assert_eq!(last[0]["verdict"], "inconclusive", "{kind}");
        assert_eq!(last[0]["error"]["text"], failed);
        assert_eq!(last[0]["error"]["type"], "ZeroDivisionError");
        assert_eq!(last[1]["error"], serde_json::Value::Null);
        assert_eq!(ran.last()["events"], 5);

        let text = bench.debug(&options, &["run", "print x", "kill"]);
        in_order(&text, &[&failed, "[Execution stopped.]", "$1 = "]);

        let mut record = bench.command("record");
        record.args(["-p", "good.prop", "-o", "t.jsonl", "./prog"]);
        assert!(record.status().expect("verde runs").success());
        let mut replay = bench.command("replay");
        let done = replay.args(options).arg("t.jsonl").output();
        let done = done.expect("verde runs");
        let errors = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{errors}");
        let line = if kind.is_empty() { 2 } else { 1 };
        let says = format!("line {line}: property raises: {failed}");
        assert!(errors.contains(&says), "{errors}");
    }
    // What was violated before stays so.
    bench.write(
        "f.py",
        "called = []\nwrong = lambda: 1 / (2 - len(called)) if called.append(1) is None else 0\n",
    );
    bench.write(
        "raises.prop",
        "initialization { monitor.register_event(\"event_applied\", wrong) }
state init { transition { event f(x) success bad } }
state bad non-accepting { transition { event f(x) success bad } }",
    );
    let ran = bench.check(&["-p", "raises.prop", "-f", "f.py"], &[]);
    assert_eq!(ran.code, 100, "{}", ran.err);
    let says = "error: property raises: callback `<lambda>` for event_applied failed";
    assert_eq!(ran.err.matches(says).count(), 1, "{}", ran.err);
    assert_eq!(ran.last()["events"], 2);
}

#[test]
fn a_block_that_does_not_end_is_interrupted() {
    let bench = program("f(1); puts(\"end\"); return 0;");
    bench.write(
        "endless.prop",
        "state init accepting { transition { event f(x) { import time
            while True: time.sleep(0.01) } success init } }
state bad non-accepting",
    );
    let ran = bench.check(&["-p", "endless.prop", "--block-timeout", "0.2"], &[]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.out, "end\n");
    assert!(ran.err.contains("BlockTimeout"), "{}", ran.err);
    let text = bench.debug(
        &["-p", "endless.prop", "--block-timeout", "0.2"],
        &["run", "print x", "continue"],
    );
    assert!(text.contains("BlockTimeout"), "{text}");
    assert!(
        text.contains("$1 = 1"),
        "the prompt is at the event: {text}"
    );
    assert!(text.contains("endless: inconclusive"), "{text}");
}

#[test]
fn a_functions_file_that_does_not_end_is_interrupted() {
    let bench = program("f(1); puts(\"end\"); return 0;");
    bench.write("endless.py", "print('begins')\nwhile True: pass\n");
    bench.write(
        "p.prop",
        "state init accepting { transition { event f(x) { return never(x) } success init } }",
    );
    let options = [
        "-p",
        "p.prop",
        "-f",
        "endless.py",
        "--block-timeout",
        "0.05",
    ];
    let ran = bench.check(&options, &[]);
    assert_eq!((ran.code, &*ran.out), (1, ""), "{}", ran.err);
    // Its imports may take longer than a block.
    let said = "the functions file did not end within 0.5 s";
    assert!(ran.err.contains(said), "{}", ran.err);
    let text = bench.debug(
        &["--block-timeout", "0.05"],
        &["verde load-functions endless.py", "print 40 + 2"],
    );
    assert!(text.contains(said) && text.contains("$1 = 42"), "{text}");
}

#[test]
fn a_block_that_cannot_be_interrupted_is_explained() {
    let bench = program("f(1); puts(\"end\"); return 0;");
    bench.write(
        "long.prop",
        "state init accepting { transition { event f(x) { return sum(range(10**8)) > 0 } success init } }
state bad non-accepting",
    );
    let ran = bench.check(&["-p", "long.prop", "--block-timeout", "0.05"], &[]);
    assert!(ran.err.contains("cannot be interrupted"), "{}", ran.err);
    assert!(ran.err.contains("BlockTimeout"), "{}", ran.err);
    assert_eq!((ran.code, &*ran.out), (1, "end\n"));
}

#[test]
fn functions_that_are_never_found() {
    let bench = program("f(1); return 0;");
    let ran = bench.check_property(
        "state init accepting { transition { event ff(x) success bad } }
         state bad non-accepting",
        &[],
    );
    assert_eq!(ran.code, 101, "{}", ran.err);
    assert!(ran.err.contains("near it: f"), "{}", ran.err);
    assert_eq!(ran.last()["properties"][0]["verdict"], "inconclusive");
}

#[test]
fn parameters_that_do_not_exist() {
    let bench = program("puts(\"ran\"); f(1); return 0;");
    for (event, complaint) in [
        ("event f(nothing)", "nothing"),
        ("event f(x : str)", "`x` is of type `int`"),
        ("event line prog.c:5(nothing)", "nothing"),
        ("event f(arg 3)", "f has 1 argument"),
        ("after event f(ret)", "f returns nothing"),
        ("event signal SIGNONE", "no such signal"),
        ("event syscall nonsense", "no such system call"),
    ] {
        let text = format!(
            "state init accepting {{ transition {{ {event} success bad }} }}
             state bad non-accepting"
        );
        let ran = bench.check_property(&text, &[]);
        assert!(ran.err.contains(complaint), "{event}: {}", ran.err);
        assert_eq!(ran.code, 1, "{event}: {}", ran.err);
        assert_eq!(ran.out, "", "{event}: the program does not run");
    }
}

#[test]
fn parameters_that_a_library_does_not_have() {
    let bench = Bench::new();
    let library = "#include <stdio.h>\n\
        __attribute__((constructor)) static void first(void) { puts(\"ran\"); }\n\
        void g(double d) { asm volatile(\"\" :: \"x\"(d)); }";
    bench.compile("gcc", "g.c", library, "libg.so", &["-shared", "-fPIC"]);
    let main = "void g(double); int main(void) { g(1); return 0; }";
    let options = ["-L.", "-lg", "-Wl,-rpath,$ORIGIN"];
    bench.compile("gcc", "prog.c", main, "prog", &options);
    for parameter in ["nothing", "d : int"] {
        let ran = bench.check_property(
            &format!(
                "state init accepting {{ transition {{ event g({parameter}) success bad }} }}
             state bad non-accepting"
            ),
            &[],
        );
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(ran.err.contains("does not fit"), "{}", ran.err);
        assert_eq!(ran.out, "", "nothing of the program runs");
    }
    let ran = bench.check_property(
        "state init accepting { transition { event g(d : double) success init } }",
        &[],
    );
    assert_eq!((ran.code, &*ran.out), (0, "ran\n"), "{}", ran.err);
}

#[test]
fn variables_that_are_never_found() {
    let bench = program("f(1); return 0;");
    let ran = bench.check_property(
        "state init accepting { transition { event write nowhere success bad } }
         state bad non-accepting",
        &[],
    );
    assert_eq!(ran.code, 101, "{}", ran.err);
    assert!(
        ran.err.contains("variable nowhere is not in the program"),
        "{}",
        ran.err
    );
}

#[test]
fn time_limits_and_early_ends() {
    let bench = program("f(1); pause(); return 0;");
    bench.write("p.prop", LOOP);
    let ran = bench.check(&["-p", "p.prop", "--timeout", "0.3"], &[]);
    assert_eq!(ran.code, 124);
    assert_eq!(ran.last()["complete"], false);

    // A trace of it says so.
    let mut record = bench.command("record");
    record.args([
        "-p",
        "p.prop",
        "-o",
        "t.jsonl",
        "--timeout",
        "0.3",
        "./prog",
    ]);
    assert_eq!(record.status().expect("verde runs").code(), Some(124));
    let mut replay = bench.command("replay");
    replay.args(["-p", "p.prop", "--format", "jsonl", "t.jsonl"]);
    let done = replay.output().expect("verde runs");
    assert_eq!(done.status.code(), Some(101));
    let (rows, said) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    assert!(rows.contains(r#""complete":false"#), "{rows}");
    let says = "t.jsonl: the run was ended before the program was: the trace is not complete";
    assert!(said.contains(says), "{said}");

    let bench = program("for (int i = 0; i < 100; i++) f(i); pause(); return 0;");
    bench.write(
        "p.prop",
        "state init accepting { transition { event f(x) { return x < 7 } success init failure bad } }
         state bad non-accepting",
    );
    let ran = bench.check(&["-p", "p.prop", "--stop-on-violation"], &[]);
    assert_eq!(ran.code, 100);
    assert_eq!(ran.of_type("violation")[0]["n"], 8);
}

/// Processes that run a program, and have not ended.
fn running(program: &std::path::Path) -> usize {
    let all = std::fs::read_dir("/proc").expect("processes").flatten();
    let is_it = |entry: &std::fs::DirEntry| {
        std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == program)
    };
    all.filter(is_it).count()
}

#[test]
fn children_of_a_program_that_is_cut_short() {
    let child = "for (int i = 0; i < 2; i++) if (fork() == 0) { close(1); close(2);\n\
        fork(); for (;;) pause(); }";
    for own in ["", "setpgid(0, 0);"] {
        let bench = program(&format!("{own} {child} f(1); pause(); return 0;"));
        bench.write(
            "p.prop",
            "state init { transition { event f(x) success bad } } state bad non-accepting",
        );
        let ran = bench.check(&["-p", "p.prop", "--stop-on-violation"], &[]);
        assert_eq!(ran.code, 100, "{}", ran.err);
        let program = bench.path("prog").canonicalize().expect("a program");
        let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while running(&program) > 0 {
            assert!(std::time::Instant::now() < end, "{own}");
            std::thread::yield_now();
        }
    }
}

#[test]
fn programs_that_cannot_be_run() {
    let bench = program("return 0;");
    bench.write("p.prop", LOOP);
    bench.write("text", "no program");
    for (file, complaint) in [("./missing", "No such file"), ("./text", "text")] {
        let done = bench
            .command("check")
            .args(["-p", "p.prop", "--", file])
            .output()
            .expect("verde runs");
        assert_eq!(done.status.code(), Some(1));
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(errors.contains(complaint), "{errors}");
    }
}

#[test]
fn a_property_that_is_violated_from_the_start() {
    let bench = program("f(1); return 3;");
    bench.write(
        "p.prop",
        "state init non-accepting { transition { event f(x) success init } }",
    );
    let ran = bench.check(&["-p", "p.prop"], &[]);
    assert_eq!(ran.code, 100);
    assert_eq!(ran.last()["events"], 1, "the program runs to its end");
    let ran = bench.check(&["-p", "p.prop", "--stop-on-violation"], &[]);
    assert_eq!(ran.code, 100);
}

#[test]
fn a_scenario_that_raises_is_dropped() {
    let bench = program("for (int i = 0; i < 5; i++) f(i); puts(\"end\"); return 0;");
    bench.write("p.prop", LOOP);
    bench.write(
        "s.sc",
        "initialization { c = None }
on entering state init {
    if c is None: c = checkpoint()
    else:
        restore_checkpoint(c)
        undefined_thing
}
",
    );
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    assert_eq!(ran.out, "end\n", "{}", ran.err);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.err.matches("NameError").count(), 1, "{}", ran.err);
}

const REPLACED: &str = "#include <unistd.h>
__attribute__((noinline)) void good(int x) { asm volatile(\"\" :: \"r\"(x)); }
__attribute__((noinline)) void bad(void) { asm volatile(\"\"); }
int main(int c, char **v) {
    good(c - 1);
    if (c < 2) { bad(); execl(\"/proc/self/exe\", \"prog\", \"again\", (char *)0); }
    return 0;
}";

/// The same is said of a trace as of the run: what was found before an exec stays found.
#[test]
fn a_violation_before_exec_is_one_of_the_trace() {
    let bench = Bench::c(REPLACED, &["-O0"]);
    bench.write(
        "p.prop",
        "state init accepting { transition { event bad() success sink } }
state sink non-accepting",
    );
    let mut record = bench.command("record");
    record.args(["-p", "p.prop", "-o", "t.jsonl", "./prog"]);
    assert!(record.status().expect("verde runs").success());
    let mut replay = bench.command("replay");
    replay.args(["-p", "p.prop", "--format", "jsonl", "t.jsonl"]);
    let done = replay.output().expect("verde runs");
    assert_eq!(done.status.code(), Some(100));
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let last = text.lines().last().unwrap_or_default();
    assert!(
        last.contains("\"verdict\":\"false\",\"violations\":1"),
        "{last}"
    );
}

#[test]
fn a_block_that_raised_before_exec_leaves_no_verdict() {
    let bench = Bench::c(REPLACED, &["-O0"]);
    bench.write(
        "p.prop",
        "state init accepting { transition { event good(x) { return 1 // x > 0 } success init } transition { event gone() success sink } }
state sink non-accepting",
    );
    let text = bench.debug(&["-p", "p.prop"], &["run", "continue"]);
    assert!(text.contains("exited normally"), "{text}");
    assert!(text.contains("p: inconclusive"), "{text}");
}

/// A program that is started ignores what it would ignore without us, and nothing else.
#[test]
fn ignored_signals_are_inherited() {
    let bench = Bench::c(
        "#include <signal.h>\n#include <stdio.h>\n\
         int main(void) { for (int s = 1; s < 32; s++) { struct sigaction a; sigaction(s, 0, &a);\n\
         if (a.sa_handler == SIG_IGN) printf(\"%d \", s); } puts(\".\"); return 0; }",
        &[],
    );
    bench.write(
        "p.prop",
        "state init accepting { transition { event process exit() success init } }",
    );
    let verde = env!("CARGO_BIN_EXE_verde");
    for line in [
        format!("{verde} check -p p.prop"),
        format!("{verde} record -p p.prop -o /dev/null"),
        format!("{verde} debug --batch --ex run"),
    ] {
        for trap in ["", "trap '' HUP INT QUIT PIPE TERM;"] {
            let first_line = |command: &str| {
                let mut shell = std::process::Command::new("sh");
                shell.args(["-c", &format!("{trap} {command} ./prog")]);
                let done = shell.current_dir(bench.path("")).output().expect("sh runs");
                let out = String::from_utf8_lossy(&done.stdout).into_owned();
                out.lines().next().map(str::to_owned)
            };
            // Those who run this test may ignore some themselves.
            let alone = first_line("exec");
            assert!(
                alone.as_ref().is_some_and(|l| l.ends_with('.')),
                "{alone:?}"
            );
            assert_eq!(first_line(&line), alone, "{trap} {line}");
        }
    }
}

/// Ctrl-C at a terminal reaches the program, too, and may kill it first.
#[test]
fn interrupted_together_with_the_program() {
    use std::io::BufRead;
    use std::os::unix::process::CommandExt;
    let bench = program("f(1); puts(\"ready\"); fflush(stdout); sleep(60); return 0;");
    bench.write("p.prop", LOOP);
    for signal in ["-INT", "-TERM", "-INT", "-TERM"] {
        let mut check = bench.command("check");
        check
            .args(["-p", "p.prop", "--", "./prog"])
            .process_group(0)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let mut child = check.spawn().expect("verde runs");
        let mut line = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("the program speaks");
        assert_eq!(line, "ready\n");
        let group = format!("-{}", child.id());
        let kill = std::process::Command::new("kill")
            .args([signal, "--", &group])
            .status();
        assert!(kill.expect("kill runs").success());
        let done = child.wait_with_output().expect("verde ends");
        let errors = String::from_utf8_lossy(&done.stderr);
        // Who is faster is not known: the program may have died before we heard of it.
        let codes = match signal {
            "-INT" => [130, 130],
            _ => [130, 128 + 15],
        };
        let code = done.status.code().unwrap_or(-1);
        assert!(codes.contains(&code), "{signal}: {code}: {errors}");
        let mut remarks = errors.lines().filter(|l| l.contains("verde:"));
        let interrupted = "verde: the run was interrupted: the program was ended";
        assert!(remarks.all(|l| l == interrupted), "{errors}");
    }
}

/// The kernel leaves a gap between the segments of such a program, and the loader's list knows only
/// where its data are.
#[test]
fn programs_with_gaps_between_their_segments() {
    let bench = Bench::c(
        &format!("{F}int main(void) {{ f(1); f(2); return 4; }}"),
        &["-O1", "-Wl,-z,noseparate-code,-z,max-page-size=0x200000"],
    );
    let ran = bench.check_property(LOOP, &[]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert_eq!(ran.last()["events"], 2);
    let text = bench.debug(&[], &["break f", "run", "continue", "continue"]);
    assert!(text.contains("exited with code 04"), "{text}");
}

/// What a property names wrongly is said with its place and the names that may have been meant.
#[test]
fn names_that_the_program_does_not_have() {
    let bench = Bench::c(
        "int counter; int f(int x) { int inner = x; counter += inner; return counter; }
        int main(void) { return f(1) - 1; }",
        &[],
    );
    let check = |event: &str| {
        let property = format!(
            "state init {{\n  transition {{ {event} success bad }}\n}}\nstate bad non-accepting\n"
        );
        bench.check_property(&property, &[])
    };
    let ran = check("event f(y)");
    assert_eq!(ran.code, 1);
    let said = "No symbol \"y\" in current context.  Its parameters: x (in f) (p.prop:2:22)";
    assert!(ran.err.contains(said), "{}", ran.err);
    // A function that is there declares what it declares.
    let ran = check("after event write f::innr");
    assert_eq!(ran.code, 1);
    let said = "f declares no variable `innr` (p.prop:2:";
    assert!(ran.err.contains(said), "{}", ran.err);
    // A library may bring a global.
    for event in ["write countr", "update {countr + 1}"] {
        let ran = check(&format!("after event {event}"));
        assert_eq!(ran.code, 101, "{}", ran.err);
        assert!(ran.err.contains("near it: counter"), "{}", ran.err);
    }
}

/// `os._exit` in a block is an error of the block, not the end of everything; a child that the block
/// made ends by it.
#[test]
fn a_block_does_not_end_the_debugger() {
    let bench = Bench::c(
        "#include <stdio.h>\n\
         __attribute__((noinline)) void f(void) { asm volatile(\"\"); }\n\
         int main(void) { f(); f(); puts(\"to its end\"); return 0; }",
        &["-O0"],
    );
    bench.write(
        "p.prop",
        "state init accepting { transition { event f() {\n\
         import os\n\
         child = os.fork()\n\
         if child == 0:\n    os._exit(7)\n\
         print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n\
         os._exit(9)\n\
         } success bad } }\nstate bad non-accepting",
    );
    let ran = bench.check(&["-p", "p.prop"], &[]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains("to its end"), "{}", ran.err);
    assert!(ran.err.contains("SystemExit: 9"), "{}", ran.err);
    assert_eq!(ran.of_type("print")[0]["text"], "7");
    assert_eq!(ran.last()["type"], "final");
}

/// A descriptor that is closed for `verde` is closed for the program.
#[test]
fn closed_standard_descriptors() {
    let bench = program(
        "for (int i = 0; i < 3; i++) dprintf(9, \"%d\", fcntl(i, F_GETFD) < 0); f(1); return 0;",
    );
    bench.write("p.prop", LOOP);
    let verde = env!("CARGO_BIN_EXE_verde");
    let check = format!("{verde} check -p p.prop --output /dev/null -- ./prog");
    for (closed, seen) in [("<&- 2>&-", "101"), (">&-", "010"), ("", "000")] {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("exec {check} 9>seen {closed}")]);
        let done = shell.current_dir(bench.path("")).output();
        assert!(done.expect("sh runs").status.success());
        let text = std::fs::read_to_string(bench.path("seen")).expect("it ran");
        assert_eq!(text, seen, "{closed}");
    }
}

/// What can be nowhere but in registers is not observed.
#[test]
fn data_that_are_never_in_memory() {
    let bench = Bench::c(
        "__attribute__((noipa, used)) int never(int n) { int tally = 0;\n\
         while (n > 1) { tally += n & 1; n /= 3; } return tally; }\n\
         int main(void) { return 0; }",
        &["-O2"],
    );
    let ran = bench.check_property(
        "state init { transition { event write tally(ret) success bad } } state bad non-accepting",
        &[],
    );
    assert_eq!(ran.code, 101, "{}", ran.err);
    assert_eq!(ran.last()["properties"][0]["verdict"], "inconclusive");
}

/// A thread gives back what it has taken after it has said that it is done. The program ends when
/// it has, but for those that work on or wait for something.
#[test]
fn threads_that_are_about_to_finish() {
    let source = r#"
        #include <pthread.h>
        #include <semaphore.h>
        #include <string.h>
        static sem_t done, never;
        __attribute__((noinline)) void take(int n) { asm volatile("" :: "r"(n)); }
        __attribute__((noinline)) void give(int n) { asm volatile("" :: "r"(n)); }
        static void *work(void *kind) {
            take(1);
            sem_post(&done);
            while (!strcmp(kind, "busy")) asm volatile("");
            if (!strcmp(kind, "waiting")) sem_wait(&never);
            for (long i = 0; i < 300000; i++) asm volatile("");
            give(1);
            return 0;
        }
        int main(int n, char **words) {
            (void)n;
            pthread_t t;
            sem_init(&done, 0, 0);
            for (int i = 0; i < 3; i++) pthread_create(&t, 0, work, words[1]);
            for (int i = 0; i < 3; i++) sem_wait(&done);
            return 7;
        }"#;
    let property = "initialization { n = 0 }
        state init {
            transition { event take(n as k) success { n = n + k } some }
        }
        state some non-accepting {
            transition { event take(n as k) success { n = n + k } some }
            transition { event give(n as k) { n = n - k; return n == 0 } success init failure some }
        }";
    let bench = Bench::c(source, &["-O1", "-pthread"]);
    for round in 0..5 {
        let ran = bench.check_property(property, &["brief"]);
        assert_eq!(ran.code, 7, "{round}: {}", ran.err);
    }
    for kind in ["busy", "waiting"] {
        let ran = bench.check_property(property, &[kind]);
        assert_eq!(ran.code, 100, "{kind}: {}", ran.err);
        assert_eq!(ran.last()["program"]["exit"], 7, "{kind}");
    }
}

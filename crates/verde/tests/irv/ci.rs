//! Reports for machines: JUnit, SARIF, suppressions, traces.

use crate::bench::Bench;
use serde_json::Value;

const BAD: &str = "#include <stdio.h>\n\
__attribute__((noinline)) void f(int q, int x) { asm volatile(\"\" :: \"r\"(q), \"r\"(x)); }\n\
__attribute__((noinline)) void known(int q) { f(q, 9); }\n\
__attribute__((noinline)) void fresh(int q) { f(q, 9); asm volatile(\"\"); }\n\
int main(void) { for (int q = 0; q < 3; q++) { f(q, 1); known(q); } for (int q = 3; q < 5; q++) fresh(q); return 0; }";

const PROPERTY: &str = "slice on q
state init accepting { transition { event f(q, x) { return x < 9 } success init failure bad } }
state bad non-accepting";

#[test]
fn junit_and_sarif() {
    let bench = Bench::c(BAD, &["-O1"]);
    bench.write("p.prop", PROPERTY);
    let ran = bench.check(
        &["-p", "p.prop", "--junit", "j.xml", "--sarif", "s.sarif"],
        &[],
    );
    assert_eq!(ran.code, 100, "{}", ran.err);
    assert_eq!(ran.of_type("violation").len(), 5);
    let junit = std::fs::read_to_string(bench.path("j.xml")).expect("a JUnit report");
    assert!(junit.contains("tests=\"1\" failures=\"1\""), "{junit}");
    assert_eq!(junit.matches("<failure ").count(), 5);
    let sarif = std::fs::read_to_string(bench.path("s.sarif")).expect("a SARIF report");
    let sarif: Value = serde_json::from_str(&sarif).expect("SARIF is JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 2, "one for each distinct violation");
    assert_eq!(results[0]["occurrenceCount"], 3);
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "prog.c");
    assert_eq!(place["region"]["startLine"], 2);
    let flow = &results[0]["codeFlows"][0]["threadFlows"][0]["locations"];
    assert!(flow.as_array().is_some_and(|f| !f.is_empty()), "{flow}");
}

/// What became of a slice is said in the same words everywhere.
#[test]
fn reports_tell_how_a_slice_broke_its_property() {
    let bench = Bench::c(BAD, &["-O1"]);
    let back = "{ transition { event fresh(q) success init } }";
    let cases = [
        ("", back, "is still in ", " at the end"),
        (" ends known(q)", back, "ended in ", ""),
        ("", "", "reached ", ""),
    ];
    for (ends, back, before, after) in cases {
        let property = format!(
            "slice on q{ends}
state init {{ transition {{ event f(q) success open }} }}
state open non-accepting {back}"
        );
        bench.write("p.prop", &property);
        let files = ["--junit", "j.xml", "--sarif", "s.sarif", "--output", "r"];
        let mut check = bench.command("check");
        let done = check
            .args(["-p", "p.prop"])
            .args(files)
            .arg("./prog")
            .output();
        assert_eq!(done.expect("verde runs").status.code(), Some(100));
        let read = |name| std::fs::read_to_string(bench.path(name)).expect("a report");
        let human = format!("VIOLATION p [q = 0] {before}`open`{after}");
        assert!(read("r").contains(&human), "{}", read("r"));
        let title = format!("p [q = 0] {before}open{after}");
        let junit = format!("message=\"{title}");
        assert!(read("j.xml").contains(&junit), "{}", read("j.xml"));
        let sarif: Value = serde_json::from_str(&read("s.sarif")).expect("SARIF is JSON");
        let text = &sarif["runs"][0]["results"][0]["message"]["text"];
        assert!(
            text.as_str().is_some_and(|t| t.starts_with(&title)),
            "{text}"
        );
    }
}

/// Why the verdicts are those of a part of the run: in words that fit what was cut.
#[test]
fn reports_tell_what_was_cut_short() {
    let bench = Bench::c(
        "#include <unistd.h>\n\
         __attribute__((noinline)) void f(int x) { asm volatile(\"\" :: \"r\"(x)); }\n\
         int main(void) { for (int i = 0;; i++) { f(i); usleep(20000); } }",
        &["-O1"],
    );
    bench.write(
        "good.prop",
        "state init { transition { event f(x) success init } }",
    );
    bench.write(
        "bad.prop",
        "state init { transition { event f(x) success bad } }\nstate bad non-accepting",
    );
    let limit = ["--timeout", "0.3"];
    let cases = [
        (
            "good.prop",
            &limit[..],
            "the time limit ended the run before the program's end",
        ),
        (
            "bad.prop",
            &["--stop-on-violation"][..],
            "the run was ended at a violation, as asked for",
        ),
    ];
    for (property, how, why) in cases {
        let mut check = bench.command("check");
        check.args(["-p", property, "--sarif", "s.sarif"]).args(how);
        let done = check.arg("./prog").output().expect("verde runs");
        let report = String::from_utf8_lossy(&done.stderr);
        let says = format!("{why}: what follows is not known\n");
        assert!(report.contains(&says), "{report}");
        assert!(!report.contains("trace"), "{report}");
        let sarif = std::fs::read_to_string(bench.path("s.sarif")).expect("a SARIF report");
        assert!(!sarif.contains("trace is cut"), "{sarif}");
    }
    let ran = bench.check(&["-p", "good.prop", "--timeout", "0.3"], &[]);
    assert_eq!(ran.last()["complete"], false);
    assert_eq!(ran.last().get("cut"), None);

    let mut record = bench.command("record");
    record
        .args(["-p", "good.prop", "-o", "t.jsonl"])
        .args(limit);
    record.arg("./prog").output().expect("verde runs");
    let replay = || {
        let mut replay = bench.command("replay");
        let done = replay.args(["-p", "good.prop", "t.jsonl"]).output();
        String::from_utf8_lossy(&done.expect("verde runs").stdout).into_owned()
    };
    let report = replay();
    let says = "the recorded run was ended before the program was: what follows is not known\n";
    assert!(report.contains(says), "{report}");
    bench.write(
        "t.jsonl",
        "{\"event\":\"f\",\"args\":{\"x\":1}}\n{\"event\":\"f\",",
    );
    let report = replay();
    let says = "the trace is cut in line 2: what follows is not known\n";
    assert!(report.contains(says), "{report}");
}

#[test]
fn known_violations_are_suppressed() {
    let bench = Bench::c(BAD, &["-O1"]);
    bench.write("p.prop", PROPERTY);
    bench.write("known", "# ours\np:known:*.c\ngarbage\n\np:half\n");
    let ran = bench.check(&["-p", "p.prop", "--suppress", "known"], &[]);
    assert_eq!(ran.code, 100);
    // What is no such line is said, once.
    for (line, times) in [("2", 0), ("3", 1), ("4", 0), ("5", 1)] {
        let said = format!("known:{line}: not `property:function:file`");
        assert_eq!(ran.err.matches(&said).count(), times, "{}", ran.err);
    }
    assert_eq!(ran.of_type("violation").len(), 2);
    let property = &ran.last()["properties"][0];
    assert_eq!(property["violations"], 2);
    assert_eq!(property["suppressed"], 3);
}

#[test]
fn what_is_suppressed_fails_nothing() {
    let bench = Bench::c(BAD, &["-O1"]);
    bench.write("p.prop", PROPERTY);
    bench.write("all", "p:*:prog.c\n");
    let options = [
        "-p",
        "p.prop",
        "--suppress",
        "all",
        "--junit",
        "j.xml",
        "--sarif",
        "s.sarif",
        "--stop-on-violation",
    ];
    let ran = bench.check(&options, &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.last()["events"], 8, "the program runs to its end");
    assert_eq!(ran.last()["properties"][0]["verdict"], "true");
    let read = |name| std::fs::read_to_string(bench.path(name)).expect("a report");
    let junit = read("j.xml");
    assert!(junit.contains("failures=\"0\""), "{junit}");
    assert!(!junit.contains("<failure"), "{junit}");
    assert!(junit.contains("5 violations suppressed"), "{junit}");
    let sarif: Value = serde_json::from_str(&read("s.sarif")).expect("SARIF is JSON");
    assert_eq!(sarif["runs"][0]["results"], serde_json::json!([]));

    let done = bench
        .command("check")
        .args(["-p", "p.prop", "--suppress", "all", "./prog"])
        .output()
        .expect("verde runs");
    let report = String::from_utf8_lossy(&done.stderr);
    let wanted = "p: holds; 5 violations suppressed";
    assert!(report.contains(wanted), "{report}");

    let text = bench.debug(&["-p", "p.prop", "--suppress", "all"], &["run"]);
    assert!(text.contains("exited normally"), "{text}");
    assert!(text.contains("p: holds, 5 violations suppressed"), "{text}");
    let none = bench.check(&["-p", "p.prop", "--suppress", "missing"], &[]);
    assert_eq!(none.code, 1);
    assert!(none.err.contains("cannot read missing"), "{}", none.err);
}

#[test]
fn a_recorded_trace_gives_the_same_states() {
    let bench = Bench::c(BAD, &["-O1"]);
    bench.write("p.prop", PROPERTY);
    let live = bench.check(&["-p", "p.prop", "--show", "all"], &[]);
    let done = bench
        .command("record")
        .args(["-p", "p.prop", "-o", "t.jsonl", "--", "./prog"])
        .output()
        .expect("verde runs");
    assert_eq!(done.status.code(), Some(0));
    let replayed = bench
        .command("replay")
        .args([
            "-p", "p.prop", "--format", "jsonl", "--show", "all", "t.jsonl",
        ])
        .output()
        .expect("verde runs");
    assert_eq!(replayed.status.code(), Some(100));
    let text = String::from_utf8_lossy(&replayed.stdout).into_owned();
    let offline: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).expect("a row is JSON"))
        .collect();
    let events = |rows: &[Value]| -> Vec<Value> {
        rows.iter()
            .filter(|r| r["type"] == "event")
            .cloned()
            .collect()
    };
    assert_eq!(events(&live.rows), events(&offline));
    let last = offline.last().expect("a final row");
    assert_eq!(live.last()["properties"], last["properties"]);
}

/// Properties that declare one parameter differently each find their own value in the trace.
#[test]
fn a_trace_has_the_values_of_all_declared_types() {
    let bench = Bench::c(
        "__attribute__((noinline)) void f(const char *pw, long n) { asm volatile(\"\" :: \"r\"(pw), \"r\"(n)); }\n\
         int main(void) { f(\"ok\", 3); return 0; }",
        &["-O1"],
    );
    let property = |file: &str, params: &str, guard: &str| {
        let text = format!(
            "state init {{ transition {{ event f({params}) {{ return {guard} }} success bad }} }}\n\
             state bad non-accepting"
        );
        bench.write(file, &text);
    };
    property("text.prop", "pw : str, n : int", "len(pw) == 2 and n == 3");
    property(
        "pointer.prop",
        "pw : char*, n : long",
        "pw > 4096 and n == 3",
    );
    property("plain.prop", "pw, n : double", "pw > 4096 and n == 3.0");
    let replays = |files: &[&str]| {
        let run = |name: &str, rest: &[&str]| {
            let mut verde = bench.command(name);
            for file in files {
                verde.args(["-p", file]);
            }
            let done = verde.args(rest).output().expect("verde runs");
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            (done.status.code(), text + &said)
        };
        let recorded = run("record", &["-o", "t.jsonl", "--", "./prog"]);
        assert_eq!(recorded.0, Some(0), "{files:?}: {}", recorded.1);
        let (code, text) = run("replay", &["t.jsonl"]);
        assert_eq!(code, Some(100), "{files:?}: {text}");
        assert_eq!(text.matches("VIOLATION").count(), files.len(), "{text}");
        std::fs::read_to_string(bench.path("t.jsonl")).expect("a trace")
    };
    let trace = replays(&["text.prop", "pointer.prop"]);
    assert!(
        trace.contains("\"pw\":\"ok\",\"n\":3,\"pw : char*\":"),
        "{trace}"
    );
    replays(&["pointer.prop", "text.prop"]);
    replays(&["text.prop", "plain.prop", "pointer.prop"]);
}

#[test]
fn the_report_for_people() {
    let bench = Bench::c(BAD, &["-O1"]);
    bench.write("p.prop", PROPERTY);
    let done = bench
        .command("check")
        .args(["-p", "p.prop", "./prog"])
        .output()
        .expect("verde runs");
    let report = String::from_utf8_lossy(&done.stderr);
    for wanted in [
        "VIOLATION p [q = 0] reached `bad`",
        "#0 f at prog.c:2",
        "#1 known at prog.c:3",
        "p: violated",
    ] {
        assert!(report.contains(wanted), "{wanted} in:\n{report}");
    }
}

/// What a command says on standard error, and its exit code.
fn complaint(bench: &Bench, command: &str, args: &[&str]) -> (i32, String) {
    let done = bench.command(command).args(args).output();
    let done = done.expect("verde runs");
    assert!(done.stdout.is_empty(), "the program does not run");
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    (done.status.code().unwrap_or(-1), errors)
}

#[test]
fn what_cannot_be_written_is_known_before_the_program_runs() {
    let bench = Bench::c("int main(void) { return puts(\"ran\"); }", &["-w"]);
    bench.write("p.prop", PROPERTY);
    for (command, option) in [
        ("check", "--junit"),
        ("check", "--sarif"),
        ("check", "--output"),
        ("record", "-o"),
    ] {
        let args = ["-p", "p.prop", option, "no/such/file", "--", "./prog"];
        let (code, errors) = complaint(&bench, command, &args);
        assert_eq!(code, 1, "{option}");
        assert!(errors.contains("cannot write no/such/file"), "{errors}");
    }
}

#[test]
fn nothing_to_check() {
    let bench = Bench::c("int main(void) { return puts(\"ran\"); }", &["-w"]);
    for (command, args) in [
        ("check", &["./prog"][..]),
        ("record", &["-o", "t", "./prog"]),
    ] {
        let (code, errors) = complaint(&bench, command, args);
        assert_eq!(code, 1);
        assert!(errors.contains("-p std:NAME"), "{errors}");
    }
}

#[test]
fn a_crash_is_an_error_of_the_suite() {
    let bench = Bench::c("#include <stdlib.h>\nint main(void) { abort(); }", &[]);
    bench.write(
        "p.prop",
        "state init accepting { transition { event main() success init } }",
    );
    let ran = bench.check(&["-p", "p.prop", "--junit", "j.xml"], &[]);
    assert_eq!(ran.code, 128 + 6);
    let junit = std::fs::read_to_string(bench.path("j.xml")).expect("a JUnit report");
    for wanted in [
        "tests=\"2\" failures=\"0\" errors=\"1\"",
        "<error type=\"SIGABRT\" message=\"the program was killed by SIGABRT\"/>",
    ] {
        assert!(junit.contains(wanted), "{junit}");
    }
}

#[test]
fn shipped_properties_in_lint_and_graph() {
    let bench = Bench::new();
    for args in [&["std:file"][..], &["std:lock_order", "std:fd"]] {
        let done = bench.command("lint").args(args).output();
        let done = done.expect("verde runs");
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(
            done.status.success() && text.contains("no findings"),
            "{text}"
        );
    }
    let (code, _) = complaint(&bench, "graph", &["std:mutex", "-o", "mutex.dot"]);
    assert_eq!(code, 0);
    let dot = std::fs::read_to_string(bench.path("mutex.dot")).expect("a picture");
    assert!(dot.contains("digraph"), "{dot}");
    let (code, errors) = complaint(&bench, "graph", &["std:nothing", "-o", "x.dot"]);
    assert_eq!(code, 1);
    assert!(errors.contains("the shipped ones are"), "{errors}");
}

#[test]
fn forked_children_are_said_to_be_unchecked() {
    let bench = Bench::c(
        "#include <sys/wait.h>\n#include <unistd.h>\nvoid f(void) {}\n\
         int main(void) { for (int i = 0; i < 3; i++) { if (!fork()) { f(); _exit(0); } wait(0); } return 0; }",
        &[],
    );
    let ran = bench.check_property(
        "state init accepting { transition { event f() success init } }",
        &[],
    );
    assert_eq!(ran.printed(), ["forked children run unchecked"]);
    assert_eq!((ran.code, &*ran.out), (0, ""), "{}", ran.err);
    assert!(!ran.err.contains("unchecked"), "{}", ran.err);
}

/// A run that is refused leaves reports that a reader takes for what they are.
#[test]
fn a_refused_run_leaves_valid_reports() {
    let bench = Bench::c(BAD, &["-O1"]);
    bench.write(
        "p.prop",
        "state init accepting { transition { event f(nobody) success bad } }\nstate bad non-accepting",
    );
    let ran = bench.check(
        &["-p", "p.prop", "--junit", "j.xml", "--sarif", "s.sarif"],
        &[],
    );
    assert_eq!(ran.code, 1, "{}", ran.err);
    let junit = std::fs::read_to_string(bench.path("j.xml")).expect("a JUnit report");
    assert!(junit.contains("errors=\"1\""), "{junit}");
    let sarif = std::fs::read_to_string(bench.path("s.sarif")).expect("a SARIF report");
    let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
    assert_eq!(
        sarif["runs"][0]["results"].as_array().map(Vec::len),
        Some(0)
    );
}

/// Whoever ends the run with SIGTERM gets the report as with ^C, and so does whoever closes its
/// terminal.
#[test]
fn a_run_that_is_terminated_reports() {
    for signal in ["-TERM", "-HUP"] {
        terminated(signal);
    }
}

fn terminated(signal: &str) {
    let bench = Bench::c(
        "#include <unistd.h>\n\
         __attribute__((noinline)) void f(int q, int x) { asm volatile(\"\" :: \"r\"(q), \"r\"(x)); }\n\
         int main(void) { f(1, 1); write(1, \"here\\n\", 5); for (;;) pause(); }",
        &["-O1"],
    );
    bench.write("p.prop", PROPERTY);
    // Whoever runs the tests may ignore the signal, as `nohup` does, and then so does verde.
    let verde = bench.command("check");
    let mut command = std::process::Command::new("env");
    command
        .arg("--default-signal=HUP")
        .arg(verde.get_program())
        .args(verde.get_args())
        .args(["-p", "p.prop", "--format", "jsonl", "--output", "r.jsonl"])
        .arg("./prog")
        .current_dir(bench.path("."));
    let mut child = command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("verde runs");
    let mut here = [0; 5];
    let mut out = child.stdout.take().expect("its output");
    std::io::Read::read_exact(&mut out, &mut here).expect("the program runs");
    let pid = child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args([signal, &pid])
        .status();
    assert!(sent.expect("kill").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{signal}");
    let rows = std::fs::read_to_string(bench.path("r.jsonl")).expect("a report");
    let last: Value = serde_json::from_str(rows.lines().last().unwrap_or_default()).expect("JSON");
    assert_eq!(last["type"], "final");
    assert_eq!(last["events"], 1);
}

/// A report that cannot be written takes neither the verdict nor the other reports away.
#[test]
fn reports_stand_for_themselves() {
    let bench = Bench::c(BAD, &["-O1"]);
    bench.write("p.prop", PROPERTY);
    let run = |options: &[&str]| {
        let mut check = bench.command("check");
        check.args(["-p", "p.prop"]).args(options).arg("./prog");
        check.output().expect("verde runs").status.code()
    };
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).expect("a report");
    let sarif = |name: &str| -> Value { serde_json::from_str(&read(name)).expect("SARIF is JSON") };

    let code = run(&[
        "--output",
        "/dev/full",
        "--junit",
        "j.xml",
        "--sarif",
        "s.sarif",
    ]);
    assert_eq!(code, Some(100));
    assert!(read("j.xml").contains("failures=\"1\""));
    assert_eq!(
        sarif("s.sarif")["runs"][0]["results"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );

    let code = run(&[
        "--junit", "no/where", "--output", "o.txt", "--sarif", "s.sarif",
    ]);
    assert_eq!(code, Some(1));
    assert!(read("o.txt").contains("cannot write no/where"));
    let invocation = &sarif("s.sarif")["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
}

/// No results are no success when the run was not whole.
#[test]
fn sarif_says_whether_the_run_was_whole() {
    let bench = Bench::c(
        "void g(int x) { asm volatile(\"\" :: \"r\"(x)); }\n\
         int main(int c, char **v) {\n\
           g(c); if (c == 4) __builtin_trap(); if (c == 3) g(10);\n\
           while (c == 2) asm volatile(\"\"); return 0; }",
        &["-O0"],
    );
    let run = |event: &str, options: &[&str], args: &[&str]| -> (bool, String) {
        let text = format!("state init accepting {{ transition {{ event {event} {{ return x > 9 }} success bad }} }}
state bad non-accepting");
        bench.write("p.prop", &text);
        let options: Vec<&str> = ["-p", "p.prop", "--sarif", "s.sarif"]
            .into_iter()
            .chain(options.iter().copied())
            .collect();
        bench.check(&options, args);
        let text = std::fs::read_to_string(bench.path("s.sarif")).expect("a SARIF report");
        let log: Value = serde_json::from_str(&text).expect("SARIF is JSON");
        let invocation = &log["runs"][0]["invocations"][0];
        let note = &invocation["toolExecutionNotifications"][0]["message"]["text"];
        let note = note.as_str().unwrap_or_default().to_owned();
        (invocation["executionSuccessful"] == true, note)
    };
    for args in [&[][..], &["be", "bad"]] {
        assert_eq!(run("g(x)", &[], args), (true, String::new()));
    }
    for (event, options, args, reason) in [
        ("g(x, y)", &[][..], &[][..], "an event does not fit"),
        ("nowhere(x)", &[], &[], "never found"),
        ("g(x)", &["--timeout", "1"], &["wait"], "the time is up"),
        (
            "g(x)",
            &["--stop-on-violation"],
            &["be", "bad"],
            "ended at a violation",
        ),
        ("g(x)", &[], &["a", "b", "trap"], "killed by SIGILL"),
    ] {
        let (whole, note) = run(event, options, args);
        assert!(!whole && note.contains(reason), "{event}: {note}");
    }
}

/// All that follows the program is its own, also what looks like an option of ours.
#[test]
fn options_behind_the_program_are_its_own() {
    let source = "#include <stdio.h>\n\
        int main(int n, char **a) { for (int i = 1; i < n; i++) printf(\"[%s]\", a[i]); return 0; }";
    let bench = Bench::c(source, &[]);
    let own = ["-v", "-p", "x", "--help", "--", "-o"];
    let ways: [(&str, &[&str]); 3] = [
        ("check", &["-p", "std:file"]),
        ("record", &["-p", "std:file", "-o", "trace"]),
        ("debug", &["--batch", "--ex", "run"]),
    ];
    for (command, options) in ways {
        for separator in [&[][..], &["--"]] {
            let mut verde = bench.command(command);
            verde.args(options).args(separator).arg("./prog").args(own);
            let done = verde.output().expect("verde runs");
            let said = String::from_utf8_lossy(&done.stdout);
            assert!(
                said.contains("[-v][-p][x][--help][--][-o]"),
                "{command}: {said}"
            );
        }
    }
}

#[test]
fn a_script_is_run_by_its_interpreter() {
    let bench = Bench::new();
    bench.write("script", "#!/bin/sh -e\necho here\n");
    let property = "state init { transition { event syscall write() success init } }";
    bench.write("p.prop", property);
    let check = |program: &[&str]| {
        let mut check = bench.command("check");
        let done = check.args(["-p", "p.prop", "--"]).args(program).output();
        let done = done.expect("verde runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    let (code, _, errors) = check(&["./script"]);
    assert_eq!(code, Some(1));
    let hint = "the program is its interpreter; give /bin/sh -e ./script";
    assert!(errors.contains(hint), "{errors}");
    let (code, out, errors) = check(&["/bin/sh", "-e", "./script"]);
    assert_eq!((code, &*out), (Some(0), "here\n"), "{errors}");
}

/// `f` and `::f` are events of their own, in a trace as in the run.
#[test]
fn a_trace_tells_scopes_apart() {
    let bench = Bench::new();
    let source = "#define F __attribute__((noipa)) void f(int x) { asm volatile(\"\"); }\n\
        namespace n { F }\nF\nint main() { n::f(1); f(2); f(3); n::f(4); }";
    bench.compile("g++", "prog.cc", source, "prog", &[]);
    for (name, event) in [("any", "f"), ("global", "::f")] {
        let text = format!(
            "state init {{ transition {{ event {event}(x) {{ print('{name}', x) }} success init }} }}"
        );
        bench.write(&format!("{name}.prop"), &text);
    }
    for order in [["any.prop", "global.prop"], ["global.prop", "any.prop"]] {
        let mut record = bench.command("record");
        record.args(["-p", order[0], "-p", order[1], "-o", "t.jsonl", "./prog"]);
        assert!(record.output().expect("verde runs").status.success());
        for monitors in [&order[..1], &order[1..], &order[..]] {
            let options: Vec<&str> = monitors.iter().flat_map(|m| ["-p", m]).collect();
            let live = bench.check(&options, &[]);
            let mut replay = bench.command("replay");
            replay.args(["--format", "jsonl"]).args(&options);
            let done = replay.arg("t.jsonl").output().expect("verde runs");
            let out = String::from_utf8_lossy(&done.stdout);
            let rows = out.lines().map(|l| serde_json::from_str(l).expect("a row"));
            let rows: Vec<Value> = rows.collect();
            let printed = rows.iter().filter(|r| r["type"] == "print");
            let printed: Vec<_> = printed.filter_map(|r| r["text"].as_str()).collect();
            assert_eq!(printed, live.printed(), "{monitors:?}: {}", live.err);
        }
    }
}

/// What the schemas require of every report, whatever the run was.
#[test]
fn reports_of_every_kind_of_run() {
    let bench = Bench::new();
    let source = r#"
#include <signal.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) void f(int x) { asm volatile("" :: "r"(x)); }
__attribute__((noinline)) void g(int x) { asm volatile("" :: "r"(x)); }
int main(int c, char **v) {
    const char *w = v[1];
    if (!strcmp(w, "two")) { f(1); g(2); }
    if (!strcmp(w, "again") || !strcmp(w, "raised")) for (int i = 0; i < 3; i++) f(i);
    if (!strcmp(w, "killed")) raise(SIGSEGV);
    if (!strcmp(w, "late")) for (;;) pause();
    return 0;
}
"#;
    std::fs::create_dir(bench.path("a dir")).expect("a folder");
    bench.compile("gcc", "a dir/my prog.c", source, "prog", &[]);
    bench.write(
        "p.prop",
        "slice on x
         state init { transition { event f(x) success bad } transition { event g(x) success worse } }
         state bad non-accepting
         state worse non-accepting",
    );
    bench.write(
        "r.prop",
        "state init { transition { event f(x) { return 1 / 0 } success init failure bad } }
         state bad non-accepting",
    );
    for (word, property, code, results, cases) in [
        ("none", "p", 0, 0, [1, 0, 0, 0]),
        ("two", "p", 100, 2, [1, 1, 0, 0]),
        ("again", "p", 100, 1, [1, 1, 0, 0]),
        ("raised", "r", 1, 0, [1, 0, 1, 0]),
        ("killed", "p", 139, 0, [2, 0, 1, 0]),
        ("late", "p", 124, 0, [2, 0, 1, 1]),
    ] {
        let file = format!("{property}.prop");
        let options = ["-p", &file, "--junit", "j.xml", "--sarif", "s.sarif"];
        let limit: &[&str] = match word {
            "late" => &["--timeout", "3"],
            _ => &[],
        };
        let ran = bench.check(&[&options, limit].concat(), &[word]);
        assert_eq!(ran.code, code, "{word}: {}", ran.err);
        let read = |name| std::fs::read_to_string(bench.path(name)).expect("a report");
        let junit = read("j.xml");
        let [tests, failures, errors, skipped] = cases;
        let counts = format!(
            "<testsuite name=\"verde\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">"
        );
        assert!(junit.contains(&counts), "{word}: {junit}");
        assert_eq!(junit.matches("<testcase ").count(), tests, "{junit}");
        assert_eq!(junit.matches("<error ").count(), errors, "{junit}");
        assert_eq!(junit.matches("<skipped ").count(), skipped, "{junit}");
        let sarif: Value = serde_json::from_str(&read("s.sarif")).expect("SARIF is JSON");
        is_sarif(&sarif, word);
        let found = sarif["runs"][0]["results"].as_array().expect("results");
        assert_eq!(found.len(), results, "{word}: {sarif}");
        let times: u64 = found
            .iter()
            .filter_map(|r| r["occurrenceCount"].as_u64())
            .sum();
        assert_eq!(times, if word == "again" { 3 } else { results as u64 });
        let is_whole = sarif["runs"][0]["invocations"][0]["executionSuccessful"] == true;
        assert_eq!(is_whole, matches!(word, "none" | "two" | "again"), "{word}");
    }
}

/// The fields that SARIF 2.1.0 requires, and what it says of lines and names of files.
fn is_sarif(log: &Value, word: &str) {
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert!(run["tool"]["driver"]["name"].is_string());
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    for call in run["invocations"].as_array().expect("invocations") {
        assert!(call["executionSuccessful"].is_boolean());
        let notes = call["toolExecutionNotifications"].as_array();
        for note in notes.expect("notifications") {
            assert!(note["message"]["text"].is_string());
        }
    }
    for result in run["results"].as_array().expect("results") {
        assert!(result["message"]["text"].is_string());
        assert!(rules.iter().any(|r| r["id"] == result["ruleId"]));
        let at = &result["locations"][0]["physicalLocation"];
        let uri = at["artifactLocation"]["uri"].as_str().unwrap_or_default();
        assert!(uri.ends_with("my%20prog.c"), "{word}: {uri}");
        assert!(at["region"]["startLine"].as_u64().is_some_and(|l| l > 0));
        let flow = &result["codeFlows"][0]["threadFlows"][0]["locations"];
        assert!(flow.as_array().is_some_and(|f| !f.is_empty()));
        for frame in result["stacks"][0]["frames"].as_array().expect("frames") {
            let names = &frame["location"]["logicalLocations"];
            assert!(names[0]["name"].is_string());
        }
    }
}

/// A trace has what the run had, also numbers that JSON has no word for.
#[test]
fn a_recorded_trace_has_the_same_values() {
    let bench = Bench::c(
        "void limit(double d, const char *s) { (void)d, (void)s; }
        int main(void) { limit(5, \"nan\"); limit(__builtin_inf(), \"inf\"); limit(-__builtin_inf(), \"\");
            limit(__builtin_nan(\"\"), \"-inf\"); return 0; }",
        &[],
    );
    let property = "state init {
        transition { event limit(d, s : str) { print(type(d).__name__, d, repr(s)) } success init } }";
    let ran = bench.check_property(property, &[]);
    let wanted = [
        "float 5.0 'nan'",
        "float inf 'inf'",
        "float -inf ''",
        "float nan '-inf'",
    ];
    assert_eq!(ran.printed(), wanted, "{}", ran.err);
    bench.write("same.prop", property);
    for args in [
        &["record", "-p", "same.prop", "-o", "t.jsonl", "--", "./prog"][..],
        &["replay", "-p", "same.prop", "--format", "jsonl", "t.jsonl"],
    ] {
        let done = bench.command(args[0]).args(&args[1..]).output();
        let done = done.expect("verde runs");
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        if args[0] == "replay" {
            let rows = String::from_utf8_lossy(&done.stdout).into_owned();
            let rows = rows
                .lines()
                .map(|l| serde_json::from_str::<Value>(l).expect("JSON"));
            let printed = rows.filter(|r| r["type"] == "print" && r["property"] != "verde");
            let printed: Vec<Value> = printed.map(|r| r["text"].clone()).collect();
            assert_eq!(printed, wanted);
        }
    }
}

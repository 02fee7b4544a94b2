//! Scenarios: reactions to states, points, signals and the end.

use crate::bench::{Bench, in_order};

const SOLVER: &str = r#"
#include <stdio.h>
int cells[16];
__attribute__((noinline)) void check(int ok) { asm volatile("" :: "r"(ok)); }
__attribute__((noinline)) void put(int i, int v) { cells[i] = v; }
int main(void) {
    for (int r = 0; r < 5; r++) { for (int i = 0; i < 8; i++) put(i, r * 10 + i); check(r != 3); }
    printf("sum %d\n", cells[0] + cells[7]);
    return 0;
}
"#;

const PROPERTY: &str = "initialization { n = 0 }
state init accepting { transition { event check(ok) { return ok != 0 } success { n = n + 1 } init failure bad } }
state bad non-accepting { transition { event check(ok) { return ok != 0 } success init failure bad } }
";

#[test]
fn back_to_the_last_good_state_with_watchpoints() {
    let bench = Bench::c(SOLVER, &["-O1"]);
    bench.write("p.prop", PROPERTY);
    bench.write(
        "s.sc",
        "initialization { last = None; done = False; hits = 0 }
on entering accepting state { last = last if done else checkpoint() }
on entering non-accepting state {
    if not done:
        done = True
        restore_checkpoint(last)
        for i in range(8): set_watchpoint(\"cells[%d]\" % i, \"w\")
}
on watchpoint { hits = hits + 1 }
on exit { print(\"hits\", hits) }
",
    );
    let alone = bench.alone(&[]);
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    assert_eq!(ran.out, alone.out);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let prints = ran.of_type("print");
    // Two more rounds of eight cells after the restore.
    assert_eq!(prints.last().map(|p| &p["text"]), Some(&"hits 16".into()));
    assert_eq!(ran.last()["events"], 5);
}

#[test]
fn the_default_scenario_of_the_paper() {
    let bench = Bench::c(SOLVER, &["-O1"]);
    bench.write("p.prop", PROPERTY);
    bench.write("s.sc", "on entering non-accepting state { stop() }\n");
    let text = bench.debug(
        &["-p", "p.prop", "-s", "s.sc"],
        &["run", "print cells[0]", "continue"],
    );
    in_order(
        &text,
        &[
            "Current state: bad (n = 3)",
            "[Execution stopped.]",
            "$1 = 30",
            "exited normally",
        ],
    );
}

#[test]
fn keyword_form_and_order_of_reactions() {
    let bench = Bench::c(SOLVER, &["-O1"]);
    bench.write("p.prop", PROPERTY);
    bench.write(
        "s.sc",
        "initialization { log = [] }
on leaving state init { log.append(\"leave init\") }
on entering any state { log.append(\"enter\") }
on changing any state { log.append(\"change\") }
on exit { print(\" \".join(log)) }
",
    );
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    let prints = ran.of_type("print");
    let text = prints.last().and_then(|p| p["text"].as_str());
    assert_eq!(
        text,
        Some(
            "leave init enter leave init enter leave init enter \
             leave init enter change enter change"
        ),
        "{}",
        ran.err
    );
}

#[test]
fn threads_are_saved_and_restored_with_their_monitors() {
    let bench = Bench::c(
        r#"
#include <pthread.h>
#include <stdio.h>
__attribute__((noinline)) void tick(int id, int i) { asm volatile("" :: "r"(id), "r"(i)); }
static void *run(void *a) { int id = (int)(long)a; for (int i = 0; i < 300; i++) tick(id, i); return 0; }
int main(void) { pthread_t t[6]; for (long i = 0; i < 6; i++) pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 6; i++) pthread_join(t[i], 0); puts("done"); return 0; }
"#,
        &["-O1", "-pthread"],
    );
    bench.write(
        "p.prop",
        "slice on id
initialization { n = 0 }
state init accepting { transition { event tick(id, i) { return i == 0 } success { n = 1 } go failure bad } }
state go accepting { transition { event tick(id, i) { return i == n } success { n = n + 1 } go failure bad } }
state bad non-accepting",
    );
    bench.write(
        "s.sc",
        "initialization { k = 0; c = 0 }
on entering state go {
    k = k + 1
    if k == 400: c = checkpoint()
    if k in (700, 1000, 1300): restore_checkpoint(c)
}
on exit { print(k) }
",
    );
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    assert_eq!(ran.out, "done\n", "{}", ran.err);
    assert_eq!(ran.code, 0, "{} {:?}", ran.err, ran.rows);
    // As if the futures that were left had never been.
    assert_eq!(ran.last()["events"], 1800);
    assert_eq!(ran.last()["properties"][0]["slices"]["by_state"]["go"], 6);
}

const ROUNDS: &str = r#"
#include <stdio.h>
int total;
__attribute__((noinline)) void begin(int r) { asm volatile("" :: "r"(r)); }
__attribute__((noinline)) void add(int v) { total += v; }
__attribute__((noinline)) void finish(int t) { asm volatile("" :: "r"(t)); }
int main(void) {
    for (int r = 0; r < 6; r++) { begin(r); total = 0; for (int i = 1; i <= r; i++) add(i); finish(total); }
    return 0;
}
"#;

const TOTALS: &str = "initialization { rounds = 0 }
state init accepting { transition { event begin(r) success { rounds = rounds + 1 } busy } transition { event update total success init } }
state busy accepting { transition { event finish(t) { return t < 8 } success init failure bad } }
state bad non-accepting
";

#[test]
fn going_back_by_changes_of_state() {
    let bench = Bench::c(ROUNDS, &["-O1"]);
    bench.write("p.prop", TOTALS);
    let text = bench.debug(
        &["-p", "p.prop", "--auto-checkpoint", "states"],
        &[
            "run",
            "print t",
            "verde back",
            "verde exec get_env",
            "verde back 3",
            "print total",
            "verde exec get_env",
            "continue",
            "print t",
            "verde back 100",
        ],
    );
    in_order(
        &text,
        &[
            "[Execution stopped.]",
            "$1 = 10",
            "Back before event 10",
            "begin (r=4)",
            "{'rounds': 5}",
            "Back before event 7",
            "$2 = 3",
            "{'rounds': 3}",
            "[Execution stopped.]",
            "$3 = 10",
        ],
    );
    assert!(text.contains("has changed its state"), "{text}");
}

#[test]
fn the_last_interval_again_with_the_data_of_the_property() {
    let bench = Bench::c(ROUNDS, &["-O1"]);
    bench.write("p.prop", TOTALS);
    let ran = bench.check(&["-p", "p.prop", "--auto-zoom"], &[]);
    assert_eq!(ran.code, 100, "{}", ran.err);
    assert_eq!(ran.of_type("violation").len(), 1, "it is reported once");
    let closer: Vec<&str> = ran.err.lines().filter(|l| l.contains("closer: ")).collect();
    let wanted: Vec<String> = [0, 1, 3, 6, 10]
        .iter()
        .map(|v| format!("verde: closer: total = {v} in "))
        .collect();
    assert_eq!(closer.len(), wanted.len(), "{closer:?}");
    for (line, wanted) in closer.iter().zip(&wanted) {
        assert!(line.starts_with(wanted.as_str()), "{line}");
    }
}

/// The first change of state has a checkpoint before it, too, and so has the first event.
#[test]
fn the_first_change_is_seen_closer() {
    let bench = Bench::c(ROUNDS, &["-O1"]);
    bench.write(
        "p.prop",
        "state init accepting { transition { event write total(ret) { return ret < 10 } success init failure bad } }
state bad non-accepting",
    );
    let ran = bench.check(&["-p", "p.prop", "--auto-zoom"], &[]);
    assert_eq!(ran.code, 100, "{}", ran.err);
    assert!(ran.err.contains("closer: total = 10"), "{}", ran.err);
    bench.write(
        "q.prop",
        "state init accepting { transition { event write total(ret) success bad } }
state bad non-accepting",
    );
    let ran = bench.check(&["-p", "q.prop", "--auto-zoom"], &[]);
    assert_eq!(ran.code, 100, "{}", ran.err);
    assert!(ran.err.contains("Back before event 1: "), "{}", ran.err);
    assert!(ran.err.contains("closer: total = 0"), "{}", ran.err);
    assert_eq!(ran.of_type("violation").len(), 1, "{}", ran.err);
}

#[test]
fn a_reaction_that_restores_still_prints() {
    let bench = Bench::c(
        "__attribute__((noinline)) void f(int x) { asm volatile(\"\" :: \"r\"(x)); }\n\
         int main(void) { for (int i = 0; i < 4; i++) f(i); return 0; }",
        &["-O1"],
    );
    bench.write(
        "p.prop",
        "state init accepting { transition { event f(x) { return x < 3 } success init failure bad } }
state bad non-accepting { transition { event f(x) success bad } }",
    );
    bench.write(
        "s.sc",
        "initialization { last = None; done = False }
on entering accepting state { last = last if last else checkpoint() }
on entering non-accepting state {
    if not done:
        done = True
        print(\"before\")
        restore_checkpoint(last)
        print(\"after\")
    else:
        print(\"again\")
}
",
    );
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    assert_eq!(ran.printed(), ["before", "after", "again"], "{}", ran.err);
}

#[test]
fn a_reaction_knows_what_its_slice_binds() {
    let bench = Bench::c(
        "__attribute__((noinline)) void f(int q, int x) { asm volatile(\"\" :: \"r\"(q), \"r\"(x)); }\n\
         int main(void) { f(4, 1); f(7, 1); f(7, 9); return 0; }",
        &["-O1"],
    );
    bench.write(
        "p.prop",
        "slice on q
initialization { n = 0 }
state init accepting { transition { event f(q, x) { return x < 9 } success { n = n + 1 } init failure bad } }
state bad non-accepting",
    );
    bench.write(
        "s.sc",
        "on entering state bad { print(bindings()[\"q\"], monitor.get_env(bindings())[\"n\"]) }
on exit { print(bindings()) }
",
    );
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    assert_eq!(ran.printed(), ["7 1", "{}"], "{}", ran.err);
    let lint = bench.command("lint").arg("s.sc").output();
    let lint = lint.expect("verde runs");
    let text = String::from_utf8_lossy(&lint.stdout).into_owned();
    assert!(text.contains("no findings"), "{text}");
}

#[test]
fn entry_values_come_back_with_a_checkpoint() {
    let bench = Bench::c(
        "__attribute__((noinline)) int f(int x) {\n    asm volatile(\"\" :: \"r\"(x));\n    x = 99;\n    asm volatile(\"\" : \"+r\"(x));\n    return x;\n}\n\
         int main(void) { return f(7) != 99; }",
        &["-O0"],
    );
    bench.write(
        "p.prop",
        "state init accepting { transition { after event f(x, ret, entry(x) as y) { print(\"x\", x, ret, y) } success init } }
state away accepting { transition { event main() success init } }",
    );
    // The wait for the return ends with the state, and begins again with the checkpoint.
    let text = bench.debug(
        &["-p", "p.prop"],
        &[
            "break prog.c:5",
            "run",
            "checkpoint",
            "verde exec set_current_state away",
            "restart 1",
            "continue",
        ],
    );
    assert!(text.contains("x 7 99 7"), "{text}");
}

/// The first time the program does what it must not; it goes back to before that, and does not do
/// it again.
const ONCE: &str = "#include <unistd.h>
#include <fcntl.h>
#define KEPT __attribute__((noinline))
KEPT void mark(void) { asm volatile(\"\"); }
KEPT void bad(void) { asm volatile(\"\"); }
KEPT void later(void) { asm volatile(\"\"); }
int main(void) {
    mark();
    if (access(\"flag\", F_OK) != 0) { close(open(\"flag\", O_CREAT | O_WRONLY, 0600)); bad(); }
    later();
    return 0;
}";

fn once() -> Bench {
    let bench = Bench::c(ONCE, &["-O0"]);
    bench.write(
        "p.prop",
        "state init accepting { transition { event bad() success sink } }
state sink non-accepting",
    );
    bench.write(
        "q.prop",
        "state init accepting { transition { event mark() success marked } }
state marked accepting { transition { event later() success done } }
state done accepting",
    );
    bench.write(
        "s.sc",
        "initialization { c = None; gone = False }
on entering state marked { c = checkpoint() }
on entering state done {
    if not gone:
        gone = True
        restore_checkpoint(c)
}",
    );
    bench
}

const BOTH: [&str; 6] = ["-p", "p.prop", "-p", "q.prop", "-s", "s.sc"];

#[test]
fn what_was_reported_stays_reported() {
    let bench = once();
    let options: Vec<&str> = BOTH.into_iter().chain(["--junit", "j.xml"]).collect();
    let ran = bench.check(&options, &[]);
    assert_eq!(ran.code, 100, "{}", ran.err);
    assert_eq!(ran.of_type("violation").len(), 1);
    let p = &ran.last()["properties"][0];
    assert_eq!(
        (&p["verdict"], &p["violations"]),
        (&"false".into(), &1.into())
    );
    let junit = std::fs::read_to_string(bench.path("j.xml")).expect("a report");
    assert!(junit.contains("failures=\"1\""), "{junit}");
}

/// What a scenario goes back from is no violation until it comes again, which is said.
#[test]
fn a_violation_that_is_taken_back_is_told() {
    let bench = Bench::c(
        "__attribute__((noipa)) void ok(void) {} __attribute__((noipa)) void bad(void) {}\n\
         int main(void) { ok(); bad(); return 0; }",
        &["-O1"],
    );
    bench.write(
        "p.prop",
        "state init { transition { event ok() success good } }\n\
         state good { transition { event bad() success sink } } state sink non-accepting",
    );
    bench.write(
        "s.sc",
        "initialization { last = None; backs = 0 }\n\
         on entering state good { last = checkpoint() }\n\
         on entering state sink { backs = backs + 1\n if backs <= 2: restore_checkpoint(last) }",
    );
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    assert_eq!(ran.code, 100, "{}", ran.err);
    assert_eq!(ran.of_type("violation").len(), 1, "{}", ran.err);
    let said = "gone back from a violation";
    assert_eq!(ran.err.matches(said).count(), 1, "{}", ran.err);
}

/// A violation that comes again because the program was taken back before it is the same one;
/// another one is another, also at the same place.
#[test]
fn a_violation_that_comes_again_counts_once() {
    let source = "#define N __attribute__((noipa))\n\
        N void mark(void) { asm volatile(\"\"); } N void bad(int q) { asm volatile(\"\"); }\n\
        N void later(void) { asm volatile(\"\"); }\n\
        int main(void) { bad(1); mark(); bad(2); bad(3); later(); bad(4); return 0; }";
    let bench = once();
    bench.compile("gcc", "prog.c", source, "prog", &["-O0"]);
    bench.write(
        "p.prop",
        "slice on q\nstate init accepting { transition { event bad(q) success sink } }\n\
         state sink non-accepting final",
    );
    let options: Vec<&str> = BOTH.into_iter().chain(["--junit", "j.xml"]).collect();
    let ran = bench.check(&options, &[]);
    assert_eq!(ran.code, 100, "{}", ran.err);
    let slices = ran.of_type("violation");
    let slices: Vec<i64> = slices
        .iter()
        .filter_map(|v| v["slice"]["q"].as_i64())
        .collect();
    assert_eq!(slices, [1, 2, 3, 4], "{}", ran.err);
    assert_eq!(ran.last()["properties"][0]["violations"], 4);
    let junit = std::fs::read_to_string(bench.path("j.xml")).expect("a report");
    assert_eq!(junit.matches("<failure ").count(), 4, "{junit}");

    // The same at the prompt, where the user goes back, twice.
    let commands = [
        "break mark",
        "run",
        "continue",
        "checkpoint",
        "continue",
        "continue",
        "restart 1",
        "continue",
        "continue",
        "restart 1",
        "continue",
        "continue",
        "continue",
        "continue",
    ];
    let text = bench.debug(&["-p", "p.prop"], &commands);
    assert_eq!(text.matches("violation: p [q = 2]").count(), 3, "{text}");
    assert_eq!(text.matches("found again").count(), 4, "{text}");
    assert!(text.contains("p: violated, 4 violations"), "{text}");
}

#[test]
fn an_abandoned_future_is_not_in_the_trace() {
    let bench = once();
    let record = |output: &str| {
        let _ = std::fs::remove_file(bench.path("flag"));
        let mut record = bench.command("record");
        record.args(BOTH).args(["-o", output, "./prog"]);
        record.output().expect("verde runs")
    };
    assert!(record("t.jsonl").status.success());
    let trace = std::fs::read_to_string(bench.path("t.jsonl")).expect("a trace");
    let events: Vec<String> = trace
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).expect("a line is JSON"))
        .map(|v| format!("{} {}", v["n"], v["event"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(events, ["1 mark", "2 later"]);
    // What a pipe was given cannot be taken back.
    let piped = record("/dev/stdout");
    assert_eq!(piped.status.code(), Some(1));
    let err = String::from_utf8_lossy(&piped.stderr);
    assert!(err.contains("record to a file"), "{err}");
}

#[test]
fn nobody_reacts_to_what_is_suppressed() {
    let bench = once();
    bench.write("v.sc", "on verdict { print(\"heard\") }");
    bench.write("known", "p:main:*\n");
    let run = |suppress: &[&str]| {
        let _ = std::fs::remove_file(bench.path("flag"));
        let options: Vec<&str> = ["-p", "p.prop", "-s", "v.sc"]
            .into_iter()
            .chain(suppress.iter().copied())
            .collect();
        let ran = bench.check(&options, &[]);
        let heard = ran.printed().contains(&"heard");
        (ran.code, heard)
    };
    assert_eq!(run(&[]), (100, true));
    assert_eq!(run(&["--suppress", "known"]), (0, false));
}

/// A scenario hears of the signals that it asks for, whether or not the program stops for them.
#[test]
fn signals_are_reacted_to() {
    let bench = Bench::c(
        "#include <signal.h>
        volatile int got;
        void handle(int s) { got++; }
        int main(void) { signal(SIGUSR1, handle); signal(SIGUSR2, handle);
          for (int i = 0; i < 3; i++) { raise(SIGUSR1); raise(SIGUSR2); }
          return got - 6; }",
        &["-O1"],
    );
    bench.write("p.prop", PROPERTY);
    let scenario = "initialization { k = 0 }\n\
                    on signal SIGUSR1 { k = k + 1; print(\"first\", k) }\n\
                    on exit { print(\"over\") }\n";
    bench.write("s.sc", scenario);
    let options = ["-p", "p.prop", "-s", "s.sc"];
    let ran = bench.check(&options, &[]);
    let heard = ["first 1", "first 2", "first 3", "over"];
    assert_eq!(ran.printed(), heard, "{}", ran.err);
    let commands = [
        "handle SIGUSR1 nostop noprint",
        "handle SIGUSR2 nostop noprint",
        "run",
    ];
    let said = bench.debug(&options, &commands);
    let said: Vec<&str> = said
        .lines()
        .filter_map(|l| l.strip_prefix("[verde] "))
        .collect();
    let said: Vec<&str> = said.into_iter().filter(|l| heard.contains(l)).collect();
    assert_eq!(said, heard);
}

#[test]
fn triggers_that_mean_nothing_are_noticed() {
    let bench = Bench::c(SOLVER, &["-O1"]);
    bench.write("p.prop", PROPERTY);
    let check = |scenario: &str| {
        bench.write("s.sc", scenario);
        bench.check(&["-p", "p.prop", "-s", "s.sc"], &[])
    };
    let ran = check("on entering state bda { stop() }");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("no loaded property has a state `bda`"),
        "{}",
        ran.err
    );
    let ran = check("on entering state bad of other { stop() }");
    assert!(
        ran.err.contains("no property `other` is loaded"),
        "{}",
        ran.err
    );
    let ran = check("on entering state bad of p, init { stop() }");
    assert_eq!(ran.code, 1, "{}", ran.err);
    let ran = check("on entering state bad, init of p { print(1) }");
    assert!(!ran.err.contains("warning"), "{}", ran.err);
    let ran = check("on signal SIGNOPE { stop() }");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
    assert!(
        ran.err.contains("there is no signal `SIGNOPE`"),
        "{}",
        ran.err
    );
}

#[test]
fn a_checkpoint_of_another_future_is_no_way_back() {
    let bench = Bench::c(
        r#"
int x;
__attribute__((noinline)) void tick(int i) { asm volatile("" :: "r"(i)); }
int main(void) { for (int i = 1; i <= 8; i++) tick(i); return 0; }
"#,
        &["-O0"],
    );
    bench.write(
        "p.prop",
        "state init accepting { transition { event tick(i) success other } }
state other accepting { transition { event tick(i) success init } }
",
    );
    let text = bench.debug(
        &["-p", "p.prop"],
        &[
            "tbreak tick if i == 2",
            "run",
            "checkpoint",
            "tbreak tick if i == 5",
            "continue",
            "checkpoint",
            "restart 1",
            "tbreak tick if i == 6",
            "continue",
            "verde back",
            "print i",
            "tbreak tick if i == 3",
            "run",
            "verde back",
        ],
    );
    in_order(
        &text,
        &[
            "Checkpoint 1: ",
            "Checkpoint 2: ",
            "Checkpoint 1: ",
            "$1 = 2",
            "No checkpoint is from before event 3",
        ],
    );
}

#[test]
fn a_program_that_cannot_be_saved_gives_no_number() {
    let bench = Bench::c(
        r#"
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) void step(int i) { asm volatile("" :: "r"(i)); }
int main(void) { unsigned long context = 0; syscall(SYS_io_setup, 8, &context);
    for (int i = 1; i <= 3; i++) step(i); return 0; }
"#,
        &["-O1"],
    );
    bench.write(
        "p.prop",
        "state init accepting { transition { event step(i) success init } }\n",
    );
    bench.write(
        "s.sc",
        "on entering any state { print(\"got\", checkpoint()) }\n",
    );
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    let prints = ran.of_type("print");
    let texts: Vec<_> = prints.iter().map(|p| &p["text"]).collect();
    assert_eq!(texts, ["got None", "got None", "got None"]);
    let reason = "no checkpoint of a program with asynchronous I/O";
    assert_eq!(ran.err.matches(reason).count(), 1, "{}", ran.err);
}

#[test]
fn automatic_checkpoints_make_room_for_later_ones() {
    let bench = Bench::c(
        r#"
#include <stdio.h>
#include <sys/resource.h>
__attribute__((noinline)) void tick(int i) { asm volatile("" :: "r"(i)); }
int main(void) { for (int i = 1; i <= 200; i++) tick(i); return 0; }
"#,
        &["-O1"],
    );
    bench.write(
        "p.prop",
        "state init accepting { transition { event tick(i) { return i < 190 } success init failure bad } }
state bad non-accepting
",
    );
    // Each of them needs a descriptor of the debugger.
    let text = limited(
        &bench,
        "-n 100",
        "-p p.prop --auto-checkpoint events --ex run --ex 'verde back' --ex 'print i'",
    );
    in_order(
        &text,
        &["[Execution stopped.]", "Back before event 190", "$1 = 189"],
    );
    assert!(!text.contains("error:"), "{text}");
}

#[test]
fn the_program_has_the_limits_of_before() {
    let bench = Bench::c(
        r#"
#include <stdio.h>
#include <sys/resource.h>
int main(void) { struct rlimit l; getrlimit(RLIMIT_NOFILE, &l); printf("may %d\n", (int)l.rlim_cur); return 0; }
"#,
        &["-O1"],
    );
    let commands = "--ex 'tbreak main' --ex run --ex checkpoint --ex run";
    let text = limited(&bench, "-S -n 200", commands);
    in_order(&text, &["Checkpoint 1: ", "may 200"]);
}

/// Also the user's own may be too many: he is told whose limit it is, and the program goes on.
#[test]
fn checkpoints_for_which_no_descriptor_is_left_are_refused() {
    let bench = Bench::c("int main(void) { return 0; }", &["-O1"]);
    let commands = [
        &["--ex 'tbreak main' --ex run"],
        [" --ex checkpoint"; 60].as_slice(),
        &[" --ex 'delete checkpoint 1' --ex checkpoint --ex continue"],
    ];
    let text = limited(&bench, "-n 60", &commands.concat().concat());
    in_order(
        &text,
        &[
            "Checkpoint 9: ",
            "Too many open files",
            "the debugger's own, which may have 60 (ulimit -n)",
            "Checkpoint 1: ",
            "exited normally",
        ],
    );
}

/// What a session prints that has a limit (`ulimit`).
fn limited(bench: &Bench, limit: &str, options: &str) -> String {
    let mut shell = std::process::Command::new("sh");
    shell.current_dir(bench.path(""));
    let verde = env!("CARGO_BIN_EXE_verde");
    let script = format!("ulimit {limit}; exec {verde} debug --batch {options} ./prog 2>&1");
    let output = shell.args(["-c", &script]).output().expect("a shell");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_thread_is_the_same_one_after_a_restore() {
    let bench = Bench::c(
        r#"
#include <pthread.h>
__attribute__((noinline)) void tick(int i) { asm volatile("" :: "r"(i)); }
static void *run(void *a) { for (int i = 0; i < 60; i++) tick(i); return a; }
int main(void) { pthread_t t[4]; for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0); return 0; }
"#,
        &["-O1", "-pthread"],
    );
    bench.write(
        "p.prop",
        "slice on tid
initialization { n = 0 }
state init accepting { transition { event tick(i, $tid as tid) { return i == n } success { n = n + 1 } init failure bad } }
state bad non-accepting",
    );
    bench.write(
        "s.sc",
        "initialization { k = 0; c = None; r = 0 }
on entering any state {
    k = k + 1
    if k == 100: c = checkpoint()
    if k > 100 and k % 20 == 0 and r < 4:
        r = r + 1
        restore_checkpoint(c)
}
on exit { print(\"restores\", r) }
",
    );
    // In a namespace the program's ids are those of before, but ours are not.
    let ran = bench.check(&["--namespace", "-p", "p.prop", "-s", "s.sc"], &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let prints = ran.of_type("print");
    assert_eq!(
        prints.last().map(|p| &p["text"]),
        Some(&"restores 4".into())
    );
}

#[test]
fn a_program_that_has_ended_is_brought_back() {
    let bench = Bench::c(SOLVER, &["-O1"]);
    bench.write("p.prop", PROPERTY);
    bench.write(
        "s.sc",
        "initialization { c = None; ends = 0 }
on entering state init { c = c if c else checkpoint() }
on exit {
    ends = ends + 1
    print(\"end\", ends)
    if ends < 3: restore_checkpoint(c)
}
",
    );
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    assert_eq!(ran.out, bench.alone(&[]).out.repeat(3));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.printed(), ["end 1", "end 2", "end 3"], "{}", ran.err);
    assert_eq!(ran.last()["events"], 5);
    let text = bench.debug(&["-p", "p.prop", "-s", "s.sc"], &["run"]);
    assert_eq!(text.matches(" restored in ").count(), 2, "{text}");
    assert_eq!(text.matches("exited normally").count(), 1, "{text}");
    bench.write("s.sc", "on exit { checkpoint() }\n");
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    let reason = "there is no program to save";
    assert!(ran.err.contains(reason), "{}", ran.err);
}

//! Checkpoints restored where something has changed since: the run, the end, the threads.

use crate::bench::{Bench, in_order};
use std::process::Stdio;
use std::time::{Duration, Instant};

const TICKS: &str = "
__attribute__((noinline)) void tick(int i) { asm volatile(\"\" :: \"r\"(i)); }
int main(void) { for (int i = 1; i <= 8; i++) tick(i); return 0; }
";

#[test]
fn monitors_see_the_events_after_a_checkpoint_of_an_earlier_run() {
    let bench = Bench::c(TICKS, &["-O0"]);
    bench.write(
        "p.prop",
        "state init accepting { transition { event tick(i) { return i < 6 } success init failure bad } }
state bad non-accepting
",
    );
    let text = bench.debug(
        &["-p", "p.prop"],
        &[
            "tbreak tick if i == 3",
            "run",
            "checkpoint",
            "tbreak tick if i == 2",
            "run",
            "restart 1",
            "continue",
            "print i",
        ],
    );
    in_order(
        &text,
        &[
            "Checkpoint 1: ",
            "restored",
            "reached bad at event 6",
            "$1 = 6",
        ],
    );
}

#[test]
fn without_properties_the_way_back_is_by_automatic_checkpoints() {
    let bench = Bench::c(TICKS, &["-O0"]);
    let text = bench.debug(&[], &["break tick", "run", "verde back"]);
    assert!(text.contains("start with --auto-checkpoint"), "{text}");
    let commands = ["break tick", "run", "verde back", "continue", "print i"];
    let text = bench.debug(&["--auto-checkpoint", "60"], &commands);
    in_order(&text, &["Back: process", "tick (i=1)", "$1 = 1"]);
}

/// Where a checkpoint was restored, or another one taken since, that one is no way back.
#[test]
fn every_way_back_leads_further_until_something_has_run() {
    let bench = Bench::c(TICKS, &["-O0"]);
    let commands = [
        "break tick",
        "run",
        "verde back",
        "verde back",
        "checkpoint",
        "continue",
        "restart 1",
        "verde back",
        "stepi",
        "verde back",
    ];
    let text = bench.debug(&["--auto-checkpoint", "60"], &commands);
    // Only the first and the last lead back; the others find nothing before the beginning.
    in_order(&text, &["Back: process", "Checkpoint 1: ", "Back: process"]);
    assert_eq!(text.matches("Back: process").count(), 2, "{text}");
    let none = "There is no earlier automatic checkpoint.";
    assert_eq!(text.matches(none).count(), 2, "{text}");
}

#[test]
fn open_calls_return_after_the_program_was_brought_back() {
    let bench = Bench::c(
        "__attribute__((noinline)) void hold(void) { asm volatile(\"\"); }
__attribute__((noinline)) int f(int n) { if (n == 0) { hold(); return 1; } return 1 + f(n - 1); }
int main(void) { return f(5) - 6; }
",
        &["-O0"],
    );
    bench.write(
        "p.prop",
        "initialization { begun = 0; over = 0; sum = 0 }
state init accepting {
    transition { event f(n) success { begun = begun + 1 } init }
    transition { after event f(n, ret) success { over = over + 1; sum = sum + n } init }
}
",
    );
    let text = bench.debug(
        &["-p", "p.prop"],
        &[
            "tbreak hold",
            "run",
            "checkpoint",
            "continue",
            "restart 1",
            "continue",
            "verde exec get_env",
            "restart 1",
            "restart 1",
            "continue",
            "verde exec get_env",
        ],
    );
    let all = "{'begun': 6, 'over': 6, 'sum': 15}";
    assert_eq!(text.matches(all).count(), 2, "{text}");
}

#[test]
fn another_thread_is_shown_where_the_selected_one_had_ended() {
    let bench = Bench::c(
        "#include <pthread.h>
__attribute__((noinline)) void spot(void) { asm volatile(\"\"); }
__attribute__((noinline)) void hold(void) { asm volatile(\"\"); }
__attribute__((noinline)) void tick(int i) { asm volatile(\"\" :: \"r\"(i)); }
static void *work(void *none) { spot(); return none; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    for (int i = 1; i <= 4; i++) tick(i);
    hold();
    return 0;
}
",
        &["-O0", "-pthread"],
    );
    bench.write(
        "p.prop",
        "state init accepting { transition { event tick(i) success other } }
state other accepting { transition { event tick(i) success init } }
",
    );
    let text = bench.debug(
        &["-p", "p.prop", "--auto-checkpoint", "states"],
        &[
            "tbreak spot",
            "run",
            "tbreak hold",
            "continue",
            "verde back",
            "print i",
            "thread",
            "continue",
            "verde back 2",
            "print i",
        ],
    );
    in_order(
        &text,
        &[
            "Back before event 4",
            "$1 = 3",
            "[Current thread is 1 ",
            "exited normally",
            "Back before event 3",
            "$2 = 2",
        ],
    );
}

/// Waits until the debugger has so many children besides the program.
const WAITS: &str = r#"
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void hold(void) { asm volatile(""); }
static int copies(void) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/task/%d/children", getppid(), getppid());
    FILE *list = fopen(name, "r");
    int pid, count = -1;
    while (list && fscanf(list, "%d", &pid) == 1) count++;
    if (list) fclose(list);
    return count;
}
int rounds;
int main(void) {
    alarm(60);
    while (copies() < 4) { rounds++; usleep(1000); }
    hold();
    return 0;
}
"#;

#[test]
fn time_is_enough_for_a_checkpoint() {
    let bench = Bench::c(WAITS, &["-O0"]);
    let text = bench.debug(
        &["--auto-checkpoint", "0.02"],
        &[
            "break hold",
            "run",
            "info checkpoints",
            "verde back",
            "info checkpoints",
            "verde back",
            "info checkpoints",
            "verde back 2",
            "info checkpoints",
            "print rounds",
            "verde back 100",
        ],
    );
    let counts = text.lines().filter_map(|l| l.split_once(" automatic, "));
    let counts: Vec<i32> = counts.filter_map(|(n, _)| n.parse().ok()).collect();
    let n = counts[0];
    assert_eq!(counts, [n, n, n - 1, n - 3], "{text}");
    in_order(
        &text,
        &[
            "Breakpoint 1, hold",
            " automatic, ",
            "Back: process ",
            "$1 = ",
            "earlier automatic checkpoint",
        ],
    );
}

#[test]
fn the_beginning_can_be_gone_back_to() {
    for options in [&["-O0"][..], &["-O0", "-static"]] {
        let bench = Bench::c(TICKS, options);
        bench.write(
            "p.prop",
            "state init accepting { transition { event tick(i) success bad } }
state bad non-accepting
",
        );
        let text = bench.debug(
            &["-p", "p.prop", "--auto-checkpoint", "states"],
            &["run", "verde back", "continue", "print i"],
        );
        in_order(
            &text,
            &[
                "reached bad at event 1",
                "Back before event 1",
                "in _start ()",
                "reached bad at event 1",
                "(found again)",
                "$1 = 1",
            ],
        );
    }
}

/// An object is not left open by an end that the scenario takes back: the end that counts is the
/// last one.
#[test]
fn an_end_that_is_taken_back_leaves_nothing_open() {
    let bench = Bench::c(
        "#include <fcntl.h>
#include <unistd.h>
__attribute__((noinline)) void begin(int k) { asm volatile(\"\" :: \"r\"(k)); }
__attribute__((noinline)) void end(int k) { asm volatile(\"\" :: \"r\"(k)); }
int main(void) {
    begin(1);
    int again = access(\"flag\", F_OK) == 0;
    close(open(\"flag\", O_CREAT | O_WRONLY, 0600));
    if (again) end(1);
    return 0;
}
",
        &["-O0"],
    );
    bench.write(
        "p.prop",
        "slice on k
state init { transition { event begin(k) success open } }
state open non-accepting { transition { event end(k) success closed } }
state closed accepting
",
    );
    bench.write(
        "s.sc",
        "initialization { c = None; n = 0 }
on entering state open { if n == 0: c = checkpoint() }
on exit {
    n = n + 1
    if n == 1: restore_checkpoint(c)
}
",
    );
    let options = ["-p", "p.prop", "-s", "s.sc"];
    let text = bench.debug(&options, &["run"]);
    in_order(&text, &["restored in", "p: holds", "exited normally"]);
    assert!(!text.contains("violated"), "{text}");
    std::fs::remove_file(bench.path("flag")).expect("the program has been there");
    let ran = bench.check(&options, &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// What is found after a restart was undone is new, though it was found before like this.
#[test]
fn violations_are_counted_after_a_restart_was_undone() {
    let bench = Bench::c(
        "__attribute__((noinline)) void bad(int k) { asm volatile(\"\" :: \"r\"(k)); }
int main(void) { for (int i = 0; i < 3; i++) bad(1); return 0; }
",
        &["-O0"],
    );
    bench.write(
        "p.prop",
        "slice on k
state init { transition { event bad(k) success sink } }
state sink non-accepting final
",
    );
    let commands = [
        "break main",
        "run",
        "checkpoint",
        "continue",
        "restart 1",
        "restart undo",
        "continue",
        "continue",
        "continue",
    ];
    let text = bench.debug(&["-p", "p.prop"], &commands);
    assert!(text.contains("p: violated, 3 violations"), "{text}");
    assert!(!text.contains("found again"), "{text}");
}

/// The values of a checkpoint that nobody can restore any more are gone, also Python's.
#[test]
fn no_value_is_kept_for_what_was_undone() {
    let bench = Bench::c(TICKS, &["-O0"]);
    bench.write(
        "f.py",
        "alive = 0
class Value:
    def __init__(self):
        global alive
        alive += 1
    def __del__(self):
        global alive
        alive -= 1
    def __deepcopy__(self, memo):
        return Value()
def look():
    print('alive:', alive)
",
    );
    bench.write(
        "p.prop",
        "initialization { v = Value() }
state init { transition { event tick() { look() } success init } }
",
    );
    let alive_after = |undone: usize| {
        let mut commands = vec!["tbreak tick", "run", "checkpoint"];
        for _ in 0..undone {
            commands.extend(["restart 1", "restart undo"]);
        }
        commands.push("continue");
        let text = bench.debug(&["-p", "p.prop", "-f", "f.py"], &commands);
        let line = text.lines().rfind(|l| l.contains("alive:"));
        line.expect("it was looked").to_owned()
    };
    assert_eq!(alive_after(1), alive_after(5));
}

/// What was given up is there again when that is undone.
#[test]
fn the_way_back_after_a_way_back_was_undone() {
    let bench = Bench::c(TICKS, &["-O0"]);
    bench.write("p.prop", MOVES);
    let place = |ways: &[&str]| {
        let commands: Vec<&str> = ["run"].iter().chain(ways).copied().collect();
        let options = ["-p", "p.prop", "--auto-checkpoint", "states"];
        let text = bench.debug(
            &options,
            &[&commands[..], &["print $pc", "print i"]].concat(),
        );
        let values = text.lines().filter(|l| l.starts_with('$'));
        values.map(str::to_owned).collect::<Vec<String>>()
    };
    let direct = place(&["verde back 2"]);
    assert_eq!(
        place(&["verde back 6", "restart undo", "verde back 2"]),
        direct
    );
    let kept = ["checkpoint", "verde back 6", "restart 1", "verde back 2"];
    assert_eq!(place(&kept), direct);
    // Also where another future was taken meanwhile.
    let undone = ["verde back 6", "continue", "restart undo", "verde back 2"];
    assert_eq!(place(&undone), direct);
    let kept = [
        "checkpoint",
        "verde back 6",
        "continue",
        "verde back 3",
        "continue",
        "restart 1",
        "verde back 2",
    ];
    assert_eq!(place(&kept), direct);
}

const WRITES: &str = "
#include <string.h>
char data[4 << 20];
__attribute__((noinline)) void tick(int i) { asm volatile(\"\" :: \"r\"(i)); }
int main(void) { for (int i = 1; i <= 8; i++) { memset(data, i, sizeof data); tick(i); } return 0; }
";

/// In other states after each event, and stopped by the eighth.
const MOVES: &str =
    "state init accepting { transition { event tick(i) { return i < 8 } success other failure bad } }
state other accepting { transition { event tick(i) { return i < 8 } success init failure bad } }
state bad non-accepting
";

/// Each checkpoint costs more than the budget: only the first and the last two are kept.
const THRIFTY: [&str; 6] = [
    "-p",
    "p.prop",
    "--auto-checkpoint",
    "states",
    "--checkpoint-budget",
    "1",
];

#[test]
fn the_way_back_says_how_far_it_leads_where_nearer_checkpoints_made_room() {
    let bench = Bench::c(WRITES, &["-O0"]);
    bench.write("p.prop", MOVES);
    let text = bench.debug(
        &THRIFTY,
        &["run", "verde back 4", "break tick", "continue", "print i"],
    );
    in_order(
        &text,
        &[
            "Back before event 5, before the first event (nearer checkpoints have made room): ",
            "in _start ()",
            "$1 = 1",
        ],
    );
    let text = bench.debug(&THRIFTY, &["run", "verde back", "print i"]);
    in_order(&text, &["Back before event 8: ", "$1 = 7"]);
}

#[test]
fn the_last_checkpoints_are_kept_however_many_futures_there_are() {
    let bench = Bench::c(WRITES, &["-O0"]);
    bench.write("p.prop", MOVES);
    let text = bench.debug(
        &THRIFTY,
        &[
            "run",
            "checkpoint",
            "verde back",
            "continue",
            "verde back",
            "print i",
            "continue",
            "verde back 8",
            "continue",
            "info checkpoints",
            "verde back",
            "print i",
            "restart 1",
            "verde back",
        ],
    );
    in_order(
        &text,
        &[
            "Back before event 8: ",
            "Back before event 8: ",
            "$1 = 7",
            "Back before event 1: ",
            "3 automatic, after events 0 to 8,",
            "Back before event 8: ",
            "$2 = 7",
            "Checkpoint 1: ",
            "Back before event 8, before the first event (nearer checkpoints have made room): ",
        ],
    );
}

#[test]
fn the_way_back_by_a_checkpoint_of_the_users_says_how_far_it_leads() {
    let bench = Bench::c(TICKS, &["-O0"]);
    bench.write("p.prop", MOVES);
    let commands = [
        "tbreak tick if i == 4",
        "run",
        "checkpoint",
        "continue",
        "verde back",
        "print i",
    ];
    let text = bench.debug(&["-p", "p.prop"], &commands);
    // It stands in the fourth call, the event of which has been seen.
    let place = "Back before event 8, after event 4, checkpoint 1: process ";
    in_order(&text, &[place, "$1 = 4"]);
}

/// Unless it is the name of a variable.
#[test]
fn the_beginning_of_undo_is_enough() {
    let bench = Bench::c("int un = 1;\nint main(void) { return 0; }\n", &["-O0"]);
    let commands = [
        "break main",
        "run",
        "checkpoint",
        "restart un",
        "restart u",
        "restart x",
    ];
    let text = bench.debug(&[], &commands);
    in_order(
        &text,
        &[
            "Checkpoint 1: ",
            "saved in",
            "Checkpoint 1: ",
            "restored in",
            "The moment before the last restart: ",
            "No symbol \"x\" in current context.",
        ],
    );
}

const FEEDS: &str = "
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void tick(int i) { asm volatile(\"\" :: \"r\"(i)); }
int main(void) {
    alarm(60);
    tick(1);
    FILE *child = popen(\"cat >/dev/null\", \"w\");
    for (int i = 2; i <= 5; i++) tick(i);
    int result = pclose(child);
    tick(6);
    return result ? 1 : 5;
}
";

/// The child waits for the end of its input, and the program for the child.
#[test]
fn automatic_checkpoints_keep_no_child_waiting() {
    let bench = Bench::c(FEEDS, &["-O0"]);
    bench.write(
        "p.prop",
        "state init accepting { transition { event tick(i) success init } }\n",
    );
    for often in ["events", "0.001"] {
        let ran = bench.check(&["-p", "p.prop", "--auto-checkpoint", often], &[]);
        assert_eq!(ran.code, 5, "{often}: {}", ran.err);
        if often == "events" {
            assert!(
                ran.err
                    .contains("no automatic checkpoints while other processes"),
                "{}",
                ran.err
            );
        }
    }
}

const LARGE: &str = r#"#include <stdlib.h>
#include <string.h>
static void tick(int i) { (void)i; }
int main(void) {
    volatile unsigned long sum = 0;
    memset(malloc(400 << 20), 1, 400 << 20);
    tick(1);
    for (long i = 0; i < 100000000; i++)
        sum += i;
    return 6;
}
"#;

/// Each one takes longer than the time between two.
#[test]
fn automatic_checkpoints_leave_the_program_time() {
    let bench = Bench::c(LARGE, &["-O0"]);
    bench.write(
        "p.prop",
        "state init accepting { transition { event tick(i) success init } }\n",
    );
    let mut check = bench.command("check");
    check.args(["-p", "p.prop", "--auto-checkpoint", "0.001", "--", "./prog"]);
    let mut verde = check.stderr(Stdio::null()).spawn().expect("verde runs");
    let end = Instant::now() + Duration::from_secs(60);
    let status = loop {
        match verde.try_wait().expect("a status") {
            None if Instant::now() > end => break None,
            None => std::thread::sleep(Duration::from_millis(10)),
            status => break status,
        }
    };
    // Nothing else ends it then.
    let _ = verde.kill();
    verde.wait().expect("its end");
    assert_eq!(status.and_then(|status| status.code()), Some(6));
}

//! Reads and writes of instructions that load and store.

use crate::bench::Bench;
use serde_json::Value;

/// `v` is 1 at first; each line changes it. It is on a page with much else.
const ONE_THREAD: &str = r#"
#include <unistd.h>
struct { int far[64]; int v; int near[64]; long many[6]; } d = {.v = 1};
int main(void) {
    int r = 7, fds[2], k = 40;
    __asm__ volatile("addl $1,%0" : "+m"(d.v));
    __asm__ volatile("incl %0" : "+m"(d.v));
    __asm__ volatile("xchg %0,%1" : "+m"(d.v), "+r"(r));
    __asm__ volatile("lock xaddl %1,%0" : "+m"(d.v), "+r"(r));
    __asm__ volatile("subl $4,%0" : "+m"(d.v));
    __asm__ volatile("orl $8,%0" : "+m"(d.v));
    __asm__ volatile("shll $1,%0" : "+m"(d.v));
    __asm__ volatile("negl %0" : "+m"(d.v));
    __asm__ volatile("lock cmpxchgl %1,%0" : "+m"(d.v) : "r"(5), "a"(-28));
    __asm__ volatile("lock cmpxchgl %1,%0" : "+m"(d.v) : "r"(9), "a"(6));
    __asm__ volatile("addw $3,%0" : "+m"(*(short *)&d.v));
    d.v = 30;
    r = d.v;
    if (pipe(fds) || write(fds[1], &k, 4) != 4 || read(fds[0], &d.v, 4) != 4) return 1;
    __asm__ volatile("addl $2,%0" : "+m"(d.v));
    return 0;
}
"#;

fn rets(events: &[Value], kind: &str, when: &str, name: &str) -> Vec<i64> {
    let wanted = events
        .iter()
        .filter(|e| e["kind"] == kind && e["when"] == when && e["event"] == name);
    wanted.filter_map(|e| e["args"]["ret"].as_i64()).collect()
}

const LOADED: [i64; 13] = [1, 2, 3, 7, 10, 6, 14, 28, -28, 5, 5, 30, 40];

#[test]
fn an_instruction_that_loads_and_stores_has_read_what_was_there() {
    let bench = Bench::c(ONE_THREAD, &["-O0"]);
    let events = bench.events(&["event read d.v (ret)"]);
    assert_eq!(rets(&events, "read", "after", "d.v"), LOADED);
    // Together with the writes of the same instructions.
    let events = bench.events(&[
        "event read d.v (ret)",
        "before event write d.v (ret)",
        "event write d.v (ret)",
    ]);
    assert_eq!(rets(&events, "read", "after", "d.v"), LOADED);
    let stored = [2, 3, 7, 10, 6, 14, 28, -28, 5, 5, 8, 30, 42];
    assert_eq!(rets(&events, "write", "after", "d.v"), stored);
    // The CPU does not see what the kernel stores: 30 is what was seen last.
    let old = [1, 2, 3, 7, 10, 6, 14, 28, -28, 5, 5, 8];
    assert_eq!(rets(&events, "write", "before", "d.v")[..12], old);
}

#[test]
fn the_same_on_guarded_pages() {
    let bench = Bench::c(ONE_THREAD, &["-O0"]);
    let events = bench.events(&[
        "event write d.many",
        "event read d.v (ret)",
        "event write d.far",
        "before event write d.v (ret)",
        "event write d.v (ret)",
        "event read d.near",
    ]);
    assert_eq!(rets(&events, "read", "after", "d.v"), LOADED);
    let stored = rets(&events, "write", "after", "d.v");
    assert!(stored.starts_with(&[2, 3, 7, 10, 6, 14, 28, -28, 5, 5, 8, 30]));
    assert!(stored.ends_with(&[42]), "{stored:?}");
    let bench = Bench::c(
        &ONE_THREAD.replace("int far[64]", "int far[4096]"),
        &["-O0"],
    );
    let events = bench.events(&["event read d (ret)", "event read d.v (ret)"]);
    assert_eq!(rets(&events, "read", "after", "d.v"), LOADED);
}

/// Four threads change one counter at a time, as much as they can.
fn counting(instruction: &str) -> Bench {
    let source = r#"
#include <pthread.h>
volatile int v;
static pthread_barrier_t all;
static void *work(void *arg) {
    pthread_barrier_wait(&all);
    for (int i = 0; i < 50; i++) { int one = 1; (void)one; INSTRUCTION; }
    return 0;
}
int main(void) {
    pthread_t t[4];
    pthread_barrier_init(&all, 0, 4);
    for (int i = 0; i < 4; i++) pthread_create(t + i, 0, work, 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    return v != 200;
}
"#;
    Bench::c(
        &source.replace("INSTRUCTION", instruction),
        &["-O1", "-pthread"],
    )
}

#[test]
fn each_of_several_threads_has_read_what_it_found() {
    let all: Vec<i64> = (0..200).collect();
    let bench = counting(r#"__asm__ volatile("lock addl $1,%0" : "+m"(v))"#);
    for _ in 0..3 {
        let events = bench.events(&["event read v (ret)"]);
        let seen = rets(&events, "read", "after", "v");
        assert_eq!(seen[..200], all);
    }
    let events = bench.events(&["before event write v (ret)", "event write v (ret)"]);
    assert_eq!(rets(&events, "write", "before", "v"), all);
    let stored: Vec<i64> = (1..201).collect();
    assert_eq!(rets(&events, "write", "after", "v"), stored);
    // Whose register says what it has found tells that, whoever is heard first.
    let bench = counting(r#"__asm__ volatile("lock xaddl %1,%0" : "+m"(v), "+r"(one))"#);
    let events = bench.events(&["event read v (ret)"]);
    let mut seen = rets(&events, "read", "after", "v");
    seen.truncate(200);
    seen.sort_unstable();
    assert_eq!(seen, all);
}

/// The register that was stored, or added, is lost: what one left is what the next has found.
#[test]
fn each_of_several_threads_has_left_what_the_next_found() {
    let stored: Vec<i64> = (1..201).collect();
    let added = counting(r#"__asm__ volatile("lock xaddl %1,%0" : "+m"(v), "+r"(one))"#);
    // Each thread stores numbers of its own; only the last one stays, so the sum says nothing.
    let exchanged = counting(
        r#"static volatile int next; one = __sync_add_and_fetch(&next, 1);
           __asm__ volatile("xchg %1,%0" : "+m"(v), "+r"(one))"#,
    );
    // With those whose registers say nothing, and with those that say all.
    let mixed = counting(
        r#"if (i % 3 == 0) __asm__ volatile("lock addl $1,%0" : "+m"(v));
           else if (i % 3 == 1) __sync_add_and_fetch(&v, one);
           else for (int o = v; !__sync_bool_compare_and_swap(&v, o, o + 1); o = v) {}"#,
    );
    for _ in 0..3 {
        for bench in [&added, &exchanged] {
            let events = bench.events(&["event write v (ret)"]);
            let mut seen = rets(&events, "write", "after", "v");
            seen.sort_unstable();
            assert_eq!(seen, stored);
        }
        let events = mixed.events(&["event update v (ret)"]);
        let mut seen = rets(&events, "update", "after", "v");
        seen.sort_unstable();
        assert_eq!(seen, stored);
    }
}

/// Changes of several threads at one time are as many.
#[test]
fn each_of_several_threads_updates() {
    let bench = counting(r#"__asm__ volatile("lock incl %0" : "+m"(v))"#);
    let events = bench.events(&["event update v (ret)"]);
    let stored: Vec<i64> = (1..201).collect();
    assert_eq!(rets(&events, "update", "after", "v"), stored);
}

/// Who blocks SIGTRAP is watched by debug registers instead of perf events.
#[test]
fn the_same_by_debug_registers() {
    let source = ONE_THREAD
        .replace(
            "#include <unistd.h>",
            "#include <unistd.h>\n#include <signal.h>\nvoid begin(void) {}",
        )
        .replace(
            "int r = 7",
            "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); begin(); int r = 7",
        );
    let bench = Bench::c(&source, &["-O0"]);
    let ran = bench.check_property(
        "state init accepting { transition { event begin() success on } }
         state on accepting { transition { event read d.v (ret) { print(ret) } success on } }",
        &[],
    );
    let wanted: Vec<String> = LOADED.iter().map(i64::to_string).collect();
    assert_eq!(ran.printed(), wanted, "{}", ran.err);
}

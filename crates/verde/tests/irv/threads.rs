//! No event lost, none invented, whatever the number of threads.

use crate::bench::Bench;

const TICKS: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
__attribute__((noinline)) int tick(int id, int i) { asm volatile("" :: "r"(id), "r"(i)); return i; }
static int n;
static void *run(void *a) { int id = (int)(long)a; for (int i = 0; i < n; i++) tick(id, i); return 0; }
int main(int c, char **v) {
    int threads = atoi(v[1]); n = atoi(v[2]); pthread_t t[64];
    for (long i = 0; i < threads; i++) pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
    puts("done"); return 0;
}
"#;

fn property(event: &str) -> String {
    format!(
        "slice on id
         initialization {{ n = 0 }}
         state init accepting {{ transition {{ {event} {{ return i == 0 }} success {{ n = 1 }} go failure bad }} }}
         state go accepting {{ transition {{ {event} {{ return i == n }} success {{ n = n + 1 }} go failure bad }} }}
         state bad non-accepting"
    )
}

#[test]
fn each_thread_is_followed_exactly() {
    let bench = Bench::c(TICKS, &["-O1", "-pthread"]);
    for (event, name) in [
        ("event tick(id, i)", "entries"),
        ("after event tick(id, i)", "returns"),
    ] {
        for threads in [1u64, 3, 16] {
            let n = 2000;
            let ran =
                bench.check_property(&property(event), &[&threads.to_string(), &n.to_string()]);
            let last = ran.last();
            assert_eq!(ran.out, "done\n");
            assert_eq!(ran.code, 0, "{name} {threads}: {}", ran.err);
            assert_eq!(last["events"], threads * n, "{name} with {threads} threads");
            assert_eq!(last["properties"][0]["slices"]["by_state"]["go"], threads);
        }
    }
}

#[test]
fn traps_that_come_and_go_with_the_states() {
    let bench = Bench::c(
        r#"
#include <pthread.h>
__attribute__((noinline)) void enter(int id) { asm volatile("" :: "r"(id)); }
__attribute__((noinline)) void leave(int id) { asm volatile("" :: "r"(id)); }
__attribute__((noinline)) void other(int id) { asm volatile("" :: "r"(id)); }
static void *run(void *a) { int id = (int)(long)a; for (int i = 0; i < 500; i++) { enter(id); other(id); leave(id); } return 0; }
int main(void) { pthread_t t[8]; for (long i = 0; i < 8; i++) pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 8; i++) pthread_join(t[i], 0); return 0; }
"#,
        &["-O1", "-pthread"],
    );
    // Each slice waits for one event at a time; together they switch the probes all the time.
    let ran = bench.check_property(
        "slice on id
         initialization { n = 0 }
         state init accepting { transition { event enter(id) success { n = 1 } inside } }
         state inside accepting { transition { event leave(id) success outside } transition { event enter(id) success bad } }
         state outside accepting { transition { event enter(id) success { n = n + 1 } inside } transition { event leave(id) success bad } }
         state bad non-accepting",
        &[],
    );
    assert_eq!(ran.code, 0, "{} {:?}", ran.err, ran.rows);
    assert_eq!(ran.last()["events"], 8 * 500 * 2);
}

#[test]
fn libraries_that_come_and_go_beside_threads_invent_nothing() {
    let bench = Bench::new();
    bench.compile(
        "gcc",
        "late.c",
        "int late;",
        "late.so",
        &["-shared", "-fPIC"],
    );
    bench.compile(
        "gcc",
        "prog.c",
        r#"
#include <pthread.h>
#include <dlfcn.h>
__attribute__((noinline)) int enter(int id) { asm volatile("" :: "r"(id)); return id; }
__attribute__((noinline)) void leave(int id) { asm volatile("" :: "r"(id)); }
static void *run(void *a) { int id = (int)(long)a; for (int i = 0; i < 300; i++) { enter(id); leave(id); } return 0; }
int main(void) { pthread_t t[4]; for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 10; i++) { void *l = dlopen("./late.so", RTLD_NOW); if (l) dlclose(l); }
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0); return 0; }
"#,
        "prog",
        &["-O1", "-pthread", "-ldl"],
    );
    let ran = bench.check_property(
        "slice on t
         state init { transition { after event enter($tid as t) success held } }
         state held { transition { after event enter($tid as t) success twice } transition { event leave($tid as t) success free } }
         state free { transition { after event enter($tid as t) success held } }
         state twice non-accepting",
        &[],
    );
    assert_eq!(ran.code, 0, "{} {:?}", ran.err, ran.rows);
    assert_eq!(ran.last()["events"], 4 * 300 * 2);
}

#[test]
fn a_wait_with_a_limit_is_not_cut_short_by_other_threads() {
    let bench = Bench::c(
        r#"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
static volatile int over;
__attribute__((noinline)) void f(int x) { asm volatile("" :: "r"(x)); }
__attribute__((noinline)) void g(int x) { asm volatile("" :: "r"(x)); }
static void *waits(void *p) {
    struct epoll_event e;
    int got = epoll_wait(epoll_create1(0), &e, 1, 200);
    printf("%d %d\n", got, got < 0 ? errno : 0);
    over = 1;
    return 0;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waits, 0);
    for (int i = 0; !over; i++) { f(i); g(i); }
    pthread_join(t, 0);
    return 0;
}
"#,
        &["-O1", "-pthread"],
    );
    // Waiting for a return begins with a look at the stacks of all threads.
    let calls = |state: &str| {
        format!(
            "transition {{ event syscall epoll_wait(arg 3) success {state} }}
             transition {{ after event syscall epoll_wait(ret) success {state} }}"
        )
    };
    let property = |init: &str, other: &str| {
        format!(
            "state init accepting {{ transition {{ after event f(x) success other }} {init} }}
             state other accepting {{ transition {{ after event g(x) success init }} {other} }}
             state bad non-accepting"
        )
    };
    let ran = bench.check_property(&property("", ""), &[]);
    assert_eq!((ran.code, &*ran.out), (0, "0 0\n"), "{}", ran.err);
    // For whoever follows the calls it is one.
    bench.write("calls.prop", &property(&calls("init"), &calls("other")));
    let mut record = bench.command("record");
    record.args(["-p", "calls.prop", "-o", "t.jsonl", "./prog"]);
    assert!(record.status().expect("verde runs").success());
    let trace = std::fs::read_to_string(bench.path("t.jsonl")).expect("a trace");
    let waits: Vec<&str> = trace
        .lines()
        .filter(|l| l.contains("epoll_wait\""))
        .collect();
    assert_eq!(waits.len(), 2, "{waits:?}");
    assert!(waits[0].contains(r#""arg 3":200"#) && waits[1].contains(r#""ret":0"#));
}

/// More data than the CPU can watch, with their lock beside them: threads wait in the kernel for
/// a word on a guarded page.
#[test]
fn data_beside_their_lock() {
    let bench = Bench::c(
        r#"
#include <pthread.h>
#include <stdlib.h>
struct { long g[8]; pthread_mutex_t m; } s __attribute__((aligned(4096)));
static void *run(void *p) {
    for (int i = 0; i < 10; i++) { pthread_mutex_lock(&s.m); s.g[5] = i; s.g[7] += 1; pthread_mutex_unlock(&s.m); }
    return p;
}
int main(int c, char **v) {
    int n = atoi(v[1]); pthread_t t[16];
    for (int i = 0; i < n; i++) pthread_create(t + i, 0, run, 0);
    for (int i = 0; i < n; i++) pthread_join(t[i], 0);
    return s.g[7] != n * 10;
}
"#,
        &["-O1", "-pthread"],
    );
    let mut property = String::from("state init accepting {");
    for i in 0..6 {
        property += &format!(" transition {{ event write s.g[{i}] success init }}");
    }
    property += " }";
    for threads in [1u64, 6, 16] {
        let ran = bench.check_property(&property, &[&threads.to_string()]);
        assert_eq!(ran.code, 0, "{threads}: {}", ran.err);
        assert_eq!(ran.last()["events"], threads * 10, "{threads} threads");
    }
}

#[test]
fn what_each_thread_has_for_itself_is_said_to_be_the_first_ones() {
    let bench = Bench::c(
        r#"
#include <pthread.h>
__thread int t;
static void *run(void *p) { for (int i = 0; i < 10; i++) t++; return p; }
int main(void) { pthread_t a; pthread_create(&a, 0, run, 0); pthread_join(a, 0); for (int i = 0; i < 5; i++) t++; return 0; }
"#,
        &["-O0", "-pthread"],
    );
    let ran = bench.check_property(
        "state init accepting { transition { event write t success init } }",
        &[],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.last()["events"], 5);
    assert!(
        ran.err.contains("only that of the first thread"),
        "{}",
        ran.err
    );
}

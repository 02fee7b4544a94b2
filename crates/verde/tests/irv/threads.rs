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

/// Each thread adds to what is its own, `n` times with a value of its own, in one of three files:
/// the program, a library it is linked with, one that it loads while threads run.
const OWN: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
__thread volatile long own = 3;
long linked_add(long);
static long n;
static pthread_barrier_t both;
static long (*late_add)(long);
static void *run(void *p) {
    long id = (long)p, sum = 0;
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    for (long i = 0; i < n; i++) { own += id; linked_add(id); sum = late_add(id); }
    return (void *)(own + sum);
}
static void batch(int from, int count, int load) {
    pthread_t t[16];
    pthread_barrier_init(&both, 0, count + 1);
    for (long i = 0; i < count; i++) pthread_create(t + i, 0, run, (void *)(from + i));
    pthread_barrier_wait(&both);
    if (load) late_add = (long (*)(long))dlsym(dlopen("./liblate.so", RTLD_NOW), "late_add");
    pthread_barrier_wait(&both);
    for (int i = 0; i < count; i++) {
        void *sum;
        pthread_join(t[i], &sum);
        if ((long)sum != 3 + 5 + 2 * n * (from + i)) _exit(1);
    }
}
int main(int c, char **v) {
    int threads = atoi(v[1]);
    n = atoi(v[2]);
    for (long i = 0; i < n; i++) own += 100;
    batch(1, threads, 1);
    batch(101, threads, 0);
    for (long i = 0; i < n; i++) { own += 100; linked_add(100); late_add(100); }
    return 0;
}
"#;

fn with_own(level: &str) -> Bench {
    let bench = Bench::new();
    let library = |name: &str, start: u32| {
        let source = format!(
            "__thread long {name} = {start};\nlong {name}_add(long x) {{ return {name} += x; }}\n"
        );
        let (file, output) = (format!("{name}.c"), format!("lib{name}.so"));
        bench.compile("gcc", &file, &source, &output, &[level, "-shared", "-fPIC"]);
    };
    library("linked", 4);
    library("late", 5);
    let options = [level, "-pthread", "./liblinked.so", "-Wl,-rpath,.", "-ldl"];
    bench.compile("gcc", "prog.c", OWN, "prog", &options);
    bench
}

#[test]
fn what_each_thread_has_for_itself_is_watched_in_every_thread() {
    for level in ["-O0", "-O2"] {
        let bench = with_own(level);
        for (threads, n) in [(1i64, 20i64), (4, 20), (16, 5)] {
            for (name, firsts) in [("own", 2), ("linked", 1), ("late", 1)] {
                let at = format!("{level} {name} {threads}");
                bench.write(
                    "own.prop",
                    &format!(
                        "state init accepting {{
                             transition {{ event write {name} (ret, $tid) success init }}
                             transition {{ before event write {name} (ret, $tid) success init }}
                             transition {{ event update {name} (ret, $tid) success init }}
                         }}"
                    ),
                );
                let mut record = bench.command("record");
                record.args(["-p", "own.prop", "-o", "t.jsonl", "./prog"]);
                record.args([threads.to_string(), n.to_string()]);
                let output = record.output().expect("verde runs");
                let errors = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{at}: {errors}");
                assert!(!errors.contains("not observed"), "{at}: {errors}");
                let trace = std::fs::read_to_string(bench.path("t.jsonl")).expect("a trace");
                let start = match name {
                    "own" => 3,
                    "linked" => 4,
                    _ => 5,
                };
                exact(&trace, start, (threads, n, firsts), &at);
            }
        }
    }
}

/// Every thread's values, from its first to its last, and no others.
fn exact(trace: &str, start: i64, (threads, n, firsts): (i64, i64, i64), at: &str) {
    use std::collections::BTreeMap;
    let mut of: BTreeMap<(i64, String), Vec<i64>> = BTreeMap::new();
    for line in trace.lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("a row");
        let Some(ret) = row["args"]["ret"].as_i64() else {
            continue;
        };
        assert_eq!(row["args"]["$tid"], row["tid"], "{at}");
        let kind = format!("{} {}", row["kind"], row["when"]);
        let tid = row["tid"].as_i64().expect("a thread");
        of.entry((tid, kind)).or_default().push(ret);
    }
    // Each thread in each of three ways.
    assert_eq!(of.len() as i64, 3 * (2 * threads + 1), "{at}");
    let mut steps: Vec<i64> = Vec::new();
    for ((tid, kind), values) in of {
        let before = kind.contains("before");
        let step = values[1] - values[0];
        let first = start + if before { 0 } else { step };
        let times = if step == 100 { n * firsts } else { n };
        let expected: Vec<i64> = (0..times).map(|i| first + i * step).collect();
        assert_eq!(values, expected, "{at}: {kind} in {tid}");
        steps.push(step);
    }
    steps.sort_unstable();
    let mut expected: Vec<i64> = (1..=threads).chain(101..=100 + threads).collect();
    expected.push(100);
    let mut all: Vec<i64> = expected.iter().flat_map(|s| [*s; 3]).collect();
    all.sort_unstable();
    assert_eq!(steps, all, "{at}");
}

/// With all slots of the CPU in use for data of the program.
#[test]
fn what_each_thread_has_for_itself_beside_many_data() {
    let bench = Bench::c(
        r#"
#include <pthread.h>
#include <stdlib.h>
struct { long g[8]; } s __attribute__((aligned(4096)));
__thread volatile long own, other;
static long n;
static void *run(void *p) { for (long i = 0; i < n; i++) { own++; s.g[i % 6] = i; other += own; } return p; }
int main(int c, char **v) {
    int threads = atoi(v[1]); n = atoi(v[2]); pthread_t t[16];
    for (int i = 0; i < threads; i++) pthread_create(t + i, 0, run, 0);
    for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
    return 0;
}
"#,
        &["-O2", "-pthread"],
    );
    let mut property = String::from("state init accepting {");
    for i in 0..6 {
        property += &format!(" transition {{ event write s.g[{i}] success init }}");
    }
    for event in ["write own", "read own", "write other"] {
        property += &format!(" transition {{ event {event} success init }}");
    }
    property += " }";
    for threads in [1u64, 4, 16] {
        let ran = bench.check_property(&property, &[&threads.to_string(), "12"]);
        assert_eq!(ran.code, 0, "{threads}: {}", ran.err);
        // `own` is loaded and stored, loaded again, `other` and another stored in each turn.
        assert_eq!(
            ran.last()["events"],
            threads * 12 * 5,
            "{threads} threads: {}",
            ran.err
        );
    }
}

/// Eight words on a page, more than the CPU has slots: writes to all of them.
fn eight_words() -> String {
    let words = (0..8).map(|i| format!(" transition {{ event write s.g[{i}] success init }}"));
    format!("state init accepting {{{} }}", words.collect::<String>())
}

/// Who is not given a CPU does not wait for others: they are not let go with a page open.
#[test]
fn a_call_that_is_late_is_waited_for() {
    let bench = Bench::c(
        r#"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
struct { volatile long g[8]; char path[256]; } s __attribute__((aligned(4096)));
static volatile int calls;
static void *late(void *unused) {
    struct sched_param none = {0};
    sched_setscheduler(0, SCHED_IDLE, &none);
    for (; calls < 4; calls++) syscall(SYS_getcwd, s.path, sizeof s.path);
    return 0;
}
int main(void) {
    pthread_t thread;
    long n = 0;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pid_t busy[2];
    for (int i = 0; i < 2; i++)
        if (!(busy[i] = fork())) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;) ;
        }
    pthread_create(&thread, 0, late, 0);
    for (; calls < 4 || n % 8; n++) s.g[n % 8] = n;
    pthread_join(thread, 0);
    for (int i = 0; i < 2; i++) kill(busy[i], SIGKILL);
    dprintf(1, "%ld", n);
    return 0;
}
"#,
        &["-O1", "-D_GNU_SOURCE", "-pthread"],
    );
    let ran = bench.check_property(&eight_words(), &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let made: u64 = ran.out.parse().expect("a number");
    assert_eq!(ran.last()["events"], made, "{}", ran.err);
}

/// In Rust, and in a program without a loader.
#[test]
fn what_each_thread_has_for_itself_in_rust_and_static_programs() {
    let bench = Bench::new();
    bench.compile(
        "rustc",
        "prog.rs",
        r#"
use std::cell::Cell;
thread_local! { static COUNTER: Cell<u64> = const { Cell::new(0) }; }
#[inline(never)]
fn tick() { COUNTER.with(|c| c.set(c.get() + 1)); }
fn main() {
    let n: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1);
    let all: Vec<_> = (0..n).map(|_| std::thread::spawn(|| for _ in 0..10 { tick() })).collect();
    for _ in 0..5 { tick() }
    for one in all { one.join().unwrap() }
}
"#,
        "prog",
        &["--edition=2021"],
    );
    let property = |name: &str| {
        format!("state init accepting {{ transition {{ event write {name} success init }} }}")
    };
    for threads in [1u64, 6, 16] {
        let ran = bench.check_property(&property("COUNTER"), &[&threads.to_string()]);
        assert_eq!(ran.code, 0, "{threads}: {}", ran.err);
        assert_eq!(ran.last()["events"], threads * 10 + 5, "{}", ran.err);
    }
    let bench = Bench::c(OWN_STATIC, &["-O1", "-pthread", "-static"]);
    for threads in [1u64, 16] {
        let ran = bench.check_property(&property("own"), &[&threads.to_string()]);
        assert_eq!(ran.code, 0, "{threads}: {}", ran.err);
        assert_eq!(ran.last()["events"], threads * 10 + 5, "{}", ran.err);
    }
}

const OWN_STATIC: &str = r#"
#include <pthread.h>
#include <stdlib.h>
static __thread volatile int own;
static void *run(void *p) { for (int i = 0; i < 10; i++) own = i; return p; }
int main(int c, char **v) {
    int n = atoi(v[1]);
    pthread_t t[16];
    for (int i = 0; i < n; i++) pthread_create(t + i, 0, run, 0);
    for (int i = 0; i < 5; i++) own++;
    for (int i = 0; i < n; i++) pthread_join(t[i], 0);
    return 0;
}
"#;

/// Each thread's values in their order, also after the program was taken back several times: to
/// when fewer threads were, and with others that have begun since.
#[test]
fn what_each_thread_has_for_itself_after_restores() {
    let bench = Bench::c(
        r#"
#include <pthread.h>
#include <stdio.h>
static __thread volatile int own;
static void *run(void *p) { for (int i = 1; i <= 60; i++) own = i; return p; }
int main(void) {
    pthread_t t[8];
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < 8; i++) pthread_create(t + i, 0, run, 0);
        for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
    }
    run(0);
    puts("done");
    return 0;
}
"#,
        &["-O1", "-pthread"],
    );
    bench.write(
        "p.prop",
        "slice on t
         initialization { n = 0 }
         state init accepting { transition { event write own (ret, $tid as t) { return ret == 1 } success { n = 1 } go failure bad } }
         state go accepting {
             transition { event write own (ret, $tid as t) { return ret == n + 1 } success { n = n + 1 } go failure again } }
         state again accepting {
             transition { event write own (ret, $tid as t) { return ret == 2 } success { n = 2 } go failure bad } }
         state bad non-accepting",
    );
    bench.write(
        "s.sc",
        "initialization { k = 0; c = 0 }
on entering state go {
    k = k + 1
    if k == 100: c = checkpoint()
    if k in (300, 600, 900): restore_checkpoint(c)
}
",
    );
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    assert_eq!(ran.out, "done\n", "{}", ran.err);
    assert_eq!(ran.code, 0, "{} {:?}", ran.err, ran.rows);
    assert_eq!(ran.last()["events"], 17 * 60);
}

/// More than the CPU has slots for in a thread: what cannot be watched is said, once, and the
/// rest is seen.
#[test]
fn too_much_that_each_thread_has_for_itself() {
    let bench = Bench::c(
        r#"
#include <pthread.h>
static __thread volatile long own[6];
static void *run(void *p) { for (int i = 0; i < 6; i++) own[i] = i; return p; }
int main(void) {
    pthread_t t[4];
    for (int i = 0; i < 4; i++) pthread_create(t + i, 0, run, 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    return 0;
}
"#,
        &["-O1", "-pthread"],
    );
    let mut property = String::from("state init accepting {");
    for i in 0..6 {
        property += &format!(" transition {{ event write own[{i}] success init }}");
    }
    let ran = bench.check_property(&(property + " }"), &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.last()["events"], 4 * 4);
    for i in 4..6 {
        let text = format!("event write own[{i}]: not observed in every thread");
        assert_eq!(ran.err.matches(&text).count(), 1, "{}", ran.err);
    }
}

/// A thread waits for input into a buffer beside the data, which the others write meanwhile.
#[test]
fn data_beside_a_buffer_that_somebody_waits_for() {
    let bench = Bench::new();
    bench.compile(
        "rustc",
        "prog.rs",
        r#"
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::ptr::{addr_of_mut, write_volatile};
use std::sync::{Arc, Barrier};
#[repr(C, align(4096))]
struct Page { data: [u64; 8], buffer: [u8; 64] }
static mut PAGE: Page = Page { data: [0; 8], buffer: [0; 64] };
fn put(i: usize, v: u64) { unsafe { write_volatile(addr_of_mut!(PAGE.data[i]), v) } }
fn asleep(tid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().starts_with(" S")
}
fn main() {
    let n: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let (mut to, mut from) = UnixStream::pair().unwrap();
    let (say, hear) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let me = std::fs::read_link("/proc/thread-self").unwrap();
        say.send(me.file_name().unwrap().to_str().unwrap().to_owned()).unwrap();
        let buffer = unsafe { &mut *addr_of_mut!(PAGE.buffer) };
        for _ in 0..3 { assert_eq!(from.read(buffer).unwrap(), 5); assert_eq!(&buffer[..5], b"hello"); }
    });
    let tid = hear.recv().unwrap();
    for _ in 0..3 {
        while !asleep(&tid) { std::thread::yield_now(); }
        let together = Arc::new(Barrier::new(n));
        let all: Vec<_> = (0..n).map(|t| { let together = together.clone(); std::thread::spawn(move || {
            together.wait();
            for i in 0..10 { put((t + i) % 6, i as u64); }
        }) }).collect();
        for one in all { one.join().unwrap(); }
        to.write_all(b"hello").unwrap();
    }
    reader.join().unwrap();
}
"#,
        "prog",
        &["--edition=2021"],
    );
    let mut property = String::from("state init accepting {");
    for i in 0..6 {
        property += &format!(" transition {{ event write PAGE.data[{i}] success init }}");
    }
    property += " transition { event write PAGE.buffer success init } }";
    for threads in [1u64, 4, 16] {
        let ran = bench.check_property(&property, &[&threads.to_string()]);
        assert_eq!(ran.code, 0, "{threads}: {}", ran.err);
        let expected = 3 * threads * 10 + 3;
        assert_eq!(
            ran.last()["events"],
            expected,
            "{threads} threads: {}",
            ran.err
        );
    }
}

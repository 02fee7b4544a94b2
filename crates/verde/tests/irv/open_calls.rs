//! Calls that begin in one state and return in another, after the states that name their
//! return were left and entered again.

use crate::bench::Bench;
use serde_json::Value;

/// The functions `on` and `off` switch between a state that names the events and one that
/// names nothing but the way back.
fn switched(events: &[&str]) -> String {
    let events: String = events
        .iter()
        .map(|e| format!("    transition {{ {e} success watching }}\n"))
        .collect();
    format!(
        "state init accepting {{ transition {{ event on() success watching }} }}
         state watching accepting {{
         {events}    transition {{ event off() success init }}
         }}
         state bad non-accepting"
    )
}

impl Bench {
    /// What a property sees, as `event {args}`, without the switches.
    fn recorded(&self, property: &str, args: &[&str]) -> Vec<String> {
        self.write("states.prop", property);
        let trace = self.path("trace.jsonl");
        let mut record = self.command("record");
        record.args(["-p", "states.prop", "-o", "trace.jsonl", "--", "./prog"]);
        let done = record.args(args).output().expect("verde runs");
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{errors}");
        let text = std::fs::read_to_string(trace).expect("a trace");
        let events = text.lines().map(|l| -> Value { l.parse().expect("a row") });
        let seen = events.filter(|e| !["on", "off"].contains(&e["event"].as_str().unwrap_or("")));
        seen.filter(|e| e["event"].is_string())
            .map(|e| {
                let name = e["event"].as_str().unwrap_or_default();
                match e["kind"].as_str() {
                    Some("call") => format!("{name} {}", e["args"]),
                    kind => format!("{} {name} {}", kind.unwrap_or_default(), e["args"]),
                }
            })
            .collect()
    }
}

const SWITCHES: &str = r#"
#define N __attribute__((noinline))
static volatile int sink;
N void on(void) { sink++; }
N void off(void) { sink++; }
"#;

/// Some calls return while nobody names them, the others when somebody does again.
const WAITS: &str = r#"
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
static sem_t inside, go[16];
N long await(long id, long *out) { sem_post(&inside); sem_wait(&go[id]); *out = id + 1; return id * 10; }
static void *run(void *p) { long out; return await((long)p, &out) == (long)p * 10 ? 0 : p; }
int main(int c, char **v) {
    int n = atoi(v[1]); pthread_t t[16];
    sem_init(&inside, 0, 0);
    for (int round = 0; round < 3; round++) {
        on();
        for (long i = 0; i < n; i++) { sem_init(&go[i], 0, 0); pthread_create(&t[i], 0, run, (void *)i); }
        for (int i = 0; i < n; i++) sem_wait(&inside);
        off();
        for (int i = 1; i < n; i += 2) { sem_post(&go[i]); pthread_join(t[i], 0); }
        on();
        off();
        on();
        for (int i = 0; i < n; i += 2) { sem_post(&go[i]); pthread_join(t[i], 0); }
        off();
    }
    return 0;
}
"#;

#[test]
fn blocked_calls_of_threads_keep_what_they_began_with() {
    let bench = Bench::c(&format!("{SWITCHES}{WAITS}"), &["-O1", "-pthread"]);
    let property = "initialization { n = 0 }
         state init accepting { transition { event on() success watching } }
         state watching accepting {
             transition { after event await(id, *out as o : long, entry(id) as e, ret)
                 { return ret == 10 * id and o == id + 1 and e == id }
                 success { n = n + id } watching failure bad }
             transition { event off() success init }
         }
         state bad non-accepting";
    for threads in [1u64, 3, 16] {
        let ran = bench.check_property(property, &[&threads.to_string()]);
        assert_eq!(ran.code, 0, "{threads}: {} {:?}", ran.err, ran.rows);
        let returned = threads.div_ceil(2);
        let switches = 6;
        assert_eq!(
            ran.last()["events"],
            3 * (returned + switches),
            "{threads} threads"
        );
    }
}

/// Every call is left alone and taken up again while it runs, each thread for itself.
#[test]
fn threads_that_switch_all_the_time() {
    let bench = Bench::c(
        r#"
#include <pthread.h>
#include <stdlib.h>
#define N __attribute__((noinline))
N void begin(int id) { asm volatile("" :: "r"(id)); }
N void leave(int id) { asm volatile("" :: "r"(id)); }
N void again(int id) { asm volatile("" :: "r"(id)); }
N int f(int id, int i) { leave(id); again(id); return i; }
static int n;
static void *run(void *a) { int id = (int)(long)a; for (int i = 0; i < n; i++) { begin(id); f(id, i); } return 0; }
int main(int c, char **v) {
    int threads = atoi(v[1]); n = atoi(v[2]); pthread_t t[16];
    for (long i = 0; i < threads; i++) pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
    return 0;
}
"#,
        &["-O1", "-pthread"],
    );
    let property = "slice on id
         initialization { n = 0 }
         state init accepting { transition { event begin(id) success calling } }
         state calling accepting {
             transition { after event f(id, i, ret) { return i == n and ret == n } success { n = n + 1 } done failure bad }
             transition { event leave(id) success away }
         }
         state away accepting { transition { event again(id) success calling } }
         state done accepting { transition { event begin(id) success calling } }
         state bad non-accepting";
    for (threads, n) in [(1u64, 200u64), (2, 100), (16, 20)] {
        let ran = bench.check_property(property, &[&threads.to_string(), &n.to_string()]);
        assert_eq!(ran.code, 0, "{threads}: {} {:?}", ran.err, ran.rows);
        assert_eq!(ran.last()["events"], threads * n * 4, "{threads} threads");
        let by_state = &ran.last()["properties"][0]["slices"]["by_state"];
        assert_eq!(by_state["done"], threads);
    }
}

#[test]
fn recursion() {
    let bench = Bench::c(
        &format!(
            "{SWITCHES}
N int f(int n) {{
    if (n == 3) off();
    if (n == 1) on();
    int r = n == 0 ? 0 : f(n - 1) + 1;
    if (r == 3) off();
    if (r == 4) on();
    return r;
}}
int main(void) {{ on(); for (int i = 0; i < 2; i++) f(6); return 0; }}"
        ),
        &["-O0"],
    );
    let seen = bench.recorded(&switched(&["after event f(n, ret)"]), &[]);
    // Calls 2 and 1 begin unseen; call 3 returns when nobody names it.
    let once = [
        r#"f {"n":0,"ret":0}"#,
        r#"f {"n":null,"ret":1}"#,
        r#"f {"n":null,"ret":2}"#,
        r#"f {"n":4,"ret":4}"#,
        r#"f {"n":5,"ret":5}"#,
        r#"f {"n":6,"ret":6}"#,
    ];
    assert_eq!(seen, [once, once].concat());
}

/// The second call is made from the same place of the same stack, and is another.
#[test]
fn what_was_left_by_longjmp_is_forgotten() {
    let bench = Bench::c(
        &format!(
            "#include <setjmp.h>
{SWITCHES}
static jmp_buf back, inner;
N int f(int x) {{
    if (x == 1) {{ off(); longjmp(back, 1); }}
    if (x == 2) on();
    if (x == 3) {{ off(); if (!setjmp(inner)) longjmp(inner, 1); on(); }}
    return x;
}}
int main(void) {{
    on();
    for (volatile int x = 1; x <= 3; x++)
        if (!setjmp(back)) f(x);
    return 0;
}}"
        ),
        &["-O0"],
    );
    let seen = bench.recorded(
        &switched(&["after event f(x, ret)", "event unwound f(x)"]),
        &[],
    );
    // A jump inside of the third call does not touch it.
    assert_eq!(seen, [r#"f {"ret":2,"x":null}"#, r#"f {"ret":3,"x":3}"#]);
}

#[test]
fn what_was_left_by_an_exception_is_forgotten() {
    let bench = Bench::new();
    let source = format!(
        "{SWITCHES}
N int f(int x) {{
    if (x == 1) {{ off(); throw x; }}
    if (x == 2) on();
    if (x == 3) {{ off(); try {{ throw x; }} catch (int) {{ }} on(); }}
    return x;
}}
int main(void) {{
    on();
    for (volatile int x = 1; x <= 3; x++)
        try {{ f(x); }} catch (int) {{ }}
    return 0;
}}"
    );
    bench.compile("g++", "prog.cpp", &source, "prog", &["-O0"]);
    let seen = bench.recorded(
        &switched(&["after event f(x, ret)", "event unwound f(x)"]),
        &[],
    );
    assert_eq!(seen, [r#"f {"ret":2,"x":null}"#, r#"f {"ret":3,"x":3}"#]);
}

/// Left while nobody names it, it is no event; left when somebody does again, it is one.
#[test]
fn unwound_calls_keep_what_they_began_with() {
    let bench = Bench::c(
        &format!(
            "#include <setjmp.h>
{SWITCHES}
static jmp_buf back;
N int f(int x) {{ off(); if (x == 2) on(); longjmp(back, 1); return x; }}
int main(void) {{
    for (volatile int x = 1; x <= 2; x++) {{ on(); if (!setjmp(back)) f(x); off(); }}
    return 0;
}}"
        ),
        &["-O0"],
    );
    let seen = bench.recorded(&switched(&["event unwound f(x)"]), &[]);
    assert_eq!(seen, [r#"unwound f {"x":2}"#]);
}

/// Functions that return together: the return of the inner one makes the outer one's wanted.
#[test]
fn tail_calls() {
    let bench = Bench::c(
        &format!(
            "{SWITCHES}
N int inner(int y) {{ off(); return y + sink * 0; }}
N int outer(int x) {{ sink++; return inner(x + 1); }}
int main(void) {{ on(); return outer(4) != 5; }}"
        ),
        &["-O2", "-fno-ipa-ra"],
    );
    let property = "state init accepting { transition { event on() success watching } }
         state watching accepting {
             transition { after event outer(x) success watching }
             transition { event off() success between }
         }
         state between accepting { transition { after event inner(y) success again } }
         state again accepting { transition { after event outer(x) success again } }";
    let seen = bench.recorded(property, &[]);
    assert_eq!(seen, [r#"inner {"y":null}"#, r#"outer {"x":4}"#]);
}

/// Its entry is trapped for another event, its return is not awaited yet.
#[test]
fn a_call_that_began_for_its_before_event() {
    let bench = Bench::c(
        &format!(
            "{SWITCHES}
N int f(int x, int *p) {{
    *p += 1;
    if (x > 0) f(x - 1, p);
    if (x == 2) on();
    return x + *p;
}}
int main(void) {{ int k = 7; f(0, &k); return f(3, &k) < 0; }}"
        ),
        &["-O0"],
    );
    let property = "state init accepting {
             transition { before event f(x) success init }
             transition { event on() success watching }
         }
         state watching accepting { transition { after event f(x, entry(*p) as k, ret) success watching } }";
    let seen = bench.recorded(property, &[]);
    assert_eq!(
        seen,
        [
            r#"f {"x":0}"#,
            r#"f {"x":3}"#,
            r#"f {"x":2}"#,
            r#"f {"x":1}"#,
            r#"f {"x":0}"#,
            r#"f {"entry(*p)":9,"ret":14,"x":2}"#,
            r#"f {"entry(*p)":8,"ret":15,"x":3}"#,
        ]
    );
}

/// Where calls can begin unseen, what was noted before says nothing.
#[test]
fn what_began_before_unseen_calls_is_not_taken_for_them() {
    let bench = Bench::c(
        &format!(
            "{SWITCHES}
N void named(void) {{ sink++; }}
N int f(int x) {{ if (x == 2) {{ named(); on(); }} return x; }}
int main(void) {{ for (int x = 1; x <= 2; x++) {{ f(x); off(); }} return 0; }}"
        ),
        &["-O0"],
    );
    let property = "state init accepting {
             transition { before event f(x) success init }
             transition { event off() success blind }
         }
         state blind accepting { transition { event named() success seeing } }
         state seeing accepting {
             transition { before event f(x) success seeing }
             transition { event on() success watching }
         }
         state watching accepting { transition { after event f(x, ret) success watching } }";
    let seen = bench.recorded(property, &[]);
    assert_eq!(
        seen,
        [r#"f {"x":1}"#, "named {}", r#"f {"ret":2,"x":null}"#,]
    );
}

/// A child has nothing of the return traps that are left, and its parent all.
#[test]
fn children_return_from_calls_that_are_followed() {
    let bench = Bench::c(
        &format!(
            "#include <sys/wait.h>
#include <unistd.h>
{SWITCHES}
N int f(int x) {{ off(); int child = fork(); if (child) {{ int s; wait(&s); on(); return s; }} return x; }}
int main(void) {{ on(); int got = f(3); if (got == 3) _exit(0); return got; }}"
        ),
        &["-O0"],
    );
    let seen = bench.recorded(&switched(&["after event f(x, ret)"]), &[]);
    assert_eq!(seen, [r#"f {"ret":0,"x":3}"#]);
}

/// A library goes and comes again while nobody names its function.
#[test]
fn libraries_come_and_go_meanwhile() {
    let bench = Bench::new();
    bench.compile(
        "gcc",
        "late.c",
        "int late(int x, void (*between)(void)) { between(); return x + 1; }",
        "late.so",
        &["-shared", "-fPIC"],
    );
    let source = format!(
        "#include <dlfcn.h>
{SWITCHES}
static void both(void) {{ off(); on(); }}
int main(void) {{
    for (int i = 0; i < 3; i++) {{
        on();
        void *l = dlopen(\"./late.so\", RTLD_NOW);
        int (*f)(int, void (*)(void)) = (int (*)(int, void (*)(void)))dlsym(l, \"late\");
        f(i, both); f(10 + i, off);
        dlclose(l);
    }}
    return 0;
}}"
    );
    bench.compile("gcc", "prog.c", &source, "prog", &["-ldl"]);
    let seen = bench.recorded(&switched(&["after event late(x, ret)"]), &[]);
    let all: Vec<String> = (0..3)
        .map(|i| format!(r#"late {{"ret":{},"x":{i}}}"#, i + 1))
        .collect();
    assert_eq!(seen, all);
}

/// Back to a checkpoint at which the call was open and nobody named its return.
#[test]
fn checkpoints_keep_what_calls_began_with() {
    let bench = Bench::c(
        &format!(
            "{SWITCHES}
N int f(int x) {{ off(); x += 100; on(); return x; }}
int main(void) {{ on(); f(7); f(8); return 0; }}"
        ),
        &["-O0"],
    );
    bench.write(
        "p.prop",
        "state init accepting { transition { event on() success watching } }
         state watching accepting {
             transition { after event f(x, ret) { print(\"f\", x, ret) } success watching }
             transition { event off() success init }
         }",
    );
    let text = bench.debug(
        &["-p", "p.prop"],
        &[
            "break off",
            "run",
            "finish",
            "checkpoint",
            "delete",
            "break main",
            "verde exec set_current_state watching",
            "continue",
            "restart 1",
            "continue",
        ],
    );
    let printed: Vec<&str> = text.lines().filter(|l| l.contains("f 7 107")).collect();
    assert_eq!(printed.len(), 2, "{text}");
    let printed: Vec<&str> = text.lines().filter(|l| l.contains("f 8 108")).collect();
    assert_eq!(printed.len(), 2, "{text}");
}

/// A monitor that is deleted leaves nothing behind, and a new one begins anew.
#[test]
fn monitors_that_go_while_their_calls_are_open() {
    let bench = Bench::c(
        &format!(
            "{SWITCHES}
N int f(int x) {{ off(); x += 100; on(); return x; }}
int main(void) {{ on(); f(7); f(8); return 0; }}"
        ),
        &["-O0"],
    );
    bench.write(
        "p.prop",
        "state init accepting { transition { event on() success watching } }
         state watching accepting {
             transition { after event f(x, ret) { print(\"f\", x, ret) } success watching }
             transition { event off() success init }
         }",
    );
    let text = bench.debug(
        &["-p", "p.prop"],
        &[
            "break off",
            "run",
            "finish",
            "verde delete",
            "delete",
            "verde load-property p.prop",
            "verde run",
            "continue",
        ],
    );
    // Its beginning was forgotten with who saw it.
    assert!(text.contains("f None 107"), "{text}");
    assert!(text.contains("f 8 108"), "{text}");
}

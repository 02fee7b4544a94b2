//! Events of data: writes, reads and changes.

use crate::bench::Bench;

const DATA: &str = r#"
#include <string.h>
struct node { int v; struct node *next; };
int counter; struct node n1 = {1, 0}, n2 = {2, 0}; struct node *head = &n1; char buf[32];
static volatile int out;
static void work(int k) { int s = 0; for (int i = 0; i < k; i++) { s = s + i; } out = s; }
static void set(int *p, int v) { *p = v; }
int main(void) {
    for (int i = 0; i < 3; i++) counter = i / 2;
    head->v = 10; head = &n2; head->v = 20; n1.v = 5;
    work(3); work(1);
    int loc = 1; set(&loc, 7); set(&loc, 7);
    strcpy(buf, "hello");
    return counter;
}
"#;

#[test]
fn writes_of_a_global_with_old_and_new_value() {
    let bench = Bench::c(DATA, &["-O0"]);
    let seen = bench.seen(&[
        "before event write counter (ret)",
        "event write counter (ret, i)",
    ]);
    assert_eq!(
        seen,
        [
            r#"write before counter {"ret":0}"#,
            r#"write after counter {"i":0,"ret":0}"#,
            r#"write before counter {"ret":0}"#,
            r#"write after counter {"i":1,"ret":0}"#,
            r#"write before counter {"ret":0}"#,
            r#"write after counter {"i":2,"ret":1}"#,
        ]
    );
    let seen = bench.seen(&["event update counter (ret)", "event read counter (ret)"]);
    assert_eq!(
        seen,
        [
            r#"update after counter {"ret":1}"#,
            r#"read after counter {"ret":1}"#,
        ]
    );
}

#[test]
fn a_datum_moves_with_the_pointer_that_leads_to_it() {
    let bench = Bench::c(DATA, &["-O0"]);
    let seen = bench.seen(&["event write head->v (ret)"]);
    assert_eq!(
        seen,
        [
            r#"write after head->v {"ret":10}"#,
            r#"write after head->v {"ret":20}"#,
        ]
    );
    let seen = bench.seen(&["event update {head->v + counter} (ret)"]);
    assert_eq!(
        seen,
        [
            r#"update after head->v + counter {"ret":2}"#,
            r#"update after head->v + counter {"ret":11}"#,
            r#"update after head->v + counter {"ret":3}"#,
            r#"update after head->v + counter {"ret":21}"#,
        ]
    );
}

/// A store is no load, wherever in the datum it is and whatever it stores.
#[test]
fn stores_of_equal_values_to_a_part_are_no_reads() {
    let bench = Bench::c(
        "char w[8]; union { long l; char c[8]; } u; long s;\n\
         int main(void) { for (int i = 0; i < 3; i++) w[3] = 'a'; u.c[5] = 1; u.c[5] = 1; s = u.l; return 0; }",
        &["-O0"],
    );
    assert_eq!(
        bench.seen(&["event read w", "event read u.l"]),
        ["read after u.l {}"]
    );
}

/// Each line says what it does to `d`, `f`, `x`, `a[8]` and `s`.
const KINDS: &str = r#"
double d = 1.5, o; float f = 2.5f; int x = 1, *p = &x; short s, t; long a[64], b[64];
struct { long x, y[16]; } q = {5, {6}};
int main(void) {
    d = 3; /* Wd */
    o = d; /* Rd */
    d = d + o; /* Rd Wd */
    o = f; /* Rf */
    f = 7; /* Wf */
    *p = 6; /* Wx */
    *p = 0; /* Wx */
    s = x; /* Rx Ws */
    __asm__ volatile("rep stosq" :: "D"(a), "c"(64L), "a"(0L) : "memory"); /* Wa */
    __asm__ volatile("rep movsq" :: "D"(b), "S"(a), "c"(64L) : "memory"); /* Ra */
    __asm__ volatile("mov (%0),%0" :: "r"(&a[8])); /* Ra */
    __asm__ volatile("cmpxchgq %0,(%1)" :: "r"(0L), "r"(&a[8]), "a"(5L) : "memory"); /* Ra Wa */
    __asm__ volatile("push (%0); pop %%rdx" :: "r"(&a[8]) : "memory", "rdx"); /* Ra */
    __asm__ volatile("movdqu (%0),%%xmm0; movdqu %%xmm0,(%0)" :: "r"(&a[8]) : "memory", "xmm0"); /* Ra Wa */
    __asm__ volatile("lodsq" :: "S"(&a[8]) : "memory", "rax"); /* Ra */
    __asm__ volatile("stosq" :: "D"(&a[8]), "a"(0L) : "memory"); /* Wa */
    __asm__ volatile("std; stosq; cld" :: "D"(&a[8]), "a"(0L) : "memory"); /* Wa */
    __asm__ volatile("mov %0,%%rax; xchg %%rax,(%%rax)" :: "r"(&a[8]) : "memory", "rax"); /* Ra Wa */
    __asm__ volatile("rep stosq" :: "D"(&q), "c"(17L), "a"(0L) : "memory");
    __asm__ volatile("rep movsb" :: "D"(&q), "S"(&q.y[1]), "c"(2L) : "memory");
    return 0;
}
"#;

/// Loads are told from stores by the instruction, whatever it stores and however its bytes could be
/// read from behind.
#[test]
fn loads_and_stores_of_every_kind() {
    let bench = Bench::c(KINDS, &["-O0"]);
    let wanted = |kind: &str, name: &str| -> Vec<usize> {
        let mark = format!("{kind}{}", &name[..1]);
        let lines = KINDS.lines().enumerate();
        let with =
            lines.filter(|(_, line)| line.split("/* ").nth(1).is_some_and(|m| m.contains(&mark)));
        with.map(|(line, _)| line + 1).collect()
    };
    for name in ["d", "f", "x", "a[8]", "s"] {
        let (read, write) = (format!("event read {name}"), format!("event write {name}"));
        assert_eq!(
            bench.lines_of(&[&read], "read"),
            wanted("R", name),
            "{name}"
        );
        assert_eq!(
            bench.lines_of(&[&write], "write"),
            wanted("W", name),
            "{name}"
        );
        for kind in ["read", "write"] {
            let seen = bench.lines_of(&[&read, &write], kind);
            assert_eq!(
                seen,
                wanted(&kind[..1].to_uppercase(), name),
                "{kind} {name} of both"
            );
        }
    }
    // Of one instruction that stores to both the kernel tells one; what is beside is not touched.
    assert_eq!(
        bench.seen(&["event write q.x", "event write q.y[0]"]).len(),
        4
    );
    assert_eq!(bench.seen(&["event read q.x"]), [""; 0]);
    assert_eq!(
        bench
            .seen(&["event write s(ret)", "event write t(ret)"])
            .len(),
        1
    );
    assert_eq!(
        bench
            .seen(&["event read d(ret)", "event read o(ret)"])
            .len(),
        3
    );
}

/// Nothing is watched where a pointer leads nowhere, but the pointer is.
#[test]
fn a_datum_that_its_pointer_leads_to_later() {
    let bench = Bench::c(
        "struct { long v, pad[7]; } a, b, c, d; struct s { int v; struct s *next; } s, t;\n\
         int x, y, *ip; struct s *head;\n\
         int main(void) { ip = &x; *ip = 1; ip = 0; ip = &y; *ip = 2;\n\
         \x20 head = &s; s.next = &t; t.v = 3; head = 0; t.v = 4; head = &s; t.v = 5; return t.v; }",
        &["-O0"],
    );
    let fill = ["a.v", "b.v", "c.v", "d.v"].map(|v| format!("event write {v}"));
    let fill: Vec<&str> = fill.iter().map(String::as_str).collect();
    let events = ["event write *ip (ret)", "event write head->next->v (ret)"];
    // With slots of the processor, and without.
    for fill in [&fill[..0], &fill] {
        assert_eq!(
            bench.seen(&[fill, &events].concat()),
            [
                r#"write after *ip {"ret":1}"#,
                r#"write after *ip {"ret":2}"#,
                r#"write after head->next->v {"ret":3}"#,
                r#"write after head->next->v {"ret":5}"#,
            ]
        );
    }
    let read = ["event read head->next->v (ret)"];
    assert_eq!(
        bench.seen(&[&fill[..], &read].concat()),
        [r#"read after head->next->v {"ret":5}"#]
    );
}

/// The address of a watched datum is in a register while the pointer to it is written.
#[test]
fn a_pointer_that_comes_to_lead_to_a_watched_datum() {
    let bench = Bench::c(
        "struct s { int v; } a, b; struct s *head; int x, y, *ip, *jp = &y;\n\
         int main(void) { ip = &x; *ip = 1; *jp = 2; jp = &x; *jp = 3;\n\
         \x20 head = &a; head->v = 4; head = &b; head = &a; head->v = 5; return head->v; }",
        &["-O0"],
    );
    assert_eq!(
        bench.seen(&["event write *ip (ret)", "event write *jp (ret)"]),
        [
            r#"write after *ip {"ret":1}"#,
            r#"write after *jp {"ret":2}"#,
            r#"write after *ip {"ret":3}"#,
            r#"write after *jp {"ret":3}"#,
        ]
    );
    let seen = bench.seen(&["event write head->v (ret)", "event read head"]);
    assert_eq!(
        seen,
        [
            "read after head {}",
            r#"write after head->v {"ret":4}"#,
            "read after head {}",
            r#"write after head->v {"ret":5}"#,
            "read after head {}",
        ]
    );
}

#[test]
fn locals_are_bound_to_their_activation() {
    let bench = Bench::c(DATA, &["-O0"]);
    let seen = bench.seen(&["event write s (ret, k)"]);
    assert_eq!(
        seen,
        [
            r#"write after s {"k":3,"ret":0}"#,
            r#"write after s {"k":3,"ret":0}"#,
            r#"write after s {"k":3,"ret":1}"#,
            r#"write after s {"k":3,"ret":3}"#,
            r#"write after s {"k":1,"ret":0}"#,
            r#"write after s {"k":1,"ret":0}"#,
        ]
    );
    let seen = bench.seen(&["event write loc (ret)"]);
    assert_eq!(
        seen,
        [
            r#"write after loc {"ret":1}"#,
            r#"write after loc {"ret":7}"#,
            r#"write after loc {"ret":7}"#,
        ],
        "a callee writes through a pointer, also the same value"
    );
}

#[test]
fn the_local_of_the_activation_in_which_the_state_was_entered() {
    let bench = Bench::c(DATA, &["-O0"]);
    let ran = bench.check_property(
        "initialization { sum = 0 }
         state init accepting { transition { event line prog.c:6 success inside } }
         state inside accepting {
             transition { event update s (ret) success { sum = sum + ret } inside } }
         state bad non-accepting",
        &[],
    );
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert_eq!(
        ran.last()["properties"][0]["slices"]["by_state"]["inside"],
        1
    );
}

#[test]
fn more_data_than_the_processor_can_watch() {
    let bench = Bench::c(
        "long cells[81]; __attribute__((noipa)) void put(int i, long v) { cells[i] = v; }\n\
         int main(void) { for (int r = 0; r < 3; r++) for (int i = 0; i < 81; i += 8) put(i, r * 100 + i); return 0; }",
        &["-O1"],
    );
    let events: Vec<String> = (0..12)
        .map(|i| format!("event write cells[{}] (ret)", i * 7))
        .collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let seen = bench.seen(&events);
    // Of the cells written (every eighth) those that are watched (every seventh): 0 and 56.
    let wanted: Vec<String> = (0..3)
        .flat_map(|r| {
            [0, 56].map(|i| format!(r#"write after cells[{i}] {{"ret":{}}}"#, r * 100 + i))
        })
        .collect();
    assert_eq!(seen, wanted);
}

/// A thread with a small stack runs `work`, and one with a stack just above it is handed the
/// address of a local there.
const SHARED_LOCAL: &str = r#"
#include <pthread.h>
static char stacks[2][1 << 16] __attribute__((aligned(4096)));
static void start(pthread_t *t, int stack, void *(*f)(void *), void *arg) {
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstack(&a, stacks[stack], sizeof stacks[stack]);
    pthread_create(t, &a, f, arg);
}
static void *writer(void *p) { *(volatile int *)p = 5; return 0; }
static void *work(void *leave) {
    volatile int loc = 1, many[40];
    pthread_t t;
    many[0] = 1;
    start(&t, 1, writer, (void *)&loc);
    pthread_join(t, 0);
    start(&t, 1, writer, (void *)&many[7]);
    pthread_join(t, 0);
    loc = 9;
    if (leave) pthread_exit(0);
    return 0;
}
static void *above(void *p) { volatile int own[200]; for (int i = 0; i < 200; i++) own[i] = i; return 0; }
int main(void) {
    for (long i = 1; i >= 0; i--) {
        pthread_t t;
        start(&t, 0, work, (void *)i);
        pthread_join(t, 0);
        start(&t, 0, above, 0);
        pthread_join(t, 0);
    }
    return 0;
}
"#;

#[test]
fn a_local_that_another_thread_writes() {
    let bench = Bench::c(SHARED_LOCAL, &["-O0", "-pthread"]);
    let each = [
        r#"write after loc {"ret":1}"#,
        r#"write after loc {"ret":5}"#,
        r#"write after loc {"ret":9}"#,
    ];
    assert_eq!(
        bench.seen(&["event write loc (ret)"]),
        [each, each].concat()
    );
    // Too much for the hardware: protected pages.
    let seen = bench.seen(&["event write many"]);
    assert_eq!(seen, ["write after many {}"; 4]);
    let writers = |e: &serde_json::Value| (e["args"]["ret"].clone(), e["tid"].clone());
    let events = bench.events(&["event write loc (ret)"]);
    let writers: Vec<_> = events.iter().map(writers).collect();
    assert_ne!(
        writers[0].1, writers[1].1,
        "the thread is the one that wrote"
    );
    assert_eq!(writers[0].1, writers[2].1);
}

/// Each has its own, and is there while all the others are.
#[test]
fn a_local_of_a_function_that_many_threads_run() {
    let bench = Bench::c(
        r#"
#include <pthread.h>
static pthread_barrier_t all;
__attribute__((noinline)) static void set(volatile int *p, int v) { *p = v; }
static void *work(void *arg) {
    long k = (long)arg;
    volatile int loc = 0;
    pthread_barrier_wait(&all);
    for (int i = 1; i < 4; i++) set(&loc, 10 * k + i);
    pthread_barrier_wait(&all);
    if (k % 2) pthread_exit(0);
    return 0;
}
int main(void) {
    pthread_barrier_init(&all, 0, 6);
    for (int round = 0; round < 2; round++) {
        pthread_t t[6];
        for (long i = 0; i < 6; i++) pthread_create(t + i, 0, work, (void *)i);
        for (int i = 0; i < 6; i++) pthread_join(t[i], 0);
    }
    return 0;
}
"#,
        &["-O0", "-pthread"],
    );
    let events = bench.events(&["event write loc (ret, k)"]);
    for k in 0..6 {
        let own = events.iter().filter(|e| e["args"]["k"] == k);
        let values: Vec<i64> = own.filter_map(|e| e["args"]["ret"].as_i64()).collect();
        let round = [0, 10 * k + 1, 10 * k + 2, 10 * k + 3];
        assert_eq!(values, [round, round].concat(), "{k}");
    }
    assert_eq!(events.len(), 48);
}

/// Locals of inner blocks, `static` ones, and expressions that begin with something else.
#[test]
fn locals_wherever_they_are_declared() {
    let bench = Bench::c(
        "int g = 7;
        int f(int n) { int s = 0; for (int i = 0; i < n; i++) { int inner = i * 2; s += inner; } return s; }
        int h(int k) { static int calls; calls++; return k + calls; }
        int main(void) { f(3); h(4); h(5); return 0; }",
        &["-O0"],
    );
    let values = |event: &str| -> Vec<i64> {
        let events = bench.events(&[&format!("event {event} (ret)")]);
        let value = |e: &serde_json::Value| e["args"]["ret"].as_i64();
        events.iter().filter_map(value).collect()
    };
    assert_eq!(values("write inner"), [0, 2, 4]);
    assert_eq!(values("write i"), [0, 1, 2, 3]);
    assert_eq!(values("write f::s"), [0, 0, 2, 6]);
    assert_eq!(values("write calls"), [1, 2]);
    assert_eq!(values("update {2 * s}"), [4, 12]);
    assert_eq!(values("update {g + (long)s}"), [9, 13]);
}

/// What a function declares under the name of one part does not make the whole known.
#[test]
fn expressions_with_unknown_names_and_without_sense() {
    let bench = Bench::c(
        "int g; void f(int g2) { int g3 = g2; g = g3; } int main(void) { f(3); return 0; }",
        &["-O0"],
    );
    let check = |event: &str| {
        bench.check_property(
            &format!("state init {{ transition {{ event {event} success bad }} }} state bad non-accepting"),
            &[],
        )
    };
    assert_eq!(check("update {g + g3}").code, 100);
    let ran = check("update {g3 + nosuch}");
    assert_eq!(ran.code, 101, "{}", ran.err);
    let ran = check("update {g + }");
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("A syntax error in expression"),
        "{}",
        ran.err
    );
}

/// A local may have the name of a type or of a function.
#[test]
fn locals_with_names_that_mean_something_else() {
    let bench = Bench::c(
        "#include <stdlib.h>\nstruct queue { int count; };
        void push(struct queue *queue) { queue->count++; }
        void drop(struct queue *link) { link->count--; }
        int main(void) { struct queue *q = calloc(1, sizeof *q); push(q); push(q); drop(q); return 0; }",
        &["-O0"],
    );
    for event in ["write queue->count", "write link->count"] {
        let events = bench.events(&[&format!("event {event} (ret)")]);
        assert!(!events.is_empty(), "{event}");
    }
}

/// What the kernel stores is seen on guarded pages.
#[test]
fn stores_of_the_kernel() {
    let source = "#include <unistd.h>\nint n, many[64];\n\
        int main(void) { int to[2], v = 7; if (pipe(to)) return 1;\n\
        \x20 write(to[1], &v, sizeof v); read(to[0], &n, sizeof n); return n - 7; }\n";
    let bench = Bench::c(source, &["-w"]);
    let many = (0..8).map(|i| format!("event write many[{}](ret)", 8 * i));
    let many: Vec<String> = many.chain(["event write n(ret)".to_owned()]).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(bench.seen(&many), [r#"write after n {"ret":7}"#]);
}

/// A bit field is its own bytes, not the structure around it. What shares them with it is written
/// together with it, and changes nothing.
#[test]
fn a_bit_field_is_the_bytes_it_has_bits_in() {
    let source = "struct s { int a; unsigned lo : 3, hi : 12; int z; } st, *p = &st;\n\
        int main(void) { for (int i = 0; i < 5; i++) { st.a = i; st.z = i; }\n\
        \x20 st.lo = 3; p->lo = 4; st.hi = 900; return 0; }\n";
    let bench = Bench::c(source, &["-O0"]);
    let mut written = bench.seen(&["event write st.lo (ret)"]);
    written.truncate(2);
    assert_eq!(
        written,
        [
            r#"write after st.lo {"ret":3}"#,
            r#"write after st.lo {"ret":4}"#
        ]
    );
    let low = [
        r#"update after p->lo {"ret":3}"#,
        r#"update after p->lo {"ret":4}"#,
    ];
    assert_eq!(bench.seen(&["event update p->lo (ret)"]), low);
    let high = [r#"update after st.hi {"ret":900}"#];
    assert_eq!(bench.seen(&["event update st.hi (ret)"]), high);
}

/// What needs several of the CPU's slots is written once by one store.
#[test]
fn a_store_to_several_slots_is_one_write() {
    let source = "struct { char c; int i; } __attribute__((packed, aligned(8))) pk;\n\
        struct { unsigned a : 3, d : 20; } bf; long double ld;\n\
        int main(void) { for (int i = 1; i < 6; i++) { pk.i = i; bf.d = i; ld = i; }\n\
        \x20 return 0; }\n";
    let bench = Bench::c(source, &["-O0"]);
    for (event, values) in [
        ("event write pk.i(ret)", 5),
        ("event write bf.d(ret)", 5),
        ("event write ld(ret)", 5),
    ] {
        let seen = bench.events(&[event]);
        let told = seen.iter().map(|e| e["args"]["ret"].as_f64());
        let told: Vec<i64> = told.map(|v| v.unwrap_or(-1.0) as i64).collect();
        assert_eq!(told, (1..=values).collect::<Vec<i64>>(), "{event}");
    }
}

/// A variable that is in a register cannot be watched: that no event came says nothing.
#[test]
fn what_cannot_be_watched_is_inconclusive() {
    let source = "#include <stdlib.h>\n\
        __attribute__((noinline)) int work(int n) { int loc = 0; for (int i = 0; i < n; i++) loc += rand(); return loc; }\n\
        int main(void) { return work(3) == 1; }\n";
    let bench = Bench::c(source, &["-O2"]);
    let property = "state init { transition { event write work::loc success bad } }\n\
        state bad non-accepting";
    let ran = bench.check_property(property, &[]);
    assert_eq!(ran.code, 101, "{}", ran.err);
    assert!(ran.err.contains("cannot be watched"), "{}", ran.err);
}

/// What the kernel stores is not seen where the CPU watches, which is said when a property is loaded:
/// in the report, at the prompt and by `lint`; never among what the program itself says.
#[test]
fn stores_by_the_kernel_that_are_not_seen() {
    let source = "#include <unistd.h>\n\
        int v, a, b, c, d, e; char far[4096], page[64];\n\
        int main(void) { int p[2], x = 7; pipe(p); write(p[1], &x, 4); write(p[1], &x, 4);\n\
        \x20 read(p[0], &v, 4); read(p[0], page, 4); a = b = c = d = e = 1; return 0; }\n";
    let bench = Bench::c(source, &["-O0", "-w"]);
    let says = |event: &str| {
        format!(
            "event {event}: the CPU watches it, which does not see what the kernel stores there"
        )
    };
    let property = |names: &[&str]| {
        let transition = |n: &&str| format!("transition {{ event {n} success init }}\n");
        let all: String = names.iter().map(transition).collect();
        format!(
            "state init accepting {{ {all} transition {{ event never() success bad }} }}\nstate bad non-accepting"
        )
    };
    // Of reads there are none by the kernel, and what is on a page is seen there.
    let text = property(&["write v", "update a", "read b", "write page"]);
    let ran = bench.check_property(&text, &[]);
    let report = ran.notes().join("\n");
    let (_, found) = bench.lint("p.prop");
    let prompt = bench.debug(&["-p", "p.prop"], &[]);
    for (event, is_said) in [
        ("write v", true),
        ("update a", true),
        ("read b", false),
        ("write page", false),
    ] {
        for told in [&report, &found, &prompt] {
            let count = told.matches(&says(event)).count();
            assert_eq!(count, usize::from(is_said), "{event}: {told}");
        }
    }
    assert!(!ran.err.contains("kernel"), "{}", ran.err);
    // The slots of the CPU are four.
    let text = property(&["write a", "write b", "write c", "write d", "write e"]);
    let ran = bench.check_property(&text, &[]);
    let report = ran.notes().join("\n");
    assert_eq!(report.matches("kernel stores").count(), 4, "{report}");
    assert!(!report.contains(&says("write e")), "{report}");
}

/// `lint` says of data that cannot be watched what is said when the program runs.
#[test]
fn lint_knows_what_cannot_be_watched() {
    let source = "#include <stdlib.h>\n\
        static inline int half(int n) { int part = n / 2; return part * part; }\n\
        __attribute__((noinline)) int work(int n) { int loc = 0; for (int i = 0; i < n; i++) loc += rand(); return loc; }\n\
        int global;\n\
        int main(int c, char **v) { global = half(c); return work(3) == 1; }\n";
    let bench = Bench::c(source, &["-O2"]);
    for (event, says, at_end) in [
        (
            "write work::loc",
            "event write work::loc: it is not in memory here, and cannot be watched",
            "event write work::loc could not be watched: the verdict is inconclusive",
        ),
        (
            "update {$rbx}",
            "event update $rbx: it is not in memory here, and cannot be watched",
            "event update $rbx could not be watched: the verdict is inconclusive",
        ),
        (
            "write half::part",
            "event write half::part: half was inlined: its variables cannot be watched",
            "event write half::part was inlined, and never found elsewhere",
        ),
    ] {
        let property = format!(
            "state init {{ transition {{ event {event} success bad }} }}\nstate bad non-accepting"
        );
        let ran = bench.check_property(&property, &[]);
        assert_eq!(ran.code, 101, "{event}: {}", ran.err);
        assert_eq!(ran.err.matches(says).count(), 1, "{event}: {}", ran.err);
        assert!(ran.err.contains(at_end), "{event}: {}", ran.err);
        assert!(
            !ran.err.contains("not in the program"),
            "{event}: {}",
            ran.err
        );
        let (code, found) = bench.lint("p.prop");
        assert_eq!(code, Some(0), "{event}: {found}");
        assert_eq!(found.matches(says).count(), 1, "{event}: {found}");
    }
    let property =
        "state init { transition { event write global success init } }\nstate bad non-accepting";
    bench.write("p.prop", property);
    let (_, found) = bench.lint("p.prop");
    assert!(!found.contains("cannot be watched"), "{found}");
}

/// Where functions have a variable of the name, theirs is meant; that there are others is said.
#[test]
fn locals_come_before_data_in_scopes() {
    let bench = Bench::new();
    let source = "namespace a { int count; }\n\
        __attribute__((noinline)) int own(int n) { volatile int count = n; return count; }\n\
        int main() { a::count = 7; return own(0); }";
    bench.compile("g++", "prog.cpp", source, "prog", &["-O0"]);
    let (events, said) = bench.events_and_remarks(&["event write count(ret)"]);
    assert_eq!(events.len(), 1);
    let note = "those are watched; say so if another is meant: a::count";
    assert!(said.contains(note), "{said}");
    let seen = bench.seen(&["event write a::count(ret)"]);
    assert_eq!(seen, [r#"write after a::count {"ret":7}"#]);
}

/// A bare name means a variable in whatever scope it is.
#[test]
fn bare_names_of_data_in_scopes() {
    let bench = Bench::new();
    let source = "namespace cfg { int level = 1; namespace { int hidden = 2; }\n\
        struct Opt { static int made; int v; }; int Opt::made = 0; Opt glob; }\n\
        namespace a { int twice; } namespace b { int twice; }\n\
        struct Other { int level; } other;\n\
        int main() { cfg::level = 3; cfg::hidden = 4; cfg::Opt::made = 5; cfg::glob.v = 6; a::twice = b::twice = 1; }";
    bench.compile("g++", "prog.cpp", source, "prog", &["-O0"]);
    for (datum, value) in [("level", 3), ("hidden", 4), ("made", 5), ("glob.v", 6)] {
        let seen = bench.seen(&[&format!("event write {datum}(ret)")]);
        let expected = format!(r#"write after {datum} {{"ret":{value}}}"#);
        assert_eq!(seen, [expected]);
    }
    // A member of the same name is what it is.
    let seen = bench.seen(&["event update {other.level + level}(ret)"]);
    assert_eq!(seen, [r#"update after other.level + level {"ret":3}"#]);
    for (datum, said) in [
        ("twice", "`twice` is one of a::twice, b::twice"),
        ("cfg::glob.nosuch", "There is no member named nosuch"),
    ] {
        let property = format!(
            "state init {{ transition {{ event write {datum} success bad }} }} state bad non-accepting"
        );
        let ran = bench.check_property(&property, &[]);
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(ran.err.contains(said), "{}", ran.err);
    }

    let bench = Bench::new();
    bench.rust(
        "mod m { pub static mut COUNT: u32 = 0; }\n\
         fn main() { unsafe { m::COUNT = 5; m::COUNT += 1; } }",
    );
    let seen = bench.seen(&["event write COUNT(ret)"]);
    let both = [5, 6].map(|n| format!(r#"write after COUNT {{"ret":{n}}}"#));
    assert_eq!(seen, both);
}

/// Of variables that several files have for themselves it is said which is meant.
#[test]
fn variables_of_files() {
    let bench = Bench::new();
    bench.write(
        "b.c",
        "static int cnt; int rb(int v) { return cnt += v; }\n",
    );
    let source = "static int cnt; static int only; int rb(int);\n\
        int main(void) { cnt += 1; rb(2); cnt += 3; rb(4); only = 5; return 0; }\n";
    bench.compile("gcc", "a.c", source, "prog", &["b.c"]);
    let seen = bench.seen(&[
        "event write 'b.c'::cnt(ret)",
        "event write only('a.c'::cnt)",
    ]);
    let expected = [
        r#"write after 'b.c'::cnt {"ret":2}"#,
        r#"write after 'b.c'::cnt {"ret":6}"#,
        r#"write after only {"'a.c'::cnt":4}"#,
    ];
    assert_eq!(seen, expected);
    let ran = bench.check_property(
        "state init { transition { event write cnt(ret) success bad } } state bad non-accepting",
        &[],
    );
    assert_eq!(ran.code, 1, "{}", ran.err);
    let says = "`cnt` is one of 'a.c'::cnt, 'b.c'::cnt";
    assert!(ran.err.contains(says), "{}", ran.err);
}

/// The thread stands behind the store then, which may be on another line.
#[test]
fn the_backtrace_of_a_store_has_its_line() {
    let source = "int total;
__attribute__((noinline)) void add(int n) {
    total += n;
}
int main(void) {
    add(1);
    return 0;
}
";
    let bench = Bench::c(source, &["-O0"]);
    bench.write(
        "p.prop",
        "state init accepting { transition { event write total success bad } }
state bad non-accepting",
    );
    let ran = bench.check(&["-p", "p.prop", "--history-stacks", "--auto-zoom"], &[]);
    let found = &ran.of_type("violation")[0];
    assert_eq!(found["loc"], "prog.c:3");
    let calls = serde_json::json!(["add at prog.c:3", "main at prog.c:6"]);
    assert_eq!(found["backtrace"], calls);
    assert_eq!(found["history"][0]["backtrace"], calls);
    assert!(ran.err.contains("in add at prog.c:3"), "{}", ran.err);
}

/// Of a function that calls itself the activation is meant that is the innermost when the state is
/// entered, until it ends; then that of the next entry, not one that is under way.
#[test]
fn locals_of_functions_that_call_themselves() {
    let bench = Bench::c(
        r#"
__attribute__((noinline)) void deep(void) { asm volatile(""); }
__attribute__((noinline)) int down(int n) {
    volatile int loc = n;
    if (n == 0) deep();
    if (n > 0) down(n - 1);
    if (n == 2) down(0);
    loc = n + 100;
    return loc;
}
int main(void) { down(2); down(1); return 0; }
"#,
        &["-O0"],
    );
    let property = |from: &str| {
        format!(
            "state init accepting {{ transition {{ event {from}() success on }} }}
             state on accepting {{ transition {{ event write loc (ret, n) {{ print(n, ret) }} success on }} }}"
        )
    };
    let ran = bench.check_property(&property("main"), &[]);
    // The outermost is the first entered, and there is none to enter before it ends.
    assert_eq!(ran.printed(), ["2 2", "2 102", "1 1", "1 101"]);
    let ran = bench.check_property(&property("deep"), &[]);
    let seen = ran.printed();
    assert_eq!(seen, ["0 100", "0 0", "0 100", "1 1", "1 101"]);
}

/// On guarded pages an instruction has touched those elements only that its mask or its addresses
/// say, and one that counts bits the word that has the bit.
#[test]
fn elements_of_vectors_on_guarded_pages() {
    if !is_x86_feature_detected!("avx512vl") {
        return;
    }
    let source = r#"
        #include <immintrin.h>
        struct { long a, b, c, d, e, f; } s __attribute__((aligned(64)));
        #define VECTOR __attribute__((noinline, target("avx2,avx512f,avx512vl"))) void
        #define V2(high, low) _mm_set_epi64x(high, low)
        VECTOR gather(void) { __m128i v = _mm_i64gather_epi64((const long long *)&s, V2(4, 2), 8); __asm__ volatile("" : : "x"(v)); }
        VECTOR scatter(void) { _mm_i64scatter_epi64((void *)&s, V2(4, 2), V2(50, 30), 8); }
        VECTOR masked(__mmask8 k) { _mm512_mask_storeu_epi64(&s, k, _mm512_set1_epi64(7)); }
        VECTOR packed(__mmask8 k) { _mm512_mask_compressstoreu_epi64(&s.d, k, _mm512_set1_epi64(8)); }
        VECTOR loaded(__mmask8 k) { __m512i v = _mm512_maskz_loadu_epi64(k, &s); __asm__ volatile("" : : "v"(v)); }
        VECTOR signs(void) { _mm_maskstore_epi64((long long *)&s.e, V2(-1, 1), V2(9, 9)); }
        VECTOR bytes(void) { _mm_maskmoveu_si128(V2(10, 10), V2(0x80, 0), (char *)&s.a); }
        __attribute__((noinline)) void bit(long *from, long n) { __asm__ volatile("btsq %1,%0" : "+m"(*from) : "r"(n) : "memory", "cc"); }
        __attribute__((noinline)) void next(const char *what) { __asm__ volatile("" : : "r"(what)); }
        int main(void) {
            next("gather"); gather(); next("scatter"); scatter(); next("masked"); masked(2);
            next("packed"); packed(0x50); next("loaded"); loaded(0x21); next("signs"); signs();
            next("bytes"); bytes(); next("bit"); bit(&s.a, 128); next("before"); bit(&s.f, -1);
        }"#;
    let bench = Bench::c(source, &["-O1"]);
    let mut events = vec!["event next(what : str)".to_string()];
    for member in ["a", "b", "c", "d", "e", "f"] {
        events.push(format!("event write s.{member} (ret)"));
        events.push(format!("event read s.{member} ()"));
    }
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    assert_eq!(
        bench.seen(&events),
        [
            r#"call before next {"what":"gather"}"#,
            "read after s.c {}",
            "read after s.e {}",
            r#"call before next {"what":"scatter"}"#,
            r#"write after s.c {"ret":30}"#,
            r#"write after s.e {"ret":50}"#,
            r#"call before next {"what":"masked"}"#,
            r#"write after s.b {"ret":7}"#,
            r#"call before next {"what":"packed"}"#,
            r#"write after s.d {"ret":8}"#,
            r#"write after s.e {"ret":8}"#,
            r#"call before next {"what":"loaded"}"#,
            "read after s.a {}",
            "read after s.f {}",
            r#"call before next {"what":"signs"}"#,
            r#"write after s.f {"ret":9}"#,
            r#"call before next {"what":"bytes"}"#,
            r#"write after s.b {"ret":10}"#,
            r#"call before next {"what":"bit"}"#,
            r#"write after s.c {"ret":31}"#,
            "read after s.c {}",
            r#"call before next {"what":"before"}"#,
            r#"write after s.e {"ret":-9223372036854775800}"#,
            "read after s.e {}",
        ]
    );
}

/// What the optimiser has removed from the program is not found as a local of the C library, whose
/// debug information may be there: unless its function is named, that is never found.
#[test]
fn locals_of_the_system_are_named() {
    let source = "#include <unistd.h>
        static int ts; int other;
        int main(int argc, char **argv) { ts = argc; other = ts; usleep(10); return 0; }";
    let bench = Bench::c(source, &["-O2"]);
    for name in ["ts", "st"] {
        let property = format!(
            "state init {{ transition {{ event write {name}(ret) success bad }} }} state bad non-accepting"
        );
        let ran = bench.check_property(&property, &[]);
        assert_eq!(ran.code, 101, "{name}: {}", ran.err);
        let never = format!("event write {name} was never found in the program or a library");
        assert!(ran.err.contains(&never), "{}", ran.err);
    }
}

/// A name that only files of the C library have for themselves, whose debug information may be
/// there, is never found; what the library offers to programs is, and the rest with its file.
#[test]
fn data_of_the_system_are_named() {
    let source = "#include <stdlib.h>
        extern char **environ; char *none;
        static void over(void) {}
        int main(void) { atexit(over); environ = &none; return 0; }";
    let bench = Bench::c(source, &["-O0"]);
    for name in ["result", "buffer", "lock", "initial"] {
        for event in [format!("write {name}"), format!("update {{{name}}}")] {
            let property = format!(
                "state init {{ transition {{ event {event} success bad }} }} state bad non-accepting"
            );
            let ran = bench.check_property(&property, &[]);
            assert_eq!(ran.code, 101, "{event}: {}", ran.err);
            assert!(ran.err.contains("was never found"), "{}", ran.err);
        }
        let parameter = format!(
            "state init {{ transition {{ event over({name}) success bad }} }} state bad non-accepting"
        );
        let ran = bench.check_property(&parameter, &[]);
        assert_eq!(ran.code, 1, "{name}: {}", ran.err);
        let none = format!("No symbol \"{name}\" in current context.");
        assert!(ran.err.contains(&none), "{}", ran.err);
    }
    assert_eq!(
        bench.seen(&["event write environ"]),
        ["write after environ {}"]
    );
}

/// What a library of the program's own has for itself is found by its name alone.
#[test]
fn data_of_an_own_library() {
    let bench = Bench::new();
    let library = "static int result; void hit(void) { result++; }";
    bench.compile(
        "gcc",
        "lib.c",
        library,
        "libown.so",
        &["-O0", "-shared", "-fPIC"],
    );
    let main = "void hit(void); int main(void) { hit(); hit(); return 0; }";
    bench.compile(
        "gcc",
        "prog.c",
        main,
        "prog",
        &["-L.", "-lown", "-Wl,-rpath,$ORIGIN"],
    );
    let property = "state init { transition { event write result (ret) { return ret == 2 } success bad failure init } }
        state bad non-accepting";
    let ran = bench.check_property(property, &[]);
    assert_eq!(ran.code, 100, "{}", ran.err);
}

/// Functions of the C library have many names; a local of such a name is meant nevertheless, alone
/// and in an expression with others.
#[test]
fn locals_named_like_functions() {
    let source = "#include <time.h>
        int base = 1;
        int twice(int n) { int time = n; time += n; return time; }
        int main(void) { int index = twice(4); index++; base = 3; return index + base - 12; }";
    let bench = Bench::c(source, &["-O0"]);
    assert_eq!(
        bench.seen(&["event write time (ret)", "event write index (ret)"]),
        [
            r#"write after time {"ret":4}"#,
            r#"write after time {"ret":8}"#,
            r#"write after index {"ret":8}"#,
            r#"write after index {"ret":9}"#,
        ]
    );
    let seen = bench.seen(&["event update {base + index} (ret)"]);
    let last = [r#"{"ret":9}"#, r#"{"ret":10}"#, r#"{"ret":12}"#]
        .map(|v| format!("update after base + index {v}"));
    assert_eq!(seen[seen.len() - 3..], last, "{seen:?}");
    let property =
        "state init { transition { event write twice success bad } } state bad non-accepting";
    assert_eq!(bench.check_property(property, &[]).code, 101);
}

//! Steps into libraries and over calls that do not return; what libraries
//! have of each thread; calls with many arguments.

mod lab;

use lab::{Fallible, Lab, essentials, in_order};

const LIBRARY: &str = r#"__thread int per_thread = 5;
int twice(int n) {
    per_thread += n;
    return 2 * n;
}
"#;

const SOURCE: &str = r#"#include <pthread.h>
struct big { long a, b, c; };
__thread int own = 3;
int twice(int n);
long many(int a, int b, int c, int d, int e, int f, int g, short h, struct big s, double x) {
    return a + b + c + d + e + f + 10 * g + 100 * h + 1000 * s.c + (long)x;
}
static struct big value = {1, 2, 3};
static void *run(void *p) {
    own = 40;
    twice(8);
    twice(9);
    return p;
}
int main(void) {
    int r = twice(4);
    r += twice(5);
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    return (int)many(1, 1, 1, 1, 1, 1, 1, 1, value, 0.5) - r == 3116 - 18 ? 0 : 1;
}
"#;

fn with_library(options: &[&str]) -> Result<Lab, Box<dyn std::error::Error>> {
    let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
    lab.build(
        "gcc",
        "two.c",
        LIBRARY,
        "libtwo.so",
        &["-O0", "-shared", "-fPIC"],
    )?;
    let path = format!("-Wl,-rpath,{}", lab.path(".").display());
    let library = lab.path("libtwo.so").display().to_string();
    let mut all = vec!["-O0", "-pthread", library.as_str(), path.as_str()];
    all.extend(options);
    lab.build("gcc", "prog.c", SOURCE, "prog", &all)?;
    Ok(lab)
}

#[test]
fn a_step_goes_through_the_linkers_stub() -> Fallible {
    for options in [&["-Wl,-z,lazy"][..], &["-Wl,-z,now"], &["-fno-plt"]] {
        let lab = with_library(options)?;
        lab.same_as_gdb(&[
            "break main",
            "run",
            "step",
            "bt",
            "finish",
            "next",
            "step",
            "info args",
        ])?;
    }
    Ok(())
}

#[test]
fn each_thread_has_its_own_in_libraries_too() -> Fallible {
    let lab = with_library(&[])?;
    let text = lab.script(
        "break twice if n == 9\nrun\nprint per_thread\nprint own\nprint &per_thread != 0\n\
         thread 1\nprint per_thread\nprint own\nset var per_thread = 77\nprint per_thread\n",
        &[],
    )?;
    let wanted = [
        "$1 = 13\n",
        "$2 = 40\n",
        "$3 = 1\n",
        "$4 = 14\n",
        "$5 = 3\n",
        "$6 = 77\n",
    ];
    in_order(&text, &wanted);
    Ok(())
}

#[test]
fn arguments_that_do_not_fit_registers_are_passed() -> Fallible {
    let lab = with_library(&[])?;
    lab.same_as_gdb(&[
        "break main",
        "run",
        "print many(1, 1, 1, 1, 1, 1, 1, 1, value, 0.5)",
        "print many(0, 0, 0, 0, 0, 0, 5, 7, value, 2.0)",
        "next",
        "print r",
    ])
}

const JUMPS: &str = r#"#include <setjmp.h>
static jmp_buf to;
static int count;
static void deep(int n) {
    if (n) deep(n - 1);
    else longjmp(to, 7);
}
static void jump(void) {
    deep(2);
    count = 100;
}
static int inner(void) {
    jmp_buf here;
    if (!__builtin_setjmp(here)) count++;
    return count;
}
int main(void) {
    if (setjmp(to) == 0) {
        jump();
        count = 200;
    }
    count++;
    inner();
    return count;
}
"#;

#[test]
fn a_longjmp_ends_the_steps_it_leaves() -> Fallible {
    let lab = Lab::c(JUMPS, &["-O0"])?;
    let text = lab.script("break 19\nrun\nnext\nprint count\nnext\nnext\n", &[])?;
    in_order(
        &text,
        &[
            "Breakpoint 1, main () at prog.c:19\n",
            "$1 = 0\n",
            "23\t    inner();\n",
        ],
    );
    assert!(!text.contains("exited"), "{text}");
    let text = lab.script("break deep if n == 0\nrun\nup 3\nfinish\nbt\n", &[])?;
    in_order(&text, &["Run till exit", "main () at prog.c:"]);
    assert!(
        !text.contains("exited") && !text.contains("Value returned"),
        "{text}"
    );
    Ok(())
}

const THROWS: &str = r#"#include <stdexcept>
static int risky(int n) {
    if (n > 1) throw std::runtime_error("no");
    return n;
}
static int middle(int n) {
    int r = risky(n);
    return r + 1;
}
int main() {
    int got = 0;
    try {
        got = middle(1);
        got = middle(2);
        got = 50;
    } catch (const std::exception &) {
        got += 100;
    }
    return got;
}
"#;

#[test]
fn an_exception_ends_the_steps_it_leaves() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", THROWS, &["-O0"])?;
    let text = lab.script("break 13\nrun\nnext\nnext\nnext\nnext\nprint got\n", &[])?;
    in_order(&text, &["14\t", "16\t", "17\t", "$1 = 102\n"]);
    assert!(!text.contains("exited"), "{text}");
    let text = lab.script("break risky if n == 2\nrun\nfinish\nbt\n", &[])?;
    in_order(&text, &["Run till exit", "main () at prog.cc:1"]);
    assert!(
        !text.contains("exited") && !text.contains("Value returned"),
        "{text}"
    );
    Ok(())
}

/// The handler may have no line but that of the catch clause, which begins before it.
#[test]
fn a_step_over_a_throw_ends_in_a_catch_clause_of_one_line() -> Fallible {
    let source = "int thrower(int x) { if (x) throw 7; return 1; }\nint one(int x) {\n  \
                  int a = 0;\n  try { a += thrower(x); }\n  catch (int &e) { a += 100; }\n  \
                  a += 1;\n  return a;\n}\nint main() { return one(1) == 0; }\n";
    let lab = Lab::made("g++", "prog.cc", source, &["-O0"])?;
    let text = lab.script("break one\nrun\nnext\nnext\nprint a\nnext\nprint a\n", &[])?;
    in_order(
        &text,
        &["\n4\t", "\t5\t  catch", "$1 = 0\n", "6\t", "$2 = 100\n"],
    );
    Ok(())
}

const INLINED: &str = r#"volatile int seen;
static inline __attribute__((always_inline)) int mixed(int a) {
    int c = a * 3;
    seen = c;
    return c + 1;
}
static int outer(int n) {
    int first = n + 1;
    int second = mixed(first);
    int third = mixed(second) + mixed(n);
    seen = third;
    return third;
}
int main(void) {
    return outer(2) == 0;
}
"#;

/// `next` goes over inlined calls, `step` into them, each with its frame.
#[test]
fn inlined_calls_are_calls() -> Fallible {
    let lab = Lab::c(INLINED, &["-O0"])?;
    lab.same_as_gdb(&[
        "break outer",
        "run",
        "next",
        "next",
        "next",
        "next",
        "info locals",
        "next",
    ])?;
    lab.same_as_gdb(&[
        "break outer",
        "run",
        "next",
        "print $pc",
        "step",
        "print $pc",
        "bt",
        "step",
        "up",
        "next",
        "step",
        "next",
        "print $pc",
        "next",
        "next",
    ])
}

/// A loop in one line is one line, also when what it calls is inlined.
#[test]
fn a_loop_around_an_inlined_call_is_one_line() -> Fallible {
    let source = "static inline __attribute__((always_inline)) int sq(int x) {
    int r = x * x;
    return r + 1;
}
volatile int sink;
int main(int argc, char **argv) {
    int t = 0;
    for (int i = 0; i < 3; i++) t += sq(i + argc);
    sink = t;
    t = sq(t);
    return t == 0;
}
";
    let lab = Lab::c(source, &["-O0"])?;
    let next = ["break main", "run", "next", "next", "next", "next"];
    lab.same_as_gdb(&next)?;
    lab.same_as_gdb(&["break main", "run", "next", "step", "step", "step", "step"])
}

const RUST: &str = r#"use std::collections::BTreeMap;
#[inline(never)]
fn total(items: &[u32]) -> u32 {
    let mut sum = 0;
    for item in items {
        sum += item.wrapping_mul(3);
    }
    sum
}
fn main() {
    let items = vec![1, 2, 3];
    let mut names = BTreeMap::new();
    names.insert("a".to_string(), 1);
    let all = total(&items);
    println!("{all} {}", names.len());
}
"#;

/// Much of an optimised Rust program is inlined from its library; `next` stays in the program.
#[test]
fn next_stays_in_an_optimised_rust_program() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }", &[])?;
    for level in ["0", "2"] {
        let level = format!("opt-level={level}");
        lab.build("rustc", "prog.rs", RUST, "prog", &["-C", &level])?;
        let text = lab.text(&["break prog.rs:14", "run", "next"])?;
        in_order(
            &text,
            &["\n14\t    let all = total(&items);", "\n15\t    println!("],
        );
        // From the first line on it comes by the later ones, and does not run away.
        let mut commands = vec!["break prog::main", "run"];
        commands.extend(["next"; 6]);
        let text = lab.text(&commands)?;
        in_order(
            &text,
            &[
                "file prog.rs, line 11.",
                "\n14\t    let all = total(&items);",
            ],
        );
        let text = lab.text(&["break prog::total", "run", "finish", "next"])?;
        in_order(
            &text,
            &[
                "Breakpoint 1, prog::total (items=",
                "Value returned is $1 = 18\n15\t    println!(",
            ],
        );
    }
    Ok(())
}

const NESTED: &str = r#"static volatile int sink;
static __attribute__((noinline)) int real(int a) {
    sink += a;
    return a;
}
static inline __attribute__((always_inline)) int inner(int a) {
    int z = real(a) + sink;
    sink = z;
    return z * 2;
}
static inline __attribute__((always_inline)) int outer(int a) {
    int q = inner(a);
    q += inner(q);
    return q;
}
static __attribute__((noinline)) int around(int n) {
    int x = outer(n);
    return x + 1;
}
int main(void) {
    return around(3) == 0;
}
"#;

#[test]
fn an_inlined_call_is_finished_where_its_code_ends() -> Fallible {
    let lab = Lab::c(NESTED, &["-O0"])?;
    let same = |commands: &[&str]| {
        lab.same_as_gdb(&[&["tbreak real", "run"][..], commands, &["backtrace"]].concat())
    };
    same(&["finish", "finish"])?;
    same(&["finish", "finish", "finish"])?;
    // The second call, and then the one around it.
    same(&["tbreak real", "continue", "finish", "finish", "finish"])?;
    // From a function that the inner call has called, and from the outer call.
    same(&["up", "finish"])?;
    same(&["up 2", "finish"])?;
    // The function around returns as ever.
    same(&["up 3", "finish"])?;
    Ok(())
}

const LOOPS: &str = r#"#include <stdio.h>
static unsigned hash(const char *s)
{
    unsigned h = 5381;
    while (*s)
        h = h * 33 + (unsigned char)*s++;
    return h % 8;
}
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 10; i++) {
        sum += i;
        sum ^= 1;
    }
    do {
        sum--;
    } while (sum > 0);
    printf("%u %d\n", hash("apple"), sum);
    return 0;
}
"#;

#[test]
fn until_does_not_go_back_in_a_loop() -> Fallible {
    let lab = Lab::c(LOOPS, &["-O0"])?;
    lab.same_as_gdb(&[
        "break main",
        "run",
        "next",
        "next",
        "next",
        "next",
        // At the bottom of the first loop, and of the second.
        "until",
        "until",
        "until",
        "break hash",
        "continue",
        "next",
        "next",
        "next",
        "until",
        "until",
        "until",
    ])
}

const MOVED: &str = r#"#include <stdio.h>
struct tab { int n[4]; } the;
static __attribute__((noinline)) int add(struct tab *t, const char *s)
{
    int h = 0;
    while (*s) h += *s++;
    t->n[h & 3]++;
    printf("%d\n", h);
    return t->n[h & 3];
}
int main(void) { return add(&the, "abc") + add(&the, "xyz"); }
"#;

/// The optimiser moves pieces of lines between those of others, and knows arguments that are the
/// same in all calls.
#[test]
fn steps_in_moved_code_end_at_statements() -> Fallible {
    let lab = Lab::c(MOVED, &["-O2"])?;
    let mut commands = vec!["break add", "run", "print *t", "print t == &the"];
    commands.extend(["stepi", "stepi"]);
    commands.extend(["next"; 6]);
    let ours = lab.text(&commands)?;
    // The arguments come in another order.
    let lines = |text: &str| {
        let lines = text
            .lines()
            .filter(|l| l.contains('\t') || l.contains(" = "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    if let Some(theirs) = lab.gdb(&commands)? {
        assert_eq!(lines(&ours), lines(&theirs));
    }
    in_order(
        &ours,
        &["Breakpoint 1, add (t=0x", " <the>, s=0x", "$2 = 1\n"],
    );
    Ok(())
}

const TAIL: &str = r#"#include <stdlib.h>
#include <stdio.h>
struct n { int v; struct n *next; };
static __attribute__((noinline)) void drop(struct n *p) {
    p->v = -1;
    puts("drop");
    free(p);
}
int main(int argc, char **argv) {
    struct n *p = calloc(1, sizeof *p);
    p->v = argc;
    drop(p);
    puts("after");
    return 0;
}
"#;

/// The last call of a function is a jump, which leads through the loader the first time.
#[test]
fn a_tail_call_through_a_stub_is_stepped_over() -> Fallible {
    for options in [["-O2", "-Wl,-z,lazy"], ["-O2", "-Wl,-z,now"]] {
        let lab = Lab::c(TAIL, &options)?;
        let text = lab.text(&["break 7", "run", "next", "next"])?;
        in_order(
            &text,
            &[
                "7\t    free(p);\n",
                "main (argc=",
                ") at prog.c:13\n13\t    puts(\"after\");\n",
                "14\t    return 0;\n",
            ],
        );
    }
    Ok(())
}

const TIDY: &str = r#"#include <cstdio>
#include <map>
#include <string>
#include <vector>
static std::map<std::string, std::vector<int>> table;
__attribute__((noinline)) static long sum(const std::vector<int> &v, int from) {
  long s = 0;
  for (size_t i = from; i < v.size(); ++i) s += v[i];
  return s;
}
int main() {
  table["bob"] = {3, 6, 9};
  long s = sum(table["bob"], 1);
  std::printf("%ld\n", s);
  return 0;
}
"#;

/// Behind a call in optimised code an inlined destructor may begin: the program stands before it.
#[test]
fn finish_ends_in_the_caller_before_what_is_inlined_there() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", TIDY, &["-O2"])?;
    let commands = ["tbreak sum", "run", "finish", "next", "print s"];
    // What is left of the arguments is shown before.
    let end = |text: &str| {
        let mut lines = essentials(text);
        lines.split_off(lines.len().saturating_sub(5))
    };
    let ours = end(&lab.text(&commands)?);
    assert_eq!(ours[0], "main () at prog.cc:13");
    if let Some(theirs) = lab.gdb(&commands)? {
        assert_eq!(ours, end(&theirs));
    }
    Ok(())
}

/// `step` goes over inlined calls that are to be skipped, and over what they call.
#[test]
fn skipped_inlined_calls_are_not_entered() -> Fallible {
    let source = "volatile int v;\n\
        __attribute__((noinline)) int real(int n) {\n  v += n;\n  return v;\n}\n\
        #define INLINED static inline __attribute__((always_inline))\n\
        INLINED int small(int n) {\n  v += n;\n  v *= real(2);\n  return v;\n}\n\
        INLINED int outer(int n) {\n  v += 1;\n  n = small(n);\n  v += 2;\n  return n;\n}\n\
        int main(void) {\n  v = 1;\n  small(3);\n  v = 2;\n  outer(4);\n  v = 5;\n\
        \x20 v = real(1) + small(5);\n  v = small(6) + outer(7);\n  return v;\n}\n";
    for level in ["-O0", "-O1", "-O2"] {
        let lab = Lab::c(source, &[level])?;
        for skipped in ["small", "outer"] {
            let skip = format!("skip function {skipped}");
            let mut commands = vec![skip.as_str(), "break main", "run"];
            commands.extend(["step"; 30]);
            let text = lab.text(&commands)?;
            let entered = format!("\n{skipped} (n=");
            assert!(!text.contains(&entered), "{level}: {text}");
            let other = if skipped == "small" {
                "\nouter (n=4)"
            } else {
                "\nsmall (n=3)"
            };
            assert!(text.contains(other), "{level}: {text}");
            assert!(text.contains("\nreal (n=1)"), "{level}: {text}");
            let in_skipped = ["\nreal (n=2)", "v *= real(2);"];
            if level == "-O0" {
                lab.same_as_gdb(&commands[..10])?;
            }
            let passed = skipped == "small" && in_skipped.iter().any(|t| text.contains(t));
            assert!(!passed, "{level}: {text}");
        }
        let mut commands = vec!["skip file prog.c", "break main", "run"];
        commands.extend(["step"; 5]);
        let text = lab.text(&commands)?;
        assert!(!text.contains(" (n="), "{level}: {text}");
    }
    Ok(())
}

/// A function that is called behind a skipped inlined one, in the same line, is entered.
#[test]
fn what_is_called_behind_a_skipped_call_is_entered() -> Fallible {
    let source = "volatile int v;\n\
        __attribute__((noinline)) int real(int n) {\n  v += n;\n  return v;\n}\n\
        static inline __attribute__((always_inline)) int small(int n) {\n  v += n;\n  return v;\n}\n\
        int main(void) {\n  v = 1;\n  v = small(5) + real(1);\n  return v;\n}\n";
    let lab = Lab::c(source, &["-O0"])?;
    let commands = ["skip function small", "break main", "run", "step", "step"];
    let text = lab.text(&commands)?;
    assert!(text.contains("\nreal (n=1)"), "{text}");
    Ok(())
}

const MOVED_BEHIND_A_CALL: &str = r#"#include <stdio.h>
volatile int sink;
__attribute__((noinline)) int guarded(int x) {
  sink = x;
  return x * 3 + sink;
}
int main(int argc, char **argv) {
  int r = argc;
  r += guarded(1);
  r += guarded(5);
  r += guarded(9);
  printf("%d\n", r);
  return 0;
}
"#;

/// Behind the call begins code of the next line that is not yet its statement.
#[test]
fn a_return_into_moved_code_stops_at_the_next_statement() -> Fallible {
    let lab = Lab::c(MOVED_BEHIND_A_CALL, &["-O2"])?;
    let mut commands = vec!["break guarded", "run"];
    commands.extend(["next"; 8]);
    // Arguments that are known are shown here, which gdb does not.
    let lines = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|l| l.starts_with(|c: char| c.is_ascii_digit()));
        lines.map(str::to_owned).collect()
    };
    let ours = lines(&lab.text(&commands)?);
    assert_eq!(ours[2], "10\t  r += guarded(5);", "{ours:?}");
    if let Some(theirs) = lab.gdb(&commands)? {
        assert_eq!(ours, lines(&theirs));
    }
    Ok(())
}

const FIRST_INLINED: &str = r#"use std::collections::HashMap;
struct Bank { all: HashMap<String, u32> }
impl Bank { fn new() -> Bank { Bank { all: HashMap::new() } } }
fn main() {
    let mut bank = Bank::new();
    bank.all.insert("a".to_owned(), 1);
    println!("{:?}", bank.all);
}
"#;

/// Parts of an inlined call are put far away: where the others begin is not where it does.
#[test]
fn a_function_begins_before_all_that_is_inlined_into_it() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &["-O0"])?;
    lab.build("rustc", "prog.rs", FIRST_INLINED, "prog", &["-O"])?;
    let text = lab.text(&["break prog::main", "run"])?;
    in_order(
        &text,
        &[
            "prog.rs, line 5.",
            "Breakpoint 1, prog::main () at prog.rs:5\n",
        ],
    );
    Ok(())
}

/// `until` and `advance` to a place end when the selected frame returns, not the innermost one.
#[test]
fn until_a_place_goes_by_the_selected_frame() -> Fallible {
    let source = "int inner(int n) {\n  return n + 1;\n}\nint outer(int n) {\n  int r = inner(n);\n\
                  \x20 r *= 2;\n  return r;\n}\nint main(void) {\n  int r = outer(3);\n  r += 1;\n  return r;\n}\n";
    let lab = Lab::c(source, &["-O0"])?;
    for command in ["until 7", "advance 7", "until 12", "advance 12"] {
        lab.same_as_gdb(&["break inner", "run", "up", command])?;
    }
    lab.same_as_gdb(&["break inner", "run", "until 7"])
}

#[test]
fn a_system_call_enters_nothing() -> Fallible {
    let source = r#"static long pid(void) {
    long n = 39;
    __asm__ volatile("syscall" : "+a"(n) : : "rcx", "r11", "memory");
    return n;
}
int main(void) {
    long a = pid();
    long b = pid();
    return a == b ? 0 : 1;
}
"#;
    let lab = Lab::c(source, &["-O0"])?;
    for kind in ["step", "next"] {
        lab.same_as_gdb(&["break pid", "run", kind, kind, kind, kind, kind, kind, kind])?;
    }
    Ok(())
}

/// An int3 of the program's own stands for a breakpoint, unless the program handles it itself.
#[test]
fn an_int3_of_the_programs_own() -> Fallible {
    let lab = Lab::c(
        "int main(void) {\n  __asm__ volatile(\"int3\");\n  return 0;\n}\n",
        &["-O0"],
    )?;
    lab.same_as_gdb(&["run", "continue"])?;
    let text = lab.text(&["run", "continue"])?;
    in_order(
        &text,
        &["SIGTRAP, Trace/breakpoint trap", "exited normally"],
    );
    let handled = "#include <signal.h>\nstatic volatile int seen;\nstatic void trap(int s) { seen = s; }\n\
        int main(void) {\n  signal(SIGTRAP, trap);\n  __asm__ volatile(\"int3\");\n  return seen != SIGTRAP;\n}\n";
    let lab = Lab::c(handled, &["-O0"])?;
    let text = lab.text(&["run", "continue"])?;
    in_order(
        &text,
        &["SIGTRAP, Trace/breakpoint trap", "exited normally"],
    );
    Ok(())
}

const RECURSION: &str = r#"int f(int n) {
    int r = 1;
    if (n > 0)
        r = n * f(n - 1);
    return r;
}
int main(void) {
    int x = f(3);
    return x == 6 ? 0 : 1;
}
"#;

#[test]
fn another_activation_of_the_function_is_another_frame() -> Fallible {
    let lab = Lab::c(RECURSION, &["-O0"])?;
    let mut commands = vec!["break main", "run"];
    commands.extend(["step"; 12]);
    commands.extend(["finish", "next", "next", "next", "stepi 3", "nexti 2"]);
    lab.same_as_gdb(&commands)
}

const RECURSIVE: &str = r#"int total;
int leaf(int n) {
    total += n;
    return n;
}
int down(int n) {
    int r = leaf(n);
    if (n > 0)
        r += down(n - 1);
    r += leaf(r);
    return r;
}
int main(void) {
    int x = down(3);
    x += total;
    return x == 0;
}
"#;

/// A place is reached by `until` in the selected frame only, by `advance` in any.
#[test]
fn until_a_place_passes_the_calls_of_its_frame() -> Fallible {
    let lab = Lab::c(RECURSIVE, &["-O0"])?;
    let stopped = ["break down if n == 1", "run", "delete 1"];
    for command in [
        "until 10",
        "until leaf",
        "until down",
        "advance 10",
        "advance leaf",
    ] {
        let mut commands = stopped.to_vec();
        commands.extend([command, "print n", "bt"]);
        lab.same_as_gdb(&commands)?;
    }
    let mut outer = stopped.to_vec();
    outer.extend(["up", "until 10", "print n", "until 11", "print n"]);
    lab.same_as_gdb(&outer)
}

/// The code before counts in every activation of the function, as in gdb: `until` at the end of the
/// innermost leads out of all of them.
#[test]
fn until_leads_out_of_a_recursion() -> Fallible {
    let source = "int fact(int n) {\n    int r;\n    if (n <= 1)\n        r = 1;\n    else\n        \
                  r = n * fact(n - 1);\n    return r;\n}\nint main(void) {\n    int x = fact(4);\n    \
                  x += 1;\n    return x != 25;\n}\n";
    let lab = Lab::c(source, &["-O0"])?;
    let commands = [
        "break 4", "run", "until", "until", "bt", "until", "bt", "print x", "until", "bt",
    ];
    lab.same_as_gdb(&commands)
}

const AGAIN: &str = r#"int squares[4];
static int square(int x) { return x * x; }
int main(void) {
    for (int i = 0; i < 4; i++) { squares[i] = square(i); }
    return squares[3] - 9;
}
"#;

#[test]
fn another_call_from_the_same_place_is_another_frame() -> Fallible {
    let lab = Lab::c(AGAIN, &["-O0"])?;
    let commands = ["break 4", "run", "step", "step", "step", "step", "bt"];
    lab.same_as_gdb(&commands)?;
    let text = lab.text(&commands)?;
    in_order(&text, &["square (x=1) at", "square (x=2) at"]);
    Ok(())
}

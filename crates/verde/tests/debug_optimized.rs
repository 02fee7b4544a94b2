//! What optimised code has left of functions and their variables.

mod lab;

use lab::{Fallible, Lab, in_order};

const BLOCKS: &str = r#"volatile int sink;
struct point { int x, y; };
static inline int area(struct point *p, int unused, int k) {
    int w = p->x;
    int gone = unused * 7;
    {
        int inner = w * 2;
        int dead = inner + k;
        sink = inner;
        if (k > 3) {
            int deeper = dead * 3;
            int deepest = deeper + 1;
            sink = k;
        }
    }
    for (int i = 0; i < 2; i++) {
        int t = i * w;
        sink = t;
    }
    return w * p->y;
}
__attribute__((noinline)) static int part(int a, int b, int c) {
    int z = a + c;
    {
        int never = b * 5;
    }
    sink = z;
    return z;
}
__attribute__((noinline)) int work(int n) {
    struct point p = { n, n + 1 };
    int r = area(&p, 3, n);
    r += part(r, 99, n);
    sink = r;
    return r;
}
int main(int argc, char **argv) {
    int total = 0;
    for (int i = 0; i < 3; i++)
        total += work(argc + i);
    return total == 0;
}
"#;

/// Blocks of which no code is left have their variables in the block around them.
#[test]
fn variables_without_a_place_are_there() -> Fallible {
    let lab = Lab::c(BLOCKS, &["-O2"])?;
    let mut commands = vec!["tbreak prog.c:9", "run"];
    let looks = [
        "info locals",
        "print deeper",
        "whatis deepest",
        "print gone",
        "up",
        "info locals",
        "print p.x",
    ];
    commands.extend(looks);
    let text = lab.text(&commands)?;
    in_order(
        &text,
        &["deeper = <optimized out>", "$1 = <optimized out>\n"],
    );
    let after = |text: &str| text.split_once("sink = inner;").map(|(_, t)| t.to_owned());
    if let Some(theirs) = lab.gdb(&commands)? {
        // Arguments are in the order of the declaration here, and more of them are known.
        let only = |text: &str| -> Vec<String> {
            let lines = after(text).unwrap_or_default();
            let lines = lines.lines().filter(|l| !l.starts_with('#'));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(only(&text), only(&theirs));
    }
    for command in ["print deeper + 1", "print deeper == 1", "watch deeper"] {
        let output = lab.verde(&["tbreak prog.c:9", "run", command], &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(errors, "value has been optimized out\n", "{command}");
    }
    let same = [
        "tbreak part",
        "run",
        "info locals",
        "print never",
        "print b",
    ];
    let locals = |text: String| text.split_once("int z = a + c;").map(|(_, t)| t.to_owned());
    let ours = locals(lab.text(&same)?);
    assert!(
        ours.as_deref().is_some_and(|t| t.contains("\nz = ")),
        "{ours:?}"
    );
    if let Some(theirs) = lab.gdb(&same)? {
        assert_eq!(ours, locals(theirs));
    }
    Ok(())
}

/// A breakpoint on a line is said to be there, though other lines begin at the same instruction.
#[test]
fn breakpoints_are_on_the_lines_that_were_named() -> Fallible {
    let lab = Lab::c(BLOCKS, &["-O2"])?;
    let lines: Vec<String> = (3..38).map(|line| format!("break prog.c:{line}")).collect();
    let mut commands = Vec::new();
    for line in &lines {
        commands.extend([line.as_str(), "info breakpoints", "delete"]);
    }
    lab.same_as_gdb(&commands)
}

const JUMPS: &str = r#"volatile int sink, rounds;
#define FAR __attribute__((noipa))
FAR void pause_here(void) { sink++; }
FAR int work(int n) {
    sink += n;
    pause_here();
    sink -= 1;
    return sink;
}
FAR int once(int n) { sink ^= 1; return work(n * 10); }
FAR int further(int n) { sink ^= 2; return once(n + 1); }
FAR int either(int n) { sink ^= 3; if (n & 1) return work(n + 100); return once(n + 200); }
FAR int back(int n);
FAR int forth(int n) {
    sink += n;
    pause_here();
    sink -= 1;
    if (rounds++ & 1) return sink;
    return back(sink);
}
FAR int back(int n) { sink ^= 4; return forth(n * 2); }
int (*volatile by)(int);
int main(void) {
    for (int i = 1; i < 3; i++) sink += work(i);
    for (int i = 1; i < 3; i++) sink += once(i);
    for (int i = 1; i < 3; i++) sink += further(i);
    for (int i = 1; i < 3; i++) sink += either(i);
    for (int i = 1; i < 3; i++) sink += forth(i);
    by = once;
    for (int i = 1; i < 3; i++) sink += by(i);
    return 0;
}
"#;

/// What the caller passed is what the function began with only if it is what was called: a jump to
/// another function at the end of one passes something else.
#[test]
fn what_a_call_passed_is_not_taken_for_what_a_jump_passed() -> Fallible {
    let lab = Lab::c(JUMPS, &["-O2"])?;
    let mut commands = vec!["set print entry-values no", "break 7", "break 17", "run"];
    commands.extend(["continue"; 13]);
    let text = lab.text(&commands)?;
    let unknown = "(n=<optimized out>)";
    let work = ["(n=1)", "(n=2)", "(n=10)", "(n=20)", "(n=20)", "(n=30)"];
    let stops = text.lines().filter_map(|l| l.split_once(", "));
    let stops: Vec<&str> = stops
        .filter_map(|(_, s)| s.split_once(" at ").map(|(s, _)| s))
        .collect();
    let mut expected: Vec<String> = work.iter().map(|n| format!("work {n}")).collect();
    for (function, times) in [("work", 2), ("forth", 4), ("work", 2)] {
        expected.extend(vec![format!("{function} {unknown}"); times]);
    }
    assert_eq!(stops, expected, "{text}");
    lab.same_as_gdb(&commands)
}

/// A parameter that a clone of the function is not passed, and that is replaced at once: its caller
/// knows what it was.
#[test]
fn what_is_replaced_at_once_is_known_at_the_entry() -> Fallible {
    let source = "#define N __attribute__((noinline))\n\
        N int sink(int x) { __asm__ volatile(\"\" :: \"r\"(x)); return x; }\n\
        static N int replaced(int a, int b, int mode) { a = b; return sink(a) + mode; }\n\
        int main(int argc, char **argv) {\n\
          return replaced(28 + argc, 30 * argc, 5) + replaced(argc, 3 * argc, 5) != 43;\n\
        }\n";
    let lab = Lab::c(source, &["-O2"])?;
    let stops = ["break *replaced", "run", "print a", "continue", "print a"];
    in_order(&lab.text(&stops)?, &["$1 = 29\n", "$2 = 1\n"]);
    Ok(())
}

/// How often each of the functions `f0`, `f1`, ... was run, as the program counted itself.
fn counted(text: &str) -> Vec<(&str, u64)> {
    let lines = text.lines().filter_map(|l| l.strip_prefix("count "));
    let pairs = lines.filter_map(|l| l.split_once(' '));
    pairs
        .filter_map(|(f, n)| Some((f, n.parse().ok()?)))
        .collect()
}

fn hits(text: &str) -> u64 {
    let times = text.split("already hit ").nth(1);
    let number = times.and_then(|t| t.split(' ').next()?.parse().ok());
    number.unwrap_or(0)
}

/// Runs the program once for each function with a breakpoint on it, which is to be passed as often
/// as the function runs; and the places have the function's name and lines. Of a function in `torn`
/// parts were joined with those of other calls.
fn hit_as_often_as_run(lab: &Lab, file: &str, scope: &str, torn: &[&str]) -> Fallible {
    let source = std::fs::read_to_string(lab.path(file))?;
    let run = lab.verde(&["run"], &[])?;
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let all = counted(&text);
    assert!(all.len() > 4, "{text}");
    for (function, count) in all {
        let set = format!("break {scope}{function}");
        let commands = [&set, "ignore 1 100000", "run", "info breakpoints 1"];
        let text = lab.text(&commands)?;
        let is_exact = hits(&text) == count;
        assert!(is_exact || torn.contains(&function), "{function}: {text}");
        if let Some(theirs) = lab.gdb(&commands)? {
            // The oracle is not always right, and never better.
            let (ours, theirs) = (hits(&text), hits(&theirs));
            assert!(ours.abs_diff(count) <= theirs.abs_diff(count), "{function}");
        }
        let is_declared = |l: &str| l.starts_with("static ") || l.starts_with("fn ");
        let begins = |l: &str| is_declared(l) && l.contains(&format!("{function}("));
        let first = source.lines().position(begins).ok_or("no function")? + 1;
        let rest = source.lines().skip(first).position(|l| l.starts_with('}'));
        let last = match source
            .lines()
            .nth(first - 1)
            .is_some_and(|l| l.ends_with('}'))
        {
            true => first,
            false => first + rest.ok_or("no end")? + 1,
        };
        let (_, table) = text.split_once("Num ").ok_or("no table")?;
        for place in table.lines().filter(|l| l.contains(" in ")) {
            let (_, place) = place.split_once(" in ").ok_or("no place")?;
            let (name, line) = place.rsplit_once(':').ok_or("no line")?;
            let line: usize = line.parse()?;
            let wanted = format!("{scope}{function} at {file}");
            assert!(name == wanted && (first..=last).contains(&line), "{place}");
        }
    }
    Ok(())
}

const COUNTED_C: &str = r#"#include <stdio.h>
#include <stdlib.h>
#include <string.h>
volatile long c[8];
struct q { int h, t, d[8]; };
static inline int f0(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i]; c[0]++; return s; }
static inline int f1(int x) { c[1]++; if (x % 3 == 0) return 7; return x * 5; }
static inline char *f2(const char *s) { char *p = malloc(strlen(s) + 1); strcpy(p, s); c[2]++; return p; }
static inline int f3(int a, int b) { c[3]++; return a ^ b; }
static inline int f4(struct q *q) { int v = -1; if (q->h != q->t) v = q->d[q->h++ & 7]; c[4]++; return v; }
static inline long f5(long a) { long r = a; while (r > 10) r = r / 3 + (c[7] == 0); c[5]++; return r; }
static inline int f6(int x) { int y = f3(x, 5); c[6]++; return y + f1(y); }
__attribute__((noinline)) long work(struct q *q, int n) {
  long t = 0; int a[4] = { n, n + 1, 3, 4 };
  for (int i = 0; i < n; i++) {
    t += f0(a, i & 3);
    t += f1(i);
    if (i & 1) t += f3(t, 3); else t ^= f3(7, t);
    char *p = f2(i > 2 ? "banana" : "k"); t += p[0]; free(p);
    if (i & 2) t += f4(q);
    t += f5(t * 17);
    t += f6(i);
  }
  return t;
}
__attribute__((noinline)) long other(struct q *q) {
  int a[3] = { 1, 2, 3 };
  long r = f0(a, 3) + f1(4) + f1(9) + f3(1, 2);
  r += f4(q) + f4(q) + f5(r) + f6(2);
  char *p = f2("zz"); r += p[1]; free(p);
  return r;
}
int main(void) {
  struct q q = { 0, 3 }; long t = 0;
  for (int k = 1; k < 9; k++) { t += work(&q, k); t += other(&q); }
  printf("%ld\n", t);
  for (int i = 0; i < 7; i++) printf("count f%d %ld\n", i, c[i]);
}
"#;

/// GCC says where an inlined call begins, and that is no range's first address.
#[test]
fn breakpoints_on_inlined_functions_of_c_are_hit_once_by_each_call() -> Fallible {
    for level in ["-O1", "-O2"] {
        let lab = Lab::c(COUNTED_C, &[level])?;
        hit_as_often_as_run(&lab, "prog.c", "", &["f4"])?;
    }
    Ok(())
}

const COUNTED_RUST: &str = r#"use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
pub static C: [AtomicU64; 11] = [const { AtomicU64::new(0) }; 11];
fn tick(i: usize) { C[i].fetch_add(1, Relaxed); }
pub struct Item { name: String, price: u64, count: u32 }
pub struct Shop { items: Vec<Item>, log: Vec<String>, seen: HashMap<String, u32>, tree: BTreeMap<u32, u32> }
#[inline(always)]
fn f0(shop: &mut Shop, name: &str, count: u32) -> u64 {
    let mut names = Vec::new();
    tick(0);
    names.push(name.to_string());
    let price = match shop.items.iter_mut().find(|i| i.name == name) {
        Some(item) => { item.count = item.count.saturating_sub(count); item.price * count as u64 }
        None => { shop.log.push(format!("missing {name}")); 0 }
    };
    *shop.seen.entry(name.to_string()).or_insert(0) += 1;
    price + names.len() as u64
}
#[inline(always)]
fn f1(n: usize) -> usize {
    let mut v: Vec<u32> = Vec::with_capacity(n);
    tick(1);
    for i in 0..n { v.push(i as u32 * 3); }
    black_box(v.iter().map(|x| *x as usize).sum())
}
#[inline(always)]
fn f2(x: u64) -> u64 {
    if x % 3 == 0 { tick(2); return 7; }
    tick(2);
    let y = x * 5;
    black_box(y) + 1
}
#[inline(always)]
fn f3(a: u64, b: u64) -> u64 { tick(3); black_box(a ^ b) }
#[inline(always)]
fn f4(s: &str) -> String {
    let mut out = String::new();
    tick(4);
    for c in s.chars() { if c != 'a' { out.push(c); } }
    out
}
#[inline(always)]
fn f5(xs: &[u64]) -> u64 {
    let mut t = 0;
    for x in xs { t += black_box(*x); }
    tick(5);
    t
}
#[inline(always)]
fn f6(m: &BTreeMap<u32, u32>, k: u32) -> Option<u32> {
    let v = m.get(&k)?;
    tick(6);
    Some(*v + 1)
}
#[inline(always)]
fn f7(n: u64) -> Box<u64> { let b = Box::new(n * 3); tick(7); b }
#[inline(always)]
fn f8(v: &mut Vec<u64>, x: u64) { v.push(x); tick(8); }
#[inline(always)]
fn f9(v: &[u64], i: usize) -> u64 { let x = v[i]; tick(9); if x > 3 { x * 2 } else { 1 } }
#[inline(never)]
fn work(shop: &mut Shop, n: u32) -> u64 {
    let mut total = 0u64;
    let mut acc = Vec::new();
    for i in 0..n {
        total += f0(shop, if i % 2 == 0 { "pear" } else { "nut" }, i);
        total += f1(i as usize) as u64;
        total += f2(i as u64);
        if i % 2 == 1 { total += f3(total, 3); } else { total ^= f3(7, total); }
        let s = f4(if i > 2 { "banana" } else { "kiwi" });
        total += s.len() as u64;
        f8(&mut acc, total);
        total += f5(&acc);
        total += f6(&shop.tree, i).unwrap_or(0) as u64;
        total += *f7(total);
        total += f9(&acc, i as usize);
    }
    total
}
#[inline(always)]
fn f10(v: &u64) -> u64 { let w = black_box(*v * 3); tick(10); w * w }
#[inline(never)]
fn largest(v: &[u64]) -> Option<&u64> { v.iter().max_by_key(|x| f10(x)) }
#[inline(never)]
fn other(shop: &mut Shop) -> u64 {
    let mut acc = vec![1, 2, 3];
    f8(&mut acc, 4);
    f8(&mut acc, 5);
    let a = f2(4) + f2(9) + f5(&acc) + f9(&acc, 1) + f9(&acc, 4);
    let b = f0(shop, "fig", 1) + f1(3) as u64 + f4("xa").len() as u64;
    let b = b + largest(&acc).copied().unwrap_or(0);
    a + b + *f7(a) + f6(&shop.tree, 2).unwrap_or(1) as u64
}
fn main() {
    let item = |name: &str, price, count| Item { name: name.into(), price, count };
    let items = vec![item("pear", 3, 10), item("fig", 5, 2)];
    let tree = (0..5).map(|i| (i, i * i)).collect();
    let mut shop = Shop { items, log: vec![], seen: HashMap::new(), tree };
    let mut t = 0;
    for k in 1..5 { t += work(&mut shop, k); t += other(&mut shop); }
    println!("{t}");
    for (i, c) in C.iter().enumerate() { println!("count f{i} {}", c.load(Relaxed)); }
}
"#;

/// The code of an inlined call of LLVM's may begin with padding, and two calls may share some.
#[test]
fn breakpoints_on_inlined_functions_of_rust_are_hit_once_by_each_call() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
    let options = ["--edition", "2021", "-C", "opt-level=2"];
    lab.build("rustc", "prog.rs", COUNTED_RUST, "prog", &options)?;
    hit_as_often_as_run(&lab, "prog.rs", "prog::", &[])
}

const IN_REGISTER: &str = r"
int depth(int n) {
    int here = n * 10;
    if (n > 0)
        here += depth(n - 1);
    return here;
}
int main(void) { return depth(3) & 1; }
";

/// The caller's, while the same function runs inside it.
#[test]
fn a_value_in_a_register_is_watched_in_its_frame() -> Fallible {
    let lab = Lab::c(IN_REGISTER, &["-O1", "-fno-ipa-sra", "-fno-inline"])?;
    lab.same_as_gdb(&[
        "set print entry-values no",
        "break depth if n == 1",
        "run",
        "up",
        "print here",
        "watch here",
        "delete 1",
        "continue",
        "continue",
        "bt",
    ])
}

const NESTED: &str = r"
volatile int g;
static inline __attribute__((always_inline)) int third(int n) {
    g = n;
    g += 2;
    return g;
}
static inline __attribute__((always_inline)) int second(int n) {
    int r = third(n + 1);
    g += r;
    return r;
}
__attribute__((noinline)) int first(int n) {
    int s = second(n);
    g += s;
    return s;
}
int main(void) {
    return first(2) > 0 ? 0 : 1;
}
";

/// Of a frame that holds an inlined call, what is asked for is the line of the call.
#[test]
fn frames_around_inlined_calls_have_lines_of_their_own() -> Fallible {
    let lab = Lab::c(NESTED, &["-O1"])?;
    for frame in ["frame 0", "frame 1", "frame 2", "frame 3"] {
        lab.same_as_gdb(&[
            "set print entry-values no",
            "break 5",
            "run",
            frame,
            "info line",
            "info symbol $pc",
            "list",
        ])?;
        let source = lab.text(&["break 5", "run", frame, "info source"])?;
        in_order(&source, &["Current source file is prog.c\n", "/prog.c\n"]);
    }
    Ok(())
}

const DROPS: &str = r#"#include <stdlib.h>
#include <string.h>
struct item { int key; char name[16]; struct item *next, *prev; };
struct list { struct item *head, *tail; int size; };
static struct list all[7];
volatile int sink;
static void drop(struct list *l, struct item *it) {
  if (it->prev) it->prev->next = it->next; else l->head = it->next;
  if (it->next) it->next->prev = it->prev;
  l->size--;
  memset(it, 0xee, sizeof *it); __asm__ volatile("" ::: "memory");
  free(it);
}
int main(void) {
  struct item *it = 0;
  for (int k = 0; k < 3; k++) {
    it = calloc(1, sizeof *it);
    it->prev = all[3].tail;
    if (it->prev) it->prev->next = it; else all[3].head = it;
    all[3].tail = it;
  }
  drop(&all[3], it);
  for (int b = 0; b < 7; b++) sink += all[b].size;
  return 0;
}
"#;

/// A watched variable of an inlined call goes with the call, as one of another call does.
#[test]
fn a_watch_ends_with_its_inlined_call() -> Fallible {
    let lab = Lab::c(DROPS, &["-O2"])?;
    let text = lab.script("break drop\nrun\nwatch l->tail\ncontinue\ncontinue\n", &[])?;
    in_order(
        &text,
        &[
            "Watchpoint 2: l->tail\n",
            "Watchpoint 2 deleted because the program has left the block in\n",
            "main () at prog.c:2",
            "exited normally]",
        ],
    );
    assert!(!text.contains("unreadable"), "{text}");
    Ok(())
}

const COMPUTED: &str = r#"#include <stdio.h>
int main(int argc, char **argv) {
    float f = argc * 1.5f;
    double d = f / 3;
    int whole = d * 4;
    float turned = -f;
    printf("%g\n", f);
    printf("%g %g\n", f, f * 2);
    return argc == 7 && argv == 0;
}
"#;

/// What was never computed is computed from vector registers, by numbers of their types.
#[test]
fn numbers_that_only_the_debugger_computes() -> Fallible {
    let lab = Lab::c(COMPUTED, &["-O2"])?;
    lab.same_as_gdb(&[
        "break 7",
        "run",
        "info locals",
        "next",
        "print d",
        "print whole",
        "print turned",
    ])
}

const ONLY_INLINED: &str = "volatile int v;
static inline __attribute__((always_inline)) int mixed(int a)
{
    v = a * 31;
    return v ^ 5;
}
int main(void)
{
    return mixed(v) & 1;
}
";

#[test]
fn a_function_without_code_of_its_own_is_listed_and_named() -> Fallible {
    let lab = Lab::c(ONLY_INLINED, &["-O2"])?;
    let text = lab.text(&["set listsize 3", "list mixed"])?;
    assert!(text.contains("int mixed(int a)"), "{text}");
    let output = lab.verde(&["disassemble mixed"], &[])?;
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "Function \"mixed\" has no code of its own: all its calls are inlined.\n"
    );
    Ok(())
}

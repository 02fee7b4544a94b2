//! Conditions of breakpoints with several places.

mod lab;

use lab::{Fallible, Lab, essentials, in_order};

const CPP: &str = r#"#include <cstdio>
template <class T> T pick(T a, T b) { T big = a > b ? a : b; return big; }
static int only(int k) { return k + 1; }
namespace other { static int only(int z) { return z + 2; } }
int main() {
  int s = 0;
  for (int i = 0; i < 4; i++) {
    s += pick(i, 2);
    s += (int)pick(i * 1.5, 2.5);
    s += only(i);
    s += other::only(i);
  }
  std::printf("%d\n", s);
}
"#;

/// Each instance of a template has parameters of its own.
#[test]
fn a_condition_is_bound_at_each_place() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", CPP, &["-O0"])?;
    lab.same_as_gdb(&[
        "break pick if a == 3",
        "run",
        "print a",
        "print sizeof(a)",
        "continue",
        "print a",
        "print sizeof(a)",
        "info breakpoints",
        "delete",
        "continue",
    ])
}

/// A place where the condition makes no sense is none to stop at, until it has another.
#[test]
fn a_place_where_a_condition_makes_no_sense() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", CPP, &["-O0"])?;
    let commands = [
        "break only if k == 1",
        "info breakpoints",
        "run",
        "info breakpoints",
        "condition 1 z == 2",
        "info breakpoints",
        "continue",
        "print z",
        "continue",
    ];
    // gdb says the rest of a warning where this test does not look.
    let said = |text: &str| {
        let mut lines = essentials(text);
        lines.retain(|line| !line.starts_with("  No symbol"));
        lines
    };
    if let Some(gdb) = lab.gdb(&commands)? {
        assert_eq!(said(&lab.text(&commands)?), said(&gdb));
    }
    let text = lab.text(&[
        "break only if k == 7",
        "condition 1",
        "run",
        "continue",
        "bt 1",
    ])?;
    in_order(
        &text,
        &[
            "warning: failed to validate condition at location 2, disabling:\n  No symbol \"k\"",
            "Breakpoint 1's condition is now valid at location 2, enabling.\n",
            "Breakpoint 1.1, only (k=0)",
            "#0  other::only (z=0)",
        ],
    );
    for wrong in ["break only if q == 1", "break main if k == 1"] {
        let output = lab.verde(&[wrong, "info breakpoints"], &[])?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(errors.contains("No symbol \""), "{wrong}: {errors}");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("No breakpoints"), "{wrong}: {said}");
    }
    Ok(())
}

const RUST: &str = r#"#[derive(Clone, Copy)]
struct P { x: i32, y: i32 }
#[inline(always)]
fn twist(k: i32, p: P) -> i32 { let twice = k * 2 + p.x; twice + p.y }
#[inline(never)]
fn outer(i: i32) -> i32 {
    let p = P { x: i, y: i * 3 };
    let r = twist(i, p);
    r + 1
}
fn main() {
    let mut total = 0;
    for i in 0..8 { total += outer(i); }
    for i in 0..3 { total += twist(i + 20, P { x: 1, y: 2 }); }
    println!("{total}");
}
"#;

/// An inlined call has variables of its own.
#[test]
fn a_condition_names_what_an_inlined_call_has() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
    lab.build("rustc", "prog.rs", RUST, "prog", &["--edition", "2021"])?;
    for place in ["prog::twist", "prog.rs:4"] {
        let first = format!("break {place} if k == 5");
        let then = format!("break {place} if p.x == 1 && k > 20");
        let commands = [
            &first,
            "run",
            "print k",
            "print p.y",
            "bt 2",
            "delete",
            &then,
            "continue",
            "print k",
            "bt 2",
            "continue",
            "print k",
        ];
        lab.same_as_gdb(&commands)?;
    }
    Ok(())
}

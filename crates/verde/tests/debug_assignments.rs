//! Assignments of one type to another.

mod lab;

use lab::{Fallible, Lab};

const NUMBERS: &str = r#"#include <complex.h>
int i = 9;
double d = 2.5;
long double ld = 1.5L;
double complex z = 1 + 2i, other = 5 + 6i;
float complex small = 1 + 2i;
long double complex large = 1 + 2i;
int main(void) { return 0; }
"#;

#[test]
fn what_is_real_has_no_imaginary_part() -> Fallible {
    let lab = Lab::c(NUMBERS, &["-O0"])?;
    lab.same_as_gdb(&[
        "break main",
        "run",
        "print z = 3",
        "print z",
        "print z = i",
        "print z = d",
        "print z = other",
        "print small = 3",
        "print small",
        "print small = other",
        "print small = 2.5",
        "print large = 3",
        "print large = ld",
        "print large = other",
        "print d = other",
        "print d",
    ])
}

const RECORDS: &str = r#"#[derive(Debug)]
struct Four { a: i32 }
fn main() {
    let o16: Option<u16> = Some(3);
    let f = Four { a: 1 };
    let g = Four { a: 7 };
    let array = [3i32];
    let pair = (1u16, 2u16);
    println!("{o16:?}{f:?}{g:?}{array:?}{pair:?}{}", f.a);
}
"#;

/// The bytes of a number are no value of an enum; gdb writes them, and cannot read it any more.
#[test]
fn a_record_of_rust_takes_its_own_only() -> Fallible {
    let lab = Lab::made("rustc", "prog.rs", RECORDS, &[])?;
    let wrong = ["o16 = 4", "o16 = f", "f = 5", "array = 5", "f = pair"];
    for assignment in wrong {
        let output = lab.verde(&["break 9", "run", &format!("print {assignment}")], &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        let refusal = "Incompatible types in assignment.";
        assert!(errors.contains(refusal), "{assignment}: {errors}");
    }
    let text = lab.text(&["break 9", "run", "print f = g", "print o16"])?;
    lab::in_order(&text, &["$1 = prog::Four {a: 7}", "Some(3)"]);
    Ok(())
}

//! Functions that `print` calls: which one is meant, and what becomes of its result.

mod lab;

use lab::{Fallible, Lab, in_order};

const CASTS: &str = r#"
struct big { int a[8]; };
float half(float a) { return a / 2; }
short minus(void) { return -3; }
long double wide(void) { return 9.75L; }
unsigned char small(int n) { return (unsigned char)n; }
struct big many(int n) { struct big b = {{n}}; return b; }
int count;
void tick(void) { count++; }
int look(int n) { tick(); return n; }
int main(void) { look(1); look(2); return (int)half(1) + minus() + (int)wide() + small(1) + many(1).a[0]; }
"#;

/// A cast converts what a function returns; it does not say how it is returned.
#[test]
fn a_cast_of_a_call_converts_its_result() -> Fallible {
    let lab = Lab::c(CASTS, &["-O0"])?;
    lab.same_as_gdb(&[
        "break look if (int)half(2 * n + 1.9) == 2",
        "run",
        "print (int)half(7.8)",
        "print (double)half(3)",
        "print (char)half(133.3)",
        "print (float)minus()",
        "print (unsigned long)minus()",
        "print (int)wide()",
        "print (int)small(258)",
        "print (long)((short (*)(void))minus)()",
        "print (void)many(3)",
        "print (void)tick()",
        "print count",
        "print (struct big)many(3)",
    ])
}

const OVERLOADS: &str = r"
struct S { int v = 40; int meth(int a) { return v + a; } int meth(double d) { return (int)(d * 100); } };
int main() { S s; return s.meth(1); }
";

/// The overload that has code is not called in place of the one that fits.
#[test]
fn an_overload_without_code_is_told() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", OVERLOADS, &["-O0"])?;
    lab.same_as_gdb(&["tbreak S::meth", "run", "up", "print s.meth(1)"])?;
    let output = lab.verde(&["tbreak S::meth", "run", "up", "print s.meth(2.9)"], &[])?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    in_order(
        &text,
        &["Cannot evaluate function S::meth -- may be inlined"],
    );
    Ok(())
}

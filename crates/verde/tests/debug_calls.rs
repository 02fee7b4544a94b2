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

const CONVERTED: &str = r#"enum Way { one, two };
struct Holder { int x; int m(int a) const { return x + a; } int f(double v) const { return (int)v; } };
int plain(int a) { return a + 1; }
long lasting(long a) { return a; }
bool truth(bool a) { return a; }
int way(Way w) { return w; }
int text(const char *s) { return s[0]; }
int main() {
    Holder h{5};
    int i = 3, *at = &i;
    double d = 2.5;
    return h.m(1) + h.f(d) + plain(i) + (int)lasting(*at) + truth(true) + way(two) + text("x");
}
"#;

/// gdb refuses them, too; what it passes is passed.
#[test]
fn what_does_not_convert_is_not_passed() -> Fallible {
    let lab = Lab::made("g++", "prog.cpp", CONVERTED, &[])?;
    let wrong = [
        r#"h.m("x")"#,
        r#"h.f("x")"#,
        "h.f(at)",
        r#"plain("x")"#,
        "plain(main)",
        r#"lasting("x")"#,
        r#"truth("x")"#,
        "way(at)",
        "text(d)",
    ];
    for call in wrong {
        let command = format!("print {call}");
        let output = lab.verde(&["break 12", "run", &command], &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("cannot be passed as"), "{call}: {errors}");
        if let Some(theirs) = lab.gdb(&["break 12", "run", &command])? {
            assert!(!theirs.contains("$1"), "{call}: {theirs}");
        }
    }
    lab.same_as_gdb(&[
        "break 12",
        "run",
        "print h.m(2.5)",
        "print h.f(3)",
        "print plain('a')",
        "print lasting(at) == (long)at",
        "print way(two)",
        r#"print text("x")"#,
    ])
}

//! Results in the registers of the floating-point unit.

mod lab;

use lab::{Fallible, Lab};

const SOURCE: &str = r#"
struct one { long double l; };
struct outer { struct one o; };
struct two { long double a, b; };
struct quad { __float128 q; };
struct one made(int a) { struct one r = { a * 100 + 2 }; return r; }
struct outer nested(struct one x) { struct outer r = { { -x.l } }; return r; }
struct two both(struct one x) { struct two r = { x.l, x.l * 2 }; return r; }
_Complex long double paired(int a) { return a + 2.0iL; }
long double sum(struct one x, _Complex long double c, int n) { return x.l + __real__ c + n; }
int quads(struct quad x, int n) { return (int)x.q + n; }
int main(void) {
    struct one a = made(1);
    struct outer b = nested(a);
    _Complex long double c = paired(4);
    struct two d = both(a);
    struct quad q = { 5 };
    return (int)(b.o.l + __imag__ c + d.b + sum(a, c, 1)) + quads(q, 1);
}
"#;

#[test]
fn results_of_calls() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    lab.same_as_gdb(&[
        "break 18",
        "run",
        "print made(3)",
        "print nested(made(1))",
        "print both(a)",
        "print paired(4)",
        "print sum(a, c, 5)",
        "print quads(q, 5)",
    ])
}

#[test]
fn results_after_finish() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let mut commands = vec![
        "break made",
        "break nested",
        "break paired",
        "run",
        "finish",
    ];
    commands.extend(["continue", "finish", "continue", "finish"]);
    lab.same_as_gdb(&commands)
}

const QUADS: &str = r#"_Float128 q = 1.1Q, big = 1e4000Q, less = -0.0Q, whole = 1e35Q;
_Float128 tiny = 6.4751751194380251109244389582276465525e-4966Q, most = 1e4932Q;
__float128 third = 1.0Q / 3, none = -__builtin_nanq(""), endless = -__builtin_infq();
_Float128 nines = 9.99999999999999999999999999999999999999Q;
struct { int a; _Float128 f; } s = {1, 42.5Q};
_Float128 row[3] = {1, 2.5Q, 1e20Q};
long double _Complex z = 1.5L + 2.25Li;
_Complex _Float128 both = __builtin_complex(1.5F128, -1.1F128);
int main(void) { return q > 1 ? 0 : 1; }
"#;

#[test]
fn quads_are_shown() -> Fallible {
    let lab = Lab::c(QUADS, &["-O0"])?;
    lab.same_as_gdb(&[
        "break main",
        "run",
        "print q",
        "print big",
        "print less",
        "print whole",
        "print tiny",
        "print most",
        "print third",
        "print none",
        "print endless",
        "print nines",
        "print s",
        "print row",
        "print z",
        "print both",
        "print/f q",
        "print/x q",
        "whatis third",
    ])
}

/// What cannot be computed is not stored as something else.
#[test]
fn quads_are_not_calculated_with() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    for command in ["print q.q + 1", "print (int)q.q", "print q.q = 4"] {
        let output = lab.verde(&["break 18", "run", command], &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            errors.contains("unsupported _Float128"),
            "{command}: {errors}"
        );
    }
    Ok(())
}

const NUMBERS: &str = r#"long double ld = 1.1L, third = 1.0L / 3, big = 1e4000L;
long double tiny = 3.6451995318824746025e-4951L, neg = -2.7L, zero = 0, endless = __builtin_infl();
long l = 9007199254740993; double d = 0.1; unsigned long ul = -1; __float128 q = 1.5Q;
int main(void) { return 0; }
"#;

/// With the bits that they have, not with those of a `double`.
#[test]
fn they_are_calculated_with() -> Fallible {
    let lab = Lab::c(NUMBERS, &["-O0"])?;
    let sums = [
        "1.0L/3",
        "ld",
        "ld*2",
        "ld+1",
        "ld/3",
        "ld-third",
        "third*3",
        "third*third",
        "big*big",
        "big/7",
        "tiny",
        "tiny/2",
        "tiny*3",
        "neg+ld",
        "neg*d",
        "ld-ld",
        "-ld",
        "-q",
        "ld+l",
        "ld > third",
        "third < 0.3333333333333333",
        "(long double)l",
        "(long double)ul",
        "ul + 0.0L",
        "zero - zero",
        "zero + neg",
        "neg - neg",
        "endless + 1",
        "endless - endless",
        "1/zero",
        "(double)third",
        "big - 1",
        "tiny + big",
        "ld = third * 5",
        "ld += 1",
        "big > endless",
        "!ld",
    ];
    let commands = sums.iter().map(|s| format!("print {s}"));
    let commands: Vec<String> = ["break main".to_owned(), "run".to_owned()]
        .into_iter()
        .chain(commands)
        .collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    lab.same_as_gdb(&commands)
}

//! Results in the registers of the floating-point unit.

mod lab;

use lab::{Fallible, Lab, in_order};

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

/// What cannot be computed is neither shown nor stored as something else.
#[test]
fn quads_are_refused() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let shown = lab.text(&["break 18", "run", "print q", "print sizeof(q.q)"])?;
    in_order(&shown, &["$1 = {q = <unsupported _Float128>}", "$2 = 16"]);
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

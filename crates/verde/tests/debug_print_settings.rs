//! `set print` and the settings that gdb's scripts make.

mod lab;

use lab::{Fallible, Lab};

const SOURCE: &str = r#"struct In { int i; union { int u; float f; } v; };
union Top { int a; char b; };
struct S { static int count; int x; const char *name; int *p; void (*f)(int); In in; int m[2][3]; Top t; };
int S::count = 7;
int global = 3;
int many[14] = {1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3};
struct P { int x, y; } points[2] = {{1, 2}, {3, 4}};
void use(int k) { global += k; }
int take(S s, S *ps, int n, const char *text, int &ref) { return s.x + ps->x + n + ref + *text; }
int main() {
    S s = {1, "nm", &global, use, {1, {2}}, {{1, 2, 3}, {4, 5, 6}}, {65}};
    int &r = global, *lp = &s.x;
    return take(s, &s, 4, "text", r) + *lp;
}
"#;

fn lab() -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::made("g++", "prog.cpp", SOURCE, &["-O0"])
}

#[test]
fn arrays_are_shown_on_lines_and_with_indices() -> Fallible {
    lab()?.same_as_gdb(&[
        "break take",
        "run",
        "set print array on",
        "print many",
        "print s",
        "print s.m",
        "print points",
        "set print elements 2",
        "print many",
        "print s.m",
        "set print elements 200",
        "set print pretty on",
        "print s",
        "print points",
        "set print array off",
        "set print pretty off",
        "set print array-indexes on",
        "print many",
        "print s.m",
        "print -array-indexes off -array -- points",
    ])
}

#[test]
fn addresses_and_symbols_are_left_out() -> Fallible {
    lab()?.same_as_gdb(&[
        "break take",
        "run",
        "set print address off",
        "print &global",
        "print s",
        "print s.f",
        "print use",
        "print ref",
        "print &ref",
        "backtrace",
        "break main",
        "tbreak use",
        "watch global",
        "info breakpoints",
        "frame 1",
        "down",
        "stepi",
        "set print address on",
        "set print symbol off",
        "print &global",
        "print s.f",
        "print use",
        "print s",
        "print -symbol -- &global",
    ])
}

#[test]
fn parts_of_values_and_arguments_are_left_out() -> Fallible {
    lab()?.same_as_gdb(&[
        "break take",
        "run",
        "set print union off",
        "print s",
        "print s.in",
        "print s.t",
        "set print union on",
        "set print static-members off",
        "print s",
        "set print frame-arguments all",
        "backtrace",
        "set print frame-arguments none",
        "backtrace",
        "set print frame-arguments presence",
        "backtrace",
        "set print frame-arguments scalars",
        "set print elements 2",
        "backtrace",
    ])
}

#[test]
fn what_is_so_anyway_can_be_said() -> Fallible {
    let lab = lab()?;
    lab.same_as_gdb(&[
        "set non-stop off",
        "set detach-on-fork on",
        "set unwindonsignal on",
        "set max-value-size unlimited",
        "set language auto",
        "set language c++",
        "set can-use-hw-watchpoints 1",
        "set print demangle on",
        "set print vtbl off",
        "print global",
    ])?;
    for (setting, why) in [
        ("non-stop on", "always off"),
        ("detach-on-fork off", "always on"),
        ("unwindonsignal off", "always on"),
        ("language fortran", "always auto or local or c++"),
        ("print vtbl on", "always off"),
        ("print nonsense on", "There is set print pretty, object"),
        (
            "print frame-arguments some",
            "all, scalars, none, or presence",
        ),
    ] {
        let output = lab.verde(&[&format!("set {setting}")], &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(why), "{setting}: {errors}");
        assert_eq!(output.status.code(), Some(1));
    }
    Ok(())
}

/// Options end with `--`; without it there are none, whatever a variable is called.
#[test]
fn an_option_of_print_is_no_variable() -> Fallible {
    let source = "int arr = 5, pre = 6, sym = 7, obj = 8, ele = 2, a = 14, pretty = 3, x = 20;\n\
                  int v[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};\nstruct { int a, b; } s = {1, 2};\n\
                  int main(void) { return arr + pre; }\n";
    let lab = Lab::c(source, &["-O0"])?;
    lab.same_as_gdb(&[
        "print -arr",
        "print -obj - 1",
        "print -obj -1",
        "print -arr+1",
        "print -pre",
        "print -pre -obj",
        "print -sym",
        "print -ele",
        "print -pretty",
        "print -pretty*2",
        "print -array on -- x",
        "print -elements 3 -- v",
        "print -e 3 -- v",
        "print -pretty -- s",
        "print -pre -obj -- s",
        "print -pretty off -- s",
        "print -- -x",
        "print 77",
        "print -pre --",
    ])?;
    for (command, why) in [
        ("print -a -- x", "Ambiguous option at: -a -- x"),
        ("print -zz -- x", "Unrecognized option at: -zz -- x"),
    ] {
        let output = lab.verde(&[command], &[])?;
        assert_eq!(String::from_utf8(output.stderr)?.trim_end(), why);
    }
    Ok(())
}

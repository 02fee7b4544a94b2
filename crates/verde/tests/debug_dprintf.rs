//! Breakpoints that print, breakpoints by a pattern, functions that steps do not enter.

mod lab;

use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r#"int get_one(int n) {
    return n + 1;
}
int get_two(int n) {
    return n + 2;
}
int main(void) {
    int a = get_one(1);
    int b = get_two(get_one(a));
    return a + b - 7;
}
"#;

#[test]
fn it_prints_and_goes_on() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let text = lab.text(&[
        "dprintf 2,\"one of %d\\n\",n",
        "dprintf get_two,\"two of %d, %s\\n\",n,\"x\"",
        "info breakpoints",
        "run",
        "info breakpoints",
    ])?;
    in_order(
        &text,
        &[
            "Dprintf 1 at 0x",
            "1       dprintf        keep y   0x",
            "        printf \"one of %d\\n\",n\n",
            "one of 1\none of 2\ntwo of 3, x\n[Inferior 1",
            "exited normally]\n",
            "already hit 2 times\n",
        ],
    );
    Ok(())
}

#[test]
fn breakpoints_by_a_pattern() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let text = lab.text(&["rbreak ^get_", "run", "continue"])?;
    in_order(
        &text,
        &[
            "Breakpoint 1 at 0x",
            "Breakpoint 2 at 0x",
            "Breakpoint 1, get_one (n=1)",
            "Breakpoint 1, get_one (n=2)",
        ],
    );
    Ok(())
}

#[test]
fn skipped_functions_are_not_entered() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let text = lab.text(&[
        "skip function get_one",
        "info skip",
        "break main",
        "run",
        "step",
        "step",
        "skip delete 1",
        "info skip",
    ])?;
    in_order(
        &text,
        &[
            "Function get_one will be skipped when stepping.\n1    function get_one\n",
            "9\t    int b = get_two(get_one(a));\nget_two (n=3) at prog.c:5\n",
            "Not skipping any files or functions.\n",
        ],
    );
    Ok(())
}

const NUMBERS: &str = r#"#include <wchar.h>
const wchar_t *wide = L"wide text";
wchar_t few[] = L"few";
double d = 3.14159;
float f = 0.1f;
signed char c = -1;
int n = -1;
int main(void) { return wide == 0; }
"#;

#[test]
fn printf_and_echo_write_as_c_does() -> Fallible {
    let lab = Lab::c(NUMBERS, &["-O0"])?;
    lab.same_as_gdb(&[
        "break main",
        "run",
        r#"printf "%g %g %g %g %g\n", 0.1, 1e10, 3.14, 100000.0, f"#,
        r#"printf "%.3g|%.10g|%10.2g|%-8g|%G\n", d, d, d, d, 1e-10"#,
        r#"printf "%g %g %g %g\n", 1000000.0, 123456789.0, 0.00001, 999999.5"#,
        r#"printf "%e %.2e %E\n", d, d, d"#,
        r#"printf "%#x %x %lx %lu %u %llu\n", n, n, n, n, n, -1"#,
        r#"printf "%x %X %+d % d %p\n", c, c, 5, 5, 0"#,
        r#"printf "%ls|%ls|%.2ls\n", wide, few, wide"#,
        r"echo a\\nb\n",
        r"echo c\\\\d\n",
        r"echo \101\t|\n",
    ])?;
    for refused in [r#"printf "%a\n", d"#, r#"printf "%hd\n", n"#] {
        let output = lab.verde(&["break main", "run", refused], &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            errors.starts_with("Unrecognized format specifier"),
            "{errors}"
        );
    }
    Ok(())
}

//! Indirect functions (IFUNC): what is meant is the code that their resolver chooses.

mod lab;

use lab::{Fallible, Lab, essentials, in_order};

const SOURCE: &str = r#"
#include <stdio.h>
#include <string.h>
static int more(int x) {
    int y = x + 1;
    return y;
}
static int (*resolve(void))(int) { return more; }
int dispatched(int x) __attribute__((ifunc("resolve")));
size_t (*volatile length)(const char *) = strlen;
int look(const char *s) {
    return length(s) + strcmp(s, "alpha");
}
int main(void) {
    int r = look("beta");
    r += dispatched(r);
    return r;
}
"#;

#[test]
fn a_breakpoint_is_on_the_code_that_was_chosen() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let commands = ["break dispatched", "run", "bt", "continue"];
    let ours = lab.text(&commands)?;
    let stops = |text: &str| -> Vec<String> {
        // What is said of the place before the start differs.
        let lines = essentials(text).into_iter();
        lines.filter(|l| !l.contains("Breakpoint 1 ")).collect()
    };
    if let Some(theirs) = lab.gdb(&commands)? {
        assert_eq!(stops(&ours), stops(&theirs));
    }
    let text = lab.text(&["break look", "run", "break strlen", "continue", "bt 2"])?;
    in_order(&text, &["Breakpoint 2.1, __strlen_", "in look (s="]);
    Ok(())
}

/// Before the start nothing is chosen yet; each run chooses anew.
#[test]
fn a_breakpoint_waits_for_the_choice() -> Fallible {
    for options in [&["-O0"][..], &["-O0", "-static"]] {
        let lab = Lab::c(SOURCE, options)?;
        let text = lab.text(&[
            "break dispatched",
            "run",
            "finish",
            "run",
            "info breakpoints",
        ])?;
        let stop = "Breakpoint 1, more (x=";
        in_order(
            &text,
            &[
                "pending until the program chooses its code",
                stop,
                stop,
                "in more at prog.c:5",
            ],
        );
        assert!(!text.contains("resolve"), "{text}");
    }
    Ok(())
}

#[test]
fn a_call_is_of_the_code_that_was_chosen() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    lab.same_as_gdb(&[
        "break look",
        "run",
        "print dispatched(5)",
        "print (double)dispatched(5)",
        "print (int)strcmp(s, \"alpha\")",
        "print ((int (*)(const char *, const char *))strcmp)(s, \"alpha\")",
        "print ((unsigned long (*)(const char *))strlen)(s)",
    ])
}

const STEPS: &str = r#"
static int more(int x) {
    int y = x + 1;
    return y;
}
static int count;
static int (*resolve(void))(int) {
    count++;
    return more;
}
int dispatched(int x) __attribute__((ifunc("resolve")));
int far(int x);
int main(void) {
    int r = dispatched(1);
    r += dispatched(r);
    r += far(r);
    r += far(r);
    return r;
}
"#;

const FAR: &str = r#"
static int less(int x) {
    return x - 1;
}
static int (*resolve_far(void))(int) {
    return less;
}
int far(int x) __attribute__((ifunc("resolve_far")));
"#;

#[test]
fn a_step_enters_the_code_that_was_chosen() -> Fallible {
    for options in [
        &["-Wl,-z,lazy"][..],
        &["-Wl,-z,now"],
        &["-Wl,-z,lazy", "-no-pie"],
        &["-Wl,-z,lazy", "-fcf-protection=none"],
    ] {
        let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
        let shared = ["-O0", "-shared", "-fPIC"];
        lab.build("gcc", "far.c", FAR, "libfar.so", &shared)?;
        let path = format!("-Wl,-rpath,{}", lab.path(".").display());
        let library = lab.path("libfar.so").display().to_string();
        let mut all = vec!["-O0", library.as_str(), path.as_str()];
        all.extend(options);
        lab.build("gcc", "prog.c", STEPS, "prog", &all)?;
        lab.same_as_gdb(&[
            "break main",
            "run",
            "step",
            "info args",
            "finish",
            "next",
            "step",
            "info args",
            "finish",
            // The first call of a function of the library is bound as it is made.
            "next",
            "step",
            "bt",
            "finish",
            "next",
            "step",
            "bt",
        ])?;
    }
    Ok(())
}

#[test]
fn a_step_enters_the_code_that_a_static_program_chose() -> Fallible {
    let alone = STEPS.replace("int far(int x);", "static int far(int x) { return x; }");
    let lab = Lab::c(&alone, &["-O0", "-static"])?;
    lab.same_as_gdb(&["break main", "run", "step", "info args", "bt"])
}

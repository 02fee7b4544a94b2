//! A program that is built again within a session.

mod lab;

use lab::{Fallible, Lab, in_order};

const BEFORE: &str = "int total;
int first(int x) { return x + 1; }
int main(void) {
    total = first(1);
    return 0;
}
";
const AFTER: &str = "#include <stdio.h>
int first_of_all;
long total;
int added(int y) { puts(\"added\"); return y; }
int gone_to(int x) { return x; }
int first(int x) {
    int z = x * 10;
    return z;
}
int main(void) {
    total = first(added(7));
    total++;
    return 0;
}
";

#[test]
fn symbols_breakpoints_and_lines_are_those_of_the_new_program() -> Fallible {
    let lab = Lab::c(BEFORE, &["-O0"])?;
    std::fs::write(lab.path("new.c"), AFTER)?;
    let dir = lab.path("");
    let dir = dir.display();
    let script = format!(
        "break first if x > 0\nwatch total\nrun\nlist first\nkill\n\
         shell cd {dir} && rm prog && mv new.c prog.c && gcc -g -O0 -o prog prog.c\n\
         run\ninfo args\nnext\nnext\nlist first\nc\nc\nwhatis total\nkill\nrun\n"
    );
    let text = lab.script(&script, &[])?;
    in_order(
        &text,
        &[
            "Breakpoint 1, first (x=1) at prog.c:2\n2\tint first(int x) { return x + 1; }\n",
            "1\tint total;\n",
            "/prog' has changed; re-reading symbols.\n\nBreakpoint 1, first (x=7) at prog.c:7\n",
            "7\t    int z = x * 10;\nx = 7\n8\t    return z;\n",
            "long total;\n",
            "Hardware watchpoint 2: total\n\nOld value = 0\nNew value = 70\n",
            "Hardware watchpoint 2: total\n\nOld value = 70\nNew value = 71\n",
            "type = long\n",
        ],
    );
    assert_eq!(text.matches("has changed").count(), 1, "{text}");
    Ok(())
}

#[test]
fn a_breakpoint_whose_function_is_gone() -> Fallible {
    let lab = Lab::c(AFTER, &["-O0"])?;
    std::fs::write(lab.path("new.c"), BEFORE)?;
    let dir = lab.path("");
    let dir = dir.display();
    let script = format!(
        "break gone_to\nbreak first\nrun\nkill\n\
         shell cd {dir} && rm prog && mv new.c prog.c && gcc -g -O0 -o prog prog.c\nrun\n"
    );
    let text = lab.script(&script, &[])?;
    in_order(
        &text,
        &[
            "Breakpoint 2, first (x=7)",
            "re-reading symbols.\nError in re-setting breakpoint 1: Function \"gone_to\" not defined.\n",
            "Breakpoint 2, first (x=1) at prog.c:2\n",
        ],
    );
    Ok(())
}

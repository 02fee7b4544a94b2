//! Functions written in assembler, without a description, call frame information or a size.

mod lab;

use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r#"#include <stdio.h>
int outer(int), plain(int);
int leaf(int n) {
    return n * 2;
}
int main(void) {
    int x = outer(4);
    x += plain(x);
    return x == 23 ? 0 : 1;
}
"#;

const ASSEMBLER: &str = "\t.text
\t.globl outer
\t.type outer,@function
outer:
\tpush %rbp
\tmov %rsp,%rbp
\tsub $16,%rsp
\tmov %edi,-4(%rbp)
\tcall inner
\tadd $1,%eax
\tleave
\tret
\t.globl inner
\t.type inner,@function
inner:
\tpush %rbx
\tmov %edi,%ebx
\tsub $32,%rsp
\ttest %edi,%edi
\tjs 1f
\tlea 1(%rbx),%edi
\tcall leaf
\tadd $32,%rsp
\tpop %rbx
\tret
1:
\tcall leaf
\tadd $32,%rsp
\tpop %rbx
\tret
\t.globl plain
plain:
\tmov %edi,%eax
\tinc %eax
\tret
\t.section .note.GNU-stack,\"\",@progbits
";

/// With lines of the assembler's source, or without.
fn lab(options: &[&str]) -> Result<Lab, Box<dyn std::error::Error>> {
    let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
    let mut all = vec!["-c"];
    all.extend(options);
    lab.build("gcc", "low.s", ASSEMBLER, "low.o", &all)?;
    lab.build("gcc", "prog.c", SOURCE, "prog", &["-O0", "low.o"])?;
    Ok(lab)
}

const NO_LINES: &[&str] = &["-g0"];

#[test]
fn the_code_ends_where_the_next_begins() -> Fallible {
    for options in [NO_LINES, &[]] {
        let lab = lab(options)?;
        lab.same_as_gdb(&["break outer", "run", "disassemble", "disassemble inner"])?;
        lab.same_as_gdb(&["break plain", "run", "bt", "disassemble", "stepi", "finish"])?;
    }
    Ok(())
}

/// gdb finds no more than the innermost frame there.
#[test]
fn frames_are_found_by_the_code() -> Fallible {
    for options in [NO_LINES, &[]] {
        let lab = lab(options)?;
        let whole = ["inner ()", "outer ()", "main () at prog.c:7"];
        let text = lab.text(&["break leaf", "run", "bt"])?;
        in_order(&text, &whole);
        let text = lab.text(&["break leaf", "run", "finish", "finish", "finish"])?;
        in_order(&text, &whole);
        // At every instruction of the function, in both of its ends.
        let entered = ["", "set var $edi = -1"];
        for change in entered {
            let mut commands = vec!["break *inner", "run", "bt", change];
            for _ in 0..5 {
                commands.extend(["stepi", "bt"]);
            }
            for _ in 0..3 {
                commands.extend(["nexti", "bt"]);
            }
            let text = lab.text(&commands)?;
            let outer = text.lines().filter(|l| l.contains(" in outer ()"));
            assert!(outer.clone().all(|l| l.starts_with("#1  ")), "{text}");
            assert!(outer.count() >= 9, "{text}");
        }
    }
    Ok(())
}

#[test]
fn lines_are_those_of_the_assembler() -> Fallible {
    let lab = lab(&[])?;
    lab.same_as_gdb(&[
        "break outer",
        "run",
        "bt",
        "step",
        "next",
        "list",
        "step",
        "step",
        "bt",
        "info symbol $pc",
        "finish",
    ])?;
    lab.same_as_gdb(&["break main", "run", "list inner", "info line plain"])
}

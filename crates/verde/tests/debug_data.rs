//! Data that is nowhere, has no type or gets its length while the program runs; lines and lists.

mod lab;

use lab::{Fallible, Lab, in_order};

#[test]
fn what_the_linker_left_out_is_not_there() -> Fallible {
    let source = "int used = 1; int dropped[4] = {1, 2, 3, 4};
int nobody(int x) { return dropped[x]; }
int main(void) { return used; }
";
    let options = [
        "-O0",
        "-ffunction-sections",
        "-fdata-sections",
        "-Wl,--gc-sections",
    ];
    let lab = Lab::c(source, &options)?;
    for name in ["dropped", "&dropped"] {
        let out = lab.verde(&["break main", "run", &format!("print {name}")], &[])?;
        let error = String::from_utf8_lossy(&out.stderr);
        assert!(
            error.starts_with("No symbol \"dropped\" in current context."),
            "{error}"
        );
    }
    lab.same_as_gdb(&["print used", "break main", "run", "print used"])
}

#[test]
fn a_symbol_without_a_type_has_an_address() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &["-O0"])?;
    let source = "struct s { int a; } st = {1}; int main(void) { return st.a; }\n";
    lab.build("gcc", "bare.c", source, "prog", &["-O0", "-g0"])?;
    lab.same_as_gdb(&[
        "print &st",
        "whatis &st",
        "break main",
        "run",
        "print &st",
        "print (int)st",
    ])
}

const ARRAYS: &str = "#include <stdio.h>
int fill(int n) {
  int a[n];
  char name[n + 1];
  for (int i = 0; i < n; i++) a[i] = i;
  name[0] = 0;
  a[3] = 40;
  return a[n - 1] + name[0];
}

/* nothing here */

int main(void) {
  return fill(5);
}
";

#[test]
fn arrays_get_their_length_while_the_program_runs() -> Fallible {
    let lab = Lab::c(ARRAYS, &["-O0"])?;
    lab.same_as_gdb(&[
        "break 6",
        "run",
        "ptype a",
        "whatis name",
        "print sizeof(a)",
        "info locals",
    ])?;
    let text = lab.text(&["break 6", "run", "watch a[3]", "continue"])?;
    in_order(
        &text,
        &["atchpoint 2: a[3]\n", "Old value = 3\n", "New value = 40\n"],
    );
    Ok(())
}

#[test]
fn lists_go_by_addresses_and_by_their_ends() -> Fallible {
    let lab = Lab::c(ARRAYS, &["-O0"])?;
    let lists = ["list ,12", "list ,3", "list 5,", "list *main", "list *fill"];
    lab.same_as_gdb(&lists)?;
    lab.same_as_gdb(&["break 6", "run", "list *$pc", "list *main"])
}

#[test]
fn a_line_without_code_is_told() -> Fallible {
    let lab = Lab::c(ARRAYS, &["-O0"])?;
    lab.same_as_gdb(&[
        "info line 11",
        "info line 1",
        "info line 7",
        "info line prog.c:13",
    ])
}

#[test]
fn literals_are_read_as_the_language_writes_them() -> Fallible {
    let lab = Lab::c(ARRAYS, &["-O0"])?;
    lab.same_as_gdb(&[
        "print \"a\" \"b\"",
        "print 010",
        "print sizeof(\"ab\" \"c\")",
    ])?;
    let out = lab.verde(&["print 08"], &[])?;
    assert_eq!(
        String::from_utf8_lossy(&out.stderr),
        "Invalid number \"08\".\n"
    );
    Ok(())
}

#[test]
fn types_of_rust_are_written_in_its_words() -> Fallible {
    let lab = Lab::c(ARRAYS, &["-O0"])?;
    let source = "union Raw { i: u32, f: f32 }
#[derive(Clone, Copy)] enum Op { Add = 1, Sub = 5 }
fn main() {
    let r = Raw { f: 1.0 }; let op = [Op::Add, Op::Sub][1];
    let slice = &[1u16, 2, 3][1..];
    println!(\"{} {} {slice:?}\", unsafe { r.i + r.f as u32 }, op as u8);
}
";
    lab.build("rustc", "prog.rs", source, "prog", &[])?;
    let text = lab.text(&[
        "break 6",
        "run",
        "ptype r",
        "ptype op",
        "ptype slice",
        "whatis slice[0..2]",
        "print sizeof(slice[0..2])",
        "print slice[0] as u64 * 3",
    ])?;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for wanted in [
        "type = union prog::Raw { i: u32, f: f32, }",
        "type = enum prog::Op { Add, Sub, }",
        "type = struct &[u16] { data_ptr: *mut u16, length: usize, }",
        "type = [u16; 2] $1 = 4 $2 = 6",
    ] {
        assert!(flat.contains(wanted), "{wanted} in {text}");
    }
    Ok(())
}

#[test]
fn what_constructors_are_told_by_the_compiler_is_not_shown() -> Fallible {
    let lab = Lab::c(ARRAYS, &["-O0"])?;
    let source = "struct A { virtual ~A() {} int a; };
struct B : virtual A { int b; B(int k) : b(k) {} };
int main() { B b(2); return b.b; }
";
    lab.build("g++", "prog.cc", source, "prog", &["-O0"])?;
    let text = lab.text(&["ptype B"])?;
    in_order(&text, &["    int b;\n", "    B(int);\n"]);
    Ok(())
}

#[test]
fn memory_is_shown_on_as_before() -> Fallible {
    let source = "short gs[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}; int g = 5;
int sum;
int main(void) {
  g = 3;
  sum += g;
  return sum - 3;
}
";
    let lab = Lab::c(source, &["-O0"])?;
    lab.same_as_gdb(&[
        "break main",
        "run",
        "x/4hd gs",
        "x",
        "x gs",
        "x/2i $pc",
        "x/2g gs",
        "print/c 300",
        "print/c 200",
        "print/c 200u",
        "print/c (short)-1",
    ])?;
    // Who reads has not written, whatever somebody else did since the last hit.
    let text = lab.text(&["break main", "run", "rwatch g", "continue"])?;
    assert!(text.contains("\nValue = 3"), "{text}");
    let text = lab.text(&["break main", "ignore 1 1", "ignore 1 0", "ignore 1 2"])?;
    in_order(
        &text,
        &[
            "Will ignore next crossing of breakpoint 1.",
            "Will stop next time breakpoint 1 is reached.",
            "Will ignore next 2 crossings of breakpoint 1.",
        ],
    );
    Ok(())
}

/// As an initializer does.
#[test]
fn shorter_text_fills_an_array() -> Fallible {
    let lab = Lab::c(
        "char room[12] = \"something\"; int main(void) { return room[0]; }",
        &["-O0"],
    )?;
    lab.same_as_gdb(&[
        "break main",
        "run",
        "print room = \"abc\"",
        "set var room = \"\"",
        "print room",
    ])
}

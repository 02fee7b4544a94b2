//! Variables of which the compiler says that nothing was stored in them yet.

mod lab;

use lab::{Fallible, Lab};
use std::process::Command;

const SOURCE: &str = r#"struct pair { int a, b; };
int use(int *p, struct pair *q) { return *p + q->a; }
int main(void) {
    volatile int before = 3;
    volatile char room[44] = "room";
    volatile int fresh = 5;
    volatile int held = 6;
    struct pair both = { 1, 2 };
    volatile int after = 4;
    return use((int *)&fresh, &both) + before + after + held + room[0];
}
"#;

/// The places of three variables with the mark, in as many bytes as without: compilers set it
/// where nobody can rely on it.
fn marked(assembly: &str) -> String {
    let by_frame = |offset: i32| format!("\t.byte\t0x91\n\t.sleb128 {offset}\n");
    let by_rbp = |offset: i32| format!("\t.byte\t0x76\n\t.sleb128 {offset}\n\t.byte\t0xf0\n");
    let in_rbx = "\t.byte\t0x90\n\t.byte\t0x3\n\t.byte\t0xf0\n";
    let places = [
        (by_frame(-68), by_rbp(-52)),
        (by_frame(-72), in_rbx.to_owned()),
        (by_frame(-80), by_rbp(-64)),
    ];
    places.iter().fold(assembly.to_owned(), |text, (old, new)| {
        assert_eq!(text.matches(old).count(), 1, "{old}");
        text.replace(old, new)
    })
}

#[test]
fn values_that_were_not_stored_yet_are_shown() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let options = ["-O0", "-g", "-fno-stack-protector", "-S", "prog.c"];
    let done = Command::new("gcc")
        .args(options)
        .current_dir(lab.path(""))
        .status()?;
    assert!(done.success());
    let assembly = std::fs::read_to_string(lab.path("prog.s"))?;
    lab.build("gcc", "marked.s", &marked(&assembly), "prog", &[])?;
    lab.same_as_gdb(&[
        "break 10",
        "run",
        "set var $rbx = 6",
        "info locals",
        "print fresh",
        "print held",
        "print both",
        "print both.b",
        "print fresh + 1",
        "print &fresh",
        "set var fresh = 9",
        "print fresh",
        "print/x fresh",
        "output fresh",
        "bt full",
    ])
}

//! Locations as so many lines from the one that is shown.

mod lab;

use lab::{Fallible, Lab};

const SOURCE: &str = r#"int total;
int add(int n) {
    total += n;
    total += 1;
    total += 2;
    return total;
}
int main(void) {
    add(1);
    add(2);
    total = 0;
    total = 1;
    total = 2;
    total = 3;
    total = 4;
    total = 5;
    total = 6;
    total = 7;
    total = 8;
    total = 9;
    return total == 100;
}
"#;

#[test]
fn breakpoints_are_set_by_offsets() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    lab.same_as_gdb(&[
        "break add",
        "run",
        "break +1",
        "tbreak +2",
        "break -1",
        "info breakpoints",
        "list 20",
        "break +1",
        "delete 5",
        "continue",
        "continue",
        "up",
        "tbreak +1",
        "delete 2",
        "continue",
        "info line +1",
    ])
}

#[test]
fn the_program_goes_on_to_offsets() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    lab.same_as_gdb(&[
        "break add",
        "run",
        "delete",
        "advance +2",
        "finish",
        "until +1",
        "advance +3",
        "until +1",
    ])
}

#[test]
fn lists_go_by_offsets() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    lab.same_as_gdb(&[
        "break 11",
        "run",
        "list -",
        "next",
        "list +",
        "next",
        "list +2",
        "list -12",
        "list 3,+4",
        "list add,+2",
        "list add,-1",
        "next",
        "list -",
        "list -",
    ])
}

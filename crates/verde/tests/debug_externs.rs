//! Variables that the program declares and a library without debug information defines.

mod lab;

use lab::{Fallible, Lab};

const LIBRARY: &str = "int only = 12; double several[3] = {1, 2.5, 3}; int *const last = &only;
void change(void) { only++; }
";

const PROGRAM: &str = r#"
extern char **environ;
extern int only;
extern double several[3];
void change(void);
int main(void) {
    only = 20;
    change();
    return environ == 0 ? 1 : only + (int)several[1];
}
"#;

/// They have the declared type and are where the loader puts them: copied to the program, or in
/// the library.
#[test]
fn a_declaration_gives_the_type() -> Fallible {
    for options in [
        &["-O0", "-no-pie"][..],
        &["-O0", "-fPIE", "-mno-direct-extern-access"],
    ] {
        let lab = Lab::c("int main(void) { return 0; }", &[])?;
        lab.build(
            "gcc",
            "lib.c",
            LIBRARY,
            "liblib.so",
            &["-g0", "-shared", "-fPIC"],
        )?;
        let mut options = options.to_vec();
        options.extend(["-L.", "-llib", "-Wl,-rpath,$ORIGIN"]);
        lab.build("gcc", "prog.c", PROGRAM, "prog", &options)?;
        lab.same_as_gdb(&[
            "break 9",
            "run",
            "print only",
            "print several",
            "whatis several",
            "whatis environ",
            "print environ != 0 && environ[0] != 0",
            "break change",
            "print only = 30",
            "run",
            "print only",
            "print several[1] * 2",
            "info symbol &only",
        ])?;
    }
    Ok(())
}

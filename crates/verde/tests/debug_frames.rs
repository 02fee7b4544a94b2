//! Variables of functions by their path, frames by counts, and what `x` leaves behind.

mod lab;

use lab::{Fallible, Lab};

const SOURCE: &str = r#"int words[4] = {1, -2, 3, 4};
char text[] = "one\0two";
static int fact(int n) {
    int half = n / 2;
    if (n <= 1)
        return 1;
    return n * fact(n - 1) + half - half;
}
static int idle(int unused) {
    return unused;
}
int main(void) {
    int matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
    int sum = fact(5);
    return sum + matrix[0][0] + idle(0);
}
"#;

#[test]
fn variables_of_functions_are_named_by_their_path() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    lab.same_as_gdb(&[
        "break 5 if n == 3",
        "run",
        "print fact::n",
        "print main::matrix",
        "print &main::matrix[1][2] == &main::matrix[1][1] + 1",
        "set var main::matrix[0][0] = 42",
        "up",
        "print fact::n",
        "print fact::half",
        "frame function main",
        "print matrix[0]",
        "delete",
        "tbreak idle if main::matrix[0][0] == 42",
        "continue",
        "print unused",
    ])?;
    // Where none is further out, the innermost frame is meant.
    let text = lab.text(&["break 5 if n == 3", "run", "up 3", "print fact::n"])?;
    assert!(text.ends_with("$1 = 3\n"), "{text}");
    let output = lab.verde(&["break main", "run", "print fact::n"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("No frame is currently executing in block fact."));
    let output = lab.verde(&["break 5", "run", "watch main::sum"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("select the frame of its function first"));
    Ok(())
}

#[test]
fn what_was_examined_last_has_a_name() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    lab.same_as_gdb(&[
        "break fact",
        "run",
        "x/2dw words",
        "print $_",
        "print $__",
        "print $__ + 1",
        "x/2s text",
        "print $_",
        "print $__",
        "x/2i main",
        "print $_",
        "x/gx words",
        "print $_",
        "info line main",
        "print $_",
        "x/i",
    ])
}

#[test]
fn frames_are_counted_in_both_directions() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    lab.same_as_gdb(&[
        "break 5 if n == 2",
        "run",
        "up 3",
        "up -1",
        "down -1",
        "down 2",
        "up -9",
    ])
}

#[test]
fn numbers_of_frames_stand_apart() -> Fallible {
    let source = "int leaf(void) { return 0; }\n\
                  int down(int n) { return n ? down(n - 1) + 1 : leaf(); }\n\
                  int main(void) { return down(10001) == 0; }\n";
    let lab = Lab::c(source, &["-O0"])?;
    lab.same_as_gdb(&["break leaf", "run", "frame 100", "frame 1000", "bt -3"])
}

/// A recursion without an end fills the stack with more frames than anybody counts.
#[test]
fn deep_stacks_are_shown_to_their_end() -> Fallible {
    let source = "int down(int n) { return n ? 1 + down(n - 1) : *(volatile int *)0; }\n\
                  int main(void) { return down(110000); }\n";
    let options = ["-O1", "-fno-optimize-sibling-calls", "-fno-inline"];
    let lab = Lab::c(source, &options)?;
    let text = lab.text(&["run", "bt -1"])?;
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("#110001 "), "{last}");
    assert!(last.contains("in main () at prog.c:2"), "{last}");
    Ok(())
}

/// What a stop does not show is not asked for: files with debug information may be large, and the
/// user waits.
#[test]
fn a_stop_is_told_without_the_files_of_outer_frames() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
    let library = "int between(int (*f)(int), int n) { int got = f(n); return got + 1; }\n";
    let options = ["-shared", "-fPIC", "-O0"];
    lab.build("gcc", "between.c", library, "libbetween.so", &options)?;
    for args in [
        &["--only-keep-debug", "libbetween.so", "between.debug"][..],
        &["--strip-debug", "libbetween.so"],
        &["--add-gnu-debuglink=between.debug", "libbetween.so"],
    ] {
        let mut objcopy = std::process::Command::new("objcopy");
        assert!(
            objcopy
                .args(args)
                .current_dir(lab.path(""))
                .status()?
                .success()
        );
    }
    let program = "int between(int (*f)(int), int n);\n\
                   static int back(int n) {\n    __builtin_trap();\n    return n * 2;\n}\n\
                   int main(void) { return between(back, 3) != 7; }\n";
    let options = ["-O0", "-L.", "-lbetween", "-Wl,-rpath,$ORIGIN"];
    lab.build("gcc", "prog.c", program, "prog", &options)?;
    let count = "shell grep -c between.debug /proc/$PPID/maps; true";
    // A name that is looked for everywhere is looked for there, too: none is given.
    let text = lab.text(&["run", "info args", count, "bt", count])?;
    let counts: Vec<&str> = text.lines().filter(|l| l.len() == 1).collect();
    assert_eq!(counts, ["0", "1"], "{text}");
    lab.same_as_gdb(&["run", "info args", "up", "info locals", "bt"])
}

const OWNED: &str = "struct D {
  int d = 4;
  int own() {
    auto add = [this](int z) {
      return z + d;
    };
    return add(2);
  }
};
int main() {
  auto plain = [](int z) {
    return z - 6;
  };
  D d;
  return plain(d.own());
}
";

#[test]
fn a_lambda_is_named_with_the_function_around_it() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", OWNED, &["-O0"])?;
    let commands = ["break 5", "break 12", "run", "bt", "continue", "bt"];
    lab.same_as_gdb(&commands)?;
    let text = lab.text(&commands)?;
    let name = "D::own()::{lambda(int)#1}::operator()(int) const (";
    assert!(text.contains(name), "{text}");
    // Its name begins with that of the function, which is another one.
    let text = lab.text(&["break 5", "run", "frame function D::own"])?;
    assert!(text.ends_with("7\t    return add(2);\n"), "{text}");
    Ok(())
}

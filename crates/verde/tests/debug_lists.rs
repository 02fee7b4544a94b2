//! Lists of lines: `if`, `while` and commands of the user's own; breakpoints by their numbers.

mod lab;

use lab::{Fallible, Lab, essentials, in_order};

const SOURCE: &str = r#"int total;
int add(int n) {
    total += n;
    return total;
}
int sub(int n) {
    total -= n;
    return total;
}
int main(void) {
    for (int i = 0; i < 6; i++) add(i);
    for (int i = 0; i < 3; i++) sub(i);
    return total == 100;
}
"#;

/// What both debuggers say to a file of commands.
fn same_script(lab: &Lab, script: &str) -> Result<String, Box<dyn std::error::Error>> {
    let ours = lab.script(script, &[])?;
    let file = lab.path("script");
    let source = format!("source {}", file.display());
    if let Some(theirs) = lab.gdb(&[source.as_str()])? {
        assert_eq!(essentials(&ours), essentials(&theirs), "{script}");
    }
    Ok(ours)
}

#[test]
fn blocks_and_commands_of_the_user_run_as_in_gdb() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let script = "\
define show-sum
  if $argc == 2
    printf \"%d\\n\", $arg0 + $arg1
  else
    echo wants two\\n
  end
end
document show-sum
Adds two numbers.
end
show-sum 2 3
show-sum 1
set $i = 0
while $i < 5
  set $i = $i + 1
  if $i == 2
    loop_continue
  end
  if $i == 4
    loop_break
  end
  print $i
end
break add
commands
  silent
  if n == 3
    print total
    show-sum n total
  else
    continue
  end
end
run
print n
help show-sum
delete 1
";
    let text = same_script(&lab, script)?;
    in_order(
        &text,
        &[
            "5\n",
            "wants two\n",
            "$1 = 1\n",
            "$2 = 3\n",
            "$3 = 3\n",
            "6\n",
            "$4 = 3\n",
        ],
    );
    in_order(&text, &["Adds two numbers.\n"]);
    Ok(())
}

#[test]
fn lists_that_make_no_sense_are_one_line_each() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let says = |commands: &[&str], wanted: &str| -> Fallible {
        let output = lab.verde(commands, &[])?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(errors.trim_end(), wanted, "{commands:?}");
        Ok(())
    };
    says(
        &["define print"],
        "\"print\" is a command of Verde's; choose another name.",
    )?;
    says(
        &["define 1x"],
        "Name a command to define: define NAME, its lines, end.",
    )?;
    says(
        &["document nosuch"],
        "Command \"nosuch\" is not user-defined.",
    )?;
    says(&["if", "end"], "if/while commands require arguments.")?;
    says(
        &["while nosuch", "end"],
        "No symbol \"nosuch\" in current context.",
    )?;
    says(
        &["define again", "again", "end", "again"],
        "Commands, blocks and files are nested more than 256 deep.",
    )?;
    std::fs::write(lab.path("open"), "while 1\nprint 1\n")?;
    let file = lab.path("open");
    let source = format!("source {}", file.display());
    let wanted = format!("{}: if or while: there is no \"end\".", file.display());
    says(&[source.as_str(), "print 2"], &wanted)
}

#[test]
fn breakpoints_are_named_by_ranges_and_places() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    lab.same_as_gdb(&[
        "break add",
        "break sub",
        "tbreak main",
        "break prog.c:4",
        "break prog.c:8",
        "delete 4-5",
        "run",
        "disable 1",
        "enable once 1",
        "continue",
        "info breakpoints 1",
        "enable delete 2",
        "continue",
        "info breakpoints",
    ])?;
    let text = lab.text(&[
        "rbreak prog.c:^sub$",
        "run",
        "print $bpnum",
        "start",
        "info breakpoints",
    ])?;
    in_order(&text, &["Breakpoint 1, sub (n=0)", "$1 = 1\n"]);
    // A new run counts from the beginning.
    let last = text.rsplit("$1 = 1").next().unwrap_or_default();
    assert!(!last.contains("already hit"), "{last}");
    Ok(())
}

#[test]
fn one_place_of_several_is_disabled() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }", &[])?;
    let source = "template <typename T> T same(T t) {\n  return t;\n}\n\
                  int main() {\n  same(1);\n  same(2.5);\n  same('c');\n  return 0;\n}\n";
    lab.build("g++", "prog.cc", source, "prog", &["-O0"])?;
    lab.same_as_gdb(&[
        "break same",
        "disable 1.2",
        "run",
        "continue",
        "bt",
        "enable 1.1-2",
        "info breakpoints",
    ])?;
    let output = lab.verde(&["break same", "disable 1.9"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "Bad breakpoint location number '9'\n");
    Ok(())
}

/// Of several steps the last is shown.
#[test]
fn several_steps_are_shown_as_one() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    lab.same_as_gdb(&[
        "break add",
        "run",
        "next 2",
        "step 3",
        "bt",
        "stepi 4",
        "next 20",
    ])
}

#[test]
fn displays_are_switched() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let text = lab.text(&[
        "break add",
        "run",
        "display total",
        "display n",
        "disable display 1",
        "next",
        "enable display 1",
        "delete display 2",
        "next",
        "info display",
    ])?;
    let said = essentials(&text).split_off(3);
    let wanted = [
        "1: total = 0",
        "2: n = 0",
        "4\t    return total;",
        "2: n = 0",
        "5\t}",
        "1: total = 0",
        "Auto-display expressions now in effect:",
        "Num Enb Expression",
        "1:   y  total",
    ];
    assert_eq!(said, wanted);
    Ok(())
}

/// A name that several files or functions have means all of them; a variable is listed where it is
/// declared.
#[test]
fn lines_of_names_that_mean_several_things() -> Fallible {
    let main = "int other(int);\nstatic int shared = 1;\nstatic int helper(int x) { return x + shared; }\n\
                int main(void) { return helper(1) + other(2) - 6; }\n";
    let lab = Lab::c("int main(void) { return 0; }\n", &["-O0"])?;
    std::fs::create_dir(lab.path("sub"))?;
    let other = "static int shared = 2;\nstatic int helper(int x) { return x + shared; }\n\
                 int other(int x) { return helper(x); }\n";
    std::fs::write(lab.path("sub/prog.c"), other)?;
    lab.build("gcc", "prog.c", main, "prog", &["-O0", "sub/prog.c"])?;
    for command in ["list helper", "list prog.c:2", "list shared", "list other"] {
        lab.same_as_gdb(&[command])?;
    }
    let lines = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for command in ["info line helper", "info line prog.c:2", "info line other"] {
        let ours = lines(lab.text(&[command])?);
        assert_eq!(ours.len(), if command.ends_with("other") { 1 } else { 2 });
        if let Some(theirs) = lab.gdb(&[command])? {
            assert_eq!(ours, lines(theirs), "{command}");
        }
    }
    Ok(())
}

/// A breakpoint in a library that is unloaded and loaded again.
#[test]
fn breakpoints_come_again_with_their_library() -> Fallible {
    let source = "#include <dlfcn.h>\nint main(void) {\n  int sum = 0;\n  for (int i = 1; i < 4; i++) {\n\
                  \x20   void *l = dlopen(\"./lib.so\", RTLD_NOW);\n    int (*f)(int) = dlsym(l, \"late\");\n\
                  \x20   sum += f(i);\n    dlclose(l);\n  }\n  return sum;\n}\n";
    let lab = Lab::c(source, &["-O0"])?;
    let library = "int late(int n) {\n  return n;\n}\n";
    lab.build("gcc", "lib.c", library, "lib.so", &["-shared", "-fPIC"])?;
    let cd = format!("cd {}", lab.path(".").display());
    let commands = [
        cd.as_str(),
        "break 7",
        "run",
        "break late",
        "delete 1",
        "continue",
        "continue",
        "continue",
        "info breakpoints",
        "continue",
    ];
    in_order(
        &lab.text(&commands)?,
        &[
            "Breakpoint 2, late (n=1)",
            "Breakpoint 2, late (n=2)",
            "Breakpoint 2, late (n=3)",
            "breakpoint already hit 3 times",
            "exited with code 06]",
        ],
    );
    Ok(())
}

/// A place of a library that is not loaded yet, if the user wants to wait for it.
#[test]
fn breakpoints_wait_for_their_library() -> Fallible {
    let source = "#include <dlfcn.h>\nint main(void) {\n  void *l = dlopen(\"./lib.so\", RTLD_NOW);\n\
                  \x20 int (*f)(int) = l ? dlsym(l, \"late\") : 0;\n  return f ? f(4) : 9;\n}\n";
    let lab = Lab::c(source, &["-O0"])?;
    let library = "int late(int n) {\n  n += 1;\n  return n;\n}\n";
    lab.build("gcc", "lib.c", library, "lib.so", &["-shared", "-fPIC"])?;
    let dir = lab.path(".");
    let cd = format!("cd {}", dir.display());
    let commands = [
        cd.as_str(),
        "set breakpoint pending on",
        "break late if n == 4",
        "tbreak lib.c:3",
        "run",
        "print n",
        "continue",
        "continue",
    ];
    let text = lab.text(&commands)?;
    in_order(
        &text,
        &[
            "Function \"late\" not defined",
            "Breakpoint 1 (late) pending",
            "No source file named lib.c.\nTemporary breakpoint 2 (lib.c:3) pending",
            "Breakpoint 1, late (n=4) at lib.c:2\n",
            "$1 = 4\n",
            "Temporary breakpoint 2, late (n=5) at lib.c:3\n",
            "exited with code 05]",
        ],
    );
    let output = lab.verde(&["break late"], &[])?;
    assert!(!output.status.success());
    Ok(())
}

#[test]
fn a_block_does_not_begin_in_an_argument() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    std::fs::write(lab.path("script"), "define foo\n$arg0 1\nend\nfoo if\n")?;
    let source = format!("source {}", lab.path("script").display());
    let output = lab.verde(&[&source, "print 6 * 7"], &[])?;
    let (text, errors) = (&output.stdout, &output.stderr);
    let (text, errors) = (
        String::from_utf8_lossy(text),
        String::from_utf8_lossy(errors),
    );
    assert!(errors.contains("cannot come from an argument"), "{errors}");
    assert!(text.contains("= 42"), "{text}");
    Ok(())
}

/// However deep a script is nested, it is refused in one line, and the session goes on.
#[test]
fn nesting_has_a_limit() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let nested = |depth: usize| {
        let (open, close) = ("if 1\n".repeat(depth), "end\n".repeat(depth));
        format!("{open}print 6 * 7\n{close}")
    };
    assert_eq!(lab.script(&nested(200), &[])?, "$1 = 42\n");
    let again = "thread apply all ".repeat(5000);
    let scripts = [
        nested(50_000),
        "define again\nif 1\nwhile 1\nagain\nend\nend\nend\nagain\n".to_owned(),
        format!("start\n{again}print 1\n"),
    ];
    for script in scripts {
        std::fs::write(lab.path("deep"), script)?;
        let source = format!("source {}", lab.path("deep").display());
        let output = lab.verde(&[&source, "print 40 + 2"], &[])?;
        let (text, errors) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
        assert!(errors.contains("nested more than 256 deep.\n"), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(String::from_utf8_lossy(text).ends_with(" = 42\n"));
    }
    Ok(())
}

/// An interrupt that the program sends itself is its own, not the user's.
#[test]
fn a_signal_of_the_programs_own_ends_no_loop() -> Fallible {
    let source = "#include <signal.h>\n\
                  int main(void) {\n  raise(SIGINT);\n  raise(SIGINT);\n  return 0;\n}\n";
    let lab = Lab::c(source, &["-O0"])?;
    let text = lab.script(
        "start\nset $i = 0\nwhile $i < 2\nset $i = $i + 1\ncontinue\nend\nprint $i\n",
        &[],
    )?;
    assert_eq!(text.matches("received signal SIGINT").count(), 2, "{text}");
    assert!(text.ends_with("$1 = 2\n"), "{text}");
    Ok(())
}

/// Only a line `end` alone ends a list, and a text keeps its empty lines and its indentation.
#[test]
fn a_text_may_speak_of_its_end() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let script = "\
define total
print 6 * 7
end
document total
The total at the
end of the loop.

  if it is wanted
   end
help total
total
";
    let text = same_script(&lab, script)?;
    let said = "The total at the\nend of the loop.\n\n  if it is wanted\n$1 = 42\n";
    assert!(text.ends_with(said), "{text}");
    Ok(())
}

/// A display is of the variables that were meant, not of others with their names.
#[test]
fn displays_belong_to_their_block() -> Fallible {
    let source = "int g = 3;\nint inner(int n) {\n  static int kept = 4;  int local = n * 2 + kept++ - kept + 1;\n  return local;\n}\n\
                  int main(void) {\n  int local = 1;\n  for (int i = 0; i < 2; i++) {\n\
                  \x20   int deep = i * 10;\n    local += inner(deep);\n    {\n      int local = 7;\n\
                  \x20     g += local;\n    }\n  }\n  local += g;\n  return local;\n}\n";
    let lab = Lab::c(source, &["-O0"])?;
    let script = "\
break inner
break 10
break 13
run
display deep
display local
display g
display/x local
display $pc != 0
info display
continue
info display
display local + n
display kept
up
info display
display
down
continue
info display
tbreak 16
delete 1 2 3
continue
info display
kill
info display
";
    let ours = lab.script(script, &[])?;
    let source = format!("source {}", lab.path("script").display());
    let theirs = lab.gdb(&["set confirm off", source.as_str()])?;
    if let Some(theirs) = theirs {
        let mut ours = essentials(&ours);
        // Without a terminal gdb does not show them at once.
        for first in ["1: ", "2: ", "3: ", "4: ", "5: ", "6: ", "7: "] {
            let at = ours.iter().position(|line| line.starts_with(first));
            ours.remove(at.ok_or(first)?);
        }
        assert_eq!(ours, essentials(&theirs));
    }
    let lines = "1:   y  deep (cannot be evaluated in the current context)\n\
                 2:   y  local (cannot be evaluated in the current context)\n3:   y  g\n";
    in_order(&ours, &["2: local = 1\n", lines, "6: local + n = "]);
    Ok(())
}

/// Memory is that of the variable that was meant, too.
#[test]
fn displays_of_memory_are_of_the_variable_meant() -> Fallible {
    let source = "int main(void) {\n  const char *name = \"outer\";\n  int n = 1;\n  {\n\
        \x20   const char *name = \"inner\";\n    n += *name;\n    n++;\n  }\n  return n + *name;\n}\n";
    let lab = Lab::c(source, &["-O0"])?;
    let text = lab.text(&["break 3", "run", "display/s name", "break 7", "continue"])?;
    assert_eq!(text.matches("\"outer\"").count(), 2, "{text}");
    Ok(())
}

/// When the program has ended `list` goes on where it was, or around where the program stood.
#[test]
fn list_goes_on_after_the_end() -> Fallible {
    let pad = |n: u32| (0..n).map(move |i| format!("int pad{n}_{i};\n"));
    let mut source: String = pad(20).collect();
    source.push_str("int f(int n) {\n  n++;\n  return n;\n}\n");
    source.extend(pad(15));
    source.push_str("int main(void) {\n  return f(1) - 2;\n}\n");
    source.extend(pad(14));
    let lab = Lab::c(&source, &["-O0"])?;
    let ways: [&[&str]; 4] = [&[], &["list", "list"], &["list f"], &["up", "list"]];
    for way in ways {
        let begin = ["tbreak 22", "run"];
        let end = ["continue", "list", "list", "list -"];
        lab.same_as_gdb(&[&begin[..], way, &end].concat())?;
    }
    Ok(())
}

/// Text that a pointer is set to is put into the program.
#[test]
fn a_pointer_can_be_set_to_new_text() -> Fallible {
    let source = "#include <stdio.h>\nchar *global = \"orig\";\nint main(void) {\n\
        \x20 char *cp = global; const char *k = \"k\"; char buf[4] = \"abc\";\n\
        \x20 printf(\"%s %s %s %s\\n\", global, cp, k, buf);\n  return 0;\n}\n";
    let lab = Lab::c(source, &["-O0"])?;
    lab.same_as_gdb(&[
        "break 5",
        "run",
        "set var cp = \"zz\"",
        "print k = \"longer text\"",
        "print k[2]",
        "set var buf = \"xyz\"",
        "set var global = \"new\"",
        "info locals",
        "continue",
    ])
}

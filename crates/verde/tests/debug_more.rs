//! Commands beside the common ones: saving, searching, other names, where sources are.

mod lab;

use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r#"#include <string.h>
#include <unistd.h>
struct pair { int first; int second; } pair = { 3, 4 };
char text[64] = "some words and more words";
int numbers[8] = { 1, 2, 7, 2, 7, 2, 7, 9 };
int twice(int x) {
    int y = x * 2;
    return y;
}
int main(int argc, char **argv) {
    int a = twice(4);
    if (argc > 5) execl("/bin/true", "true", (char *)0);
    return a - 8;
}
"#;

fn lab() -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::c(SOURCE, &["-O0"])
}

#[test]
fn as_gdb_does() -> Fallible {
    lab()?.same_as_gdb(&[
        "print 5",
        "print/x 17",
        "show values",
        "alias px = print /x",
        "px 255",
        "eval \"print %d + %d\", 3, 4",
        "print -pretty -- pair",
        "print -elements 4 -repeats 2 -- text",
        "print -pretty on -- /x pair",
        "show disable-randomization",
        "set substitute-path /a /b",
        "show substitute-path",
        "show directories",
        "break -function twice",
        "break -source prog.c -line 13",
        "tbreak -line 11",
        "find text, +sizeof(text), 'w', 'o'",
        "find &text, +sizeof(text), \"words\"",
        "print $numfound",
        "find/w1 &numbers, +sizeof(numbers), 7",
        "find/w &numbers[0], &numbers[7], 2, 7",
        "find &numbers, +8, 9",
        "run",
        "continue",
        "info stack",
        "info s",
    ])
}

#[test]
fn breakpoints_are_saved_and_set_again() -> Fallible {
    let lab = lab()?;
    let saved = lab.path("saved").display().to_string();
    let first = format!(
        "break 7 if x > 3\nignore 1 2\ncommands\nsilent\nprint x\nend\nhbreak twice\ndisable 2\n\
         tbreak main\nwatch pair.first\ncatch syscall write read\ncatch signal SIGUSR1\n\
         dprintf prog.c:8,\"y %d\\n\",y\nsave breakpoints {saved}\n"
    );
    lab.script(&first, &[])?;
    let file = std::fs::read_to_string(&saved)?;
    assert_eq!(
        file,
        "break prog.c:7\n  condition $bpnum x > 3\n  ignore $bpnum 2\n  commands\n    silent\n    \
         print x\n  end\nbreak twice\ndisable $bpnum\ntbreak main\nwatch pair.first\n\
         catch syscall write read\ncatch signal SIGUSR1\ndprintf prog.c:8,\"y %d\\n\",y\n"
    );
    let text = lab.script(&format!("source {saved}\ninfo breakpoints\n"), &[])?;
    in_order(
        &text,
        &[
            "1       breakpoint     keep y   0x",
            "stop only if x > 3\n\tignore next 2 hits\n        silent\n",
            "2       breakpoint     keep n   0x",
            "3       breakpoint     del  y   0x",
            "4       hw watchpoint  keep y                      pair.first\n",
            "5       catchpoint     keep y                      syscalls \"write, read\"",
            "6       catchpoint     keep y ",
            "7       dprintf        keep y   0x",
        ],
    );
    Ok(())
}

#[test]
fn sources_that_have_moved_are_found() -> Fallible {
    let lab = lab()?;
    std::fs::create_dir(lab.path("moved"))?;
    std::fs::rename(lab.path("prog.c"), lab.path("moved/prog.c"))?;
    let (old, new) = (lab.path(""), lab.path("moved"));
    let substitute = format!("set substitute-path {} {}", old.display(), new.display());
    let directory = format!("directory {}", new.display());
    for command in [substitute, directory] {
        let text = lab.text(&[
            "break twice",
            "run",
            &command,
            "list 6,6",
            "info sources prog",
        ])?;
        in_order(
            &text,
            &[
                "7\tin prog.c (the source is not here)\n",
                "6\tint twice(int x) {\n",
                "/prog:\n\n",
                "/prog.c\n",
            ],
        );
    }
    Ok(())
}

#[test]
fn registers_addresses_and_programs() -> Fallible {
    let lab = lab()?;
    let text = lab.text(&[
        "catch exec",
        "run 1 2 3 4 5",
        "info inferiors",
        "kill",
        "info inferiors",
        "delete",
        "break main",
        "run",
        "info all-registers",
        "info registers xmm3",
        "print $pc > 0x550000000000 && $pc < 0x555555556000",
    ])?;
    in_order(
        &text,
        &[
            "exec'd ",
            "1 (native)           /",
            "/true \n",
            "/prog \n",
            "\nrip            0x",
            "\nst0            0\n",
            "\nxmm0           {v4_float = {",
            "\nxmm15          {",
            "\nxmm3           {v4_float",
            "$1 = 1\n",
        ],
    );
    // Somewhere else each time, and the program runs all the same.
    let random = [
        "set disable-randomization off",
        "break main",
        "run",
        "info symbol $pc",
        "print (long)&pair",
    ];
    let last = |text: &str| text.lines().last().map(str::to_owned);
    let (one, two) = (lab.text(&random)?, lab.text(&random)?);
    assert!(
        one.contains("main + ") && one.contains(" in section .text"),
        "{one}"
    );
    assert_ne!(last(&one), last(&two));
    Ok(())
}

#[test]
fn what_cannot_be_is_said() -> Fallible {
    let lab = lab()?;
    for (commands, why) in [
        (
            &["break *0", "run"][..],
            "Cannot insert breakpoint 1: no code at 0x0",
        ),
        (
            &["display nothing"],
            "No symbol \"nothing\" in current context.",
        ),
        (&["alias print = x"], "Alias already exists: print"),
        (
            &["alias y = nothing"],
            "Invalid command to alias to: nothing",
        ),
        (&["find &text, +4"], "find[/SIZE]"),
        (
            &["ptype/z struct pair"],
            "Of ptype there is /o, not \"/z\".",
        ),
        (&["info macro LIMIT"], "Macros are not known"),
        (&["macro expand LIMIT"], "Macros are not known"),
        (&["set logging on"], "tee FILE"),
        (&["reverse-step"], "checkpoint, and restart"),
        (&["apropos nothing at all"], "No command speaks of"),
        (&["save breakpoints"], "Argument required"),
        (&["break -function"], "missing argument for \"-function\""),
    ] {
        let output = lab.verde(commands, &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(why), "{commands:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    let text = lab.text(&["apropos reg[eu]", "display pair"])?;
    in_order(&text, &["rbreak [FILE:]REGEX", "info sources -- "]);
    Ok(())
}

#[test]
fn an_async_function_stops_in_its_body() -> Fallible {
    let lab = lab()?;
    let source = "use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};\n\
                  async fn leaf(n: i32) -> i32 {\n    let m = n + 1;\n    m * 2\n}\n\
                  fn main() {\n    let mut f = pin!(leaf(3));\n    \
                  let mut cx = Context::from_waker(Waker::noop());\n    \
                  if let Poll::Ready(v) = f.as_mut().poll(&mut cx) {\n        \
                  println!(\"{v}\");\n    }\n}\n";
    lab.build("rustc", "prog.rs", source, "prog", &["--edition", "2021"])?;
    let text = lab.text(&[
        "break leaf",
        "run",
        "continue",
        "next",
        "next",
        "print m",
        "continue",
    ])?;
    in_order(
        &text,
        &[
            "leaf. (2 locations)\n",
            "Breakpoint 1.1, prog::leaf (n=3)",
            "Breakpoint 1.2, prog::leaf::{async_fn#0}",
            "$1 = 4\n",
            "8\n",
        ],
    );
    Ok(())
}

#[test]
fn what_is_caught_once_is_called_so() -> Fallible {
    let source = "#include <sys/wait.h>\n#include <unistd.h>\n\
                  int main(void) { if (fork() == 0) _exit(0); wait(0); return 0; }\n";
    let lab = Lab::c(source, &["-O0"])?;
    let text = lab.text(&[
        "tcatch fork",
        "tcatch syscall wait4",
        "catch syscall exit_group",
        "run",
        "continue",
        "continue",
    ])?;
    in_order(
        &text,
        &[
            "Catchpoint 1 (fork)\n",
            "\nTemporary catchpoint 1 (forked process ",
            "\nTemporary catchpoint 2 (call to syscall wait4), ",
            "\nCatchpoint 3 (call to syscall exit_group), ",
        ],
    );
    Ok(())
}

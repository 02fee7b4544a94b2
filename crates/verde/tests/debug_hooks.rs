//! Lines that run before and after commands, and before stops are told.

mod lab;

use lab::{Fallible, Lab, essentials, in_order};

const SOURCE: &str = "int twice(int x) {\n    int y = x * 2;\n    return y;\n}\n\
                      int main(void) {\n    int a = twice(4);\n    return a - 8;\n}\n";

/// Both debuggers on a file of commands.
fn both(lab: &Lab, script: &str) -> Fallible {
    let file = lab.path("hooks");
    std::fs::write(&file, script)?;
    let source = format!("source {}", file.display());
    let ours = essentials(&lab.text(&[&source])?);
    if let Some(theirs) = lab.gdb(&["set confirm off", &source])? {
        assert_eq!(ours, essentials(&theirs));
    }
    Ok(())
}

#[test]
fn hooks_run_around_commands_and_before_stops() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let script = "define hook-stop\necho [stop]\\n\nprint $pc != 0\nend\n\
                  define hook-print\necho [before]\\n\nend\n\
                  define hookpost-print\necho [after]\\n\nend\n\
                  define mine\necho mine\\n\nend\n\
                  define hook-mine\necho [before mine]\\n\nend\n\
                  define hookpost-mine\np 7\nend\n\
                  define hook-echo\nprintf \"<\"\nend\n\
                  break twice\ncommands\nprint x\nend\n\
                  run\nmine\nnext\np y\nbreak 7\ncommands\nsilent\nprint a\nend\ncontinue\nnext\n";
    both(&lab, script)
}

#[test]
fn a_hook_that_goes_on_or_ends_the_session() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    both(
        &lab,
        "break twice\ndefine hook-stop\nif $_hit == 0\nset $_hit = 1\nfinish\nend\nend\n\
         set $_hit = 0\nrun\nprint 1\n",
    )?;
    let text = lab.script(
        "define hook-stop\nquit\nend\ndefine hook-quit\necho bye\\n\nend\nbreak twice\nrun\necho no\\n\n",
        &[],
    )?;
    assert_eq!(text.matches("bye").count(), 1, "{text}");
    assert!(
        !text.contains("Breakpoint 1, ") && !text.contains("no\n"),
        "{text}"
    );
    Ok(())
}

#[test]
fn hooks_that_fail_and_hooks_of_nothing() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let commands = [
        "define hook-next",
        "print nothing",
        "end",
        "define hook-stop",
        "print nothing",
        "end",
        "define hook-bt",
        "end",
        "break twice",
        "run",
        "next",
        "info line",
    ];
    let output = lab.verde(&commands, &[])?;
    let text = String::from_utf8_lossy(&output.stdout);
    in_order(
        &text,
        &[
            "warning: Your new `hook-bt' command does not hook any existing command.\n",
            "Error while running hook_stop:\nNo symbol \"nothing\" in current context.",
            "Breakpoint 1, twice (x=4)",
            // The command behind a hook that fails is not run.
            "Line 2 of \"prog.c\"",
        ],
    );
    assert_eq!(output.status.code(), Some(1));
    Ok(())
}

//! What the program is started with: words, and what a shell makes of more than words.

mod lab;

use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r#"#include <stdio.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) printf("word <%s>\n", argv[i]);
    char line[64] = "";
    if (fgets(line, sizeof line, stdin)) printf("read %s", line);
    memset(line, 0, sizeof line);
    if (read(5, line, 4) == 4) printf("five %s\n", line);
    int vars = 0, shell = 0;
    for (char **e = environ; *e; e++) {
        vars++;
        shell |= !strncmp(*e, "_=", 2);
    }
    printf("vars %d %d\n", vars, shell);
    fflush(stdout);
    fprintf(stderr, "complaint\n");
    return 0;
}
"#;

fn lab() -> Result<Lab, Box<dyn std::error::Error>> {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    std::fs::write(lab.path("in.txt"), "first\nsecond\n")?;
    Ok(lab)
}

/// Commands in the directory of the program.
fn here(lab: &Lab, commands: &[&str]) -> Result<String, Box<dyn std::error::Error>> {
    let cd = format!("cd {}", lab.path("").display());
    let mut all = vec![cd.as_str()];
    all.extend(commands);
    Ok(lab.text(&all)?)
}

#[test]
fn redirections_globs_and_variables_are_the_shells() -> Fallible {
    let lab = lab()?;
    let text = here(
        &lab,
        &[
            "set env GREETING=good day",
            "run one < in.txt 5< in.txt",
            "run *.txt \"$GREETING\" $GREETING $(echo a b | tr a z) 'x  y'",
            "run > out 2>&1",
            "run again >> out 2>/dev/null",
            "show args",
        ],
    )?;
    in_order(
        &text,
        &[
            "word <one>\nread first\nfive firs\n",
            "exited normally]",
            "word <in.txt>\nword <good day>\nword <good>\nword <day>\nword <z>\nword <b>\n\
             word <x  y>\n",
            "exited normally]\n[Inferior",
            "exited normally]\n[Inferior",
            "is started is \"again >> out 2>/dev/null\".\n",
        ],
    );
    let out = std::fs::read_to_string(lab.path("out"))?;
    in_order(&out, &["vars ", "complaint\nword <again>\nvars "]);
    assert_eq!(out.matches("complaint").count(), 1, "{out}");
    Ok(())
}

#[test]
fn the_shell_leaves_nothing_in_the_program() -> Fallible {
    let lab = lab()?;
    let vars = |text: &str| -> Option<String> {
        let line = text.lines().find(|l| l.starts_with("vars "))?;
        Some(line.to_owned())
    };
    let plain = here(&lab, &["unset env _", "run a"])?;
    let shell = here(&lab, &["unset env _", "run a 5< in.txt"])?;
    assert!(vars(&plain).is_some_and(|v| v.ends_with(" 0")), "{plain}");
    assert_eq!(vars(&plain), vars(&shell));

    // One exec, and the first instruction of the program is the first to be seen.
    let text = here(
        &lab,
        &[
            "catch exec",
            "starti < in.txt",
            "info symbol $pc",
            "info proc",
            "info inferiors",
            "continue",
        ],
    )?;
    in_order(
        &text,
        &[
            "Program stopped.\n",
            "_start",
            "/prog'\n",
            "read first\n",
            "exited normally]",
        ],
    );
    assert!(!text.contains("exec'd"), "{text}");
    Ok(())
}

#[test]
fn words_of_the_command_line_are_not_read_again() -> Fallible {
    let lab = lab()?;
    let output = lab.verde(&["show args", "run"], &["$HOME *", "<in.txt", ""])?;
    let text = String::from_utf8_lossy(&output.stdout);
    in_order(
        &text,
        &[
            r#"is started is "\$HOME\ \* \<in.txt ''"."#,
            "word <$HOME *>\nword <<in.txt>\nword <>\n",
        ],
    );
    let text = here(
        &lab,
        &["set startup-with-shell off", "run a < in.txt \"b\\nc\""],
    )?;
    in_order(
        &text,
        &["word <a>\nword <<>\nword <in.txt>\nword <b\\nc>\n"],
    );
    Ok(())
}

#[test]
fn what_a_shell_cannot_do_is_said() -> Fallible {
    let lab = lab()?;
    let cd = format!("cd {}", lab.path("").display());
    for (command, why) in [
        ("run < nothing", "During startup program exited with code "),
        ("run | cat", "The shell did not start the program: "),
        ("run 'open", "During startup program exited with code "),
        ("run &", "Programs are not run in the background: "),
    ] {
        let output = lab.verde(&[&cd, command], &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(why), "{command}: {errors}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!text.contains("vars "), "{command}: {text}");
        assert_eq!(output.status.code(), Some(1));
    }
    Ok(())
}

/// The kernel kills a program whose file it cannot load after it has given up the one before.
#[test]
fn a_program_that_dies_before_it_begins() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(16, 0);
    let (executable, x86_64, header, segment): (u16, u16, u16, u16) = (2, 62, 64, 56);
    elf.extend([executable, x86_64].iter().flat_map(|n| n.to_le_bytes()));
    elf.extend(1u32.to_le_bytes());
    elf.extend([0x40_0000u64, 64, 0].iter().flat_map(|n| n.to_le_bytes()));
    elf.extend(0u32.to_le_bytes());
    elf.extend(
        [header, segment, 1, 0, 0, 0]
            .iter()
            .flat_map(|n| n.to_le_bytes()),
    );
    // To be loaded where no program can have memory.
    elf.extend([1u32, 5].iter().flat_map(|n| n.to_le_bytes()));
    let place = [0, 0x7fff_ffff_ffff_f000u64, 0, 120, 120, 0x1000];
    elf.extend(place.iter().flat_map(|n| n.to_le_bytes()));
    std::fs::write(lab.path("bad"), elf)?;
    // Another process writes it: this one may be forked by other tests meanwhile.
    let mut cp = std::process::Command::new("cp");
    let done = cp.arg(lab.path("bad")).arg(lab.path("prog")).status()?;
    assert!(done.success());
    let out = lab.verde(&["run", "echo still here\\n"], &[])?;
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(text.contains("Exec format error"), "{text}");
    assert!(
        String::from_utf8_lossy(&out.stdout).contains("still here"),
        "{text}"
    );
    Ok(())
}

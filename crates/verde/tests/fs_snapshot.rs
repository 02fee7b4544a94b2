//! `--fs-snapshot`: files come back with a checkpoint, and are the user's in the end.

use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

type Fallible = Result<(), Box<dyn Error>>;

/// Appends a line to a file for each call, which it opens anew.
const SOURCE: &str = r#"#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void note(int k) {
    FILE *f = fopen("log", "a");
    fprintf(f, "line %d\n", k);
    fclose(f);
}
void looked(void) {}
int main(int argc, char **argv) {
    if (argc > 1 && fork() == 0) {
        setsid();
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        for (;;)
            pause();
    }
    for (int k = 1; k <= 3; k++)
        note(k);
    looked();
    remove("input");
    return 3;
}
"#;

/// A program in a directory of its own, and where its layers are kept.
struct Lab {
    _root: tempfile::TempDir,
    work: PathBuf,
    layers: PathBuf,
    program: PathBuf,
}

fn root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}

impl Lab {
    fn new() -> Result<Lab, Box<dyn Error>> {
        let root = tempfile::tempdir()?;
        let path = |name: &str| root.path().join(name);
        for name in ["work", "layers"] {
            fs::create_dir(path(name))?;
        }
        fs::write(path("prog.c"), SOURCE)?;
        fs::write(path("work/input"), "")?;
        let mut gcc = Command::new("gcc");
        gcc.args(["-g", "-O0", "-o", "prog", "prog.c"]);
        assert!(gcc.current_dir(root.path()).status()?.success());
        Ok(Lab {
            work: path("work"),
            layers: path("layers"),
            program: path("prog"),
            _root: root,
        })
    }

    fn verde(&self, command: &str) -> Command {
        let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
        verde.args([command, "--fs-snapshot"]);
        if !root() {
            verde.arg("--namespace");
        }
        verde.env("TMPDIR", &self.layers).current_dir(&self.work);
        verde.stdin(Stdio::null());
        verde
    }

    fn debug(&self, commands: &[&str], args: &[&str]) -> Result<String, Box<dyn Error>> {
        let mut verde = self.verde("debug");
        verde.arg("--batch");
        for command in commands {
            verde.args(["--ex", command]);
        }
        Ok(text(verde.arg(&self.program).args(args).output()?))
    }

    fn log(&self) -> String {
        fs::read_to_string(self.work.join("log")).unwrap_or_default()
    }

    fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.layers).into_iter().flatten().flatten();
        entries.map(|e| e.path()).collect()
    }
}

fn text(output: Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    text
}

const ALL: &str = "line 1\nline 2\nline 3\n";

#[test]
fn a_restart_takes_back_what_was_written() -> Fallible {
    let lab = Lab::new()?;
    let commands = [
        "break note",
        "run",
        "continue",
        "checkpoint",
        "continue",
        "delete 1",
        "restart 1",
        "continue",
    ];
    let said = lab.debug(&commands, &[])?;
    assert!(!said.contains("warning"), "{said}");
    assert!(said.contains("is kept aside"), "{said}");
    assert!(said.contains("exited with code 03"), "{said}");
    // Written twice, there once.
    assert_eq!(lab.log(), ALL);
    assert!(!lab.work.join("input").exists());
    assert_eq!(lab.left(), [] as [PathBuf; 0]);
    Ok(())
}

#[test]
fn without_it_a_line_is_there_twice() -> Fallible {
    let lab = Lab::new()?;
    let commands = ["set fs-snapshot off", "break note", "run", "checkpoint"];
    let then = ["continue", "restart 1", "delete 1", "continue"];
    lab.debug(&[commands, then].concat(), &[])?;
    assert_eq!(lab.log(), format!("line 1\n{ALL}"));
    Ok(())
}

#[test]
fn nothing_is_left_of_a_run_without_checkpoints() -> Fallible {
    let lab = Lab::new()?;
    let property = lab.layers.with_file_name("p.prop");
    fs::write(
        &property,
        "initialization { N = 0 }\n\
         state init accepting { transition { event note(k : int) success { N = N + 1 } init } }\n",
    )?;
    let mut check = lab.verde("check");
    check.arg("-p").arg(property).arg(&lab.program);
    let output = check.output()?;
    assert_eq!(output.status.code(), Some(3), "{}", text(output));
    assert_eq!(lab.log(), ALL);
    assert_eq!(lab.left(), [] as [PathBuf; 0]);
    Ok(())
}

#[test]
fn the_end_of_the_session_is_the_end_of_a_program_that_runs() -> Fallible {
    let lab = Lab::new()?;
    let said = lab.debug(&["break looked", "run", "checkpoint"], &[])?;
    assert!(said.contains("saved in"), "{said}");
    assert_eq!(lab.log(), ALL);
    assert!(lab.work.join("input").exists());
    assert_eq!(lab.left(), [] as [PathBuf; 0]);
    Ok(())
}

#[test]
fn a_new_run_begins_with_the_files_of_the_last() -> Fallible {
    let lab = Lab::new()?;
    let commands = ["break looked", "run", "checkpoint", "continue", "run"];
    let said = lab.debug(&commands, &[])?;
    assert!(
        said.contains("checkpoints of this run are deleted"),
        "{said}"
    );
    assert_eq!(lab.log(), format!("{ALL}{ALL}"));
    let said = lab.debug(&["break looked", "run", "detach"], &[])?;
    assert!(said.contains("Cannot detach"), "{said}");
    assert_eq!(lab.log(), format!("{ALL}{ALL}{ALL}"));
    Ok(())
}

#[test]
fn files_are_written_when_the_last_checkpoint_goes() -> Fallible {
    let lab = Lab::new()?;
    let commands = ["break looked", "run", "checkpoint", "continue"];
    let said = lab.debug(
        &[&commands[..], &["delete checkpoint 1", "restart 1"]].concat(),
        &[],
    )?;
    assert!(said.contains("No checkpoint number 1"), "{said}");
    assert_eq!(lab.log(), ALL);
    Ok(())
}

#[test]
fn a_debugger_that_is_killed_loses_nothing() -> Fallible {
    let lab = Lab::new()?;
    let mut verde = lab.verde("debug");
    verde.args(["--ex", "break looked", "--ex", "run"]);
    verde.arg(&lab.program).stdin(Stdio::piped());
    let mut verde = verde.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut reader = std::io::BufReader::new(verde.stdout.take().ok_or("no output")?);
    let mut line = String::new();
    while !line.contains("Breakpoint 1, looked") {
        line.clear();
        assert_ne!(std::io::BufRead::read_line(&mut reader, &mut line)?, 0);
    }
    verde.kill()?;
    verde.wait()?;
    assert_eq!(lab.log(), "", "the directory is as it was");
    let [home] = lab.left().try_into().map_err(|l| format!("{l:?}"))?;
    assert_eq!(fs::read_to_string(home.join("0/upper/log"))?, ALL);
    assert!(fs::read_to_string(home.join("README"))?.contains(&*lab.work.to_string_lossy()));
    // The next one says where they are.
    let said = lab.debug(&["run"], &[])?;
    assert!(said.contains(&*home.to_string_lossy()), "{said}");
    Ok(())
}

#[test]
fn a_process_that_goes_on_is_named() -> Fallible {
    if !root() {
        // A namespace ends all its processes.
        return Ok(());
    }
    let lab = Lab::new()?;
    let said = lab.debug(&["run"], &["daemon"])?;
    let start = said.find("go on (").ok_or(said.clone())? + "go on (".len();
    let pid = said[start..].split(')').next().unwrap_or_default();
    assert!(Path::new("/proc").join(pid).exists(), "{said}");
    assert!(Command::new("kill").arg(pid).status()?.success());
    assert_eq!(lab.log(), ALL);
    assert_eq!(lab.left().len(), 1, "what it writes is kept");
    Ok(())
}

#[test]
fn an_ordinary_user_needs_a_namespace() -> Fallible {
    if !root() {
        return Ok(());
    }
    let lab = Lab::new()?;
    // The build directory may be closed to others.
    let verde = lab.layers.with_file_name("verde");
    let mut cp = Command::new("cp");
    assert!(
        cp.arg(env!("CARGO_BIN_EXE_verde"))
            .arg(&verde)
            .status()?
            .success()
    );
    let everybody = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777));
    for path in [lab.work.parent().ok_or("a parent")?, &lab.work, &lab.layers] {
        everybody(path)?;
    }
    let run = |namespace: &[&str]| -> Result<String, Box<dyn Error>> {
        let mut command = Command::new(&verde);
        command
            .args(["debug", "--batch", "--fs-snapshot"])
            .args(namespace);
        command.args(["--ex", "break looked", "--ex", "run", "--ex", "checkpoint"]);
        command.arg(&lab.program).env("TMPDIR", &lab.layers);
        command.current_dir(&lab.work).stdin(Stdio::null());
        Ok(text(command.uid(65534).gid(65534).output()?))
    };
    let refused = run(&[])?;
    assert!(refused.contains("add --namespace"), "{refused}");
    assert_eq!(lab.log(), "");
    let said = run(&["--namespace"])?;
    assert!(said.contains("saved in"), "{said}");
    assert!(!said.contains("warning"), "{said}");
    assert_eq!(lab.log(), ALL);
    // What could not be changed there is said.
    let foreign = lab.work.join("foreign");
    fs::write(&foreign, "")?;
    std::os::unix::fs::chown(&foreign, Some(65534), Some(0))?;
    let said = run(&["--namespace"])?;
    assert!(said.contains("foreign has an owner or a group"), "{said}");
    Ok(())
}

#[test]
fn a_directory_that_cannot_be_covered_is_refused() -> Fallible {
    let lab = Lab::new()?;
    let said = lab.debug(&["set fs-snapshot /", "run"], &[])?;
    assert!(said.contains("is mounted in it"), "{said}");
    let above = lab.layers.parent().ok_or("a parent")?;
    let line = format!("set fs-snapshot {}", above.display());
    let said = lab.debug(&[&line, "run"], &[])?;
    assert!(said.contains("set TMPDIR"), "{said}");
    assert_eq!(lab.left(), [] as [PathBuf; 0]);
    Ok(())
}

/// Other contents of the same length, with the time set back.
const SAME_TIME: &str = r#"#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) {
    struct stat now;
    stat("input", &now);
    int fd = open("input", O_WRONLY);
    struct timespec times[2] = {now.st_atim, now.st_mtim};
    return write(fd, "new", 3) != 3 || futimens(fd, times);
}
"#;

#[test]
fn a_change_that_times_do_not_show_is_written() -> Fallible {
    let lab = Lab::new()?;
    let source = lab.layers.with_file_name("same.c");
    fs::write(&source, SAME_TIME)?;
    let mut gcc = Command::new("gcc");
    gcc.arg("-g").arg("-o").arg(&lab.program).arg(&source);
    assert!(gcc.status()?.success());
    fs::write(lab.work.join("input"), "old")?;
    let said = lab.debug(&["run"], &[])?;
    assert!(said.contains("exited normally"), "{said}");
    assert_eq!(fs::read_to_string(lab.work.join("input"))?, "new");
    Ok(())
}

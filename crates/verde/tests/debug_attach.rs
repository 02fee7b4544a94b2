//! `verde attach`: on a process that runs, which survives whatever happens to
//! the debugger.

mod lab;

use lab::{Fallible, Lab};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 200;

const SOURCE: &str = r#"#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
volatile long ticks;
volatile int over;
__attribute__((noinline)) void tick(int n) { __atomic_fetch_add(&ticks, n, __ATOMIC_RELAXED); }
static void *spin(void *p) {
    while (!over) tick(1);
    return p;
}
int main(void) {
    pthread_t t[2];
    if (nice(19) == -1) return 1;
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, spin, 0);
    puts("ready");
    fflush(stdout);
    getchar();
    over = 1;
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    puts("done");
    return 0;
}
"#;

/// A program under load, which ends with this.
struct Loaded {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Loaded {
    fn start(lab: &Lab) -> Result<Loaded, Box<dyn std::error::Error>> {
        let mut command = Command::new(lab.path("prog"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut line = String::new();
        lines.read_line(&mut line)?;
        assert_eq!(line, "ready\n");
        Ok(Loaded { child, lines })
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All code of the process.
    fn code(&self) -> Result<Vec<Vec<u8>>, Box<dyn std::error::Error>> {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.pid()))?;
        let mut memory = std::fs::File::open(format!("/proc/{}/mem", self.pid()))?;
        let mut out = Vec::new();
        for line in maps.lines() {
            let mut words = line.split_whitespace();
            let (Some(range), Some(access)) = (words.next(), words.next()) else {
                continue;
            };
            if !access.contains('x') || line.ends_with("[vsyscall]") {
                continue;
            }
            let (from, to) = range.split_once('-').ok_or("a range")?;
            let (from, to) = (u64::from_str_radix(from, 16)?, u64::from_str_radix(to, 16)?);
            let mut bytes = vec![0; (to - from) as usize];
            memory.seek(SeekFrom::Start(from))?;
            memory.read_exact(&mut bytes)?;
            out.push(bytes);
        }
        Ok(out)
    }

    fn is_traced(&self) -> std::io::Result<bool> {
        for task in std::fs::read_dir(format!("/proc/{}/task", self.pid()))? {
            let status = std::fs::read_to_string(task?.path().join("status"))?;
            if !status.contains("TracerPid:\t0\n") {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// It still works, and ends as it should.
    fn finish(mut self) -> Fallible {
        self.child
            .stdin
            .take()
            .ok_or("no input")?
            .write_all(b"\n")?;
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest)?;
        assert_eq!(rest, "done\n");
        assert!(self.child.wait()?.success());
        Ok(())
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // It may have ended, as it should.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lab() -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::c(SOURCE, &["-O1", "-pthread"])
}

fn attach(pid: &str, commands: &[&str]) -> std::io::Result<Output> {
    let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
    verde.args(["attach", "--batch"]);
    for command in commands {
        verde.args(["--ex", command]);
    }
    verde.arg(pid).stdin(Stdio::null()).output()
}

fn until(what: &str, mut holds: impl FnMut() -> std::io::Result<bool>) -> Fallible {
    let end = Instant::now() + Duration::from_secs(30);
    while !holds()? {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

#[test]
fn a_batch_looks_and_lets_go() -> Fallible {
    let lab = lab()?;
    let program = Loaded::start(&lab)?;
    let before = program.code()?;
    let commands = ["info threads", "tbreak tick", "continue", "bt", "print n"];
    let output = attach(&program.pid().to_string(), &commands)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    for wanted in [
        "Attaching to program: ",
        "  3    Thread 0x",
        "hit Temporary breakpoint 1, tick (n=1)",
        "in spin (p=",
        "$1 = 1\n",
        " detached]\n",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(!program.is_traced()?);
    assert_eq!(program.code()?, before);
    program.finish()
}

/// A debugger at a prompt that is fed by this test.
struct Prompt {
    verde: Child,
    lines: BufReader<ChildStdout>,
}

impl Prompt {
    fn on(pid: u32) -> Result<Prompt, Box<dyn std::error::Error>> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_verde"));
        command.arg("attach").arg(pid.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut verde = command.spawn()?;
        let lines = BufReader::new(verde.stdout.take().ok_or("no output")?);
        Ok(Prompt { verde, lines })
    }

    fn say(&mut self, text: &str) -> Fallible {
        let input = self.verde.stdin.as_mut().ok_or("no input")?;
        Ok(input.write_all(text.as_bytes())?)
    }

    /// Reads up to a line with this text.
    fn expect(&mut self, wanted: &str) -> Fallible {
        let mut all = String::new();
        while !all.contains(wanted) {
            let from = all.len();
            self.lines.read_line(&mut all)?;
            assert!(all.len() > from, "{wanted} is missing: {all}");
        }
        Ok(())
    }

    fn signal(&self, name: &str) -> Fallible {
        let pid = self.verde.id().to_string();
        assert!(
            Command::new("/bin/kill")
                .args([name, &pid])
                .status()?
                .success()
        );
        Ok(())
    }
}

#[test]
fn a_prompt_on_a_process_is_interrupted_and_detaches() -> Fallible {
    let lab = lab()?;
    let program = Loaded::start(&lab)?;
    let mut prompt = Prompt::on(program.pid())?;
    prompt.say("print over\necho going\\n\ncontinue\n")?;
    prompt.expect("$1 = 0")?;
    prompt.expect("Continuing.")?;
    // It runs: nothing else would stop it.
    prompt.signal("-INT")?;
    prompt.expect("received signal SIGINT, Interrupt.")?;
    prompt.say("detach\nprint 7\nquit\n")?;
    prompt.expect(" detached]")?;
    prompt.expect("$2 = 7")?;
    assert!(prompt.verde.wait()?.success());
    assert!(!program.is_traced()?);
    program.finish()
}

#[test]
fn the_process_survives_any_number_of_killed_debuggers() -> Fallible {
    let lab = lab()?;
    let mut program = Loaded::start(&lab)?;
    let before = program.code()?;
    for round in 0..ROUNDS {
        let mut prompt = Prompt::on(program.pid())?;
        prompt.say(
            "break prog.c:7 if n == 1\ncommands\nsilent\necho hit\\n\ncontinue\nend\ncontinue\n",
        )?;
        for _ in 0..=round % 4 {
            prompt.expect("hit")?;
        }
        prompt.verde.kill()?;
        prompt.verde.wait()?;
        until("the session has let go", || Ok(!program.is_traced()?))?;
        assert!(program.child.try_wait()?.is_none(), "died in round {round}");
        assert!(program.code()? == before, "code after round {round}");
    }
    program.finish()
}

#[test]
fn processes_that_cannot_be_attached_to() -> Fallible {
    let lab = lab()?;
    let program = Loaded::start(&lab)?;
    let mut first = Prompt::on(program.pid())?;
    first.expect("Attaching to program")?;
    let own = program.pid().to_string();
    for (pid, wanted) in [
        ("2147483647", "no such process"),
        (own.as_str(), "is traced already, by process "),
    ] {
        let output = attach(pid, &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(errors.contains(wanted), "{errors}");
    }
    first.say("quit\n")?;
    assert!(first.verde.wait()?.success());
    program.finish()
}

#[test]
fn root_is_not_told_to_become_root() -> Fallible {
    let is_root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self")?) == 0;
    let output = attach("1", &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!is_root || !errors.contains("try as root"), "{errors}");
    Ok(())
}

#[test]
fn checkpoints_that_cannot_be_are_refused_at_the_start() -> Fallible {
    let lab = lab()?;
    let program = Loaded::start(&lab)?;
    for option in [&["--auto-checkpoint", "states"][..], &["--auto-zoom"]] {
        let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
        verde.args(["attach", "--batch"]).args(option);
        let output = verde.arg(program.pid().to_string()).output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(errors.contains("its parent would see it die"), "{errors}");
    }
    program.finish()
}

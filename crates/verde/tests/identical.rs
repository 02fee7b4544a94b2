//! Programs behave with monitors as they do without: output, errors and end,
//! byte for byte.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

type Failure = Box<dyn std::error::Error>;
type Fallible = Result<(), Failure>;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/identical")
}

struct Twin {
    dir: tempfile::TempDir,
}

impl Twin {
    fn build(file: &str) -> Result<Twin, Failure> {
        let dir = tempfile::tempdir()?;
        let compiler = if file.ends_with(".cc") { "g++" } else { "gcc" };
        let status = Command::new(compiler)
            .args(["-g", "-O1", "-w", "-fno-inline", "-pthread", "-o"])
            .arg(dir.path().join("prog"))
            .args([file, "-lm"])
            .current_dir(sources())
            .status()?;
        assert!(status.success(), "{file} does not compile");
        Ok(Twin { dir })
    }

    fn plain(&self) -> Vec<String> {
        vec![self.dir.path().join("prog").display().to_string()]
    }

    fn monitored(&self) -> Vec<String> {
        let text = |p: &Path| p.display().to_string();
        let mut words = vec![env!("CARGO_BIN_EXE_verde").to_owned()];
        words.extend(["check", "--timeout", "120", "-p"].map(str::to_owned));
        words.push(text(&sources().join("tick.prop")));
        words.push("--output".to_owned());
        words.push(text(&self.dir.path().join("report")));
        words.extend(self.plain());
        words
    }

    fn report(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("report")).unwrap_or_default()
    }

    /// Runs it with arguments and input.
    fn run(&self, words: &[String], input: &[u8]) -> Result<Output, Failure> {
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .args(["1", "two words", ""])
            .current_dir(self.dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // It may end without reading.
        let _ = child.stdin.take().ok_or("no input")?.write_all(input);
        Ok(child.wait_with_output()?)
    }

    fn compare(&self, plain: &Output, monitored: &Output) {
        let report = self.report();
        for (without, with) in [
            (&plain.stdout, &monitored.stdout),
            (&plain.stderr, &monitored.stderr),
        ] {
            // What Verde says before the program begins is no output of the program.
            let (without, with) = (
                String::from_utf8_lossy(without),
                String::from_utf8_lossy(with),
            );
            let own = |l: &&str| !l.starts_with("verde: warning: function ");
            let with: String = with.split_inclusive('\n').filter(own).collect();
            let differing = without.lines().zip(with.lines()).find(|(a, b)| a != b);
            assert_eq!(differing, None, "{report}");
            assert_eq!(without.len(), with.len(), "{without}{with}{report}");
        }
        assert_eq!(status(plain), monitored.status.code(), "{report}");
        assert!(report.contains("tick: holds"), "{report}");
    }
}

/// As the shell, and `verde check`, say it: a signal is 128 and its number.
fn status(output: &Output) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    let status = output.status;
    status.code().or(status.signal().map(|s| 128 + s))
}

fn same(file: &str) -> Fallible {
    let twin = Twin::build(file)?;
    let input = b"one line\nanother\nand one without an end";
    let plain = twin.run(&twin.plain(), input)?;
    let monitored = twin.run(&twin.monitored(), input)?;
    twin.compare(&plain, &monitored);
    Ok(())
}

macro_rules! programs {
    ($($name:ident: $file:literal;)+) => {
        $(#[test]
        fn $name() -> Fallible {
            same($file)
        })+
    };
}

programs! {
    abort: "abort.c";
    contexts: "contexts.c";
    endings: "endings.c";
    environment: "environment.c";
    exceptions: "exceptions.cc";
    exec: "exec.c";
    forks: "forks.c";
    input: "input.c";
    jumps: "jumps.c";
    libraries: "libraries.c";
    numbers: "numbers.c";
    output: "output.c";
    overflow: "overflow.c";
    pipes: "pipes.c";
    signals: "signals.c";
    sockets: "sockets.c";
    spawn: "spawn.c";
    thread_exec: "thread_exec.c";
    threads: "threads.c";
    timers: "timers.c";
    waiting: "waiting.c";
}

/// On a terminal of its own, which `script` makes.
#[test]
fn terminal() -> Fallible {
    let twin = Twin::build("tty.c")?;
    let run = |words: &[String]| {
        Command::new("script")
            .args(["-qec", &words.join(" "), "/dev/null"])
            .stdin(Stdio::null())
            .output()
    };
    let plain = run(&twin.plain())?;
    let monitored = run(&twin.monitored())?;
    twin.compare(&plain, &monitored);
    assert!(String::from_utf8_lossy(&plain.stdout).starts_with("1 1 1"));
    Ok(())
}

//! Fixtures: small programs compiled on the spot, and their symbols.

// Each test file uses its own part of this.
#![allow(dead_code)]

use object::{Object, ObjectSymbol};
use std::collections::HashMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use verde_engine::{
    Addr, End, Launch, ModuleKind, On, Options, Owner, Process, SignalPolicy, Stop, Tid, Trap,
    TrapId,
};

/// A fixture: `tests/programs/NAME` compiled with the given flags.
pub struct Program {
    pub path: PathBuf,
    symbols: HashMap<String, u64>,
}

fn unique(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let pid = std::process::id();
    let directory = std::env::var_os("VERDE_TEST_DIRECTORY")
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    directory.join(format!("{name}-{pid}-{n}"))
}

pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/programs")
        .join(name)
}

/// Compiles a fixture to a file of its own.
pub fn compile(name: &str, flags: &[&str]) -> Program {
    let output = unique(name);
    let compiler = if name.ends_with(".cpp") { "g++" } else { "gcc" };
    let status = Command::new(compiler)
        .arg("-o")
        .arg(&output)
        .arg(source(name))
        .args(["-g", "-pthread"])
        .args(flags)
        .status()
        .expect("a compiler");
    assert!(status.success(), "{name} does not compile");
    Program::load(output)
}

impl Program {
    pub fn load(path: PathBuf) -> Program {
        let data = fs::read(&path).expect("a compiled program");
        let file = object::File::parse(&*data).expect("an object file");
        let symbols = file
            .symbols()
            .filter(|s| s.is_definition())
            .filter_map(|s| Some((s.name().ok()?.to_string(), s.address())))
            .collect();
        Program { path, symbols }
    }

    /// A symbol's address in the file.
    pub fn symbol(&self, name: &str) -> u64 {
        *self
            .symbols
            .get(name)
            .unwrap_or_else(|| panic!("no symbol {name}"))
    }

    /// A symbol's address in a process that runs this program.
    pub fn address(&self, process: &Process, name: &str) -> Addr {
        let main = process
            .modules()
            .iter()
            .find(|m| m.kind == ModuleKind::Main)
            .expect("the main module");
        Addr(main.bias + self.symbol(name))
    }

    pub fn launch(&self, args: &[&str]) -> Process {
        self.launch_with(args, transparent()).0
    }

    /// Launches with standard output kept.
    pub fn launch_with(&self, args: &[&str], options: Options) -> (Process, Output) {
        let path = unique("out");
        let mut open = fs::OpenOptions::new();
        let open = open.read(true).write(true).create_new(true);
        let file = open.open(&path).expect("an output file");
        fs::remove_file(&path).expect("no name");
        let stdout = file.try_clone().expect("a descriptor");
        let launch = Launch {
            program: self.path.clone(),
            args: args.iter().map(Into::into).collect(),
            stdio: [None, Some(OwnedFd::from(stdout)), None],
            ..Launch::default()
        };
        let process = Process::launch(&launch, options).expect("launched");
        (process, Output(file))
    }

    /// Launches and runs to a function, where no trap is left.
    pub fn held_at(&self, function: &str, args: &[&str]) -> (Process, Output) {
        let (mut process, output) = self.launch_with(args, transparent());
        let at = self.address(&process, function);
        let trap = exec(&mut process, at);
        process.resume_all().expect("resumed");
        assert!(next(&mut process).ended().is_none(), "{}", output.text());
        process.remove(trap).expect("removed");
        (process, output)
    }

    /// Starts the program without a debugger.
    pub fn spawn(&self, args: &[&str]) -> std::process::Child {
        Command::new(&self.path)
            .args(args)
            .stdout(std::process::Stdio::piped())
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("spawned")
    }
}

/// What a program has written to its standard output: a file without a name.
pub struct Output(fs::File);

impl Output {
    pub fn text(&self) -> String {
        let mut bytes = vec![0; self.0.metadata().expect("a file").len() as usize];
        self.0.read_exact_at(&mut bytes, 0).expect("output");
        String::from_utf8(bytes).expect("text")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Every signal to the program, no stops for libraries.
pub fn transparent() -> Options {
    Options {
        signals: SignalPolicy::transparent(),
        quiet_libraries: true,
        ..Options::default()
    }
}

pub fn exec(process: &mut Process, at: Addr) -> TrapId {
    process
        .insert(Trap::new(On::Exec(at), Owner::User))
        .expect("a trap")
}

/// Runs to the end, looking at each stop on the way.
pub fn run_out(process: &mut Process, mut look: impl FnMut(&mut Process, &Stop)) -> End {
    process.resume_all().expect("resumed");
    let last = process
        .run(|process, stop| {
            if stop.ended().is_none() {
                look(process, stop);
            }
            Ok(false)
        })
        .expect("run")
        .expect("an end");
    last.ended().expect("ended")
}

/// The next stop, which must come.
pub fn next(process: &mut Process) -> Stop {
    process.wait().expect("wait").expect("a stop")
}

/// Waits until a condition holds; the tests' only use of a clock, and only to
/// fail instead of hanging.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "never: {what}");
        std::thread::yield_now();
    }
}

/// Wakes the wait for a program that has not ended by then: a failure instead of a test that hangs.
pub fn limited<T>(process: &mut Process, run: impl FnOnce(&mut Process) -> T) -> T {
    let (done, over) = channel::<()>();
    let bell = process.interrupter();
    let guard = std::thread::spawn(move || {
        if over.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
            bell.wake();
        }
    });
    let result = run(process);
    drop(done);
    guard.join().expect("the guard");
    result
}

/// The process is blocked in a read of its standard input.
pub fn waits_for_input(pid: Tid) -> bool {
    let call = fs::read_to_string(format!("/proc/{pid}/syscall"));
    call.is_ok_and(|c| c.starts_with("0 0x0 "))
}

/// Runs one of the tests of this file as an ordinary user if we are root;
/// `false`: we are that user.
pub fn as_user(test: &str) -> bool {
    let uid = verde_sys::procfs::status_field(
        verde_sys::signals::current_process(),
        verde_sys::signals::current_process(),
        "Uid",
    );
    if uid.is_none_or(|u| !u.starts_with("0\t")) {
        return false;
    }
    let directory = std::env::temp_dir().join(format!("verde-{test}-{}", std::process::id()));
    // Process ids come again, and a test that was killed has left its own.
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).expect("a directory");
    let open = std::fs::Permissions::from_mode(0o777);
    fs::set_permissions(&directory, open).expect("permissions");
    // The build directory may be closed to others. Not by ourselves: a process
    // that another test starts meanwhile would keep the copy open for writing,
    // and what is being written cannot be run.
    let copy = directory.join("test");
    let mut cp = Command::new("cp");
    cp.arg(std::env::current_exe().expect("this test"));
    assert!(cp.arg(&copy).status().expect("cp").success());
    let output = Command::new("setpriv")
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
        ])
        .arg(&copy)
        .args(["--exact", test])
        .env("VERDE_TEST_DIRECTORY", &directory)
        .current_dir(&directory)
        .output()
        .expect("setpriv");
    fs::remove_dir_all(&directory).expect("removed");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "as a user:\n{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    true
}

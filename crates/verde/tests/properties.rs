//! The shipped properties: each finds the mistakes of its bad program at the
//! marked lines, and leaves its good program alone.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

type Fallible = Result<(), Box<dyn std::error::Error>>;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/properties")
}

struct Case {
    name: &'static str,
    dir: tempfile::TempDir,
    /// With its ending.
    bad: String,
}

impl Case {
    fn new(name: &'static str, options: &[String]) -> Result<Case, Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let cpp = sources().join(format!("{name}_bad.cc")).exists();
        let (compiler, ending) = if cpp { ("g++", "cc") } else { ("gcc", "c") };
        for kind in ["bad", "good"] {
            let mut command = Command::new(compiler);
            // The compiler knows mistakes, too.
            command.args(["-g", "-w", "-pthread", "-o"]);
            command.arg(dir.path().join(kind));
            command.arg(format!("{name}_{kind}.{ending}")).args(options);
            let status = command.current_dir(sources()).status()?;
            assert!(status.success(), "{name}_{kind} does not compile");
        }
        let bad = format!("{name}_bad.{ending}");
        Ok(Case { name, dir, bad })
    }

    /// Runs a program under the property. What it did, and the report's rows.
    fn check(
        &self,
        kind: &str,
        args: &[&str],
    ) -> Result<(Output, Vec<Value>), Box<dyn std::error::Error>> {
        let report = self.dir.path().join("report.jsonl");
        let output = Command::new(env!("CARGO_BIN_EXE_verde"))
            .args(["check", "--timeout", "60", "--format", "jsonl", "-p"])
            .arg(format!("std:{}", self.name))
            .arg("--output")
            .arg(&report)
            .arg(self.dir.path().join(kind))
            .args(args)
            .stdin(Stdio::null())
            .output()?;
        let text = std::fs::read_to_string(&report)?;
        let rows: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
        Ok((output, rows?))
    }

    /// `file_bad.c:12`: the line with the comment `BAD` and the word.
    fn marked(&self, word: &str) -> Result<String, Box<dyn std::error::Error>> {
        let text = std::fs::read_to_string(sources().join(&self.bad))?;
        let has = |line: &str| {
            let words = line.split_once("// BAD ").map(|(_, words)| words);
            words.is_some_and(|w| w.split_whitespace().any(|w| w == word))
        };
        let line = text.lines().position(has).ok_or("no such mark")? + 1;
        Ok(format!("{}:{line}", self.bad))
    }

    /// The mistake `word` leads to `state`.
    fn finds(&self, word: &str, state: &str) -> Fallible {
        let (output, rows) = self.check("bad", &[word])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(100),
            "{} {word}: {errors}",
            self.name
        );
        let violation = rows.iter().find(|r| r["type"] == "violation");
        let violation = violation.ok_or("no violation")?;
        assert_eq!(violation["state"], state, "{} {word}", self.name);
        let place = self.marked(word)?;
        let calls = violation["backtrace"].as_array();
        let at = format!(" at {place}");
        let by_call = calls.is_some_and(|calls| {
            let ends = |c: &Value| c.as_str().is_some_and(|c| c.ends_with(&at));
            calls.iter().any(ends)
        });
        // What is still there at the end is told by the event that made it.
        let history = violation["history"].as_array();
        let by_history = violation["n"].is_null()
            && history.is_some_and(|h| h.iter().any(|event| event["loc"] == place.as_str()));
        assert!(by_call || by_history, "{place} in {violation}");
        Ok(())
    }

    /// The good program is as it is without Verde, and nothing is found.
    fn passes(&self) -> Fallible {
        let plain = Command::new(self.dir.path().join("good"))
            .stdin(Stdio::null())
            .output()?;
        let (checked, rows) = self.check("good", &[])?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&checked.stdout), text(&plain.stdout), "{}", self.name);
        assert_eq!(text(&checked.stderr), text(&plain.stderr), "{}", self.name);
        assert_eq!(
            checked.status.code(),
            plain.status.code(),
            "{}: {rows:?}",
            self.name
        );
        let last = rows.last().ok_or("no rows")?;
        assert_eq!(last["properties"][0]["verdict"], "true", "{last}");
        assert_eq!(rows.len(), 1, "{rows:?}");
        Ok(())
    }
}

fn shows(name: &'static str, options: &[String], mistakes: &[(&str, &str)]) -> Fallible {
    let case = Case::new(name, options)?;
    for (word, state) in mistakes {
        case.finds(word, state)?;
    }
    case.passes()
}

macro_rules! properties {
    ($($name:ident: $($word:literal -> $state:literal),+;)+) => {
        $(#[test]
        fn $name() -> Fallible {
            shows(stringify!($name), &[], &[$(($word, $state)),+])
        })+
    };
}

properties! {
    addrinfo: "twice" -> "freed_twice", "leak" -> "open";
    condition: "never" -> "wait_without_mutex", "released" -> "wait_without_mutex", "another" -> "wait_without_mutex";
    curl: "early" -> "made_before_global_init", "use" -> "used_after_cleanup", "leak" -> "open",
        "callback" -> "open";
    dir: "use" -> "used_after_close", "leak" -> "open";
    dl: "use" -> "used_after_close", "leak" -> "open";
    fd: "use" -> "used_after_close", "twice" -> "closed_twice", "flags" -> "used_after_close", "copy" -> "used_after_close",
        "waiting" -> "used_after_close";
    file: "use" -> "used_after_close", "twice" -> "closed_twice", "leak" -> "open", "all" -> "used_after_close",
        "wide" -> "used_after_close", "unlocked" -> "used_after_close", "place" -> "used_after_close",
        "buffer" -> "used_after_close";
    leak: "malloc" -> "allocated", "realloc" -> "allocated";
    lock_order: "order" -> "inverted";
    malloc: "twice" -> "freed_twice", "moved" -> "freed_twice", "resize" -> "resized_after_free";
    mutex: "twice" -> "locked_twice", "another" -> "unlocked_by_another", "free" -> "unlocked_but_free", "never" -> "unlocked_but_free", "destroy" -> "destroyed_while_held";
    regex: "early" -> "used_before_init", "twice" -> "freed_twice", "leak" -> "ready";
    rwlock: "upgrade" -> "waits_for_itself", "another" -> "unlocked_but_not_held", "destroy" -> "destroyed_while_held";
    semaphore: "early" -> "used_before_init", "late" -> "used_after_destroy";
    socket: "listen" -> "listen_before_bind", "accept" -> "accept_before_listen", "send" -> "not_connected",
        "read" -> "not_connected", "write" -> "not_connected", "closed" -> "used_after_close";
    thread: "detached" -> "joined_after_detach", "loose" -> "joined_after_detach", "leak" -> "joinable", "attributes" -> "joinable";
    vector: "moved" -> "used_after_move", "reserve" -> "used_after_move", "assign" -> "used_after_move",
        "another" -> "used_after_move", "often" -> "used_after_move", "erase" -> "used_after_erase", "clear" -> "used_after_erase";
}

#[test]
fn glib_iter() -> Fallible {
    let glib = Command::new("pkg-config")
        .args(["--cflags", "--libs", "glib-2.0"])
        .output()?;
    assert!(glib.status.success(), "run scripts/setup first");
    let options = String::from_utf8(glib.stdout)?;
    let options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
    shows("glib_iter", &options, &[("change", "used_after_change")])
}

/// Without the C library's debug information, which a test cannot count on, names and registers
/// are all there is; a static program has symbols, but no library that could bring the rest.
#[test]
fn a_static_program_has_what_it_needs() -> Fallible {
    let case = Case::new("file", &["-static".to_owned()])?;
    case.finds("use", "used_after_close")?;
    case.finds("leak", "open")
}

/// What the C library allocates before `main` where no loader does it is no leak.
#[test]
fn a_static_program_leaks_what_it_leaks() -> Fallible {
    let case = Case::new("leak", &["-static".to_owned()])?;
    let (_, rows) = case.check("bad", &["malloc"])?;
    let violations = rows.iter().filter(|r| r["type"] == "violation").count();
    assert_eq!(violations, 1, "{rows:?}");
    case.passes()
}

/// A program that properties leave alone.
fn holds(source: &str, properties: &[&str]) -> Fallible {
    let dir = tempfile::tempdir()?;
    let program = dir.path().join("program");
    let options: &[&str] = match source.ends_with(".rs") {
        true => &["rustc", "-g", "--edition", "2024", "-o"],
        false => &["g++", "-g", "-w", "-pthread", "-o"],
    };
    let status = Command::new(options[0])
        .args(&options[1..])
        .arg(&program)
        .arg(sources().join(source))
        .status()?;
    assert!(status.success());
    for property in properties {
        let output = Command::new(env!("CARGO_BIN_EXE_verde"))
            .args(["check", "-p", property])
            .arg(&program)
            .stdin(Stdio::null())
            .output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{property}: {errors}");
    }
    Ok(())
}

/// The streams of C++ keep their buffers.
#[test]
fn cpp_streams_leak_nothing() -> Fallible {
    holds("leak_streams.cc", &["std:leak"])
}

/// What is named as a function of C, and is none, is not meant.
#[test]
fn methods_are_not_functions_of_c() -> Fallible {
    let all = [
        "std:socket",
        "std:malloc",
        "std:leak",
        "std:dir",
        "std:file",
        "std:mutex",
    ];
    holds("scopes.cc", &all)?;
    holds("scopes.rs", &all)
}

#[test]
fn a_mutex_in_new_memory_is_another() -> Fallible {
    holds("lock_order_again.cc", &["std:lock_order"])
}

/// What Rust's library makes once is no leak, however its callers are compiled; what a program forgets is one.
#[test]
fn rust_leaks_what_it_forgets() -> Fallible {
    rust_leaks("leak.rs", &[("none", 0), ("box", 1), ("vec", 1)])
}

/// A scope ends before its threads have released what they are made of.
#[test]
fn threads_of_a_scope_leak_nothing() -> Fallible {
    let mut runs = [("none", 0); 10].to_vec();
    runs.extend([("box", 1), ("thread", 1)]);
    rust_leaks("scope.rs", &runs)
}

/// A program with each of these words leaks so many times.
fn rust_leaks(source: &str, runs: &[(&str, usize)]) -> Fallible {
    let dir = tempfile::tempdir()?;
    for level in ["0", "2"] {
        let program = dir.path().join(level);
        let status = Command::new("rustc")
            .args([
                "-g",
                "--edition",
                "2024",
                "-C",
                &format!("opt-level={level}"),
            ])
            .arg("-o")
            .arg(&program)
            .arg(sources().join(source))
            .status()?;
        assert!(status.success());
        for (word, violations) in runs {
            let code = if *violations == 0 { 0 } else { 100 };
            let output = Command::new(env!("CARGO_BIN_EXE_verde"))
                .args(["check", "--format", "jsonl", "-p", "std:leak", "--output"])
                .arg(dir.path().join("report.jsonl"))
                .arg(&program)
                .arg(word)
                .env("RUST_BACKTRACE", "0")
                .stdin(Stdio::null())
                .output()?;
            let report = std::fs::read_to_string(dir.path().join("report.jsonl"))?;
            let found = report.matches(r#""type":"violation""#).count();
            assert_eq!(found, *violations, "{word}, level {level}: {report}");
            assert_eq!(output.status.code(), Some(code), "{word}, level {level}");
        }
    }
    Ok(())
}

/// Where no name is left nothing is observed, which is said once, before the program runs.
#[test]
fn a_static_program_without_symbols() -> Fallible {
    let case = Case::new("malloc", &["-static".to_owned(), "-s".to_owned()])?;
    let output = Command::new(env!("CARGO_BIN_EXE_verde"))
        .args(["check", "-p", "std:malloc"])
        .arg(case.dir.path().join("good"))
        .stdin(Stdio::null())
        .output()?;
    assert_eq!(output.status.code(), Some(101));
    let errors = String::from_utf8_lossy(&output.stderr);
    let said =
        "malloc: the program is static and has none of its functions by name: nothing is observed";
    assert!(errors.contains(said), "{errors}");
    let ends = errors.lines().filter(|l| l.contains("never found"));
    assert_eq!(ends.count(), 1, "{errors}");
    Ok(())
}

/// What was inlined was not observed, and the verdict says nothing.
#[test]
fn inlined_functions_are_inconclusive() -> Fallible {
    let case = Case::new("vector", &["-O2".to_owned()])?;
    let junit = case.dir.path().join("junit.xml");
    let output = Command::new(env!("CARGO_BIN_EXE_verde"))
        .args(["check", "-p", "std:vector", "--junit"])
        .arg(&junit)
        .arg(case.dir.path().join("good"))
        .stdin(Stdio::null())
        .output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(101), "{errors}");
    assert!(
        errors.contains("what vector watches was never found"),
        "{errors}"
    );
    assert!(errors.contains("vector: inconclusive"), "{errors}");
    let junit = std::fs::read_to_string(junit)?;
    let skipped = "<skipped message=\"inconclusive\"/>";
    assert!(junit.contains(skipped), "{junit}");
    let (_, rows) = case.check("good", &[])?;
    let last = rows.last().ok_or("no rows")?;
    assert_eq!(last["properties"][0]["verdict"], "inconclusive", "{last}");
    Ok(())
}

/// Where nothing can be read nothing is known, and the program runs all the same.
#[test]
fn vectors_without_debug_information_are_inconclusive() -> Fallible {
    let case = Case::new("vector", &["-g0".to_owned()])?;
    let (output, rows) = case.check("good", &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(101), "{errors}");
    assert!(!output.stdout.is_empty(), "{errors}");
    let said = "what vector watches is in functions whose parameters cannot be read";
    assert!(errors.contains(said), "{errors}");
    let last = rows.last().ok_or("no rows")?;
    assert_eq!(last["properties"][0]["verdict"], "inconclusive", "{last}");
    Ok(())
}

/// A library without debug information takes nothing from the program that has it.
#[test]
fn vectors_of_a_library_without_debug_information() -> Fallible {
    let dir = tempfile::tempdir()?;
    let (library, linked, loading) = ("libgrow.so", "linked", "loading");
    let here = dir.path().join(library);
    let builds: [&[&str]; 3] = [
        &["-shared", "-fPIC", "-o", library, "vector_library.cc"],
        &[
            "-g",
            "-Wl,-rpath,.",
            "-o",
            linked,
            "vector_loads.cc",
            library,
        ],
        &["-g", "-DLOADS", "-o", loading, "vector_loads.cc"],
    ];
    for arguments in builds {
        let named = arguments.iter().map(|a| match a.ends_with(".cc") {
            true => sources().join(a),
            false => PathBuf::from(a),
        });
        let mut command = Command::new("g++");
        let status = command.args(named).current_dir(&dir).status()?;
        assert!(status.success());
    }
    for (program, argument) in [(linked, None), (loading, Some(here))] {
        let output = Command::new(env!("CARGO_BIN_EXE_verde"))
            .args(["check", "-p", "std:vector", "--"])
            .arg(dir.path().join(program))
            .args(argument)
            .current_dir(&dir)
            .stdin(Stdio::null())
            .output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(100), "{program}: {errors}");
        assert!(errors.contains("reached `used_after_move`"), "{errors}");
        assert!(errors.contains("its calls are not observed"), "{errors}");
        assert!(!errors.contains("error:"), "{errors}");
    }
    Ok(())
}

#[test]
fn an_unknown_name_lists_the_known_ones() -> Fallible {
    let output = Command::new(env!("CARGO_BIN_EXE_verde"))
        .args(["check", "-p", "std:no_such", "/bin/true"])
        .output()?;
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("std:no_such"), "{errors}");
    assert!(
        errors.contains("file") && errors.contains("lock_order"),
        "{errors}"
    );
    Ok(())
}

/// A program that has nothing of what a shipped property watches says nothing about it.
#[test]
fn nothing_found_is_inconclusive() -> Fallible {
    let case = Case::new("dir", &[])?;
    let output = Command::new(env!("CARGO_BIN_EXE_verde"))
        .args(["check", "-p", "std:glib_iter"])
        .arg(case.dir.path().join("good"))
        .stdin(Stdio::null())
        .output()?;
    assert_eq!(output.status.code(), Some(101));
    Ok(())
}

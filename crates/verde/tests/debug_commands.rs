//! Commands beyond breakpoints and values: catchpoints, commands of
//! breakpoints, jumps, settings.

mod lab;

use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r#"#include <stdio.h>
#include <unistd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <dlfcn.h>
static volatile int got;
static void on(int s) { got = s; }
int twice(int x) {
    int y = x * 2;
    return y;
}
double half(double x) { return x / 2; }
int main(int argc, char **argv) {
    signal(SIGUSR1, on);
    int r = twice(4);
    double h = half(3);
    if (getenv("FOO")) printf("FOO=%s\n", getenv("FOO"));
    char where[512];
    if (getcwd(where, sizeof where)) printf("in %s\n", where);
    fflush(stdout);
    if (write(1, "hi\n", 3) != 3) return 1;
    raise(SIGUSR1);
    pid_t p = fork();
    if (!p) { twice(7); _exit(3); }
    waitpid(p, 0, 0);
    p = vfork();
    if (!p) _exit(3);
    dlopen("libm.so.6", RTLD_NOW);
    printf("r %d got %d h %g\n", r, got, h);
    fflush(stdout);
    if (argc > 1) execl("/bin/true", "true", (char *)0);
    return 0;
}
"#;

fn lab() -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::c(SOURCE, &["-O0"])
}

#[test]
fn catchpoints_stop_at_what_they_name() -> Fallible {
    let script = "catch syscall write\ncatch signal SIGUSR1\ncatch fork\ncatch vfork\n\
                  catch exec\ncatch load libm\ncatch syscall 1 read\ninfo breakpoints\ndelete 7\n\
                  run a\nc\nc\nc\nc\nc\nc\nc\nc\nc\nc\nc\n";
    let text = lab()?.script(script, &[])?;
    in_order(
        &text,
        &[
            "Catchpoint 1 (syscall 'write' [1])\n",
            "Catchpoint 2 (signal SIGUSR1)\n",
            "Catchpoint 3 (fork)\n",
            "Catchpoint 4 (vfork)\n",
            "Catchpoint 5 (exec)\n",
            "Catchpoint 6 (load)\n",
            "Catchpoint 7 (syscalls 'write' [1] 'read' [0])\n",
            "1       catchpoint     keep y                      syscall \"write\" \n",
            "6       catchpoint     keep y                      load of library matching libm\n",
            "7       catchpoint     keep y                      syscalls \"write, read\" \n",
            "\nCatchpoint 1 (call to syscall write), 0x",
            "\nCatchpoint 1 (returned from syscall write), 0x",
            "\nCatchpoint 1 (call to syscall write), 0x",
            "hi\n\nCatchpoint 1 (returned from syscall write), 0x",
            "\nCatchpoint 2 (signal SIGUSR1), ",
            "\nCatchpoint 3 (forked process ",
            "\nCatchpoint 4 (vforked process ",
            "\nCatchpoint 6\n  Inferior loaded /",
            "libm.so.6\n",
            "\nCatchpoint 1 (returned from syscall write), 0x",
            " is executing new program: /",
            "\nCatchpoint 5 (exec'd /",
            "exited normally]",
        ],
    );
    Ok(())
}

#[test]
fn a_caught_signal_needs_no_stop_of_its_own() -> Fallible {
    let script = "handle SIGUSR1 nostop noprint pass\ncatch signal SIGUSR1\nrun\n\
                  print got\nignore 1 1\nrun\n";
    let text = lab()?.script(script, &[])?;
    in_order(
        &text,
        &[
            "SIGUSR1       No\tNo\tYes\t\tUser defined signal 1\n",
            "Catchpoint 1 (signal SIGUSR1), ",
            "$1 = 0\n",
            "r 8 got 10",
            "exited normally]",
        ],
    );
    assert!(!text.contains("received signal"), "{text}");
    Ok(())
}

#[test]
fn exceptions_are_caught() -> Fallible {
    let lab = lab()?;
    let source = "#include <stdexcept>\nint main() {\n  try { throw std::runtime_error(\"no\"); }\n  \
                  catch (const std::exception &) {}\n  return 0;\n}\n";
    lab.build("g++", "prog.cc", source, "prog", &["-O0"])?;
    // The program itself does not name what rethrows.
    assert_eq!(lab.text(&["catch rethrow"])?, "Catchpoint 1 (rethrow)\n");
    let text = lab.script("catch throw\ncatch catch\nrun\nbt\nc\nc\n", &[])?;
    in_order(
        &text,
        &[
            "Catchpoint 1 (throw)\n",
            "Catchpoint 2 (catch)\n",
            "Catchpoint 1 (exception thrown), 0x",
            "in main () at prog.cc:3\n",
            "Catchpoint 2 (exception caught), 0x",
            "exited normally]",
        ],
    );
    Ok(())
}

const THROWS: &str = "#include <stdexcept>
#include <exception>
struct Odd { int n; };
namespace geo { struct Lost : std::logic_error { Lost() : std::logic_error(\"lost\") {} }; }
static void raise_one(int n) {
  switch (n) {
  case 0: throw std::runtime_error(\"no\");
  case 1: throw Odd{7};
  case 2: throw geo::Lost();
  default: throw 5;
  }
}
int turn;
int main() {
  for (; turn < 4; turn++) {
    try {
      try { raise_one(turn); } catch (...) { throw; }
    } catch (...) {
#ifdef KEPT
      std::exception_ptr kept = std::current_exception();
      try { std::rethrow_exception(kept); } catch (...) {}
#endif
    }
  }
  return 0;
}
";

/// The stops of a session without the library's addresses, which are its probes' in gdb.
fn stops(text: &str) -> Vec<String> {
    let named = |line: &&str| {
        let mut heads = ["Catchpoint", "\t", "$"].iter();
        heads.any(|head| line.starts_with(head))
    };
    let plain = |line: &str| {
        let line = line.split(" from ").next().unwrap_or(line);
        let words = line.split(' ').filter(|w| !w.starts_with("0x"));
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().filter(named).map(plain).collect()
}

#[test]
fn exceptions_are_caught_by_their_types() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", THROWS, &["-O0"])?;
    for word in ["throw", "catch", "rethrow"] {
        let (odd, lost) = (format!("catch {word} Odd"), format!("catch {word} ^geo::"));
        let mut commands = vec![odd.as_str(), lost.as_str(), "run"];
        for _ in 0..7 {
            commands.extend(["print turn", "continue"]);
        }
        commands.insert(3, "info breakpoints");
        let output = lab.verde(&commands, &[])?;
        let ours = stops(&String::from_utf8_lossy(&output.stdout));
        assert!(ours.iter().any(|l| l == "\tmatching: ^geo::"), "{ours:?}");
        if let Some(theirs) = lab.gdb(&commands)? {
            assert_eq!(ours, stops(&theirs), "{word}");
        }
    }
    // One that is thrown again by std::exception_ptr, which gdb cannot tell.
    lab.build("g++", "prog.cc", THROWS, "prog", &["-O0", "-DKEPT"])?;
    let mut commands = vec!["catch catch Odd", "run"];
    commands.extend(["print turn", "continue"].repeat(3));
    let output = lab.verde(&commands, &[])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let turns: Vec<&str> = text.lines().filter(|l| l.starts_with('$')).collect();
    assert_eq!(turns, ["$1 = 1", "$2 = 1", "$3 = 1"]);
    assert!(text.contains("exited normally]"), "{text}");
    Ok(())
}

#[test]
fn a_caught_exception_has_a_condition_and_is_saved() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", THROWS, &["-O0"])?;
    let saved = lab.path("saved").display().to_string();
    let save = format!("save breakpoints {saved}");
    let commands = ["catch rethrow int if 1", "info breakpoints", &save];
    let text = lab.text(&commands)?;
    in_order(&text, &["\tmatching: int\n", "\tstop only if 1\n"]);
    assert_eq!(
        std::fs::read_to_string(saved)?,
        "catch rethrow int\n  condition $bpnum 1\n"
    );
    let output = lab.verde(&["catch throw ["], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.starts_with("invalid type-matching regexp: "),
        "{errors}"
    );
    Ok(())
}

const LIST: &str = "handle SIGUSR1 nostop\nbreak twice\ncommands 1\nsilent\nprintf \"x is %d, %s\\n\", x, \"text\"\n\
                    commands\nbt\nend\ncontinue\nprint 77\nend\nrun\nprint 5\n";

#[test]
fn commands_of_a_breakpoint_run_at_its_stops() -> Fallible {
    let lab = lab()?;
    let text = lab.script(LIST, &[])?;
    in_order(
        &text,
        &[
            "x is 4, text\n",
            "r 8 got 10",
            "exited normally]\n",
            "$1 = 5\n",
        ],
    );
    // Silent, and what follows a command that goes on is not run.
    assert!(!text.contains("Breakpoint 1, "), "{text}");
    assert!(!text.contains("= 77"), "{text}");

    let lines: Vec<&str> = LIST.lines().collect();
    assert_eq!(lab.text(&lines)?.matches("x is 4").count(), 1);
    let input = lab.path("input");
    std::fs::write(&input, LIST)?;
    let mut verde = std::process::Command::new(env!("CARGO_BIN_EXE_verde"));
    verde
        .arg("debug")
        .arg(lab.path("prog"))
        .stdin(std::fs::File::open(input)?);
    let text = String::from_utf8_lossy(&verde.output()?.stdout).into_owned();
    in_order(&text, &["(verde) >>>", "x is 4, text\n", "$1 = 5\n"]);
    Ok(())
}

#[test]
fn a_list_of_the_command_line_that_does_not_end_is_an_error() -> Fallible {
    let lab = lab()?;
    for (commands, opened) in [
        (&["b main", "commands", "p 1", "r", "bt"][..], "commands"),
        (&["if 1", "p 2"][..], "if 1"),
    ] {
        let output = lab.verde(commands, &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        let wanted = format!(
            "\"{opened}\": there is no \"end\", so that the lines after it were not run.\n"
        );
        assert_eq!(errors, wanted, "{commands:?}");
        assert_eq!(output.status.code(), Some(1), "{commands:?}");
    }
    assert_eq!(lab.text(&["if 1", "p 2", "end"])?, "$1 = 2\n");
    Ok(())
}

#[test]
fn a_list_that_does_not_end_and_a_command_that_fails() -> Fallible {
    let lab = lab()?;
    std::fs::write(lab.path("script"), "break twice\ncommands\nbt\n")?;
    let script = lab.path("script").display().to_string();
    let source = format!("source {script}");
    let output = lab.verde(&[&source, "print 1"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("there is no \"end\""), "{errors}");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("$1 = 1\n"));

    let commands = [
        "break twice",
        "commands",
        "print nothing",
        "print 9",
        "end",
        "run",
        "print x",
    ];
    let output = lab.verde(&commands, &[])?;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        !text.contains("= 9") && text.ends_with("$1 = 4\n"),
        "{text}"
    );
    assert_eq!(output.status.code(), Some(1));
    Ok(())
}

#[test]
fn the_program_goes_on_elsewhere() -> Fallible {
    let lab = lab()?;
    let script = "break twice\nrun\nreturn 99\nnext\nprint r\njump twice\nprint x\n";
    let text = lab.script(script, &[])?;
    in_order(
        &text,
        &[
            "Breakpoint 1, twice (x=4)",
            "#0  0x",
            "in main ",
            "17\t",
            "$1 = 99\n",
            "Continuing at 0x",
            "Breakpoint 1, twice",
        ],
    );
    let text = lab.script("break half\nrun\nreturn 2.5\nnext\nprint h\n", &[])?;
    in_order(&text, &["$1 = 2.5\n"]);
    let text = lab.script("break twice\nrun\nsignal SIGUSR1\nsignal 0\n", &[])?;
    in_order(
        &text,
        &[
            "Continuing with signal SIGUSR1.\n",
            "received signal SIGUSR1",
            "Continuing with no signal.\n",
            "r 8 got 10 h 1.5\n",
        ],
    );
    let text = lab.script("run\nprint got\nsignal 0\n", &[])?;
    in_order(&text, &["$1 = 0\n", "r 8 got 0 h 1.5\n"]);
    let text = lab.script(
        "tbreak twice\nrun\nqueue-signal SIGUSR1\nstep\nprint got\nnext\nprint got\nnext\n",
        &[],
    )?;
    in_order(
        &text,
        &[
            "on (s=10) at prog.c:8\n",
            "$1 = 0\n",
            "twice (x=4) at prog.c:10\n",
            "$2 = 10\n",
            "11\t",
        ],
    );
    Ok(())
}

#[test]
fn a_queued_signal_waits_until_the_program_goes_on() -> Fallible {
    let lab = lab()?;
    let taken = "tbreak twice\nrun\nqueue-signal SIGUSR1\nqueue-signal 0\nnext\nprint got\n";
    in_order(
        &lab.script(taken, &[])?,
        &["twice (x=4)", "11\t", "$1 = 0\n"],
    );
    // SIGUSR2 would end the program. Called functions do not get it.
    let replaced = "tbreak twice\nrun\nqueue-signal SIGUSR2\nqueue-signal SIGUSR1\n\
                    print half(5)\nprint got\nstep\nnext\nprint got\n";
    in_order(
        &lab.script(replaced, &[])?,
        &[
            "$1 = 2.5\n",
            "$2 = 0\n",
            "on (s=10) at prog.c:8\n",
            "twice (x=4) at prog.c:10\n",
            "$3 = 10\n",
        ],
    );
    Ok(())
}

const BLOCKS: &str = r#"#include <signal.h>
static volatile int got;
static void on(int s) { got = s; }
static void f(void) { got++; }
int main(void) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    signal(SIGUSR1, on);
    sigprocmask(SIG_BLOCK, &one, 0);
    f();
    f();
    sigprocmask(SIG_UNBLOCK, &one, 0);
    return got;
}
"#;

#[test]
fn a_queued_signal_that_is_blocked_changes_no_step() -> Fallible {
    let lab = Lab::c(BLOCKS, &["-O0"])?;
    let script = "tbreak 11\nrun\nqueue-signal SIGUSR1\nnext\nprint got\nnext\nnext\nprint got\n";
    in_order(
        &lab.script(script, &[])?,
        &["11\t", "12\t", "$1 = 1\n", "13\t", "14\t", "$2 = 10\n"],
    );
    Ok(())
}

#[test]
fn stubs_have_the_names_of_their_functions() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0", "-Wl,-z,lazy"])?;
    let call = [
        "tbreak 22",
        "run",
        "stepi 2",
        "stepi",
        "stepi",
        "stepi",
        "bt",
        "info symbol $pc",
    ];
    lab.same_as_gdb(&call)
}

#[test]
fn the_environment_and_the_directory_are_settings() -> Fallible {
    let lab = lab()?;
    let script = "show env FOO\nset env FOO=bar baz\nshow env FOO\nset cwd /usr\nshow cwd\n\
                  set args a b\nshow args\nset args\nrun\nsignal SIGUSR1\nunset env FOO\nset cwd\n\
                  set $n = 5\nprint $n + 1\nrun\n";
    let text = lab.script(script, &[])?;
    in_order(
        &text,
        &[
            "Environment variable \"FOO\" not defined.\n",
            "FOO = bar baz\n",
            "inferior is \"/usr\".\n",
            "started is \"a b\".\n",
            "FOO=bar baz\nin /usr\n",
            "$1 = 6\n",
            "in /",
        ],
    );
    assert_eq!(text.matches("FOO=").count(), 1, "{text}");
    Ok(())
}

#[test]
fn the_child_can_be_followed() -> Fallible {
    let script =
        "set follow-fork-mode child\nhandle SIGUSR1 nostop\nbreak twice\nrun\nc\nprint x\nc\n";
    let text = lab()?.script(script, &[])?;
    in_order(
        &text,
        &[
            "twice (x=4)",
            "[Attaching after process ",
            "twice (x=7)",
            "$1 = 7\n",
            "exited with code 03]",
        ],
    );
    Ok(())
}

const THREADS: &str = r#"#include <pthread.h>
static pthread_barrier_t all;
static int work(int n) { return n + 1; }
static void *run(void *p) {
    pthread_barrier_wait(&all);
    for (int i = 0; i < 5; i++) work(i);
    pthread_barrier_wait(&all);
    return p;
}
static void ready(void) {}
int main(void) {
    pthread_t t[2];
    pthread_barrier_init(&all, 0, 3);
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, run, 0);
    ready();
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}
"#;

#[test]
fn threads_are_told_apart() -> Fallible {
    let lab = Lab::c(THREADS, &["-O0", "-pthread"])?;
    let script = "break ready\nrun\nbreak work thread 3\ninfo breakpoints\nc\nc\nc\nc\nc\n\
                  thread apply all bt 1\nthread 1\nthread\nthread apply 1 2 print 5\ninfo threads\nc\n";
    let text = lab.script(script, &[])?;
    in_order(
        &text,
        &[
            "hit Breakpoint 1, ready ()",
            " in work at prog.c:3 thread 3\n\tstop only in thread 3\n",
            "[Switching to Thread 0x",
            "\nThread 3 \"prog\" hit Breakpoint 2, work (n=0)",
            "\nThread 3 \"prog\" hit Breakpoint 2, work (n=4)",
            "\nThread 3 (Thread 0x",
            " \"prog\"):\n#0  work (n=4)",
            "\nThread 1 (Thread 0x",
            "[Switching to thread 1 (Thread 0x",
            "[Current thread is 1 (Thread 0x",
            "\nThread 1 (Thread 0x",
            "$1 = 5\n",
            "\nThread 2 (Thread 0x",
            "$2 = 5\n",
            "  Id   Target Id ",
            "* 1    Thread 0x",
            "  3    Thread 0x",
            "exited normally]",
        ],
    );
    Ok(())
}

#[test]
fn mistakes_in_these_commands_are_one_line() -> Fallible {
    let commands = [
        "catch",
        "catch nothing",
        "catch syscall nosuchcall",
        "catch signal SIGNOSUCH",
        "commands",
        "commands 7",
        "jump 3",
        "return",
        "signal SIGUSR1",
        "set follow-fork-mode both",
        "unset all",
        "show nothing",
        "set nothing",
        "break twice thread 4",
        "printf \"%d\"",
        "printf \"%y\", 1",
        "printf 1",
        "info signals SIGNOSUCH",
        "print 40 + 2",
    ];
    let output = lab()?.verde(&commands, &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.lines().count(), commands.len() - 1, "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "$1 = 42\n");
    Ok(())
}

#[test]
fn the_flag_stop_is_no_signal() -> Fallible {
    let script = "handle SIGUSR1 stop nopass\ninfo signals SIGSTOP\n\
                  info signals SIG32\ninfo signals SIG34\n";
    let text = lab()?.script(script, &[])?;
    let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("SIG")).collect();
    assert_eq!(
        rows,
        [
            "SIGUSR1       Yes\tYes\tNo\t\tUser defined signal 1",
            "SIGSTOP       Yes\tYes\tYes\t\tStopped (signal)",
            "SIG32         No\tNo\tYes\t\tReal-time event 32",
            "SIG34         Yes\tYes\tYes\t\tReal-time event 34",
        ]
    );
    Ok(())
}

#[test]
fn a_breakpoint_in_a_called_function_is_told() -> Fallible {
    let lab = Lab::c(
        "static int inner(int n) { return n + 1; }\nint outer(int n) { return inner(n) * 2; }\n\
         int main(void) {\n    return outer(1) == 0;\n}\n",
        &["-O0"],
    )?;
    let script = "tbreak main\nrun\nbreak inner\nprint outer(4)\nprint 1\ninfo breakpoints\n";
    let text = lab.script(script, &[])?;
    in_order(
        &text,
        &[
            "$1 = 10\nThe call passed breakpoint 2: ",
            "$2 = 1\nNum ",
            "breakpoint already hit 1 time",
        ],
    );
    Ok(())
}

#[test]
fn a_called_function_ends_the_program() -> Fallible {
    let lab = Lab::c(
        "#include <pthread.h>\n#include <unistd.h>\nstatic void *work(void *p) {\n    \
         for (;;) pause();\n    return p;\n}\nvoid here(void) {}\n\
         int main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, work, 0);\n    \
         here();\n    return 0;\n}\n",
        &["-O0", "-pthread"],
    )?;
    let commands = ["break here", "run", "print (void)_exit(3)", "bt"];
    let output = lab.verde(&commands, &[])?;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("exited with code 03]"), "{text}");
    let errors = String::from_utf8_lossy(&output.stderr);
    in_order(
        &errors,
        &["The program ended while in a function", "No stack."],
    );
    Ok(())
}

#[test]
fn a_pointer_leads_nowhere_before_the_program_runs() -> Fallible {
    let lab = Lab::c(
        "int *p;\nint main(void) {\n    return p != 0;\n}\n",
        &["-O0"],
    )?;
    let output = lab.verde(&["print p", "print *p"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "Cannot access memory at address 0x0\n");
    Ok(())
}

#[test]
fn threads_are_named_by_ranges_and_know_their_numbers() -> Fallible {
    let lab = Lab::c(
        "#include <pthread.h>\nstatic void *work(void *p) {\n    return p;\n}\n\
         int main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, work, 0);\n    \
         pthread_join(t, 0);\n    return 0;\n}\n",
        &["-O0", "-pthread"],
    )?;
    let script = "print $_thread\nbreak work if $_thread == 2\nrun\nprint $_thread\n\
                  thread apply 1-2 print $_thread\n";
    let text = lab.script(script, &[])?;
    in_order(
        &text,
        &[
            "$1 = 0\n",
            "hit Breakpoint 1, work (",
            "$2 = 2\n",
            "\nThread 1 (",
            "$3 = 1\n",
            "\nThread 2 (",
            "$4 = 2\n",
        ],
    );
    Ok(())
}

#[test]
fn a_fork_is_no_matter_where_nothing_is_checked() -> Fallible {
    let lab = Lab::c(
        "#include <sys/wait.h>\n#include <unistd.h>\nint main(void) {\n    \
         if (!fork())\n        _exit(0);\n    wait(0);\n    return 0;\n}\n",
        &["-O0"],
    )?;
    let output = lab.verde(&["run"], &[])?;
    let both = [output.stdout, output.stderr].concat();
    let both = String::from_utf8_lossy(&both);
    assert!(!both.contains("unchecked"), "{both}");
    Ok(())
}

/// What has no effect here must still be right.
#[test]
fn settings_of_scripts_are_read() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }", &[])?;
    for right in [
        "set width 0",
        "set height unlimited",
        "set confirm off",
        "set pagination 0",
    ] {
        let output = lab.verde(&[right], &[])?;
        assert!(output.status.success(), "{right}");
    }
    for (wrong, why) in [
        ("set width = 5", "syntax error"),
        ("set height nowhere", "No symbol \"nowhere\""),
        ("set width", "Argument required"),
        ("set confirm = off", "on, or off"),
    ] {
        let output = lab.verde(&[wrong], &[])?;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains(why),
            "{wrong}: {said}"
        );
    }
    Ok(())
}

#[test]
fn signals_that_are_only_told() -> Fallible {
    let lab = lab()?;
    let text = lab.script(
        "handle all nostop noprint\nhandle SIGUSR1 nostop print pass\nrun\n\
         break twice\nrun\nprint raise(10)\nprint got\n",
        &[],
    )?;
    let table = text
        .split("SIGUSR1       No\tYes\tYes")
        .next()
        .unwrap_or_default();
    // ^C goes on working.
    assert!(table.contains("SIGHUP        No\tNo\tYes"), "{text}");
    assert!(
        !table.contains("SIGINT") && !table.contains("SIGTRAP"),
        "{text}"
    );
    in_order(
        &text,
        &[
            "hi\n",
            "\nProgram received signal SIGUSR1, User defined signal 1.\n",
            "r 8 got 10",
            "exited normally]\n",
            "Breakpoint 1, ",
            "$1 = 0\n",
            "$2 = 10\n",
        ],
    );
    Ok(())
}

#[test]
fn a_full_stack_is_called_so() -> Fallible {
    let source = "int down(int n) {\n    volatile char pad[3000];\n    pad[0] = n;\n    \
                  return down(n + 1) + pad[0];\n}\nint main(void) { return down(0); }\n";
    let text = Lab::c(source, &["-O0"])?.text(&["run"])?;
    in_order(
        &text,
        &[
            "\nCannot access memory at address 0x7ff",
            " (the stack is full: endless recursion?)\nProgram received signal SIGSEGV",
        ],
    );
    Ok(())
}

#[test]
fn a_signal_alone_shows_how_it_is_handled() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }", &["-O0"])?;
    let text = lab.text(&["handle SIGINT", "handle SIGUSR1"])?;
    in_order(
        &text,
        &["SIGINT        Yes\tYes\tNo", "SIGUSR1       Yes\tYes\tYes"],
    );
    Ok(())
}

#[test]
fn a_thread_that_is_not_there_is_told() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }", &["-O0"])?;
    let text = lab.text(&["break main", "run", "thread apply 99 1 print 5"])?;
    in_order(&text, &["warning: Unknown thread 99", "$1 = 5"]);
    Ok(())
}

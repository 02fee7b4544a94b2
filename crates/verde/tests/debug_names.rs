//! What the program's names, places and signals are, and looking around them:
//! `bt full`, `info symbol`, `variables`, `types`, `disassemble`, `$_siginfo`.

mod lab;

use lab::{Fallible, Lab, essentials, in_order};

const SOURCE: &str = r#"#include <stdio.h>
#include <stdlib.h>
struct point { int x, y; };
typedef struct node { int v; struct node *next; struct point at; char name[8]; } node_t;
enum color { RED, GREEN = 5, BLUE };
static int secret_counter = 3;
double ratio_of_all = 2.5;
node_t *head;
static int sum(node_t *n) {
    int s = 0;
    while (n) {
        s += n->v;
        n = n->next;
    }
    return s;
}
static int crash(int *p, int k) {
    int local = k * 2;
    {
        int inner = local + 1;
        secret_counter += inner;
    }
    *p = local;
    return local;
}
int main(int argc, char **argv) {
    node_t b = {2, 0, {3, 4}, "bee"};
    node_t a = {1, &b, {1, 2}, "ay"};
    enum color c = GREEN;
    head = &a;
    printf("sum %d %d\n", sum(head), c);
    if (argc > 1) exit(7);
    crash((int *)8, argc);
    return 3;
}
"#;

fn lab() -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::c(SOURCE, &["-O0"])
}

/// Lines that both debuggers say, but for those of `ours` alone.
fn same_but_for(lab: &Lab, commands: &[&str], ours: &[&str]) -> Fallible {
    let said = essentials(&lab.text(commands)?);
    let (extra, said): (Vec<_>, Vec<_>) = said
        .into_iter()
        .partition(|line| ours.iter().any(|o| line.starts_with(o)));
    assert_eq!(extra.len(), ours.len(), "{extra:?}");
    if let Some(theirs) = lab.gdb(commands)? {
        assert_eq!(said, essentials(&theirs), "{commands:?}");
    }
    Ok(())
}

#[test]
fn a_backtrace_shows_variables_when_asked() -> Fallible {
    let commands = [
        "break sum",
        "run",
        "backtrace full",
        "bt -full 1",
        "bt full -1",
        "frame function main",
        "frame level 0",
        "up",
    ];
    lab()?.same_as_gdb(&commands)?;
    let text = lab()?.verde(&["break sum", "run", "frame function nobody"], &[])?;
    let errors = String::from_utf8_lossy(&text.stderr);
    assert_eq!(errors, "No frame for function \"nobody\".\n");
    Ok(())
}

#[test]
fn a_fault_has_an_address() -> Fallible {
    let commands = [
        "run",
        "print $_siginfo",
        "print $_siginfo.si_signo",
        "print $_siginfo.si_code",
        "print $_siginfo._sifields._sigfault.si_addr",
        "bt full",
    ];
    let fault = "Cannot access memory at address 0x8 (close to a null pointer)";
    same_but_for(&lab()?, &commands, &[fault])?;
    let text = lab()?.text(&["run"])?;
    in_order(
        &text,
        &[
            "\nCannot access memory at address 0x8",
            "Program received signal",
        ],
    );
    Ok(())
}

/// A comma inside of a name is no end of a range.
#[test]
fn functions_with_commas_are_disassembled() -> Fallible {
    let lab = lab()?;
    let source = "template <class A, class B> int both(A a, B b) { return a + b; }
int over(int a, int b) { return a - b; }
int main() { return both<int, long>(1, -1) + over(2, 2); }
";
    lab.build("g++", "prog.cc", source, "prog", &["-O0"])?;
    for (name, title) in [
        ("both<int,long>", "both<int, long"),
        ("over(int, int)", "over"),
        ("'over(int, int)'", "over"),
    ] {
        let text = lab.text(&[&format!("disassemble {name}")])?;
        let wanted = format!("Dump of assembler code for function {title}");
        assert!(text.starts_with(&wanted) && text.contains("ret"), "{text}");
    }
    let text = lab.text(&["disassemble main,+4"])?;
    assert!(text.starts_with("Dump of assembler code from 0x"), "{text}");
    Ok(())
}

#[test]
fn the_exit_code_is_kept() -> Fallible {
    let text = lab()?.text(&["print $_exitcode", "run x", "print $_exitcode"])?;
    in_order(
        &text,
        &["$1 = void\n", "exited with code 07]\n", "$2 = 7\n"],
    );
    Ok(())
}

#[test]
fn instructions_come_with_source_and_bytes() -> Fallible {
    let commands = [
        "break crash",
        "run",
        "info line",
        "disassemble /r",
        "disassemble /s",
        "disassemble /rs main,+20",
        "disassemble sum",
        "disassemble main",
        "info registers rip rax",
        "x/3i $pc",
        "info line sum",
        "info line 12",
        "info symbol $pc",
        "info symbol main",
        "info symbol &secret_counter",
        "info symbol 0",
    ];
    lab()?.same_as_gdb(&commands)
}

#[test]
fn displays_follow_the_instructions() -> Fallible {
    let commands = ["break crash", "run", "display/i $pc", "stepi"];
    let text = lab()?.text(&commands)?;
    in_order(
        &text,
        &[
            "1: x/i $pc\n=> 0x",
            "<crash+11>:\t",
            "1: x/i $pc\n=> 0x",
            "<crash+14>:\t",
        ],
    );
    let text = lab()?.text(&["break crash", "run", "display/s head->name", "info display"])?;
    in_order(
        &text,
        &[
            "1: x/s head->name\n0x",
            ":\t\"ay\"\n",
            "1:   y  /s head->name\n",
        ],
    );
    Ok(())
}

#[test]
fn names_are_listed_by_kind() -> Fallible {
    let lab = lab()?;
    // Before it runs only the program's own names are known.
    lab.same_as_gdb(&["info variables ^[sr].*_"])?;
    lab.same_as_gdb(&["info functions ^[sc][ur].*[mh]$"])?;
    lab.same_as_gdb(&["info types ^[pnc]o"])?;
    // The program's come first, and there is an end.
    let text = lab.text(&["break sum", "run", "info functions", "info variables count"])?;
    in_order(
        &text,
        &[
            "All defined functions:\n\nFile prog.c:\n26:\tint main(int, char **);\n",
            "17:\tstatic int crash(int *, int);\n9:\tstatic int sum(node_t *);\n",
            "All variables matching regular expression \"count\":\n\nFile prog.c:\n",
            "6:\tstatic int secret_counter;\n",
        ],
    );
    assert!(text.lines().count() < 10_000, "{}", text.lines().count());
    let wrong = lab.verde(&["info functions ("], &[])?;
    let errors = String::from_utf8_lossy(&wrong.stderr);
    assert!(
        errors.starts_with("\"(\" is not a regular expression: "),
        "{errors}"
    );
    Ok(())
}

#[test]
fn members_go_on_lines_of_their_own() -> Fallible {
    let commands = [
        "break prog.c:20",
        "run",
        "up",
        "set print pretty on",
        "print a",
        "print *head",
        "info locals",
        "bt full",
        "set print pretty off",
        "print a.at",
        "set print elements 2",
        "print \"elements\"",
    ];
    lab()?.same_as_gdb(&commands)?;
    let text = lab()?.text(&["set print pretty on", "show print"])?;
    assert_eq!(
        text,
        "pretty on, object off, elements 200, repeats 10, max-depth 20, array off, \
         array-indexes off, address on, symbol on, union on, static-members on, \
         frame-arguments scalars\n"
    );
    Ok(())
}

#[test]
fn breakpoints_are_cleared_by_their_place() -> Fallible {
    let commands = [
        "break crash",
        "break prog.c:18",
        "break sum",
        "tbreak main",
        "clear crash",
        "clear prog.c:10",
        "info breakpoints",
        "run",
        "clear",
    ];
    let done = lab()?.verde(&commands, &[])?;
    let text = String::from_utf8_lossy(&done.stdout);
    in_order(
        &text,
        &[
            "Deleted breakpoints 1 2\n",
            "Deleted breakpoint 3\n",
            "4       breakpoint     del  y ",
            "Temporary breakpoint 4, main",
        ],
    );
    let errors = String::from_utf8_lossy(&done.stderr);
    assert_eq!(errors, "No breakpoint at this line.\n");
    Ok(())
}

#[test]
fn what_is_mistyped_is_guessed() -> Fallible {
    let cases = [
        (
            "brek main",
            "Undefined command: \"brek\".  Did you mean \"break\"?",
        ),
        ("zzzz", "Undefined command: \"zzzz\".  Try \"help\"."),
        (
            "info breakpints",
            "Undefined info command: \"breakpints\".  Did you mean \"breakpoints\"?",
        ),
        (
            "print secret_conter",
            "No symbol \"secret_conter\" in current context.  Did you mean \"secret_counter\"?",
        ),
        (
            "ptype ratio_of_al",
            "No symbol \"ratio_of_al\" in current context.  Did you mean \"ratio_of_all\"?",
        ),
        ("print qqq", "No symbol \"qqq\" in current context."),
        (
            "break crsh",
            "Function \"crsh\" not defined; near it: crash.",
        ),
    ];
    let lab = lab()?;
    for (command, answer) in cases {
        let output = lab.verde(&[command], &[])?;
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            format!("{answer}\n")
        );
        assert_eq!(output.status.code(), Some(1));
    }
    let output = lab.verde(&["break crash", "run", "next", "print lcal"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        errors,
        "No symbol \"lcal\" in current context.  Did you mean \"local\"?\n"
    );
    Ok(())
}

#[test]
fn a_source_that_is_not_there_is_said_once() -> Fallible {
    let lab = lab()?;
    std::fs::remove_file(lab.path("prog.c"))?;
    let text = lab.text(&["break sum", "run", "next", "up", "down"])?;
    in_order(
        &text,
        &[
            "Breakpoint 1, sum (n=0x",
            "\n10\tin prog.c (the source is not here)\n",
            "11\tin prog.c\n",
            "31\tin prog.c\n",
        ],
    );
    Ok(())
}

#[test]
fn a_reader_may_have_enough() -> Fallible {
    let lab = lab()?;
    // More than a pipe holds, and something after it.
    let commands = [
        "break sum",
        "run",
        "info functions",
        "info functions",
        "info functions",
    ];
    let script = lab.path("script");
    std::fs::write(&script, commands.join("\n"))?;
    let script = script.display().to_string();
    let in_file = vec!["-x", &script];
    let given = commands.iter().flat_map(|c| ["--ex", c]).collect();
    for options in [given, in_file] {
        let mut verde = std::process::Command::new(env!("CARGO_BIN_EXE_verde"));
        verde.args(["debug", "--batch"]).args(options);
        verde
            .arg(lab.path("prog"))
            .stdin(std::process::Stdio::null());
        verde.stdout(std::process::Stdio::piped());
        verde.stderr(std::process::Stdio::piped());
        let mut child = verde.spawn()?;
        drop(child.stdout.take());
        let output = child.wait_with_output()?;
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
    Ok(())
}

const DEADLOCK: &str = r#"#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void take(pthread_mutex_t *a, pthread_mutex_t *b) {
    pthread_mutex_lock(a);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(b);
}
static void *up(void *x) { take(&first, &second); return x; }
static void *down(void *x) { take(&second, &first); return x; }
int main(void) {
    pthread_t a, b;
    pthread_barrier_init(&both, 0, 2);
    pthread_create(&a, 0, up, 0);
    pthread_create(&b, 0, down, 0);
    pthread_join(a, 0);
    return 0;
}
"#;

#[test]
fn a_deadlock_is_seen() -> Fallible {
    let lab = Lab::c(DEADLOCK, &["-O0", "-pthread"])?;
    let text = threads_at_rest(&lab, 3, "deadlock")?;
    in_order(
        &text,
        &[
            "Thread 1 waits for the end of thread 2.\n",
            "Thread 2 waits for the mutex at 0x",
            " <second>, which thread 3 holds.\n",
            "Thread 3 waits for the mutex at 0x",
            " <first>, which thread 2 holds.\n",
            "Threads 2, 3 wait for each other: a deadlock.\n",
        ],
    );
    Ok(())
}

const ALONE: &str = r#"#include <pthread.h>
#include <semaphore.h>
static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
static sem_t tokens;
static void *twice(void *x) { pthread_mutex_lock(&mine); pthread_mutex_lock(&mine); return x; }
static void *token(void *x) { sem_wait(&tokens); return x; }
int main(void) {
    pthread_t a, b;
    sem_init(&tokens, 0, 0);
    pthread_create(&a, 0, twice, 0);
    pthread_create(&b, 0, token, 0);
    pthread_join(a, 0);
    return 0;
}
"#;

#[test]
fn a_thread_that_waits_for_itself_is_seen() -> Fallible {
    let lab = Lab::c(ALONE, &["-O0", "-pthread"])?;
    let text = threads_at_rest(&lab, 3, "nothing there says")?;
    in_order(
        &text,
        &[
            "Thread 1 waits for the end of thread 2.\n",
            "Thread 2 waits for the mutex at 0x",
            " <mine>, which it holds itself: a deadlock.\n",
            "Thread 3 waits to be woken at 0x",
            " <tokens>; nothing there says by whom.\n",
        ],
    );
    assert!(!text.contains("each other"), "{text}");
    Ok(())
}

/// What `info threads` says when that many threads sleep and it says a word.
fn threads_at_rest(
    lab: &Lab,
    count: usize,
    word: &str,
) -> Result<String, Box<dyn std::error::Error>> {
    // The process sleeps when all its threads do: then it is attached to.
    let program = lab.path("prog");
    let mut child = std::process::Command::new(&program).spawn()?;
    let tasks = format!("/proc/{}/task", child.id());
    let waits_for_mutexes = || -> std::io::Result<bool> {
        let mut sleeping = 0;
        for task in std::fs::read_dir(&tasks)? {
            let call = std::fs::read_to_string(task?.path().join("syscall"))?;
            // In futex, with an address of the program's own data or of a thread.
            sleeping += usize::from(call.starts_with("202 "));
        }
        Ok(sleeping == count)
    };
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let mut text = String::new();
    while std::time::Instant::now() < end && !text.contains(word) {
        if !waits_for_mutexes()? {
            std::thread::sleep(std::time::Duration::from_millis(10));
            continue;
        }
        let mut verde = std::process::Command::new(env!("CARGO_BIN_EXE_verde"));
        verde.args(["attach", "--batch", "--ex", "info threads"]);
        let output = verde.arg(child.id().to_string()).output()?;
        text = String::from_utf8_lossy(&output.stdout).into_owned();
    }
    child.kill()?;
    child.wait()?;
    Ok(text)
}

/// In a namespace of its own the program knows its threads by other numbers.
#[test]
fn a_deadlock_in_a_namespace_is_seen() -> Fallible {
    let stop = "pthread_join(a, 0);\n    return 0;";
    let looks = "for (;;) { usleep(1000); stop(); }";
    let source = DEADLOCK.replace(stop, looks);
    assert_ne!(source, DEADLOCK);
    let source = source.replacen(
        "int main",
        "#include <unistd.h>\nvoid stop(void) {}\nint main",
        1,
    );
    let lab = Lab::c(&source, &["-O0", "-pthread"])?;
    let mut verde = std::process::Command::new(env!("CARGO_BIN_EXE_verde"));
    verde.args(["debug", "--namespace", "--batch", "--ex", "break stop"]);
    verde.args(["--ex", "run"]);
    for _ in 0..50 {
        verde.args(["--ex", "continue", "--ex", "info threads"]);
    }
    let output = verde.arg(lab.path("prog")).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    in_order(&text, &["Threads 2, 3 wait for each other: a deadlock.\n"]);
    Ok(())
}

/// Thread 2 holds an rwlock and a lock of the program's own making, for which threads 3 and 4 wait;
/// thread 5 waits for the end of the first one. Thread 2 stops when all of them sleep. The lock's
/// third word is a number, which happens to be a thread's id.
const STATES: &str = r#"#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static struct { int state, poisoned; unsigned value; int more[7]; } guarded = {2};
static pthread_barrier_t held;
static pthread_t first;
static int calls[3];
static int sleeps(int i) {
    char text[16] = "";
    int file = __atomic_load_n(&calls[i], __ATOMIC_ACQUIRE);
    return file && pread(file, text, sizeof text - 1, 0) > 0 && !strncmp(text, "202 ", 4);
}
static void all_sleep(void) {}
static void *holds(void *x) {
    pthread_rwlock_wrlock(&table);
    guarded.value = gettid();
    pthread_barrier_wait(&held);
    for (int i = 0; i < 3; i++)
        while (!sleeps(i))
            usleep(1000);
    all_sleep();
    _exit(0);
}
static void comes(int i) {
    pthread_barrier_wait(&held);
    __atomic_store_n(&calls[i], open("/proc/thread-self/syscall", O_RDONLY), __ATOMIC_RELEASE);
}
static void *writes(void *x) { comes(0); pthread_rwlock_wrlock(&table); return x; }
static void *waits(void *x) {
    comes(1);
    for (;;) syscall(SYS_futex, &guarded.state, FUTEX_WAIT_PRIVATE, 2, 0, 0, 0);
}
static void *joins(void *x) { comes(2); pthread_join(first, 0); return x; }
int main(void) {
    void *(*all[])(void *) = {holds, writes, waits, joins};
    first = pthread_self();
    pthread_barrier_init(&held, 0, 4);
    pthread_t t[4];
    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, all[i], 0);
    pthread_join(t[0], 0);
}
"#;

/// The states of locks can be the numbers of threads, above all in a namespace, where those are
/// small: 3 is an rwlock that is waited for.
#[test]
fn states_of_locks_are_no_threads() -> Fallible {
    let lab = Lab::c(STATES, &["-O0", "-pthread", "-w", "-D_GNU_SOURCE"])?;
    for options in [&[][..], &["--namespace"]] {
        let mut verde = std::process::Command::new(env!("CARGO_BIN_EXE_verde"));
        verde.args(["debug", "--batch", "--ex", "break all_sleep"]);
        verde.args(["--ex", "run", "--ex", "info threads"]);
        let output = verde.args(options).arg(lab.path("prog")).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        in_order(
            &text,
            &[
                "Thread 1 waits for the end of thread 2.\n",
                "Thread 3 waits to be woken at 0x",
                " <table+",
                ">; nothing there says by whom.\n",
                "Thread 4 waits to be woken at 0x",
                " <guarded>; nothing there says by whom.\n",
                "Thread 5 waits for the end of thread 1.\n",
            ],
        );
    }
    Ok(())
}

#[test]
fn the_surroundings_are_at_hand() -> Fallible {
    let lab = lab()?;
    let sub = lab.path("below");
    std::fs::create_dir(&sub)?;
    let cd = format!("cd {}", sub.display());
    let run = [
        "shell echo from''shell",
        "!echo with''mark",
        &cd,
        "pwd",
        "break sum",
        "run",
        "info proc",
        "info proc mappings",
    ];
    let text = lab.text(&run)?;
    let sub = sub.display();
    in_order(
        &text,
        &[
            "fromshell\n",
            "withmark\n",
            &format!("Working directory {sub}.\nWorking directory {sub}.\n"),
            "Breakpoint 1, sum",
            "process ",
            "cmdline = '",
            &format!("cwd = '{sub}'\nexe = '"),
            "Mapped address spaces:",
            "Start Addr",
            "r-xp",
            "[stack]\n",
        ],
    );
    let wrong = lab.verde(&["cd /does/not/exist"], &[])?;
    let errors = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!(errors, "/does/not/exist: No such file or directory.\n");
    Ok(())
}

/// What has no name is not listed.
#[test]
fn a_scope_lists_names() -> Fallible {
    let source = "int f(int, double d) { return d > 1; }\nint main(void) { return f(1, 2); }\n";
    let lab = Lab::c(source, &["-O0", "-std=c2x"])?;
    let said = lab.text(&["info scope f"])?;
    let wanted = "Scope for f:\nSymbol d is an argument of type double, length 8.\n";
    assert_eq!(said, wanted);
    Ok(())
}

/// Flags that were calculated with are a number, in Rust too.
#[test]
fn flags_are_numbers_to_calculate_with() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &["-O0"])?;
    lab.build("rustc", "prog.rs", "fn main() {}\n", "prog", &[])?;
    let said = lab.text(&[
        "break prog::main",
        "run",
        "print $eflags & 0x200",
        "print !($eflags & 0x200)",
        "print $eflags == 0",
    ])?;
    assert!(
        said.ends_with("$1 = 512\n$2 = -513\n$3 = false\n"),
        "{said}"
    );
    Ok(())
}

/// A variable may be named like a setting of gdb's that means nothing here.
#[test]
fn a_variable_named_like_a_setting_is_set() -> Fallible {
    let lab = Lab::c(
        "int verbose;\nint main(void) { return verbose; }\n",
        &["-O0"],
    )?;
    let said = lab.text(&[
        "set verbose on",
        "break main",
        "run",
        "set verbose = 7",
        "print verbose",
    ])?;
    assert!(said.ends_with("$1 = 7\n"), "{said}");
    Ok(())
}

#[test]
fn only_near_names_are_suggested() -> Fallible {
    let source = "struct U { int v; } u;\nint A;\nint fact(int n) { return n + u.v + A; }\n\
                  int main(void) { return fact(1); }\n";
    let lab = Lab::c(source, &["-O0"])?;
    for (command, error) in [
        (
            "print fact::z",
            "No symbol \"fact::z\" in current context.\n",
        ),
        (
            "print T<200>::k",
            "No symbol \"T<200>::k\" in current context.\n",
        ),
        (
            "print x::a",
            "No symbol \"x::a\" in current context.  Did you mean \"A\"?\n",
        ),
        ("break q", "Function \"q\" not defined.\n"),
        (
            "break fcat",
            "Function \"fcat\" not defined; near it: fact.\n",
        ),
        ("tbreak 3 if", "A condition is missing after \"if\".\n"),
        ("watch A if", "A condition is missing after \"if\".\n"),
    ] {
        let output = lab.verde(&[command], &[])?;
        assert_eq!(String::from_utf8_lossy(&output.stderr), error, "{command}");
    }
    Ok(())
}

#[test]
fn a_file_that_cannot_be_run_is_named() -> Fallible {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::c("int main(void) { return 0; }\n", &["-O0"])?;
    let path = lab.path("prog");
    let output = lab.verde(&["set cwd /nowhere", "run"], &[])?;
    let error = format!(
        "Cannot run {} in /nowhere: No such file or directory.\n",
        path.display()
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), error);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644))?;
    let output = lab.verde(&["run"], &[])?;
    let error = format!("Cannot run {}: Permission denied.\n", path.display());
    assert_eq!(String::from_utf8_lossy(&output.stderr), error);
    Ok(())
}

#[test]
fn libraries_are_listed_by_their_names() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &["-O0"])?;
    let text = lab.text(&[
        "start",
        "info sharedlibrary libc\\.so",
        "info sharedlibrary zzz",
    ])?;
    let libraries: Vec<&str> = text.lines().filter(|l| l.starts_with("0x")).collect();
    assert!(
        matches!(libraries.as_slice(), [one] if one.ends_with("libc.so.6")),
        "{text}"
    );
    assert!(text.ends_with("No shared libraries matched.\n"), "{text}");
    Ok(())
}

/// One of the two is known, as the program ended.
#[test]
fn the_signal_of_the_end_is_kept() -> Fallible {
    let source = "#include <signal.h>
int main(int n, char **v) { if (n > 1) raise(SIGKILL); return 7; }
";
    let lab = Lab::c(source, &["-O0"])?;
    let both = ["print $_exitsignal", "print $_exitcode"];
    let commands = [&["run"], &both[..], &["run x"], &both[..]].concat();
    lab.same_as_gdb(&commands)
}

/// The end of another file's name is none.
#[test]
fn a_file_is_known_by_its_whole_name() -> Fallible {
    let lab = Lab::c("int main(void) {\n return 0;\n}\n", &["-O0"])?;
    let output = lab.verde(&["break rog.c:2", "break .c:2", "break prog.c:99"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    in_order(
        &errors,
        &[
            "No source file named rog.c.",
            "No source file named .c.",
            "No line 99 in file \"prog.c\".",
        ],
    );
    Ok(())
}

#[test]
fn segments_are_registers() -> Fallible {
    let lab = Lab::c(
        "int f(void) { return 0; }\nint main(void) { return f(); }",
        &["-O0"],
    )?;
    lab.same_as_gdb(&[
        "break f",
        "run",
        "print $cs",
        "print $ss",
        "print $ds + $es",
        "print/x $fs",
        "whatis $gs",
        "up",
        "print $cs",
    ])
}

#[test]
fn what_is_proposed_is_what_could_be_meant() -> Fallible {
    let source = "namespace geo { struct Circle { int r; ~Circle(); }; Circle::~Circle() { r = 0; } }\n\
                  int main() { int in = 1; geo::Circle c{in}; return c.r - in; }\n";
    let lab = Lab::made("g++", "prog.cc", source, &["-O0"])?;
    for name in ["geo::Circle", "int"] {
        let output = lab.verde(&["break main", "run", &format!("print {name}")], &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            !errors.is_empty() && !errors.contains("Did you mean"),
            "{errors}"
        );
    }
    lab.same_as_gdb(&["break main", "run", "hbreak main", "thbreak main"])?;
    let help = lab.text(&["help info threads"])?;
    assert!(
        help.starts_with("info threads: threads, where they are"),
        "{help}"
    );
    assert_eq!(help.lines().count(), 1, "{help}");
    Ok(())
}

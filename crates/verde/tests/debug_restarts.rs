//! Restarts where something is in the way: no room for a copy, a process that
//! others look after, a budget.

mod lab;
#[path = "lab/plugin.rs"]
mod plugin;

use lab::{Fallible, Lab, in_order};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

/// What `verde` says, errors after the rest.
fn said(lab: &Lab, args: &[&str], commands: &[&str]) -> std::io::Result<String> {
    let verde = Command::new(env!("CARGO_BIN_EXE_verde"));
    said_by(verde, lab, args, commands)
}

/// The same as an ordinary user: root may have as many processes as it likes.
fn said_to_user(lab: &Lab, commands: &[&str]) -> std::io::Result<String> {
    let verde = user_command(lab, &[])?;
    said_by(verde, lab, &["debug", "--batch", "prog"], commands)
}

/// `verde` as an ordinary user, behind the words of a command that runs it.
fn user_command(lab: &Lab, before: &[&str]) -> std::io::Result<Command> {
    if std::fs::metadata(lab.path("."))?.uid() != 0 {
        let mut words = before.iter().copied().chain([env!("CARGO_BIN_EXE_verde")]);
        let mut verde = Command::new(words.next().unwrap_or_default());
        verde.args(words);
        return Ok(verde);
    }
    std::fs::set_permissions(lab.path("."), Permissions::from_mode(0o777))?;
    // The build directory may be closed to others. Not by ourselves: what a
    // process of another test has open for writing cannot be run.
    let mut copy = Command::new("cp");
    copy.arg(env!("CARGO_BIN_EXE_verde"));
    assert!(copy.arg(lab.path("verde")).status()?.success());
    let mut verde = Command::new("setpriv");
    verde.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    verde.arg("--inh-caps=-all").args(before);
    verde.arg(lab.path("verde"));
    Ok(verde)
}

fn said_by(
    mut verde: Command,
    lab: &Lab,
    args: &[&str],
    commands: &[&str],
) -> std::io::Result<String> {
    // What stands behind the program is the program's own.
    let (subcommand, rest) = args.split_at(1);
    verde.args(subcommand).current_dir(lab.path("."));
    for command in commands {
        verde.args(["--ex", command]);
    }
    verde.args(rest);
    let output = verde.stdin(Stdio::null()).output()?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(text)
}

const NARROW: &str = "#include <sys/resource.h>
int value = 1;
void hold(void) {}
int main(int argc, char **argv) {
    hold();
    value = 2;
    struct rlimit narrow;
    getrlimit(RLIMIT_NPROC, &narrow);
    narrow.rlim_cur = 1;
    if (argc > 1)
        setrlimit(RLIMIT_NPROC, &narrow);
    hold();
    return value;
}
";

#[test]
fn without_room_for_the_present_nothing_is_restarted() -> Fallible {
    let lab = Lab::c(NARROW, &["-O0"])?;
    let text = said_to_user(
        &lab,
        &[
            "set args narrow",
            "break hold",
            "run",
            "checkpoint",
            "continue",
            "restart 1",
            "print value",
            "continue",
        ],
    )?;
    in_order(&text, &["$1 = 2", "exited with code 02]"]);
    in_order(
        &text,
        &["Not restarted", "temporarily unavailable", "unharmed"],
    );
    Ok(())
}

#[test]
fn a_restart_that_failed_can_be_repeated() -> Fallible {
    let lab = Lab::c(NARROW, &["-O0"])?;
    // When the program has ended its frozen copy is the only child.
    let limit = |to: &str| format!("shell prlimit --pid $(pgrep -P $PPID -x prog) --nproc={to}:");
    let text = said_to_user(
        &lab,
        &[
            "break hold",
            "run",
            "checkpoint",
            "delete 1",
            "continue",
            &limit("1"),
            "restart 1",
            &limit("$(prlimit --nproc --output HARD --noheadings)"),
            "restart 1",
            "print value",
            "continue",
        ],
    )?;
    in_order(
        &text,
        &[
            "exited with code 02]",
            "restored in",
            "$1 = 1",
            "exited with code 02]",
            "; the program is gone, its checkpoints are not",
        ],
    );
    assert!(!text.contains("unharmed"), "{text}");
    Ok(())
}

#[test]
fn a_step_that_was_under_way_is_not_missed() -> Fallible {
    let lab = Lab::c(NARROW, &["-O0"])?;
    let mut commands = vec!["break hold", "run", "checkpoint", "delete"];
    // To the end of the program.
    commands.extend(["next"; 12]);
    commands.extend(["restart 1", "continue"]);
    let text = said(&lab, &["debug", "--batch", "prog"], &commands)?;
    in_order(&text, &["code 02]", "restored in", "code 02]"]);
    assert!(!text.contains("do not exist"), "{text}");
    Ok(())
}

#[test]
fn a_child_that_is_followed_belongs_to_its_parent() -> Fallible {
    let source = "#include <stdio.h>\n#include <sys/wait.h>\n#include <unistd.h>
void hold(void) {}
int main(void) {
    int status = 0;
    pid_t child = fork();
    if (!child) {
        hold();
        _exit(4);
    }
    waitpid(child, &status, 0);
    printf(\"child %d\\n\", WEXITSTATUS(status));
    return 0;
}
";
    let lab = Lab::c(source, &["-O0"])?;
    let text = said(
        &lab,
        &["debug", "--batch", "prog"],
        &[
            "set follow-fork-mode child",
            "break hold",
            "run",
            "checkpoint",
            "restart 1",
            "continue",
        ],
    )?;
    in_order(&text, &["exited with code 04]", "a forked child"]);
    assert!(text.contains("No checkpoint number 1."), "{text}");
    Ok(())
}

const EVENTS: &str = "#include <stdlib.h>\n#include <string.h>
unsigned char *memory;
void event(int i) { memory[0] = i; }
void hold(void) {}
int main(void) {
    memory = malloc(4 << 20);
    for (int i = 0; i < 40; i++) {
        memset(memory, i, 4 << 20);
        event(i);
    }
    hold();
    return 0;
}
";

const ALTERNATES: &str = "state init accepting { transition { event event(i) success other } }
state other accepting { transition { event event(i) success init } }
";

#[test]
fn the_budget_is_kept() -> Fallible {
    let lab = Lab::c(EVENTS, &["-O0"])?;
    std::fs::write(lab.path("p.prop"), ALTERNATES)?;
    let kept = |budget: &str| -> Result<String, Box<dyn std::error::Error>> {
        let options = [
            "debug",
            "--batch",
            "-p",
            "p.prop",
            "--auto-checkpoint",
            "events",
            "--checkpoint-budget",
            budget,
            "prog",
        ];
        let text = said(&lab, &options, &["break hold", "run", "info checkpoints"])?;
        let line = text.lines().find(|l| l.contains(" automatic, after"));
        Ok(line.ok_or(text.clone())?.to_owned())
    };
    let line = kept("40")?;
    let (count, rest) = line.split_once(" automatic").ok_or(line.as_str())?;
    let size = rest.split(", ").nth(2).and_then(|s| s.split(' ').next());
    let size: f64 = size.ok_or(line.as_str())?.parse()?;
    assert!((4..=20).contains(&count.parse::<u32>()?), "{line}");
    assert!(size <= 40.0 * 1.05, "{line}");
    let line = kept("0")?;
    assert!(
        line.starts_with("3 automatic, after events 0 to 40,"),
        "{line}"
    );
    assert!(
        line.contains("the first and the last two are always kept"),
        "{line}"
    );
    Ok(())
}

#[test]
fn why_none_is_taken_by_itself_is_said_once() -> Fallible {
    let source = "#include <sys/syscall.h>\n#include <unistd.h>
void event(int i) {}
void hold(void) {}
int main(void) {
    unsigned long context = 0;
    syscall(SYS_io_setup, 8, &context);
    for (int i = 0; i < 6; i++)
        event(i);
    hold();
    return 0;
}
";
    let lab = Lab::c(source, &["-O0"])?;
    std::fs::write(lab.path("p.prop"), ALTERNATES)?;
    let options = [
        "debug",
        "--batch",
        "-p",
        "p.prop",
        "--auto-checkpoint",
        "events",
        "prog",
    ];
    let commands = ["break hold", "run", "info checkpoints"];
    let text = said(&lab, &options, &commands)?;
    assert_eq!(text.matches("cannot be restored").count(), 1, "{text}");
    // That of the beginning, when nothing spoke against it.
    assert!(text.contains("\n1 automatic, "), "{text}");
    Ok(())
}

#[test]
fn going_back_leads_to_the_thread_of_the_event() -> Fallible {
    let source = "#include <pthread.h>
void event(int i) {}
void hold(void) {}
static void *worker(void *none) {
    event(1);
    event(2);
    event(3);
    return none;
}
int main(void) {
    pthread_t thread;
    event(0);
    pthread_create(&thread, 0, worker, 0);
    pthread_join(thread, 0);
    hold();
    return 0;
}
";
    let lab = Lab::c(source, &["-O0", "-pthread"])?;
    std::fs::write(lab.path("p.prop"), ALTERNATES)?;
    let options = [
        "debug",
        "--batch",
        "-p",
        "p.prop",
        "--auto-checkpoint",
        "events",
        "prog",
    ];
    let commands = ["break hold", "run", "verde back", "up", "info threads"];
    let text = said(&lab, &options, &commands)?;
    in_order(
        &text,
        &["Back before event 4", "event (i=2)", "in worker (", "* 2 "],
    );
    Ok(())
}

/// A mutex that knows its owner, held over events.
const HELD: &str = "#define _GNU_SOURCE
#include <pthread.h>
void event(int i) {}
void hold(int result) {}
int main(void) {
    pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < 3; i++)
        event(i);
    hold(pthread_mutex_unlock(&mutex));
    return 0;
}
";

/// By its code, not by what it says.
#[test]
fn a_scenario_that_takes_checkpoints_gets_a_namespace() -> Fallible {
    let lab = Lab::c(HELD, &["-O0"])?;
    std::fs::write(lab.path("p.prop"), ALTERNATES)?;
    // The program runs from there where it is started as a user.
    plugin::plugin();
    let built = Path::new(env!("CARGO_BIN_EXE_verde")).with_file_name("libverde_python.so");
    std::fs::copy(built, lab.path("libverde_python.so"))?;
    for (code, is_wanted) in [
        (
            "# checkpoint() would be too much\nprint('no checkpoint()')",
            false,
        ),
        ("save = checkpoint\nsave()", true),
    ] {
        let scenario = format!("on changing any state {{\n{code}\n}}\n");
        std::fs::write(lab.path("s.sc"), scenario)?;
        let options = ["debug", "--batch", "-p", "p.prop", "-s", "s.sc", "prog"];
        let verde = user_command(&lab, &[])?;
        let text = said_by(verde, &lab, &options, &["run"])?;
        assert_eq!(text.contains("PID namespace"), is_wanted, "{code}: {text}");
    }
    Ok(())
}

#[test]
fn a_user_who_asks_for_checkpoints_gets_a_namespace() -> Fallible {
    let lab = Lab::c(HELD, &["-O0"])?;
    std::fs::write(lab.path("p.prop"), ALTERNATES)?;
    let options = [
        "debug",
        "--batch",
        "-p",
        "p.prop",
        "--auto-checkpoint",
        "states",
        "prog",
    ];
    let commands = [
        "break hold",
        "run",
        "verde back",
        "continue",
        "print result",
        "set namespace off",
        "run",
        "verde back",
        "continue",
        "print result",
    ];
    let text = said_by(user_command(&lab, &[])?, &lab, &options, &commands)?;
    in_order(
        &text,
        &[
            "[verde] the program runs in a user and PID namespace of its own",
            "Back before event 3",
            "$1 = 0",
            "warning: process and thread ids have changed",
            "$2 = 1",
        ],
    );
    // Where there are no namespaces for users the program runs without.
    let forbids = "echo 0 > /proc/sys/user/max_user_namespaces || exit 1
exec setpriv --inh-caps=-all --ambient-caps=-all \"$@\"";
    let before = [
        "unshare",
        "--user",
        "--map-user=1000",
        "--map-group=1000",
        "--keep-caps",
        "sh",
        "-c",
        forbids,
        "sh",
    ];
    let verde = user_command(&lab, &before)?;
    let text = said_by(verde, &lab, &options, &commands[..5])?;
    assert!(!text.contains("PID namespace"), "{text}");
    in_order(
        &text,
        &["warning: process and thread ids have changed", "$1 = 1"],
    );
    Ok(())
}

const BOUND: &str = r#"#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile char selector;
static void dispatched(int s) { selector = 0; }
void hold(void) {}
int main(int argc, char **argv) {
    switch (argv[1][0]) {
    case 'n': if (unshare(CLONE_NEWPID)) return 9; break;
    case 'd':
        signal(SIGSYS, dispatched);
        if (prctl(59, 1, 0, 0, &selector)) return 9;
        selector = 1;
        break;
    case 'm': if (prctl(65, 1, 0, 0, 0)) return 9; break;
    case 'f': {
        struct sock_filter f[] = {
            {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
            {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_uname},
            {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
            {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
        struct sock_fprog p = {4, f};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) return 9;
    }
    }
    hold();
    if (argv[1][0] == 'n') {
        int status, child = fork();
        if (!child) _exit(getpid() != 1);
        if (waitpid(child, &status, 0) != child || status) return 8;
    }
    return 3;
}
"#;

/// Why there is no checkpoint is what is in its way, and the program goes on as it would.
#[test]
fn what_a_checkpoint_cannot_hold_is_named() -> Fallible {
    let lab = Lab::c(BOUND, &["-O0"])?;
    let as_root = std::fs::metadata(lab.path("."))?.uid() == 0;
    let why = [
        (
            "n",
            "no checkpoint of a program with a pid namespace for its children",
        ),
        (
            "d",
            "no checkpoint of a program with system calls that go to a handler of its own",
        ),
        (
            "m",
            "lets no memory become code that was none before (PR_SET_MDWE)",
        ),
        (
            "f",
            "a seccomp filter, which only root can let our calls pass",
        ),
    ];
    for (kind, why) in why {
        let commands = [
            "break hold",
            "run",
            "checkpoint",
            "handle SIGSYS nostop pass",
            "continue",
        ];
        let text = match kind {
            "n" if !as_root => continue,
            "f" => said_by(
                user_command(&lab, &[])?,
                &lab,
                &["debug", "--batch", "prog", kind],
                &commands,
            )?,
            _ => said(&lab, &["debug", "--batch", "prog", kind], &commands)?,
        };
        if text.contains("exited with code 011]") {
            // The kernel does not know it.
            continue;
        }
        assert!(text.contains(why), "{kind}: {text}");
        assert!(!text.contains("Checkpoint 1"), "{kind}: {text}");
        assert!(text.contains("exited with code 03]"), "{kind}: {text}");
    }
    Ok(())
}

const NUMBERED: &str = r#"#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile int tid, over;
static void *work(void *p) { tid = syscall(SYS_gettid); while (!over) usleep(500); return p; }
void hold(void) {}
int main(int argc, char **argv) {
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    while (!tid) usleep(500);
    FILE *f = fopen("tid", "w");
    fprintf(f, "%d", tid);
    fclose(f);
    if (argc > 1 && (setgid(65534) || setuid(65534))) return 9;
    hold();
    over = 1;
    pthread_join(t, 0);
    hold();
    usleep(1000);
    hold();
    return 0;
}
"#;

const TAKE: &str = r#"#define _GNU_SOURCE
#include <linux/sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int wanted = atoi(argv[1]);
    struct clone_args a = {.set_tid = (unsigned long)&wanted, .set_tid_size = 1};
    long child = syscall(SYS_clone3, &a, sizeof a);
    if (child == 0) {
        for (int i = 0; i < 3; i++) close(i);
        sleep(60);
    }
    return child < 0;
}
"#;

/// Ids that cannot be kept change for a reason, which is not always a user without rights.
#[test]
fn why_ids_have_changed_is_said() -> Fallible {
    let lab = Lab::c(NUMBERED, &["-O0", "-pthread"])?;
    if std::fs::metadata(lab.path("."))?.uid() != 0 {
        return Ok(());
    }
    lab.build("gcc", "take.c", TAKE, "take", &[])?;
    let begin = ["break hold", "run", "checkpoint", "continue"];
    // A thread that was joined is on its way out yet, and over while the program sleeps.
    let take = ["continue", "shell ./take $(cat tid)"];
    let restart = ["restart 1", "shell kill $(cat tid)"];
    let taken = [&begin[..], &take, &restart].concat();
    let text = said(&lab, &["debug", "--batch", "prog"], &taken)?;
    assert!(
        text.contains("ids have changed (other processes have taken some of them since): "),
        "{text}"
    );
    let dropped = [&begin[..], &["restart 1"]].concat();
    let text = said(&lab, &["debug", "--batch", "prog", "drop"], &dropped)?;
    assert!(
        text.contains("ids have changed (the program has given up the rights that keeping them"),
        "{text}"
    );
    Ok(())
}

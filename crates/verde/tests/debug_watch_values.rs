//! Watchpoints on what is not in memory: the program goes by instructions.

mod lab;

use lab::shell::Shell;
use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r#"#include <stdio.h>
struct pair { int a, b; };
struct pair pairs[3];
int g;
int twice(int n) {
    int r = n * 2;
    g += r;
    return r;
}
int work(int k) {
    register int i = 0;
    register int s = k;
    register double d = 0.5;
    register struct pair *p = pairs;
    for (i = 0; i < 3; i++) {
        s += twice(i);
        d *= 2;
        p->b = i;
        p++;
    }
    printf("%d\n", s), fflush(stdout);
    return s;
}
int main(void) {
    int x = work(5);
    x = work(x);
    return x == 17 ? 0 : 1;
}
"#;

fn lab() -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::c(SOURCE, &["-O0"])
}

#[test]
fn a_variable_in_a_register_is_watched() -> Fallible {
    let lab = lab()?;
    lab.same_as_gdb(&[
        "break 15", "run", "watch s", "continue", "bt", "continue", "print i",
    ])?;
    lab.same_as_gdb(&["break 15", "run", "watch p->b", "continue", "continue"])?;
    lab.same_as_gdb(&["break 15", "run", "watch s if s > 8", "continue", "print i"])
}

#[test]
fn an_expression_with_registers_is_watched() -> Fallible {
    let lab = lab()?;
    let three = ["continue"; 3];
    for watched in ["watch s + i", "watch $rax", "watch g + s", "watch $pc"] {
        let mut commands = vec!["break 16", "run", "delete 1", watched];
        commands.extend(three);
        lab.same_as_gdb(&commands)?;
    }
    Ok(())
}

#[test]
fn it_ends_with_its_frame() -> Fallible {
    let lab = lab()?;
    let text = lab.text(&[
        "break 21",
        "run",
        "watch s",
        "info watchpoints",
        "delete 1",
        "continue",
        "continue",
        "info watchpoints",
        "continue",
    ])?;
    in_order(
        &text,
        &[
            "2       watchpoint     keep y",
            // The caller's register comes back before the return.
            "Old value = 11\n",
            "Watchpoint 2 deleted because the program has left the block in\n\
             which its expression is valid.\n",
            "in main () at prog.c:25\n",
            "No watchpoints.",
            "exited normally]",
        ],
    );
    Ok(())
}

#[test]
fn other_stops_are_as_without_it() -> Fallible {
    let lab = lab()?;
    let text = lab.text(&[
        "break 15",
        "run",
        "watch s if s > 100",
        "break twice if n > 0",
        "catch syscall write",
        "watch g",
        "continue",
        "continue",
        "print twice(4)",
        "next",
        "finish",
        "disable 5",
        "continue",
        "delete 2",
        "delete 3",
        "continue",
    ])?;
    in_order(
        &text,
        &[
            "Watchpoint 2: s\n",
            "Breakpoint 3, twice (n=1)",
            "Hardware watchpoint 5: g\n\nOld value = 0\nNew value = 2\n",
            "$1 = 8",
            "9\t}",
            "Value returned is $2 = 2",
            "Breakpoint 3, twice (n=2)",
            "Catchpoint 4 (call to syscall write)",
        ],
    );
    Ok(())
}

#[test]
fn what_cannot_be_told_by_the_value_is_refused() -> Fallible {
    let output = lab()?.verde(&["break 15", "run", "rwatch s", "awatch $rax"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let why = "Expression cannot be implemented with read/access watchpoint.";
    assert_eq!(errors.matches(why).count(), 2, "{errors}");
    Ok(())
}

/// Its frame is found by one register while the thread is in it: what is read at an instruction is
/// the instruction and whether the frame is still there.
#[test]
fn an_instruction_takes_few_reads() -> Fallible {
    const ROUNDS: u64 = 500;
    let source = format!(
        "int main(void) {{\n    register long keep = 1;\n    register long i = 0;\n    \
         for (i = 0; i < {ROUNDS}; i++) {{ }}\n    keep = keep + i;\n    \
         return keep != {ROUNDS} + 1;\n}}\n"
    );
    let lab = Lab::c(&source, &["-O0"])?;
    let count = "shell grep syscr /proc/$PPID/io";
    let text = lab.text(&["break 4", "run", "watch keep", count, "continue", count])?;
    in_order(&text, &["Old value = 1\nNew value = 501\n"]);
    let counts = text.lines().filter_map(|l| l.strip_prefix("syscr: "));
    let counts: Vec<u64> = counts.map(str::parse).collect::<Result<_, _>>()?;
    let [before, after] = counts[..] else {
        return Err(format!("two counts are wanted: {text}").into());
    };
    // A round has three instructions at least.
    let each = (after - before) / (3 * ROUNDS);
    assert!(each <= 3, "{each} reads for an instruction");
    Ok(())
}

const THREADS: &str = r#"#include <pthread.h>
volatile int go, done;
static void hit(void) { done++; }
static void *run(void *p) {
    while (!go) ;
    for (int i = 0; i < 300; i++) hit();
    return p;
}
static int work(int k) {
    register int s = k;
    go = 1;
    while (done < 300) s += 0;
    s++;
    return s;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    int r = work(1);
    pthread_join(t, 0);
    return r == 2 ? 0 : 1;
}
"#;

/// One thread goes by instructions, the other one runs as always.
#[test]
fn other_threads_lose_no_hits() -> Fallible {
    let lab = Lab::c(THREADS, &["-O0", "-pthread"])?;
    let text = lab.text(&[
        "break 11",
        "run",
        "break hit",
        "ignore 2 1000",
        "watch s",
        "continue",
        "info breakpoints",
    ])?;
    in_order(
        &text,
        &[
            "Old value = 1\nNew value = 2\n",
            "work (k=1) at prog.c:14\n",
            "breakpoint already hit 300 times",
        ],
    );
    Ok(())
}

#[test]
fn monitors_see_their_events() -> Fallible {
    let lab = lab()?;
    let property = "initialization { N = 0 }\nstate init accepting {\n  transition {\n    \
                    event twice(n) { return True }\n    \
                    success { N = N + 1\n print(\"calls %d\" % N) } init\n  }\n}\n";
    std::fs::write(lab.path("calls.prop"), property)?;
    let property = lab.path("calls.prop").display().to_string();
    let mut verde = std::process::Command::new(env!("CARGO_BIN_EXE_verde"));
    verde.args(["debug", "--batch", "-p", &property]);
    for command in ["break 15", "run", "watch s", "continue", "continue"] {
        verde.args(["--ex", command]);
    }
    let output = verde.arg(lab.path("prog")).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    in_order(
        &text,
        &[
            "Watchpoint 2: s\n",
            "calls 1",
            "calls 2",
            "Old value = 5\nNew value = 7\n",
            "calls 3",
            "Old value = 7\nNew value = 11\n",
        ],
    );
    Ok(())
}

#[test]
fn it_is_interrupted() -> Fallible {
    // The call is made in main itself, which is then where it is interrupted.
    let source = r#"int main(void) {
    register int s = 1;
    volatile int n = 0;
    for (int i = 0; n >= 0; n ^= 1)
        if (i < 100 && ++i == 100) {
            long call = 1;
            __asm__ volatile("syscall" : "+a"(call) : "D"(1), "S"("on and on\n"), "d"(10)
                             : "rcx", "r11", "memory");
        }
    return s;
}
"#;
    let lab = Lab::c(source, &["-O0"])?;
    let mut shell = Shell::start(&lab)?;
    shell.send("$VERDE debug ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.command("break 4", "Breakpoint 1 at ")?;
    shell.command("run", "Breakpoint 1, main ()")?;
    shell.command("delete", "delete")?;
    shell.command("watch s", "Watchpoint 2: s")?;
    shell.send("continue\n")?;
    shell.expect("Continuing.")?;
    shell.expect("on and on")?;
    shell.send("\u{3}")?;
    shell.expect("received signal SIGINT, Interrupt.")?;
    shell.expect("(verde) ")?;
    shell.command("set var n = -1", "n = -1")?;
    shell.command("print s", "$1 = 1")?;
    Ok(())
}

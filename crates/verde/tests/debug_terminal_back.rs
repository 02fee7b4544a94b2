//! The terminal of a program that a scenario takes back while it runs.

mod lab;
#[path = "lab/plugin.rs"]
mod plugin;

use lab::shell::Shell;
use lab::{Fallible, Lab};
use std::time::Duration;

/// Treads, with a second thread that is ready for any signal; asks for a name.
const SOURCE: &str = r#"#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void tread(int n) { (void)n; }
static void *rest(void *unused) { for (;;) pause(); return unused; }
int main(int count, char **words) {
    pthread_t thread;
    if (count > 1 && pthread_create(&thread, 0, rest, words)) return 1;
    for (int i = 0; i < 3; i++) tread(i);
    char name[100];
    printf("name? ");
    fflush(stdout);
    if (!fgets(name, sizeof name, stdin)) return 2;
    printf("hello %s", name);
    return 0;
}
"#;

const PROPERTY: &str = "\
state init accepting { transition { event tread(n) { return n < 2 } success init failure bad } }
state bad non-accepting
";

/// Goes back whenever something happens.
fn for_ever(when: &str) -> String {
    format!(
        "initialization {{ first = None }}
on entering accepting state {{ first = first or checkpoint() }}
on {when} {{ restore_checkpoint(first) }}
"
    )
}

fn lab(scenario: &str) -> Result<Lab, Box<dyn std::error::Error>> {
    plugin::plugin();
    let lab = Lab::c(SOURCE, &["-O0", "-pthread"])?;
    std::fs::write(lab.path("p.prop"), PROPERTY)?;
    std::fs::write(lab.path("s.sc"), scenario)?;
    Ok(lab)
}

/// Whenever ^C comes: while the program runs, while it waits for its monitors, while it is
/// replaced.
#[test]
fn an_interrupt_ends_a_scenario_that_goes_back_for_ever() -> Fallible {
    let scenario = for_ever("entering non-accepting state");
    for arguments in ["", " threads"] {
        let lab = lab(&scenario)?;
        let mut shell = Shell::start(&lab)?;
        shell.send("$VERDE debug -p p.prop -s s.sc ./prog\n")?;
        shell.expect("(verde) ")?;
        let mut command = format!("run{arguments}\n");
        for round in 0..10 {
            shell.send(&command)?;
            for _ in 0..=round % 3 {
                shell.expect("Current state: bad")?;
            }
            shell.send("\u{3}")?;
            shell.expect("received signal SIGINT, Interrupt.")?;
            shell.expect("(verde) ")?;
            shell.command("print 40 + 2", &format!("${} = 42", round + 1))?;
            // What was typed is not the program's any more.
            command = "signal 0\n".to_owned();
        }
    }
    Ok(())
}

#[test]
fn an_interrupt_ends_a_scenario_that_goes_back_from_every_end() -> Fallible {
    let lab = lab(&for_ever("exit"))?;
    let mut shell = Shell::start(&lab)?;
    shell.send("$VERDE debug -p p.prop -s s.sc ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.send("run < /dev/null\n")?;
    for _ in 0..3 {
        shell.expect("restored in")?;
    }
    // One that comes at the very end ends with the program.
    let stopped = (0..20).find_map(|_| {
        shell.send("\u{3}").ok()?;
        shell.wait_for("received signal SIGINT, Interrupt.", Duration::from_secs(3))
    });
    assert!(stopped.is_some());
    shell.expect("(verde) ")?;
    shell.command("print 40 + 2", "$1 = 42")
}

#[test]
fn an_interrupt_ends_an_unattended_run_that_goes_back_for_ever() -> Fallible {
    let lab = lab(&for_ever("entering non-accepting state"))?;
    let mut shell = Shell::start(&lab)?;
    shell.send("$VERDE check -v -p p.prop -s s.sc ./prog; echo \"code $?\"\n")?;
    for _ in 0..3 {
        shell.expect("restored in")?;
    }
    shell.send("\u{3}")?;
    let report = shell.expect("code 130")?;
    assert!(report.contains("the run was interrupted"), "{report}");
    Ok(())
}

/// A program that was brought back is in the foreground, as it was.
#[test]
fn a_program_that_was_brought_back_reads_the_terminal() -> Fallible {
    let scenario = "initialization { first = None; done = False }
on entering accepting state { first = first or checkpoint() }
on entering non-accepting state {
    if not done:
        done = True
        restore_checkpoint(first)
}
";
    let lab = lab(scenario)?;
    let mut shell = Shell::start(&lab)?;
    shell.send("$VERDE debug -p p.prop -s s.sc ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.send("run\n")?;
    shell.expect("restored in")?;
    shell.expect("name? ")?;
    shell.send("bob\n")?;
    shell.expect("hello bob")?;
    shell.expect("exited normally]")?;
    Ok(())
}

//! The examples: what their READMEs say happens, and a recorded trace tells the
//! monitors what the program told them.

mod live;

use live::{Fallible, Program, examples, outcome};

#[test]
fn the_queue_breaks() -> Fallible {
    let queue = Program::c(&examples().join("queue/queue.c"), &["-pthread"])?;
    let monitors = live::monitors("queue/queue.prop", Some("queue/actions.py"));
    let (output, rows) = queue.check(&monitors, &[])?;
    assert_eq!(output.status.code(), Some(100));
    assert_eq!(output.stdout, b"200 produced and consumed\n");
    let violation = rows.iter().find(|r| r["type"] == "violation");
    let violation = violation.ok_or("no violation")?;
    assert_eq!(violation["state"], "sink");
    assert_eq!(violation["backtrace"][1], "consumer at queue.c:59");
    let text = queue.debug(&monitors, "queue/queue.sc", &["run", "print queue->length"])?;
    assert!(text.contains("[Execution stopped.]"), "{text}");
    assert!(text.contains("good operations"), "{text}");
    assert!(text.contains("$1 = 0\n"), "{text}");
    Ok(())
}

/// Its locks are used rightly, whichever thread waits and wakes when.
#[test]
fn the_queue_locks_rightly() -> Fallible {
    let queue = Program::c(&examples().join("queue/queue.c"), &["-pthread"])?;
    let monitors = ["-p", "std:mutex", "-p", "std:condition"].map(Into::into);
    for _ in 0..5 {
        let (output, rows) = queue.check(&monitors, &[])?;
        let violation = rows.iter().find(|r| r["type"] == "violation");
        assert_eq!((output.status.code(), violation), (Some(0), None));
    }
    Ok(())
}

#[test]
fn null_is_written_to_a_local() -> Fallible {
    let params = Program::c(&examples().join("zsh/params.c"), &[])?;
    let monitors = live::monitors("zsh/null.prop", None);
    let (output, rows) = params.check(&monitors, &[])?;
    assert_eq!(output.status.code(), Some(100));
    let violation = rows.iter().find(|r| r["type"] == "violation");
    assert_eq!(violation.ok_or("no violation")?["loc"], "params.c:15");
    let last = rows.last().ok_or("no rows")?;
    assert_eq!(last["program"]["signal"], "SIGSEGV");
    let text = params.debug(&monitors, "zsh/null.sc", &["run", "up", "print s"])?;
    assert!(text.contains("NULL was written"), "{text}");
    assert!(text.contains("$1 = 0x0"), "{text}");
    Ok(())
}

#[test]
fn a_mutant_of_the_sudoku_clashes() -> Fallible {
    let source = examples().join("sudoku/sudoku.c");
    let monitors = live::monitors("sudoku/sudoku.prop", Some("sudoku/rules.py"));
    let mutant = Program::c(&source, &["-DMUTANT"])?;
    let (output, rows) = mutant.check(&monitors, &[])?;
    assert_eq!(output.status.code(), Some(100));
    assert_eq!(rows.last().ok_or("no rows")?["events"], 96);
    let commands = [
        "run",
        "continue",
        "info checkpoints",
        "restart 96",
        "print cell",
    ];
    let text = mutant.debug(&monitors, "sudoku/sudoku.sc", &commands)?;
    // One for each write that was watched.
    assert!(text.contains("\n97  process"), "{text}");
    assert!(!text.contains("\n98  process"), "{text}");
    assert!(text.contains("Checkpoint 95: process"), "{text}");
    assert!(text.contains("restored in"), "{text}");
    assert!(text.ends_with("$1 = 3\n"), "{text}");
    mutant.same_offline(&monitors)?;
    let right = Program::c(&source, &[])?;
    let (output, rows) = right.check(&monitors, &[])?;
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(outcome(&rows)?["properties"][0]["verdict"], "true");
    Ok(())
}

#[test]
fn the_stack_is_observed_as_far_as_it_matters() -> Fallible {
    let stack = Program::c(&examples().join("stack/stack.c"), &[])?;
    let monitors = live::monitors("stack/stack.prop", None);
    let (output, rows) = stack.check(&monitors, &[])?;
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(rows.last().ok_or("no rows")?["events"], 1010);
    assert_eq!(stack.record(&monitors, &[])?.lines().count(), 1010);
    let all = stack.record(&monitors, &["--all-events"])?;
    assert_eq!(all.lines().count(), 2000);
    let text = stack.debug(&monitors, "stack/stack.sc", &["run"])?;
    assert!(text.contains("42 came back 10 times"), "{text}");
    assert_eq!(stack.same_offline(&monitors)?, 1010);
    Ok(())
}

/// Two threaded runs differ; one run that is recorded and checked at once does not.
#[test]
fn traces_of_the_examples_tell_the_same() -> Fallible {
    let queue = Program::c(&examples().join("queue/queue.c"), &["-pthread"])?;
    let monitors = live::monitors("queue/queue.prop", Some("queue/actions.py"));
    let trace = queue.record(&monitors, &[])?;
    let (code, rows) = live::replay(&monitors, &trace)?;
    assert_eq!(code, Some(100));
    let broken = rows.iter().find(|r| r["type"] == "violation");
    assert_eq!(broken.ok_or("no violation")?["state"], "sink");
    let params = Program::c(&examples().join("zsh/params.c"), &[])?;
    assert_eq!(
        params.same_offline(&live::monitors("zsh/null.prop", None))?,
        7
    );
    Ok(())
}

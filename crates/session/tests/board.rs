//! What watchers of a session see of it.

use std::path::{Path, PathBuf};
use std::process::Command;
use verde_session::Show;
use verde_session::board::{Board, News, Seen};
use verde_session::debug::{Automation, Choices, Debugger, Interruption, Limits, Often, Output};

const SOURCE: &str = "#include <unistd.h>
#include <fcntl.h>
#define KEPT __attribute__((noinline))
KEPT void mark(int n) { asm volatile(\"\" :: \"r\"(n)); }
KEPT void bad(void) { asm volatile(\"\"); }
KEPT void later(void) { asm volatile(\"\"); }
int main(int c, char **v) {
    mark(1);
    if (c > 1 && access(v[1], F_OK) != 0) { close(open(v[1], O_CREAT | O_WRONLY, 0600)); bad(); }
    mark(2);
    later();
    return 0;
}
";

const PROPERTY: &str = "state init accepting {
    transition { event mark(n) success marked }
    transition { event bad() success sink }
}
state marked accepting {
    transition { event mark(n) success marked }
    transition { event bad() success sink }
}
state sink non-accepting
";

/// A session with a watcher, on a program that is given a file to leave.
fn session(dir: &Path, output: Output) -> (Debugger, Board) {
    let source = dir.join("prog.c");
    std::fs::write(&source, SOURCE).expect("a file is written");
    let program: PathBuf = dir.join("prog");
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O0", "-o"]).arg(&program).arg(&source);
    assert!(gcc.status().expect("gcc runs").success());
    let args = vec![dir.join("flag").into()];
    let out = Box::new(std::io::sink());
    let mut debugger = Debugger::open(program, args, out).expect("the program is read");
    debugger.set_up_monitors(Choices::default(), output);
    let property = dir.join("p.prop");
    std::fs::write(&property, PROPERTY).expect("a file is written");
    if let Err(e) = debugger.add_property(&property) {
        panic!("{e}");
    }
    let board = debugger.open_board();
    (debugger, board)
}

fn command(debugger: &mut Debugger, line: &str) -> String {
    let (text, ran) = debugger.execute_shared(line);
    match ran {
        Ok(_) => text,
        Err(e) => panic!("{line}: {e}"),
    }
}

fn all(board: &Board) -> News {
    board.news(&mut Seen::default()).expect("a frame")
}

fn events(board: &Board) -> Vec<String> {
    let shown = |e: &std::sync::Arc<verde_session::board::EventView>| {
        let args: Vec<&str> = e.args.iter().map(|(_, v)| v.as_str()).collect();
        format!("{} {}", e.name, args.join(" ")).trim().to_owned()
    };
    all(board).events.iter().map(shown).collect()
}

#[test]
fn what_was_undone_comes_back_with_its_events() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("flag"), "").expect("a file is written");
    let (mut debugger, board) = session(dir.path(), Output::Prompt);
    for line in [
        "break access",
        "run",
        "delete",
        "checkpoint",
        "break later",
        "continue",
    ] {
        command(&mut debugger, line);
    }
    assert_eq!(events(&board), ["mark 1", "mark 2"]);
    command(&mut debugger, "restart 1");
    assert_eq!(events(&board), ["mark 1"]);
    command(&mut debugger, "restart undo");
    assert_eq!(events(&board), ["mark 1", "mark 2"]);
    // Another future of the same checkpoint has none of the first one's events.
    for line in [
        "restart 1",
        "continue",
        "checkpoint",
        "restart 1",
        "restart 2",
    ] {
        command(&mut debugger, line);
    }
    assert_eq!(events(&board), ["mark 1", "mark 2"]);
}

#[test]
fn a_command_of_the_shell_answers_who_asked() {
    let dir = tempfile::tempdir().expect("a folder");
    let (mut debugger, _board) = session(dir.path(), Output::Prompt);
    let text = command(&mut debugger, "shell echo said; echo wrong >&2; cat");
    assert_eq!(text, "said\nwrong\n");
    let (_, ran) = debugger.execute_shared("shell");
    let refused = ran.expect_err("there is no terminal for it");
    assert!(
        refused.to_string().contains("needs the terminal"),
        "{refused}"
    );
}

#[test]
fn a_violation_that_does_not_come_again_is_shown() {
    let dir = tempfile::tempdir().expect("a folder");
    let output = Output::Rows {
        sink: Box::new(|_| {}),
        show: Show::Final,
        verbose: false,
    };
    let (mut debugger, board) = session(dir.path(), output);
    debugger.automate(Automation {
        often: Some(Often::States),
        zoom: true,
        ..Automation::default()
    });
    let ran = debugger.check(Limits::default(), &Interruption::default());
    assert!(ran.expect("it runs").violated);
    board.tick();
    let asked = Interruption::default();
    asked.ask();
    debugger.attend(&asked);
    let shown = all(&board).violations;
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].row.state, "sink");
}

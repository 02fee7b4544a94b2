//! The prompt on a terminal, under a shell with job control: who has the
//! terminal, who gets ^C and ^Z.

mod lab;

use lab::shell::Shell;
use lab::{Fallible, Lab};

const SOURCE: &str = r#"#include <stdio.h>
#include <termios.h>
#include <unistd.h>
volatile long n;
volatile int enough;
static int begin(int round) { return round; }
int main(void) {
    char name[100];
    printf("name? ");
    fflush(stdout);
    if (!fgets(name, sizeof name, stdin)) return 1;
    printf("hello %s", name);
    fflush(stdout);
    struct termios t;
    if (tcgetattr(0, &t)) return 2;
    t.c_lflag &= ~ECHO;
    if (tcsetattr(0, TCSANOW, &t)) return 3;
    for (int i = 0; i < 2; i++) {
        begin(i);
        if (tcgetattr(0, &t) || (t.c_lflag & ECHO)) return 4;
    }
    puts("counting");
    fflush(stdout);
    while (!enough) {
        n++;
        if (n % 10000000 == 0) {
            puts("tick");
            fflush(stdout);
        }
    }
    puts("counted");
    return 0;
}
"#;

#[test]
fn the_terminal_is_handed_over() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let mut shell = Shell::start(&lab)?;
    shell.send("$VERDE debug ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.command("break begin", "Breakpoint 1 at ")?;
    // What is typed while it runs is the program's.
    shell.send("run\n")?;
    shell.expect("name? ")?;
    shell.send("bob\n")?;
    shell.expect("hello bob")?;
    shell.expect("Breakpoint 1, begin (round=0)")?;
    shell.expect("(verde) ")?;
    // The program has no echo, the prompt has.
    shell.command("print 40 + 2", "print 40 + 2")?;
    shell.command("continue", "Breakpoint 1, begin (round=1)")?;

    shell.send("continue\n")?;
    shell.expect("counting")?;
    shell.send("\u{3}")?;
    shell.expect("received signal SIGINT, Interrupt.")?;
    shell.expect("(verde) ")?;
    shell.command("print n >= 0", "$2 = 1")?;

    shell.send("continue\n")?;
    shell.expect("Continuing.")?;
    shell.expect("tick")?;
    shell.send("\u{1a}")?;
    shell.expect("received signal SIGTSTP, Stopped (user).")?;
    shell.expect("(verde) ")?;
    // The program gets the signal and is stopped by it; then it goes on.
    shell.command("continue", "received signal SIGTSTP, Stopped (user).")?;
    shell.send("continue\n")?;
    shell.expect("Continuing.")?;
    shell.expect("tick")?;
    shell.send("\u{3}")?;
    shell.expect("received signal SIGINT, Interrupt.")?;
    shell.expect("(verde) ")?;
    // Also where it is not to stop for the signal itself.
    shell.command("handle SIGTSTP nostop noprint", "SIGTSTP ")?;
    shell.send("continue\n")?;
    shell.expect("Continuing.")?;
    shell.expect("tick")?;
    shell.send("\u{1a}")?;
    shell.expect("received signal SIGTSTP, Stopped (user).")?;
    shell.expect("(verde) ")?;

    // ^Z at the prompt stops the debugger, and the shell has it back.
    shell.send("\u{1a}")?;
    shell.expect("Stopped")?;
    shell.expect("shell> ")?;
    shell.send("fg\n")?;
    shell.expect("debug ./prog")?;
    shell.command("print 6 * 7", "$3 = 42")?;
    // Not `n`: the program may be between its load and its store.
    shell.command("set var enough = 1", "enough = 1")?;
    shell.command("signal 0", "exited normally]")?;
    shell.send("quit\n")?;
    shell.expect("shell> ")?;
    shell.send("echo status $?; stty -a | grep -ow -e '-*echo'\n")?;
    shell.expect("status 0")?;
    let settings = shell.expect("shell> ")?;
    assert!(!settings.contains("-echo"), "{settings}");
    shell.send("exit\n")?;
    assert!(shell.script.wait()?.success());
    Ok(())
}

#[test]
fn a_restart_gives_the_terminal_and_its_modes_again() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let mut shell = Shell::start(&lab)?;
    shell.send("$VERDE debug ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.command("break main", "Breakpoint 1 at ")?;
    shell.command("break begin", "Breakpoint 2 at ")?;
    shell.command("run", "Breakpoint 1, main ()")?;
    shell.command("checkpoint", "Checkpoint 1: ")?;
    for kill in [true, false] {
        // It asks and is answered, with the echo of the first checkpoint.
        shell.send("continue\n")?;
        shell.expect("name? ")?;
        shell.send("bob\n")?;
        shell.expect("bob\r\nhello bob")?;
        shell.expect("Breakpoint 2, begin (round=0)")?;
        shell.expect("(verde) ")?;
        shell.command("checkpoint", "Checkpoint 2: ")?;
        if kill {
            shell.command("kill", "killed]")?;
        }
        // It sees to it that there is no echo.
        shell.command("restart 2", "restored in")?;
        shell.command("continue", "Breakpoint 2, begin (round=1)")?;
        shell.command("delete checkpoint 2", "delete checkpoint 2")?;
        shell.command("restart 1", "restored in")?;
    }
    shell.command("kill", "killed]")?;
    shell.send("quit\n")?;
    shell.expect("shell> ")?;
    Ok(())
}

#[test]
fn the_shell_gets_its_terminal_back_from_a_batch() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let mut shell = Shell::start(&lab)?;
    shell.send("$VERDE debug --batch --ex 'break begin' --ex run ./prog; echo over\n")?;
    shell.expect("name? ")?;
    shell.send("bob\n")?;
    shell.expect("Breakpoint 1, begin (round=0)")?;
    shell.expect("over")?;
    shell.send("stty -a | grep -ow -e '-*echo'; echo 'a''b'\n")?;
    let settings = shell.expect("ab")?;
    assert!(!settings.contains("\n-echo"), "{settings}");
    shell.send("exit\n")?;
    assert!(shell.script.wait()?.success());
    Ok(())
}

#[test]
fn people_see_colours_source_and_their_history() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let mut shell = Shell::with_terminal(&lab, "xterm")?;
    shell.send("$VERDE debug ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.send("start\n")?;
    shell.expect("\u{1b}[33mmain\u{1b}[0m () at \u{1b}[32mprog.c:9\u{1b}[0m")?;
    let source = shell.expect("(verde) ")?;
    assert!(source.contains("=>"), "{source}");
    assert!(source.contains("\u{1b}[32m\"name? \"\u{1b}[0m"), "{source}");
    assert_eq!(source.matches("\u{1b}[2m").count(), 4, "{source}");
    // The tab key knows commands and functions.
    shell.send("tbr\tbeg\t\n")?;
    shell.expect("Temporary breakpoint 2 at ")?;
    shell.expect("(verde) ")?;
    shell.send("print 6 * 7\n")?;
    shell.expect("$1 = 42")?;
    shell.send("quit\n")?;
    shell.expect("(y or n) ")?;
    shell.send("y\n")?;
    shell.expect("shell> ")?;
    let kept = std::fs::read_to_string(lab.path("state").join("verde/history"))?;
    assert_eq!(kept, "start\ntbreak begin\nprint 6 * 7\nquit\n");

    // The key for the line before finds it in the next session.
    shell.send("NO_COLOR=1 $VERDE debug ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.send("\u{10}\u{10}\n")?;
    shell.expect("$1 = 42")?;
    shell.expect("(verde) ")?;
    shell.send("start\n")?;
    let plain = shell.expect("printf(\"name? \");")?;
    assert!(plain.contains("main () at prog.c:9\r\n9\t"), "{plain}");
    Ok(())
}

#[test]
fn the_tab_key_knows_what_may_follow() -> Fallible {
    let source = "struct point { int x, why; };\n\
                  struct node { struct node *following; struct point place; };\n\
                  int show(struct node *first) {\n  struct node copy = *first;\n\
                  \x20 return copy.place.why;\n}\n\
                  int main(void) {\n  struct node one = {0, {1, 2}};\n  return show(&one);\n}\n";
    let lab = Lab::c(source, &["-O0"])?;
    let mut shell = Shell::with_terminal(&lab, "xterm")?;
    shell.send("NO_COLOR=1 $VERDE debug ./prog\n")?;
    shell.expect("(verde) ")?;
    // Places: a file, and a function of it.
    shell.send("tbreak pro\tsh\t\r")?;
    shell.expect("Temporary breakpoint 1 at ")?;
    shell.send("run\r")?;
    shell.expect("Temporary breakpoint 1, show (first=0x")?;
    shell.send("next\r")?;
    shell.expect("return copy.place.why;")?;
    // Variables of the frame, and members by both signs.
    for typed in [
        "print cop\t.pl\t.w\t\r",
        "print first->pl\t.w\t\r",
        "print (*first).place.w\t\r",
    ] {
        shell.expect("(verde) ")?;
        shell.send(typed)?;
        shell.expect(" = 2\r\n")?;
    }
    shell.expect("(verde) ")?;
    shell.send("set print pre\to\tn\r")?;
    shell.expect("(verde) ")?;
    shell.send("print first->place\r")?;
    shell.expect("= {\r\n  x = 1,\r\n  why = 2\r\n}")?;
    Ok(())
}

/// Commands of the user's own, and functions of a program that was built again meanwhile; also at
/// a prompt that shares its session with a page.
#[test]
fn the_tab_key_knows_what_is_new() -> Fallible {
    for options in ["", "--web "] {
        let lab = Lab::c("int main(void) { return 0; }\n", &["-O0"])?;
        let mut shell = Shell::with_terminal(&lab, "xterm")?;
        shell.send(&format!("NO_COLOR=1 $VERDE debug {options}./prog\n"))?;
        shell.expect("(verde) ")?;
        shell.send("define say-answer\rprint 6 * 7\rend\r")?;
        shell.expect(">")?;
        shell.expect(">")?;
        shell.expect("(verde) ")?;
        shell.send("say-a\t\r")?;
        shell.expect("$1 = 42")?;
        shell.expect("(verde) ")?;
        shell.send("help say\t\r")?;
        shell.expect("User-defined.")?;
        shell.expect("(verde) ")?;
        let new = "int brand_new(void) { return 1; }\nint main(void) { return brand_new(); }\n";
        lab.build("gcc", "prog.c", new, "prog.new", &["-O0"])?;
        std::fs::rename(lab.path("prog.new"), lab.path("prog"))?;
        shell.send("start\r")?;
        shell.expect("re-reading symbols.")?;
        shell.expect("Temporary breakpoint 1, main")?;
        shell.expect("(verde) ")?;
        shell.send("print bran\t()\r")?;
        shell.expect("$2 = 1\r\n")?;
        shell.expect("(verde) ")?;
        shell.send("set confirm off\rquit\r")?;
        shell.expect("shell> ")?;
    }
    Ok(())
}

/// Scopes, registers, and what a smart pointer's arrow leads to.
#[test]
fn the_tab_key_knows_scopes_and_arrows() -> Fallible {
    let source = "#include <memory>\n\
                  namespace shop {\nstruct Item { int price; static int sold; int total(int n) { return n * price; } };\n\
                  int Item::sold = 6;\nint beginning(std::unique_ptr<Item> &one) {\n  return one->total(2);\n}\n}\n\
                  int main() {\n  auto one = std::make_unique<shop::Item>(shop::Item{21});\n\
                  \x20 return shop::beginning(one);\n}\n";
    let lab = Lab::made("g++", "prog.cpp", source, &["-O0"])?;
    let mut shell = Shell::with_terminal(&lab, "xterm")?;
    shell.send("NO_COLOR=1 $VERDE debug ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.send("tbreak shop::begi\t\r")?;
    shell.expect("Temporary breakpoint 1 at ")?;
    shell.send("run\r")?;
    shell.expect("Temporary breakpoint 1, shop::beginning")?;
    for (typed, said) in [
        ("print one->pri\t\r", "$1 = 21\r\n"),
        ("print shop::Item::sol\t\r", "$2 = 6\r\n"),
        ("print $eflag\t == 0\r", "$3 = false\r\n"),
        ("thread ap\tal\tprint 40 + 2\r", "= 42\r\n"),
    ] {
        shell.expect("(verde) ")?;
        shell.send(typed)?;
        shell.expect(said)?;
    }
    Ok(())
}

/// Lines that arrive together, as typed ahead or pasted, are commands each.
#[test]
fn lines_typed_ahead_run_in_order() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    for kind in ["xterm", "dumb"] {
        let mut shell = Shell::with_terminal(&lab, kind)?;
        shell.send("NO_COLOR=1 $VERDE debug ./prog\n")?;
        shell.expect("(verde) ")?;
        shell.send("break main\rrun\rbt\rprint 40 + 2\r")?;
        shell.expect("Breakpoint 1 at ")?;
        shell.expect("Breakpoint 1, main () at prog.c:9")?;
        shell.expect("#0  main () at prog.c:9")?;
        shell.expect("$1 = 42")?;
        // An empty line among them repeats, as by hand.
        shell.send("print 1\r\rprint 6 * 7\r")?;
        shell.expect("$2 = 1")?;
        shell.expect("$3 = 1")?;
        shell.expect("$4 = 42")?;
        // What the program is to read is typed when it asks for it.
        shell.send("next\r")?;
        shell.expect("fflush(stdout);")?;
        shell.send("next\rnext\r")?;
        shell.expect("name? ")?;
        shell.send("bob\r")?;
        shell.expect("hello %s")?;
        shell.send("print name[0]\rnext\rnext\r")?;
        shell.expect("$5 = 98 'b'")?;
        shell.expect("hello bob")?;
        shell.expect("(verde) ")?;
        shell.send("set confirm off\rquit\r")?;
        shell.expect("shell> ")?;
    }
    Ok(())
}

#[test]
fn the_tab_key_completes_what_can_be_restarted() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let mut shell = Shell::with_terminal(&lab, "xterm")?;
    shell.send("NO_COLOR=1 $VERDE debug ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.send("tbreak main\rrun\rcheckpoint\r")?;
    shell.expect("Checkpoint 1: ")?;
    shell.expect("(verde) ")?;
    // The only one there is.
    shell.send("restart \t\r")?;
    shell.expect("Checkpoint 1: ")?;
    shell.expect("(verde) ")?;
    shell.send("restart u\t")?;
    shell.expect("ndo")?;
    shell.send("\r")?;
    shell.expect("The moment before the last restart: ")?;
    Ok(())
}

#[test]
fn pasted_lines_run_in_order() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let mut shell = Shell::with_terminal(&lab, "xterm")?;
    shell.send("NO_COLOR=1 $VERDE debug ./prog\n")?;
    // The terminal is asked to say what is pasted.
    shell.expect("\u{1b}[?2004h")?;
    let paste = |text: &str| format!("\u{1b}[200~{text}\u{1b}[201~");
    shell.send(&paste("tbreak main\r\rrun\r\tprint\t1 + 1\r"))?;
    shell.expect("Temporary breakpoint 1 at ")?;
    shell.expect("Temporary breakpoint 1, main () at prog.c:9")?;
    shell.expect("$1 = 2")?;
    // The key after a paste repeats nothing; the next one does.
    shell.send("\r")?;
    shell.send("print 40 + 2\r")?;
    let between = shell.expect("$2 = 42")?;
    assert!(!between.contains("$2 = 2"), "{between}");
    shell.send("\r")?;
    shell.expect("$3 = 42")?;
    // A last line without its end waits for it, and can be edited.
    shell.send(&paste("print 5\rprint 6"))?;
    shell.expect("$4 = 5")?;
    shell.send("6\r")?;
    shell.expect("$5 = 66")?;
    // The tab key completes again.
    shell.send("info line beg\t\r")?;
    shell.expect("of \"prog.c\"")?;
    Ok(())
}

/// ^C ends whatever is being run: the prompt comes back, nothing goes on by itself.
#[test]
fn an_interrupt_ends_loops_scripts_and_commands() -> Fallible {
    let source = "#include <unistd.h>\nvolatile long n;\nint tock(void) { return n++ & 1; }\n\
                  int main(void) {\n  for (;;) {\n    write(1, \"runs\\n\", 5);\n    usleep(20000);\n\
                  \x20   tock();\n  }\n}\n";
    let lab = Lab::c(source, &["-O0"])?;
    std::fs::write(lab.path("inner"), "continue\necho goes on\\n\n")?;
    let script = "while 1\nif 1\nsource inner\nend\nend\necho goes on\\n\n";
    std::fs::write(lab.path("script"), script)?;
    let mut shell = Shell::start(&lab)?;
    shell.send("$VERDE debug ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.command("tbreak tock", "breakpoint 1")?;
    shell.command("run", "breakpoint 1, tock")?;
    shell.send("define go\ncontinue\necho goes on\\n\nend\n")?;
    shell.send("define forever\nwhile 1\ngo\nend\nend\n")?;
    for line in [
        "while 1\ncontinue\nend\n",
        "if 1\ncontinue\necho goes on\\n\nend\n",
        "go\n",
        "forever\n",
        "source script\n",
        "thread apply all -c forever\n",
    ] {
        shell.send(line)?;
        shell.expect("Continuing.")?;
        shell.expect("runs")?;
        shell.send("\u{3}")?;
        shell.expect("received signal SIGINT, Interrupt.")?;
        // The answer to a question is the next thing: nothing else was run.
        shell.send("print 40 + 2\n")?;
        let between = shell.expect(" = 42")?;
        assert!(between.contains("Quit"), "{line}: {between}");
        for word in ["Continuing", "goes on"] {
            assert!(!between.contains(word), "{line}: {between}");
        }
    }
    // Between two stops of a breakpoint whose commands let the program go on.
    shell.command("break tock", "Breakpoint 2")?;
    shell.send("commands\nsilent\nprintf \"n %d\\n\", n >= 0\ncontinue\nend\ncontinue\n")?;
    shell.expect("n 1")?;
    shell.expect("n 1")?;
    shell.send("\u{3}")?;
    shell.expect("(verde) ")?;
    shell.command("print 6 * 7", " = 42")?;
    Ok(())
}

/// ^C ends a long answer.
#[test]
fn an_interrupt_ends_a_backtrace() -> Fallible {
    let source = "int stop(void) { return 0; }\nint deep(int n) { return n ? deep(n - 1) + 1 : stop(); }\n\
                  int main(void) { return deep(40000) != 40000; }\n";
    let lab = Lab::c(source, &["-O0"])?;
    let mut shell = Shell::start(&lab)?;
    shell.send("$VERDE debug ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.command("break stop", "Breakpoint 1")?;
    shell.command("run", "Breakpoint 1, stop")?;
    shell.send("backtrace\n")?;
    shell.expect("#50 ")?;
    shell.send("\u{3}")?;
    let shown = shell.expect("Quit")?;
    assert!(!shown.contains("main ("), "{}", shown.len());
    shell.expect("(verde) ")?;
    // The program was not meant.
    shell.command("continue", "exited normally]")?;
    Ok(())
}

/// A function called by `print` that does not return is given up by ^C, also
/// one that waits in the kernel, and the program goes on as if it had never run.
#[test]
fn a_called_function_is_interrupted() -> Fallible {
    let source = r#"#include <stdio.h>
#include <unistd.h>
volatile int go;
int forever(void) { write(1, "runs\n", 5); while (!go) {} return 1; }
int asleep(void) { write(1, "sleeps\n", 7); pause(); return 2; }
int one(void) { return 1; }
int main(void) {
    int sum = 0;
    for (int i = 0; i < 5; i++) sum += one();
    printf("sum %d\n", sum);
    return 0;
}
"#;
    let lab = Lab::c(source, &["-O0"])?;
    let mut shell = Shell::start(&lab)?;
    shell.send("$VERDE debug ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.command("break one", "Breakpoint 1")?;
    shell.command("run", "Breakpoint 1, one")?;
    for (call, says) in [("forever()", "runs"), ("asleep()", "sleeps")] {
        shell.send(&format!("print {call}\n"))?;
        shell.expect(says)?;
        shell.send("\u{3}")?;
        shell.expect("interrupted before it returned")?;
        shell.expect("(verde) ")?;
        shell.command("print one() + 41", "= 42")?;
    }
    shell.command("delete", "delete")?;
    shell.command("continue", "sum 5")
}

/// Who sits at a terminal is asked before the program ends; a script is not, nor is who does not
/// want to be.
#[test]
fn ending_the_program_is_asked_about() -> Fallible {
    let source = "int main(void) { return 0; }\n";
    let lab = Lab::c(source, &["-O0"])?;
    let mut shell = Shell::with_terminal(&lab, "xterm")?;
    shell.send("$VERDE debug --ex 'break main' --ex run --ex run ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.send("run\n")?;
    shell.expect("started already")?;
    shell.expect("Start it from the beginning? (y or n) ")?;
    shell.send("perhaps\n")?;
    shell.expect("Please answer y or n.")?;
    shell.send("n\n")?;
    shell.expect("Not confirmed.")?;
    shell.send("run\n")?;
    shell.expect("(y or n) ")?;
    shell.send("y\n")?;
    shell.expect("Breakpoint 1, ")?;
    shell.expect("(verde) ")?;
    shell.send("kill\n")?;
    shell.expect("Kill the program being debugged? (y or n) ")?;
    shell.send("\u{3}")?;
    shell.expect("Not confirmed.")?;
    shell.send("delete\n")?;
    shell.expect("Delete all breakpoints")?;
    shell.send("y\n")?;
    shell.expect("(verde) ")?;
    // ^D ends a list, which is no end of the session.
    shell.send("define answer\nprint 40 + 2\n\u{4}")?;
    shell.expect("(verde) ")?;
    shell.send("answer\n")?;
    shell.expect("$1 = 42")?;
    shell.expect("(verde) ")?;
    // A command of the user's own is none that it looks like.
    shell.send("break main\ndefine delet\nprint 6 * 7\nend\n")?;
    shell.send("delet\n")?;
    shell.expect("$2 = 42")?;
    shell.expect("(verde) ")?;
    // The end of the input asks, and is an answer.
    shell.send("\u{4}")?;
    shell.expect("will be killed.")?;
    shell.expect("Quit anyway? (y or n) ")?;
    shell.send("n\n")?;
    shell.expect("Not confirmed.")?;
    shell.send("set confirm off\nquit\n")?;
    shell.expect("shell> ")?;
    Ok(())
}

/// ^C at `>` leaves all blocks that are open, and runs nothing of them.
#[test]
fn an_interrupt_gives_up_a_list() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let mut shell = Shell::with_terminal(&lab, "xterm")?;
    shell.send("$VERDE debug ./prog\r")?;
    shell.expect("(verde) ")?;
    shell.send("break main\r")?;
    shell.expect("Breakpoint 1 at ")?;
    for opening in ["commands 1", "define mine", "if 1", "while 1"] {
        shell.expect("(verde) ")?;
        shell.send(&format!("{opening}\r"))?;
        shell.expect(">")?;
        shell.send("print 41 + 1\r")?;
        shell.expect(">")?;
        shell.send("if 1\r")?;
        shell.expect(">")?;
        shell.send("print\u{3}")?;
        let said = shell.expect("Quit")?;
        assert!(!said.contains("$1"), "{said}");
    }
    // A line that goes on is given up, too.
    shell.expect("(verde) ")?;
    shell.send("print 1 \\\r")?;
    shell.expect("(verde) ")?;
    shell.send("\u{3}")?;
    shell.expect("(verde) ")?;
    shell.send("print 5 + 2\r")?;
    shell.expect("$1 = 7")?;
    shell.expect("(verde) ")?;
    shell.send("mine\r")?;
    shell.expect("Undefined command")?;
    shell.expect("(verde) ")?;
    shell.send("info breakpoints\r")?;
    let said = shell.expect("(verde) ")?;
    assert!(!said.contains("print"), "{said}");
    Ok(())
}

/// A program may make its standard input one that does not wait: the prompt, which has the same
/// open file, waits nevertheless, and the program finds it as it has made it.
#[test]
fn a_program_that_does_not_wait_for_input_leaves_the_prompt_alone() -> Fallible {
    let source = "#include <fcntl.h>\n#include <stdio.h>\nint flag(void) { return \
                  (fcntl(0, F_GETFL) & O_NONBLOCK) != 0; }\nvoid stop(void) {}\n\
                  int main(void) {\n  stop();\n  \
                  if (fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK)) return 1;\n  stop();\n  \
                  printf(\"flag is %d\\n\", flag());\n  fflush(stdout);\n  stop();\n  return 0;\n}\n";
    let lab = Lab::c(source, &["-O0"])?;
    for kind in ["xterm", "dumb", "pipe"] {
        let mut shell = Shell::with_terminal(&lab, if kind == "xterm" { kind } else { "dumb" })?;
        let before = if kind == "pipe" { "cat | " } else { "" };
        shell.send(&format!("{before}NO_COLOR=1 $VERDE debug ./prog\n"))?;
        shell.expect("(verde) ")?;
        shell.command("break stop", "Breakpoint 1 at ")?;
        shell.command("run", "Breakpoint 1, stop ()")?;
        shell.command("checkpoint", "Checkpoint 1: ")?;
        shell.command("continue", "Breakpoint 1, stop ()")?;
        shell.command("checkpoint", "Checkpoint 2: ")?;
        std::thread::sleep(std::time::Duration::from_millis(100));
        shell.command("print 40 + 2", "$1 = 42")?;
        shell.send("continue\n")?;
        shell.expect("flag is 1")?;
        shell.expect("(verde) ")?;
        // So it is again where it was, and is not where it was not yet.
        shell.command("restart 1", "restored in")?;
        shell.command("print flag()", "$2 = 0")?;
        shell.command("restart 2", "restored in")?;
        shell.send("continue\n")?;
        shell.expect("flag is 1")?;
        shell.expect("(verde) ")?;
        shell.command("continue", "exited normally]")?;
        shell.command("print 6 * 7", "$3 = 42")?;
        shell.send("quit\n")?;
        shell.send(if kind == "pipe" { "\u{4}" } else { "" })?;
        shell.expect("shell> ")?;
    }
    Ok(())
}

/// A ^C may come while the program stops for another reason: with a restore that follows it would
/// be gone with the program that was sent it.
#[test]
fn an_interrupt_ends_a_loop_of_restores() -> Fallible {
    let source = "#include <pthread.h>\n#include <sched.h>\nvolatile int over;\n\
                  static void *work(void *p) { while (!over) sched_yield(); return p; }\n\
                  __attribute__((noinline)) void step(int i) { over = i < 0; }\nint main(void) {\n  pthread_t t[3];\n  \
                  for (int k = 0; k < 3; k++) pthread_create(&t[k], 0, work, 0);\n  \
                  for (int i = 0; i < 1000; i++) step(i);\n  return 0;\n}\n";
    let lab = Lab::c(source, &["-O1", "-pthread"])?;
    let mut shell = Shell::start(&lab)?;
    shell.send("$VERDE debug ./prog\n")?;
    shell.expect("(verde) ")?;
    shell.command("break step", "Breakpoint 1 at ")?;
    shell.command("run", "step (i=0)")?;
    shell.command("checkpoint", "Checkpoint 1: ")?;
    for round in 0..20 {
        shell.send("while 1\nrestart 1\ncontinue\nend\n")?;
        for _ in 0..5 {
            shell.expect("Continuing.")?;
        }
        std::thread::sleep(std::time::Duration::from_millis(round));
        shell.send("\u{3}")?;
        shell.expect("Quit")?;
        shell.expect("(verde) ")?;
        // One that was told of is over.
        shell.send("if 1\nrestart 1\necho goes on\\n\nend\n")?;
        shell.expect("\ngoes on")?;
        shell.expect("(verde) ")?;
    }
    Ok(())
}

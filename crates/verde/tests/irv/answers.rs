//! What monitors answer: their methods to Python, their states and lists to the prompt.

use crate::bench::{Bench, in_order};

const QUEUE: &str = r#"
#include <stdio.h>
struct queue { int n, cap; };
__attribute__((noinline)) void push(struct queue *q) { q->n++; asm volatile("" ::: "memory"); }
typedef struct queue *const queue_t;
__attribute__((noinline)) void pop(queue_t q) { q->n--; asm volatile("" ::: "memory"); }
int state(int x) { return x + 1; }
int main(void) {
    struct queue q = {0, 4};
    push(&q); push(&q); pop(&q);
    puts("end");
    return state(-1);
}
"#;

fn queue(property: &str, functions: &str) -> Bench {
    let bench = Bench::c(QUEUE, &["-O1"]);
    bench.write("p.prop", property);
    bench.write("f.py", functions);
    bench
}

#[test]
fn a_pointer_in_a_register_leads_to_its_members() {
    let bench = queue(
        "state init { transition { event pop(q) success look() init } }",
        "def look():
    q = gdb.parse_and_eval('q')
    print(q['cap'], gdb.selected_frame().read_var('q')['n'], q[0]['n'], q.dereference()['cap'])
    q = gdb.parse_and_eval('(struct queue *const) q')
    print(q['cap'], q.dereference()['n'])
",
    );
    let ran = bench.check(&["-p", "p.prop", "-f", "f.py"], &[]);
    assert_eq!(ran.printed(), ["4 2 2 4", "4 2"], "{}", ran.err);
}

#[test]
fn values_that_are_infinite_or_nan_are_numbers() {
    let bench = Bench::c(
        "double far = __builtin_inf(), none = __builtin_nan(\"\");
         void f(void) {}
         int main(void) { f(); }",
        &["-O0"],
    );
    bench.write(
        "p.prop",
        "state init { transition { event f() success act() init } }",
    );
    bench.write(
        "f.py",
        "def act():
    far, none = gdb.parse_and_eval('far'), gdb.parse_and_eval('none')
    print(float(far), -far, far > 1, float(none), none == none)
",
    );
    let ran = bench.check(&["-p", "p.prop", "-f", "f.py"], &[]);
    assert_eq!(ran.printed(), ["inf -inf True nan False"], "{}", ran.err);
}

#[test]
fn an_environment_is_set_as_a_whole() {
    let bench = queue(
        "slice on q
initialization { n = 0; who = [None, 'x']; big = 0x555555550000 }
state init { transition { event push(q) success { n = n + 1 } full } }
state full { transition { event push(q) success act() full } }",
        "def act(m, s):
    m.print_monitor_state()
    m.set_env_dict(s, {'n': 5})
    print(m.get_env(s))
",
    );
    let ran = bench.check(&["-p", "p.prop", "-f", "f.py"], &[]);
    let printed = ran.printed().join("\n");
    let line = "Current state: full (n = 1, who = [null, \"x\"], big = 0x555555550000)";
    in_order(&printed, &[line, "{'n': 5}"]);
}

#[test]
fn blocks_see_names_that_only_set_env_value_gave_a_value() {
    let bench = queue(
        "initialization { n = 0 }
state init {
    transition { event push() success { n = n + 1 } init }
    transition { event pop() success { print(limit) } init }
}",
        "",
    );
    let text = bench.debug(
        &["-p", "p.prop"],
        &[
            "break pop",
            "run",
            "verde exec set_env_value None limit 42",
            "delete",
            "continue",
        ],
    );
    in_order(&text, &["[verde] 42", "(n = 2, limit = 42)"]);
}

#[test]
fn the_initialization_may_ask_the_monitor() {
    let bench = queue(
        "initialization { n = 0; setup() }
state init { transition { event push() success { n = n + 1 } init } }
state other",
        "def setup():
    print(monitor.get_env(), sorted(monitor.get_current_states()), monitor.get_slices())
    monitor.set_env_value(None, 'n', 3)
    monitor.set_current_state('other')
",
    );
    let text = bench.debug(&["-p", "p.prop", "-f", "f.py"], &["run", "info slices"]);
    in_order(&text, &["{} ['init'] [{}]", "Current state: other (n = 3)"]);
}

const FILLED: &str = "slice on q
initialization { n = 0 }
state init { transition { event push(q) success { n = n + 1 } filled } }
state filled { transition { event push(q) success { n = n + 1 } filled } transition { event pop(q) success bad } }
state bad non-accepting
";

#[test]
fn a_monitor_that_did_not_run_says_nothing() {
    let bench = queue(FILLED, "");
    let text = bench.debug(&[], &["verde load-property p.prop", "run"]);
    assert!(
        text.contains("p: inconclusive (it was not running)"),
        "{text}"
    );
    bench.write("f.py", "def halt(m, s): m.stop_execution()\n");
    let halting = FILLED.replacen("{ n = n + 1 } filled", "{ n = n + 1 } halt() filled", 1);
    bench.write("p.prop", &halting);
    let text = bench.debug(&["-p", "p.prop", "-f", "f.py"], &["run", "continue"]);
    assert!(text.contains("p: inconclusive (it was stopped)"), "{text}");
    // Unattended it says so, too, and its verdict is none.
    let ran = bench.check(&["-p", "p.prop", "-f", "f.py"], &[]);
    assert_eq!(ran.code, 101, "{}", ran.err);
    let why = "p: it was stopped when the program ended: the verdict is inconclusive";
    assert!(ran.err.contains(why), "{}", ran.err);
}

#[test]
fn states_are_asked_for_in_every_form() {
    let bench = queue(FILLED, "");
    let text = bench.debug(
        &["-p", "p.prop"],
        &[
            "break pop if 'filled' == state(\"p\") && 'B' == state(65)",
            "run",
            "print state(p) == \"filled\"",
            "print state('p') != 'filled'",
            "print 10 + (\"bad\" != state(p))",
            "print state(41)",
            "print state(65) == 'A'",
            "print state(p)",
            "print state(p) == \"none\"",
            "print sizeof(\"state(p)\")",
        ],
    );
    let answers = [
        ", pop (q=",
        "$1 = 1",
        "$2 = 0",
        "$3 = 11",
        "$4 = 42",
        "$5 = 0",
        "$6 = 9",
    ];
    in_order(&text, &answers);
    let form = "A state is asked for as state(PROPERTY) == \"NAME\".";
    in_order(&text, &[form, "Property p has no state none."]);
}

#[test]
fn lists_of_one_property() {
    let bench = queue(FILLED, "");
    bench.write("other.prop", &FILLED.replace("filled", "holding"));
    let text = bench.debug(
        &["-p", "p.prop", "-p", "other.prop"],
        &[
            "break pop",
            "run",
            "info slices p n == 2",
            "echo --\\n",
            "info slices other n>2",
            "echo --\\n",
            "info events -stacks other n = 2",
        ],
    );
    let mut parts = text
        .split("--\n")
        .skip_while(|p| !p.contains("Breakpoint 1"));
    let first = parts.next().unwrap_or_default();
    assert!(
        first.contains("  filled  ") && !first.contains("  holding  "),
        "{text}"
    );
    assert_eq!(parts.next(), Some("None.\n"), "{text}");
    let last = parts.next().unwrap_or_default();
    in_order(
        last,
        &["There are no stacks: --history-stacks", "init -> holding"],
    );
    assert!(!last.contains("filled"), "{text}");
}

#[test]
fn a_watchpoint_of_no_mode_is_an_error() {
    let bench = queue(FILLED, "");
    bench.write(
        "s.sc",
        "on entering state filled { set_watchpoint(\"*q\", \"zz\") }\n",
    );
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    assert!(
        ran.err.contains("no mode \"zz\": one of w, r, rw"),
        "{}",
        ran.err
    );
}

#[test]
fn mistakes_of_scenarios_have_their_places() {
    let bench = queue(FILLED, "");
    bench.write("s.sc", "on exit { stop() }\non signal SIGFOO { stop() }\n");
    let linted = bench
        .command("lint")
        .arg("s.sc")
        .output()
        .expect("verde runs");
    let found = String::from_utf8_lossy(&linted.stdout);
    assert_eq!(linted.status.code(), Some(1), "{found}");
    in_order(&found, &["there is no signal `SIGFOO`", "s.sc:2"]);
    bench.write(
        "s.sc",
        "initialization {\n    x = 1 // 0\n}\non exit { stop() }\n",
    );
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    assert!(ran.err.contains("s.sc:2: ZeroDivisionError"), "{}", ran.err);
    bench.write(
        "s.sc",
        "on entering state filled do\nprint (\"two\", 2)\nprint (1) + (1)\n",
    );
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    assert_eq!(ran.printed()[..2], ["two 2", "2"], "{}", ran.err);
}

#[test]
fn commands_say_what_they_miss() {
    let bench = queue(FILLED, "");
    let text = bench.debug(
        &[],
        &[
            "verde new a b",
            "verde set-current",
            "verde get-current",
            "verde cmd-group-begin",
            "print 1",
        ],
    );
    for said in [
        "A monitor's name is one word.",
        "Which?  verde set-current NAME",
        "There is no monitor",
        "The group of commands has no end (\"verde cmd-group-end\"): 1 command did not run.",
    ] {
        assert!(text.contains(said), "{said} in {text}");
    }
}

/// What a library may bring is a warning, before the run and in it.
#[test]
fn what_a_library_may_bring_is_a_warning() {
    let cases = [
        ("event nosuch()", "function nosuch is", "unknown-function"),
        (
            "event write nosuch",
            "variable nosuch is",
            "unknown-variable",
        ),
        (
            "event read nosuch",
            "variable nosuch is",
            "unknown-variable",
        ),
        (
            "event update {nosuch + 1}",
            "variable nosuch + 1 is",
            "unknown-variable",
        ),
        ("event line other.c:3", "line other.c:3 is", "unknown-line"),
    ];
    for (event, says, rule) in cases {
        let property = format!(
            "state init {{ transition {{ {event} success bad }} }}\nstate bad non-accepting"
        );
        let bench = queue(&property, "");
        let ran = bench.check(&["-p", "p.prop"], &[]);
        assert_eq!((ran.code, &*ran.out), (101, "end\n"), "{}", ran.err);
        let warning = format!("warning: {says} not in the program");
        assert!(ran.err.contains(&warning), "{}", ran.err);
        let (code, found) = bench.lint("p.prop");
        assert_eq!(code, Some(0), "{found}");
        assert!(found.contains(&format!("warning[{rule}]")), "{found}");
        assert!(found.contains("0 errors, 1 warning"), "{found}");
    }
    // No library brings a local.
    let bench = queue(
        "state init { transition { event write main::nosuch success bad } }\nstate bad non-accepting",
        "",
    );
    let (code, found) = bench.lint("p.prop");
    assert_eq!(code, Some(1), "{found}");
    assert!(found.contains("1 error, 0 warnings"), "{found}");
    // What the program takes from a library is none of these.
    let bench = Bench::c(
        "#include <stdio.h>\nint main(void) { fputs(\"end\\n\", stdout); }",
        &["-O1"],
    );
    bench.write(
        "p.prop",
        "state init { transition { event write stdout success bad } }\nstate bad non-accepting",
    );
    let (code, found) = bench.lint("p.prop");
    assert_eq!(code, Some(0), "{found}");
    assert!(!found.contains("unknown-variable"), "{found}");
}

#[test]
fn what_does_not_fit_the_program_is_said_once_with_what_helps() {
    let bench = queue(
        "state init {
    transition { event push(x) success bad }
    transition { event pop(q, ret) success bad }
    transition { after event pop(arg 5) success bad }
}
state bad non-accepting",
        "",
    );
    let (code, found) = bench.lint("p.prop");
    assert_eq!(code, Some(1));
    in_order(
        &found,
        &[
            "help: its parameters: q",
            "`ret` exists only",
            "help: write `after event`",
            "help: `arg 0` is the first",
            "3 errors, 0 warnings",
        ],
    );
}

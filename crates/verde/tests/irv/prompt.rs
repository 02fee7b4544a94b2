//! Properties at the prompt: stops, commands, the user's own breakpoints.

use crate::bench::{Bench, in_order};

const PUSHES: &str = "#include <stdio.h>\n\
void push(int v) {\n\
  printf(\"push %d\\n\", v); fflush(stdout);\n\
}\n\
int main(void) {\n\
  for (int i = 0; i < 6; i++)\n\
    push(i);\n\
  return 0;\n\
}\n";

const COUNT: &str = "initialization { N = 0 }
state init accepting { transition { event push(v) { return v < 4 } success { N = N + 1 } init failure { print(\"too much\") } sink } }
state sink non-accepting
";

fn bench() -> Bench {
    let bench = Bench::c(PUSHES, &["-O0"]);
    bench.write("p.prop", COUNT);
    bench
}

#[test]
fn a_violation_stops_at_the_call() {
    let text = bench().debug(
        &["-p", "p.prop"],
        &[
            "run",
            "print v",
            "backtrace",
            "info monitors",
            "info events",
        ],
    );
    in_order(
        &text,
        &[
            "[verde] Initialization: N = 0",
            "[verde] Current state: init (N = 0)",
            "[verde] Current state: init (N = 4)",
            "[verde] too much",
            "[verde] Current state: sink (N = 4)",
            "push (v=4) at prog.c:2",
            "[verde] violation: p reached sink at event 5, prog.c:2",
            "[Execution stopped.]",
            "$1 = 4",
            "#0  push (v=4) at prog.c:2",
            "#1  ",
            "main () at prog.c:7",
            "1 in sink",
            "push(v = 4)  init -> sink  prog.c:2",
        ],
    );
    assert_eq!(text.matches("push 3").count(), 1);
    assert_eq!(text.matches("push 4").count(), 0, "the call has not begun");
}

#[test]
fn the_users_breakpoint_comes_before_the_event_which_counts_once() {
    let text = bench().debug(
        &["-p", "p.prop"],
        &[
            "break *push if $edi == 2",
            "run",
            "verde exec get_env",
            "stepi",
            "verde exec get_env",
            "continue",
            "verde exec get_env",
        ],
    );
    in_order(
        &text,
        &[
            "Breakpoint 1, push (v=2)",
            "{'N': 2}",
            "{'N': 3}",
            "[Execution stopped.]",
            "{'N': 4}",
        ],
    );
}

#[test]
fn stepping_feeds_the_monitors() {
    let text = bench().debug(
        &["-p", "p.prop"],
        &[
            "break main",
            "run",
            "next",
            "next",
            "next",
            "verde exec get_env",
            "info slices",
        ],
    );
    in_order(&text, &["Breakpoint 1, main", "{'N': 1}", "(root)  init"]);
}

#[test]
fn states_of_monitors_in_conditions() {
    let bench = bench();
    bench.write(
        "q.prop",
        "initialization { N = 0 }
state init accepting { transition { event push(v) { return v == 3 } success armed } }
state armed accepting
state bad non-accepting",
    );
    let text = bench.debug(
        &["-p", "q.prop"],
        &[
            "break prog.c:3 if state(q) == \"armed\" && v > 3",
            "run",
            "print v",
        ],
    );
    in_order(&text, &["Breakpoint 1", "$1 = 4"]);
}

#[test]
fn monitors_by_command() {
    let bench = bench();
    let text = bench.debug(
        &[],
        &[
            "verde new first",
            "verde load-property p.prop",
            "verde get-current",
            "verde run-with-program",
            "verde exec get_current_states",
            "verde exec set_current_state init",
            "verde exec get_current_states",
            "verde exec stop_execution",
            "verde delete",
            "verde get-current",
        ],
    );
    in_order(
        &text,
        &[
            "Monitor first created",
            "Current monitor: first",
            "too much",
            "p: violated",
            "exited normally",
            "{'sink'}",
            "{'init'}",
            "Monitor first deleted",
        ],
    );
    assert!(text.contains("not accessible from verde exec"), "{text}");
    assert!(text.contains("There is no monitor"), "{text}");
}

#[test]
fn blocks_look_at_the_program() {
    let bench = bench();
    bench.write(
        "f.py",
        "def look():
    f = gdb.selected_frame()
    print('in %s called by %s' % (f.name(), f.older().name()))
    print('v is %d, twice %d' % (f.read_var('v'), int(gdb.parse_and_eval('v * 2'))))
    print(gdb.execute('print v + 1', to_string=True).strip())
    try: gdb.parse_and_eval('nothing')
    except gdb.error as e: print('no:', e)
    try: gdb.execute('continue')
    except gdb.error as e: print('refused:', e)
    for command in ('go', 'source go.x', 'thread apply all go', 'starti'):
        try: gdb.execute(command)
        except gdb.error as e: print('so is', command, 'by', str(e).split(':')[-1])
    print(gdb.execute('see', to_string=True).strip())
",
    );
    bench.write("go.x", "continue\n");
    let own = "define go\ncontinue\nend\ndefine see\nprint v + 40\nend\n";
    bench.write("own.x", own);
    bench.write(
        "g.prop",
        "state init accepting { transition { event push(v) { return v == 2 } success look() done } }
state done accepting
state bad non-accepting",
    );
    let text = bench.debug(&["-p", "g.prop", "-f", "f.py"], &["source own.x", "run"]);
    in_order(
        &text,
        &[
            "in push called by main",
            "v is 2, twice 4",
            "$1 = 3",
            "no: No symbol \"nothing\"",
            "refused: \"continue\" is not possible",
            "so is go by \"continue\" is not possible",
            "so is source go.x by  \"continue\" is not possible",
            "so is thread apply all go by \"continue\" is not possible",
            "so is starti by \"starti\" is not possible",
            "$2 = 42",
            "exited normally",
        ],
    );
}

#[test]
fn two_runs_begin_anew() {
    let text = bench().debug(&["-p", "p.prop"], &["run", "run", "verde exec get_env"]);
    assert_eq!(text.matches("[Execution stopped.]").count(), 2, "{text}");
    assert!(text.contains("{'N': 4}"), "{text}");
}

#[test]
fn a_slice_that_ended_badly_is_still_shown() {
    let bench = Bench::c(
        "__attribute__((noinline)) void use(int q, int x) { asm volatile(\"\" :: \"r\"(q), \"r\"(x)); }\n\
         int main(void) { use(1, 0); use(2, 0); use(2, 4); use(2, 9); use(1, 0); return 0; }",
        &["-O1"],
    );
    bench.write(
        "p.prop",
        "slice on q
initialization { last = 0 }
state init accepting { transition { event use(q, x) success { last = x } open } }
state open accepting { transition { event use(q, x) { return x < 9 } success { last = x } open failure { last = x } broken } }
state broken non-accepting final",
    );
    let text = bench.debug(
        &["-p", "p.prop", "--auto-checkpoint", "states"],
        &[
            "run",
            "info slices",
            "info events q=2 state:broken last>8",
            "info events q=1 state:broken",
            "verde back",
            "info slices q=2",
            "info slices state:broken",
        ],
    );
    in_order(
        &text,
        &[
            "violation: p [q = 2] reached broken at event 4",
            "p [q = 1]  open",
            "p [q = 2]  broken  false  (last = 9)  ended",
            "p [q = 2] (ended):",
            "use(q = 2, x = 0)  init -> open",
            "use(q = 2, x = 9)  open -> broken",
            "None.",
            "Back before event 4",
            "p [q = 2]  open",
            "None.",
        ],
    );
    let text = bench.debug(&["-p", "p.prop"], &["run", "continue", "info slices"]);
    assert!(!text.contains("ended"), "{text}");
}

#[test]
fn monitors_are_counted_without_their_roots() {
    let bench = Bench::c(
        "__attribute__((noinline)) void f(int q) { asm volatile(\"\" :: \"r\"(q)); }\n\
         int main(void) { f(1); f(2); return 0; }",
        &["-O1"],
    );
    bench.write(
        "sliced.prop",
        "slice on q state init accepting { transition { event f(q) success open } } state open accepting",
    );
    bench.write(
        "whole.prop",
        "state init accepting { transition { event f(q) success init } }",
    );
    let text = bench.debug(
        &["-p", "sliced.prop", "-p", "whole.prop"],
        &[
            "info monitors",
            "break f if q == 2",
            "run",
            "finish",
            "info monitors",
        ],
    );
    in_order(
        &text,
        &[
            "sliced.prop  running  currently-true  no slices",
            "whole.prop  running  true  1 in init",
            "  2 slices: 2 in open",
        ],
    );
}

/// An event of the past is written as the property writes it.
#[test]
fn info_events_says_after() {
    let bench = Bench::c(
        "__attribute__((noinline)) int f(int x) { asm volatile(\"\"); return x; }\n\
         int main(void) { f(1); return 0; }",
        &["-O0"],
    );
    bench.write(
        "p.prop",
        "state init accepting { transition { after event f(x) success bad } }\n\
         state bad non-accepting",
    );
    let text = bench.debug(&["-p", "p.prop"], &["run", "info events"]);
    assert!(text.contains("  after f(x = 1)  init -> bad"), "{text}");
}

//! What actions see of their slice on the program, and what they do to it.

use crate::bench::{Bench, in_order};

const PROGRAM: &str = r#"
__attribute__((noinline)) void f(int q, int x) { asm volatile("" :: "r"(q), "r"(x) : "memory"); }
__attribute__((noinline)) void end(int x) { asm volatile("" :: "r"(x) : "memory"); }
int main(void) { f(1, 3); f(1, 4); f(2, 5); end(7); return 0; }
"#;

const COUNTED: &str = "slice on q
initialization { n = 0; seen = [] }
state init { transition { event f(q, x) { n = n + x } success { seen = seen + [x] } act() s } }
state s { transition { event f(q, x) { n = n + x } success { seen = seen + [x] } act() t } }
state t
";

fn bench(property: &str, functions: &str) -> Bench {
    let bench = Bench::c(PROGRAM, &["-O1"]);
    bench.write("p.prop", property);
    bench.write("f.py", functions);
    bench
}

const WITH: [&str; 4] = ["-p", "p.prop", "-f", "f.py"];

#[test]
fn a_slice_is_there_for_the_action_of_its_transition() {
    let bench = bench(
        COUNTED,
        "def act(m, s):
    print(s, m.get_env(s), sorted(m.get_current_states()), m.get_slices())
    m.print_monitor_state()
    m.set_env_value(s, 'n', 10 * m.get_env_value(s, 'n'))
    m.get_env_value(s, 'seen').append('act')
    m.set_env_value(s, 'mine', 1)
    print(m.get_env(s), m.get_env())
",
    );
    let ran = bench.check(&WITH, &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let root = "Current state: init (n = 0, seen = [])";
    assert_eq!(
        ran.printed(),
        [
            "{'q': 1} {'n': 3, 'seen': [3]} ['init'] [{}, {'q': 1}]",
            root,
            "[q = 1] Current state: init (n = 3, seen = [3])",
            "{'n': 30, 'seen': [3, 'act'], 'mine': 1} {'n': 0, 'seen': []}",
            "{'q': 1} {'n': 34, 'seen': [3, 'act', 4], 'mine': 1} ['init', 's'] [{}, {'q': 1}]",
            root,
            "[q = 1] Current state: s (n = 34, seen = [3, \"act\", 4])",
            "{'n': 340, 'seen': [3, 'act', 4, 'act'], 'mine': 1} {'n': 0, 'seen': []}",
            "{'q': 2} {'n': 5, 'seen': [5]} ['init', 't'] [{}, {'q': 1}, {'q': 2}]",
            root,
            "[q = 1] Current state: t (n = 340, seen = [3, \"act\", 4, \"act\"])",
            "[q = 2] Current state: init (n = 5, seen = [5])",
            "{'n': 50, 'seen': [5, 'act'], 'mine': 1} {'n': 0, 'seen': []}",
        ]
    );
}

#[test]
fn what_it_sets_is_there_when_the_transition_is_taken() {
    let bench = bench(
        COUNTED,
        "def act():
    for s in monitor.get_slices():
        if s: monitor.set_env_value(s, 'n', 10 * monitor.get_env_value(s, 'n'))
    monitor.set_env_dict(s, {'n': monitor.get_env_value(s, 'n'), 'seen': []})
    if s['q'] == 2: monitor.set_current_state('t', s)
",
    );
    let text = bench.debug(&WITH, &["break end", "run", "info slices"]);
    in_order(
        &text,
        &[
            "[q = 1] Current state: s (n = 30, seen = [])",
            "[q = 1] Current state: t (n = 340, seen = [])",
            "[q = 2] Current state: s (n = 50, seen = [])",
            "Breakpoint 1, end",
            // Of another slice after the event, and so is a state.
            "n = 3400",
        ],
    );
    let slices = text.split("Breakpoint 1, end").nth(1).unwrap_or_default();
    assert_eq!(slices.matches("  t  ").count(), 2, "{text}");
}

#[test]
fn one_that_raises_has_changed_nothing() {
    let bench = bench(
        COUNTED,
        "calls = 0
def act(m, s):
    global calls
    calls += 1
    m.set_env_value(s, 'n', 1000)
    m.set_env_value(s, 'seen', {1000})
    m.set_env_value(s, 'mine', 1000)
    m.set_current_state('t', s)
    m.get_env_value(s, 'n') == 1000 or print('lost')
    if calls != 2: raise RuntimeError(calls)
    m.set_env_value(s, 'n', 2000)
",
    );
    let ask = "verde exec get_env {'q': 1}";
    let text = bench.debug(
        &WITH,
        &[
            "run",
            "verde exec get_slices",
            "verde exec get_env",
            "continue",
            "verde exec get_slices",
            ask,
        ],
    );
    // The first raises, the second makes the slice, the third is for another one.
    in_order(
        &text,
        &[
            "RuntimeError: 1",
            "[{}]\n",
            "{'n': 0, 'seen': []}\n",
            "[q = 1] Current state: s (n = 2000, seen = ",
            "RuntimeError: 3",
            "[{}, {'q': 1}]\n",
            "{'n': 2000, 'seen': {1000}, 'mine': 1000}\n",
        ],
    );
    assert!(!text.contains("lost"), "{text}");
}

#[test]
fn in_a_step_of_a_slice_neither() {
    let bench = bench(
        COUNTED,
        "calls = 0
def act(m, s):
    global calls
    calls += 1
    m.set_env_value(s, 'mine', calls)
    m.set_env_value(s, 'n', 10 * calls)
    if calls == 2:
        m.set_current_state('t', s)
        raise RuntimeError(calls)
",
    );
    let text = bench.debug(
        &WITH,
        &["run", "verde exec get_env {'q': 1}", "info slices"],
    );
    in_order(
        &text,
        &[
            "RuntimeError: 2",
            "{'n': 10, 'seen': [3], 'mine': 1}\n",
            "  s  ",
        ],
    );
}

#[test]
fn the_action_of_a_state_comes_after_the_transition() {
    let bench = bench(
        &COUNTED
            .replace("act() s", "s")
            .replace("state s {", "state s act() {"),
        "def act(m, s):
    print(s, m.get_env(s), sorted(m.get_current_states()))
    m.set_env_value(s, 'n', 1000)
    m.set_env_value(s, 'mine', 1000)
    m.set_current_state('t', s)
    raise RuntimeError(m.get_env(s))
",
    );
    let text = bench.debug(
        &WITH,
        &["run", "verde exec get_env {'q': 1}", "info slices"],
    );
    in_order(
        &text,
        &[
            "{'q': 1} {'n': 3, 'seen': [3]} ['init', 's']",
            "RuntimeError: {'n': 1000, 'seen': [3], 'mine': 1000}",
            "{'n': 3, 'seen': [3]}\n",
            "  s  ",
        ],
    );
}

#[test]
fn the_slice_that_is_made_instead_gets_nothing_of_it() {
    // The event makes two slices, the second in the place that the first would have had.
    let bench = bench(
        "slice on q, x
initialization { n = 0 }
state init { transition { event f(q) success one } }
state one { transition { event end(x) success { n = n + 1 } act() two } }
state two
state three",
        "calls = 0
def act(m, s):
    global calls
    calls += 1
    print(s, m.get_env(s))
    if calls == 1:
        m.set_env_value(s, 'n', [100])
        m.set_current_state('three', s)
        raise RuntimeError(calls)
",
    );
    let text = bench.debug(&WITH, &["run", "verde exec get_slices", "info slices"]);
    in_order(
        &text,
        &[
            "{'q': 1, 'x': 7} {'n': 1}",
            "{'q': 2, 'x': 7} {'n': 1}",
            "RuntimeError: 1",
            "[{}, {'q': 1}, {'q': 2}, {'q': 2, 'x': 7}]",
            "  two  ",
            "(n = 1)",
        ],
    );
    assert!(!text.contains("  three  "), "{text}");
}

/// Values that nobody has any more are gone, and no other.
#[test]
fn no_value_is_lost_or_kept() {
    let functions = "
alive = 0
class Value:
    def __init__(self):
        global alive
        alive += 1
    def __del__(self):
        global alive
        alive -= 1
    def __deepcopy__(self, memo):
        return Value()
calls = 0
def act(m, s):
    global calls
    calls += 1
    m.set_env_value(s, 'a', Value())
    m.set_env_value(s, 'b', Value())
    m.set_env_value(s, 'b', Value())
    m.set_env_value(s, 'mine', Value())
    if calls == RAISES:
        raise RuntimeError
def look():
    print(alive)
";
    let property = "slice on q
initialization { a = None; b = Value() }
state init { transition { event f(q, x) success { a = Value() } act() s } }
state s { transition { event f(q, x) { tell({'q': q}) } success { a = Value(); b = Value() } act() t } }
state t
";
    let tell = "
def tell(s):
    monitor.set_env_value(s, 'b', Value())
";
    // Another property looks after each event; one that raised is dropped and keeps what it has.
    let watching = "state init { transition { event f() { look() } success init } transition { event end() { look() } success init } }";
    let looks = |raises: &str| {
        let bench = bench(property, &format!("RAISES = {raises}{functions}{tell}"));
        bench.write("w.prop", watching);
        let ran = bench.check(&["-p", "p.prop", "-p", "w.prop", "-f", "f.py"], &[]);
        let numbers = ran.printed().into_iter().filter_map(|l| l.parse().ok());
        numbers.collect::<Vec<u32>>()
    };
    // One of the root, three of each slice, and two in the globals of the block that ran last.
    assert_eq!(looks("0"), [6, 6, 9, 9]);
    assert_eq!(looks("1"), [3, 3, 3, 3]);
    assert_eq!(looks("2"), [6, 6, 6, 6]);
    assert_eq!(looks("3"), [6, 6, 6, 6]);
}

/// Guard, code and action each tell the monitor something, until one raises.
#[test]
fn code_that_raises_leaves_its_slice_as_it_was() {
    let property = "slice on q
initialization { n = 0; seen = [] }
state init { transition { event f(q, x) success { n = 1 } s } }
state s { transition { event f(q, x) { tell('guard', q) } success { n = 2; tell('code', q) } act() t } }
state t
";
    for raises in ["guard", "code", "action"] {
        let functions = format!(
            "def tell(who, q):
    monitor.set_env_value({{'q': q}}, 'n', who)
    monitor.set_env_value({{'q': q}}, 'seen', [who])
    monitor.set_env_value({{'q': q}}, 'mine', who)
    monitor.set_current_state('t', {{'q': q}})
    monitor.set_env_value({{}}, 'n', who)
    if who == '{raises}': raise RuntimeError(who, monitor.get_env({{'q': q}})['n'])
def act(m, s):
    tell('action', s['q'])
"
        );
        let bench = bench(property, &functions);
        let ask = [
            "run",
            "verde exec get_env {'q': 1}",
            "verde exec get_env",
            "info slices",
        ];
        let text = bench.debug(&WITH, &ask);
        in_order(
            &text,
            &[
                &format!("RuntimeError: ('{raises}', '{raises}')"),
                "{'n': 1, 'seen': []}\n",
                // Of another slice what was asked for is done.
                &format!("{{'n': '{raises}', 'seen': []}}\n"),
                "  s  ",
            ],
        );
    }
}

#[test]
fn names_of_its_own_go_back_with_a_checkpoint() {
    let bench = bench(
        COUNTED,
        "def act(m, s):
    m.set_env_value(s, 'mine', m.get_env(s).get('mine', []) + [1])
    m.get_env_value(s, 'mine').append(2)
",
    );
    let ask = "verde exec get_env_value {'q':1} mine";
    let text = bench.debug(
        &WITH,
        &[
            "break f",
            "run",
            "continue",
            ask,
            "checkpoint",
            "continue",
            ask,
            "verde exec set_env_value {'q':1} other 5",
            "restart 1",
            ask,
            "verde exec get_env {'q': 1}",
            "continue",
            ask,
            "restart 1",
            ask,
        ],
    );
    in_order(
        &text,
        &[
            "[1, 2]\n",
            "[1, 2, 1, 2]\n",
            "[1, 2]\n",
            "{'n': 3, 'seen': [3], 'mine': [1, 2]}\n",
            "[1, 2, 1, 2]\n",
            "[1, 2]\n",
        ],
    );
}

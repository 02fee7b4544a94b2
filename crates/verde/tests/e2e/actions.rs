//! What actions see of their slice over a trace, and what they do to it.

use crate::common::{Dir, Ran, verde};
use serde_json::Value;

/// Two events on slice 1, one on slice 2.
const TRACE: &str = r#"{"event":"f","args":{"q":1,"x":3}}
{"event":"f","args":{"q":1,"x":4}}
{"event":"f","args":{"q":2,"x":5}}
"#;

struct Replayed {
    ran: Ran,
    rows: Vec<Value>,
}

fn replay(name: &str, trace: &str, property: &str, functions: &str) -> Replayed {
    let dir = Dir::new(name);
    dir.write("p.prop", property);
    dir.write("t.jsonl", trace);
    dir.write("functions.py", functions);
    let ran = verde(
        dir.path(),
        &[
            "replay",
            "--format",
            "jsonl",
            "--show",
            "all",
            "-p",
            "p.prop",
            "-f",
            "functions.py",
            "t.jsonl",
        ],
    );
    let rows = ran.out.lines().map(|l| serde_json::from_str(l).unwrap());
    Replayed {
        rows: rows.collect(),
        ran,
    }
}

impl Replayed {
    fn printed(&self) -> Vec<&str> {
        let rows = self.rows.iter().filter(|r| r["type"] == "print");
        rows.filter_map(|r| r["text"].as_str()).collect()
    }

    /// State and environment of a slice after an event.
    fn after(&self, n: u64, q: u64) -> String {
        let row = self
            .rows
            .iter()
            .find(|r| r["type"] == "event" && r["n"] == n);
        let slices = row.and_then(|r| r["slices"].as_array());
        let slices = slices.unwrap_or_else(|| panic!("no event {n}: {}", self.ran.err));
        let found = slices.iter().find(|s| s["slice"]["q"] == q);
        found.map_or("none".into(), |s| {
            format!("{} {}", s["state"].as_str().unwrap_or_default(), s["env"])
        })
    }
}

const COUNTED: &str = "slice on q
initialization { n = 0; seen = [] }
state init { transition { event f(q, x) { n = n + x } success { seen = seen + [x] } act() s } }
state s { transition { event f(q, x) { n = n + x } success { seen = seen + [x] } act() t } }
state t
";

#[test]
fn a_slice_is_there_for_the_action_of_its_transition() {
    let functions = "\
def act(m, s):
    print(s, m.get_env(s), sorted(m.get_current_states()))
    print(m.get_slices(), m.get_slice_bindings(), m.get_env_value(s, 'n'), list(m.get_env_keys(s)))
    print(m.get_env(), m.get_env_dict(s) == m.get_env(s))
    m.print_monitor_state()
";
    let ran = replay("there", TRACE, COUNTED, functions);
    assert_eq!(ran.ran.code, 0, "{}", ran.ran.err);
    let root = "{'n': 0, 'seen': []} True";
    let root_now = "Current state: init (n = 0, seen = [])";
    assert_eq!(
        ran.printed(),
        [
            "{'q': 1} {'n': 3, 'seen': [3]} ['init']",
            "[{}, {'q': 1}] {'q': [1]} 3 ['n', 'seen']",
            root,
            root_now,
            "[q = 1] Current state: init (n = 3, seen = [3])",
            "{'q': 1} {'n': 7, 'seen': [3, 4]} ['init', 's']",
            "[{}, {'q': 1}] {'q': [1]} 7 ['n', 'seen']",
            root,
            root_now,
            "[q = 1] Current state: s (n = 7, seen = [3, 4])",
            "{'q': 2} {'n': 5, 'seen': [5]} ['init', 't']",
            "[{}, {'q': 1}, {'q': 2}] {'q': [1, 2]} 5 ['n', 'seen']",
            root,
            root_now,
            "[q = 1] Current state: t (n = 7, seen = [3, 4])",
            "[q = 2] Current state: init (n = 5, seen = [5])",
        ]
    );
}

#[test]
fn actions_without_arguments_see_the_same() {
    let functions = "\
def act():
    print([monitor.get_env(s) for s in monitor.get_slices() if s])
    for s in monitor.get_slices():
        if s: monitor.set_env_value(s, 'n', monitor.get_env_value(s, 'n') * 10)
";
    let ran = replay("no-arguments", TRACE, COUNTED, functions);
    assert_eq!(
        ran.printed(),
        [
            "[{'n': 3, 'seen': [3]}]",
            "[{'n': 34, 'seen': [3, 4]}]",
            "[{'n': 340, 'seen': [3, 4]}, {'n': 5, 'seen': [5]}]"
        ],
        "{}",
        ran.ran.err
    );
    // Of other slices after the event, as ever.
    assert_eq!(ran.after(3, 1), r#"t {"n":3400,"seen":[3,4]}"#);
    assert_eq!(ran.after(3, 2), r#"s {"n":50,"seen":[5]}"#);
}

#[test]
fn what_an_action_sets_is_there_when_the_transition_is_taken() {
    let property = COUNTED.replace("state s {", "state s entered() {");
    let functions = "\
def act(m, s):
    m.set_env_value(s, 'n', 100)
    m.set_env_value(s, 'seen', ['a'])
    m.set_env_value(s, 'seen', m.get_env_value(s, 'seen') + ['b'])
    m.set_env_value(s, 'mine', 1)
    print(m.get_env(s))

def entered(m, s):
    print(m.get_env(s))
    m.set_env_value(s, 'n', 200)
    m.get_env_value(s, 'seen').append('c')
    print(m.get_env(s))

def taken(t, branch):
    print('taken', [monitor.get_env(s) for s in monitor.get_slices() if s])

def listen():
    monitor.register_event('transition_taken', taken)
";
    let property = property.replacen("n = 0;", "n = 0; listen();", 1);
    let ran = replay("sets", TRACE, &property, functions);
    let set = "{'n': 100, 'seen': ['a', 'b'], 'mine': 1}";
    let entered = "{'n': 200, 'seen': ['a', 'b', 'c'], 'mine': 1}";
    let taken = format!("taken [{set}]");
    let first = [set, taken.as_str(), set, entered];
    let printed = ran.printed();
    assert_eq!(printed[..4], first, "{}", ran.ran.err);
    assert_eq!(printed[4..6], [set, taken.as_str()]);
    assert_eq!(ran.after(1, 1), r#"s {"n":200,"seen":["a","b","c"]}"#);
    assert_eq!(ran.after(2, 1), r#"t {"n":100,"seen":["a","b"]}"#);
}

#[test]
fn an_environment_that_is_set_as_a_whole() {
    let functions = "\
def act(m, s):
    m.set_env_dict(s, {'seen': (1,), 'mine': 2})
    print(m.get_env(s))
";
    let ran = replay("whole", TRACE, COUNTED, functions);
    // The guard of the second event misses what is no longer there.
    assert_eq!(ran.ran.code, 1);
    assert_eq!(ran.printed(), ["{'seen': (1,), 'mine': 2}"]);
    assert_eq!(ran.after(1, 1), r#"s {"seen":[1]}"#);
    assert!(
        ran.ran.err.contains("name 'n' is not defined"),
        "{}",
        ran.ran.err
    );
}

#[test]
fn a_state_that_an_action_sets_comes_after_the_event() {
    let functions = "\
def act(m, s):
    m.set_current_state('t', s)
    print(sorted(m.get_current_states()))
";
    let ran = replay("states", TRACE, COUNTED, functions);
    assert_eq!(ran.printed()[0], "['init', 't']", "{}", ran.ran.err);
    assert_eq!(ran.after(1, 1), r#"t {"n":3,"seen":[3]}"#);
    assert_eq!(ran.after(3, 2), r#"t {"n":5,"seen":[5]}"#);
    let taken = &ran.rows.iter().find(|r| r["type"] == "event").unwrap()["taken"][0];
    assert_eq!(
        (&taken["from"], &taken["to"]),
        (&"init".into(), &"s".into())
    );
}

#[test]
fn the_last_word_about_a_name_counts() {
    let property = "slice on q
initialization { n = 0; m = 0 }
state init { transition { event f(q, x) success s } }
state s { transition { event f(q, x) { tell({'q': q}) } success { n = 1; m = 1 } act() t } }
state t
";
    let functions = "\
def tell(s):
    monitor.set_env_value(s, 'n', 5)
    monitor.set_env_value(s, 'm', [5])
def act(m, s):
    print(m.get_env(s))
    m.set_env_value(s, 'm', [9])
    print(m.get_env(s))
";
    let ran = replay("last-word", TRACE, property, functions);
    let printed = ["{'m': [5], 'n': 5}", "{'m': [9], 'n': 5}"];
    assert_eq!(ran.printed(), printed, "{}", ran.ran.err);
    assert_eq!(ran.after(2, 1), r#"t {"m":[9],"n":5}"#);
}

#[test]
fn blocks_find_their_slice_as_it_was_before_the_event() {
    let property = "slice on q
initialization { n = 0 }
state init { transition { event f(q, x) { n = n + 1; look() } success { look() } s } }
state s { transition { event f(q, x) { n = n + x; look() } success { n = n + x; look() } t } }
state t
";
    let functions = "\
def look():
    print([monitor.get_env(s) for s in monitor.get_slices()])
";
    let ran = replay("blocks", TRACE, property, functions);
    let (none, one) = ("[{'n': 0}]", "[{'n': 0}, {'n': 1}]");
    assert_eq!(
        ran.printed()[..4],
        [none, none, one, one],
        "{}",
        ran.ran.err
    );
    assert_eq!(ran.after(2, 1), r#"t {"n":9}"#);
}

#[test]
fn an_action_that_raises_ends_the_replay() {
    let functions = "\
def act(m, s):
    m.set_env_value(s, 'seen', [100])
    m.set_current_state('t', s)
    raise RuntimeError(m.get_slices(), m.get_env(s))
";
    let ran = replay("raises", TRACE, COUNTED, functions);
    assert_eq!(ran.ran.code, 1);
    let said = "RuntimeError: ([{}, {'q': 1}], {'n': 3, 'seen': [100]})";
    assert!(ran.ran.err.contains(said), "{}", ran.ran.err);
    assert!(!ran.ran.err.contains("prelude"), "{}", ran.ran.err);
}

/// Keys compare as numbers, and structures have no order of members.
#[test]
fn every_kind_of_key_is_found() {
    let trace = r#"{"event":"f","args":{"q":1.0,"x":1}}
{"event":"f","args":{"q":0.5,"x":1}}
{"event":"f","args":{"q":18446744073709551615,"x":1}}
{"event":"f","args":{"q":"text","x":1}}
{"event":"f","args":{"q":{"b":1,"a":[2,{"c":null}]},"x":1}}
{"event":"f","args":{"q":null,"x":1}}
{"event":"f","args":{"q":true,"x":1}}
"#;
    let functions = "\
def act(m, s):
    print(s, m.get_env(s)['n'], m.get_env_value(s, 'seen'))
    m.set_env_value(s, 'mine', str(s))
def entered(m, s):
    print(m.get_env_value(s, 'mine') == str(s))
";
    let property = COUNTED.replace("state s {", "state s entered() {");
    let ran = replay("keys", trace, &property, functions);
    assert_eq!(ran.ran.code, 0, "{}", ran.ran.err);
    let (calls, entered): (Vec<&str>, Vec<&str>) =
        ran.printed().into_iter().partition(|l| l.starts_with('{'));
    assert_eq!(
        calls,
        [
            "{'q': 1} 1 [1]",
            "{'q': 0.5} 1 [1]",
            "{'q': 18446744073709551615} 1 [1]",
            "{'q': 'text'} 1 [1]",
            "{'q': {'b': 1, 'a': [2, {'c': None}]}} 1 [1]",
            "{'q': None} 1 [1]",
            "{'q': True} 1 [1]",
        ]
    );
    assert_eq!(entered, ["True"; 7]);
}

#[test]
fn what_was_asked_for_one_slice_is_not_for_the_next_in_its_place() {
    // The event ends one slice and makes another where it was.
    let trace = r#"{"event":"g","args":{"a":1}}
{"event":"h","args":{"a":1,"b":5}}
{"event":"g","args":{"a":2}}
{"event":"both","args":{"b":5}}
"#;
    let property = "slice on a, b
initialization { n = 0 }
state init { transition { event g(a) success { n = 1 } one } }
state one {
    transition { event h(a, b) success { n = 2 } two }
    transition { event both(b) success { n = 3 } act() two }
}
state two { transition { event both(b) { leave({'a': 1, 'b': b}) } success over } }
state over final
";
    let functions = "\
def leave(s):
    monitor.set_env_value(s, 'n', 100)
def act(m, s):
    print(s, m.get_env(s))
";
    let ran = replay("places", trace, property, functions);
    assert_eq!(ran.ran.code, 0, "{}", ran.ran.err);
    let printed = ran.printed();
    assert_eq!(
        printed.last(),
        Some(&"{'a': 2, 'b': 5} {'n': 3}"),
        "{printed:?}"
    );
}

#[test]
fn what_its_own_code_assigned_is_not_hidden_by_what_others_asked_for() {
    let trace = r#"{"event":"f","args":{"q":1}}
{"event":"f","args":{"q":2}}
{"event":"t"}
"#;
    let property = "slice on q
initialization { k = 1000; l = 0; m = 0 }
state init { transition { event f(q) success s } }
state s { transition { event t() { l = [1] } success { k = 1000 } act() s } }
";
    let functions = "\
def act(m, s):
    print(m.get_env(s))
    if s['q'] == 1: m.set_env_dict({'q': 2}, {'k': 7, 'l': 7, 'm': 7})
    m.set_env_value(s, 'm', m.get_env_value(s, 'm') + 1)
    print(m.get_env({'q': 2}))
";
    let ran = replay("own-first", trace, property, functions);
    let own = "{'k': 1000, 'l': [1], 'm': 0}";
    let told = "{'k': 7, 'l': 7, 'm': 7}";
    assert_eq!(
        ran.printed(),
        [
            own,
            told,
            "{'k': 1000, 'l': [1], 'm': 7}",
            "{'k': 1000, 'l': [1], 'm': 8}"
        ],
        "{}",
        ran.ran.err
    );
    assert_eq!(ran.after(3, 2), r#"s {"k":7,"l":7,"m":8}"#);
}

/// By code of other slices, that is by their keys.
#[test]
fn every_kind_of_key_is_found_from_outside() {
    let keys = [
        "1",
        "-1",
        "18446744073709551615",
        "123456789012345678901234567890",
        "0.5",
        "1e300",
        "1e999",
        r#""text""#,
        r#""""#,
        r#""nan""#,
        r#"{"b":1,"a":[2,{"c":null}]}"#,
        r#"[1.50,-0.0]"#,
        "null",
        "true",
    ];
    let mut trace: String = keys
        .iter()
        .map(|k| format!("{{\"event\":\"f\",\"args\":{{\"q\":{k},\"x\":1}}}}\n"))
        .collect();
    trace += "{\"event\":\"look\"}\n";
    let property = "slice on q
initialization { n = 0 }
state init {
    transition { event f(q, x) success { n = str(q) } s }
    transition { event look() { look() } success init }
}
state s
";
    let functions = "\
inf = float('inf')
def text(s):
    try: return monitor.get_env_value(s, 'n')
    except gdb.error as e: return str(e)
def look():
    for s in monitor.get_slices()[1:]: print(text(s))
    print(text({'q': {'a': [2, {'c': None}], 'b': 1}}))
    print(text({'q': [1.5, 0.0]}))
    for q in [1.0, 2, 'no', 0.25, -2, False, [1], {}, 2 ** 64, '1']: print(text({'q': q}))
    for s in [{'p': 1}, {'q': 1, 'p': 1}]: print(text(s))
";
    let ran = replay("outside", &trace, property, functions);
    assert_eq!(ran.ran.code, 0, "{}", ran.ran.err);
    let printed = ran.printed();
    let expected = [
        "1",
        "-1",
        "18446744073709551615",
        "123456789012345678901234567890",
        "0.5",
        "1e+300",
        "inf",
        "text",
        "",
        "nan",
        "{'b': 1, 'a': [2, {'c': None}]}",
        "[1.5, -0.0]",
        "None",
        "True",
        "{'b': 1, 'a': [2, {'c': None}]}",
        "[1.5, -0.0]",
        r#"there is no slice {"q":1.0}"#,
        r#"there is no slice {"q":2}"#,
        r#"there is no slice {"q":"no"}"#,
        r#"there is no slice {"q":0.25}"#,
        r#"there is no slice {"q":-2}"#,
        r#"there is no slice {"q":false}"#,
        r#"there is no slice {"q":[1]}"#,
        r#"there is no slice {"q":{}}"#,
        r#"there is no slice {"q":1.8446744073709552e+19}"#,
        r#"there is no slice {"q":"1"}"#,
        r#"there is no slice {"p":1}"#,
        r#"there is no slice {"p":1,"q":1}"#,
    ];
    assert_eq!(printed, expected);
}

/// Names that the property does not have.
#[test]
fn other_names_live_and_end_with_their_slice() {
    let trace = r#"{"event":"f","args":{"q":1}}
{"event":"g","args":{"q":1,"r":1}}
{"event":"g","args":{"q":1,"r":2}}
{"event":"end","args":{"q":1}}
{"event":"f","args":{"q":1}}
{"event":"g","args":{"q":1,"r":1}}
{"event":"clear","args":{"q":1}}
"#;
    let property = "slice on q, r ends end(q)
initialization { n = 0; monitor.set_env_value({}, 'all', Value()) }
state init { transition { event f(q) success made() s } }
state s { transition { event g(q, r) success made() t } transition { event clear(q) success clear() s } }
state t
";
    let functions = "\
alive = 0
class Value:
    def __init__(self, of=()):
        global alive
        alive += 1
        self.of = of
    def __del__(self):
        global alive
        alive -= 1
    def __deepcopy__(self, memo):
        return Value(self.of)
    def __repr__(self):
        return 'of %s' % (self.of,)
def made(m, s):
    m.set_env_value(s, 'mine', Value((*m.get_env(s).get('mine', Value()).of, *s.values())))
    print(m.get_env(s), alive, [m.get_env(t).get('mine') for t in m.get_slices()])
def clear(m, s):
    for t in m.get_slices(): m.set_env_dict(t, {'n': 1})
    print(m.get_env(s), m.get_env())
    m.register_event('event_applied', lambda: print(alive, m.get_env()))
";
    let ran = replay("other-names", trace, property, functions);
    assert_eq!(
        ran.printed(),
        [
            "{'n': 0, 'all': of (), 'mine': of (1,)} 3 [None, of (1,)]",
            "{'n': 0, 'all': of (), 'mine': of (1, 1, 1)} 6 [None, of (1,), of (1, 1, 1)]",
            "{'n': 0, 'all': of (), 'mine': of (1, 1, 2)} 8 [None, of (1,), of (1, 1, 1), of (1, 1, 2)]",
            "{'n': 0, 'all': of (), 'mine': of (1,)} 3 [None, of (1,)]",
            "{'n': 0, 'all': of (), 'mine': of (1, 1, 1)} 6 [None, of (1,), of (1, 1, 1)]",
            "{'n': 1} {'n': 1}",
            "0 {'n': 1}",
        ],
        "{}",
        ran.ran.err
    );
    // Reports have the names of the property.
    assert_eq!(ran.after(5, 1), r#"s {"n":0}"#);
}

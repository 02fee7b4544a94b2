//! The listings of the paper, as printed there.

use verde_property::{Functions, Loaded, Property, Severity, Tier, load_property, load_scenario};

fn read(name: &str) -> Vec<u8> {
    let path = format!("{}/../../tests/listings/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

fn load(name: &str, text: &[u8]) -> Loaded<Property> {
    load_property(name, text, &Functions::default())
}

fn codes(l: &Loaded<Property>) -> Vec<&'static str> {
    l.found.iter().map(|d| d.code).collect()
}

fn errors(l: &Loaded<Property>) -> Vec<&'static str> {
    let errors = l.found.iter().filter(|d| d.severity == Severity::Error);
    errors.map(|d| d.code).collect()
}

#[test]
fn both_forms_of_the_queue_are_the_same_property() {
    let short = load("queue_short.prop", &read("queue_short.prop"));
    let long = load("queue_long.prop", &read("queue_long.prop"));
    assert_eq!(codes(&short), ["undefined-action"]);
    assert_eq!(codes(&long), ["undefined-action"]);
    let (short, long) = (short.model.unwrap(), long.model.unwrap());
    let shape = |p: &Property| {
        let states: Vec<_> = p
            .states
            .iter()
            .map(|s| {
                (
                    s.name.clone(),
                    s.accepting,
                    s.action.clone(),
                    s.transitions.len(),
                )
            })
            .collect();
        (states, p.slice_on.clone(), p.env.clone(), p.events.len())
    };
    assert_eq!(shape(&short), shape(&long));
    assert_eq!(short.slice_on, ["queue"]);
    assert_eq!(short.env, ["N", "maxSize"]);
}

#[test]
fn both_zsh_figures_parse_and_together_they_load() {
    let (one, two) = (read("zsh_part1.prop"), read("zsh_part2.prop"));
    // Alone each lacks the states of the other; what there is has no mistake in it.
    for (name, text) in [("one.prop", &one), ("two.prop", &two)] {
        let wrong = errors(&load(name, text));
        assert!(
            wrong
                .iter()
                .all(|c| matches!(*c, "unknown-state" | "no-init")),
            "{wrong:?}"
        );
    }
    let loaded = load("zsh.prop", &[one, two].concat());
    assert_eq!(errors(&loaded), Vec::<&str>::new());
    let repeated = loaded.found.iter().find(|d| d.code == "repeated-state");
    assert!(repeated.is_some(), "the paper defines a state twice");
    let p = loaded.model.unwrap();
    let twice = p
        .states
        .iter()
        .find(|s| s.name == "in_get_cmp_str_init_s_not_null")
        .unwrap();
    assert_eq!(
        twice.transitions.len(),
        5,
        "the two definitions are merged in order"
    );
}

/// 25 of the 30 blocks of the listings fit the typed subset; the others call gdb.
#[test]
fn most_blocks_are_typed() {
    let zsh = [read("zsh_part1.prop"), read("zsh_part2.prop")].concat();
    let (mut typed, mut python) = (0, 0);
    for (name, text) in [
        ("q.prop", read("queue_long.prop")),
        ("s.prop", read("queue_short.prop")),
        ("z.prop", zsh),
    ] {
        for b in &load(name, &text).model.unwrap().blocks {
            match &b.tier {
                Tier::Typed(_) => typed += 1,
                Tier::Python(r) => {
                    python += 1;
                    assert!(
                        b.python.text.contains("gdb.execute"),
                        "{} {}",
                        b.python.text,
                        r.text
                    );
                }
                Tier::Empty => panic!("no listing has an empty block"),
            }
        }
    }
    assert_eq!((typed, python), (25, 5));
}

#[test]
fn both_forms_of_scenarios_load() {
    for name in ["accesses.sc", "sudoku.sc"] {
        let l = load_scenario(name, &read(name), &Functions::default());
        assert!(l.found.is_empty(), "{name}: {:?}", l.found);
        assert!(l.model.is_some_and(|s| s.saves));
    }
    let only_back = b"initialization { c = None }\non watchpoint { restore_checkpoint(c) }";
    let l = load_scenario("back.sc", only_back, &Functions::default());
    assert!(l.model.is_some_and(|s| !s.saves), "{:?}", l.found);
    let only_named = b"on watchpoint {
        # checkpoint() would be too much
        print('no checkpoint() here', my_checkpoint(), state.checkpoint())
    }";
    let l = load_scenario("named.sc", only_named, &Functions::default());
    assert!(l.model.is_some_and(|s| !s.saves), "{:?}", l.found);
    for code in [
        "[checkpoint() for _ in '1']",
        "f = lambda: checkpoint()",
        "save = checkpoint\nsave()",
        "print(f'{checkpoint ()}')",
        "def f():\n    return checkpoint(\n)\nf()",
    ] {
        let text = format!("on watchpoint {{\n{code}\n}}");
        let l = load_scenario("saves.sc", text.as_bytes(), &Functions::default());
        assert!(l.model.is_some_and(|s| s.saves), "{code}: {:?}", l.found);
    }
    let at_once =
        b"initialization { n = set_breakpoint(\"f\") }\non breakpoint { unset_breakpoint(n) }";
    let l = load_scenario("at_once.sc", at_once, &Functions::default());
    assert!(l.found.is_empty(), "{:?}", l.found);
    assert_eq!(l.model.unwrap().env, ["n"]);
    let l = load_scenario("accesses.sc", &read("accesses.sc"), &Functions::default());
    let s = l.model.unwrap();
    assert_eq!(s.env, ["accesses", "v"]);
    assert_eq!(
        s.blocks[s.reactions[0].block.index()].python.text,
        "accesses = accesses + 1\nif accesses == 2:\n    v = checkpoint()\n    set_watchpoint(\"q->size\", \"rw\")\n\
         else:\n    restore_checkpoint(v)\n    stop()"
    );
}

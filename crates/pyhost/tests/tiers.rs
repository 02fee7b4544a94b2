//! Two tiers, one meaning: every block of the typed subset gives the same
//! result, environment and output in the interpreter and in CPython.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use verde_monitor::{Arg, Bail, Cell, Params, Tag, Truth, interpret};
use verde_property::ir::Types;
use verde_property::{Block, BlockId, Functions, ParamUse, Property, Tier, load_property};
use verde_pyhost::{Cells, PythonHost};

fn host() -> PythonHost {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "-p", "verde-python"])
        .args((!cfg!(debug_assertions)).then_some("--release"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .status()
        .unwrap();
    assert!(built.success());
    PythonHost::new(Duration::from_secs(10))
}

fn load(name: &str, text: &str) -> Arc<Property> {
    let l = load_property(name, text.as_bytes(), &Functions::default());
    Arc::new(l.model.unwrap_or_else(|| {
        panic!(
            "{}\n{text}",
            verde_property::render(&l.source, &l.found, false)
        )
    }))
}

/// What a run left: outcome or the class of what was raised, environment, output.
type Left = (Result<Truth, String>, Vec<Cell>, String);

fn typed(b: &Block, params: Params, env: &[Cell]) -> Option<Left> {
    let Tier::Typed(code) = &b.tier else {
        return None;
    };
    let mut env = env.to_vec();
    let mut out = String::new();
    let result = match interpret(code, params, &mut env[..], &mut Vec::new(), &mut out) {
        Ok(t) => Ok(t),
        Err(bail) => match *bail {
            // Python runs the block instead: nothing to compare, and nothing may have changed.
            Bail::Python { .. } => return None,
            Bail::Raise { error, .. } => Err(class(&error)),
        },
    };
    Some((result, env, out))
}

fn class(error: &str) -> String {
    error.split(':').next().unwrap_or("").to_string()
}

fn python(host: &mut PythonHost, p: &Property, id: BlockId, params: Params, env: &[Cell]) -> Left {
    let mut env = env.to_vec();
    let mut owned = vec![false; env.len()];
    let mut out = String::new();
    let result = host
        .run_block(
            p.into(),
            id,
            params,
            Cells {
                cells: &mut env,
                owned: &mut owned,
            },
            None,
            &mut out,
        )
        .map_err(|r| class(&r.error));
    (result, env, out)
}

/// Floats are the same when their bits are, whatever kind of nan.
fn same(a: &Left, b: &Left) -> bool {
    let cell = |a: &Cell, b: &Cell| {
        a == b
            || (a.tag == Tag::Float
                && b.tag == Tag::Float
                && f64::from_bits(a.bits).is_nan()
                && f64::from_bits(b.bits).is_nan())
    };
    a.0 == b.0
        && a.2 == b.2
        && a.1.len() == b.1.len()
        && a.1.iter().zip(&b.1).all(|(a, b)| cell(a, b))
}

const VALUES: [Arg; 14] = [
    Arg::None,
    Arg::Bool(true),
    Arg::Bool(false),
    Arg::Int(0),
    Arg::Int(1),
    Arg::Int(-3),
    Arg::Int(7),
    Arg::Int(i64::MAX),
    Arg::Int(i64::MIN),
    Arg::UInt(u64::MAX),
    Arg::Float(0.5),
    Arg::Float(-2.0),
    Arg::Float(1e300),
    Arg::Float(f64::NAN),
];

fn cell(a: Arg) -> Cell {
    match a {
        Arg::Bool(b) => Cell::bool(b),
        Arg::Int(i) => Cell::int(i),
        Arg::UInt(u) => Cell::uint(u),
        Arg::Float(f) => Cell::float(f),
        _ => Cell::NONE,
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
}

/// Runs every typed block of the property on `times` random inputs in both tiers.
fn compare(host: &mut PythonHost, p: &Property, times: usize, r: &mut Random) -> (usize, usize) {
    let (mut compared, mut fell_back) = (0, 0);
    for (i, b) in p.blocks.iter().enumerate() {
        if !matches!(b.tier, Tier::Typed(_)) {
            continue;
        }
        for _ in 0..times {
            let uses: Vec<ParamUse> = b
                .params
                .iter()
                .enumerate()
                .map(|(i, n)| ParamUse {
                    arg: i as u16,
                    python: n.clone(),
                    ty: None,
                    types: Types::ANY,
                })
                .collect();
            let args: Vec<Option<Arg>> = uses
                .iter()
                .map(|_| Some(VALUES[r.below(VALUES.len())]))
                .collect();
            let env: Vec<Cell> = p
                .env
                .iter()
                .map(|_| {
                    if r.below(12) == 0 {
                        Cell::UNSET
                    } else {
                        cell(VALUES[r.below(VALUES.len())])
                    }
                })
                .collect();
            let params = Params {
                uses: &uses,
                args: &args,
            };
            let Some(ours) = typed(b, params, &env) else {
                fell_back += 1;
                continue;
            };
            let theirs = python(host, p, BlockId(i as u32), params, &env);
            let (ours_env, theirs_env) = (&ours.1, &theirs.1);
            // A block that raised left the environment alone in both.
            assert!(
                same(&ours, &theirs),
                "{}\nargs {args:?}\nenv {env:?}\ntyped  {:?} {ours_env:?} {:?}\npython {:?} {theirs_env:?} {:?}",
                b.python.text,
                ours.0,
                ours.2,
                theirs.0,
                theirs.2
            );
            compared += 1;
        }
    }
    (compared, fell_back)
}

/// One test: Python stays with the thread that started it.
#[test]
fn both_tiers_agree() {
    let mut host = host();
    listings_and_golden_cases(&mut host);
    random_blocks(&mut host);
}

fn listings_and_golden_cases(host: &mut PythonHost) {
    let mut r = Random(1);
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests");
    let read = |f: &str| std::fs::read_to_string(format!("{root}/{f}")).unwrap();
    let mut texts = vec![
        read("listings/queue_long.prop"),
        read("listings/queue_short.prop"),
        read("listings/zsh_part1.prop") + &read("listings/zsh_part2.prop"),
    ];
    for dir in std::fs::read_dir(format!("{root}/golden"))
        .unwrap()
        .flatten()
    {
        if let Ok(text) = std::fs::read_to_string(dir.path().join("p.prop")) {
            texts.push(text);
        }
    }
    let mut compared = 0;
    for text in texts {
        let l = load_property("p.prop", text.as_bytes(), &Functions::default());
        if let Some(p) = l.model {
            compared += compare(host, &p, 60, &mut r).0;
        }
    }
    assert!(compared > 3000, "{compared}");
}

/// Random expressions and statements of the subset.
fn expression(r: &mut Random, depth: usize) -> String {
    let leaf = |r: &mut Random| {
        let leaves = [
            "x",
            "y",
            "n",
            "m",
            "0",
            "1",
            "2",
            "-1",
            "3.5",
            "0.1",
            "True",
            "False",
            "None",
            "9223372036854775807",
            "1e16",
            "63",
        ];
        leaves[r.below(leaves.len())].to_string()
    };
    if depth == 0 || r.below(4) == 0 {
        return leaf(r);
    }
    let d = depth - 1;
    match r.below(9) {
        0..=3 => {
            let op = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"][r.below(11)];
            format!("({} {op} {})", expression(r, d), expression(r, d))
        }
        4 => {
            let op = ["==", "!=", "<", "<=", ">", ">="][r.below(6)];
            format!("({} {op} {})", expression(r, d), expression(r, d))
        }
        5 => {
            let op = ["and", "or"][r.below(2)];
            format!(
                "({} {op} {} {op} {})",
                expression(r, d),
                expression(r, d),
                expression(r, d)
            )
        }
        6 => format!(
            "({}{})",
            ["-", "+", "~", "not "][r.below(4)],
            expression(r, d)
        ),
        7 => match r.below(2) {
            0 => format!("({} is {}None)", expression(r, d), ["", "not "][r.below(2)]),
            _ => format!(
                "({} if {} else {})",
                expression(r, d),
                expression(r, d),
                expression(r, d)
            ),
        },
        _ => format!(
            "({} < {} <= {})",
            expression(r, d),
            expression(r, d),
            expression(r, d)
        ),
    }
}

fn statement(r: &mut Random, depth: usize, indent: &str) -> String {
    let e = expression(r, 3);
    match r.below(if depth == 0 { 5 } else { 6 }) {
        0 | 1 => format!("{indent}{} = {e}\n", ["n", "m", "x"][r.below(3)]),
        2 => format!(
            "{indent}{} {}= {e}\n",
            ["n", "m", "y"][r.below(3)],
            ["+", "-", "*", "//", "%"][r.below(5)]
        ),
        3 => format!(
            "{indent}print(\"v \" + str({e}), n, \"%d %s|%x\" % ({}, m, y))\n",
            expression(r, 1)
        ),
        4 => format!("{indent}return {e}\n"),
        _ => {
            let inner = format!("{indent}    ");
            let other = if r.below(2) == 0 {
                format!("{indent}else:\n{}", statement(r, depth - 1, &inner))
            } else {
                String::new()
            };
            format!(
                "{indent}if {e}:\n{}{other}",
                statement(r, depth - 1, &inner)
            )
        }
    }
}

fn random_blocks(host: &mut PythonHost) {
    let (mut compared, mut fell_back) = (0, 0);
    for seed in 0..1500 {
        let mut r = Random(seed);
        let body: String = (0..1 + r.below(4))
            .map(|_| statement(&mut r, 2, "    "))
            .collect();
        let text = format!(
            "initialization {{ n = 0; m = 0 }}\nstate init {{ transition {{ event f(x, y) {{\n{body}}} success init failure bad }} }}\nstate bad non-accepting\n"
        );
        let p = load("random.prop", &text);
        let guard = &p.blocks[1];
        assert!(
            matches!(guard.tier, Tier::Typed(_)),
            "{text}\n{:?}",
            guard.tier
        );
        let (c, f) = compare(host, &p, 12, &mut r);
        compared += c;
        fell_back += f;
    }
    assert!(
        compared > 5000,
        "{compared} compared, {fell_back} fell back"
    );
}

//! Flat code means what the interpreter means, or it gives up and leaves no trace.

use super::*;
use crate::interp::{self, Params};
use crate::layout::Layout;
use verde_property::{Functions, Tier, load_property};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

fn expression(r: &mut Random, depth: usize) -> String {
    if depth == 0 || r.below(3) == 0 {
        let leaves = [
            "x", "y", "n", "m", "k", "0", "1", "7", "-1", "0.5", "True", "None",
        ];
        return r.one(&leaves).to_string();
    }
    let (a, b, c) = (
        expression(r, depth - 1),
        expression(r, depth - 1),
        expression(r, depth - 1),
    );
    match r.below(12) {
        0..=3 => format!("({a} {} {b})", r.one(&["+", "-", "*"])),
        4 => format!("({a} {} {b})", r.one(&["/", "//", "%", "&", "<<"])),
        5..=7 => format!("({a} {} {b})", r.one(&["==", "!=", "<", "<=", ">", ">="])),
        8 => {
            let op = r.one(&["and", "or"]);
            format!("({a} {op} {b} {op} {c})")
        }
        9 => format!("({}{a})", r.one(&["-", "~", "not "])),
        10 => format!("({a} < {b} <= {c})"),
        _ => format!("({a} if {b} is None else {c})"),
    }
}

fn statement(r: &mut Random, depth: usize, indent: &str) -> String {
    let deep = r.below(4);
    let e = expression(r, deep);
    match r.below(if depth == 0 { 5 } else { 6 }) {
        0 | 1 => format!("{indent}{} = {e}\n", r.one(&["n", "m", "n = k"])),
        2 => format!(
            "{indent}{} {}= {e}\n",
            r.one(&["n", "m"]),
            r.one(&["+", "-"])
        ),
        3 | 4 => format!("{indent}return {e}\n"),
        _ => {
            let inner = format!("{indent}    ");
            let (then, other) = (
                statement(r, depth - 1, &inner),
                statement(r, depth - 1, &inner),
            );
            format!("{indent}if {e}:\n{then}{indent}else:\n{other}")
        }
    }
}

fn value(r: &mut Random) -> Arg<'static> {
    match r.below(16) {
        0 => Arg::None,
        1 => Arg::Bool(true),
        2 => Arg::Int(i64::MAX),
        3 => Arg::Int(i64::MIN),
        4 => Arg::UInt(u64::MAX),
        5 => Arg::Float(f64::NAN),
        6 => Arg::Float(2.0),
        n => Arg::Int(n as i64 - 10),
    }
}

fn cell(r: &mut Random) -> Cell {
    match r.below(40) {
        0 => Cell::UNSET,
        1 => Cell {
            bits: 5,
            tag: Tag::Other,
        },
        _ => match value(r) {
            Arg::Bool(b) => Cell::bool(b),
            Arg::Int(i) => Cell::int(i),
            Arg::UInt(u) => Cell::uint(u),
            Arg::Float(f) => Cell::float(f),
            _ => Cell::NONE,
        },
    }
}

#[test]
fn agrees_with_the_interpreter() {
    let (mut flat_blocks, mut quick_blocks, mut agreed, mut gave_up) = (0, 0, 0, 0);
    for seed in 0..4000 {
        let r = &mut Random(seed);
        let body: String = (0..1 + r.below(3))
            .map(|_| statement(r, 2, "    "))
            .collect();
        let text = format!(
            "slice on q\ninitialization {{ n = 0; m = 0; k = 0 }}\nstate init {{ transition {{ event f(q, x, y) {{\n{body}}} success init failure bad }} }}\nstate bad non-accepting\n"
        );
        let loaded = load_property("p.prop", text.as_bytes(), &Functions::default());
        let p = loaded.model.unwrap_or_else(|| panic!("{text}"));
        let t = &p.state(p.init).transitions[0];
        let block = p.block(t.guard.unwrap());
        let Tier::Typed(code) = &block.tier else {
            panic!("{text}")
        };
        let layout = Layout::new(r.below(3), 1, p.env.len());
        let Some(flat) = Flat::compile(code, &t.params, &layout) else {
            continue;
        };
        flat_blocks += 1;
        quick_blocks += usize::from(flat.quick.is_some());
        for _ in 0..20 {
            let args = [Some(Arg::Int(1)), Some(value(r)), Some(value(r))];
            let mut env: Vec<Cell> = p.env.iter().map(|_| cell(r)).collect();
            let mut slot = vec![0; layout.stride()];
            for (i, c) in env.iter().enumerate() {
                layout.env(i).set(&mut slot, *c);
            }
            let before = slot.clone();
            let (mut undo, keep) = (Undo::new(), r.below(2) == 0);
            let truth = flat.run(&args, &mut slot, &mut undo, keep);
            let after = slot.clone();
            if keep || truth.is_none() {
                roll_back(&mut slot, &mut undo);
                assert_eq!(slot, before, "{body}\n{args:?} {env:?}");
            }
            let Some(truth) = truth else {
                gave_up += 1;
                continue;
            };
            let params = Params {
                uses: &t.params,
                args: &args,
            };
            let mut out = String::new();
            let ran = interp::run(code, params, &mut env, &mut Vec::new(), &mut out);
            assert_eq!(ran, Ok(truth), "{body}\n{args:?}");
            let left: Vec<Cell> = (0..env.len()).map(|i| layout.env(i).get(&after)).collect();
            assert_eq!(left, env, "{body}\n{args:?}");
            agreed += 1;
        }
    }
    assert!(
        flat_blocks > 2500 && quick_blocks > 50 && agreed > 20_000 && gave_up > 2_000,
        "{flat_blocks} {quick_blocks} {agreed} {gave_up}"
    );
}

//! The types that names and expressions of the typed subset can have, by a
//! fixpoint over all blocks of a property.

use crate::ir::*;
use crate::model::{Block, Tier};

/// What a declared C, C++ or Rust type becomes in a block.
pub fn declared(ty: &str) -> Types {
    let t = ty.trim();
    let words: Vec<&str> = t.split_whitespace().collect();
    if t.ends_with(['*', '&']) || t.starts_with('*') || t.starts_with('&') {
        return Types::INT;
    }
    match words.last().copied().unwrap_or("") {
        "bool" | "_Bool" => Types::BOOL,
        "float" | "double" | "f32" | "f64" => Types::FLOAT,
        "str" | "String" => Types::OTHER,
        "int" | "char" | "short" | "long" | "unsigned" | "signed" | "size_t" | "ssize_t" | "i8"
        | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "isize" | "usize"
        | "uintptr_t" | "intptr_t" | "int8_t" | "int16_t" | "int32_t" | "int64_t" | "uint8_t"
        | "uint16_t" | "uint32_t" | "uint64_t" | "off_t" | "pid_t" => Types::INT,
        _ => Types::ANY,
    }
}

/// Fills in the types of every expression; returns those of the environment.
pub fn infer(blocks: &mut [Block], env_len: usize, python_assigned: &[u16]) -> Vec<Types> {
    let mut env = vec![Types::EMPTY; env_len];
    for &i in python_assigned {
        env[i as usize] = Types::ANY;
    }
    loop {
        let before = env.clone();
        for b in blocks.iter_mut() {
            let mut locals: Vec<Types> = b.param_types.clone();
            if let Tier::Typed(code) = &mut b.tier {
                // Locals are assigned in any order over the branches: two rounds reach their union.
                for _ in 0..2 {
                    expressions(code, &locals, &env);
                    let body = std::mem::take(&mut code.body);
                    statements(&body, code, &mut locals, &mut env);
                    code.body = body;
                }
            }
        }
        if env == before {
            return env;
        }
    }
}

fn expressions(code: &mut Code, locals: &[Types], env: &[Types]) {
    // Operands stand before the expressions that use them.
    for i in 0..code.nodes.len() {
        let of = |id: ExprId| code.nodes[id as usize].ty;
        let ty = match &code.nodes[i].expr {
            Expr::Const(c) => match c {
                Const::None => Types::NONE,
                Const::Bool(_) => Types::BOOL,
                Const::Int(_) | Const::UInt(_) => Types::INT,
                Const::Float(_) => Types::FLOAT,
            },
            Expr::Param(p) => locals[*p as usize],
            Expr::Env(e) => env[*e as usize],
            Expr::Neg(v) | Expr::Pos(v) => arithmetic(of(*v), of(*v)),
            Expr::Invert(_) => Types::INT,
            Expr::Not(_) | Expr::Compare(..) | Expr::Chain(..) | Expr::IsNone(_) => Types::BOOL,
            Expr::Binary(BinOp::Div, ..) => Types::FLOAT,
            Expr::Binary(BinOp::Shl | BinOp::Shr, ..) => Types::INT,
            Expr::Binary(BinOp::And | BinOp::Or | BinOp::Xor, l, r) => {
                let both = of(*l).union(of(*r));
                if both == Types::BOOL {
                    Types::BOOL
                } else if both.has(Types::BOOL) {
                    Types::BOOL.union(Types::INT)
                } else {
                    Types::INT
                }
            }
            Expr::Binary(_, l, r) => arithmetic(of(*l), of(*r)),
            Expr::And(list) | Expr::Or(list) => {
                list.iter().fold(Types::EMPTY, |t, v| t.union(of(*v)))
            }
            Expr::IfElse { then, other, .. } => of(*then).union(of(*other)),
        };
        code.nodes[i].ty = ty;
    }
}

fn arithmetic(l: Types, r: Types) -> Types {
    let mut t = Types::EMPTY;
    let whole = Types::INT.union(Types::BOOL);
    if l.has(whole) && r.has(whole) {
        t = t.union(Types::INT);
    }
    if l.has(Types::FLOAT) || r.has(Types::FLOAT) {
        t = t.union(Types::FLOAT);
    }
    if l.has(Types::OTHER) || r.has(Types::OTHER) {
        t = Types::ANY;
    }
    t
}

fn statements(body: &[Stmt], code: &Code, locals: &mut [Types], env: &mut [Types]) {
    for s in body {
        match s {
            Stmt::Assign(targets, v) => {
                let ty = code.node(*v).ty;
                for t in targets {
                    let slot = match t {
                        Target::Param(p) => &mut locals[*p as usize],
                        Target::Env(e) => &mut env[*e as usize],
                    };
                    *slot = slot.union(ty);
                }
            }
            Stmt::If(_, a, b) => {
                statements(a, code, locals, env);
                statements(b, code, locals, env);
            }
            Stmt::Return(_) | Stmt::Print(_) | Stmt::Eval(_) => {}
        }
    }
}

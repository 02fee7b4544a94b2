//! From the typed tree to flat code.

use super::quick::Quick;
use super::{Flat, From, Op, TEMPORARIES, To};
use crate::cell::Cell;
use crate::host::Truth;
use crate::layout::Layout;
use crate::num::Num;
use verde_property::ParamUse;
use verde_property::ir::{BinOp, CmpOp, Code, Const, Expr, ExprId, Stmt, Target};

/// Longest code; a longer block gains nothing.
const LONGEST: usize = 64;

/// A place in the code that is not known yet.
type Label = u16;

struct Compiler<'a> {
    code: &'a Code,
    uses: &'a [ParamUse],
    layout: &'a Layout,
    /// Jumps name labels until the end.
    ops: Vec<Op>,
    consts: Vec<Cell>,
    labels: Vec<u16>,
    temporaries: usize,
}

impl Flat {
    /// For slots of this layout; `uses` are the event's parameters under the numbers
    /// that the block gives them. `None`: the block needs more than flat code can.
    pub fn compile(code: &Code, uses: &[ParamUse], layout: &Layout) -> Option<Flat> {
        let mut c = Compiler {
            code,
            uses,
            layout,
            ops: Vec::new(),
            consts: Vec::new(),
            labels: Vec::new(),
            temporaries: 0,
        };
        c.suite(&code.body)?;
        c.finish()
    }
}

impl Compiler<'_> {
    fn finish(mut self) -> Option<Flat> {
        if self.ops.len() > LONGEST {
            return None;
        }
        for op in &mut self.ops {
            if let Op::Jump(to)
            | Op::UnlessHolds(.., to)
            | Op::When(.., to)
            | Op::WhenNone(.., to) = op
            {
                *to = self.labels[*to as usize];
            }
        }
        let first = self.ops.iter().position(stores);
        let after = first.map_or(&[][..], |i| &self.ops[i + 1..]);
        Some(Flat {
            hesitates: !after
                .iter()
                .all(|op| matches!(op, Op::Return(_) | Op::Jump(_))),
            stores: first.is_some(),
            quick: Quick::of(&self.ops),
            ops: self.ops.into(),
            consts: self.consts.into(),
        })
    }

    fn label(&mut self) -> Label {
        self.labels.push(0);
        self.labels.len() as Label - 1
    }

    /// The label is the place of the next op.
    fn bind(&mut self, label: Label) {
        self.labels[label as usize] = self.ops.len() as u16;
    }

    fn suite(&mut self, body: &[Stmt]) -> Option<()> {
        for s in body {
            if self.ops.len() > LONGEST {
                return None;
            }
            self.temporaries = 0;
            match s {
                Stmt::Assign(targets, v) => self.assign(targets, *v)?,
                Stmt::If(test, then, other) => {
                    let (no, end) = (self.label(), self.label());
                    self.branch(*test, false, no)?;
                    self.suite(then)?;
                    self.ops.push(Op::Jump(end));
                    self.bind(no);
                    self.suite(other)?;
                    self.bind(end);
                }
                Stmt::Return(None) => self.ops.push(Op::Return(Truth::None)),
                Stmt::Return(Some(v)) => self.give(*v)?,
                Stmt::Print(_) | Stmt::Eval(_) => return None,
            }
        }
        Some(())
    }

    fn assign(&mut self, targets: &[Target], v: ExprId) -> Option<()> {
        let places = targets.iter().map(|t| match t {
            Target::Env(i) => Some(To::Env(self.layout.env(*i as usize))),
            // A parameter keeps its value in flat code.
            Target::Param(_) => None,
        });
        let places: Vec<To> = places.collect::<Option<_>>()?;
        match &places[..] {
            [to] => self.value_to(v, *to),
            _ => {
                let from = self.value(v)?;
                self.ops.extend(places.iter().map(|to| Op::Copy(from, *to)));
                Some(())
            }
        }
    }

    fn give(&mut self, v: ExprId) -> Option<()> {
        match &self.code.node(v).expr {
            Expr::Compare(..) | Expr::Chain(..) | Expr::Not(_) | Expr::IsNone(_) => {
                let no = self.label();
                self.branch(v, false, no)?;
                self.ops.push(Op::Return(Truth::True));
                self.bind(no);
                self.ops.push(Op::Return(Truth::False));
            }
            _ => {
                let v = self.value(v)?;
                self.ops.push(Op::ReturnTruth(v));
            }
        }
        Some(())
    }

    /// Jumps when the truth of an expression is `when`, else goes on.
    fn branch(&mut self, id: ExprId, when: bool, to: Label) -> Option<()> {
        match &self.code.node(id).expr {
            Expr::Not(v) => self.branch(*v, !when, to)?,
            Expr::And(list) => self.decide(list, when, to, false)?,
            Expr::Or(list) => self.decide(list, when, to, true)?,
            Expr::Compare(op, l, r) => {
                let (l, r) = (self.value(*l)?, self.value(*r)?);
                self.compare(*op, l, r, when, to);
            }
            Expr::Chain(first, rest) => {
                let skip = self.label();
                let mut left = self.value(*first)?;
                for (k, (op, right)) in rest.iter().enumerate() {
                    let right = self.value(*right)?;
                    if when && k + 1 == rest.len() {
                        self.compare(*op, left, right, true, to);
                    } else {
                        self.compare(*op, left, right, false, if when { skip } else { to });
                    }
                    left = right;
                }
                self.bind(skip);
            }
            Expr::IsNone(v) => {
                let v = self.value(*v)?;
                self.ops.push(Op::WhenNone(when, v, to));
            }
            _ => {
                let v = self.value(id)?;
                self.ops.push(Op::When(when, v, to));
            }
        }
        Some(())
    }

    fn compare(&mut self, op: CmpOp, l: From, r: From, when: bool, to: Label) {
        if when {
            // Not the opposite comparison: with nan neither holds.
            let no = self.label();
            self.ops.push(Op::UnlessHolds(op, l, r, no));
            self.ops.push(Op::Jump(to));
            self.bind(no);
        } else {
            self.ops.push(Op::UnlessHolds(op, l, r, to));
        }
    }

    /// `and` and `or`: the first operand with the truth `stop` decides.
    fn decide(&mut self, list: &[ExprId], when: bool, to: Label, stop: bool) -> Option<()> {
        let skip = self.label();
        let (last, others) = list.split_last()?;
        for v in others {
            self.branch(*v, stop, if when == stop { to } else { skip })?;
        }
        self.branch(*last, when, to)?;
        self.bind(skip);
        Some(())
    }

    /// Where the value of an expression is: where it was, or in a temporary.
    fn value(&mut self, id: ExprId) -> Option<From> {
        Some(match &self.code.node(id).expr {
            Expr::Const(Const::Int(i)) => From::Int(*i),
            Expr::Const(c) => {
                self.consts.push(Num::of_const(*c).cell());
                From::Const(self.consts.len() as u16 - 1)
            }
            Expr::Env(i) => From::Env(self.layout.env(*i as usize)),
            Expr::Param(i) => From::Arg(self.uses.get(*i as usize)?.arg),
            _ => {
                self.temporaries += 1;
                if self.temporaries > TEMPORARIES {
                    return None;
                }
                let to = self.temporaries as u8 - 1;
                self.value_to(id, To::Temporary(to))?;
                From::Temporary(to)
            }
        })
    }

    fn value_to(&mut self, id: ExprId, to: To) -> Option<()> {
        match &self.code.node(id).expr {
            Expr::Const(_) | Expr::Env(_) | Expr::Param(_) => {
                let from = self.value(id)?;
                self.ops.push(Op::Copy(from, to));
            }
            Expr::Neg(v) => {
                let v = self.value(*v)?;
                self.ops.push(Op::Negate(v, to));
            }
            Expr::Invert(v) => {
                let v = self.value(*v)?;
                self.ops.push(Op::Invert(v, to));
            }
            Expr::Binary(op, l, r) => {
                let (l, r) = (self.value(*l)?, self.value(*r)?);
                self.ops.push(match op {
                    BinOp::Add => Op::Add(l, r, to),
                    BinOp::Sub => Op::Subtract(l, r, to),
                    _ => Op::Binary(*op, l, r, to),
                });
            }
            Expr::Not(_) | Expr::Compare(..) | Expr::Chain(..) | Expr::IsNone(_) => {
                let (no, end) = (self.label(), self.label());
                self.branch(id, false, no)?;
                self.consts.extend([Cell::bool(true), Cell::bool(false)]);
                let yes = self.consts.len() as u16 - 2;
                self.ops.push(Op::Copy(From::Const(yes), to));
                self.ops.push(Op::Jump(end));
                self.bind(no);
                self.ops.push(Op::Copy(From::Const(yes + 1), to));
                self.bind(end);
            }
            Expr::IfElse { test, then, other } => {
                let (no, end) = (self.label(), self.label());
                self.branch(*test, false, no)?;
                self.value_to(*then, to)?;
                self.ops.push(Op::Jump(end));
                self.bind(no);
                self.value_to(*other, to)?;
                self.bind(end);
            }
            // Their value is that of an operand.
            Expr::And(list) | Expr::Or(list) => {
                let stop = matches!(self.code.node(id).expr, Expr::Or(_));
                let end = self.label();
                let (last, others) = list.split_last()?;
                for v in others {
                    let v = self.value(*v)?;
                    let next = self.label();
                    self.ops.push(Op::When(!stop, v, next));
                    self.ops.push(Op::Copy(v, to));
                    self.ops.push(Op::Jump(end));
                    self.bind(next);
                }
                self.value_to(*last, to)?;
                self.bind(end);
            }
            Expr::Pos(_) => return None,
        }
        Some(())
    }
}

fn stores(op: &Op) -> bool {
    match op {
        Op::Copy(_, to)
        | Op::Add(.., to)
        | Op::Subtract(.., to)
        | Op::Binary(.., to)
        | Op::Negate(_, to)
        | Op::Invert(_, to) => matches!(to, To::Env(_)),
        _ => false,
    }
}

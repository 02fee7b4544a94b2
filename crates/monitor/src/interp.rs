//! Runs blocks of the typed subset.
//!
//! A block either runs to its end or bails out with the environment as it was,
//! so that Python can run it from the beginning: nothing is stored or printed
//! before that is certain.

use crate::cell::{Arg, Cell};
use crate::host::Truth;
use crate::num::{self, Num, Trouble};
use verde_property::ParamUse;
use verde_property::ir::{Code, Expr, ExprId, Piece, Stmt, Target};
use verde_property::source::Span;

/// Why a block did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bail {
    /// Python can run it: a value of another kind, or too large.
    Python { why: &'static str, span: Span },
    /// Python would raise this.
    Raise { error: String, span: Span },
}

/// The event's parameters under the numbers that the block gives them.
#[derive(Clone, Copy)]
pub struct Params<'a> {
    pub uses: &'a [ParamUse],
    pub args: &'a [Option<Arg<'a>>],
}

impl<'a> Params<'a> {
    pub const NONE: Params<'static> = Params {
        uses: &[],
        args: &[],
    };

    pub fn get(&self, i: usize) -> Arg<'a> {
        self.uses
            .get(i)
            .and_then(|u| self.args.get(u.arg as usize).copied().flatten())
            .unwrap_or(Arg::None)
    }
}

/// Takes back what was written since `undo` had `mark` entries.
fn roll_back(env: &mut [Cell], undo: &mut Vec<(u16, Cell)>, mark: usize) {
    for (i, old) in undo.drain(mark..).rev() {
        env[i as usize] = old;
    }
}

/// Runs `code`. What it overwrites is added to `undo`, and lines that it prints to
/// `out`, each with its newline.
pub fn run(
    code: &Code,
    params: Params,
    env: &mut [Cell],
    undo: &mut Vec<(u16, Cell)>,
    out: &mut String,
) -> Result<Truth, Box<Bail>> {
    let mark = undo.len();
    let printed = out.len();
    let mut r = Run {
        code,
        params,
        env,
        undo,
        locals: Vec::new(),
        out,
    };
    match r.suite(&code.body) {
        Ok(Some(v)) => Ok(v),
        Ok(None) => Ok(Truth::None),
        Err(b) => {
            roll_back(r.env, r.undo, mark);
            // Python will print it again; what it would have raised, it would have printed before.
            if matches!(*b, Bail::Python { .. }) {
                r.out.truncate(printed);
            }
            Err(b)
        }
    }
}

struct Run<'a> {
    code: &'a Code,
    params: Params<'a>,
    env: &'a mut [Cell],
    undo: &'a mut Vec<(u16, Cell)>,
    /// Parameters that the block assigned.
    locals: Vec<(u16, Num)>,
    out: &'a mut String,
}

impl Run<'_> {
    fn suite(&mut self, body: &[Stmt]) -> Result<Option<Truth>, Box<Bail>> {
        for s in body {
            match s {
                Stmt::Assign(targets, v) => {
                    let value = self.eval(*v)?;
                    for t in targets {
                        match *t {
                            Target::Env(i) => {
                                let cell = &mut self.env[i as usize];
                                self.undo.push((i, *cell));
                                *cell = value.cell();
                            }
                            Target::Param(i) => match self.locals.iter_mut().find(|(k, _)| *k == i)
                            {
                                Some((_, v)) => *v = value,
                                None => self.locals.push((i, value)),
                            },
                        }
                    }
                }
                Stmt::If(test, then, other) => {
                    let branch = if self.eval(*test)?.truth() {
                        then
                    } else {
                        other
                    };
                    if let Some(v) = self.suite(branch)? {
                        return Ok(Some(v));
                    }
                }
                Stmt::Return(None) => return Ok(Some(Truth::None)),
                Stmt::Return(Some(v)) => {
                    return Ok(Some(Truth::of(self.eval(*v)?)));
                }
                Stmt::Print(pieces) => self.print(pieces)?,
                Stmt::Eval(v) => {
                    self.eval(*v)?;
                }
            }
        }
        Ok(None)
    }

    fn eval(&mut self, id: ExprId) -> Result<Num, Box<Bail>> {
        let code = self.code;
        match &code.node(id).expr {
            Expr::Const(c) => Ok(Num::of_const(*c)),
            Expr::Param(i) => self.param(*i, id),
            Expr::Env(i) => Num::of_cell(self.env[*i as usize]).ok_or_else(|| {
                Box::new(Bail::Python {
                    why: "a name has no value here, or one that only Python has",
                    span: code.node(id).span,
                })
            }),
            Expr::Neg(v) => {
                let v = self.eval(*v)?;
                num::negate(v).map_err(|t| self.trouble(t, id))
            }
            Expr::Pos(v) => {
                let v = self.eval(*v)?;
                num::plus(v).map_err(|t| self.trouble(t, id))
            }
            Expr::Invert(v) => {
                let v = self.eval(*v)?;
                num::invert(v).map_err(|t| self.trouble(t, id))
            }
            Expr::Not(v) => Ok(Num::Bool(!self.eval(*v)?.truth())),
            Expr::Binary(op, l, r) => {
                let (l, r) = (self.eval(*l)?, self.eval(*r)?);
                num::binary(*op, l, r).map_err(|t| self.trouble(t, id))
            }
            Expr::Compare(op, l, r) => {
                let (l, r) = (self.eval(*l)?, self.eval(*r)?);
                num::compare(*op, l, r)
                    .map(Num::Bool)
                    .map_err(|t| self.trouble(t, id))
            }
            Expr::Chain(first, rest) => {
                let mut left = self.eval(*first)?;
                for (op, r) in rest {
                    let right = self.eval(*r)?;
                    if !num::compare(*op, left, right).map_err(|t| self.trouble(t, id))? {
                        return Ok(Num::Bool(false));
                    }
                    left = right;
                }
                Ok(Num::Bool(true))
            }
            Expr::And(list) => self.decide(list, false),
            Expr::Or(list) => self.decide(list, true),
            Expr::IfElse { test, then, other } => {
                let branch = if self.eval(*test)?.truth() {
                    then
                } else {
                    other
                };
                self.eval(*branch)
            }
            Expr::IsNone(v) => Ok(Num::Bool(self.eval(*v)? == Num::None)),
        }
    }

    /// The first value whose truth is `stop`, else the last one.
    fn decide(&mut self, list: &[ExprId], stop: bool) -> Result<Num, Box<Bail>> {
        let mut value = Num::None;
        for v in list {
            value = self.eval(*v)?;
            if value.truth() == stop {
                break;
            }
        }
        Ok(value)
    }

    fn param(&self, i: u16, id: ExprId) -> Result<Num, Box<Bail>> {
        if !self.locals.is_empty()
            && let Some((_, v)) = self.locals.iter().find(|(k, _)| *k == i)
        {
            return Ok(*v);
        }
        Ok(match self.params.get(i as usize) {
            Arg::None => Num::None,
            Arg::Bool(b) => Num::Bool(b),
            Arg::Int(i) => Num::Int(i),
            Arg::UInt(u) => Num::UInt(u),
            Arg::Float(f) => Num::Float(f),
            Arg::Str(_) | Arg::Json(_) => {
                return Err(Box::new(Bail::Python {
                    why: "a parameter is a string or a structure",
                    span: self.code.node(id).span,
                }));
            }
        })
    }

    #[cold]
    fn trouble(&self, t: Trouble, id: ExprId) -> Box<Bail> {
        let span = self.code.node(id).span;
        Box::new(match t {
            Trouble::Wide => Bail::Python {
                why: "a number needs more than 64 bits",
                span,
            },
            Trouble::Type => Bail::Python {
                why: "the operands do not go together",
                span,
            },
            Trouble::ZeroDivision(text) => Bail::Raise {
                error: format!("ZeroDivisionError: {text}"),
                span,
            },
            Trouble::NegativeShift => Bail::Raise {
                error: "ValueError: negative shift count".into(),
                span,
            },
        })
    }

    /// The whole line or, when a value raises, nothing of it.
    fn print(&mut self, pieces: &[Piece]) -> Result<(), Box<Bail>> {
        let start = self.out.len();
        let written = self.pieces(pieces);
        match written {
            Ok(()) => self.out.push('\n'),
            Err(_) => self.out.truncate(start),
        }
        written
    }

    fn pieces(&mut self, pieces: &[Piece]) -> Result<(), Box<Bail>> {
        for p in pieces {
            match p {
                Piece::Text(t) => self.out.push_str(t),
                Piece::Str(v) => {
                    // A string prints as itself.
                    if let Expr::Param(i) = self.code.node(*v).expr
                        && let Arg::Str(s) = self.params.get(i as usize)
                        && !self.locals.iter().any(|(k, _)| *k == i)
                    {
                        self.out.push_str(s);
                        continue;
                    }
                    let value = self.eval(*v)?;
                    num::text(value, self.out);
                }
                Piece::Decimal(v) => {
                    let value = self.eval(*v)?;
                    num::decimal(value, self.out).map_err(|t| self.trouble(t, *v))?;
                }
                Piece::Hex(v) => {
                    let value = self.eval(*v)?;
                    num::hex(value, self.out).map_err(|t| self.trouble(t, *v))?;
                }
            }
        }
        Ok(())
    }
}

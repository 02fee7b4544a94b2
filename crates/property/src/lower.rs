//! From Python's syntax to the typed subset, or the reason why a block is not in it.

use crate::block::PyText;
use crate::ir::*;
use crate::limits;
use crate::load::Functions;
use crate::source::Span;
use ruff_python_ast as py;
use ruff_text_size::Ranged;

/// Why a block needs Python.
#[derive(Clone, Debug)]
pub struct Reason {
    pub text: String,
    pub span: Span,
}

pub struct Names<'a> {
    pub params: &'a [String],
    pub env: &'a [String],
    pub functions: &'a Functions,
}

pub fn lower(text: &PyText, body: &[py::Stmt], names: &Names) -> Result<Code, Reason> {
    let mut l = Lower {
        text,
        names,
        code: Code::default(),
    };
    let body = l.suite(body, 0)?;
    l.code.body = body;
    Ok(l.code)
}

struct Lower<'a> {
    text: &'a PyText,
    names: &'a Names<'a>,
    code: Code,
}

type Lowered<T> = Result<T, Reason>;

impl Lower<'_> {
    fn span(&self, node: impl Ranged) -> Span {
        self.text.span(
            node.range().start().to_usize(),
            node.range().end().to_usize(),
        )
    }

    fn no<T>(&self, node: impl Ranged, text: impl Into<String>) -> Lowered<T> {
        Err(Reason {
            text: text.into(),
            span: self.span(node),
        })
    }

    fn add(&mut self, expr: Expr, span: Span) -> ExprId {
        self.code.nodes.push(Node {
            expr,
            ty: Types::EMPTY,
            span,
        });
        (self.code.nodes.len() - 1) as ExprId
    }

    fn suite(&mut self, body: &[py::Stmt], depth: usize) -> Lowered<Vec<Stmt>> {
        let mut out = Vec::new();
        for s in body {
            if depth > limits::TYPED_DEPTH {
                return self.no(s, "it is nested too deeply");
            }
            self.stmt(s, depth, &mut out)?;
        }
        Ok(out)
    }

    fn stmt(&mut self, s: &py::Stmt, depth: usize, out: &mut Vec<Stmt>) -> Lowered<()> {
        match s {
            py::Stmt::Pass(_) => {}
            py::Stmt::Return(r) => {
                let value = match &r.value {
                    Some(v) => Some(self.expr(v, depth)?),
                    None => None,
                };
                out.push(Stmt::Return(value));
            }
            py::Stmt::Assign(a) => {
                let value = self.expr(&a.value, depth)?;
                let targets = a
                    .targets
                    .iter()
                    .map(|t| self.target(t))
                    .collect::<Lowered<_>>()?;
                out.push(Stmt::Assign(targets, value));
            }
            py::Stmt::AnnAssign(a) => {
                if let Some(v) = &a.value {
                    let value = self.expr(v, depth)?;
                    let target = self.target(&a.target)?;
                    out.push(Stmt::Assign(Box::new([target]), value));
                }
            }
            py::Stmt::AugAssign(a) => {
                let target = self.target(&a.target)?;
                let span = self.span(s);
                let old = self.add(
                    match target {
                        Target::Param(i) => Expr::Param(i),
                        Target::Env(i) => Expr::Env(i),
                    },
                    self.span(&*a.target),
                );
                let value = self.expr(&a.value, depth)?;
                let op = self.operator(a.op, s)?;
                let new = self.add(Expr::Binary(op, old, value), span);
                out.push(Stmt::Assign(Box::new([target]), new));
            }
            py::Stmt::If(i) => {
                let test = self.expr(&i.test, depth)?;
                let then = self.suite(&i.body, depth + 1)?;
                let other = self.clauses(&i.elif_else_clauses, depth + 1)?;
                out.push(Stmt::If(test, then, other));
            }
            py::Stmt::Expr(e) => match &*e.value {
                py::Expr::StringLiteral(_) | py::Expr::EllipsisLiteral(_) => {}
                py::Expr::Call(c) if is_name(&c.func, "print") && !self.shadowed("print") => {
                    let pieces = self.print(c, depth)?;
                    out.push(Stmt::Print(pieces));
                }
                v => {
                    let id = self.expr(v, depth)?;
                    out.push(Stmt::Eval(id));
                }
            },
            other => {
                return self.no(
                    other,
                    format!("{} is not in the typed subset", statement_name(other)),
                );
            }
        }
        Ok(())
    }

    fn clauses(&mut self, clauses: &[py::ElifElseClause], depth: usize) -> Lowered<Vec<Stmt>> {
        let Some((first, rest)) = clauses.split_first() else {
            return Ok(Vec::new());
        };
        if depth > limits::TYPED_DEPTH {
            return self.no(first, "it is nested too deeply");
        }
        let body = self.suite(&first.body, depth)?;
        match &first.test {
            None => Ok(body),
            Some(test) => {
                let test = self.expr(test, depth)?;
                let other = self.clauses(rest, depth + 1)?;
                Ok(vec![Stmt::If(test, body, other)])
            }
        }
    }

    fn target(&self, e: &py::Expr) -> Lowered<Target> {
        let py::Expr::Name(n) = e else {
            return self.no(e, "it assigns to something other than a name");
        };
        match self.resolve(n.id.as_str()) {
            Some(t) => Ok(t),
            None => self.no(e, format!("`{}` is not a name of the property", n.id)),
        }
    }

    fn resolve(&self, name: &str) -> Option<Target> {
        let find = |list: &[String]| list.iter().position(|n| n == name).map(|i| i as u16);
        find(self.names.params)
            .map(Target::Param)
            .or_else(|| find(self.names.env).map(Target::Env))
    }

    /// The property or a functions file gives `str` or `print` another meaning.
    fn shadowed(&self, name: &str) -> bool {
        self.resolve(name).is_some() || self.names.functions.names.contains(name)
    }

    fn operator(&self, op: py::Operator, at: impl Ranged) -> Lowered<BinOp> {
        Ok(match op {
            py::Operator::Add => BinOp::Add,
            py::Operator::Sub => BinOp::Sub,
            py::Operator::Mult => BinOp::Mul,
            py::Operator::Div => BinOp::Div,
            py::Operator::FloorDiv => BinOp::FloorDiv,
            py::Operator::Mod => BinOp::Mod,
            py::Operator::BitAnd => BinOp::And,
            py::Operator::BitOr => BinOp::Or,
            py::Operator::BitXor => BinOp::Xor,
            py::Operator::LShift => BinOp::Shl,
            py::Operator::RShift => BinOp::Shr,
            other => {
                return self.no(
                    at,
                    format!("operator `{}` is not in the typed subset", other.as_str()),
                );
            }
        })
    }

    fn expr(&mut self, e: &py::Expr, depth: usize) -> Lowered<ExprId> {
        if depth > limits::TYPED_DEPTH {
            return self.no(e, "it is nested too deeply");
        }
        let d = depth + 1;
        let expr = match e {
            py::Expr::Name(n) => match self.resolve(n.id.as_str()) {
                Some(Target::Param(i)) => Expr::Param(i),
                Some(Target::Env(i)) => Expr::Env(i),
                None => {
                    return self.no(
                        e,
                        format!(
                            "`{}` is neither a parameter nor assigned by the property",
                            n.id
                        ),
                    );
                }
            },
            py::Expr::NoneLiteral(_) => Expr::Const(Const::None),
            py::Expr::BooleanLiteral(b) => Expr::Const(Const::Bool(b.value)),
            py::Expr::NumberLiteral(n) => Expr::Const(match &n.value {
                py::Number::Int(i) => match (i.as_i64(), i.as_u64()) {
                    (Some(i), _) => Const::Int(i),
                    (_, Some(u)) => Const::UInt(u),
                    _ => return self.no(e, "the integer has more than 64 bits"),
                },
                py::Number::Float(f) => Const::Float(*f),
                py::Number::Complex { .. } => {
                    return self.no(e, "a complex number is not in the typed subset");
                }
            }),
            py::Expr::UnaryOp(u) => {
                let v = self.expr(&u.operand, d)?;
                match u.op {
                    py::UnaryOp::Not => Expr::Not(v),
                    py::UnaryOp::USub => Expr::Neg(v),
                    py::UnaryOp::UAdd => Expr::Pos(v),
                    py::UnaryOp::Invert => Expr::Invert(v),
                }
            }
            py::Expr::BinOp(b) => {
                let op = self.operator(b.op, e)?;
                let left = self.expr(&b.left, d)?;
                let right = self.expr(&b.right, d)?;
                Expr::Binary(op, left, right)
            }
            py::Expr::BoolOp(b) => {
                let values = b
                    .values
                    .iter()
                    .map(|v| self.expr(v, d))
                    .collect::<Lowered<_>>()?;
                match b.op {
                    py::BoolOp::And => Expr::And(values),
                    py::BoolOp::Or => Expr::Or(values),
                }
            }
            py::Expr::If(i) => Expr::IfElse {
                test: self.expr(&i.test, d)?,
                then: self.expr(&i.body, d)?,
                other: self.expr(&i.orelse, d)?,
            },
            py::Expr::Compare(c) => return self.compare(e, c, d),
            other => {
                return self.no(
                    other,
                    format!("{} is not in the typed subset", expression_name(other)),
                );
            }
        };
        let span = self.span(e);
        Ok(self.add(expr, span))
    }

    fn compare(&mut self, e: &py::Expr, c: &py::ExprCompare, depth: usize) -> Lowered<ExprId> {
        let span = self.span(e);
        if let ([op @ (py::CmpOp::Is | py::CmpOp::IsNot)], [right]) = (&*c.ops, &*c.comparators) {
            let tested = match (&*c.left, right) {
                (left, py::Expr::NoneLiteral(_)) => left,
                (py::Expr::NoneLiteral(_), right) => right,
                _ => return self.no(e, "`is` compares with something other than None"),
            };
            let tested = self.expr(tested, depth)?;
            let is = self.add(Expr::IsNone(tested), span);
            return Ok(match op {
                py::CmpOp::IsNot => self.add(Expr::Not(is), span),
                _ => is,
            });
        }
        let first = self.expr(&c.left, depth)?;
        let mut rest = Vec::new();
        for (op, right) in c.ops.iter().zip(&c.comparators) {
            let op = match op {
                py::CmpOp::Eq => CmpOp::Eq,
                py::CmpOp::NotEq => CmpOp::Ne,
                py::CmpOp::Lt => CmpOp::Lt,
                py::CmpOp::LtE => CmpOp::Le,
                py::CmpOp::Gt => CmpOp::Gt,
                py::CmpOp::GtE => CmpOp::Ge,
                other => {
                    return self.no(
                        e,
                        format!("comparison `{}` is not in the typed subset", other.as_str()),
                    );
                }
            };
            rest.push((op, self.expr(right, depth)?));
        }
        Ok(match rest[..] {
            [(op, right)] => self.add(Expr::Compare(op, first, right), span),
            _ => self.add(Expr::Chain(first, rest.into()), span),
        })
    }

    fn print(&mut self, c: &py::ExprCall, depth: usize) -> Lowered<Vec<Piece>> {
        if let Some(k) = c.arguments.keywords.first() {
            return self.no(
                k,
                "print with a keyword argument is not in the typed subset",
            );
        }
        let mut pieces = Vec::new();
        for (i, arg) in c.arguments.args.iter().enumerate() {
            if i > 0 {
                pieces.push(Piece::Text(" ".into()));
            }
            if !self.text_of(arg, &mut pieces, depth)? {
                let v = self.expr(arg, depth)?;
                pieces.push(Piece::Str(v));
            }
        }
        Ok(pieces)
    }

    /// A string expression made of literals, `+`, `str()`, `%` and f-strings;
    /// false when `e` is of another kind.
    fn text_of(&mut self, e: &py::Expr, out: &mut Vec<Piece>, depth: usize) -> Lowered<bool> {
        if depth > limits::TYPED_DEPTH {
            return self.no(e, "it is nested too deeply");
        }
        match e {
            py::Expr::StringLiteral(s) => out.push(Piece::Text(s.value.to_str().to_string())),
            py::Expr::BinOp(b) if b.op == py::Operator::Add => {
                let before = out.len();
                let left = self.text_of(&b.left, out, depth + 1)?;
                let right = left && self.text_of(&b.right, out, depth + 1)?;
                if left && !right {
                    return self.no(&*b.right, "only strings can be added to a string here");
                }
                if !left {
                    out.truncate(before);
                    return Ok(false);
                }
            }
            py::Expr::BinOp(b) if b.op == py::Operator::Mod => {
                let py::Expr::StringLiteral(s) = &*b.left else {
                    return Ok(false);
                };
                let args: Vec<&py::Expr> = match &*b.right {
                    py::Expr::Tuple(t) => t.elts.iter().collect(),
                    one => vec![one],
                };
                self.format(e, s.value.to_str(), &args, out, depth)?;
            }
            py::Expr::Call(c) if is_name(&c.func, "str") && !self.shadowed("str") => {
                match (&*c.arguments.args, &*c.arguments.keywords) {
                    ([one], []) => {
                        if !self.text_of(one, out, depth + 1)? {
                            let v = self.expr(one, depth + 1)?;
                            out.push(Piece::Str(v));
                        }
                    }
                    _ => {
                        return self.no(
                            e,
                            "str() with other than one argument is not in the typed subset",
                        );
                    }
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn format(
        &mut self,
        e: &py::Expr,
        format: &str,
        args: &[&py::Expr],
        out: &mut Vec<Piece>,
        depth: usize,
    ) -> Lowered<()> {
        let mut args = args.iter();
        let mut literal = String::new();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                literal.push(c);
                continue;
            }
            let spec = chars.next();
            if spec == Some('%') {
                literal.push('%');
                continue;
            }
            out.push(Piece::Text(std::mem::take(&mut literal)));
            let Some(arg) = args.next() else {
                return self.no(e, "the format has more places than values");
            };
            if spec == Some('s') && self.text_of(arg, out, depth + 1)? {
                continue;
            }
            let v = self.expr(arg, depth + 1)?;
            out.push(match spec {
                Some('d' | 'i') => Piece::Decimal(v),
                Some('s') => Piece::Str(v),
                Some('x') => Piece::Hex(v),
                _ => return self.no(e, "only %d, %i, %s, %x and %% are in the typed subset"),
            });
        }
        if args.next().is_some() {
            return self.no(e, "the format has fewer places than values");
        }
        out.push(Piece::Text(literal));
        Ok(())
    }
}

fn is_name(e: &py::Expr, name: &str) -> bool {
    matches!(e, py::Expr::Name(n) if n.id.as_str() == name)
}

fn statement_name(s: &py::Stmt) -> &'static str {
    match s {
        py::Stmt::FunctionDef(_) => "a function definition",
        py::Stmt::ClassDef(_) => "a class definition",
        py::Stmt::Delete(_) => "`del`",
        py::Stmt::For(_) => "a `for` loop",
        py::Stmt::While(_) => "a `while` loop",
        py::Stmt::With(_) => "`with`",
        py::Stmt::Match(_) => "`match`",
        py::Stmt::Raise(_) => "`raise`",
        py::Stmt::Try(_) => "`try`",
        py::Stmt::Assert(_) => "`assert`",
        py::Stmt::Import(_) | py::Stmt::ImportFrom(_) => "an import",
        py::Stmt::Global(_) | py::Stmt::Nonlocal(_) => "`global`",
        _ => "this statement",
    }
}

fn expression_name(e: &py::Expr) -> &'static str {
    match e {
        py::Expr::Call(_) => "a call",
        py::Expr::Attribute(_) => "an attribute",
        py::Expr::Subscript(_) => "an index",
        py::Expr::StringLiteral(_)
        | py::Expr::BytesLiteral(_)
        | py::Expr::FString(_)
        | py::Expr::TString(_) => "a string value",
        py::Expr::List(_) | py::Expr::ListComp(_) => "a list",
        py::Expr::Tuple(_) => "a tuple",
        py::Expr::Dict(_) | py::Expr::DictComp(_) => "a dict",
        py::Expr::Set(_) | py::Expr::SetComp(_) => "a set",
        py::Expr::Lambda(_) => "a lambda",
        py::Expr::Named(_) => "`:=`",
        _ => "this expression",
    }
}

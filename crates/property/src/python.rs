//! Python as far as the front end needs it: syntax, and the names that a block
//! assigns and reads.

use crate::ast::RawBlock;
use crate::block::{PyText, Reading, dedent};
use crate::source::{Source, Span};
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{ExceptHandler, Expr, ExprContext, ExprName, ModModule, Pattern, Stmt};
use ruff_python_parser::{ParseError, parse_module};
use ruff_text_size::Ranged;
use std::collections::BTreeMap;

/// A block read as Python.
pub struct PyBlock {
    pub py: PyText,
    pub module: ModModule,
    pub names: Names,
}

/// A syntax error at its place in the file.
pub struct SyntaxError {
    pub span: Span,
    pub message: String,
}

pub fn parse_block(source: &Source, raw: &RawBlock) -> Result<PyBlock, SyntaxError> {
    let py = dedent(source, raw, Reading::SameLevel);
    let (py, module) = match parse_module(&py.text) {
        Ok(parsed) => (py, parsed.into_syntax()),
        Err(first) => {
            let suite = dedent(source, raw, Reading::Suite);
            match parse_module(&suite.text) {
                Ok(parsed) => (suite, parsed.into_syntax()),
                Err(_) => return Err(syntax_error(&py, &first)),
            }
        }
    };
    Ok(PyBlock::new(py, module))
}

/// The same for text that the front end itself made.
pub fn parse_text(py: PyText) -> Result<PyBlock, SyntaxError> {
    match parse_module(&py.text) {
        Ok(parsed) => Ok(PyBlock::new(py, parsed.into_syntax())),
        Err(e) => Err(syntax_error(&py, &e)),
    }
}

impl PyBlock {
    fn new(py: PyText, module: ModModule) -> Self {
        let names = Names::of(&module.body);
        PyBlock { py, module, names }
    }
}

fn syntax_error(py: &PyText, e: &ParseError) -> SyntaxError {
    SyntaxError {
        span: py.span(e.location.start().to_usize(), e.location.end().to_usize()),
        message: format!("Python syntax: {}", e.error),
    }
}

/// Names at the level of the block itself: what nested functions, classes,
/// lambdas and comprehensions keep to themselves is left out.
#[derive(Default, Debug)]
pub struct Names {
    /// In order of first assignment, with the offset of it.
    pub assigned: Vec<(String, usize)>,
    /// First read of each name.
    pub read: BTreeMap<String, usize>,
    pub has_return: bool,
    /// What cannot be in the body of an ordinary function.
    pub forbidden: Option<(usize, &'static str)>,
    /// `from m import *`: the names cannot be known.
    pub star_import: Option<usize>,
}

impl Names {
    pub fn of(body: &[Stmt]) -> Names {
        let mut v = Collect::default();
        v.visit_body(body);
        v.names
    }

    fn assign(&mut self, name: &str, at: usize) {
        if !self.assigned.iter().any(|(n, _)| n == name) {
            self.assigned.push((name.to_string(), at));
        }
    }
}

/// Whether code reads a name, in nested functions, lambdas and comprehensions as well.
pub fn mentions(body: &[Stmt], name: &str) -> bool {
    struct Mentions<'n>(&'n str, bool);
    impl<'a> Visitor<'a> for Mentions<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            let is_read = |n: &ExprName| n.ctx == ExprContext::Load && n.id == self.0;
            self.1 |= expr.as_name_expr().is_some_and(is_read);
            walk_expr(self, expr);
        }
    }
    let mut found = Mentions(name, false);
    found.visit_body(body);
    found.1
}

#[derive(Default)]
struct Collect {
    names: Names,
    /// Inside a comprehension, whose targets are its own.
    comprehension: usize,
}

impl<'a> Visitor<'a> for Collect {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let at = stmt.range().start().to_usize();
        match stmt {
            Stmt::FunctionDef(f) => {
                self.names.assign(f.name.as_str(), at);
                for d in &f.decorator_list {
                    self.visit_expr(&d.expression);
                }
                self.visit_parameters(&f.parameters);
            }
            Stmt::ClassDef(c) => {
                self.names.assign(c.name.as_str(), at);
                for d in &c.decorator_list {
                    self.visit_expr(&d.expression);
                }
            }
            Stmt::Import(i) => {
                for alias in &i.names {
                    let bound = alias.asname.as_ref().map_or_else(
                        || alias.name.split('.').next().unwrap_or(""),
                        |n| n.as_str(),
                    );
                    self.names.assign(bound, at);
                }
            }
            Stmt::ImportFrom(i) => {
                if i.module
                    .as_ref()
                    .is_some_and(|m| m.as_str() == "__future__")
                {
                    self.names.forbidden = Some((at, "an import from `__future__`"));
                }
                for alias in &i.names {
                    if alias.name.as_str() == "*" {
                        self.names.star_import = Some(at);
                    } else {
                        let bound = alias.asname.as_ref().unwrap_or(&alias.name);
                        self.names.assign(bound.as_str(), at);
                    }
                }
            }
            Stmt::Nonlocal(_) => self.names.forbidden = Some((at, "`nonlocal`")),
            Stmt::Return(_) => {
                self.names.has_return = true;
                walk_stmt(self, stmt);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(h) = handler;
        if let Some(name) = &h.name {
            self.names
                .assign(name.as_str(), name.range().start().to_usize());
        }
        ruff_python_ast::visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(p) => p.name.as_ref(),
            Pattern::MatchStar(p) => p.name.as_ref(),
            Pattern::MatchMapping(p) => p.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.names
                .assign(name.as_str(), name.range().start().to_usize());
        }
        ruff_python_ast::visitor::walk_pattern(self, pattern);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        let at = expr.range().start().to_usize();
        match expr {
            Expr::Name(n) => match n.ctx {
                ExprContext::Load if self.comprehension == 0 => {
                    self.names.read.entry(n.id.to_string()).or_insert(at);
                }
                ExprContext::Load => {}
                _ if self.comprehension == 0 => self.names.assign(n.id.as_str(), at),
                _ => {}
            },
            // A walrus binds in the block even from inside a comprehension.
            Expr::Named(named) => {
                if let Expr::Name(n) = &*named.target {
                    self.names.assign(n.id.as_str(), at);
                }
                self.visit_expr(&named.value);
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => self.names.forbidden = Some((at, "`yield`")),
            Expr::Await(_) => self.names.forbidden = Some((at, "`await`")),
            Expr::Lambda(_) => {}
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                self.comprehension += 1;
                walk_expr(self, expr);
                self.comprehension -= 1;
            }
            _ => walk_expr(self, expr),
        }
    }
}

/// Words that cannot be a Python name.
pub fn is_keyword(word: &str) -> bool {
    const KEYWORDS: [&str; 35] = [
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
        "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
        "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
        "try", "while", "with", "yield",
    ];
    KEYWORDS.contains(&word)
}

/// The names that every Python block sees without any file.
pub fn is_builtin(word: &str) -> bool {
    const BUILTINS: &[&str] = &[
        "ArithmeticError",
        "AssertionError",
        "AttributeError",
        "BaseException",
        "BaseExceptionGroup",
        "BlockingIOError",
        "BrokenPipeError",
        "BufferError",
        "BytesWarning",
        "ChildProcessError",
        "ConnectionAbortedError",
        "ConnectionError",
        "ConnectionRefusedError",
        "ConnectionResetError",
        "DeprecationWarning",
        "EOFError",
        "Ellipsis",
        "EncodingWarning",
        "EnvironmentError",
        "Exception",
        "ExceptionGroup",
        "FileExistsError",
        "FileNotFoundError",
        "FloatingPointError",
        "FutureWarning",
        "GeneratorExit",
        "IOError",
        "ImportError",
        "ImportWarning",
        "IndentationError",
        "IndexError",
        "InterruptedError",
        "IsADirectoryError",
        "KeyError",
        "KeyboardInterrupt",
        "LookupError",
        "MemoryError",
        "ModuleNotFoundError",
        "NameError",
        "NotADirectoryError",
        "NotImplemented",
        "NotImplementedError",
        "OSError",
        "OverflowError",
        "PendingDeprecationWarning",
        "PermissionError",
        "ProcessLookupError",
        "RecursionError",
        "ReferenceError",
        "ResourceWarning",
        "RuntimeError",
        "RuntimeWarning",
        "StopAsyncIteration",
        "StopIteration",
        "SyntaxError",
        "SyntaxWarning",
        "SystemError",
        "SystemExit",
        "TabError",
        "TimeoutError",
        "TypeError",
        "UnboundLocalError",
        "UnicodeDecodeError",
        "UnicodeEncodeError",
        "UnicodeError",
        "UnicodeTranslateError",
        "UnicodeWarning",
        "UserWarning",
        "ValueError",
        "Warning",
        "ZeroDivisionError",
        "__build_class__",
        "__debug__",
        "__doc__",
        "__import__",
        "__loader__",
        "__name__",
        "__package__",
        "__spec__",
        "abs",
        "aiter",
        "all",
        "anext",
        "any",
        "ascii",
        "bin",
        "bool",
        "breakpoint",
        "bytearray",
        "bytes",
        "callable",
        "chr",
        "classmethod",
        "compile",
        "complex",
        "copyright",
        "credits",
        "delattr",
        "dict",
        "dir",
        "divmod",
        "enumerate",
        "eval",
        "exec",
        "exit",
        "filter",
        "float",
        "format",
        "frozenset",
        "getattr",
        "globals",
        "hasattr",
        "hash",
        "help",
        "hex",
        "id",
        "input",
        "int",
        "isinstance",
        "issubclass",
        "iter",
        "len",
        "license",
        "list",
        "locals",
        "map",
        "max",
        "memoryview",
        "min",
        "next",
        "object",
        "oct",
        "open",
        "ord",
        "pow",
        "print",
        "property",
        "quit",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "setattr",
        "slice",
        "sorted",
        "staticmethod",
        "str",
        "sum",
        "super",
        "tuple",
        "type",
        "vars",
        "zip",
    ];
    BUILTINS.binary_search(&word).is_ok() || matches!(word, "gdb" | "monitor")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> (Vec<String>, Vec<String>, bool) {
        let module = parse_module(text).unwrap().into_syntax();
        let n = Names::of(&module.body);
        (
            n.assigned.into_iter().map(|(n, _)| n).collect(),
            n.read.into_keys().collect(),
            n.has_return,
        )
    }

    #[test]
    fn assigned_names_are_the_blocks_own() {
        let (a, r, ret) = names(
            "import os.path, json as j\nfrom m import x as y\ndef f(p):\n  q = 1\n  return q\nclass C:\n  z = 1\n\
             a, (b, *c) = d\ne += 1\ng: int = 2\nfor h in i: pass\nwith k as l: pass\n\
             try: pass\nexcept E as m: pass\nn = [o for o in p2 if (w := o)]\nmatch s:\n case {'k': t, **u}: pass\n\
             lambda v: v2\ndel zz\n",
        );
        let mut a = a;
        a.sort();
        assert_eq!(
            a,
            [
                "C", "a", "b", "c", "e", "f", "g", "h", "j", "l", "m", "n", "os", "t", "u", "w",
                "y", "zz"
            ]
        );
        assert!(r.contains(&"d".to_string()) && !r.contains(&"v2".to_string()));
        assert!(!ret, "a return of a nested function is not the block's");
        assert!(names("if x:\n return 1").2);
    }

    #[test]
    fn builtins_are_sorted_for_the_search() {
        assert!(
            is_builtin("abs")
                && is_builtin("zip")
                && is_builtin("ArithmeticError")
                && is_builtin("len")
        );
        assert!(is_builtin("__name__") && is_builtin("print") && !is_builtin("prnt"));
    }
}

//! Rust's trait objects: their virtual table says which type is behind the pointer.

use crate::bind::Binder;
use crate::builtin;
use crate::error::EvalError;
use crate::eval::eval;
use crate::ir::{Node, Op};
use crate::known::Known;
use crate::nodes::deref;
use crate::scope::{Call, FrameScope, Loaded, Scope, env};
use crate::value::Value;
use verde_symbols::{
    DieId, Kind, Language, LocationError, Memory, Module, NameFilter, Place, Registers, Type,
};

/// Virtual tables that are looked at.
const MOST_TABLES: usize = 100_000;

impl Binder<'_> {
    /// The object of a trait that a pointer leads to, by the type that it has now. Another type later
    /// is told when the expression is evaluated.
    pub(crate) fn concrete(&self, node: &Node) -> Option<Node> {
        let class = node.ty.strip();
        if class.language() != Language::Rust || !matches!(class.kind(), Kind::Record(_)) {
            return None;
        }
        let name = class.qualified_name()?;
        let heads = ["&dyn ", "&mut dyn ", "alloc::boxed::Box<dyn "];
        let is_counted = name.starts_with("alloc::rc::") || name.starts_with("alloc::sync::");
        if is_counted || !heads.iter().any(|h| name.starts_with(h)) {
            return None;
        }
        let member = |name: &str| {
            let found = class.find_member(name)?;
            let op = Op::Member(node.clone().boxed(), found.offset, None);
            Some(Node::new(builtin::unsigned_long(), op))
        };
        let (data, table) = (member("pointer")?, member("vtable")?);
        let now = eval(&table, &mut Still::of(self.lookup.scope)).ok()?;
        let at = now.to_address().ok()?;
        let ty = self.type_of_table(at)?;
        let parts = vec![data, table];
        let pointer = Node::new(ty.pointer_to(), Op::Known(Known::Behind(at), parts));
        deref(pointer).ok()
    }

    /// The type whose virtual table lies at an address.
    fn type_of_table(&self, at: u64) -> Option<Type> {
        let scope = Still::of(self.lookup.scope);
        let is_table = |name: &str| name.ends_with("::{vtable}");
        let wanted = NameFilter {
            fits: &is_table,
            in_paths: false,
        };
        self.lookup.modules().into_iter().find_map(|loaded| {
            let env = env(&scope, &scope, &loaded.module);
            let all = loaded.module.variables_where(&wanted, MOST_TABLES);
            let found = all
                .into_iter()
                .find(|v| matches!(v.item.place(&env, None), Ok(Place::Memory(a)) if a == at))?;
            found.item.ty.containing()
        })
    }
}

/// A scope in which nothing can be changed: for what has to be known to give a name a meaning.
pub(crate) struct Still<'a> {
    scope: &'a dyn Scope,
    /// Another frame than the selected one.
    frame: Option<FrameScope>,
}

impl<'a> Still<'a> {
    pub fn of(scope: &'a dyn Scope) -> Still<'a> {
        Still { scope, frame: None }
    }

    /// The scope of another frame.
    pub fn in_frame(scope: &'a dyn Scope, frame: FrameScope) -> Still<'a> {
        let frame = Some(frame);
        Still { scope, frame }
    }
}

const NOT_NOW: EvalError = EvalError::NoProcess("This needs the program to run.");

impl Memory for Still<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), LocationError> {
        self.scope.read(addr, buf)
    }
}

impl Scope for Still<'_> {
    fn modules(&self) -> &[Loaded] {
        self.scope.modules()
    }

    fn frame(&self) -> Option<&FrameScope> {
        self.frame.as_ref().or_else(|| self.scope.frame())
    }

    fn frame_of(&self, function: DieId) -> Option<FrameScope> {
        self.scope.frame_of(function)
    }

    fn tls(&self, module: &Module) -> Option<u64> {
        self.scope.tls(module)
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), EvalError> {
        Err(NOT_NOW)
    }

    fn write_register(&mut self, _: u16, _: &[u8]) -> Result<(), EvalError> {
        Err(NOT_NOW)
    }

    fn call(&mut self, _: &Call) -> Result<Registers, EvalError> {
        Err(NOT_NOW)
    }

    fn allocate(&mut self, _: u64) -> Result<u64, EvalError> {
        Err(NOT_NOW)
    }

    fn convenience(&self, name: &str) -> Option<Value> {
        self.scope.convenience(name)
    }

    fn set_convenience(&mut self, _: &str, _: Value) {}

    fn history(&self, number: i64) -> Option<Value> {
        self.scope.history(number)
    }

    fn language(&self) -> Language {
        self.scope.language()
    }
}

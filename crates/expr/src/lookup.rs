//! What names mean in a scope.

use crate::ast::{Derive, TypeName};
use crate::builtin;
use crate::error::EvalError;
use crate::ir::{At, Home, Node, Op};
use crate::parser::TypeOracle;
use crate::scope::{Loaded, Scope};
use crate::value::Value;
use std::sync::Arc;
use verde_symbols::{
    FileAddr, Function, FunctionQuery, Kind, Language, Module, RecordKind, Type, Variable,
};

/// Looks names up in a scope: the frame first, its module next, then the others.
pub(crate) struct Lookup<'a> {
    pub scope: &'a dyn Scope,
}

impl TypeOracle for Lookup<'_> {
    fn is_type(&self, name: &str) -> bool {
        if builtin::c_type(name).is_some() {
            return true;
        }
        if self.scope.language() == Language::Rust && builtin::rust_type(name).is_some() {
            return true;
        }
        // A variable hides a type.
        self.local(name).is_none() && self.find_type(None, name).is_some()
    }

    fn is_rust(&self) -> bool {
        self.scope.language() == Language::Rust
    }
}

impl<'a> Lookup<'a> {
    /// The functions of C++ of a name, in whatever scope they are: those of the code around and of
    /// the program, else those of libraries.
    pub fn free_functions(&self, name: &str) -> Vec<Node> {
        let query = FunctionQuery::parse(name);
        let modules = self.modules();
        let (own, others): (Vec<_>, Vec<_>) = modules.into_iter().partition(|l| self.is_own(l));
        for group in [own, others] {
            let nodes = group.iter().flat_map(|loaded| {
                let mut found = loaded.module.functions(&query);
                found.retain(|f| f.die.is_some() && f.language == Language::Cpp);
                found.into_iter().map(|f| self.function_node(loaded, f))
            });
            let nodes: Vec<Node> = nodes.filter_map(Result::ok).collect();
            if !nodes.is_empty() {
                return nodes;
            }
        }
        Vec::new()
    }

    /// The frame's module first, then the program.
    pub fn modules(&self) -> Vec<&'a Loaded> {
        let mut all: Vec<&Loaded> = self.scope.modules().iter().collect();
        all.sort_by_key(|l| (!self.is_around(l), !self.is_program(l)));
        all
    }

    fn is_around(&self, loaded: &Loaded) -> bool {
        let module = self.scope.frame().and_then(|f| f.frame.module.as_ref());
        module.is_some_and(|(module, _)| Arc::ptr_eq(&loaded.module, module))
    }

    fn is_program(&self, loaded: &Loaded) -> bool {
        let program = self.scope.modules().first();
        program.is_some_and(|p| Arc::ptr_eq(&p.module, &loaded.module))
    }

    fn is_own(&self, loaded: &Loaded) -> bool {
        self.is_around(loaded) || self.is_program(loaded)
    }

    /// What a name means in some of the modules.
    fn name_in(&self, modules: &[&'a Loaded], name: &str) -> Option<Result<Node, EvalError>> {
        if let Some(node) = self.global_in(modules, name, None) {
            return Some(Ok(node));
        }
        if let Some((ty, value)) = enumerator_in(modules, name) {
            let op = Op::Constant(Value::integer(ty.clone(), value));
            return Some(Ok(Node::new(ty, op)));
        }
        let (loaded, function) = function_in(modules, name)?;
        Some(self.function_node(loaded, function))
    }

    fn near(&self, module: &Arc<Module>) -> Option<FileAddr> {
        let frame = self.scope.frame()?;
        let (here, _) = frame.frame.module.as_ref()?;
        Arc::ptr_eq(here, module).then(|| frame.file_addr())?
    }

    /// A variable of the selected frame.
    pub fn local(&self, name: &str) -> Option<Node> {
        let frame = self.scope.frame()?;
        let (module, _) = frame.frame.module.as_ref()?;
        let (die, addr) = (frame.die()?, frame.file_addr()?);
        let blocks = module.blocks(die, addr);
        let variables = blocks.into_iter().flat_map(|b| b.variables);
        let found = variables.into_iter().find(|v| v.name == name)?;
        let home = Home(module.clone());
        if frame.at_entry && found.is_parameter {
            let function = module.function_at(addr)?;
            let arguments = module.entry_arguments(&function);
            let argument = arguments.into_iter().find(|a| a.variable.name == name);
            if let Some(argument) = argument {
                let op = Op::Argument(Box::new(argument), home, function.entry);
                return Some(Node::new(found.ty, op));
            }
        }
        Some(Node::new(found.ty.clone(), Op::Variable(found, home)))
    }

    /// Anything a name can mean besides a type.
    pub fn name(&self, name: &str) -> Result<Node, EvalError> {
        if let Some(node) = self.local(name) {
            return Ok(node);
        }
        if let Some(node) = self.member_of_this(name) {
            return Ok(node);
        }
        let modules = self.modules();
        // What the code around and the program call so comes before a library's statics.
        let own = modules.iter().take_while(|l| self.is_own(l)).count();
        let (own, others) = modules.split_at(own);
        for group in own.chunks(1).chain([others]) {
            if let Some(node) = self.name_in(group, name) {
                return node;
            }
        }
        if let Some(node) = self.static_of_function(name) {
            return Ok(node);
        }
        match self.data_symbol(name) {
            Some(_) => Err(EvalError::UnknownSymbolType(name.to_owned())),
            None => Err(EvalError::UnknownName(name.to_owned())),
        }
    }

    /// A member of the object a C++ member function works on.
    fn member_of_this(&self, name: &str) -> Option<Node> {
        if self.scope.language() != Language::Cpp {
            return None;
        }
        let this = self.local("this")?;
        let class = this.ty.strip().target()?.strip();
        let member = class.find_member(name).filter(|m| !m.is_static)?;
        let object = Node::new(class, Op::Deref(this.boxed()));
        let op = Op::Member(object.boxed(), member.offset, member.bits);
        Some(Node::new(member.ty, op))
    }

    /// A global or static variable, of one file if that is given.
    pub fn global(&self, name: &str, file: Option<&str>) -> Option<Node> {
        self.global_in(&self.modules(), name, file)
    }

    fn global_in(&self, modules: &[&Loaded], name: &str, file: Option<&str>) -> Option<Node> {
        for loaded in modules {
            let mut found = loaded.module.globals(name, self.near(&loaded.module));
            if let Some(file) = file {
                found.retain(|v| v.is_in_file(file));
            }
            if let Some(variable) = found.into_iter().next() {
                return Some(self.variable_node(loaded, variable));
            }
        }
        None
    }

    pub fn variable_node(&self, loaded: &Loaded, variable: Variable) -> Node {
        let ty = variable.ty.clone();
        Node::new(ty, Op::Variable(variable, Home(loaded.module.clone())))
    }

    /// A function; several of one name mean the first.
    pub fn function(&self, name: &str) -> Option<(&'a Loaded, Function)> {
        function_in(&self.modules(), name)
    }

    /// The functions of C++ that share a name and a scope with one of them.
    pub fn overloads(&self, name: &str, at: &At) -> Vec<Node> {
        let all = self.scope.modules().iter();
        let Some(loaded) = all.into_iter().find(|l| Arc::ptr_eq(&l.module, &at.module)) else {
            return Vec::new();
        };
        let mut found = loaded.module.functions(&FunctionQuery::parse(name));
        found.retain(|f| f.die.is_some() && f.language == Language::Cpp);
        let own = found.iter().find(|f| f.entry == at.addr);
        let Some(scope) = own.map(|f| scope_of(&f.name).to_owned()) else {
            return Vec::new();
        };
        found.retain(|f| scope_of(&f.name) == scope);
        let nodes = found.into_iter().map(|f| self.function_node(loaded, f));
        nodes.filter_map(Result::ok).collect()
    }

    fn function_node(&self, loaded: &Loaded, function: Function) -> Result<Node, EvalError> {
        let ty = match loaded.module.function_type(&function) {
            Some(ty) => ty,
            // gdb calls it <text variable, no debug info>: an int function of unknown arguments.
            None => builtin::int().function_returning(),
        };
        let at = At {
            module: loaded.module.clone(),
            addr: function.entry,
        };
        Ok(Node::new(ty, Op::Symbol(at, Some(Box::new(function)))))
    }

    /// `f::x`: a static variable of a function.
    fn static_of_function(&self, name: &str) -> Option<Node> {
        let (function, variable) = name.rsplit_once("::")?;
        self.variable_of_function(function, variable)
    }

    /// A variable of another function: a static one, or a local if that function is selected.
    pub fn variable_of_function(&self, function: &str, name: &str) -> Option<Node> {
        let (loaded, function) = self.function(function)?;
        let blocks = loaded.module.blocks(function.die?, function.entry);
        let variables = blocks.into_iter().flat_map(|b| b.variables);
        let found = variables
            .into_iter()
            .find(|v| v.name == name && v.is_static())?;
        Some(self.variable_node(loaded, found))
    }

    /// A symbol of the linker that is not code.
    pub fn data_symbol(&self, name: &str) -> Option<At> {
        let mut modules = self.modules().into_iter();
        modules.find_map(|l| {
            let mut symbols = l.module.symbols().iter();
            let symbol = symbols.find(|s| s.name == name && !s.is_code && !s.is_tls)?;
            Some(At {
                module: l.module.clone(),
                addr: symbol.addr,
            })
        })
    }

    /// A type by name, with its keyword if one was written.
    pub fn find_type(&self, tag: Option<&str>, name: &str) -> Option<Type> {
        let language = self.scope.language();
        if tag.is_none() {
            if language == Language::Rust
                && let Some(ty) = builtin::rust_type(name)
            {
                return Some(ty);
            }
            if let Some(ty) = builtin::c_type(name) {
                return Some(ty);
            }
        }
        let fits = |ty: &Type| match (tag, ty.kind()) {
            (Some("struct" | "class"), Kind::Record(k)) => *k != RecordKind::Union,
            (Some("union"), Kind::Record(k)) => *k == RecordKind::Union,
            (Some("enum"), Kind::Enum) => true,
            (Some(_), _) => false,
            // C keeps tags apart from other names.
            (None, Kind::Record(_) | Kind::Enum) => ty.language() != Language::C,
            (None, _) => true,
        };
        if let Some(frame) = self.scope.frame()
            && let (Some((module, _)), Some(die), Some(addr)) =
                (&frame.frame.module, frame.die(), frame.file_addr())
        {
            let local = module.local_types(die, addr, name);
            if let Some(ty) = local.into_iter().find(|t| fits(t)) {
                return Some(ty);
            }
        }
        let mut modules = self.modules().into_iter();
        modules.find_map(|l| {
            let found = l.module.types(name, self.near(&l.module));
            found.into_iter().find(|t| fits(t))
        })
    }

    /// A type as written.
    pub fn type_name(&self, written: &TypeName) -> Result<Type, EvalError> {
        let base = self.find_type(written.tag, &written.name).ok_or_else(|| {
            let kind = match written.tag {
                Some("union") => "union",
                Some("enum") => "enum",
                Some(_) => "struct",
                None => return EvalError::UnknownName(written.name.clone()),
            };
            EvalError::UnknownType(kind, written.name.clone())
        })?;
        let derive = |ty: Type, step: &Derive| match step {
            Derive::Pointer => ty.pointer_to(),
            Derive::Reference => ty.reference_to(),
            Derive::Array(n) => ty.array_of(*n),
            Derive::Function => ty.function_returning(),
            Derive::Const => ty.constant(),
        };
        Ok(written.derived.iter().fold(base, derive))
    }
}

fn enumerator_in(modules: &[&Loaded], name: &str) -> Option<(Type, i128)> {
    let mut modules = modules.iter();
    modules.find_map(|l| l.module.enumerators(name).into_iter().next())
}

fn function_in<'a>(modules: &[&'a Loaded], name: &str) -> Option<(&'a Loaded, Function)> {
    let query = FunctionQuery::parse(name);
    modules.iter().find_map(|l| {
        let mut found = l.module.functions(&query);
        // Prefer what debug information describes, and the scope as written.
        found.sort_by_key(|f| (f.die.is_none(), scope_of(&f.name) != scope_of(name)));
        Some((*l, found.into_iter().next()?))
    })
}

/// The scopes before the last name of a path.
fn scope_of(path: &str) -> &str {
    let mut depth = 0usize;
    let mut end = 0;
    for (at, c) in path.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && path[at..].starts_with("::") => end = at,
            _ => {}
        }
    }
    path[..end].trim_start_matches("::")
}

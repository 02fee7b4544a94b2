//! What names mean in a scope.

use crate::ast::{Derive, TypeName};
use crate::bases::member_of_base;
use crate::builtin;
use crate::error::EvalError;
use crate::ir::{At, Home, Node, Op};
use crate::nodes::bad;
use crate::parser::TypeOracle;
use crate::scope::{Loaded, Scope};
use crate::value::Value;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use verde_symbols::{
    FileAddr, Function, FunctionQuery, Kind, Language, Module, Outlook, RecordKind, Symbol, Type,
    Variable,
};

/// How many meanings of an ambiguous name are told.
const MOST: usize = 4;

/// Looks names up in a scope: the frame first, its module next, then the others.
pub(crate) struct Lookup<'a> {
    pub scope: &'a dyn Scope,
    pub(crate) outlook: OnceCell<Outlook>,
    pub(crate) used: OnceCell<Outlook>,
}

impl TypeOracle for Lookup<'_> {
    fn is_type(&self, name: &str) -> bool {
        if builtin::c_type(name).is_some() {
            return true;
        }
        if self.scope.language() == Language::Rust && builtin::rust_type(name).is_some() {
            return true;
        }
        // A variable hides a type, and whatever is seen from here one that is not.
        if self.local(name).is_some() || self.member_of_this(name).is_some() {
            return false;
        }
        self.seen_type(None, name).is_some()
            || (self.find_type(None, name).is_some() && self.name(name).is_err())
    }

    fn is_rust(&self) -> bool {
        self.scope.language() == Language::Rust
    }
}

impl<'a> Lookup<'a> {
    pub fn new(scope: &'a dyn Scope) -> Lookup<'a> {
        Lookup {
            scope,
            outlook: OnceCell::new(),
            used: OnceCell::new(),
        }
    }

    /// The functions of a language of a name, in whatever scope they are: those of the code around and of
    /// the program, else those of libraries.
    pub fn free_functions(&self, name: &str, language: Language) -> Vec<Node> {
        let query = FunctionQuery::parse(name);
        let modules = self.modules();
        let (own, others): (Vec<_>, Vec<_>) = modules.into_iter().partition(|l| self.is_own(l));
        for group in [own, others] {
            let nodes = group.iter().flat_map(|loaded| {
                let mut found = loaded.module.functions(&query);
                found.retain(|f| f.die.is_some() && f.language == language);
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

    pub(crate) fn is_around(&self, loaded: &Loaded) -> bool {
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

    /// What a name means from here: what the code around and the program call so comes before a
    /// library's statics.
    fn seen(&self, name: &str, from: &[&Outlook]) -> Option<Result<Node, EvalError>> {
        let modules = self.modules();
        let own = modules.iter().take_while(|l| self.is_own(l)).count();
        let (own, others) = modules.split_at(own);
        let mut groups = own.chunks(1).chain([others]);
        groups.find_map(|group| {
            let mut from = from.iter().filter(|from| !from.is_empty());
            from.find_map(|from| self.name_in(group, name, from))
        })
    }

    /// What a name means in some of the modules: the nearest variable, constant or function.
    fn name_in(
        &self,
        modules: &[&'a Loaded],
        name: &str,
        from: &Outlook,
    ) -> Option<Result<Node, EvalError>> {
        let variable = self.global_in(modules, name, None, from);
        if let Some((0, node)) = variable {
            return Some(Ok(node));
        }
        let constant = enumerator_in(modules, name, from);
        let function = self.function_in(modules, name, from);
        let ranks = [
            variable.as_ref().map(|v| v.0),
            constant.as_ref().map(|c| c.0),
            function.as_ref().map(|f| f.0),
        ];
        let nearest = ranks.iter().flatten().min().copied()?;
        if let Some((rank, node)) = variable
            && rank == nearest
        {
            return Some(Ok(node));
        }
        if let Some((rank, ty, value)) = constant
            && rank == nearest
        {
            let op = Op::Constant(Value::integer(ty.clone(), value));
            return Some(Ok(Node::new(ty, op)));
        }
        let (_, loaded, function) = function?;
        Some(self.function_node(loaded, function))
    }

    /// A path that leaves out its first scopes means the one thing that is called so.
    fn only_one(&self, name: &str) -> Option<Result<Node, EvalError>> {
        if !name.contains("::") || name.starts_with("::") {
            return None;
        }
        let anywhere = Outlook::anywhere();
        let found = self.seen(name, &[&anywhere])?;
        let meanings = self.meanings(name, &anywhere);
        Some(match meanings.len() {
            0 | 1 => found,
            more => {
                let mut names: Vec<String> = meanings.into_iter().take(MOST).collect();
                if more > MOST {
                    names.push("...".to_owned());
                }
                bad(format!("\"{name}\" is ambiguous: {}", names.join(", ")))
            }
        })
    }

    /// The paths of all variables that a name means, and of functions without their arguments.
    fn meanings(&self, name: &str, from: &Outlook) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let query = FunctionQuery::parse(name);
        for loaded in self.modules().into_iter().filter(|l| self.is_own(l)) {
            let variables = loaded.module.globals(name, None, from).into_iter();
            all.extend(variables.filter_map(|(_, v)| loaded.module.path_of(v.die)));
            let functions = loaded.module.functions_seen(&query, from).into_iter();
            let functions = functions.filter_map(|(_, f)| loaded.module.path_of(f.die?));
            all.extend(functions);
        }
        all
    }

    pub(crate) fn near(&self, module: &Arc<Module>) -> Option<FileAddr> {
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
        let absolute = self.absolute(name);
        let path = absolute.as_deref().unwrap_or(name);
        if let Some(node) = self.seen(path, &[self.outlook(), self.used()]) {
            return node;
        }
        if let Some(node) = self.of_function(path) {
            return Ok(node);
        }
        if let Some(node) = self.only_one(path) {
            return node;
        }
        match self.data_symbol(name) {
            Some(_) => match self.extern_variable(name) {
                Some(node) => Ok(node),
                None => Err(EvalError::UnknownSymbolType(name.to_owned())),
            },
            None => Err(EvalError::UnknownName(name.to_owned())),
        }
    }

    /// A member of the object a C++ member function works on.
    fn member_of_this(&self, name: &str) -> Option<Node> {
        if self.scope.language() != Language::Cpp {
            return None;
        }
        let this = self.local("this")?;
        let object = Node::new(self.class_of_this()?, Op::Deref(this.boxed()));
        let (part, member) = member_of_base(&object, name).filter(|(_, m)| !m.is_static)?;
        let op = Op::Member(part.boxed(), member.offset, member.bits);
        Some(Node::new(member.ty, op))
    }

    /// A global or static variable, of one file if that is given.
    pub fn global(&self, name: &str, file: Option<&str>) -> Option<Node> {
        let found = self.global_in(&self.modules(), name, file, &Outlook::anywhere());
        found.map(|(_, node)| node)
    }

    fn global_in(
        &self,
        modules: &[&Loaded],
        name: &str,
        file: Option<&str>,
        from: &Outlook,
    ) -> Option<(usize, Node)> {
        for loaded in modules {
            let near = self.near(&loaded.module);
            let mut found = loaded.module.globals(name, near, from);
            match file {
                Some(file) => found.retain(|(_, v)| v.is_in_file(file)),
                None => found.retain(|(_, v)| self.reaches(loaded, v.linkage_name())),
            }
            if let Some((rank, variable)) = found.into_iter().next() {
                return Some((rank, self.variable_node(loaded, variable)));
            }
        }
        None
    }

    pub fn variable_node(&self, loaded: &Loaded, variable: Variable) -> Node {
        let ty = variable.ty.clone();
        Node::new(ty, Op::Variable(variable, Home(loaded.module.clone())))
    }

    /// A function; several of one name mean the first.
    fn function(&self, name: &str) -> Option<(&'a Loaded, Function)> {
        let modules = self.modules();
        let near = self.function_in(&modules, name, self.outlook());
        let found = near.or_else(|| self.function_in(&modules, name, &Outlook::anywhere()));
        found.map(|(_, loaded, function)| (loaded, function))
    }

    fn function_in(
        &self,
        modules: &[&'a Loaded],
        name: &str,
        from: &Outlook,
    ) -> Option<(usize, &'a Loaded, Function)> {
        let query = FunctionQuery::parse(name);
        modules.iter().find_map(|l| {
            let near = self.near(&l.module);
            let mut found = l.module.functions_seen(&query, from);
            // Prefer what debug information describes, the scope as written, and the file around.
            found.sort_by_key(|(rank, f)| {
                let other_scope = scope_of(&f.name) != scope_of(name);
                (
                    f.die.is_none(),
                    *rank,
                    other_scope,
                    !l.module.is_beside(f, near),
                )
            });
            let (rank, function) = found.into_iter().next()?;
            Some((rank, *l, function))
        })
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
        let described = match function.is_ifunc {
            true => chosen_type(&loaded.module, &function),
            false => loaded.module.function_type(&function),
        };
        let ty = match described {
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

    /// `f::x`: a variable of a function.
    fn of_function(&self, name: &str) -> Option<Node> {
        let (function, variable) = name.rsplit_once("::")?;
        self.variable_of_function(function, variable)
    }

    /// A variable of a function: a static one, or a local of the selected or innermost frame of
    /// that function.
    pub fn variable_of_function(&self, function: &str, name: &str) -> Option<Node> {
        let (loaded, function) = self.function(function)?;
        let die = function.die?;
        let blocks = loaded.module.blocks(die, function.entry);
        let mut variables = blocks.into_iter().flat_map(|b| b.variables);
        let found = variables.find(|v| v.name == name)?;
        if found.is_static() || found.is_thread_local() {
            return Some(self.variable_node(loaded, found));
        }
        // Where there is no frame at all, nobody asks for one of several.
        let selected = self.scope.frame()?.die();
        let own = self.local(name).filter(|_| selected == Some(die));
        if let Some(own) = own.filter(|n| n.locals() == [found.die]) {
            return Some(own);
        }
        let home = Home(loaded.module.clone());
        Some(Node::new(found.ty.clone(), Op::Elsewhere(found, home, die)))
    }

    /// A symbol of the linker that is not code.
    pub fn data_symbol(&self, name: &str) -> Option<At> {
        let modules = self.modules().into_iter();
        let reached = modules.filter(|l| self.reaches(l, name));
        datum(reached, |s| s.name == name)
    }

    /// Whether a name can mean what a module calls so. The code around has names of its own.
    fn reaches(&self, loaded: &Loaded, linkage: &str) -> bool {
        self.is_around(loaded) || self.scope.reaches(&loaded.module, linkage)
    }

    /// A variable that is declared here and defined where nothing describes it. It is where the
    /// loader takes it from: the program's own copy comes before the library's.
    fn extern_variable(&self, name: &str) -> Option<Node> {
        let mut declaring = self.modules().into_iter();
        let ty = declaring.find_map(|l| l.module.extern_type(name))?;
        let at = datum(self.scope.modules(), |s| s.is_global && s.name == name)?;
        Some(Node::new(ty, Op::Symbol(at, None)))
    }

    /// A type by name, with its keyword if one was written: one that is seen from here, else the
    /// only one that is called so.
    pub fn find_type(&self, tag: Option<&str>, name: &str) -> Option<Type> {
        let seen = self.seen_type(tag, name);
        seen.or_else(|| self.only_type(tag, self.absolute(name).as_deref().unwrap_or(name)))
    }

    fn seen_type(&self, tag: Option<&str>, name: &str) -> Option<Type> {
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
        if let Some(frame) = self.scope.frame()
            && let (Some((module, _)), Some(die), Some(addr)) =
                (&frame.frame.module, frame.die(), frame.file_addr())
        {
            let local = module.local_types(die, addr, name);
            if let Some(ty) = local.into_iter().find(|t| fits(tag, t)) {
                return Some(ty);
            }
        }
        let absolute = self.absolute(name);
        let name = absolute.as_deref().unwrap_or(name);
        let seen = |from: &Outlook| {
            let mut modules = self.modules().into_iter();
            modules.find_map(|l| {
                let found = l.module.types(name, self.near(&l.module), from);
                found.into_iter().find(|t| fits(tag, t))
            })
        };
        seen(self.outlook()).or_else(|| seen(self.used()))
    }

    /// A type that is not seen from here but is the only one that is called so.
    fn only_type(&self, tag: Option<&str>, name: &str) -> Option<Type> {
        let from = match name.starts_with("::") {
            true => Outlook::global(),
            false => Outlook::anywhere(),
        };
        let mut modules = self.modules().into_iter();
        modules.find_map(|l| {
            let mut found = l.module.types(name, self.near(&l.module), &from);
            found.retain(|t| fits(tag, t));
            let first = found.first()?.qualified_name();
            let is_alone = found.iter().all(|t| t.qualified_name() == first);
            is_alone.then(|| found.swap_remove(0))
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
        let derive = |ty: Type, step: &Derive| {
            Ok(match step {
                Derive::Pointer => ty.pointer_to(),
                Derive::Reference => ty.reference_to(),
                Derive::Array(n) => ty.array_of(*n),
                Derive::Function(written) => {
                    let types = written.types.iter().map(|t| self.type_name(t));
                    let types = types.collect::<Result<Vec<Type>, EvalError>>()?;
                    ty.function_of(&types, written.variadic, written.prototyped)
                }
                Derive::Const => ty.constant(),
            })
        };
        written.derived.iter().try_fold(base, derive)
    }
}

/// Whether a type is one of its keyword.
fn fits(tag: Option<&str>, ty: &Type) -> bool {
    match (tag, ty.kind()) {
        (Some("struct" | "class"), Kind::Record(k)) => *k != RecordKind::Union,
        (Some("union"), Kind::Record(k)) => *k == RecordKind::Union,
        (Some("enum"), Kind::Enum) => true,
        (Some(_), _) => false,
        // C keeps tags apart from other names.
        (None, Kind::Record(_) | Kind::Enum) => ty.language() != Language::C,
        (None, _) => true,
    }
}

fn enumerator_in(modules: &[&Loaded], name: &str, from: &Outlook) -> Option<(usize, Type, i128)> {
    let mut modules = modules.iter();
    modules.find_map(|l| l.module.enumerators(name, from).into_iter().next())
}

/// Where the first of these modules that has such a symbol has its data.
fn datum<'m>(
    modules: impl IntoIterator<Item = &'m Loaded>,
    is_meant: impl Fn(&Symbol) -> bool,
) -> Option<At> {
    modules.into_iter().find_map(|l| {
        let mut symbols = l.module.symbols().iter();
        let symbol = symbols.find(|s| !s.is_code && !s.is_tls && is_meant(s))?;
        Some(At {
            module: l.module.clone(),
            addr: symbol.addr,
        })
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

/// What an indirect function takes and returns: its resolver's result leads to it.
fn chosen_type(module: &Module, function: &Function) -> Option<Type> {
    let resolver = module.function_at(function.entry)?;
    let ty = module.function_type(&resolver)?.strip();
    let Kind::Function(result, ..) = ty.kind() else {
        return None;
    };
    let chosen = ty.follow(result).strip().target()?.strip();
    matches!(chosen.kind(), Kind::Function(..)).then_some(chosen)
}

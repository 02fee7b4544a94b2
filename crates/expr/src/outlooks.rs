//! From where names are looked up: the scopes around the selected frame's code.

use crate::bases::bases_of;
use crate::lookup::Lookup;
use std::sync::Arc;
use verde_symbols::{FunctionQuery, Kind, Language, Outlook, Type};

/// How deep classes may derive before a file is taken for corrupt.
const DEEPEST: usize = 16;
/// Bases of a class, with those of its bases.
const MOST_BASES: usize = 256;

impl Lookup<'_> {
    /// The scopes of the selected frame's function with those that its class inherits; without a
    /// frame those of the program's `main`.
    pub(crate) fn outlook(&self) -> &Outlook {
        self.outlook.get_or_init(|| {
            let Some((module, die, _)) = self.code() else {
                return self.outlook_of_main();
            };
            let mut outlook = module.outlook(die);
            if self.scope.language() == Language::Cpp {
                self.add_bases(&mut outlook);
            }
            outlook
        })
    }

    /// What `using` adds to them.
    pub(crate) fn used(&self) -> &Outlook {
        self.used.get_or_init(|| match self.code() {
            Some((module, die, addr)) => module.used_from(die, addr),
            None => Outlook::default(),
        })
    }

    fn outlook_of_main(&self) -> Outlook {
        let Some(program) = self.scope.modules().first() else {
            return Outlook::global();
        };
        let mains = program.module.functions(&FunctionQuery::parse("main"));
        let described = mains.iter().find_map(|f| f.die);
        described.map_or_else(Outlook::global, |die| program.module.outlook(die))
    }

    /// The bases of the class whose function this is.
    fn add_bases(&self, outlook: &mut Outlook) {
        let path = outlook.innermost();
        if path.is_empty() {
            return;
        }
        let around = self.modules().into_iter().find(|l| self.is_around(l));
        let class = self.class_of_this().or_else(|| {
            let found = around?
                .module
                .types(&path, self.near(&around?.module), &Outlook::global());
            found.into_iter().next()
        });
        if let Some(class) = class {
            let mut left = MOST_BASES;
            inherit(outlook, &class, 0, &mut left);
        }
    }

    /// The class of the object a C++ member function works on.
    pub(crate) fn class_of_this(&self) -> Option<Type> {
        let class = self.local("this")?.ty.strip().target()?.strip();
        matches!(class.kind(), Kind::Record(_)).then_some(class)
    }

    /// A Rust path from the crate on, with the crate's name.
    pub(crate) fn absolute(&self, name: &str) -> Option<String> {
        if self.scope.language() != Language::Rust {
            return None;
        }
        let rest = name.strip_prefix("crate::")?;
        Some(format!("{}::{rest}", self.outlook().outermost()?))
    }

    fn code(
        &self,
    ) -> Option<(
        Arc<verde_symbols::Module>,
        verde_symbols::DieId,
        verde_symbols::FileAddr,
    )> {
        let frame = self.scope.frame()?;
        let (module, _) = frame.frame.module.as_ref()?;
        Some((module.clone(), frame.die()?, frame.file_addr()?))
    }
}

/// `left`: so many classes are looked at yet, whatever a corrupt file says of them.
fn inherit(outlook: &mut Outlook, class: &Type, depth: usize, left: &mut usize) {
    if depth > DEEPEST || *left == 0 {
        return;
    }
    *left -= 1;
    // Each is put before those that were added: the nearest base comes first.
    for base in bases_of(class).into_iter().rev() {
        let base = base.ty.strip();
        inherit(outlook, &base, depth + 1, left);
        if let Some(path) = base.qualified_name() {
            outlook.inherit(&path);
        }
    }
}

//! Members of C++ classes by their names alone: inside of a member function those of its object,
//! and `Class::member` with what the class inherits.

use crate::bases::{base_part, member_of_base};
use crate::bind::Binder;
use crate::error::EvalError;
use crate::ir::{Node, Op};
use crate::methods::declared;
use verde_symbols::{Kind, Language, Type};

/// Pointers to pointers of an argument that are followed to its class.
const DEEPEST_POINTER: usize = 16;

impl Binder<'_> {
    /// The object that the selected member function works on.
    fn this_object(&self) -> Option<Node> {
        let class = self.lookup.class_of_this()?;
        let this = self.lookup.local("this")?;
        Some(Node::new(class, Op::Deref(this.boxed())))
    }

    /// The class that a path names before its last part.
    fn class_of_path<'n>(&self, path: &'n str) -> Option<(Type, &'n str)> {
        let (class, name) = path.rsplit_once("::")?;
        let class = self.lookup.find_type(None, class)?.strip();
        let is_class = class.language() == Language::Cpp && matches!(class.kind(), Kind::Record(_));
        is_class.then_some((class, name))
    }

    /// The member function that a call by name alone means, and the object if it needs one.
    pub(crate) fn own_method(
        &self,
        path: &str,
        arguments: &[Node],
    ) -> Result<Option<(Node, Option<Node>)>, EvalError> {
        if self.language != Language::Cpp {
            return Ok(None);
        }
        if let Some((class, name)) = self.class_of_path(path) {
            let Some(found) = declared(&class, name, arguments, 0)? else {
                return Ok(None);
            };
            if found.method.is_static {
                return Ok(Some((self.code_of(&found, name)?, None)));
            }
            // Named with its class, it is not dispatched.
            let part = self.this_object().and_then(|o| base_part(&o, &found.class));
            return match part {
                Some(part) => Ok(Some((
                    self.code_of(&found, name)?,
                    Some(self.address(part)?),
                ))),
                None => Ok(None),
            };
        }
        let Some(object) = self.this_object() else {
            return Ok(None);
        };
        let class = object.ty.strip();
        let is_hidden = self.lookup.local(path).is_some() || class.find_member(path).is_some();
        if path.contains("::") || is_hidden {
            return Ok(None);
        }
        match declared(&class, path, arguments, 0)? {
            Some(found) => self.bound_method(object, &found, path).map(Some),
            None => Ok(None),
        }
    }

    /// `Class::member`: a static one, or that of the object at work; also of the class's bases.
    pub(crate) fn member_of_class(&self, path: &str) -> Result<Option<Node>, EvalError> {
        if self.language != Language::Cpp {
            return Ok(None);
        }
        let Some((class, name)) = self.class_of_path(path) else {
            return Ok(None);
        };
        if let Some(member) = class.find_member(name).filter(|m| m.is_static) {
            return self.static_member(&member, name).map(Some);
        }
        let part = self.this_object().and_then(|o| base_part(&o, &class));
        if let Some((part, member)) = part.and_then(|p| member_of_base(&p, name)) {
            let op = Op::Member(part.boxed(), member.offset, member.bits);
            return Ok(Some(Node::new(member.ty, op)));
        }
        match declared(&class, name, &[], 0) {
            Ok(Some(found)) => self.code_of(&found, name).map(Some),
            _ => Ok(None),
        }
    }

    /// A function of the scopes that the arguments' classes are in: C++ looks there, too.
    pub(crate) fn by_arguments(&self, name: &str, arguments: &[Node]) -> Option<Node> {
        if self.language != Language::Cpp || name.contains("::") {
            return None;
        }
        arguments.iter().find_map(|argument| {
            let mut ty = argument.ty.strip();
            for _ in 0..DEEPEST_POINTER {
                match ty.kind() {
                    Kind::Pointer(_) | Kind::Reference(_) | Kind::RvalueReference(_) => {
                        ty = ty.target()?.strip();
                    }
                    _ => break,
                }
            }
            let path = ty.qualified_name()?;
            let scope = path.strip_suffix(ty.name()?)?;
            self.lookup.name(&format!("{scope}{name}")).ok()
        })
    }
}

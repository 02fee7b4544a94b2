//! Types of C, C++ and Rust, read from DWARF one node at a time, or made by expressions.

use crate::outlook::Outlook;
use crate::type_read::{
    access, child_id, children, constant, is_set, offset_of, read_member, read_node, slot,
};
use crate::units::{DieId, Entry, Info, Language, Unit, Value};
use gimli::constants as dw;
use std::sync::Arc;

/// What the bits of a base type mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Encoding {
    /// True or false.
    Bool,
    /// Two's complement.
    Signed,
    /// Without sign.
    Unsigned,
    /// `char` and `signed char`.
    SignedChar,
    /// `unsigned char`, and `char` where it has no sign.
    UnsignedChar,
    /// A Unicode character (`char16_t`, `char32_t`, Rust's `char`).
    Utf,
    /// Floating point.
    Float,
    /// A pair of floating-point numbers.
    ComplexFloat,
}

/// Members inherited, declared, or computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name; unnamed members are anonymous structs and unions.
    pub name: Option<String>,
    /// Its type.
    pub ty: Type,
    /// Bytes from the start of the whole; for a static member not used. For a virtual base how far
    /// below the start of the virtual table its place stands.
    pub offset: u64,
    /// Bit position from the start of the whole and width, for a bit-field.
    pub bits: Option<(u64, u64)>,
    /// A base class.
    pub is_base: bool,
    /// A virtual base class: where it is depends on the object.
    pub is_virtual: bool,
    /// A static member: not part of the object.
    pub is_static: bool,
    /// Made by the compiler (the pointer to the virtual table).
    pub is_artificial: bool,
    /// 1 public, 2 protected, 3 private; 0 when not said.
    pub access: u8,
    /// The DIE, for static members.
    pub die: Option<DieId>,
}

/// A member function as its class declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Its signature, `this` first unless it is static.
    pub ty: Type,
    /// Called without an object.
    pub is_static: bool,
    /// Parameters before those that were written: the object, and what the constructors of a class
    /// with virtual bases are told.
    pub hidden: usize,
    /// Dispatched at run time.
    pub is_virtual: bool,
    /// Which word of the virtual table leads to it.
    pub slot: Option<u64>,
    /// What the linker calls it.
    pub linkage_name: Option<String>,
    /// Made by the compiler.
    pub is_artificial: bool,
    /// Declared with `= default` where the class is defined.
    pub is_defaulted: bool,
    /// Declared with `= delete`.
    pub is_deleted: bool,
    /// 1 public, 2 protected, 3 private; 0 when not said.
    pub access: u8,
}

/// A named constant of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enumerator {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: i128,
}

/// How a Rust enum tells its variants apart.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantPart {
    /// The member that holds the discriminant; `None` when there is one variant only.
    pub discriminant: Option<Box<Member>>,
    /// The variants.
    pub variants: Vec<Variant>,
}

/// One variant of a Rust enum.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The discriminants that mean it; `None` for the variant of all other values.
    pub value: Option<i128>,
    /// Its contents.
    pub member: Member,
}

/// A record keyword.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordKind {
    /// `struct`.
    Struct,
    /// `class`.
    Class,
    /// `union`.
    Union,
}

/// A template or generic argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The parameter's name.
    pub name: Option<String>,
    /// The argument, a type or the type of the value.
    pub ty: Type,
    /// The value of a non-type argument.
    pub value: Option<i128>,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// No value.
    Void,
    /// Numbers, characters, booleans.
    Base(Encoding),
    /// `T *`.
    Pointer(Link),
    /// `T &`.
    Reference(Link),
    /// `T &&`.
    RvalueReference(Link),
    /// `T C::*`.
    MemberPointer(Link, Link),
    /// One dimension of an array; `None` for `[]`.
    Array(Link, Option<u64>),
    /// A vector register's elements (GCC's `vector_size`).
    Vector(Link, u64),
    /// A struct, class or union.
    Record(RecordKind),
    /// An enumeration.
    Enum,
    /// A name for another type.
    Typedef(Link),
    /// `const T`.
    Const(Link),
    /// `volatile T`.
    Volatile(Link),
    /// `restrict T` and `_Atomic T`.
    OtherQualifier(Link, &'static str),
    /// A function: its result and parameters; variable arguments; declared with a prototype.
    Function(Link, Vec<Link>, bool, bool),
    /// A type the debug information does not describe (`decltype(nullptr)`).
    Unspecified,
}

/// A type that a node refers to: read when wanted, so that cycles are no trouble.
#[derive(Clone, Debug)]
pub enum Link {
    /// `void`.
    Void,
    /// Still in the file.
    Die(DieId),
    /// Made by an expression.
    Made(Type),
}

impl PartialEq for Link {
    fn eq(&self, other: &Link) -> bool {
        match (self, other) {
            (Link::Void, Link::Void) => true,
            (Link::Die(a), Link::Die(b)) => a == b,
            (Link::Made(a), Link::Made(b)) => a == b,
            _ => false,
        }
    }
}

/// One type as read, without what it refers to.
#[derive(Debug, PartialEq)]
pub(crate) struct Node {
    pub kind: Kind,
    pub name: Option<String>,
    pub size: Option<u64>,
    pub align: Option<u64>,
    pub language: Language,
    pub die: Option<DieId>,
    pub declaration: bool,
    /// Members of a record that no file describes.
    pub members: Vec<Member>,
}

/// GCC's names of processors that have no AVX.
const WITHOUT_AVX: [&str; 14] = [
    "x86-64",
    "x86-64-v2",
    "k8",
    "amdfam10",
    "btver1",
    "nocona",
    "core2",
    "nehalem",
    "westmere",
    "bonnell",
    "silvermont",
    "goldmont",
    "goldmont-plus",
    "tremont",
];

/// A type. Cheap to clone; equal when it is the same type of the same file or made the same way.
#[derive(Clone)]
pub struct Type {
    info: Option<Arc<Info>>,
    node: Arc<Node>,
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        let same_file = match (&self.info, &other.info) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        same_file && (Arc::ptr_eq(&self.node, &other.node) || self.node == other.node)
    }
}

impl std::fmt::Debug for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Type({})", self.name().unwrap_or("?"))
    }
}

/// How deep typedefs and qualifiers may be nested before a file is taken for corrupt.
const MAX_CHAIN: usize = 64;

impl Type {
    pub(crate) fn from_die(info: &Arc<Info>, id: DieId) -> Type {
        let mut cache = info.types.lock().unwrap_or_else(|e| e.into_inner());
        let node = cache.get(&id).cloned();
        let node = node.unwrap_or_else(|| {
            drop(cache);
            let node = Arc::new(read_node(info, id));
            cache = info.types.lock().unwrap_or_else(|e| e.into_inner());
            cache.insert(id, node.clone());
            node
        });
        Type {
            info: Some(info.clone()),
            node,
        }
    }

    fn made(kind: Kind, name: Option<&str>, size: Option<u64>, language: Language) -> Type {
        Type {
            info: None,
            node: Arc::new(Node {
                kind,
                name: name.map(str::to_owned),
                size,
                align: None,
                language,
                die: None,
                declaration: false,
                members: Vec::new(),
            }),
        }
    }

    /// A struct or union that no file describes: members with their offsets.
    pub fn record(kind: RecordKind, size: u64, members: &[(&str, Type, u64)]) -> Type {
        let member = |(name, ty, offset): &(&str, Type, u64)| Member {
            name: Some((*name).to_owned()),
            ty: ty.clone(),
            offset: *offset,
            bits: None,
            is_base: false,
            is_virtual: false,
            is_static: false,
            is_artificial: false,
            access: 0,
            die: None,
        };
        Type {
            info: None,
            node: Arc::new(Node {
                kind: Kind::Record(kind),
                name: None,
                size: Some(size),
                align: None,
                language: Language::C,
                die: None,
                declaration: false,
                members: members.iter().map(member).collect(),
            }),
        }
    }

    /// A Rust tuple: members with their offsets.
    pub fn tuple(name: &str, size: u64, members: &[(&str, Type, u64)]) -> Type {
        let made = Type::record(RecordKind::Struct, size, members);
        Type {
            info: None,
            node: Arc::new(Node {
                kind: Kind::Record(RecordKind::Struct),
                name: Some(name.to_owned()),
                size: Some(size),
                align: None,
                language: Language::Rust,
                die: None,
                declaration: false,
                members: made.members(),
            }),
        }
    }

    /// A pointer to members of a class that are of this type.
    pub fn member_pointer(&self, class: &Type) -> Type {
        let kind = Kind::MemberPointer(Link::Made(self.clone()), Link::Made(class.clone()));
        Type::made(kind, None, None, Language::Cpp)
    }

    /// `void`.
    pub fn void() -> Type {
        Type::made(Kind::Void, Some("void"), None, Language::C)
    }

    /// A base type that no file needs to describe.
    pub fn base(name: &str, encoding: Encoding, size: u64) -> Type {
        Type::made(Kind::Base(encoding), Some(name), Some(size), Language::C)
    }

    /// The same, printed by another language's rules.
    pub fn base_in(name: &str, encoding: Encoding, size: u64, language: Language) -> Type {
        Type::made(Kind::Base(encoding), Some(name), Some(size), language)
    }

    /// A pointer to this type.
    pub fn pointer_to(&self) -> Type {
        let language = self.language();
        Type::made(Kind::Pointer(self.link()), None, Some(8), language)
    }

    /// A C++ reference to this type.
    pub fn reference_to(&self) -> Type {
        let language = self.language();
        Type::made(Kind::Reference(self.link()), None, Some(8), language)
    }

    /// An array of this type.
    pub fn array_of(&self, count: u64) -> Type {
        let size = self.size().and_then(|s| s.checked_mul(count));
        let kind = Kind::Array(self.link(), Some(count));
        Type::made(kind, None, size, self.language())
    }

    /// A vector register's elements of this type.
    pub fn vector_of(&self, count: u64) -> Type {
        let size = self.size().and_then(|s| s.checked_mul(count));
        let kind = Kind::Vector(self.link(), count);
        Type::made(kind, None, size, self.language())
    }

    /// An array of this type of unknown length.
    pub(crate) fn unbounded_array(&self) -> Type {
        let kind = Kind::Array(self.link(), None);
        Type::made(kind, None, None, self.language())
    }

    /// This type, `const`.
    pub fn constant(&self) -> Type {
        Type::made(Kind::Const(self.link()), None, self.size(), self.language())
    }

    /// A function without known parameters that returns this type.
    pub fn function_returning(&self) -> Type {
        self.function_of(&[], false, false)
    }

    /// A function that returns this type.
    pub fn function_of(&self, parameters: &[Type], variadic: bool, prototyped: bool) -> Type {
        let parameters = parameters.iter().map(Type::link).collect();
        let kind = Kind::Function(self.link(), parameters, variadic, prototyped);
        Type::made(kind, None, Some(1), self.language())
    }

    fn link(&self) -> Link {
        match self.node.kind {
            Kind::Void => Link::Void,
            _ => Link::Made(self.clone()),
        }
    }

    /// The type a link leads to.
    pub fn follow(&self, link: &Link) -> Type {
        match (link, &self.info) {
            (Link::Die(id), Some(info)) => Type::from_die(info, *id),
            (Link::Made(ty), _) => ty.clone(),
            _ => Type::void(),
        }
    }

    /// What it is, before typedefs and qualifiers are removed.
    pub fn kind(&self) -> &Kind {
        &self.node.kind
    }

    /// Its own name: for a record the tag, for a pointer usually none (Rust names them).
    pub fn name(&self) -> Option<&str> {
        self.node.name.as_deref()
    }

    /// The name with the scopes around it, as C++ and Rust write it.
    pub fn qualified_name(&self) -> Option<String> {
        let name = self.name()?;
        match (&self.info, self.node.die) {
            (Some(info), Some(die)) => {
                let declared = crate::paths::declaration(info, die);
                let mut path = crate::paths::scope_names(info, declared);
                path.push(name.to_owned());
                Some(path.join("::"))
            }
            _ => Some(name.to_owned()),
        }
    }

    /// Size in bytes, when it is known.
    pub fn size(&self) -> Option<u64> {
        self.size_within(0)
    }

    fn size_within(&self, depth: usize) -> Option<u64> {
        if depth > MAX_CHAIN {
            return None;
        }
        let next = |link: &Link| self.follow(link).size_within(depth + 1);
        match &self.node.kind {
            Kind::Typedef(l) | Kind::Const(l) | Kind::Volatile(l) | Kind::OtherQualifier(l, _) => {
                next(l)
            }
            Kind::Array(l, count) if self.node.size.is_none() => next(l)?.checked_mul((*count)?),
            Kind::Vector(l, count) if self.node.size.is_none() => next(l)?.checked_mul(*count),
            Kind::Pointer(_) | Kind::Reference(_) | Kind::RvalueReference(_) => {
                Some(self.node.size.unwrap_or(8))
            }
            // A function's is an address and how far the object moves.
            Kind::MemberPointer(l, _) => match self.follow(l).strip().node.kind {
                Kind::Function(..) => Some(16),
                _ => Some(8),
            },
            Kind::Record(_) if self.node.declaration => self.definition()?.node.size,
            _ => self.node.size,
        }
    }

    /// The alignment the file states.
    pub fn stated_align(&self) -> Option<u64> {
        self.node.align
    }

    /// Whether the file says that the type is passed by reference, or by value.
    pub(crate) fn stated_convention(&self) -> Option<bool> {
        let (_, _, entry) = self.entry()?;
        match entry.attr_value(dw::DW_AT_calling_convention)? {
            gimli::AttributeValue::CallingConvention(dw::DW_CC_pass_by_reference) => Some(true),
            gimli::AttributeValue::CallingConvention(dw::DW_CC_pass_by_value) => Some(false),
            _ => None,
        }
    }

    /// The language of the unit it comes from.
    pub fn language(&self) -> Language {
        self.node.language
    }

    /// Its unit is code for processors with AVX, as far as the compiler says so.
    pub(crate) fn is_for_avx(&self) -> bool {
        let unit = self.die().zip(self.info.as_ref());
        let unit = unit.and_then(|(die, info)| info.unit(die.unit));
        let producer = unit.and_then(|u| u.producer).unwrap_or_default();
        // Others do not tell their options, and pass such vectors only with AVX.
        if !producer.starts_with("GNU ") {
            return true;
        }
        let mut options = producer.split(' ');
        options.any(|o| match o.strip_prefix("-march=") {
            Some(processor) => !WITHOUT_AVX.contains(&processor),
            None => o.starts_with("-mavx") || ["-mfma", "-mf16c", "-mxop"].contains(&o),
        })
    }

    /// Only declared: its members are elsewhere or nowhere.
    pub fn is_declaration(&self) -> bool {
        self.node.declaration
    }

    /// A number that identifies the DIE in its module, if it comes from one.
    pub fn die(&self) -> Option<DieId> {
        self.node.die
    }

    /// Whether a floating-point type is IEEE's of 128 bits; `long double` has the same size.
    pub fn is_quad(&self) -> bool {
        self.name().is_some_and(|n| n.contains("128"))
    }

    /// Whether both come from the same file (or from no file).
    pub fn same_file(&self, other: &Type) -> bool {
        match (&self.info, &other.info) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    /// Without typedefs and qualifiers.
    pub fn strip(&self) -> Type {
        let mut ty = self.clone();
        for _ in 0..MAX_CHAIN {
            ty = match &ty.node.kind {
                Kind::Typedef(l)
                | Kind::Const(l)
                | Kind::Volatile(l)
                | Kind::OtherQualifier(l, _) => ty.follow(l),
                _ => break,
            };
        }
        ty
    }

    /// Without qualifiers only.
    pub fn unqualified(&self) -> Type {
        let mut ty = self.clone();
        for _ in 0..MAX_CHAIN {
            ty = match &ty.node.kind {
                Kind::Const(l) | Kind::Volatile(l) | Kind::OtherQualifier(l, _) => ty.follow(l),
                _ => break,
            };
        }
        ty
    }

    /// What a pointer points to, an array holds, a typedef names, a function returns.
    pub fn target(&self) -> Option<Type> {
        match &self.node.kind {
            Kind::Pointer(l)
            | Kind::Reference(l)
            | Kind::RvalueReference(l)
            | Kind::MemberPointer(l, _)
            | Kind::Array(l, _)
            | Kind::Vector(l, _)
            | Kind::Typedef(l)
            | Kind::Const(l)
            | Kind::Volatile(l)
            | Kind::OtherQualifier(l, _)
            | Kind::Function(l, ..) => Some(self.follow(l)),
            _ => None,
        }
    }

    /// The underlying integer of an enumeration.
    pub fn underlying(&self) -> Option<Type> {
        let (info, unit, entry) = self.entry()?;
        let id = info.follow(&unit, entry.attr_value(dw::DW_AT_type))?;
        Some(Type::from_die(info, id))
    }

    /// `enum class`.
    pub fn is_scoped_enum(&self) -> bool {
        let flag = |(_, _, e): (_, _, Entry)| is_set(e.attr_value(dw::DW_AT_enum_class));
        self.entry().is_some_and(flag)
    }

    fn entry(&self) -> Option<(&Arc<Info>, Arc<Unit>, Entry)> {
        let info = self.info.as_ref()?;
        let (unit, entry) = info.die(self.node.die?)?;
        Some((info, unit, entry))
    }

    /// This array with bounds that only the running program knows, found by `bound`.
    pub(crate) fn with_bounds(&self, bound: &dyn Fn(Value) -> Option<u64>) -> Type {
        let plain = self.strip();
        let Kind::Array(_, None) = plain.kind() else {
            return self.clone();
        };
        let Some(element) = plain.target() else {
            return self.clone();
        };
        let uppers = plain.children(|_, _, child| {
            (child.tag() == dw::DW_TAG_subrange_type).then(|| {
                let upper = child.attr_value(dw::DW_AT_upper_bound);
                let count = child.attr_value(dw::DW_AT_count);
                let known = count.and_then(constant).and_then(|c| u64::try_from(c).ok());
                let stated = upper.and_then(|v| match constant(v) {
                    Some(n) => u64::try_from(n.checked_add(1)?).ok(),
                    None => bound(v).map(|n| n.wrapping_add(1)),
                });
                known.or(stated)
            })
        });
        // Inner dimensions were taken apart when the node was read: start from the element.
        let mut ty = element;
        while let Kind::Array(..) = ty.kind() {
            match ty.target() {
                Some(inner) if uppers.len() > 1 => ty = inner,
                _ => break,
            }
        }
        for count in uppers.iter().rev() {
            match count {
                Some(count) if *count < 1 << 40 => ty = ty.array_of(*count),
                _ => return self.clone(),
            }
        }
        ty
    }

    /// Calls `each` with every child DIE.
    fn children<T>(&self, mut each: impl FnMut(&Arc<Info>, &Unit, &Entry) -> Option<T>) -> Vec<T> {
        let Some((info, unit, _)) = self.entry() else {
            return Vec::new();
        };
        let Some(id) = self.node.die else {
            return Vec::new();
        };
        let mut out = Vec::new();
        for child in children(&unit, id.offset) {
            out.extend(each(info, &unit, &child));
        }
        out
    }

    /// The definition of a type that this unit only declares.
    pub fn definition(&self) -> Option<Type> {
        if !self.node.declaration {
            return Some(self.clone());
        }
        let (info, unit, entry) = self.entry()?;
        // A type unit, or the same name elsewhere in the file.
        let signature = entry.attr_value(dw::DW_AT_signature);
        if let Some(id) = info.follow(&unit, signature) {
            return Some(Type::from_die(info, id));
        }
        let name = self.qualified_name()?;
        let found = crate::index::types_named(info, &name, &Outlook::anywhere());
        let mut found = found.into_iter().map(|(_, id)| Type::from_die(info, id));
        found.find(|t| !t.node.declaration && matches!(t.node.kind, Kind::Record(_)))
    }

    /// Members of a record in order: bases, data members, static members.
    pub fn members(&self) -> Vec<Member> {
        if !self.node.members.is_empty() {
            return self.node.members.clone();
        }
        self.children(|info, unit, child| match child.tag() {
            dw::DW_TAG_member | dw::DW_TAG_inheritance | dw::DW_TAG_variable => {
                read_member(info, unit, child)
            }
            _ => None,
        })
    }

    /// Member functions of a record.
    pub fn methods(&self) -> Vec<Method> {
        self.children(|info, unit, child| {
            if child.tag() != dw::DW_TAG_subprogram {
                return None;
            }
            let id = child_id(unit, child);
            let name = unit.string(child.attr_value(dw::DW_AT_name))?;
            let virtuality = child.attr_value(dw::DW_AT_virtuality);
            let linkage = unit.string(child.attr_value(dw::DW_AT_linkage_name));
            let hidden = hidden_parameters(unit, id);
            Some(Method {
                slot: child
                    .attr_value(dw::DW_AT_vtable_elem_location)
                    .and_then(slot),
                linkage_name: linkage.map(str::to_owned),
                name: name.to_owned(),
                ty: Type::from_die(info, id),
                is_static: child.attr_value(dw::DW_AT_object_pointer).is_none() && hidden == 0,
                hidden,
                is_virtual: virtuality.and_then(|v| v.udata_value()).unwrap_or(0) != 0
                    || matches!(
                        virtuality,
                        Some(gimli::AttributeValue::Virtuality(v)) if v != dw::DW_VIRTUALITY_none
                    ),
                is_artificial: is_set(child.attr_value(dw::DW_AT_artificial)),
                is_defaulted: child
                    .attr_value(dw::DW_AT_defaulted)
                    .and_then(|v| v.udata_value())
                    == Some(u64::from(dw::DW_DEFAULTED_in_class.0)),
                is_deleted: is_set(child.attr_value(dw::DW_AT_deleted)),
                access: access(child),
            })
        })
    }

    /// Constants of an enumeration.
    pub fn enumerators(&self) -> Vec<Enumerator> {
        self.children(|_, unit, child| {
            if child.tag() != dw::DW_TAG_enumerator {
                return None;
            }
            Some(Enumerator {
                name: unit.string(child.attr_value(dw::DW_AT_name))?.to_owned(),
                value: constant(child.attr_value(dw::DW_AT_const_value)?)?,
            })
        })
    }

    /// The type that a Rust virtual table belongs to.
    pub fn containing(&self) -> Option<Type> {
        let (info, unit, entry) = self.entry()?;
        let id = info.follow(&unit, entry.attr_value(dw::DW_AT_containing_type))?;
        Some(Type::from_die(info, id))
    }

    /// Template or generic arguments.
    pub fn arguments(&self) -> Vec<Argument> {
        self.children(|info, unit, child| {
            let tag = child.tag();
            if tag != dw::DW_TAG_template_type_parameter
                && tag != dw::DW_TAG_template_value_parameter
            {
                return None;
            }
            let ty = info.follow(unit, child.attr_value(dw::DW_AT_type));
            let name = unit.string(child.attr_value(dw::DW_AT_name));
            Some(Argument {
                name: name.map(str::to_owned),
                ty: ty.map_or_else(Type::void, |id| Type::from_die(info, id)),
                value: child.attr_value(dw::DW_AT_const_value).and_then(constant),
            })
        })
    }

    /// The variants of a Rust enum.
    pub fn variant_part(&self) -> Option<VariantPart> {
        let parts = self.children(|info, unit, child| {
            if child.tag() != dw::DW_TAG_variant_part {
                return None;
            }
            let discr = info.follow(unit, child.attr_value(dw::DW_AT_discr));
            let discriminant = discr
                .filter(|id| id.unit == unit.index)
                .and_then(|id| read_member(info, unit, &unit.entry(id.offset)?))
                .map(Box::new);
            let mut variants = Vec::new();
            for variant in children(unit, offset_of(child)) {
                if variant.tag() != dw::DW_TAG_variant {
                    continue;
                }
                let tag = discriminant.as_deref().map(|member: &Member| &member.ty);
                let value = variant.attr_value(dw::DW_AT_discr_value);
                let value = value.and_then(|v| crate::type_read::discriminant(v, tag));
                let inner = children(unit, offset_of(&variant));
                let member = inner.iter().find(|c| c.tag() == dw::DW_TAG_member);
                if let Some(member) = member.and_then(|m| read_member(info, unit, m)) {
                    variants.push(Variant { value, member });
                }
            }
            Some(VariantPart {
                discriminant,
                variants,
            })
        });
        parts.into_iter().next()
    }

    /// The member of this name, also inside bases and anonymous members, with its offset added up.
    pub fn find_member(&self, name: &str) -> Option<Member> {
        self.find_member_within(name, &[])
    }

    /// `outer` are the types this one is in: one that contains itself is a corrupt file's.
    fn find_member_within(&self, name: &str, outer: &[DieId]) -> Option<Member> {
        if self.die().is_some_and(|d| outer.contains(&d)) {
            return None;
        }
        let own = self.members();
        if let Some(found) = own.iter().find(|m| m.name.as_deref() == Some(name)) {
            return Some(found.clone());
        }
        let inner: Vec<DieId> = outer.iter().copied().chain(self.die()).collect();
        own.iter()
            .filter(|m| (m.is_base || m.name.is_none()) && !m.is_virtual)
            .find_map(|m| {
                let mut found = m.ty.strip().find_member_within(name, &inner)?;
                found.offset = found.offset.wrapping_add(m.offset);
                if let Some((bit, _)) = &mut found.bits {
                    *bit = bit.wrapping_add(m.offset.wrapping_mul(8));
                }
                Some(found)
            })
    }

    /// Whether it is an integer, a character or a boolean.
    pub fn is_integral(&self) -> bool {
        use Encoding::*;
        matches!(
            self.strip().kind(),
            Kind::Base(Bool | Signed | Unsigned | SignedChar | UnsignedChar | Utf) | Kind::Enum
        )
    }

    /// Whether it has no sign. Pointers have none.
    pub fn is_unsigned(&self) -> bool {
        use Encoding::*;
        let ty = self.strip();
        match ty.kind() {
            Kind::Base(e) => matches!(e, Bool | Unsigned | UnsignedChar | Utf),
            Kind::Enum => match ty.underlying() {
                Some(under) => under.is_unsigned(),
                None => ty.enumerators().iter().all(|e| e.value >= 0),
            },
            _ => true,
        }
    }

    /// Whether it is floating point.
    pub fn is_float(&self) -> bool {
        matches!(self.strip().kind(), Kind::Base(Encoding::Float))
    }
}

/// How many parameters of a member function nobody wrote: it takes the object first, which not
/// every compiler says in the declaration's own attributes.
fn hidden_parameters(unit: &Unit, method: DieId) -> usize {
    let parameters = children(unit, method.offset);
    let parameters = parameters
        .iter()
        .filter(|e| e.tag() == dw::DW_TAG_formal_parameter);
    let made = parameters.take_while(|e| is_set(e.attr_value(dw::DW_AT_artificial)));
    made.count()
}

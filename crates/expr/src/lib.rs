//! Expressions of C, C++ and Rust over a [`Scope`], and values as text.
//!
//! Text is parsed to an [`Ast`], bound to a typed [`Node`] in a scope, and evaluated as often as
//! wanted: conditions are bound once and evaluated at every hit. Values are printed as gdb prints them.
//! An error is a value shown where the datum would be, never a panic.

mod any;
mod arguments;
mod arithmetic;
mod ast;
mod bases;
mod bind;
mod builtin;
mod closures;
mod concrete;
mod containers;
mod dollar;
mod dynamic;
mod error;
mod eval;
mod extended;
mod flags;
mod float;
mod format;
mod ir;
mod known;
mod layout;
mod lexer;
mod locals;
mod lookup;
mod member_pointers;
mod methods;
mod nodes;
mod operators;
mod outlooks;
mod overloads;
mod own_members;
mod padding;
mod parser;
mod print;
mod provided;
mod reads;
mod rust_literals;
mod rust_print;
mod rust_slices;
mod scope;
mod short_names;
mod static_scope;
mod strings;
mod text;
mod type_text;
mod value;
mod variants;

pub use ast::{Ast, Binary, Derive, TypeName, Unary};
pub use bind::{bind, type_of};
pub use error::EvalError;
pub use eval::{eval, place_of, returned_value};
pub use flags::{flag_names, mxcsr_names};
pub use float::{format_float, x87_text};
pub use format::{Examine, Format, examine};
pub use ir::Node;
pub use layout::layout;
pub use locals::{Named, arguments, frame_arguments, locals};
pub use parser::{TypeOracle, parse, parse_prefix, parse_type_or_expression};
pub use print::{
    FrameArguments, PrintOptions, print_argument, print_inner, print_value, symbol_text,
};
pub use reads::{Reads, reads};
pub use scope::{Call, FrameScope, Loaded, Scope};
pub use static_scope::StaticScope;
pub use strings::text_of;
pub use type_text::{declare, name_of, ptype, whatis};
pub use value::{Data, Lvalue, Value};

/// Parses and binds an expression in a scope.
pub fn compile(text: &str, scope: &dyn Scope) -> Result<Node, EvalError> {
    let ast = parse(text, &lookup::Lookup::new(scope))?;
    bind(&ast, scope)
}

/// Parses, binds and evaluates an expression.
pub fn evaluate(text: &str, scope: &mut dyn Scope) -> Result<Value, EvalError> {
    let node = compile(text, scope).map_err(|why| match type_named(text, scope) {
        Ok((_, true)) => EvalError::BadType(error::TYPE_NAME.to_owned()),
        _ => why,
    })?;
    eval(&node, scope)
}

/// The type that `ptype` and `whatis` are asked about: a type's name or an expression. The flag says
/// that a type was named.
pub fn type_named(text: &str, scope: &dyn Scope) -> Result<(verde_symbols::Type, bool), EvalError> {
    let ast = parse_type_or_expression(text, &lookup::Lookup::new(scope))?;
    let named = matches!(ast, Ast::Type(_));
    Ok((type_of(&ast, scope)?, named))
}

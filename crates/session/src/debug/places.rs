//! Where names are: `info address` and `info scope`.

use super::Debugger;
use super::failure::{Result, failure};
use verde_expr::{Data, Lvalue, name_of};
use verde_symbols::{FileAddr, Kind, Modules, REGISTER_NAMES};

impl Debugger {
    /// Where the value of a name is kept.
    pub(super) fn info_address(&mut self, name: &str) -> Result<()> {
        if name.is_empty() {
            return failure("Of what?  info address NAME");
        }
        let value = self.evaluate(name)?;
        let at = match (value.ty.strip().kind(), &value.lvalue, &value.data) {
            (Kind::Function(..), ..) => match value.address() {
                Some(at) => format!("a function at address {at:#x}"),
                None => "a function".to_owned(),
            },
            (_, _, Data::Missing(_)) if value.lvalue.is_none() => "optimized out".to_owned(),
            (_, Some(Lvalue::Memory(at)), _) => match self.images.module_at(*at) {
                Some(_) => format!("static storage at address {at:#x}"),
                None => format!("a variable at address {at:#x}"),
            },
            (_, Some(Lvalue::Register(number, _)), _) => {
                let register = REGISTER_NAMES.get(usize::from(*number));
                format!("a variable in ${}", register.unwrap_or(&"?"))
            }
            _ => "a value without a place".to_owned(),
        };
        self.say(&format!("Symbol \"{name}\" is {at}."))
    }

    /// The variables that are visible at a location.
    pub(super) fn info_scope(&mut self, text: &str) -> Result<()> {
        if text.is_empty() {
            return failure("Of what?  info scope FUNCTION, or FILE:LINE");
        }
        let sites = self.sites(text)?;
        let at = sites.first().and_then(|site| self.address(site));
        let Some((module, bias)) = at.and_then(|at| self.images.module_at(at)) else {
            return failure(format!("\"{text}\" is not loaded."));
        };
        let at = FileAddr::of(at.unwrap_or(0), bias);
        let frames = module.frames_at(at);
        let Some(frame) = frames.first() else {
            return failure(format!("No debug information for \"{text}\"."));
        };
        let blocks = module.blocks(frame.die, at);
        // What has no name is no symbol.
        let variables = blocks.iter().flat_map(|block| &block.variables);
        let variables = variables.filter(|variable| !variable.name.is_empty());
        let lines: Vec<String> = variables
            .map(|variable| {
                let what = match (variable.is_parameter, variable.is_static()) {
                    (true, _) => "an argument",
                    (_, true) => "a static variable",
                    _ => "a variable",
                };
                let size = variable.ty.size().map(|n| format!(", length {n}"));
                let (name, ty) = (&variable.name, name_of(&variable.ty));
                let size = size.unwrap_or_default();
                format!("Symbol {name} is {what} of type {ty}{size}.")
            })
            .collect();
        if lines.is_empty() {
            return self.say(&format!("Symbol table for `{text}' has no locals."));
        }
        self.say(&format!("Scope for {text}:"))?;
        self.say_all(lines, "")
    }
}

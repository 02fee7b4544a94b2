//! What the program's files name: `info functions`, `variables`, `types`, `symbol`.

use super::Debugger;
use super::failure::{Failure, Result};
use regex_lite::Regex;
use std::sync::Arc;
use verde_expr::{declare, name_of};
use verde_symbols::{
    FileAddr, Kind, Language, Module, Modules, NameFilter, RecordKind, Type, demangle,
};

/// Names shown at once; a program has a million.
const MOST: usize = 2000;

/// Names of one kind: declared in files, or known to the linker only.
#[derive(Default)]
struct Found {
    /// Of a library, file, static, name, line and text: in the order they are shown.
    described: Vec<(bool, String, bool, String, u32, String)>,
    /// Those without a place; only base types are.
    bare: Vec<String>,
    others: Vec<(bool, u64, String)>,
}

/// The names a command asks for.
struct Pattern {
    text: String,
    regex: Option<Regex>,
}

/// A regular expression of the user's.
pub(super) fn pattern(text: &str) -> Result<Regex> {
    Regex::new(text).map_err(|e| Failure(format!("\"{text}\" is not a regular expression: {e}")))
}

impl Pattern {
    fn new(text: &str) -> Result<Pattern> {
        let regex = match text {
            "" => None,
            text => Some(pattern(text)?),
        };
        Ok(Pattern {
            text: text.to_owned(),
            regex,
        })
    }

    fn fits(&self, name: &str) -> bool {
        self.regex.as_ref().is_none_or(|r| r.is_match(name))
    }

    fn title(&self, what: &str) -> String {
        match self.text.as_str() {
            "" => format!("All defined {what}:"),
            text => format!("All {what} matching regular expression \"{text}\":"),
        }
    }
}

/// `struct node;`, `typedef int number;`, as gdb lists types.
fn type_line(ty: &Type, name: &str) -> String {
    let word = match (ty.language(), ty.kind()) {
        (Language::Rust, _) => return name.to_owned(),
        (_, Kind::Record(RecordKind::Struct)) => "struct",
        (_, Kind::Record(RecordKind::Class)) => "class",
        (_, Kind::Record(RecordKind::Union)) => "union",
        (_, Kind::Enum) => "enum",
        (_, Kind::Typedef(_)) => {
            let target = ty.target().unwrap_or_else(Type::void);
            return format!("typedef {};", declare(&target, name));
        }
        _ => return name_of(ty),
    };
    match ty.language() {
        Language::C => format!("{word} {name};"),
        _ => format!("{name};"),
    }
}

/// `fn wr::total(&wr::Cart) -> u32`
fn rust_line(ty: &Type, name: &str) -> String {
    let Kind::Function(result, parameters, ..) = ty.kind() else {
        return name.to_owned();
    };
    let parameters: Vec<String> = parameters.iter().map(|p| name_of(&ty.follow(p))).collect();
    let result = match ty.follow(result) {
        void if matches!(void.kind(), Kind::Void) => String::new(),
        other => format!(" -> {}", name_of(&other)),
    };
    format!("fn {name}({}){result}", parameters.join(", "))
}

impl Debugger {
    /// Asks every file for its names, the program's own first.
    fn collect(
        &self,
        pattern: &Pattern,
        mut each: impl FnMut(&mut Found, &Module, u64, bool, &NameFilter),
    ) -> Found {
        let fits = |name: &str| pattern.fits(name);
        let filter = NameFilter {
            fits: &fits,
            in_paths: pattern.text.contains("::"),
        };
        let mut found = Found::default();
        for loaded in self.images.loaded() {
            let library = !Arc::ptr_eq(&loaded.module, self.images.program());
            each(&mut found, &loaded.module, loaded.bias, library, &filter);
        }
        found
    }

    fn say_found(&mut self, title: &str, mut found: Found) -> Result<()> {
        found.described.sort();
        found.described.dedup();
        found.bare.sort();
        found.bare.dedup();
        found.others.sort();
        found.others.dedup();
        let total = found.described.len() + found.bare.len() + found.others.len();
        self.say(title)?;
        let mut left = MOST;
        let mut last = None;
        for (library, file, _, _, line, text) in found.described.into_iter().take(left) {
            if last.as_ref() != Some(&(library, file.clone())) {
                self.say(&format!("\nFile {file}:"))?;
                last = Some((library, file));
            }
            self.say(&format!("{line}:\t{text}"))?;
            left -= 1;
        }
        let bare: Vec<String> = found.bare.into_iter().take(left).collect();
        left -= bare.len();
        if !bare.is_empty() {
            self.say("")?;
        }
        for text in bare {
            self.say(&format!("\t{text}"))?;
        }
        let others: Vec<_> = found.others.into_iter().take(left).collect();
        if !others.is_empty() {
            self.say("\nNon-debugging symbols:")?;
        }
        for (_, at, name) in others {
            self.say(&format!("{at:#018x}  {name}"))?;
        }
        match total > MOST {
            true => self.say(&format!(
                "\n({MOST} of {total} are shown; a regular expression shows fewer.)"
            )),
            false => Ok(()),
        }
    }

    pub(super) fn info_functions(&mut self, text: &str) -> Result<()> {
        let pattern = Pattern::new(text)?;
        let found = self.collect(&pattern, |found, module, bias, library, filter| {
            for function in module.functions_where(filter, 10 * MOST) {
                let Some((file, line)) = &function.declared else {
                    let at = function.entry.at(bias);
                    found.others.push((library, at, function.name));
                    continue;
                };
                let declared = match module.function_type(&function) {
                    Some(ty) if ty.language() == Language::Rust => rust_line(&ty, &function.name),
                    Some(ty) => declare(&ty, &function.name),
                    None => function.name.clone(),
                };
                let is_static = !module.is_external(&function);
                let word = if is_static { "static " } else { "" };
                found.described.push((
                    library,
                    file.name.clone(),
                    is_static,
                    function.name,
                    *line,
                    format!("{word}{declared};"),
                ));
            }
        });
        self.say_found(&pattern.title("functions"), found)
    }

    pub(super) fn info_variables(&mut self, text: &str) -> Result<()> {
        let pattern = Pattern::new(text)?;
        let found = self.collect(&pattern, |found, module, bias, library, filter| {
            let mut known = std::collections::HashSet::new();
            for variable in module.variables_where(filter, 10 * MOST) {
                known.insert(variable.item.name.clone());
                let Some((file, line)) = &variable.declared else {
                    continue;
                };
                let is_static = !variable.is_external;
                let word = if is_static { "static " } else { "" };
                let ty = &variable.item.ty;
                let declared = match ty.language() {
                    Language::Rust => format!("{}: {}", variable.name, name_of(ty)),
                    _ => declare(ty, &variable.name),
                };
                found.described.push((
                    library,
                    file.name.clone(),
                    is_static,
                    variable.name,
                    *line,
                    format!("{word}{declared};"),
                ));
            }
            for symbol in module.symbols().iter().filter(|s| !s.is_code) {
                let name = demangle(symbol.name).unwrap_or_else(|| symbol.name.to_owned());
                let base = name.rsplit("::").next().unwrap_or(&name);
                if (filter.fits)(&name) && !known.contains(base) {
                    found.others.push((library, symbol.addr.at(bias), name));
                }
            }
        });
        self.say_found(&pattern.title("variables"), found)
    }

    pub(super) fn info_types(&mut self, text: &str) -> Result<()> {
        let pattern = Pattern::new(text)?;
        let found = self.collect(&pattern, |found, module, _, library, filter| {
            for ty in module.types_where(filter, 10 * MOST) {
                let text = type_line(&ty.item, &ty.name);
                match &ty.declared {
                    Some((file, line)) => found.described.push((
                        library,
                        file.name.clone(),
                        false,
                        ty.name,
                        *line,
                        text,
                    )),
                    None => found.bare.push(text),
                }
            }
        });
        self.say_found(&pattern.title("types"), found)
    }

    /// What the linker calls the place of an address.
    pub(super) fn info_symbol(&mut self, text: &str) -> Result<()> {
        if text.is_empty() {
            return super::failure::failure("Which address?  info symbol ADDRESS");
        }
        let value = self.evaluate(text)?;
        let at = match value.ty.strip().kind() {
            Kind::Function(..) | Kind::Array(..) => value.address(),
            _ => None,
        };
        let at = match at {
            Some(at) => at,
            None => value.to_address()?,
        };
        let found = self.images.module_at(at).and_then(|(module, bias)| {
            let place = FileAddr::of(at, bias);
            let (name, into) = module.linker_name_at(place, true)?;
            let name = match into {
                0 => name,
                into => format!("{name} + {into}"),
            };
            let file = match self.images.loaded().len() {
                1 => String::new(),
                _ => {
                    let path = std::path::absolute(module.path());
                    let path = path.unwrap_or_else(|_| module.path().to_owned());
                    format!(" of {}", path.display())
                }
            };
            let section = module.section_at(place)?;
            Some(format!("{name} in section {section}{file}"))
        });
        self.say(&found.unwrap_or_else(|| format!("No symbol matches {text}.")))
    }
}

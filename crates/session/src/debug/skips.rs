//! Functions that `step` does not enter.

use super::Debugger;
use super::failure::{Result, failure};
use std::rc::Rc;
use verde_symbols::{Function, SourceFile, SourceFrame};

#[derive(Clone)]
enum What {
    Function(String),
    File(String),
}

/// What the user has named, by number.
#[derive(Clone, Default)]
pub(super) struct Skips {
    list: Vec<(u32, What)>,
    last: u32,
}

impl Skips {
    pub fn covers(&self, function: &Function) -> bool {
        self.list.iter().any(|(_, what)| match what {
            What::Function(name) => is_called(&function.name, name),
            What::File(name) => {
                let declared = function.declared.as_ref();
                declared.is_some_and(|(file, _)| is_file(file, name))
            }
        })
    }
}

impl Skips {
    /// The same of an inlined call, by the file that its code is from.
    pub fn covers_call(&self, call: &SourceFrame) -> bool {
        call.is_inlined
            && self.list.iter().any(|(_, what)| match what {
                What::Function(name) => is_called(&call.name, name),
                What::File(name) => call.line.as_ref().is_some_and(|(f, _)| is_file(f, name)),
            })
    }
}

/// The name alone, or with some of its scopes.
fn is_called(function: &str, name: &str) -> bool {
    let bare = function.split(['(', '<']).next().unwrap_or(function);
    let scoped = bare.strip_suffix(name).is_some_and(|s| s.ends_with("::"));
    function == name || bare == name || scoped
}

/// The path, or its last parts.
pub(super) fn is_file(file: &SourceFile, name: &str) -> bool {
    let head = file.path.strip_suffix(name);
    head.is_some_and(|h| h.is_empty() || h.ends_with('/')) || file.name == name
}

impl Debugger {
    pub(super) fn skip(&mut self, args: &str) -> Result<()> {
        let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        let rest = rest.trim();
        let what = match (word, rest) {
            ("delete", _) => return self.delete_skips(rest),
            ("file" | "-fi" | "-file", "") => match self.current_line() {
                Some((file, _)) => What::File(file.name.clone()),
                None => return failure("No source file here; name one."),
            },
            ("file" | "-fi" | "-file", name) => What::File(name.to_owned()),
            ("" | "function" | "-fu" | "-function", "") => {
                let level = self.live.as_ref().map_or(0, |l| l.selected);
                match self.function_name(level) {
                    Some(name) => What::Function(name),
                    None => return failure("No function here; name one."),
                }
            }
            ("function" | "-fu" | "-function", name) => What::Function(name.to_owned()),
            _ => What::Function(args.to_owned()),
        };
        let text = match &what {
            What::Function(name) => format!("Function {name} will be skipped when stepping."),
            What::File(name) => format!("File {name} will be skipped when stepping."),
        };
        let skips = Rc::make_mut(&mut self.skips);
        skips.last += 1;
        skips.list.push((skips.last, what));
        self.say(&text)
    }

    fn delete_skips(&mut self, args: &str) -> Result<()> {
        let skips = Rc::make_mut(&mut self.skips);
        if args.is_empty() {
            skips.list.clear();
        }
        for word in args.split_whitespace() {
            let number = word.parse::<u32>().ok();
            let Some(at) = skips.list.iter().position(|s| Some(s.0) == number) else {
                return failure(format!("No skiplist entries found with number {word}."));
            };
            skips.list.remove(at);
        }
        Ok(())
    }

    pub(super) fn info_skip(&mut self, _: &str) -> Result<()> {
        let row = |(number, what): &(u32, What)| match what {
            What::Function(name) => format!("{number:<4} function {name}"),
            What::File(name) => format!("{number:<4} file {name}"),
        };
        let lines = self.skips.list.iter().map(row).collect();
        self.say_all(lines, "Not skipping any files or functions.")
    }
}

#[cfg(test)]
mod tests {
    use super::is_called;

    #[test]
    fn functions_are_named_with_or_without_scopes() {
        assert!(is_called("ns::C::f(int)", "f"));
        assert!(is_called("ns::C::f(int)", "C::f"));
        assert!(is_called("f", "f"));
        assert!(!is_called("ns::C::of(int)", "f"));
        assert!(!is_called("g", "f"));
    }
}

//! What people write to name a function: `f`, `ns::C::m`, `::f`, `file.c:f`, `lib.so!f`,
//! `'ns::f(int)'`, `crate::Stack<i32>::push`.

use crate::functions::Function;
use crate::index::match_scopes;
use crate::names::{
    Brackets, base_name, demangle, implementation, is_implemented, normal_parameters,
    readable_paths, split_parameters, split_path, squeeze,
};
use crate::outlook::{BY_LINKER, Outlook};
use crate::paths::Step;
use std::borrow::Cow;
use std::path::Path;

/// A function's name as the user wrote it, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionQuery {
    /// The module before `!`; the caller picks the modules it means.
    pub module: Option<String>,
    /// The source file before a single `:`.
    pub file: Option<String>,
    /// Written with a leading `::`: only the global scope.
    pub global: bool,
    /// Written with a leading `crate::`, as Rust's programs name what is in their own crate.
    in_crate: bool,
    /// Scopes and name, outermost first.
    pub path: Vec<String>,
    /// Parameter types, when written.
    pub parameters: Option<Vec<String>>,
    /// `<Type as Trait>::method`: one implementation, spelled out.
    exact: Option<String>,
}

impl FunctionQuery {
    /// Takes a name apart. Nothing a user writes is an error: what cannot be found is not found.
    pub fn parse(text: &str) -> FunctionQuery {
        let mut text = text.trim();
        let mut module = None;
        if let Some((head, rest)) = split_module(text) {
            module = Some(head.to_owned());
            text = rest;
        }
        let mut file = None;
        if let Some((head, rest)) = split_file(text) {
            file = Some(head.trim_matches('\'').to_owned());
            text = rest;
        }
        if let Some(inner) = text.strip_prefix('\'') {
            text = inner.strip_suffix('\'').unwrap_or(inner);
        }
        let global = text.starts_with("::");
        let text = text.trim_start_matches("::");
        let (name, parameters) = if text.starts_with('<') {
            (text, None)
        } else {
            split_parameters(text)
        };
        let mut path: Vec<String> = if name.starts_with('<') {
            readable_paths(name).swap_remove(0)
        } else {
            split_path(name)
                .iter()
                .map(|s| s.trim().to_owned())
                .collect()
        };
        // No crate can have that name.
        let in_crate = path.len() > 1 && path[0] == "crate";
        if in_crate {
            path.remove(0);
        }
        FunctionQuery {
            module,
            file,
            global,
            in_crate,
            path,
            parameters: parameters.map(normal_parameters),
            exact: name.starts_with('<').then(|| squeeze(name)),
        }
    }

    /// The same where the crate that `crate::` stands for is known.
    pub(crate) fn within(&self, own: Option<&str>) -> Cow<'_, FunctionQuery> {
        match own.filter(|_| self.in_crate) {
            None => Cow::Borrowed(self),
            Some(own) => {
                let mut whole = self.clone();
                whole.in_crate = false;
                whole.global = true;
                whole.path.insert(0, own.to_owned());
                Cow::Owned(whole)
            }
        }
    }

    /// Written with a leading `crate::`.
    pub(crate) fn is_in_crate(&self) -> bool {
        self.in_crate
    }

    /// Whether the module part, if any, means a file: `libc.so` also means `libc.so.6`.
    pub fn fits_module(&self, path: &Path) -> bool {
        let Some(wanted) = &self.module else {
            return true;
        };
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        let rest = name.strip_prefix(wanted.as_str());
        path == Path::new(wanted) || rest.is_some_and(|r| r.is_empty() || r.starts_with('.'))
    }

    /// The last part of the name, without arguments: what the index knows.
    pub fn base(&self) -> &str {
        self.path.last().map_or("", |p| base_name(p))
    }

    /// Whether a function's own name and scopes are what was asked for.
    pub(crate) fn matches(&self, name: &str, scopes: &[Step], readable: Option<&str>) -> bool {
        if let Some(exact) = &self.exact {
            return readable.is_some_and(|r| is_exactly(r, exact));
        }
        let refs: Vec<&Step> = scopes.iter().collect();
        if self.matches_path(name, &refs) {
            return self.matches_parameters(readable);
        }
        // Trait implementations: their scope in DWARF is a number, their mangled name says it all.
        let Some(readable) = readable.filter(|r| is_implemented(r)) else {
            return false;
        };
        readable_paths(readable)
            .iter()
            .any(|path| self.matches_readable(path))
    }

    /// How far a function is that matches, seen from a place in the code.
    pub(crate) fn rank(
        &self,
        name: &str,
        scopes: &[Step],
        readable: Option<&str>,
        from: &Outlook,
    ) -> Option<usize> {
        if !self.matches(name, scopes, readable) {
            return None;
        }
        if self.exact.is_some() || self.in_crate {
            return Some(0);
        }
        let wanted: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let refs: Vec<&Step> = scopes.iter().collect();
        let by_scopes = from.rank(&wanted, name, &refs);
        by_scopes.or_else(|| self.readable_rank(readable.filter(|r| is_implemented(r))?, from))
    }

    /// The same for a function that the linker's table has, too.
    pub(crate) fn symbol_rank(&self, function: &Function, from: &Outlook) -> Option<usize> {
        let linked = function.linkage_name.as_deref();
        if self.path.len() == 1 && linked.is_none_or(|l| l == self.path[0]) {
            return Some(BY_LINKER);
        }
        if self.exact.is_some() || self.in_crate {
            return Some(0);
        }
        let readable = linked.and_then(demangle);
        self.readable_rank(readable.as_deref().unwrap_or(&function.name), from)
    }

    fn readable_rank(&self, readable: &str, from: &Outlook) -> Option<usize> {
        let wanted: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let paths = readable_paths(readable).into_iter();
        let ranks = paths.filter_map(|path| {
            let steps = readable_steps(&path);
            let (last, scopes) = steps.split_last()?;
            let refs: Vec<&Step> = scopes.iter().collect();
            from.rank(&wanted, &last.name, &refs)
        });
        ranks.min()
    }

    /// Whether a symbol without debug information is what was asked for.
    pub(crate) fn matches_symbol(&self, name: &str, readable: Option<&str>) -> bool {
        if self.file.is_some() {
            return false;
        }
        if self.path.len() == 1 && self.path[0] == name && self.parameters.is_none() {
            return true;
        }
        let Some(readable) = readable else {
            return false;
        };
        if let Some(exact) = &self.exact {
            return is_exactly(readable, exact);
        }
        readable_paths(readable)
            .iter()
            .any(|path| self.matches_readable(path))
            && self.matches_parameters(Some(readable))
    }

    fn matches_readable(&self, path: &[String]) -> bool {
        let steps = readable_steps(path);
        let Some((last, scopes)) = steps.split_last() else {
            return false;
        };
        let refs: Vec<&Step> = scopes.iter().collect();
        self.matches_path(&last.name, &refs)
    }

    fn matches_path(&self, name: &str, scopes: &[&Step]) -> bool {
        let Some((last, wanted)) = self.path.split_last() else {
            return false;
        };
        let same = if base_name(last) != last {
            squeeze(last) == squeeze(name)
        } else {
            last == base_name(name)
        };
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let fits = |extra: usize| match (self.in_crate, self.global) {
            (true, _) => extra == 1,
            (_, true) => extra == 0,
            _ => true,
        };
        same && match_scopes(&wanted, scopes).is_some_and(fits)
    }

    fn matches_parameters(&self, readable: Option<&str>) -> bool {
        let Some(wanted) = &self.parameters else {
            return true;
        };
        match readable.map(split_parameters) {
            Some((_, Some(list))) => normal_parameters(list) == *wanted,
            _ => false,
        }
    }
}

/// A readable name is that of one implementation, spelled out.
fn is_exactly(readable: &str, exact: &str) -> bool {
    squeeze(split_parameters(&implementation(readable)).0) == *exact
}

/// The steps of a path that was read from a linker's name.
fn readable_steps(path: &[String]) -> Vec<Step> {
    let step = |name: &String| Step {
        name: name.clone(),
        optional: name == "(anonymous namespace)" || name == "__cxx11",
    };
    path.iter().map(step).collect()
}

fn split_module(text: &str) -> Option<(&str, &str)> {
    let (head, rest) = text.split_once('!')?;
    let plain = !head.is_empty() && !head.contains(['(', '<', '\'', ' ']);
    (plain && !rest.starts_with('=')).then_some((head, rest))
}

fn split_file(text: &str) -> Option<(&str, &str)> {
    let single = |&(at, c, depth): &(usize, char, usize)| {
        c == ':'
            && depth == 0
            && at > 0
            && !text[at + 1..].starts_with(':')
            && !text[..at].ends_with(':')
    };
    let (at, ..) = Brackets::new(text).find(single)?;
    Some((&text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(path: &[&str]) -> Vec<Step> {
        let step = |name: &&str| Step {
            name: name.to_string(),
            optional: name.starts_with("{impl"),
        };
        path.iter().map(step).collect()
    }

    #[test]
    fn parts_are_told_apart() {
        let q = FunctionQuery::parse("lib.so!f");
        assert_eq!((q.module.as_deref(), q.base()), (Some("lib.so"), "f"));
        assert!(q.fits_module(Path::new("/usr/lib/lib.so.6")));
        assert!(!q.fits_module(Path::new("/usr/lib/lib.so6")));
        assert!(FunctionQuery::parse("f").fits_module(Path::new("x")));
        let q = FunctionQuery::parse("dir/file.c:f");
        assert_eq!((q.file.as_deref(), q.base()), (Some("dir/file.c"), "f"));
        let q = FunctionQuery::parse("'ns::f(int, const char *)'");
        assert_eq!(q.path, ["ns", "f"]);
        assert_eq!(q.parameters.unwrap().len(), 2);
        assert!(FunctionQuery::parse("::f").global);
        assert_eq!(FunctionQuery::parse("operator()").path, ["operator()"]);
    }

    #[test]
    fn a_name_without_scope_matches_every_scope() {
        let q = FunctionQuery::parse("push");
        assert!(q.matches("push", &steps(&["m", "Stack<i32>"]), None));
        assert!(!FunctionQuery::parse("::push").matches("push", &steps(&["m"]), None));
        assert!(FunctionQuery::parse("::push").matches("push", &[], None));
    }

    #[test]
    fn generics_match_one_or_all() {
        let scopes = steps(&["m", "Stack<i32>"]);
        assert!(FunctionQuery::parse("Stack<i32>::push").matches("push", &scopes, None));
        assert!(FunctionQuery::parse("m::Stack::push").matches("push<i32>", &scopes, None));
        assert!(!FunctionQuery::parse("Stack<u8>::push").matches("push", &scopes, None));
    }

    #[test]
    fn the_own_crate_is_any_crate() {
        let scopes = steps(&["program", "m", "Stack<i32>"]);
        let is = |query: &str| FunctionQuery::parse(query).matches("push", &scopes, None);
        assert!(is("crate::m::Stack<i32>::push"));
        assert!(is("crate::m::Stack::push"));
        assert!(!is("crate::Stack::push"));
        assert!(!is("crate::m::Stack<u8>::push"));
    }

    #[test]
    fn trait_methods_match_by_trait() {
        let scopes = steps(&["m", "{impl#0}"]);
        let readable = Some("<m::S as m::T>::go");
        for query in ["m::T::go", "T::go", "m::S::go", "go", "m::go"] {
            assert!(
                FunctionQuery::parse(query).matches("go", &scopes, readable),
                "{query}"
            );
        }
        assert!(!FunctionQuery::parse("m::U::go").matches("go", &scopes, readable));
        let scopes = steps(&["m", "n", "{impl#0}"]);
        let elsewhere = Some("m::n::<impl m::T for m::a::S<X>>::go");
        for query in [
            "m::T::go",
            "crate::T::go",
            "a::S::go",
            "crate::a::S::go",
            "n::go",
            "<m::a::S<X> as m::T>::go",
        ] {
            assert!(
                FunctionQuery::parse(query).matches("go", &scopes, elsewhere),
                "{query}"
            );
        }
        for query in ["n::T::go", "crate::S::go", "a::T::go"] {
            assert!(!FunctionQuery::parse(query).matches("go", &scopes, elsewhere));
        }
        let own = Some("m::n::<impl m::a::S>::go");
        assert!(FunctionQuery::parse("crate::a::S::go").matches("go", &scopes, own));
    }

    #[test]
    fn implementations_inside_of_methods() {
        let scopes = steps(&["m", "n", "{impl#0}", "go", "{impl#0}"]);
        // Of a type that is defined in a method, and of one that is defined elsewhere.
        for readable in [
            "<m::n::<impl m::S>::go::Foo as m::T>::run",
            "m::n::<impl m::S>::go::<impl m::T for m::Foo>::run",
        ] {
            for query in ["m::T::run", "T::run", "crate::T::run", "Foo::run"] {
                let query = FunctionQuery::parse(query);
                assert!(query.matches("run", &scopes, Some(readable)), "{readable}");
            }
            let query = FunctionQuery::parse("m::S::run");
            assert!(!query.matches("run", &scopes, Some(readable)), "{readable}");
        }
    }

    #[test]
    fn overloads_are_chosen_by_parameters() {
        let readable = Some("ns::f(char const*)");
        let q = FunctionQuery::parse("'ns::f(const char *)'");
        assert!(q.matches("f", &steps(&["ns"]), readable));
        assert!(!FunctionQuery::parse("'ns::f(int)'").matches("f", &steps(&["ns"]), readable));
    }
}

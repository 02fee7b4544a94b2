//! Names as compilers and people write them: paths, template arguments, mangling, likeness.

use std::borrow::Cow;

/// What may stand behind the word `operator`, longer ones first.
const OPERATORS: [&str; 41] = [
    "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=",
    "-=", "*=", "/=", "%=", "&=", "|=", "^=", "->", "()", "[]", "+", "-", "*", "/", "%", "&", "|",
    "^", "~", "!", "<", ">", "=", ",", " new", " delete",
];

/// A name without its template or generic arguments: `push<i32>` is found by `push`.
pub(crate) fn base_name(name: &str) -> &str {
    if name.starts_with("operator") && !name[8..].starts_with(|c: char| c.is_alphanumeric()) {
        let symbol = OPERATORS.iter().find(|s| name[8..].starts_with(**s));
        let end = 8 + symbol.map_or(0, |s| s.len());
        // A template's: `operator*<double>`, and `operator< <double>`.
        return match symbol.is_some() && name[end..].trim_start().starts_with('<') {
            true => &name[..end],
            false => name,
        };
    }
    match name.find('<') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

/// Splits at `::` outside brackets.
pub(crate) fn split_path(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut rest = Brackets::new(path);
    while let Some((at, c, depth)) = rest.next() {
        if c == ':' && depth == 0 && path[at..].starts_with("::") && at >= start {
            parts.push(&path[start..at]);
            start = at + 2;
            rest.next();
        }
    }
    parts.push(&path[start..]);
    parts
}

/// Characters with the bracket depth they are at. `operator<` and `->` are no brackets.
pub(crate) struct Brackets<'a> {
    text: &'a str,
    chars: std::iter::Peekable<std::str::CharIndices<'a>>,
    depth: usize,
}

impl<'a> Brackets<'a> {
    pub fn new(text: &'a str) -> Self {
        Brackets {
            text,
            chars: text.char_indices().peekable(),
            depth: 0,
        }
    }
}

impl Iterator for Brackets<'_> {
    type Item = (usize, char, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let (at, c) = self.chars.next()?;
        let before = &self.text[..at];
        let symbol = before.trim_end_matches(['<', '>', '=', '-', '(']);
        let in_operator = symbol.ends_with("operator") && at - symbol.len() < 3;
        match c {
            _ if in_operator => {}
            '<' | '(' | '[' | '{' => self.depth += 1,
            '>' if before.ends_with('-') => {}
            '>' | ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        Some((at, c, self.depth))
    }
}

/// The readable form of a linker's name; `None` when it is not mangled.
pub fn demangle(name: &str) -> Option<String> {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return Some(format!("{rust:#}"));
    }
    if !name.starts_with("_Z") {
        return None;
    }
    // The suffix of a clone (`.part.0`, `.cold`) is not part of the mangling.
    let plain = name.split_once('.').map_or(name, |(n, _)| n);
    let options = cpp_demangle::DemangleOptions::new()
        .no_return_type()
        .recursion_limit(128);
    let parse = cpp_demangle::ParseOptions::default().recursion_limit(128);
    let symbol = cpp_demangle::Symbol::new_with_options(plain, &parse).ok()?;
    symbol.demangle_with_options(&options).ok().map(familiar)
}

/// `{vtable(C)}` in the words of every other tool.
fn familiar(name: String) -> String {
    let words = [
        ("{vtable(", "vtable for "),
        ("{vtt(", "VTT for "),
        ("{typeinfo(", "typeinfo for "),
        ("{typeinfo name(", "typeinfo name for "),
        ("{static initialization guard(", "guard variable for "),
    ];
    for (ours, theirs) in words {
        let inner = name.strip_prefix(ours).and_then(|n| n.strip_suffix(")}"));
        if let Some(inner) = inner {
            return format!("{theirs}{inner}");
        }
    }
    plain_numbers(&name)
}

/// Template arguments as other tools write them: `0ul` for `(unsigned long)0`.
fn plain_numbers(name: &str) -> String {
    let casts = [
        ("(unsigned long)", "ul"),
        ("(unsigned int)", "u"),
        ("(long)", "l"),
    ];
    let mut out = name.replace("(bool)1", "true").replace("(bool)0", "false");
    for (cast, suffix) in casts {
        while let Some(at) = out.find(cast) {
            let rest = &out[at + cast.len()..];
            let digits = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            if digits == 0 {
                break;
            }
            out = format!(
                "{}{}{suffix}{}",
                &out[..at],
                &rest[..digits],
                &rest[digits..]
            );
        }
    }
    out
}

/// Rust's name for what an implementation has, which tells of more than a path:
/// `<m::S as m::T>::go`, and `n::<impl m::T for m::S>::go` of one that is written elsewhere than its type.
pub(crate) fn is_implemented(readable: &str) -> bool {
    readable.starts_with('<') || elsewhere(readable).is_some()
}

/// Where the innermost implementation begins that is written elsewhere than its type. One inside of
/// brackets is only where a type is defined: `<n::<impl m::S>::go::Guard as m::T>::run`.
fn elsewhere(readable: &str) -> Option<usize> {
    let found = Brackets::new(readable)
        .filter(|&(at, c, depth)| c == ':' && depth == 0 && readable[at..].starts_with(ELSEWHERE))
        .last();
    found.map(|(at, ..)| at + 2)
}

const ELSEWHERE: &str = "::<impl ";

/// The same name wherever the implementation is written.
pub(crate) fn implementation(readable: &str) -> Cow<'_, str> {
    let Some(at) = elsewhere(readable) else {
        return readable.into();
    };
    let parts = split_path(&readable[at..]);
    let inner = parts[0].strip_prefix("<impl ");
    let Some(inner) = inner.and_then(|p| p.strip_suffix('>')) else {
        return readable.into();
    };
    let of = match split_at_word(inner, " for ") {
        Some((of, this)) => format!("<{this} as {of}>"),
        None => format!("<{inner}>"),
    };
    let rest = parts[1..].iter().map(|part| format!("::{part}"));
    rest.fold(of, |all, part| all + &part).into()
}

/// The paths under which a readable name can be asked for, parameters removed. A trait method
/// `<m::S as m::T>::go` answers to `m::T::go` and to `m::S::go`.
pub(crate) fn readable_paths(readable: &str) -> Vec<Vec<String>> {
    let readable = implementation(readable);
    let (path, _) = split_parameters(&readable);
    // A template function's readable name starts with its result type.
    let path = last_word(path);
    let parts: Vec<String> = split_path(path).into_iter().map(str::to_owned).collect();
    let Some(inner) = parts
        .first()
        .and_then(|p| p.strip_prefix('<')?.strip_suffix('>'))
    else {
        return vec![parts];
    };
    let rest = &parts[1..];
    let join = |head: &str| {
        let head = head.trim_start_matches(['&', '*']);
        let mut path: Vec<String> = split_path(head).into_iter().map(str::to_owned).collect();
        path.extend_from_slice(rest);
        path
    };
    match split_at_word(inner, " as ") {
        Some((this, of)) => vec![join(of), join(this)],
        None => vec![join(inner)],
    }
}

/// What is before and after a word with its spaces, outside of brackets.
fn split_at_word<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    Brackets::new(text)
        .find(|&(at, c, depth)| c == ' ' && depth == 0 && text[at..].starts_with(word))
        .map(|(at, ..)| (&text[..at], &text[at + word.len()..]))
}

fn last_word(path: &str) -> &str {
    if path.starts_with('<') || path.contains("operator") {
        return path;
    }
    let space = Brackets::new(path)
        .filter(|&(_, c, depth)| c == ' ' && depth == 0)
        .last();
    space.map_or(path, |(at, ..)| &path[at + 1..])
}

/// Separates `f(int, char)` into `f` and the text between the parentheses.
pub(crate) fn split_parameters(name: &str) -> (&str, Option<&str>) {
    // The last list that no further scope follows: `f(int)::{lambda()#1}::operator()(int) const`.
    let mut open = None;
    let mut found = None;
    for (at, c, depth) in Brackets::new(name) {
        match c {
            '(' if depth == 1 && at > 0 && !name[..at].ends_with("operator") => open = Some(at),
            ')' if depth == 0 => {
                if let Some(start) = open.take() {
                    found = Some((start, at));
                }
            }
            ':' if depth == 0 => found = None,
            _ => {}
        }
    }
    match found {
        Some((open, close)) => (&name[..open], Some(&name[open + 1..close])),
        None => (name, None),
    }
}

/// A parameter list in a form in which `const char *` and `char const*` are the same.
pub(crate) fn normal_parameters(list: &str) -> Vec<String> {
    let all = split_list(list).into_iter();
    let all = all.map(|one| normal_type(&normal_arguments(one, 0)));
    all.filter(|one| !one.is_empty() && one != "void").collect()
}

/// Splits at commas outside brackets.
fn split_list(list: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    for (at, c, depth) in Brackets::new(list) {
        if c == ',' && depth == 0 {
            out.push(&list[start..at]);
            start = at + 1;
        }
    }
    out.push(&list[start..]);
    out
}

/// Templates within templates; names with more are left as they are.
const DEEPEST: usize = 32;

/// A name with its template arguments in one form: GCC's `Ring<short int, 4ul>` is `Ring<short,4>`,
/// as everybody writes it.
fn normal_arguments(name: &str, deep: usize) -> String {
    let open = Brackets::new(name).find(|&(at, c, depth)| c == '<' && depth == 1 && at > 0);
    let found = open.filter(|_| deep < DEEPEST).and_then(|(open, ..)| {
        let mut inside = Brackets::new(&name[open..]);
        let (close, ..) = inside.find(|&(_, c, depth)| c == '>' && depth == 0)?;
        Some((open, open + close))
    });
    let Some((open, close)) = found else {
        return name.to_owned();
    };
    let one = |argument: &str| {
        let argument = normal_arguments(argument.trim(), deep + 1);
        match argument.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            true => argument.trim_end_matches(['u', 'U', 'l', 'L']).to_owned(),
            false => normal_type(&argument),
        }
    };
    let arguments: Vec<String> = split_list(&name[open + 1..close])
        .into_iter()
        .map(one)
        .collect();
    let rest = normal_arguments(&name[close + 1..], deep + 1);
    format!("{}<{}>{rest}", &name[..open], arguments.join(","))
}

/// A name of C++ with numbers' types inside template arguments in the words of gdb: GCC calls
/// `unsigned long` `long unsigned int`.
pub fn plain_arguments(name: &str) -> String {
    let mut out = name.to_owned();
    for words in [
        "long long unsigned int",
        "long unsigned int",
        "short unsigned int",
        "long long int",
        "long int",
        "short int",
    ] {
        if out.contains(words) {
            out = out.replace(words, plain_c_name(words));
        }
    }
    out
}

/// GCC's `long unsigned int` in the words of gdb.
pub fn plain_c_name(name: &str) -> &str {
    match name {
        "long int" => "long",
        "long unsigned int" => "unsigned long",
        "short int" => "short",
        "short unsigned int" => "unsigned short",
        "long long int" => "long long",
        "long long unsigned int" => "unsigned long long",
        other => other,
    }
}

fn normal_type(text: &str) -> String {
    // Inside of template arguments spaces mean nothing here.
    let text: String = Brackets::new(text.trim())
        .filter(|&(_, c, depth)| depth == 0 || !c.is_whitespace())
        .map(|(_, c, _)| c)
        .collect();
    let text = without_defaults(&text);
    let head = Brackets::new(&text)
        .find(|&(_, c, depth)| depth == 0 && matches!(c, '*' | '&'))
        .map_or(text.len(), |(at, ..)| at);
    let words = text[..head].split_whitespace();
    let mut words: Vec<&str> = words.flat_map(meaning).collect();
    // `long int` and `long` are one type; so are `unsigned int` and `unsigned`.
    if words.len() > 1
        && words
            .iter()
            .any(|w| ["long", "short", "unsigned"].contains(w))
    {
        words.retain(|w| *w != "int");
    }
    words.sort_unstable();
    let tail: String = text[head..].split_whitespace().collect();
    words.join(" ") + &tail
}

/// What the library's names for numbers stand for: a linker's name has only that.
fn meaning(word: &str) -> Vec<&str> {
    match word.strip_prefix("std::").unwrap_or(word) {
        "size_t" | "uint64_t" | "uintptr_t" | "uintmax_t" => vec!["unsigned", "long"],
        "ssize_t" | "ptrdiff_t" | "int64_t" | "intptr_t" | "intmax_t" => vec!["long"],
        "uint32_t" => vec!["unsigned", "int"],
        "int32_t" => vec!["int"],
        "uint16_t" => vec!["unsigned", "short"],
        "int16_t" => vec!["short"],
        "uint8_t" => vec!["unsigned", "char"],
        "int8_t" => vec!["signed", "char"],
        _ => vec![word],
    }
}

/// A name in the form in which all writers agree: without spaces, and `std::vector<int>` for
/// `std::vector<int, std::allocator<int> >`.
pub(crate) fn squeeze(name: &str) -> String {
    let name = normal_arguments(name, 0);
    let dense: String = name.chars().filter(|c| !c.is_whitespace()).collect();
    without_defaults(&dense)
}

/// Leaves out the arguments that templates of the standard library have by themselves. The name
/// has no spaces inside of its brackets.
fn without_defaults(name: &str) -> String {
    if !name.contains("std::") {
        return name.to_owned();
    }
    let defaults = [
        ",std::char_traits<",
        ",std::allocator<",
        ",std::default_delete<",
        ",std::hash<",
        ",std::equal_to<",
        ",std::less<",
    ];
    let mut out = name.replace("std::__cxx11::", "std::");
    for default in defaults {
        let mut from = 0;
        while let Some(at) = out[from..].find(default).map(|at| from + at) {
            let start = at + default.len() - 1;
            let close = Brackets::new(&out[start..]).find(|&(_, c, depth)| c == '>' && depth == 0);
            let end = close.map_or(out.len(), |(close, ..)| start + close + 1);
            match out[end..].starts_with([',', '>']) {
                true => out.replace_range(at..end, ""),
                false => from = end,
            }
        }
    }
    for (long, short) in [
        ("basic_string<char>", "string"),
        ("basic_string_view<char>", "string_view"),
        ("basic_ostream<char>", "ostream"),
        ("basic_istream<char>", "istream"),
    ] {
        out = out.replace(&format!("std::{long}"), &format!("std::{short}"));
    }
    out
}

/// The hash under which a name is indexed.
pub(crate) fn name_hash(name: &str) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for chunk in name.as_bytes().chunks(8) {
        let word = chunk.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    (hash >> 32) as u32
}

/// How many edits lead from one name to the other, up to `limit`.
pub fn distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (
        a.chars().flat_map(char::to_lowercase).collect(),
        b.chars().flat_map(char::to_lowercase).collect(),
    );
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = vec![i];
        for j in 1..=b.len() {
            let change = row[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(row[j] + 1).min(next[j - 1] + 1);
            // Two neighbours swapped are one slip of the fingers.
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            next.push(best);
        }
        if next.iter().all(|&d| d > limit) {
            return None;
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().filter(|&d| d <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_split_outside_brackets() {
        assert_eq!(split_path("a::b<c::d>::e"), ["a", "b<c::d>", "e"]);
        assert_eq!(split_path("::f"), ["", "f"]);
        assert_eq!(split_path("ns::operator<"), ["ns", "operator<"]);
        assert_eq!(split_path("A<x>::operator->"), ["A<x>", "operator->"]);
    }

    #[test]
    fn trait_methods_answer_to_trait_and_type() {
        let paths = readable_paths("<a::S<X> as a::T>::go");
        assert_eq!(paths[0], ["a", "T", "go"]);
        assert_eq!(paths[1], ["a", "S<X>", "go"]);
        assert_eq!(
            readable_paths("<a::S<i32>>::push")[0],
            ["a", "S<i32>", "push"]
        );
        assert_eq!(
            readable_paths("int ns::max<int>(int, int)")[0],
            ["ns", "max<int>"]
        );
        let lambda = "f(int)::{lambda(int)#1}::operator()(int) const";
        assert_eq!(readable_paths(lambda)[0].last().unwrap(), "operator()");
        let hidden = "(anonymous namespace)::hidden(int)";
        assert_eq!(
            readable_paths(hidden)[0],
            ["(anonymous namespace)", "hidden"]
        );
    }

    #[test]
    fn template_arguments_have_one_form() {
        for (one, other) in [
            ("Ring<short,4>", "Ring<short int, 4>"),
            ("Ring<unsigned long, 2>", "Ring<long unsigned int, 2ul>"),
            ("Ring<const char *, 3>", "Ring<char const*, 3>"),
            (
                "A<B<long>, C<unsigned> >",
                "A<B<long int>, C<unsigned int>>",
            ),
            ("A<short>::B<long>", "A<short int>::B<long int>"),
        ] {
            assert_eq!(squeeze(one), squeeze(other));
        }
        assert_ne!(squeeze("Ring<short, 4>"), squeeze("Ring<long, 4>"));
        assert_ne!(squeeze("Ring<short, 4>"), squeeze("Ring<short, 14>"));
        assert_eq!(
            normal_parameters("Ring<short, 4> &, int"),
            normal_parameters("Ring<short int, 4>&, int")
        );
    }

    #[test]
    fn parameters_compare_whatever_the_order() {
        assert_eq!(
            normal_parameters("const char *, unsigned int"),
            normal_parameters("char const*, unsigned")
        );
        assert_eq!(normal_parameters("void"), Vec::<String>::new());
        let mangled = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&, std::vector<int*, std::allocator<int*> >&, unsigned long";
        assert_eq!(
            normal_parameters(mangled),
            normal_parameters("const std::string &, std::vector<int *> &, size_t")
        );
        assert_ne!(
            normal_parameters("std::vector<int>"),
            normal_parameters("std::vector<long>")
        );
    }

    #[test]
    fn default_arguments_of_templates_may_be_left_out() {
        let long = "map<int, std::vector<int, std::allocator<int> >, std::less<int>, std::allocator<std::pair<int const, int> > >";
        assert_eq!(
            squeeze(&format!("std::{long}")),
            "std::map<int,std::vector<int>>"
        );
        assert_eq!(squeeze("Box<int, std::allocator<int> >"), "Box<int>");
        assert_eq!(squeeze("std::allocator<int>"), "std::allocator<int>");
    }

    #[test]
    fn base_names_lose_their_arguments() {
        assert_eq!(base_name("push<i32>"), "push");
        assert_eq!(base_name("operator<<"), "operator<<");
        assert_eq!(base_name("operator*<double>"), "operator*");
        assert_eq!(base_name("operator< <double>"), "operator<");
        assert_eq!(base_name("operator()<int>"), "operator()");
        assert_eq!(base_name("operator->"), "operator->");
        assert_eq!(base_name("operators<int>"), "operators");
        assert_eq!(base_name("{closure#0}<()>"), "{closure#0}");
    }

    #[test]
    fn near_names_are_near() {
        assert_eq!(distance("queue_psuh", "queue_push", 3), Some(1));
        assert_eq!(distance("abc", "xyz", 2), None);
    }
}

//! Names of C++'s standard types as people write them: without the arguments that are the default,
//! as gdb's type printers for libstdc++ do it.

/// A name in which standard templates have lost their default arguments.
pub(crate) fn shortened(text: &str) -> String {
    shorten(text, 0).0
}

/// Whether a name is that of a standard type that people know by it.
pub(crate) fn is_known(text: &str) -> bool {
    let (_, whole) = shorten(text, 0);
    whole
}

/// How deep templates may nest before a name is left as it is.
const DEEPEST: usize = 32;

/// The shorter text, and whether it is one standard type and nothing else.
fn shorten(text: &str, depth: usize) -> (String, bool) {
    if depth > DEEPEST || !text.contains("std::") {
        return (text.to_owned(), false);
    }
    let mut out = String::new();
    let mut rest = text;
    let mut whole = false;
    while let Some(open) = rest.find('<') {
        let head = &rest[..open];
        let name_at = head
            .rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
            .map_or(0, |at| {
                at + head[at..].chars().next().map_or(1, char::len_utf8)
            });
        let name = &head[name_at..];
        let closed = match name.is_empty() || name.ends_with("operator") {
            true => None,
            false => arguments(&rest[open..]),
        };
        let Some((list, length)) = closed else {
            out.push_str(&rest[..=open]);
            rest = &rest[open + 1..];
            continue;
        };
        let short: Vec<String> = list.iter().map(|a| shorten(a, depth + 1).0).collect();
        out.push_str(&head[..name_at]);
        let found = known(name, &short);
        let after = &rest[open + length..];
        whole = found.is_some() && out.is_empty() && after.is_empty();
        out.push_str(&found.unwrap_or_else(|| {
            let joined = short.join(", ");
            let space = if short.last().is_some_and(|l| l.ends_with('>')) {
                " "
            } else {
                ""
            };
            format!("{name}<{joined}{space}>")
        }));
        rest = after;
    }
    out.push_str(rest);
    (out, whole)
}

/// The arguments of `<...>` at the start of a text, and how long it is.
fn arguments(text: &str) -> Option<(Vec<&str>, usize)> {
    let mut depth = 0usize;
    let mut start = 1;
    let mut list = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if text[..at].ends_with('-') => {}
            '>' | ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    list.push(text[start..at].trim());
                    return Some((list, at + 1));
                }
            }
            ',' if depth == 1 => {
                list.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// A standard template without its default arguments.
fn known(name: &str, arguments: &[String]) -> Option<String> {
    let bare = name.strip_prefix("std::")?;
    let bare = bare.strip_prefix("__cxx11::").unwrap_or(bare);
    let first = arguments.first()?;
    let allocator = |of: &str| {
        [
            format!("std::allocator<{of}>"),
            format!("std::allocator<{of} >"),
        ]
    };
    let is = |at: usize, wanted: &[String]| arguments.get(at).is_some_and(|a| wanted.contains(a));
    let of = |head: &str| {
        let form = |of: &str| [format!("std::{head}<{of}>"), format!("std::{head}<{of} >")];
        form(first)
    };
    let count = arguments.len();
    let kept = match bare {
        "basic_string" | "basic_string_view" => {
            let view = if bare == "basic_string" { "" } else { "_view" };
            let mark = match first.as_str() {
                "char" => "",
                "wchar_t" => "w",
                "char8_t" => "u8",
                "char16_t" => "u16",
                "char32_t" => "u32",
                _ => return None,
            };
            let plain = is(1, &of("char_traits")) && (count == 2 || is(2, &allocator(first)));
            return plain.then(|| format!("std::{mark}string{view}"));
        }
        "vector" | "deque" | "list" | "forward_list" if count == 2 && is(1, &allocator(first)) => 1,
        "unique_ptr" if count == 2 && is(1, &of("default_delete")) => 1,
        "set" | "multiset" if count == 3 && is(1, &of("less")) && is(2, &allocator(first)) => 1,
        "map" | "multimap" if count == 4 && is(2, &of("less")) => pairs(arguments, 3, 2)?,
        "unordered_set" | "unordered_multiset"
            if count == 4 && is(1, &of("hash")) && is(2, &of("equal_to")) =>
        {
            is(3, &allocator(first)).then_some(1)?
        }
        "unordered_map" | "unordered_multimap"
            if count == 5 && is(2, &of("hash")) && is(3, &of("equal_to")) =>
        {
            pairs(arguments, 4, 2)?
        }
        "stack" | "queue" if count == 2 && is(1, &of("deque")) => 1,
        _ => return None,
    };
    Some(format!("std::{bare}<{}>", arguments[..kept].join(", ")))
}

/// How many arguments are kept when the one at a place is the default allocator of a map's pairs.
fn pairs(arguments: &[String], at: usize, kept: usize) -> Option<usize> {
    let (key, value) = (arguments.first()?, arguments.get(1)?);
    let given: String = arguments.get(at)?.split_whitespace().collect();
    let forms = [format!("{key} const"), format!("const {key}")];
    let fits = forms.iter().any(|key| {
        let wanted = format!("std::allocator<std::pair<{key}, {value}>>");
        given == wanted.split_whitespace().collect::<String>()
    });
    fits.then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRING: &str =
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";

    #[test]
    fn default_arguments_are_left_out() {
        assert_eq!(shortened(STRING), "std::string");
        let vector = format!("std::vector<{STRING}, std::allocator<{STRING} > >");
        assert_eq!(shortened(&vector), "std::vector<std::string>");
        assert!(is_known(&vector));
        let map = format!(
            "std::map<{STRING}, int, std::less<{STRING} >, std::allocator<std::pair<{STRING} const, int> > >"
        );
        assert_eq!(shortened(&map), "std::map<std::string, int>");
        let tuple = format!("const std::tuple<int, {STRING}, double> *");
        assert_eq!(
            shortened(&tuple),
            "const std::tuple<int, std::string, double> *"
        );
        assert!(!is_known(&tuple));
        assert_eq!(
            shortened("std::__cxx11::list<int, std::allocator<int> >"),
            "std::list<int>"
        );
    }

    #[test]
    fn other_arguments_are_kept() {
        for text in [
            "std::vector<int, My<int> >",
            "bool operator<(const A &, const std::vector<int, B> &)",
            "a < std::b",
            "std::vector<int",
        ] {
            assert_eq!(shortened(text), text);
        }
        let nested = format!("std::_Rb_tree_iterator<std::pair<int const, {STRING} > >");
        assert_eq!(
            shortened(&nested),
            "std::_Rb_tree_iterator<std::pair<int const, std::string> >"
        );
    }
}

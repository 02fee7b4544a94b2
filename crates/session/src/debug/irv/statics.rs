//! Variables that several files have, each its own: a bare name does not say which.

use super::data::places_of_words;
use verde_symbols::{Module, NameFilter};

/// Variables of one name.
const MOST: usize = 100;

/// What is to be said about an expression with such a name, and how to write which is meant.
pub(super) fn ambiguity(text: &str, module: &Module) -> Option<String> {
    let words = places_of_words(text).into_iter();
    let mut bare = words.filter(|word| !text[..word.start].ends_with("::"));
    bare.find_map(|word| {
        let name = &text[word];
        let files = files_with(name, module);
        let ways: Vec<String> = files.iter().map(|f| format!("'{f}'::{name}")).collect();
        (ways.len() > 1).then(|| format!("`{name}` is one of {}", ways.join(", ")))
    })
}

/// The files that have a variable of their own by this name; none when there is one for all.
fn files_with(name: &str, module: &Module) -> Vec<String> {
    let fits = |other: &str| other == name;
    let filter = NameFilter {
        fits: &fits,
        in_paths: false,
    };
    let mut found = module.variables_where(&filter, MOST);
    found.retain(|v| v.name == name);
    if found.iter().any(|v| v.is_external) {
        return Vec::new();
    }
    let declared = found.into_iter().filter_map(|v| v.declared);
    let mut files: Vec<String> = declared.map(|(file, _)| file.name.clone()).collect();
    files.sort();
    files.dedup();
    files
}

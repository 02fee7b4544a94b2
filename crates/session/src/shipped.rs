//! Properties that come with the program: `std:NAME`.

use crate::properties::{Failed, read};
use std::path::Path;

/// Name and text of each.
const PROPERTIES: &[(&str, &str)] = &[];

/// A property's name for messages and its text: a file's, or a shipped one's.
pub fn property(path: &Path) -> Result<(String, Vec<u8>), Failed> {
    let shown = path.display().to_string();
    let Some(name) = shown.strip_prefix("std:") else {
        return Ok((shown, read(path)?));
    };
    match PROPERTIES.iter().find(|(n, _)| *n == name) {
        Some((name, text)) => Ok((format!("{name}.prop"), text.as_bytes().to_vec())),
        None => Err(Failed::NotShipped {
            name: name.to_owned(),
        }),
    }
}

/// Names of all shipped properties.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROPERTIES.iter().map(|(name, _)| *name)
}

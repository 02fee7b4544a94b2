//! Properties that come with the program: `std:NAME`.

use crate::properties::{Failed, read};
use std::path::Path;
use std::sync::Arc;
use verde_property::Source;

/// A property of `properties/`.
struct Shipped {
    name: &'static str,
    text: &'static str,
    /// The functions file that its blocks need.
    functions: Option<&'static str>,
}

macro_rules! shipped {
    ($name:literal) => {
        Shipped {
            name: $name,
            text: include_str!(concat!("../../../properties/", $name, ".prop")),
            functions: None,
        }
    };
    ($name:literal with functions) => {
        Shipped {
            name: $name,
            text: include_str!(concat!("../../../properties/", $name, ".prop")),
            functions: Some(include_str!(concat!("../../../properties/", $name, ".py"))),
        }
    };
}

const PROPERTIES: &[Shipped] = &[
    shipped!("addrinfo"),
    shipped!("condition"),
    shipped!("curl"),
    shipped!("dir"),
    shipped!("dl"),
    shipped!("fd"),
    shipped!("file"),
    shipped!("glib_iter"),
    shipped!("leak"),
    shipped!("lock_order" with functions),
    shipped!("malloc"),
    shipped!("mutex"),
    shipped!("regex"),
    shipped!("rwlock"),
    shipped!("semaphore"),
    shipped!("socket"),
    shipped!("thread"),
    shipped!("vector"),
];

/// The text of a property, wherever it comes from.
pub struct PropertyText {
    /// For messages; the property's name is its stem.
    pub name: String,
    pub bytes: Vec<u8>,
    /// What a shipped one brings for its blocks.
    pub functions: Option<Arc<Source>>,
    pub is_shipped: bool,
}

/// A file's property, or a shipped one's.
pub fn property(path: &Path) -> Result<PropertyText, Failed> {
    let shown = path.display().to_string();
    let Some(name) = shown.strip_prefix("std:") else {
        return Ok(PropertyText {
            bytes: read(path)?,
            name: shown,
            functions: None,
            is_shipped: false,
        });
    };
    match PROPERTIES.iter().find(|p| p.name == name) {
        Some(p) => Ok(PropertyText {
            name: format!("{name}.prop"),
            bytes: p.text.as_bytes().to_vec(),
            functions: p
                .functions
                .map(|text| Source::new(format!("{name}.py"), text)),
            is_shipped: true,
        }),
        None => Err(Failed::NotShipped {
            name: name.to_owned(),
        }),
    }
}

/// Names of all shipped properties.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROPERTIES.iter().map(|p| p.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use verde_property::{Functions, load_property};

    #[test]
    fn every_shipped_property_is_without_findings() -> Result<(), Failed> {
        for name in names() {
            let text = property(Path::new(&format!("std:{name}")))?;
            let mut functions = Functions::default();
            if let Some(source) = &text.functions {
                assert!(functions.add(source).is_ok(), "{name}.py");
            }
            let loaded = load_property(&text.name, &text.bytes, &functions);
            assert!(loaded.found.is_empty(), "{name}: {:?}", loaded.found);
            assert!(loaded.model.is_some_and(|p| p.name == name));
        }
        Ok(())
    }

    #[test]
    fn every_file_of_the_directory_is_shipped() -> std::io::Result<()> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../properties");
        for entry in std::fs::read_dir(dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "prop") {
                let stem = path.file_stem().and_then(|s| s.to_str());
                assert!(names().any(|n| Some(n) == stem), "{}", path.display());
            }
        }
        Ok(())
    }
}

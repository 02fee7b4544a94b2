//! Violations that are known and not to be reported.

use std::io;
use std::path::Path;

/// Lines `property:function:file`; `*` stands for any text.
#[derive(Default)]
pub struct Suppressions {
    lines: Vec<[String; 3]>,
}

impl Suppressions {
    /// The lines that are none, by their numbers: they suppress nothing.
    pub fn read(&mut self, path: &Path) -> io::Result<Vec<usize>> {
        let text = std::fs::read_to_string(path)?;
        let numbered = text.lines().zip(1..);
        Ok(numbered
            .filter_map(|(l, n)| self.add(l).is_none().then_some(n))
            .collect())
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Some(());
        }
        // A function may have colons: the first part is the property, the last the file.
        let (property, rest) = line.split_once(':')?;
        let (function, file) = rest.rsplit_once(':')?;
        let part = |t: &str| match t.trim() {
            "" => "*".to_owned(),
            t => t.to_owned(),
        };
        self.lines
            .push([part(property), part(function), part(file)]);
        Some(())
    }

    /// Whether somebody does not want to hear of it: some call of its backtrace fits.
    pub fn cover(&self, violated: &str, frames: &[String]) -> bool {
        self.lines.iter().any(|[property, function, file]| {
            if !fits(property, violated) {
                return false;
            }
            if frames.is_empty() {
                return function == "*" && file == "*";
            }
            frames.iter().any(|frame| {
                let (name, place) = match frame.split_once(" from ") {
                    Some(found) => found,
                    None => frame.split_once(" at ").unwrap_or((frame, "")),
                };
                let place = place.rsplit_once(':').map_or(place, |(file, _)| file);
                let base = place.rsplit('/').next().unwrap_or(place);
                fits(function, name) && (fits(file, place) || fits(file, base))
            })
        })
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut rest = rest;
    let parts: Vec<&str> = parts.collect();
    for (i, part) in parts.iter().enumerate() {
        if i + 1 == parts.len() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, yes) in [
            ("*", "anything", true),
            ("queue", "queue", true),
            ("queue", "queues", false),
            ("q*e", "queue", true),
            ("*_push", "queue_push", true),
            ("*_push", "queue_pushed", false),
            ("a*b*c", "a-b-b-c", true),
        ] {
            assert_eq!(fits(pattern, text), yes, "{pattern} {text}");
        }
    }
}

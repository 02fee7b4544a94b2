//! Where sources are looked for: `directory`, `set substitute-path`.

use super::Debugger;
use super::failure::{Result, failure};
use super::shell::with_home;
use std::path::{Path, PathBuf};
use verde_symbols::SourceFile;

/// What the user has said of the sources' places.
#[derive(Default)]
pub(super) struct SourcePaths {
    /// A directory, and what stands for it now.
    substitutes: Vec<(String, String)>,
    directories: Vec<PathBuf>,
}

impl SourcePaths {
    /// Where a file may be, the likeliest first.
    pub fn places(&self, file: &SourceFile) -> Vec<PathBuf> {
        let path = self.substituted(&file.path);
        let mut places = vec![path.clone(), PathBuf::from(&file.name)];
        let under = path.strip_prefix("/").unwrap_or(&path);
        for directory in &self.directories {
            places.push(directory.join(under));
            places.push(directory.join(Path::new(&file.name).strip_prefix("/").unwrap_or(under)));
            places.extend(path.file_name().map(|name| directory.join(name)));
        }
        places
    }

    fn substituted(&self, path: &str) -> PathBuf {
        for (from, to) in &self.substitutes {
            if let Some(rest) = path.strip_prefix(from.as_str())
                && (rest.is_empty() || rest.starts_with('/'))
            {
                return PathBuf::from(format!("{to}{rest}"));
            }
        }
        PathBuf::from(path)
    }
}

fn directory_name(text: &str) -> &str {
    match text.trim_end_matches('/') {
        "" => text,
        name => name,
    }
}

impl Debugger {
    pub(super) fn directory(&mut self, args: &str) -> Result<()> {
        let paths = &mut self.sources.paths;
        let names = args.split([':', ' ', '\t']).filter(|n| !n.is_empty());
        let mut new: Vec<PathBuf> = Vec::new();
        for name in names.filter(|n| !matches!(*n, "$cdir" | "$cwd")) {
            new.push(std::path::absolute(with_home(name))?);
        }
        if args.is_empty() {
            paths.directories.clear();
        }
        paths.directories.retain(|d| !new.contains(d));
        paths.directories.splice(0..0, new);
        self.sources.look_again();
        self.show_directories()
    }

    pub(super) fn show_directories(&mut self) -> Result<()> {
        let all = self.sources.paths.directories.iter();
        let all = all.map(|d| d.display().to_string());
        let all: Vec<String> = all.chain(["$cdir".to_owned(), "$cwd".to_owned()]).collect();
        self.say(&format!("Source directories searched: {}", all.join(":")))
    }

    /// `set substitute-path FROM TO`
    pub(super) fn set_substitute(&mut self, text: &str) -> Result<()> {
        let mut words = text.split_whitespace();
        let (Some(from), Some(to), None) = (words.next(), words.next(), words.next()) else {
            return failure(
                "Incorrect usage, too few or too many arguments: set substitute-path FROM TO",
            );
        };
        let (from, to) = (
            directory_name(from).to_owned(),
            directory_name(to).to_owned(),
        );
        let rules = &mut self.sources.paths.substitutes;
        rules.retain(|(known, _)| *known != from);
        rules.push((from, to));
        self.sources.look_again();
        Ok(())
    }

    pub(super) fn unset_substitute(&mut self, from: &str) -> Result<()> {
        let rules = &mut self.sources.paths.substitutes;
        let before = rules.len();
        let from = directory_name(from);
        rules.retain(|(known, _)| !from.is_empty() && known != from);
        if !from.is_empty() && rules.len() == before {
            return failure(format!("No substitution rule defined for `{from}'"));
        }
        self.sources.look_again();
        Ok(())
    }

    pub(super) fn show_substitutes(&mut self) -> Result<()> {
        let rules = self.sources.paths.substitutes.iter();
        let lines: Vec<String> = rules
            .map(|(from, to)| format!("  `{from}' -> `{to}'."))
            .collect();
        self.say("List of all source path substitution rules:")?;
        for line in lines {
            self.say(&line)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::SourcePaths;

    #[test]
    fn whole_directories_are_substituted() {
        let paths = SourcePaths {
            substitutes: vec![("/a/b".to_owned(), "/c".to_owned())],
            directories: Vec::new(),
        };
        assert_eq!(paths.substituted("/a/b/x.c").to_str(), Some("/c/x.c"));
        assert_eq!(paths.substituted("/a/bc/x.c").to_str(), Some("/a/bc/x.c"));
    }
}

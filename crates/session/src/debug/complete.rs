//! What the beginning of a word may become.

use super::Debugger;
use super::info::topics;
use super::location::split_condition;
use super::user_commands::is_letter;
use std::path::Path;
use std::sync::Arc;
use verde_expr::{FrameScope, Loaded, StaticScope, arguments, locals, type_named};
use verde_symbols::{Kind, Language, Module, NameFilter, REGISTER_NAMES, Type};
use verde_sys::{signals, syscalls};

const MOST: usize = 200;

/// Completes commands and names of the program, as they are at one moment.
pub struct Completer {
    program: Arc<Module>,
    modules: Vec<Loaded>,
    frame: Option<FrameScope>,
    /// Commands of the user's own.
    user: Vec<String>,
    /// What can be restarted.
    restarts: Vec<String>,
}

impl Debugger {
    /// Completion for this program where it stands now.
    pub fn completer(&self) -> Completer {
        let live = self.live.as_ref();
        Completer {
            program: self.images.program().clone(),
            modules: self.images.loaded().to_vec(),
            frame: live.and_then(|live| live.scope(live.selected)),
            user: self.user.names().map(str::to_owned).collect(),
            restarts: self.checkpoints.names(),
        }
    }
}

/// What may follow some commands.
const SETTINGS: &[&str] = &[
    "args",
    "confirm",
    "cwd",
    "disassembly-flavor",
    "environment",
    "follow-fork-mode",
    "listsize",
    "print",
    "scheduler-locking",
    "var",
];
const PRINTING: &[&str] = &["elements", "max-depth", "object", "pretty", "repeats"];
/// Commands that take a place of the program.
const PLACES: &[&str] = &[
    "advance", "b", "break", "clear", "dprintf", "jump", "l", "list", "tb", "tbreak", "until",
];
const EVENTS: &[&str] = &[
    "catch", "exec", "fork", "load", "rethrow", "signal", "syscall", "throw", "unload", "vfork",
];
const TREATMENTS: &[&str] = &["nopass", "noprint", "nostop", "pass", "print", "stop"];

impl Completer {
    /// Where the last word of a line begins, and what it may become. One that is complete has a
    /// space behind it if another word follows.
    pub fn complete(&self, line: &str) -> (usize, Vec<String>) {
        if let Some(commands) = self.commands(line) {
            return commands;
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let start = line
            .char_indices()
            .rev()
            .take_while(|(_, c)| is_word(*c))
            .last()
            .map_or(line.len(), |(at, _)| at);
        let word = &line[start..];
        let before = line[..start].trim();
        let mut words = before.split_whitespace();
        let command = words.next().unwrap_or_default();
        let second = words.next();
        let fitting = |names: &mut dyn Iterator<Item = String>| -> Vec<String> {
            names.filter(|n| n.starts_with(word)).take(MOST).collect()
        };
        // A whole word of a command is followed by another; a name by any sign.
        let of = |names: &[&str]| match fitting(&mut names.iter().map(|n| (*n).to_owned())) {
            one if one.len() == 1 => vec![format!("{} ", one[0])],
            several => several,
        };
        let in_condition = split_condition(line).1.is_some();
        let place = PLACES.contains(&command) && !in_condition;
        if !place
            && !command.is_empty()
            && let Some(members) = self.members(&line[..start], word)
        {
            return (start, members);
        }
        if line[..start].ends_with('$') {
            return (start, fitting(&mut register_names().map(str::to_owned)));
        }
        if !command.is_empty()
            && let Some(scope) = scope_before(&line[..start])
        {
            return (start, self.names_in(scope, word));
        }
        let found = match (command, second) {
            ("info" | "i" | "inf", None) => of(&topics().collect::<Vec<_>>()),
            ("set" | "show" | "unset", None) => of(SETTINGS),
            ("set", Some("follow-fork-mode")) => of(&["child", "parent"]),
            ("set", Some("disassembly-flavor")) => of(&["att", "intel"]),
            ("set", Some("scheduler-locking")) => of(&["off", "on", "step"]),
            ("set", Some("print")) if before.ends_with("pretty") || before.ends_with("object") => {
                of(&["off", "on"])
            }
            ("set", Some("print")) => of(PRINTING),
            ("frame" | "f", None) => of(&["apply", "function", "level"]),
            ("catch" | "tcatch", None) => of(EVENTS),
            ("catch" | "tcatch", Some("syscall")) => {
                fitting(&mut syscalls::names().map(str::to_owned))
            }
            ("catch" | "tcatch", Some("signal")) | ("signal" | "queue-signal" | "handle", None) => {
                signal_names(word)
            }
            ("handle", Some(_)) => of(TREATMENTS),
            // Otherwise a variable may have the number.
            ("restart", None) if self.restarts.iter().any(|r| r.starts_with(word)) => {
                fitting(&mut self.restarts.iter().cloned())
            }
            ("skip", None) => of(&["delete", "file", "function"]),
            ("thread" | "t", None) => of(&["apply", "find", "name"]),
            ("thread" | "t", Some("apply")) => of(&["all"]),
            ("info" | "i" | "inf", Some("registers" | "r")) => {
                fitting(&mut register_names().map(str::to_owned))
            }
            ("source" | "cd" | "shell", _) | ("set", Some("cwd")) => return files(line),
            ("verde", _) => return verde_words(line),
            _ if place && before.ends_with(':') && !before.ends_with("::") => {
                let file = before.split_whitespace().last().unwrap_or_default();
                self.functions_of(file.trim_end_matches(':'), word)
            }
            _ if word.is_empty() => Vec::new(),
            _ if place => {
                let mut all = self.program.names_starting_with(word, MOST);
                all.extend(self.source_names(word));
                all
            }
            _ => {
                let mut all = self.variables(word);
                all.extend(self.program.names_starting_with(word, MOST));
                all
            }
        };
        (start, found)
    }

    /// Completes the name of a command; `None`: the line ends with something else.
    fn commands(&self, line: &str) -> Option<(usize, Vec<String>)> {
        let word = line.rsplit(|c| !is_letter(c)).next().unwrap_or_default();
        let start = line.len() - word.len();
        let before: Vec<&str> = line[..start].split_whitespace().collect();
        let own = match before.as_slice() {
            [] | ["help" | "h"] => Debugger::command_names(),
            ["define" | "document"] | ["show", "user"] => Vec::new(),
            _ => return None,
        };
        let own = own.into_iter().map(str::to_owned);
        let all = own.chain(self.user.iter().cloned());
        let mut fitting: Vec<String> = all.filter(|n| n.starts_with(word)).collect();
        if let [one] = fitting.as_mut_slice() {
            one.push(' ');
        }
        Some((start, fitting))
    }

    /// Names as they are known here. Made when wanted: it reads debug information.
    fn scope(&self) -> StaticScope {
        match &self.frame {
            Some(frame) => StaticScope::around(self.modules.clone(), frame.clone()),
            None => StaticScope::new(self.program.clone()),
        }
    }

    /// Variables of the frame.
    fn variables(&self, word: &str) -> Vec<String> {
        let scope = self.scope();
        let all = arguments(&scope).into_iter();
        let names = all.chain(locals(&scope)).map(|n| n.name);
        let mut names: Vec<String> = names.filter(|n| n.starts_with(word)).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Members of what stands before a `.` or `->`; `None` if neither does.
    fn members(&self, before: &str, word: &str) -> Option<Vec<String>> {
        let object = before.strip_suffix('.');
        let object = object.or_else(|| before.strip_suffix("->"))?;
        let object = object_of(object);
        if object.is_empty() || object.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let scope = self.scope();
        let (mut ty, _) = type_named(object, &scope).ok()?;
        // A smart pointer's arrow leads to members of what it points to.
        let class = ty.strip();
        let class = match class.kind() {
            Kind::Reference(_) | Kind::RvalueReference(_) => class.target()?.strip(),
            _ => class,
        };
        if before.ends_with("->")
            && matches!(class.kind(), Kind::Record(_))
            && let Ok((target, _)) = type_named(&format!("*({object})"), &scope)
        {
            ty = target;
        }
        // Both signs lead through a pointer, as in Rust and as people type.
        for _ in 0..2 {
            ty = ty.strip();
            if let Kind::Pointer(_) | Kind::Reference(_) | Kind::RvalueReference(_) = ty.kind() {
                ty = ty.target()?;
            }
        }
        let mut names = Vec::new();
        member_names(&ty.strip(), &mut names, 0);
        names.retain(|n| n.starts_with(word));
        names.sort();
        names.dedup();
        names.truncate(MOST);
        Some(names)
    }

    /// What a namespace or a class has: its functions, variables, types and members.
    fn names_in(&self, scope: &str, word: &str) -> Vec<String> {
        let wanted = format!("{scope}::{word}");
        // The path may begin with more scopes than were typed.
        let rest = |path: &str| -> Option<String> {
            let mut from = 0;
            while let Some(at) = path.get(from..)?.find(&wanted) {
                let at = from + at;
                if at == 0 || path[..at].ends_with("::") {
                    let tail = &path[at + scope.len() + 2..];
                    let end = tail.find(['(', '<', ':']).unwrap_or(tail.len());
                    return Some(tail[..end].to_owned());
                }
                from = at + wanted.len();
            }
            None
        };
        let fits = |path: &str| rest(path).is_some();
        let filter = NameFilter {
            fits: &fits,
            in_paths: true,
        };
        let functions = self.program.functions_where(&filter, 10 * MOST).into_iter();
        let variables = self.program.variables_where(&filter, MOST).into_iter();
        let types = self.program.types_where(&filter, MOST).into_iter();
        let paths = functions.map(|f| f.name);
        let paths = paths
            .chain(variables.map(|v| v.name))
            .chain(types.map(|t| t.name));
        let mut names: Vec<String> = paths.filter_map(|path| rest(&path)).collect();
        if let Ok((ty, _)) = type_named(scope, &self.scope()) {
            member_names(&ty.strip(), &mut names, 0);
        }
        names.retain(|n| !n.is_empty() && n.starts_with(word));
        names.sort();
        names.dedup();
        names.truncate(MOST);
        names
    }

    /// Functions that a source file defines.
    fn functions_of(&self, file: &str, word: &str) -> Vec<String> {
        let starts = |name: &str| name.starts_with(word);
        let filter = NameFilter {
            fits: &starts,
            in_paths: false,
        };
        let all = self.program.functions_where(&filter, 10 * MOST).into_iter();
        let here = all.filter(|f| {
            let place = f.declared.as_ref();
            place.is_some_and(|(f, _)| f.path.rsplit('/').next() == file.rsplit('/').next())
        });
        let mut names: Vec<String> = here
            .filter_map(|f| Some(f.name.rsplit("::").next()?.to_owned()))
            .collect();
        names.sort();
        names.dedup();
        names.truncate(MOST);
        names
    }

    /// Source files, ready for a line number.
    fn source_names(&self, word: &str) -> Vec<String> {
        let files = self.program.source_files();
        let mut names: Vec<String> = files
            .iter()
            .filter_map(|f| f.name.rsplit('/').next())
            .filter(|name| name.starts_with(word))
            .map(|name| format!("{name}:"))
            .collect();
        names.sort();
        names.dedup();
        names.truncate(MOST);
        names
    }
}

/// The expression that a text ends with, as far as it is a path of names, members and indices.
fn object_of(text: &str) -> &str {
    let mut depth = 0;
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        match c {
            ']' | ')' => depth += 1,
            '[' | '(' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            c if c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '$') => {}
            '>' if text[..at].ends_with('-') => {}
            '-' if text[at..].starts_with("->") => {}
            _ => break,
        }
        start = at;
    }
    // `print (` and `sizeof (`: what is called is not what is asked about.
    text[start..].trim_start_matches([':', '.'])
}

/// The scopes that a text ends with, when `::` is the last of it.
fn scope_before(text: &str) -> Option<&str> {
    let path = text.strip_suffix("::")?;
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let start = path.rfind(|c| !is_part(c)).map_or(0, |at| {
        at + path[at..].chars().next().map_or(1, char::len_utf8)
    });
    let scope = path[start..].trim_start_matches(':');
    (!scope.is_empty()).then_some(scope)
}

/// Names of registers, without the dollar.
fn register_names() -> impl Iterator<Item = &'static str> {
    const OTHERS: &[&str] = &[
        "eflags", "fp", "fs_base", "gs_base", "pc", "sp", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
        "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
        "xmm15",
    ];
    let general = REGISTER_NAMES.iter().take(17).copied();
    general.chain(OTHERS.iter().copied())
}

/// Names of members, those of bases and unnamed members, too.
fn member_names(ty: &Type, names: &mut Vec<String>, depth: usize) {
    let whole = ty.definition();
    let ty = whole.as_ref().unwrap_or(ty);
    if depth > 8 || !matches!(ty.kind(), Kind::Record(_)) {
        return;
    }
    for member in ty.members() {
        match &member.name {
            Some(name) if !member.is_base && !member.is_artificial => {
                let bare = name
                    .strip_prefix("__")
                    .filter(|_| ty.language() == Language::Rust);
                names.push(bare.unwrap_or(name).to_owned());
            }
            _ if !member.is_artificial => member_names(&member.ty.strip(), names, depth + 1),
            _ => {}
        }
    }
}

fn signal_names(word: &str) -> Vec<String> {
    let all = (1..=31).map(signals::name);
    all.filter(|n| n.starts_with(word)).collect()
}

/// The paper's commands, then their files.
fn verde_words(line: &str) -> (usize, Vec<String>) {
    match line.strip_prefix("verde ") {
        Some(rest) if !rest.contains(' ') => {
            let fitting = Debugger::verde_names().filter(|n| n.starts_with(rest));
            let mut found: Vec<String> = fitting.map(str::to_owned).collect();
            if let [one] = found.as_mut_slice() {
                one.push(' ');
            }
            (line.len() - rest.len(), found)
        }
        _ => files(line),
    }
}

/// Files whose path the last word of a line begins.
fn files(line: &str) -> (usize, Vec<String>) {
    let start = line.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let word = &line[start..];
    let (dir, name) = match word.rfind('/') {
        Some(at) => word.split_at(at + 1),
        None => ("", word),
    };
    let path = if dir.is_empty() { "." } else { dir };
    let Ok(entries) = std::fs::read_dir(Path::new(path)) else {
        return (start, Vec::new());
    };
    let fitting = entries.flatten().filter_map(|entry| {
        let found = entry.file_name().into_string().ok()?;
        let wanted = found.starts_with(name) && (!found.starts_with('.') || name.starts_with('.'));
        let end = if entry.path().is_dir() { "/" } else { "" };
        wanted.then(|| format!("{dir}{found}{end}"))
    });
    let mut all: Vec<String> = fitting.take(MOST).collect();
    all.sort();
    (start, all)
}

#[cfg(test)]
mod tests {
    use super::{object_of, scope_before};

    #[test]
    fn the_scope_before_a_name_is_found() {
        assert_eq!(scope_before("break ns::"), Some("ns"));
        assert_eq!(scope_before("print a + ns::Class::"), Some("ns::Class"));
        assert_eq!(scope_before("print ::"), None);
        assert_eq!(scope_before("print a"), None);
    }

    #[test]
    fn the_object_before_a_member_is_found() {
        assert_eq!(object_of("print a"), "a");
        assert_eq!(object_of("print *list->next"), "list->next");
        assert_eq!(object_of("print a.b[i + 1].c"), "a.b[i + 1].c");
        assert_eq!(object_of("p x + ns::y"), "ns::y");
        assert_eq!(object_of("p (*p)"), "(*p)");
        assert_eq!(object_of("p $1"), "$1");
        assert_eq!(object_of("p "), "");
    }
}

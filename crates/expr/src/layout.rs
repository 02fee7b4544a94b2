//! `ptype/o`: records with the offsets and sizes of their members, and what is between them.

use crate::rust_print;
use crate::short_names::shortened;
use crate::type_text::{
    Access, declare_with, field_base, heading, is_vptr, name_of, undo_typedefs,
};
use verde_symbols::{Kind, Language, Member, RecordKind, Type};

/// Columns of what is said of a member, before its declaration.
const COLUMN: usize = 27;
const HEADER: &str = "/* offset      |    size */  ";
/// Records in records are written out up to here; more is a corrupt file's.
const DEEPEST: usize = 32;
const MOST_LINES: usize = 20_000;

/// The type as `ptype/o` writes it; `None`: it has no members to speak of, and is written as ever.
pub fn layout(ty: &Type) -> Option<String> {
    // As in gdb only a record that is named itself has the columns' names.
    let header = match ty.kind() {
        Kind::Record(_) => HEADER,
        _ => "",
    };
    let ty = undo_typedefs(ty, 0);
    let mut heart = ty.clone();
    for _ in 0..DEEPEST {
        heart = match heart.kind() {
            Kind::Pointer(_) | Kind::Reference(_) | Kind::Const(_) | Kind::Array(..) => {
                heart.target()?
            }
            _ => break,
        };
    }
    let heart = heart.definition().unwrap_or(heart);
    let body = match (heart.kind(), heart.language()) {
        (Kind::Record(_), Language::Rust) => of_rust(&heart)?,
        (Kind::Record(kind), _) => {
            let mut lines = Vec::new();
            members(&heart, *kind, 0, 0, &mut lines);
            format!("{}\n{}", heading(&heart, *kind), lines.join("\n"))
        }
        _ => return None,
    };
    let text = match heart.language() {
        Language::Rust => body,
        _ => declare_with(&ty, "", 0, &|_| body.clone()),
    };
    Some(format!("{header}type = {}", shortened(&text)))
}

/// How far the members of a record have come.
#[derive(Default)]
struct Reach {
    /// The bit behind the last one.
    end: u64,
}

impl Reach {
    /// What nobody uses before a bit.
    fn gap(&self, to: u64, what: &str, lines: &mut Vec<String>) {
        let free = match self.end {
            0 => 0,
            end => to.saturating_sub(end),
        };
        let (bytes, bits) = (free / 8, free % 8);
        if bits > 0 {
            lines.push(format!("/* XXX {bits:>2}-bit {what:<7}    */"));
        }
        if bytes > 0 {
            lines.push(format!("/* XXX {bytes:>2}-byte {what:<7}   */"));
        }
    }

    /// What is said of the next member: where it is in the whole, which begins at `start`.
    fn place(&mut self, member: &Member, start: u64, lines: &mut Vec<String>) -> String {
        let size = member.ty.size().unwrap_or(0);
        let (first, width) = match member.bits {
            Some(bits) => bits,
            None => (member.offset.saturating_mul(8), size.saturating_mul(8)),
        };
        self.gap(first, "hole", lines);
        self.end = first.saturating_add(width);
        let at = start.saturating_add(first / 8);
        match member.bits {
            Some(_) => format!("/*{at:>7}: {}   |{size:>8} */", first % 8),
            None => format!("/*{at:>7}      |{size:>8} */"),
        }
    }
}

/// The members of a record that begins at `start`, and its end. Its own line is `indent` columns in.
fn members(ty: &Type, kind: RecordKind, start: u64, indent: usize, lines: &mut Vec<String>) {
    let inner = " ".repeat(indent + 4);
    let blank = " ".repeat(COLUMN);
    let all = ty.members();
    let fields: Vec<&Member> = all.iter().filter(|m| !m.is_base && !is_vptr(m)).collect();
    if fields.is_empty() {
        let what = match ty.is_declaration() {
            true => "<incomplete type>",
            false => "<no data fields>",
        };
        lines.push(format!("{blank}{inner}{what}"));
    }
    let mut access = Access::of(ty, kind, &fields);
    let mut reach = Reach::default();
    let is_open = |lines: &[String]| indent < 4 * DEEPEST && lines.len() < MOST_LINES;
    for member in fields {
        if let Some(word) = access.changes(member.access) {
            lines.push(format!("{blank}{}  {word}:", " ".repeat(indent)));
        }
        let place = match (member.is_static, kind) {
            (true, _) => blank.clone(),
            (_, RecordKind::Union) => format!("/*{:>22} */", member.ty.size().unwrap_or(0)),
            _ => reach.place(member, start, lines),
        };
        let name = member.name.as_deref().unwrap_or_default();
        let part = member.ty.definition().unwrap_or_else(|| member.ty.clone());
        match part.kind() {
            Kind::Record(kind) if !member.is_static && is_open(lines) => {
                lines.push(format!("{place}{inner}{}", heading(&part, *kind)));
                let start = start.saturating_add(member.offset);
                members(&part, *kind, start, indent + 4, lines);
                let space = if name.is_empty() { "" } else { " " };
                if let Some(last) = lines.last_mut() {
                    last.push_str(&format!("{space}{name};"));
                }
            }
            _ => {
                let fixed = if member.is_static { "static " } else { "" };
                let bits = member
                    .bits
                    .map_or(String::new(), |(_, w)| format!(" : {w}"));
                let base = |t: &Type| field_base(t, indent + 4, &[]);
                let text = declare_with(&member.ty, name, 0, &base);
                lines.push(format!("{place}{inner}{fixed}{text}{bits};"));
            }
        }
    }
    end(ty, indent, reach, lines);
    let close = if indent == 0 { 2 } else { indent };
    lines.push(format!("{blank}{}}}", " ".repeat(close)));
}

/// What is behind the last member, and how large all is.
fn end(ty: &Type, indent: usize, reach: Reach, lines: &mut Vec<String>) {
    let size = ty.size().unwrap_or(0);
    reach.gap(size.saturating_mul(8), "padding", lines);
    lines.push(String::new());
    let pad = " ".repeat(COLUMN + indent + 4);
    lines.push(format!("{pad}/* total size (bytes): {size:>4} */"));
}

/// A struct of Rust: the compiler has put its fields where it likes.
fn of_rust(ty: &Type) -> Option<String> {
    let plain = rust_print::type_body(ty);
    let first = plain.lines().next().filter(|l| l.starts_with("struct "))?;
    let is_tuple = first.ends_with('(');
    let mut fields = ty.members();
    fields.retain(|m| !m.is_static);
    fields.sort_by_key(|m| m.offset);
    let mut lines = vec![first.to_owned()];
    let mut reach = Reach::default();
    for member in &fields {
        let place = reach.place(member, 0, &mut lines);
        let name = match (is_tuple, member.name.as_deref()) {
            (false, Some(name)) => format!("{name}: "),
            _ => String::new(),
        };
        lines.push(format!("{place}    {name}{},", name_of(&member.ty)));
    }
    end(ty, 0, reach, &mut lines);
    let close = if is_tuple { ')' } else { '}' };
    lines.push(format!("{}{close}", " ".repeat(COLUMN + 2)));
    Some(lines.join("\n"))
}

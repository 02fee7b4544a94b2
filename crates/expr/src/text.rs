//! Characters and strings as gdb writes them. Nothing of the program reaches the terminal unescaped.

/// A string's characters: of one, two or four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Width {
    /// UTF-8, or any bytes.
    Byte,
    /// UTF-16.
    Two,
    /// UTF-32.
    Four,
}

impl Width {
    pub fn of(size: u64) -> Width {
        match size {
            2 => Width::Two,
            4 => Width::Four,
            _ => Width::Byte,
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            Width::Byte => 1,
            Width::Two => 2,
            Width::Four => 4,
        }
    }
}

/// One character, or bytes that are none.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Unit {
    Char(char),
    Bytes(Vec<u8>),
}

fn units(bytes: &[u8], width: Width) -> Vec<Unit> {
    let mut out = Vec::new();
    match width {
        Width::Byte => {
            for chunk in bytes.utf8_chunks() {
                out.extend(chunk.valid().chars().map(Unit::Char));
                out.extend(chunk.invalid().iter().map(|b| Unit::Bytes(vec![*b])));
            }
        }
        Width::Two => {
            let words = bytes
                .chunks_exact(2)
                .map(|c| u16::from_le_bytes([c[0], c[1]]));
            out.extend(char::decode_utf16(words).map(|r| match r {
                Ok(c) => Unit::Char(c),
                Err(e) => Unit::Bytes(e.unpaired_surrogate().to_le_bytes().to_vec()),
            }));
        }
        Width::Four => {
            for chunk in bytes.chunks_exact(4) {
                let code = u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
                out.push(match char::from_u32(code) {
                    Some(c) => Unit::Char(c),
                    None => Unit::Bytes(chunk.to_vec()),
                });
            }
        }
    }
    out
}

/// Appends one character between quotes of a kind. After an octal escape a digit must be escaped too.
fn push(out: &mut String, unit: &Unit, quote: char, after_octal: &mut bool) {
    let octal = |out: &mut String, bytes: &[u8]| {
        for byte in bytes {
            out.push_str(&format!("\\{byte:03o}"));
        }
    };
    let Unit::Char(c) = unit else {
        if let Unit::Bytes(bytes) = unit {
            octal(out, bytes);
        }
        *after_octal = true;
        return;
    };
    let simple = match c {
        '\x07' => Some('a'),
        '\x08' => Some('b'),
        '\x0c' => Some('f'),
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        '\x0b' => Some('v'),
        _ => None,
    };
    let escaped = *after_octal && c.is_ascii_digit();
    *after_octal = false;
    if let Some(letter) = simple {
        out.push('\\');
        out.push(letter);
    } else if *c == quote || *c == '\\' {
        out.push('\\');
        out.push(*c);
    } else if escaped || !is_printable(*c) {
        octal(out, c.encode_utf8(&mut [0; 4]).as_bytes());
        *after_octal = true;
    } else {
        out.push(*c);
    }
}

/// Characters that take part in the text. Controls, separators, and characters without a picture do not.
fn is_printable(c: char) -> bool {
    let hidden = matches!(c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{fffb}' | '\u{f0000}'..);
    !c.is_control() && !hidden
}

/// A character in single quotes.
pub(crate) fn character(bytes: &[u8], width: Width) -> String {
    let mut out = String::from("'");
    let mut after_octal = false;
    for unit in units(bytes, width) {
        push(&mut out, &unit, '\'', &mut after_octal);
    }
    out.push('\'');
    out
}

/// A string, cut after `limit` characters, with long runs of one character counted.
pub(crate) fn string(
    bytes: &[u8],
    width: Width,
    limit: usize,
    repeats: usize,
    more: bool,
) -> String {
    let units = units(bytes, width);
    if units.is_empty() {
        return if more { "\"\"..." } else { "\"\"" }.to_owned();
    }
    let mut parts: Vec<String> = Vec::new();
    let mut open: Option<String> = None;
    let mut after_octal = false;
    let mut printed = 0;
    let mut at = 0;
    while at < units.len() && printed < limit {
        let run = units[at..].iter().take_while(|u| **u == units[at]).count();
        if run > repeats {
            if let Some(text) = open.take() {
                parts.push(text + "\"");
            }
            let mut one = String::from("'");
            push(&mut one, &units[at], '\'', &mut false);
            parts.push(format!("{one}' <repeats {} times>", run));
            after_octal = false;
        } else {
            let text = open.get_or_insert_with(|| "\"".to_owned());
            for unit in units[at..].iter().take(run) {
                push(text, unit, '"', &mut after_octal);
            }
        }
        // gdb finishes a run it has begun.
        printed += run;
        at += run;
    }
    if let Some(text) = open {
        parts.push(text + "\"");
    }
    let dots = if more || at < units.len() { "..." } else { "" };
    parts.join(", ") + dots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_as_in_gdb() {
        let show = |b: &[u8]| string(b, Width::Byte, 200, 10, false);
        assert_eq!(show(b"abc"), "\"abc\"");
        assert_eq!(show(b"a\n\"\\\x01"), "\"a\\n\\\"\\\\\\001\"");
        assert_eq!(show(b"\x011"), "\"\\001\\061\"");
        assert_eq!(show(b"\xff\x1b["), "\"\\377\\033[\"");
        assert_eq!(show(&[b'z'; 20]), "'z' <repeats 20 times>");
        assert_eq!(
            show(b"abzzzzzzzzzzzzc"),
            "\"ab\", 'z' <repeats 12 times>, \"c\""
        );
        assert_eq!(show("h\u{e9}".as_bytes()), "\"h\u{e9}\"");
    }

    #[test]
    fn characters_are_quoted() {
        assert_eq!(character(b"a", Width::Byte), "'a'");
        assert_eq!(character(b"'", Width::Byte), "'\\''");
        assert_eq!(character(b"\"", Width::Byte), "'\"'");
        assert_eq!(character(&[0], Width::Byte), "'\\000'");
        assert_eq!(character(&[200], Width::Byte), "'\\310'");
    }
}

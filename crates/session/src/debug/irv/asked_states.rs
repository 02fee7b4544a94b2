//! `state(PROPERTY) == "NAME"` in conditions and at `print`: whether a slice of the property is in the state.

use super::super::Debugger;
use super::super::failure::{Result, failure};
use verde_monitor::Monitor;
use verde_property::StateId;
use verde_symbols::FunctionQuery;

const FORM: &str = "A state is asked for as state(PROPERTY) == \"NAME\".";

/// A question, and where it is in the text.
#[derive(Debug, PartialEq, Eq)]
struct Question<'a> {
    from: usize,
    to: usize,
    property: &'a str,
    /// Whether it is to be the state or not, and the state; nothing where it is compared with none.
    wanted: Option<(bool, &'a str)>,
}

impl Debugger {
    /// An expression with every question put in as 1 or 0; nothing when it has none.
    /// `assume`: no monitors are asked.
    pub(in super::super) fn with_states(
        &self,
        condition: &str,
        assume: bool,
    ) -> Result<Option<String>> {
        let (mut out, mut done) = (String::new(), 0);
        while let Some(question) = find(condition, done) {
            out += &condition[done..question.from];
            done = question.to;
            out += match question.wanted {
                Some(_) if self.is_programs_own(&question) => {
                    &condition[question.from..question.to]
                }
                Some(_) if assume => "1",
                Some((equal, state)) => {
                    match self.is_in_state(question.property, state)? == equal {
                        true => "1",
                        false => "0",
                    }
                }
                None if self.monitor_of(question.property).is_some() => return failure(FORM),
                // A function of the program.
                None => &condition[question.from..question.to],
            };
        }
        out += &condition[done..];
        Ok((out != condition).then_some(out))
    }

    /// The program has a function of that name, and no monitor is meant.
    fn is_programs_own(&self, question: &Question) -> bool {
        let query = FunctionQuery::parse("::state");
        self.monitor_of(question.property).is_none()
            && !self.images.program().functions(&query).is_empty()
    }

    fn monitor_of(&self, property: &str) -> Option<&Monitor> {
        let mut monitors = self.irv.iter().flat_map(|irv| &irv.ones);
        monitors.find_map(|o| {
            let m = o.monitor.as_ref()?;
            (o.name == property || m.property().name == property).then_some(m)
        })
    }

    fn is_in_state(&self, property: &str, state: &str) -> Result<bool> {
        let Some(m) = self.monitor_of(property) else {
            return failure(format!("There is no monitor of a property {property}."));
        };
        let states = &m.property().states;
        match states.iter().position(|s| s.name == state) {
            Some(index) => Ok(m.slices().in_state(StateId(index as u16)) > 0),
            None => failure(format!("Property {property} has no state {state}.")),
        }
    }
}

/// The first question from a place on.
fn find(text: &str, from: usize) -> Option<Question<'_>> {
    let mut at = from;
    loop {
        at += text[at..].find("state")?;
        let before = text[..at].chars().next_back();
        let is_word =
            !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '>' | ':'));
        let is_code = is_word && !is_quoted(text, at);
        if let Some(question) = is_code.then(|| read(text, from, at)).flatten() {
            return Some(question);
        }
        at += "state".len();
    }
}

/// A place is inside of a literal.
fn is_quoted(text: &str, at: usize) -> bool {
    let mut open = None;
    let mut escaped = false;
    for c in text[..at].chars() {
        match open {
            _ if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(quote) if c == quote => open = None,
            None if is_quote(c) => open = Some(c),
            _ => {}
        }
    }
    open.is_some()
}

fn read(text: &str, from: usize, at: usize) -> Option<Question<'_>> {
    let inside = text[at + "state".len()..].trim_start().strip_prefix('(')?;
    let (property, after) = inside.split_once(')')?;
    let property = property.trim();
    let property = match quoted(property) {
        Some((name, "")) => name,
        _ => property,
    };
    let end = text.len() - after.len();
    let operator = after.trim_start();
    if let Some(equal) = equality(operator.get(..2))
        && let Some((state, rest)) = quoted(operator[2..].trim_start())
    {
        return Some(Question {
            from: at,
            to: text.len() - rest.len(),
            property,
            wanted: Some((equal, state)),
        });
    }
    // The other way round.
    let before = text[from..at].trim_end();
    let operator = before.len().checked_sub(2).and_then(|n| before.get(n..));
    let other = equality(operator).and_then(|equal| {
        let literal = before[..before.len() - 2].trim_end();
        let quote = literal.chars().next_back().filter(|c| is_quote(*c))?;
        let inner = &literal[..literal.len() - 1];
        let begin = inner.rfind(quote)?;
        Some((equal, &inner[begin + 1..], from + begin))
    });
    Some(match other {
        Some((equal, state, begin)) => Question {
            from: begin,
            to: end,
            property,
            wanted: Some((equal, state)),
        },
        None => Question {
            from: at,
            to: end,
            property,
            wanted: None,
        },
    })
}

fn equality(operator: Option<&str>) -> Option<bool> {
    match operator? {
        "==" => Some(true),
        "!=" => Some(false),
        _ => None,
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'')
}

/// What a text in quotes says, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| is_quote(*c))?;
    text[1..].split_once(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_in_expressions() {
        for (text, property, equal, state, left) in [
            ("x > 1 && state(q) == \"a\"", "q", true, "a", "x > 1 && "),
            ("state( q ) != 'sink' && x", "q", false, "sink", " && x"),
            ("state (\"q\")==\"a\"", "q", true, "a", ""),
            ("y || 'a' == state(q) && x", "q", true, "a", "y ||  && x"),
            ("\"a\" != state('q')", "q", false, "a", ""),
        ] {
            let question = find(text, 0).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(question.property, property, "{text}");
            assert_eq!(question.wanted, Some((equal, state)), "{text}");
            let rest = format!("{}{}", &text[..question.from], &text[question.to..]);
            assert_eq!(rest, left, "{text}");
        }
        let alone = find("1 + state(3)", 0).and_then(|q| q.wanted);
        assert_eq!(alone, None);
        assert_eq!(find("my_state(q) == \"a\"", 0), None);
        assert_eq!(find("p->state == 3 && state(q", 0), None);
    }
}

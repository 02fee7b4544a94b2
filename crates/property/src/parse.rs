//! The property language, by recursive descent. After an error the parser goes
//! on at the next `transition` or `state`, so one run shows every mistake.

use crate::ast::*;
use crate::cursor::{Cursor, Parsed, Reported, is_word, word_at};
use crate::diag::{Diagnostic, Diagnostics, nearest};
use crate::limits;
use crate::source::Span;

pub fn parse_property(text: &str) -> (PropertyFile, Diagnostics) {
    let mut p = Parser {
        c: Cursor::new(text),
        transitions: 0,
    };
    let file = p.file();
    (file, p.c.found)
}

struct Parser<'a> {
    c: Cursor<'a>,
    transitions: usize,
}

const EVENT_WORDS: &str = "an event is `f(x, y)`, `write v`, `read v`, `update {expr}`, `syscall n`, `signal n`, \
                           `line file:n`, `thread start`, `process exit` or `unwound f`";

impl Parser<'_> {
    fn file(&mut self) -> PropertyFile {
        let mut file = PropertyFile::default();
        if self.c.peek_word() == "slice" && self.slicing(&mut file).is_err() {
            self.c.skip_to(&["initialization", "state"]);
        }
        if self.c.word("initialization") {
            self.c.symbol(":");
            match self.c.block() {
                Ok(Some(b)) => file.init = Some(b),
                Ok(None) => {
                    let _: Parsed<()> = self
                        .c
                        .expected("`{` with Python code", "write `initialization { N = 0 }`");
                    self.c.skip_to(&["state"]);
                }
                Err(Reported) => self.c.skip_to(&["state"]),
            }
        }
        while !self.c.at_end() {
            if self.c.looking_at("...") {
                let at = self.c.pos;
                self.c.bump(3);
                self.c.found.push(
                    Diagnostic::warning(
                        "elided",
                        Span::new(at, at + 3),
                        "the listing is abridged here",
                    )
                    .hint("write the states that `...` stands for"),
                );
            } else if self.c.word_or_slip("state") {
                if file.states.len() >= limits::STATES {
                    let span = self.c.here();
                    let most = limits::STATES;
                    self.c.found.push(
                        Diagnostic::error(
                            "too-many-states",
                            span,
                            format!("more than {most} states"),
                        )
                        .hint("split the property into several files"),
                    );
                    return file;
                }
                if self.state(&mut file).is_err() {
                    self.c.skip_to(&["state"]);
                }
            } else {
                let hint = match self.c.peek_word() {
                    "slice" => "`slice on` comes first, once",
                    "initialization" => {
                        "`initialization` comes after `slice on` and before the states, once"
                    }
                    "transition" => {
                        "a transition stands inside a state: `state s { transition { ... } }`"
                    }
                    "on" => "reactions belong in a scenario file (`.sc`)",
                    _ => "a property is a list of states: `state init { ... }`",
                };
                let _: Parsed<()> = self.c.expected("`state`", hint);
                let here = self.c.here();
                self.c.bump((here.end - here.start).max(1));
                self.c.skip_to(&["state"]);
            }
        }
        file
    }

    fn slicing(&mut self, file: &mut PropertyFile) -> Parsed<()> {
        const HINT: &str = "write `slice on queue` or `slice on q, e ends free(arg 0 as q)`";
        self.c.word("slice");
        if !self.c.word("on") {
            return self.c.expected("`on` after `slice`", HINT);
        }
        loop {
            if matches!(self.c.peek_word(), "initialization" | "state" | "ends") {
                return self.c.expected("a slice parameter", HINT);
            }
            let name = self.c.name("a slice parameter", HINT)?;
            if file.slice_on.len() >= limits::SLICE_PARAMETERS {
                let most = limits::SLICE_PARAMETERS;
                self.c.found.push(
                    Diagnostic::error(
                        "too-many-parameters",
                        name.span,
                        format!("more than {most} slice parameters"),
                    )
                    .hint("slice on fewer parameters"),
                );
                return Err(Reported);
            }
            file.slice_on.push(name);
            // The paper's grammar allows a comma after the last one.
            if !self.c.symbol(",")
                || matches!(self.c.peek_word(), "initialization" | "state" | "ends")
            {
                break;
            }
        }
        if self.c.word("ends") {
            loop {
                let when = self.when();
                self.c.word("event");
                file.ends.push(self.event(when)?);
                if !self.c.word("or") {
                    break;
                }
            }
        }
        Ok(())
    }

    fn when(&mut self) -> Option<When> {
        if self.c.word("before") {
            Some(When::Before)
        } else if self.c.word("after") {
            Some(When::After)
        } else {
            None
        }
    }

    fn state(&mut self, file: &mut PropertyFile) -> Parsed<()> {
        let name = self
            .c
            .name("a state's name", "write `state init { ... }`")?;
        let mut state = State {
            name,
            accepting: None,
            is_final: false,
            action: None,
            transitions: Vec::new(),
        };
        self.c.skip_space();
        let at = self.c.pos;
        let slipped = match self.c.peek_word() {
            "accepting" | "non" | "final" | "state" | "transition" => None,
            _ => self.c.slip(&["accepting", "non-accepting", "final"]),
        };
        if slipped == Some("non-accepting") {
            state.accepting = Some((false, self.c.span_from(at)));
        } else if slipped == Some("accepting") || self.c.word("accepting") {
            state.accepting = Some((true, self.c.span_from(at)));
        } else if self.c.word("non") {
            if !(self.c.symbol("-") && self.c.word_or_slip("accepting")) {
                return self.c.expected(
                    "`non-accepting`",
                    "a state is `accepting` or `non-accepting`",
                );
            }
            state.accepting = Some((false, self.c.span_from(at)));
        }
        if slipped == Some("final") {
            state.is_final = true;
        } else if self.c.peek_word() == "final"
            && !self.c.rest()["final".len()..].trim_start().starts_with('(')
        {
            self.c.word("final");
            state.is_final = true;
        }
        if !matches!(self.c.peek_word(), "state" | "transition" | "") {
            state.action = self.action()?;
            if state.action.is_none() {
                file.states.push(state);
                return self.c.expected(
                    "`accepting`, `non-accepting`, `final`, an action, `{` or `:`",
                    "write `state name accepting final action() { ... }`; all but the name may be left out",
                );
            }
        }
        let result = if self.c.symbol("{") {
            self.transitions(&mut state, true)
        } else if self.c.symbol(":") {
            self.transitions(&mut state, false)
        } else {
            Ok(())
        };
        file.states.push(state);
        result
    }

    fn transitions(&mut self, state: &mut State, braces: bool) -> Parsed<()> {
        loop {
            while self.at_transition() {
                match self.transition() {
                    Ok(t) => state.transitions.push(t),
                    Err(Reported) => {
                        self.c.skip_to(&["transition", "state"]);
                        if self.c.peek_word() != "transition" {
                            return Ok(());
                        }
                    }
                }
            }
            if !braces || self.c.symbol("}") {
                return Ok(());
            }
            let hint = if matches!(self.c.peek_word(), "event" | "before" | "after") {
                "an event stands inside a transition: `transition { event f() success s }`"
            } else {
                "close the state with `}`"
            };
            let _: Parsed<()> = self.c.expected("`transition` or `}`", hint);
            self.c.skip_to(&["transition", "state"]);
            if self.c.peek_word() != "transition" {
                return Ok(());
            }
        }
    }

    fn at_transition(&mut self) -> bool {
        match self.c.peek_word() {
            "transition" => true,
            "state" | "event" => false,
            word => nearest(word, ["transition"]).is_some(),
        }
    }

    fn transition(&mut self) -> Parsed<Transition> {
        let start = self.c.pos;
        self.c.word_or_slip("transition");
        self.transitions += 1;
        if self.transitions > limits::TRANSITIONS {
            let most = limits::TRANSITIONS;
            let span = self.c.span_from(start);
            self.c.found.push(
                Diagnostic::error(
                    "too-many-transitions",
                    span,
                    format!("more than {most} transitions"),
                )
                .hint("split the property into several files"),
            );
            self.c.pos = self.c.text.len();
            return Err(Reported);
        }
        let braces = self.c.symbol("{");
        if !braces && !self.c.symbol(":") {
            return self
                .c
                .expected("`{` or `:`", "write `transition { event f() success s }`");
        }
        let when = self.when();
        if !self.c.word_or_slip("event") {
            return self.c.expected(
                "`event`",
                "write `before event f(x)` or `after event f(x, ret)`",
            );
        }
        let event = self.event(when)?;
        let guard = self.c.block()?;
        let mut outcomes = Vec::new();
        loop {
            self.c.skip_space();
            let at = self.c.pos;
            let success = match self.c.peek_word() {
                "success" => self.c.word("success"),
                "failure" => !self.c.word("failure"),
                // Without braces the next state or transition may stand here.
                "state" | "transition" => break,
                _ => match self.c.slip(&["success", "failure"]) {
                    Some(meant) => meant == "success",
                    None => break,
                },
            };
            let block = self.c.block()?;
            let action = self.action()?;
            let to = self.c.name(
                "the state to go to",
                "write `success state` or `failure { code } action() state`",
            )?;
            outcomes.push(Outcome {
                success,
                block,
                action,
                to,
                span: self.c.span_from(at),
            });
        }
        let span = self.c.span_from(start);
        if braces && !self.c.symbol("}") {
            let hint = if self.c.looking_at("{") {
                "only one guard block may follow the event; other code belongs after `success` or `failure`"
            } else {
                "a transition is an event, a guard in braces, then `success` and `failure`; close it with `}`"
            };
            return self.c.expected("`success`, `failure` or `}`", hint);
        }
        Ok(Transition {
            event,
            guard,
            outcomes,
            span,
        })
    }

    /// `name()`; nothing is consumed when no `(` follows the name.
    fn action(&mut self) -> Parsed<Option<Name>> {
        let word = self.c.peek_word();
        if word.is_empty() || !self.c.rest()[word.len()..].trim_start().starts_with('(') {
            return Ok(None);
        }
        let name = self.c.name("an action", "")?;
        self.c.symbol("(");
        if !self.c.symbol(")") {
            return self.c.expected(
                "`)`",
                "an action takes no arguments here; its function gets the monitor and the slice",
            );
        }
        Ok(Some(name))
    }

    fn event(&mut self, when: Option<When>) -> Parsed<Event> {
        self.c.skip_space();
        let start = self.c.pos;
        let word = self.c.peek_word();
        let after = &self.c.rest()[word.len()..];
        // An event word directly followed by `(` is a function of that name.
        let is_function =
            after.trim_start().starts_with('(') || after.starts_with(['<', '!', '.', ':']);
        let kind = Kind::from_word(word).filter(|_| !is_function);
        let (kind, name) = match kind {
            None => (Kind::Call, self.function_name()?),
            Some(kind) => {
                self.c.word(word);
                let name = match kind {
                    Kind::Call | Kind::Unwound => self.function_name()?,
                    Kind::Write | Kind::Read => self.lvalue("the variable that is accessed")?,
                    Kind::Update if self.c.looking_at("{") => self.expression()?,
                    Kind::Update => self.lvalue("a variable, or an expression in braces")?,
                    Kind::Syscall | Kind::Signal => self.plain_name(kind)?,
                    Kind::Line => self.file_line()?,
                    Kind::Thread => self.one_of(&["start", "exit"])?,
                    Kind::Process => self.one_of(&["exit"])?,
                };
                (kind, name)
            }
        };
        let mut params = Vec::new();
        if self.c.symbol("(") {
            while !self.c.looking_at(")") {
                if params.len() >= limits::EVENT_PARAMETERS {
                    let most = limits::EVENT_PARAMETERS;
                    let span = self.c.here();
                    self.c.found.push(
                        Diagnostic::error(
                            "too-many-parameters",
                            span,
                            format!("more than {most} parameters in one event"),
                        )
                        .hint("name only the parameters that the blocks use"),
                    );
                    return Err(Reported);
                }
                params.push(self.param()?);
                if !self.c.symbol(",") {
                    break;
                }
            }
            if !self.c.symbol(")") {
                return self
                    .c
                    .expected("`,` or `)`", "parameters are `x`, `x as name`, `x : type`");
            }
        } else if kind == Kind::Call {
            return self
                .c
                .expected("`(` after the function's name", EVENT_WORDS);
        }
        Ok(Event {
            kind,
            when,
            name,
            params,
            span: self.c.span_from(start),
        })
    }

    /// A C, C++ or Rust path up to its parameter list, or a quoted signature.
    fn function_name(&mut self) -> Parsed<Name> {
        self.c.skip_space();
        let start = self.c.pos;
        if self.c.byte() == Some(b'\'') {
            let Some(end) = self.c.rest()[1..]
                .find(['\'', '\n'])
                .filter(|k| self.c.rest().as_bytes()[k + 1] == b'\'')
            else {
                return self
                    .c
                    .expected("a closing `'`", "quote an overload as `'ns::f(int)'(v)`");
            };
            let text = self.c.rest()[1..=end].trim().to_string();
            self.c.bump(end + 2);
            return Ok(Name {
                text,
                span: self.c.span_from(start),
            });
        }
        let rest = self.c.rest();
        let mut angle = 0usize;
        let mut i = 0;
        while let Some(ch) = rest[i..].chars().next() {
            if i == 0 && rest.starts_with("(anonymous namespace)") {
                i += "(anonymous namespace)".len();
                continue;
            }
            let word = word_at(&rest[i..]);
            if word == "operator" {
                i += word.len();
                // Everything up to the parameters is the operator's name: `operator()`, `operator<<`.
                if rest[i..].starts_with("()") {
                    i += 2;
                } else {
                    i += rest[i..].find(['(', '\n', '{']).unwrap_or(rest.len() - i);
                }
                continue;
            }
            if !word.is_empty() {
                // `process exit success s`: a path never has two words in a row but for `operator new`.
                i += word.len();
                continue;
            }
            match ch {
                '<' => angle += 1,
                '>' if rest[..i].ends_with('-') => {}
                '>' => angle = angle.saturating_sub(1),
                '(' if angle > 0 => {}
                ')' if angle > 0 => {}
                ' ' if angle > 0 => {}
                '0'..='9' | ':' | '.' | '!' | '~' | '-' | '+' | '/' | '@' | '$' => {}
                ',' | '&' | '*' | '[' | ']' | ';' if angle > 0 => {}
                _ => break,
            }
            i += ch.len_utf8();
        }
        let text = rest[..i].trim_end();
        if text.is_empty() {
            return self.c.expected("the event", EVENT_WORDS);
        }
        self.c.bump(text.len());
        Ok(Name {
            text: text.to_string(),
            span: self.c.span_from(start),
        })
    }

    /// A variable with members and indices, with leading `*` and `&`.
    fn lvalue(&mut self, what: &str) -> Parsed<Name> {
        self.c.skip_space();
        let start = self.c.pos;
        let mut text = String::new();
        for _ in 0..limits::PARAMETER_DEPTH {
            if self.c.symbol("*") {
                text.push('*');
            } else if self.c.symbol("&") {
                text.push('&');
            }
        }
        text.push_str(&self.path(what)?);
        Ok(Name {
            text,
            span: self.c.span_from(start),
        })
    }

    /// `a`, `ns::a`, `'file.c'::a`, `a->b.c[3]`, `self.0`; white space inside is dropped.
    fn path(&mut self, what: &str) -> Parsed<String> {
        const HINT: &str = "a variable is written as in C: `count`, `q->head[3].next`, `ns::v`";
        self.c.skip_space();
        let mut text = String::new();
        if let Some(file) = quoted_scope(self.c.rest()) {
            text.push_str(file);
            self.c.bump(file.len());
        } else if self.c.symbol("::") {
            text.push_str("::");
        }
        text.push_str(&self.c.name(what, HINT)?.text);
        loop {
            if self.c.rest().starts_with("::") {
                self.c.bump(2);
                text.push_str("::");
                text.push_str(&self.c.name("a name after `::`", HINT)?.text);
            } else if self.c.looking_at("->") {
                self.c.bump(2);
                text.push_str("->");
                text.push_str(&self.c.name("a member after `->`", HINT)?.text);
            } else if self.c.looking_at(".") && !self.c.looking_at("...") {
                self.c.bump(1);
                text.push('.');
                self.c.skip_space();
                let digits = self
                    .c
                    .rest()
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(0);
                if digits > 0 {
                    text.push_str(&self.c.rest()[..digits]);
                    self.c.bump(digits);
                } else {
                    text.push_str(&self.c.name("a member after `.`", HINT)?.text);
                }
            } else if self.c.looking_at("[") {
                let inner = self.balanced(b'[', b']')?;
                text.push('[');
                text.push_str(&inner);
                text.push(']');
            } else {
                return Ok(text);
            }
        }
    }

    /// The text between a bracket and its partner on the way, both consumed.
    fn balanced(&mut self, open: u8, close: u8) -> Parsed<String> {
        let start = self.c.pos;
        let bytes = self.c.text.as_bytes();
        let mut depth = 0usize;
        let mut i = start;
        while let Some(&b) = bytes.get(i) {
            match b {
                b'\'' | b'"' => {
                    let quote = b;
                    i += 1;
                    while bytes.get(i).is_some_and(|&c| c != quote && c != b'\n') {
                        i += if bytes[i] == b'\\' { 2 } else { 1 };
                    }
                }
                _ if b == open => depth += 1,
                _ if b == close => {
                    depth -= 1;
                    if depth == 0 {
                        let inner = self.c.text[start + 1..i].trim().to_string();
                        self.c.bump(i + 1 - start);
                        return Ok(inner);
                    }
                }
                _ => {}
            }
            i += 1;
        }
        self.c.found.push(
            Diagnostic::error(
                "syntax",
                Span::new(start, start + 1),
                "bracket is not closed",
            )
            .label("opened here")
            .hint(format!("close it with `{}`", close as char)),
        );
        Err(Reported)
    }

    fn expression(&mut self) -> Parsed<Name> {
        let start = self.c.pos;
        let text = self.balanced(b'{', b'}')?;
        let span = self.c.span_from(start);
        if text.is_empty() {
            self.c.found.push(
                Diagnostic::error("syntax", span, "the expression is empty")
                    .hint("write `update {a + b}`"),
            );
            return Err(Reported);
        }
        Ok(Name { text, span })
    }

    fn plain_name(&mut self, kind: Kind) -> Parsed<Name> {
        self.c.skip_space();
        let start = self.c.pos;
        let rest = self.c.rest();
        // `SIGRTMIN+1`.
        let is_part = |c: char| is_word(c) || (kind == Kind::Signal && matches!(c, '+' | '-'));
        let n = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        if n == 0 {
            let hint = match kind {
                Kind::Signal => "write `signal SIGUSR1`",
                _ => "write `syscall openat`",
            };
            return self
                .c
                .expected(&format!("the {}'s name", kind.word()), hint);
        }
        self.c.bump(n);
        Ok(Name {
            text: rest[..n].to_string(),
            span: Span::new(start, start + n),
        })
    }

    fn file_line(&mut self) -> Parsed<Name> {
        const HINT: &str = "write `line queue.c:41`";
        self.c.skip_space();
        let start = self.c.pos;
        let rest = self.c.rest();
        let colon = rest
            .find(|c: char| c == ':' || c.is_whitespace() || c == '(' || c == '{')
            .unwrap_or(rest.len());
        if colon == 0 || !rest[colon..].starts_with(':') {
            return self.c.expected("`file:line`", HINT);
        }
        let digits = rest[colon + 1..]
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len() - colon - 1);
        if digits == 0 {
            self.c.bump(colon + 1);
            return self.c.expected("a line number", HINT);
        }
        let n = colon + 1 + digits;
        self.c.bump(n);
        Ok(Name {
            text: rest[..n].to_string(),
            span: Span::new(start, start + n),
        })
    }

    fn one_of(&mut self, words: &[&str]) -> Parsed<Name> {
        let word = self.c.peek_word();
        if !words.contains(&word) {
            let list = words
                .iter()
                .map(|w| format!("`{w}`"))
                .collect::<Vec<_>>()
                .join(" or ");
            return self.c.expected(&list, EVENT_WORDS);
        }
        self.c.name("", "")
    }

    fn param(&mut self) -> Parsed<Param> {
        self.c.skip_space();
        let start = self.c.pos;
        let operand = self.operand(0)?;
        let alias = if self.c.word("as") {
            Some(self.c.name("a name after `as`", "write `arg 0 as queue`")?)
        } else {
            None
        };
        let ty = if self.c.symbol(":") {
            Some(self.type_name()?)
        } else {
            None
        };
        // `<T as Trait>::X` is a type of Rust's.
        if let Some(ty) = &ty
            && !ty.text.contains('<')
            && let Some((before, name)) = ty.text.split_once(" as ")
        {
            self.c.found.push(
                Diagnostic::error("syntax", ty.span, "the name comes before the type").hint(
                    format!(
                        "write `{} as {} : {}`",
                        operand.text(),
                        name.trim(),
                        before.trim()
                    ),
                ),
            );
        }
        Ok(Param {
            operand,
            alias,
            ty,
            span: self.c.span_from(start),
        })
    }

    fn operand(&mut self, depth: usize) -> Parsed<Operand> {
        const HINT: &str = "a parameter is a variable, `*p`, `&p`, `arg 0`, `ret`, `entry(x)`, `$tid`, `$time` or `$caller`";
        if depth > limits::PARAMETER_DEPTH {
            return self.c.expected("a simpler parameter", HINT);
        }
        if self.c.symbol("*") {
            return Ok(Operand::Deref(Box::new(self.operand(depth + 1)?)));
        }
        if self.c.symbol("&") {
            return Ok(Operand::AddressOf(Box::new(self.operand(depth + 1)?)));
        }
        if self.c.symbol("$") {
            let at = self.c.pos - 1;
            let word = word_at(self.c.rest());
            let operand = match word {
                "tid" => Operand::Tid,
                "time" => Operand::Time,
                "caller" => Operand::Caller,
                _ => {
                    let span = Span::new(at, self.c.pos + word.len());
                    self.c.found.push(
                        Diagnostic::error(
                            "syntax",
                            span,
                            format!("unknown pseudo-parameter `${word}`"),
                        )
                        .hint("there are `$tid`, `$time` and `$caller`"),
                    );
                    return Err(Reported);
                }
            };
            self.c.bump(word.len());
            return Ok(operand);
        }
        let word = self.c.peek_word();
        let after = self.c.rest()[word.len()..].trim_start();
        match word {
            "entry" if after.starts_with('(') => {
                self.c.word("entry");
                self.c.symbol("(");
                let inner = self.operand(depth + 1)?;
                if !self.c.symbol(")") {
                    return self.c.expected("`)`", "write `entry(x)`");
                }
                Ok(Operand::Entry(Box::new(inner)))
            }
            "arg" if after.starts_with(|c: char| c.is_ascii_digit()) => {
                self.c.word("arg");
                self.c.skip_space();
                let rest = self.c.rest();
                let n = rest
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(rest.len());
                let span = Span::new(self.c.pos, self.c.pos + n);
                match rest[..n].parse::<u32>().ok().filter(|n| *n < 256) {
                    Some(k) => {
                        self.c.bump(n);
                        Ok(Operand::Arg(k))
                    }
                    None => {
                        self.c.found.push(
                            Diagnostic::error("syntax", span, "no function has so many arguments")
                                .hint("`arg 0` is the first argument"),
                        );
                        Err(Reported)
                    }
                }
            }
            _ => {
                let is_scoped = self.c.looking_at("::") || quoted_scope(self.c.rest()).is_some();
                if word.is_empty() && !is_scoped {
                    return self.c.expected("a parameter", HINT);
                }
                let path = self.path("a parameter")?;
                Ok(if path == "ret" {
                    Operand::Ret
                } else {
                    Operand::Path(path)
                })
            }
        }
    }

    /// A C, C++ or Rust type up to the next `,` or `)` outside its own brackets.
    fn type_name(&mut self) -> Parsed<Name> {
        self.c.skip_space();
        let start = self.c.pos;
        let mut depth = 0usize;
        let rest = self.c.rest();
        let mut n = rest.len();
        for (i, c) in rest.char_indices() {
            match c {
                '<' | '(' | '[' => depth += 1,
                '>' if rest[..i].ends_with('-') => {}
                ')' | ',' if depth == 0 => {
                    n = i;
                    break;
                }
                '>' | ')' | ']' => depth = depth.saturating_sub(1),
                '{' | '}' | '\n' | '#' => {
                    n = i;
                    break;
                }
                _ => {}
            }
        }
        let text = rest[..n].trim();
        if text.is_empty() {
            return self
                .c
                .expected("a type after `:`", "write `size : int` or `name : str`");
        }
        self.c.bump(text.len());
        Ok(Name {
            text: text.to_string(),
            span: Span::new(start, start + text.len()),
        })
    }
}

/// `'file.c'::` at the beginning of a text.
fn quoted_scope(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('\'')?;
    let end = inside.find(['\'', '\n'])?;
    let is_scope = end > 0 && inside[end..].starts_with("'::");
    is_scope.then(|| &text[..end + "''::".len()])
}

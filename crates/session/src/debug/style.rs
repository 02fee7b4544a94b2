//! How the debugger's text looks: as it is, or with colours for a person at a
//! terminal. Where nobody sees colours the text is gdb's to the letter.

/// Colours, or none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Style {
    on: bool,
}

/// The escape codes of terminals; gdb's choice of colours for the same things.
mod code {
    pub const FUNCTION: &str = "33";
    pub const FILE: &str = "32";
    pub const ADDRESS: &str = "34";
    pub const FAINT: &str = "2";
    pub const STRONG: &str = "1";
    pub const KEYWORD: &str = "35";
    pub const STRING: &str = "32";
    pub const NUMBER: &str = "36";
    pub const COMMENT: &str = "2;3";
    pub const ALARM: &str = "1;31";
}

impl Style {
    pub fn coloured() -> Style {
        Style { on: true }
    }

    pub fn is_on(self) -> bool {
        self.on
    }

    fn with(self, code: &str, text: &str) -> String {
        match self.on && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    pub fn function(self, text: &str) -> String {
        self.with(code::FUNCTION, text)
    }

    pub fn file(self, text: &str) -> String {
        self.with(code::FILE, text)
    }

    pub fn address(self, text: &str) -> String {
        self.with(code::ADDRESS, text)
    }

    pub fn faint(self, text: &str) -> String {
        self.with(code::FAINT, text)
    }

    pub fn strong(self, text: &str) -> String {
        self.with(code::STRONG, text)
    }

    /// Something is wrong with the program.
    pub fn alarm(self, text: &str) -> String {
        self.with(code::ALARM, text)
    }

    /// A line of the monitors', with their mark.
    pub fn monitors(self, text: &str) -> String {
        let mark = self.faint("[verde]");
        match text.strip_prefix("violation: ") {
            Some(rest) => format!("{mark} {} {rest}", self.alarm("violation:")),
            None => format!("{mark} {text}"),
        }
    }

    /// A piece of source.
    pub fn token(self, token: Token, text: &str) -> String {
        let code = match token {
            Token::Plain => return text.to_owned(),
            Token::Keyword => code::KEYWORD,
            Token::Text => code::STRING,
            Token::Number => code::NUMBER,
            Token::Comment => code::COMMENT,
        };
        self.with(code, text)
    }
}

/// What a piece of source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Plain,
    Keyword,
    Text,
    Number,
    Comment,
}

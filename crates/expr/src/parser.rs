//! From text to [`Ast`]: C's grammar with gdb's additions, and the parts of Rust's that differ.

use crate::ast::{Ast, Binary, Derive, Parameters, TypeName, Unary};
use crate::error::EvalError;
use crate::lexer::{Token, TokenKind, tokens};

/// Tells types from other names: C's grammar cannot.
pub trait TypeOracle {
    /// Whether a name, with scopes and arguments as written, is a type here.
    fn is_type(&self, name: &str) -> bool;

    /// Whether the expression is one of Rust: `(a, b)` is a tuple there.
    fn is_rust(&self) -> bool {
        false
    }
}

const TYPE_WORDS: [&str; 10] = [
    "char", "short", "int", "long", "signed", "unsigned", "float", "double", "void", "_Bool",
];
const NAMED_CASTS: [&str; 4] = [
    "static_cast",
    "dynamic_cast",
    "reinterpret_cast",
    "const_cast",
];
const QUALIFIERS: [&str; 4] = ["const", "volatile", "restrict", "mut"];
const TAGS: [&str; 4] = ["struct", "union", "enum", "class"];
/// Brackets and operators nested deeper than this are no honest expression.
const MAX_DEPTH: usize = 80;

/// Parses a whole expression.
pub fn parse(text: &str, oracle: &dyn TypeOracle) -> Result<Ast, EvalError> {
    let (ast, rest) = parse_prefix(text, oracle)?;
    if rest < text.len() {
        return Err(EvalError::Syntax(text[rest..].to_owned()));
    }
    Ok(ast)
}

/// Parses the expression a text starts with, and says where it ends.
pub fn parse_prefix(text: &str, oracle: &dyn TypeOracle) -> Result<(Ast, usize), EvalError> {
    let tokens = tokens(text, oracle.is_rust())?;
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        depth: 0,
        oracle,
    };
    let ast = parser.comma()?;
    let rest = parser.tokens.get(parser.at).map_or(text.len(), |t| t.at);
    Ok((ast, rest))
}

/// Parses a type alone (`struct item *`), or an expression.
pub fn parse_type_or_expression(text: &str, oracle: &dyn TypeOracle) -> Result<Ast, EvalError> {
    let tokens = tokens(text, oracle.is_rust())?;
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        depth: 0,
        oracle,
    };
    if parser.starts_type() {
        let before = parser.at;
        if let Ok(ty) = parser.type_name()
            && parser.at == parser.tokens.len()
        {
            return Ok(Ast::Type(ty));
        }
        parser.at = before;
    }
    parse(text, oracle)
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    oracle: &'a dyn TypeOracle,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&TokenKind> {
        self.tokens.get(self.at).map(|t| &t.kind)
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Symbol(s)) if *s == symbol)
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Name(n)) if n == word)
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn syntax<T>(&self) -> Result<T, EvalError> {
        let rest = self.tokens.get(self.at).map_or("", |t| &self.text[t.at..]);
        Err(EvalError::Syntax(rest.to_owned()))
    }

    fn expect(&mut self, symbol: &str) -> Result<(), EvalError> {
        if self.eat(symbol) {
            Ok(())
        } else {
            self.syntax()
        }
    }

    /// One level deeper: the parser recurses, so the depth of its input is bounded.
    fn nested<T>(&mut self, inner: fn(&mut Self) -> Result<T, EvalError>) -> Result<T, EvalError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(EvalError::BadType("expression nested too deeply".into()));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn comma(&mut self) -> Result<Ast, EvalError> {
        let mut left = self.assignment()?;
        while self.eat(",") {
            let right = self.assignment()?;
            left = Ast::Binary(Binary::Comma, left.into(), right.into());
        }
        Ok(left)
    }

    fn assignment(&mut self) -> Result<Ast, EvalError> {
        self.nested(Self::assignment_inner)
    }

    fn assignment_inner(&mut self) -> Result<Ast, EvalError> {
        let left = self.conditional()?;
        let Some(TokenKind::Symbol(symbol)) = self.peek() else {
            return Ok(left);
        };
        let operation = match *symbol {
            "=" => None,
            "+=" => Some(Binary::Add),
            "-=" => Some(Binary::Sub),
            "*=" => Some(Binary::Mul),
            "/=" => Some(Binary::Div),
            "%=" => Some(Binary::Rem),
            "<<=" => Some(Binary::Shl),
            ">>=" => Some(Binary::Shr),
            "&=" => Some(Binary::And),
            "|=" => Some(Binary::Or),
            "^=" => Some(Binary::Xor),
            _ => return Ok(left),
        };
        self.at += 1;
        let right = self.assignment()?;
        Ok(Ast::Assign(operation, left.into(), right.into()))
    }

    fn conditional(&mut self) -> Result<Ast, EvalError> {
        let condition = self.binary(0)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let yes = self.comma()?;
        self.expect(":")?;
        let no = self.assignment()?;
        Ok(Ast::Choose(condition.into(), yes.into(), no.into()))
    }

    fn binary(&mut self, level: usize) -> Result<Ast, EvalError> {
        const LEVELS: [&[(&str, Binary)]; 11] = [
            &[("||", Binary::LogicalOr)],
            &[("&&", Binary::LogicalAnd)],
            &[("|", Binary::Or)],
            &[("^", Binary::Xor)],
            &[("&", Binary::And)],
            &[("==", Binary::Eq), ("!=", Binary::Ne)],
            &[
                ("<", Binary::Lt),
                (">", Binary::Gt),
                ("<=", Binary::Le),
                (">=", Binary::Ge),
            ],
            &[("<<", Binary::Shl), (">>", Binary::Shr)],
            &[("@", Binary::Repeat)],
            &[("+", Binary::Add), ("-", Binary::Sub)],
            &[("*", Binary::Mul), ("/", Binary::Div), ("%", Binary::Rem)],
        ];
        let Some(operators) = LEVELS.get(level) else {
            return self.as_cast();
        };
        let mut left = self.binary(level + 1)?;
        'more: loop {
            for (symbol, operator) in *operators {
                if self.eat(symbol) {
                    let right = self.binary(level + 1)?;
                    left = Ast::Binary(*operator, left.into(), right.into());
                    continue 'more;
                }
            }
            return Ok(left);
        }
    }

    /// Rust's `x as type`.
    fn as_cast(&mut self) -> Result<Ast, EvalError> {
        let mut left = self.unary()?;
        while self.is_member_pointer() {
            self.at += 2;
            let pointer = self.unary()?;
            left = Ast::MemberPointer(left.into(), pointer.into());
        }
        while self.eat_word("as") {
            let ty = self.rust_type()?;
            left = Ast::Cast(ty, left.into());
        }
        Ok(left)
    }

    /// `.*` and `->*`, with what C++ writes as one word.
    fn is_member_pointer(&self) -> bool {
        let star = self.tokens.get(self.at + 1).map(|t| &t.kind);
        (self.is(".") || self.is("->")) && star == Some(&TokenKind::Symbol("*"))
    }

    fn unary(&mut self) -> Result<Ast, EvalError> {
        self.nested(Self::unary_inner)
    }

    fn unary_inner(&mut self) -> Result<Ast, EvalError> {
        const OPERATORS: [(&str, Unary); 8] = [
            ("-", Unary::Minus),
            ("+", Unary::Plus),
            ("!", Unary::Not),
            ("~", Unary::Complement),
            ("*", Unary::Deref),
            ("&", Unary::Address),
            ("++", Unary::PreIncrement),
            ("--", Unary::PreDecrement),
        ];
        for (symbol, operator) in OPERATORS {
            if self.eat(symbol) {
                if operator == Unary::Address {
                    self.eat_word("mut");
                }
                let operand = self.unary()?;
                return Ok(Ast::Unary(operator, operand.into()));
            }
        }
        // `&&x` is the address of an address in Rust.
        if self.eat("&&") {
            let inner = Ast::Unary(Unary::Address, self.unary()?.into());
            return Ok(Ast::Unary(Unary::Address, inner.into()));
        }
        if self.eat_word("sizeof") {
            return self.size_of();
        }
        if self.is("(")
            && let Some(ty) = self.cast_type()
        {
            let operand = self.unary()?;
            return Ok(Ast::Cast(ty, operand.into()));
        }
        if self.is("(")
            && let Some(name) = self.unknown_type()
        {
            return Err(EvalError::UnknownName(name));
        }
        if self.eat("{") {
            let ty = self.type_name()?;
            self.expect("}")?;
            let operand = self.unary()?;
            return Ok(Ast::At(ty, operand.into()));
        }
        self.postfix()
    }

    fn size_of(&mut self) -> Result<Ast, EvalError> {
        if self.is("(")
            && let Some(ty) = self.cast_type()
        {
            return Ok(Ast::SizeOfType(ty));
        }
        if self.is("(")
            && let Some(name) = self.unknown_type()
        {
            return Err(EvalError::UnknownName(name));
        }
        Ok(Ast::SizeOf(self.unary()?.into()))
    }

    /// `(type)`, taken only when it is one.
    fn cast_type(&mut self) -> Option<TypeName> {
        let before = self.at;
        self.at += 1;
        if self.starts_type()
            && let Ok(ty) = self.type_name()
            && self.eat(")")
        {
            return Some(ty);
        }
        self.at = before;
        None
    }

    /// `(name *)` or `(name) 1`, which is nothing but a cast to a type that nobody knows.
    fn unknown_type(&mut self) -> Option<String> {
        let before = self.at;
        self.at += 1;
        let name = self.path();
        let mut made = false;
        while self.eat("*") || self.eat("&") {
            made = true;
        }
        let mut is_cast = self.eat(")");
        if !made {
            let operand = |t: &TokenKind| !matches!(t, TokenKind::Symbol(_));
            is_cast &= self.peek().is_some_and(operand) && !self.is_word("as");
        }
        self.at = before;
        name.filter(|_| is_cast)
    }

    fn starts_type(&mut self) -> bool {
        let before = self.at;
        let found = match self.peek() {
            Some(TokenKind::Name(name)) => {
                let name = name.as_str();
                if TYPE_WORDS.contains(&name)
                    || QUALIFIERS.contains(&name)
                    || (TAGS.contains(&name) && self.tokens.len() > self.at + 1)
                {
                    true
                } else {
                    self.path().is_some_and(|p| self.oracle.is_type(&p))
                }
            }
            Some(TokenKind::Symbol("::")) => self.path().is_some_and(|p| self.oracle.is_type(&p)),
            // Rust: `*const T`, `&T`.
            Some(TokenKind::Symbol("*")) => {
                self.at += 1;
                self.is_word("const") || self.is_word("mut")
            }
            _ => false,
        };
        self.at = before;
        found
    }

    fn type_name(&mut self) -> Result<TypeName, EvalError> {
        let mut ty = self.rust_type()?;
        self.declarator(&mut ty)?;
        Ok(ty)
    }

    /// A type as Rust writes it, what is made of it before it: a `*` behind it is a product.
    fn rust_type(&mut self) -> Result<TypeName, EvalError> {
        let mut before = Vec::new();
        loop {
            if self.eat("*") || self.eat("&") {
                before.push(Derive::Pointer);
            } else if !before.is_empty() && (self.eat_word("const") || self.eat_word("mut")) {
                continue;
            } else {
                break;
            }
        }
        let mut ty = self.base_type()?;
        ty.derived.extend(before.into_iter().rev());
        Ok(ty)
    }

    fn base_type(&mut self) -> Result<TypeName, EvalError> {
        let mut is_const = false;
        let mut words: Vec<String> = Vec::new();
        let mut tag = None;
        let mut name = None;
        loop {
            let Some(TokenKind::Name(word)) = self.peek().cloned() else {
                if name.is_none() && words.is_empty() && self.is("::") {
                    name = self.path();
                    continue;
                }
                break;
            };
            if QUALIFIERS.contains(&word.as_str()) {
                is_const |= word == "const";
                self.at += 1;
            } else if TYPE_WORDS.contains(&word.as_str()) && name.is_none() {
                words.push(word);
                self.at += 1;
            } else if let (true, Some(found)) = (
                tag.is_none() && name.is_none() && words.is_empty(),
                TAGS.iter().find(|t| **t == word),
            ) {
                tag = Some(*found);
                self.at += 1;
                name = self.path();
            } else if name.is_none() && words.is_empty() {
                name = self.path();
            } else {
                break;
            }
        }
        let name = match (name, words.is_empty()) {
            (Some(name), true) => name,
            (None, false) => c_name(&words).to_owned(),
            _ => return self.syntax(),
        };
        let derived = if is_const {
            vec![Derive::Const]
        } else {
            Vec::new()
        };
        Ok(TypeName { tag, name, derived })
    }

    fn declarator(&mut self, ty: &mut TypeName) -> Result<(), EvalError> {
        loop {
            if self.eat("*") {
                ty.derived.push(Derive::Pointer);
            } else if self.eat("&") || self.eat("&&") {
                ty.derived.push(Derive::Reference);
            } else if self.eat_word("const") {
                ty.derived.push(Derive::Const);
            } else if self.eat_word("volatile") || self.eat_word("restrict") {
                continue;
            } else {
                break;
            }
        }
        // `int (*)(int)` and `int (*)[3]`.
        let before = self.at;
        let mut inner = 0;
        if self.eat("(") {
            while self.eat("*") {
                inner += 1;
            }
            if inner == 0 || !self.eat(")") {
                self.at = before;
                inner = 0;
            }
        }
        if inner > 0 && self.eat("(") {
            let parameters = self.parameters()?;
            ty.derived.push(Derive::Function(parameters));
        }
        let mut sizes = Vec::new();
        while self.eat("[") {
            match self.peek() {
                Some(TokenKind::Integer(n, ..)) => sizes.push(u64::try_from(*n).unwrap_or(0)),
                _ => return self.syntax(),
            }
            self.at += 1;
            self.expect("]")?;
        }
        ty.derived
            .extend(sizes.into_iter().rev().map(Derive::Array));
        ty.derived.extend((0..inner).map(|_| Derive::Pointer));
        Ok(())
    }

    /// What a function takes, behind the parenthesis: types, with or without names.
    fn parameters(&mut self) -> Result<Parameters, EvalError> {
        let mut found = Parameters {
            types: Vec::new(),
            variadic: false,
            prototyped: !self.is(")"),
        };
        while !self.eat(")") {
            if self.eat("...") {
                found.variadic = true;
            } else {
                let ty = self.nested(Self::type_name)?;
                if matches!(self.peek(), Some(TokenKind::Name(_))) {
                    self.at += 1;
                }
                found.types.push(ty);
            }
            if !self.is(")") {
                self.expect(",")?;
            }
        }
        let nothing = |t: &TypeName| t.name == "void" && t.derived.is_empty();
        if matches!(found.types.as_slice(), [one] if nothing(one)) {
            found.types.clear();
        }
        Ok(found)
    }

    /// A name with scopes and template arguments: `a::b<c>::d`.
    fn path(&mut self) -> Option<String> {
        let mut out = String::new();
        if self.eat("::") {
            out.push_str("::");
        }
        loop {
            match self.peek()?.clone() {
                TokenKind::Name(name) => out.push_str(&name),
                TokenKind::Symbol("~") => out.push('~'),
                // Rust: `{impl#0}`, and C++: `(anonymous namespace)`.
                TokenKind::Quoted(name) => out.push_str(&name),
                _ => return None,
            }
            self.at += 1;
            if self.is("<")
                && let Some(arguments) = self.arguments(&out)
            {
                out.push_str(&arguments);
            }
            if self.is("::") && self.tokens.len() > self.at + 1 {
                self.at += 1;
                out.push_str("::");
            } else {
                return Some(out);
            }
        }
    }

    /// `<...>` after a name, when that makes it a type or more path follows.
    fn arguments(&mut self, name: &str) -> Option<String> {
        let start = self.tokens.get(self.at)?.at;
        let mut depth = 0i32;
        let mut at = self.at;
        loop {
            match &self.tokens.get(at)?.kind {
                TokenKind::Symbol("<") => depth += 1,
                TokenKind::Symbol(">") => depth -= 1,
                TokenKind::Symbol(">>") => depth -= 2,
                TokenKind::Symbol("&&" | "||" | "==" | "=" | ";") => return None,
                _ => {}
            }
            at += 1;
            if depth <= 0 {
                break;
            }
        }
        let end = self.tokens[at - 1].end;
        let arguments = &self.text[start..end];
        let follows = match self.tokens.get(at).map(|t| &t.kind) {
            Some(TokenKind::Symbol("::")) => true,
            // A function of a template: nothing is less than a type.
            Some(TokenKind::Symbol("(")) | None => {
                let before = self.at;
                self.at += 1;
                let of_type = self.starts_type();
                self.at = before;
                of_type
            }
            _ => false,
        };
        if follows || self.oracle.is_type(&format!("{name}{arguments}")) {
            self.at = at;
            return Some(arguments.to_owned());
        }
        None
    }

    fn postfix(&mut self) -> Result<Ast, EvalError> {
        let mut left = self.primary()?;
        loop {
            if self.eat("[") {
                left = self.index(left)?;
            } else if self.eat("(") {
                let mut arguments = Vec::new();
                while !self.eat(")") {
                    arguments.push(self.assignment()?);
                    if !self.is(")") {
                        self.expect(",")?;
                    }
                }
                left = Ast::Call(left.into(), arguments);
            } else if (self.is(".") || self.is("->")) && !self.is_member_pointer() {
                let arrow = self.is("->");
                self.at += 1;
                for name in self.member_names()? {
                    left = Ast::Member(left.into(), name, arrow);
                }
            } else if self.eat("++") {
                left = Ast::Unary(Unary::PostIncrement, left.into());
            } else if self.eat("--") {
                left = Ast::Unary(Unary::PostDecrement, left.into());
            } else {
                return Ok(left);
            }
        }
    }

    /// The name after a dot; `x.0.1` reads as one number.
    fn member_names(&mut self) -> Result<Vec<String>, EvalError> {
        let names = match self.tokens.get(self.at).map(|t| (&t.kind, t.at, t.end)) {
            Some((TokenKind::Name(_), ..)) => match self.path() {
                Some(name) => vec![name],
                None => return self.syntax(),
            },
            Some((TokenKind::Integer(..) | TokenKind::Float(..), at, end)) => {
                let text = &self.text[at..end];
                let names = text.split('.').map(|n| format!("__{n}")).collect();
                self.at += 1;
                return Ok(names);
            }
            _ => return self.syntax(),
        };
        Ok(names)
    }

    fn index(&mut self, base: Ast) -> Result<Ast, EvalError> {
        let boxed = |ast: Option<Ast>| ast.map(Box::new);
        let mut low = None;
        if !self.is("..") && !self.is("..=") {
            low = Some(self.comma()?);
        }
        let inclusive = self.is("..=");
        if self.eat("..") || self.eat("..=") {
            let mut high = None;
            if !self.is("]") {
                high = Some(self.comma()?);
            }
            if inclusive {
                let one = Ast::Integer(1, String::new(), true);
                high = high.map(|h| Ast::Binary(Binary::Add, h.into(), one.into()));
            }
            self.expect("]")?;
            return Ok(Ast::Slice(base.into(), boxed(low), boxed(high)));
        }
        self.expect("]")?;
        match low {
            Some(index) => Ok(Ast::Index(base.into(), index.into())),
            None => self.syntax(),
        }
    }

    /// `(x)`, or a tuple: `()`, `(x,)`, `(x, y)`.
    fn rust_parentheses(&mut self) -> Result<Ast, EvalError> {
        let mut parts = Vec::new();
        let mut is_tuple = false;
        while !self.eat(")") {
            parts.push(self.assignment()?);
            if !self.is(")") {
                self.expect(",")?;
                is_tuple = true;
            }
        }
        match parts.pop() {
            Some(only) if parts.is_empty() && !is_tuple => Ok(only),
            last => {
                parts.extend(last);
                Ok(Ast::Tuple(parts))
            }
        }
    }

    /// `[x, y]` or `[x; n]`, behind the bracket.
    fn rust_array(&mut self) -> Result<Ast, EvalError> {
        let mut parts = Vec::new();
        while !self.eat("]") {
            parts.push(self.assignment()?);
            if let ([only], true) = (parts.as_slice(), self.is(";")) {
                let element = only.clone();
                self.at += 1;
                let count = self.assignment()?;
                self.expect("]")?;
                return Ok(Ast::Filled(element.into(), count.into()));
            }
            if !self.is("]") {
                self.expect(",")?;
            }
        }
        Ok(Ast::List(parts))
    }

    /// `static_cast<type>(x)`; what C++ would refuse is the compiler's affair.
    fn named_cast(&mut self) -> Result<Ast, EvalError> {
        let is_dynamic = self.is_word("dynamic_cast");
        self.at += 1;
        self.expect("<")?;
        let ty = self.type_name()?;
        self.expect(">")?;
        self.expect("(")?;
        let operand = self.comma()?;
        self.expect(")")?;
        Ok(match is_dynamic {
            true => Ast::DynamicCast(ty, operand.into()),
            false => Ast::Cast(ty, operand.into()),
        })
    }

    fn primary(&mut self) -> Result<Ast, EvalError> {
        let Some(token) = self.peek().cloned() else {
            return self.syntax();
        };
        match token {
            TokenKind::Integer(value, suffix, decimal) => {
                self.at += 1;
                Ok(Ast::Integer(value, suffix, decimal))
            }
            TokenKind::Float(value, suffix) => {
                self.at += 1;
                Ok(Ast::Float(value, suffix))
            }
            TokenKind::Char(code) => {
                self.at += 1;
                Ok(Ast::Char(code))
            }
            TokenKind::Text(mut bytes) => {
                self.at += 1;
                // Texts side by side are one.
                while let Some(TokenKind::Text(more)) = self.peek().cloned() {
                    bytes.extend(more);
                    self.at += 1;
                }
                Ok(Ast::Text(bytes))
            }
            TokenKind::Bytes(bytes) => {
                self.at += 1;
                Ok(Ast::Bytes(bytes))
            }
            TokenKind::WideChar(code, mark) => {
                self.at += 1;
                Ok(Ast::WideChar(code, mark))
            }
            TokenKind::WideText(bytes, mark) => {
                self.at += 1;
                Ok(Ast::WideText(bytes, mark))
            }
            TokenKind::Dollar(name) => {
                self.at += 1;
                Ok(Ast::Dollar(name))
            }
            TokenKind::Symbol("(") => {
                self.at += 1;
                if self.oracle.is_rust() {
                    return self.rust_parentheses();
                }
                let inner = self.comma()?;
                self.expect(")")?;
                Ok(inner)
            }
            TokenKind::Symbol("[") if self.oracle.is_rust() => {
                self.at += 1;
                self.rust_array()
            }
            TokenKind::Quoted(file) => {
                self.at += 1;
                if self.eat("::") {
                    return match self.path() {
                        Some(name) => Ok(Ast::In(file, name)),
                        None => self.syntax(),
                    };
                }
                Ok(Ast::Name(file))
            }
            TokenKind::Name(name) if NAMED_CASTS.contains(&name.as_str()) => self.named_cast(),
            TokenKind::Name(_) | TokenKind::Symbol("::") => match self.path() {
                Some(name) => Ok(Ast::Name(name)),
                None => self.syntax(),
            },
            TokenKind::Symbol(_) => self.syntax(),
        }
    }
}

/// C's many spellings of a base type, in gdb's.
fn c_name(words: &[String]) -> &'static str {
    let has = |w: &str| words.iter().any(|x| x == w);
    let longs = words.iter().filter(|w| *w == "long").count();
    let unsigned = has("unsigned");
    if has("void") {
        "void"
    } else if has("_Bool") {
        "_Bool"
    } else if has("float") {
        "float"
    } else if has("double") {
        if longs > 0 { "long double" } else { "double" }
    } else if has("char") {
        match (unsigned, has("signed")) {
            (true, _) => "unsigned char",
            (_, true) => "signed char",
            _ => "char",
        }
    } else if has("short") {
        if unsigned { "unsigned short" } else { "short" }
    } else {
        match (unsigned, longs) {
            (false, 0) => "int",
            (true, 0) => "unsigned int",
            (false, 1) => "long",
            (true, 1) => "unsigned long",
            (false, _) => "long long",
            (true, _) => "unsigned long long",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Types;
    impl TypeOracle for Types {
        fn is_type(&self, name: &str) -> bool {
            ["item_t", "Stack<int>", "u32", "ns::C"].contains(&name)
        }
    }

    fn shape(text: &str) -> String {
        match parse(text, &Types) {
            Ok(ast) => show(&ast),
            Err(e) => e.to_string(),
        }
    }

    fn show(ast: &Ast) -> String {
        match ast {
            Ast::Integer(n, ..) => n.to_string(),
            Ast::Name(n) => n.clone(),
            Ast::In(f, n) => format!("{f}!{n}"),
            Ast::Dollar(n) => format!("${n}"),
            Ast::Unary(op, a) => format!("({op:?} {})", show(a)),
            Ast::Binary(op, a, b) => format!("({op:?} {} {})", show(a), show(b)),
            Ast::Cast(ty, a) => format!(
                "(cast {:?}{} {} {})",
                ty.tag,
                ty.name,
                ty.derived.len(),
                show(a)
            ),
            Ast::Member(a, n, _) => format!("{}.{n}", show(a)),
            Ast::Index(a, b) => format!("{}[{}]", show(a), show(b)),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn operators_bind_as_in_gdb() {
        assert_eq!(shape("1 + 2 * 3"), "(Add 1 (Mul 2 3))");
        assert_eq!(shape("a@2+1"), "(Repeat a (Add 2 1))");
        assert_eq!(shape("a == 1 && b < 2"), "(LogicalAnd (Eq a 1) (Lt b 2))");
        assert_eq!(shape("*p->next"), "(Deref p.next)");
        assert_eq!(shape("-x[1]"), "(Minus x[1])");
    }

    #[test]
    fn casts_are_told_from_parentheses() {
        assert_eq!(shape("(item_t)-1"), "(cast Noneitem_t 0 (Minus 1))");
        assert_eq!(shape("(x)-1"), "(Sub x 1)");
        assert_eq!(shape("(unsigned char *)p"), "(cast Noneunsigned char 1 p)");
        assert_eq!(
            shape("(struct item **)p"),
            "(cast Some(\"struct\")item 2 p)"
        );
        assert_eq!(shape("x as u32 + 1"), "(Add (cast Noneu32 0 x) 1)");
        assert_eq!(shape("x as u32 * 3"), "(Mul (cast Noneu32 0 x) 3)");
        assert_eq!(shape("x as u32 & y"), "(And (cast Noneu32 0 x) y)");
        assert_eq!(shape("x as *const u32"), "(cast Noneu32 1 x)");
        assert_eq!(shape("(int (*)(int))p"), "(cast Noneint 2 p)");
    }

    #[test]
    fn names_have_scopes() {
        assert_eq!(shape("'file.c'::x"), "file.c!x");
        assert_eq!(shape("ns::C::made"), "ns::C::made");
        assert_eq!(shape("Stack<int>::count"), "Stack<int>::count");
        assert_eq!(shape("a < b"), "(Lt a b)");
        assert_eq!(shape("::x"), "::x");
        assert_eq!(shape("t.0.1"), "t.__0.__1");
        assert_eq!(shape("$rip + $$2"), "(Add $rip $$2)");
    }

    #[test]
    fn nonsense_is_refused_in_one_line() {
        for text in ["", "1 +", "(", "a[", "f(1", "1 2", "'", "\"x", "@", "x.."] {
            let error = parse(text, &Types).expect_err(text).to_string();
            assert!(
                !error.is_empty() && !error.contains('\n'),
                "{text}: {error}"
            );
        }
        let deep = "(".repeat(100_000);
        assert!(parse(&deep, &Types).is_err());
        assert!(parse(&"-".repeat(100_000), &Types).is_err());
        assert!(parse(&"1+".repeat(100_000), &Types).is_err());
        assert!(parse(&"(".repeat(60), &Types).is_err());
    }
}

//! The tokens of a JSON text, with their positions.
//!
//! Checks the grammar, so what comes out nests properly. Needs no stack, however deep the text is.

use std::borrow::Cow;

use super::JsonError;
use super::number;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind<'a> {
    Null,
    Bool(bool),
    Number,
    Text(Cow<'a, str>),
    /// The name of a member of an object; its colon is read.
    Name(Cow<'a, str>),
    ObjectStart,
    ObjectEnd,
    ListStart,
    ListEnd,
    /// The end of the text.
    End,
}

/// One token.
#[derive(Clone, Debug)]
pub struct Token<'a> {
    pub kind: Kind<'a>,
    /// Its first byte.
    pub at: usize,
    /// As it is written.
    pub raw: &'a str,
}

/// What can follow.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Next {
    Value,
    /// A value, or the end of an empty list.
    ValueOrEnd,
    Name,
    /// A name, or the end of an empty object.
    NameOrEnd,
    /// A comma or an end.
    After,
}

/// Reads tokens one by one.
#[derive(Clone)]
pub struct Tokens<'a> {
    text: &'a str,
    at: usize,
    /// For each open bracket, whether it is that of an object.
    open: Vec<bool>,
    next: Next,
    peeked: Option<Token<'a>>,
}

impl<'a> Tokens<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<Self, JsonError> {
        let start = |text| Self { text, at: 0, open: Vec::new(), next: Next::Value, peeked: None };
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(start(text)),
            Err(error) => {
                let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
                Err(start(valid).syntax(valid.len(), "invalid UTF-8 in string"))
            }
        }
    }

    /// The next token, which stays.
    pub fn peek(&mut self) -> Result<&Token<'a>, JsonError> {
        let token = self.read()?;
        Ok(self.peeked.insert(token))
    }

    /// The next token.
    pub fn read(&mut self) -> Result<Token<'a>, JsonError> {
        if let Some(token) = self.peeked.take() {
            return Ok(token);
        }
        self.skip_blanks();
        if self.next == Next::After
            && self.text[self.at..].starts_with(',')
            && let Some(&is_object) = self.open.last()
        {
            self.next = if is_object { Next::Name } else { Next::Value };
            self.at += 1;
            self.skip_blanks();
        }
        let token = self.scan()?;
        self.place(token)
    }

    /// Reads one value of any kind, and drops it.
    pub fn skip_value(&mut self) -> Result<(), JsonError> {
        let mut depth = 0_usize;
        loop {
            match self.read()?.kind {
                Kind::ObjectStart | Kind::ListStart => depth += 1,
                Kind::ObjectEnd | Kind::ListEnd => depth = depth.saturating_sub(1),
                Kind::End => return Err(end()),
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Checks that a token can be where it is.
    fn place(&mut self, mut token: Token<'a>) -> Result<Token<'a>, JsonError> {
        let takes_value = matches!(self.next, Next::Value | Next::ValueOrEnd);
        match (&mut token.kind, self.next) {
            (Kind::End, Next::After) if self.open.is_empty() => {}
            (Kind::End, _) => return Err(end()),
            (Kind::ObjectStart, _) if takes_value => {
                self.open.push(true);
                self.next = Next::NameOrEnd;
            }
            (Kind::ListStart, _) if takes_value => {
                self.open.push(false);
                self.next = Next::ValueOrEnd;
            }
            (Kind::ObjectEnd, Next::NameOrEnd | Next::After) if self.open.last() == Some(&true) => {
                self.open.pop();
                self.next = Next::After;
            }
            (Kind::ListEnd, Next::ValueOrEnd | Next::After) if self.open.last() == Some(&false) => {
                self.open.pop();
                self.next = Next::After;
            }
            (Kind::Text(text), Next::Name | Next::NameOrEnd) => {
                token.kind = Kind::Name(std::mem::take(text));
                self.colon()?;
                self.next = Next::Value;
            }
            (Kind::Null | Kind::Bool(_) | Kind::Number | Kind::Text(_), _) if takes_value => {
                self.next = Next::After;
            }
            _ => return Err(self.unexpected(&token)),
        }
        Ok(token)
    }

    fn colon(&mut self) -> Result<(), JsonError> {
        self.skip_blanks();
        match self.text[self.at..].chars().next() {
            Some(':') => {
                self.at += 1;
                Ok(())
            }
            None => Err(end()),
            Some(letter) => {
                let words = format!("unexpected character {letter}, missing \":\" after field name");
                Err(self.syntax(self.at, &words))
            }
        }
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\n', '\r', '\t']).len();
    }

    /// The next token by its letters alone.
    fn scan(&mut self) -> Result<Token<'a>, JsonError> {
        let at = self.at;
        let rest = &self.text[at..];
        let (kind, length) = match rest.as_bytes().first() {
            None => (Kind::End, 0),
            Some(b'{') => (Kind::ObjectStart, 1),
            Some(b'}') => (Kind::ObjectEnd, 1),
            Some(b'[') => (Kind::ListStart, 1),
            Some(b']') => (Kind::ListEnd, 1),
            Some(b'"') => self.string()?,
            Some(_) => self.word()?,
        };
        self.at += length;
        Ok(Token { kind, at, raw: &rest[..length] })
    }

    /// A number, `null`, `true` or `false`.
    fn word(&self) -> Result<(Kind<'a>, usize), JsonError> {
        let rest = &self.text[self.at..];
        if let Some(length) = number::prefix(rest) {
            return Ok((Kind::Number, length));
        }
        let length = rest.find(|letter: char| !number::is_in_word(letter)).unwrap_or(rest.len());
        let kind = match &rest[..length] {
            "null" => Kind::Null,
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "" if rest.starts_with(',') => return Err(self.syntax(self.at, "unexpected token ,")),
            "" => return Err(self.invalid(rest.chars().next().map_or(0, char::len_utf8))),
            _ => return Err(self.invalid(length.min(32))),
        };
        Ok((kind, length))
    }

    fn invalid(&self, length: usize) -> JsonError {
        let words = format!("invalid value {}", &self.text[self.at..self.at + length]);
        self.syntax(self.at, &words)
    }

    fn string(&self) -> Result<(Kind<'a>, usize), JsonError> {
        let rest = &self.text[self.at..];
        let mut has_escape = false;
        let mut bytes = rest.bytes().enumerate().skip(1);
        while let Some((place, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    let raw = &rest[..=place];
                    let text = if has_escape { self.unescape(raw)? } else { Cow::Borrowed(&rest[1..place]) };
                    return Ok((Kind::Text(text), place + 1));
                }
                b'\\' => {
                    has_escape = true;
                    bytes.next();
                }
                0..0x20 => {
                    let words = format!("invalid character {:?} in string", char::from(byte));
                    return Err(self.syntax(self.at, &words));
                }
                _ => {}
            }
        }
        Err(end())
    }

    fn unescape(&self, raw: &str) -> Result<Cow<'a, str>, JsonError> {
        serde_json::from_str(raw)
            .map(Cow::Owned)
            .map_err(|_| self.syntax(self.at, &format!("invalid escape code in string {raw}")))
    }

    /// The error of a token that cannot be where it is.
    pub fn unexpected(&self, token: &Token<'_>) -> JsonError {
        self.syntax(token.at, &format!("unexpected token {}", token.raw))
    }

    fn syntax(&self, at: usize, words: &str) -> JsonError {
        let (line, column) = self.position(at);
        JsonError::new(format!("syntax error (line {line}:{column}): {words}"))
    }

    /// An error about the meaning of a token.
    pub fn error(&self, at: usize, words: &str) -> JsonError {
        let (line, column) = self.position(at);
        JsonError::new(format!("(line {line}:{column}): {words}"))
    }

    /// Line and column, from 1; columns are letters.
    fn position(&self, at: usize) -> (usize, usize) {
        let before = &self.text[..at];
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }
}

/// The error of a text that ends too early.
fn end() -> JsonError {
    JsonError::new("unexpected EOF")
}

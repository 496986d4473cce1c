//! `google.protobuf.Any`: an object whose member `@type` says which message the other members describe.

use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor, Value};

use super::super::JsonError;
use super::super::known::Known;
use super::super::token::{self, Token, Tokens};
use super::Reader;
use super::known::filled;

/// What `@type` says.
enum Type<'a> {
    /// The object is empty.
    Empty,
    /// There is no `@type`.
    Missing,
    Url(String, Token<'a>),
}

impl Reader<'_> {
    pub fn any(&mut self, descriptor: &MessageDescriptor) -> Result<DynamicMessage, JsonError> {
        let start = self.tokens.peek()?.clone();
        if start.kind != token::Kind::ObjectStart {
            return Err(self.tokens.unexpected(&start));
        }
        match find_type(self.tokens.clone())? {
            Type::Empty => {
                self.tokens.skip_value()?;
                Ok(DynamicMessage::new(descriptor.clone()))
            }
            Type::Missing => Err(self.tokens.error(start.at, "missing \"@type\" field")),
            Type::Url(url, token) => {
                let content = self.types.message(&url).ok_or_else(|| {
                    let words = format!("unable to resolve {}: \"not found\"", token.raw);
                    self.tokens.error(token.at, &words)
                })?;
                let content = self.content(&content)?.encode_to_vec();
                filled(descriptor, [(1, Value::String(url)), (2, Value::Bytes(content.into()))])
            }
        }
    }

    /// The message in an `Any`.
    fn content(&mut self, descriptor: &MessageDescriptor) -> Result<DynamicMessage, JsonError> {
        self.enter(|reader| match Known::of(descriptor) {
            Some(known) => reader.content_value(known, descriptor),
            None => reader.object(descriptor, true),
        })
    }

    /// A message with JSON of its own is in the member `value`.
    fn content_value(
        &mut self,
        known: Known,
        descriptor: &MessageDescriptor,
    ) -> Result<DynamicMessage, JsonError> {
        self.tokens.read()?;
        let mut message = None;
        loop {
            let token = self.tokens.read()?;
            match &token.kind {
                token::Kind::ObjectEnd => {
                    let empty = (known == Known::Empty).then(|| DynamicMessage::new(descriptor.clone()));
                    return message
                        .or(empty)
                        .ok_or_else(|| self.tokens.error(token.at, "missing \"value\" field"));
                }
                token::Kind::Name(name) if name == "@type" => self.tokens.skip_value()?,
                token::Kind::Name(name) if name == "value" => {
                    if message.is_some() {
                        return Err(self.tokens.error(token.at, "duplicate \"value\" field"));
                    }
                    message = Some(self.known(known, descriptor)?);
                }
                _ => return Err(self.unknown_field(&token)),
            }
        }
    }
}

/// Looks ahead for the type of the object that comes next.
fn find_type(mut tokens: Tokens<'_>) -> Result<Type<'_>, JsonError> {
    tokens.read()?;
    let mut found = Type::Empty;
    loop {
        let name = tokens.read()?;
        match &name.kind {
            token::Kind::ObjectEnd => return Ok(found),
            token::Kind::Name(text) if text == "@type" => {
                if matches!(found, Type::Url(..)) {
                    return Err(tokens.error(name.at, "duplicate \"@type\" field"));
                }
                found = type_url(&mut tokens)?;
            }
            _ => {
                tokens.skip_value()?;
                if matches!(found, Type::Empty) {
                    found = Type::Missing;
                }
            }
        }
    }
}

fn type_url<'a>(tokens: &mut Tokens<'a>) -> Result<Type<'a>, JsonError> {
    let token = tokens.read()?;
    match &token.kind {
        token::Kind::Text(url) if url.is_empty() => {
            Err(tokens.error(token.at, "@type field contains empty value"))
        }
        token::Kind::Text(url) => Ok(Type::Url(url.to_string(), token.clone())),
        _ => {
            let words = format!("@type field value is not a string: {}", token.raw);
            Err(tokens.error(token.at, &words))
        }
    }
}

//! The messages of `google.protobuf` with JSON of their own, except for `Any`.

use prost_reflect::{DynamicMessage, FieldDescriptor, MessageDescriptor, Value};

use super::super::known::Known;
use super::super::token::{self, Token};
use super::super::{JsonError, path, time};
use super::{Reader, scalar};

impl Reader<'_> {
    /// A message whose JSON is not an object of its fields.
    pub fn known(
        &mut self,
        known: Known,
        descriptor: &MessageDescriptor,
    ) -> Result<DynamicMessage, JsonError> {
        match known {
            Known::Any => self.any(descriptor),
            Known::Timestamp => self.timestamp(descriptor),
            Known::Duration => self.duration(descriptor),
            Known::Wrapper => self.wrapper(descriptor),
            Known::Struct => self.structure(descriptor),
            Known::List => self.values(descriptor),
            Known::Value => self.value(descriptor),
            Known::FieldMask => self.field_mask(descriptor),
            Known::Empty => self.nothing(descriptor),
        }
    }

    fn timestamp(&mut self, descriptor: &MessageDescriptor) -> Result<DynamicMessage, JsonError> {
        let token = self.tokens.read()?;
        let parts = self.parts(&token, time::read_timestamp, "google.protobuf.Timestamp")?;
        if !time::TIMESTAMPS.contains(&parts.0) {
            return Err(self.out_of_range(&token, "google.protobuf.Timestamp"));
        }
        time_message(descriptor, parts)
    }

    fn duration(&mut self, descriptor: &MessageDescriptor) -> Result<DynamicMessage, JsonError> {
        let token = self.tokens.read()?;
        let parts = self.parts(&token, time::read_duration, "google.protobuf.Duration")?;
        if parts.0.abs() > time::DURATION_MAX {
            return Err(self.out_of_range(&token, "google.protobuf.Duration"));
        }
        time_message(descriptor, parts)
    }

    fn parts(
        &self,
        token: &Token<'_>,
        read: impl Fn(&str) -> Option<time::Parts>,
        name: &str,
    ) -> Result<time::Parts, JsonError> {
        let token::Kind::Text(text) = &token.kind else {
            return Err(self.tokens.unexpected(token));
        };
        read(text).ok_or_else(|| self.tokens.error(token.at, &format!("invalid {name} value {}", token.raw)))
    }

    fn out_of_range(&self, token: &Token<'_>, name: &str) -> JsonError {
        self.tokens.error(token.at, &format!("{name} value out of range: {}", token.raw))
    }

    fn wrapper(&mut self, descriptor: &MessageDescriptor) -> Result<DynamicMessage, JsonError> {
        let field = field(descriptor, 1)?;
        let value = self.single(&field.kind(), field.json_name())?;
        filled(descriptor, [(1, value)])
    }

    fn structure(&mut self, descriptor: &MessageDescriptor) -> Result<DynamicMessage, JsonError> {
        let field = field(descriptor, 1)?;
        let map = self.map(&field.kind())?;
        filled(descriptor, [(1, map)])
    }

    fn values(&mut self, descriptor: &MessageDescriptor) -> Result<DynamicMessage, JsonError> {
        let field = field(descriptor, 1)?;
        let list = self.list(&field.kind(), field.json_name())?;
        filled(descriptor, [(1, list)])
    }

    fn value(&mut self, descriptor: &MessageDescriptor) -> Result<DynamicMessage, JsonError> {
        let token = self.tokens.peek()?.clone();
        let number = match &token.kind {
            token::Kind::Null => 1,
            token::Kind::Number => 2,
            token::Kind::Text(_) => 3,
            token::Kind::Bool(_) => 4,
            token::Kind::ObjectStart => 5,
            token::Kind::ListStart => 6,
            _ => return Err(self.tokens.unexpected(&token)),
        };
        let kind = field(descriptor, number)?.kind();
        let value = match number {
            5 | 6 => self.single(&kind, "")?,
            _ => {
                self.tokens.read()?;
                scalar::value(&token, &kind).ok_or_else(|| {
                    self.tokens.error(token.at, &format!("invalid google.protobuf.Value: {}", token.raw))
                })?
            }
        };
        filled(descriptor, [(number, value)])
    }

    fn field_mask(&mut self, descriptor: &MessageDescriptor) -> Result<DynamicMessage, JsonError> {
        let token = self.tokens.read()?;
        let token::Kind::Text(text) = &token.kind else {
            return Err(self.tokens.unexpected(&token));
        };
        let text = text.trim();
        let mut paths = Vec::new();
        for camel in text.split(',').filter(|_| !text.is_empty()) {
            let snake = path::to_snake(camel);
            if camel.contains('_') || !path::is_valid(&snake) {
                let words = format!("google.protobuf.FieldMask.paths contains invalid path: {camel:?}");
                return Err(self.tokens.error(token.at, &words));
            }
            paths.push(Value::String(snake));
        }
        filled(descriptor, [(1, Value::List(paths))])
    }

    /// An object without members.
    fn nothing(&mut self, descriptor: &MessageDescriptor) -> Result<DynamicMessage, JsonError> {
        let start = self.tokens.read()?;
        if start.kind != token::Kind::ObjectStart {
            return Err(self.tokens.unexpected(&start));
        }
        let next = self.tokens.read()?;
        match next.kind {
            token::Kind::ObjectEnd => Ok(DynamicMessage::new(descriptor.clone())),
            _ => Err(self.unknown_field(&next)),
        }
    }
}

fn time_message(
    descriptor: &MessageDescriptor,
    (seconds, nanos): time::Parts,
) -> Result<DynamicMessage, JsonError> {
    filled(descriptor, [(1, Value::I64(seconds)), (2, Value::I32(nanos))])
}

/// A field that messages of this name have, unless a server redefined them.
fn field(descriptor: &MessageDescriptor, number: u32) -> Result<FieldDescriptor, JsonError> {
    descriptor.get_field(number).ok_or_else(|| redefined(descriptor))
}

fn redefined(descriptor: &MessageDescriptor) -> JsonError {
    JsonError::new(format!("{} has other fields than those of Google", descriptor.full_name()))
}

/// A message with these values.
pub fn filled<const N: usize>(
    descriptor: &MessageDescriptor,
    values: [(u32, Value); N],
) -> Result<DynamicMessage, JsonError> {
    let mut message = DynamicMessage::new(descriptor.clone());
    for (number, value) in values {
        message.try_set_field_by_number(number, value).map_err(|_| redefined(descriptor))?;
    }
    Ok(message)
}

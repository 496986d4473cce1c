//! JSON to a message.

use std::collections::HashSet;

use prost_reflect::{DynamicMessage, ExtensionDescriptor, FieldDescriptor, Kind, MessageDescriptor, Value};

use super::known::{Known, takes_null};
use super::token::{self, Token, Tokens};
use super::{JsonError, MAX_DEPTH, missing, not_set};
use crate::grpc::descriptors::types::Types;

mod any;
mod collection;
mod known;
mod scalar;

/// The message that `text` describes.
pub fn read(text: &[u8], descriptor: &MessageDescriptor, types: &Types) -> Result<DynamicMessage, JsonError> {
    let mut reader = Reader { tokens: Tokens::new(text)?, types, depth: 0 };
    let message = reader.message(descriptor)?;
    let end = reader.tokens.read()?;
    if end.kind != token::Kind::End {
        return Err(reader.tokens.unexpected(&end));
    }
    missing(&message).map_or(Ok(message), |field| Err(not_set(&field)))
}

struct Reader<'a> {
    tokens: Tokens<'a>,
    types: &'a Types,
    /// How many messages are open.
    depth: usize,
}

/// The fields of an object that were read so far.
#[derive(Default)]
struct Seen {
    numbers: HashSet<u32>,
    oneofs: HashSet<String>,
}

/// A field or an extension.
enum Slot {
    Field(FieldDescriptor),
    Extension(ExtensionDescriptor),
}

impl Slot {
    /// The field that a name means, in JSON or in the source.
    fn find(message: &MessageDescriptor, name: &str) -> Option<Self> {
        if let Some(name) = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            return message.get_extension_by_full_name(name).map(Self::Extension);
        }
        let field = message.get_field_by_json_name(name).or_else(|| by_source_name(message, name))?;
        Some(Self::Field(field))
    }

    fn number(&self) -> u32 {
        match self {
            Self::Field(field) => field.number(),
            Self::Extension(extension) => extension.number(),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Field(field) => field.kind(),
            Self::Extension(extension) => extension.kind(),
        }
    }

    fn json_name(&self) -> &str {
        match self {
            Self::Field(field) => field.json_name(),
            Self::Extension(extension) => extension.json_name(),
        }
    }

    fn is_list(&self) -> bool {
        match self {
            Self::Field(field) => field.is_list(),
            Self::Extension(extension) => extension.is_list(),
        }
    }

    fn is_map(&self) -> bool {
        match self {
            Self::Field(field) => field.is_map(),
            Self::Extension(extension) => extension.is_map(),
        }
    }

    fn set(&self, message: &mut DynamicMessage, value: Value) {
        match self {
            Self::Field(field) => *message.get_field_mut(field) = value,
            Self::Extension(extension) => *message.get_extension_mut(extension) = value,
        }
    }
}

/// A group has the name of its message in sources.
fn by_source_name(message: &MessageDescriptor, name: &str) -> Option<FieldDescriptor> {
    if let Some(field) = message.get_field_by_name(name) {
        return (!field.is_group()).then_some(field);
    }
    let field = message.get_field_by_name(&name.to_ascii_lowercase())?;
    match field.kind() {
        Kind::Message(group) if field.is_group() && group.name() == name => Some(field),
        _ => None,
    }
}

impl Reader<'_> {
    /// One level deeper.
    fn enter<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, JsonError>) -> Result<T, JsonError> {
        if self.depth > MAX_DEPTH {
            return Err(JsonError::too_deep());
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn message(&mut self, descriptor: &MessageDescriptor) -> Result<DynamicMessage, JsonError> {
        self.enter(|reader| match Known::of(descriptor) {
            Some(known) => reader.known(known, descriptor),
            None => reader.object(descriptor, false),
        })
    }

    /// An object of the message's fields. In `google.protobuf.Any` it also has the message's type.
    fn object(
        &mut self,
        descriptor: &MessageDescriptor,
        has_type: bool,
    ) -> Result<DynamicMessage, JsonError> {
        let start = self.tokens.read()?;
        if start.kind != token::Kind::ObjectStart {
            return Err(self.tokens.unexpected(&start));
        }
        let mut message = DynamicMessage::new(descriptor.clone());
        let mut seen = Seen::default();
        loop {
            let token = self.tokens.read()?;
            match &token.kind {
                token::Kind::ObjectEnd => return Ok(message),
                token::Kind::Name(name) if has_type && name == "@type" => self.tokens.skip_value()?,
                token::Kind::Name(name) => match Slot::find(descriptor, name) {
                    Some(slot) => self.member(&mut message, &slot, &token, &mut seen)?,
                    None => return Err(self.unknown_field(&token)),
                },
                _ => return Err(self.tokens.unexpected(&token)),
            }
        }
    }

    fn unknown_field(&self, token: &Token<'_>) -> JsonError {
        self.tokens.error(token.at, &format!("unknown field {}", token.raw))
    }

    /// One member of an object, whose name was read.
    fn member(
        &mut self,
        message: &mut DynamicMessage,
        slot: &Slot,
        name: &Token<'_>,
        seen: &mut Seen,
    ) -> Result<(), JsonError> {
        if !seen.numbers.insert(slot.number()) {
            return Err(self.tokens.error(name.at, &format!("duplicate field {}", name.raw)));
        }
        let kind = slot.kind();
        if self.tokens.peek()?.kind == token::Kind::Null && !takes_null(&kind) {
            self.tokens.read()?;
            return Ok(());
        }
        let value = if slot.is_list() {
            self.list(&kind, slot.json_name())?
        } else if slot.is_map() {
            self.map(&kind)?
        } else {
            self.check_oneof(slot, name, seen)?;
            self.single(&kind, slot.json_name())?
        };
        slot.set(message, value);
        Ok(())
    }

    fn check_oneof(&self, slot: &Slot, name: &Token<'_>, seen: &mut Seen) -> Result<(), JsonError> {
        let Slot::Field(field) = slot else {
            return Ok(());
        };
        let Some(oneof) = field.containing_oneof() else {
            return Ok(());
        };
        if seen.oneofs.insert(oneof.full_name().to_owned()) {
            return Ok(());
        }
        let words = format!("error parsing {}, oneof {} is already set", name.raw, oneof.full_name());
        Err(self.tokens.error(name.at, &words))
    }

    /// One value, that of a field or one of many.
    fn single(&mut self, kind: &Kind, name: &str) -> Result<Value, JsonError> {
        if let Kind::Message(descriptor) = kind {
            return self.message(descriptor).map(Value::Message);
        }
        let token = self.tokens.read()?;
        scalar::value(&token, kind).ok_or_else(|| {
            let words = format!("invalid value for {} field {name}: {}", scalar::kind_name(kind), token.raw);
            self.tokens.error(token.at, &words)
        })
    }
}

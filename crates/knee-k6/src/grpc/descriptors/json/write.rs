//! A message to JSON.
//!
//! Fields without a value are in the JSON too, as in k6: scalars, lists and maps by default, messages and fields that
//! know whether they have a value as `null`. Members of a `oneof` and extensions are only there if they have a value.

use std::collections::HashMap;

use prost_reflect::prost_types::EnumOptions;
use prost_reflect::{
    DynamicMessage, EnumDescriptor, FieldDescriptor, Kind, MapKey, ReflectMessage as _, Value,
};

use super::known::{Known, is_null_value};
use super::{JsonError, MAX_DEPTH};
use crate::grpc::descriptors::types::Types;

mod known;
mod text;

/// The JSON of a message, of at most about `limit` bytes.
pub fn write(message: &DynamicMessage, types: &Types, limit: usize) -> Result<String, JsonError> {
    let mut writer = Writer { out: String::new(), types, depth: 0, limit };
    writer.message(message)?;
    Ok(writer.out)
}

/// The JSON of an `Any`, of at most about `limit` bytes.
pub fn write_any(url: &str, bytes: &[u8], types: &Types, limit: usize) -> Result<String, JsonError> {
    let mut writer = Writer { out: String::new(), types, depth: 0, limit };
    writer.content(url, bytes)?;
    Ok(writer.out)
}

struct Writer<'a> {
    out: String,
    types: &'a Types,
    /// How many messages are open.
    depth: usize,
    /// Most bytes; checked after each value.
    limit: usize,
}

impl Writer<'_> {
    /// One level deeper.
    fn enter(&mut self, write: impl FnOnce(&mut Self) -> Result<(), JsonError>) -> Result<(), JsonError> {
        if self.depth > MAX_DEPTH {
            return Err(JsonError::too_deep());
        }
        self.depth += 1;
        let result = write(self);
        self.depth -= 1;
        result
    }

    fn message(&mut self, message: &DynamicMessage) -> Result<(), JsonError> {
        self.enter(|writer| match Known::of(&message.descriptor()) {
            Some(known) => writer.known(known, message),
            None => writer.object(message, None),
        })
    }

    /// An object of the message's fields; in an `Any` with its type.
    fn object(&mut self, message: &DynamicMessage, url: Option<&str>) -> Result<(), JsonError> {
        let mut members = self.start_object();
        if let Some(url) = url {
            self.name(&mut members, "@type");
            text::quote(&mut self.out, url);
        }
        for field in message.descriptor().fields() {
            self.field(message, &field, &mut members)?;
        }
        for (extension, value) in message.extensions() {
            self.name(&mut members, extension.json_name());
            self.value(value, &extension.kind())?;
        }
        self.out.push('}');
        Ok(())
    }

    fn field(
        &mut self,
        message: &DynamicMessage,
        field: &FieldDescriptor,
        members: &mut Members,
    ) -> Result<(), JsonError> {
        let has_value = message.has_field(field);
        if !has_value && field.containing_oneof().is_some() {
            return Ok(());
        }
        self.name(members, field.json_name());
        if !has_value && field.supports_presence() {
            self.out.push_str("null");
            return Ok(());
        }
        self.value(&message.get_field(field), &field.kind())
    }

    fn start_object(&mut self) -> Members {
        self.out.push('{');
        Members { has_some: false }
    }

    /// The name of the next member.
    fn name(&mut self, members: &mut Members, name: &str) {
        if members.has_some {
            self.out.push(',');
        }
        members.has_some = true;
        text::quote(&mut self.out, name);
        self.out.push(':');
    }

    fn value(&mut self, value: &Value, kind: &Kind) -> Result<(), JsonError> {
        match value {
            Value::Message(message) => self.message(message)?,
            Value::List(list) => self.list(list, kind)?,
            Value::Map(map) => self.map(map, kind)?,
            Value::EnumNumber(number) => self.enum_value(*number, kind),
            scalar => text::scalar(&mut self.out, scalar),
        }
        if self.out.len() > self.limit {
            return Err(JsonError::new("the message is too large as JSON"));
        }
        Ok(())
    }

    fn list(&mut self, list: &[Value], kind: &Kind) -> Result<(), JsonError> {
        self.out.push('[');
        for (place, value) in list.iter().enumerate() {
            if place > 0 {
                self.out.push(',');
            }
            self.value(value, kind)?;
        }
        self.out.push(']');
        Ok(())
    }

    /// In the order of its keys, so that the same message has the same JSON.
    fn map(&mut self, map: &HashMap<MapKey, Value>, kind: &Kind) -> Result<(), JsonError> {
        let value_kind = kind.as_message().and_then(|entry| Some(entry.get_field(2)?.kind()));
        let kind = value_kind.as_ref().unwrap_or(kind);
        let mut entries: Vec<_> = map.iter().collect();
        entries.sort_unstable_by_key(|&(key, _)| key);
        let mut members = self.start_object();
        for (key, value) in entries {
            self.name(&mut members, &text::key(key));
            self.value(value, kind)?;
        }
        self.out.push('}');
        Ok(())
    }

    /// By name, or by number if the enum has no such value.
    fn enum_value(&mut self, number: i32, kind: &Kind) {
        if is_null_value(kind) {
            return self.out.push_str("null");
        }
        match kind.as_enum().and_then(|descriptor| value_name(descriptor, number)) {
            Some(name) => text::quote(&mut self.out, &name),
            None => self.out.push_str(&number.to_string()),
        }
    }
}

/// Whether an object has members already.
struct Members {
    has_some: bool,
}

/// The first name of a number.
fn value_name(descriptor: &EnumDescriptor, number: i32) -> Option<String> {
    let options = descriptor.enum_descriptor_proto().options.as_ref();
    let value = if options.is_some_and(EnumOptions::allow_alias) {
        let same = descriptor.values().filter(|value| value.number() == number);
        same.min_by_key(|value| value.path().last().copied())
    } else {
        descriptor.get_value(number)
    };
    value.map(|value| value.name().to_owned())
}

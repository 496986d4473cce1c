//! The messages of `google.protobuf` with JSON of their own.

use prost_reflect::{DynamicMessage, ReflectMessage as _};

use super::super::known::Known;
use super::super::{JsonError, path, time};
use super::{Writer, text};

impl Writer<'_> {
    /// A message whose JSON is not an object of its fields.
    pub fn known(&mut self, known: Known, message: &DynamicMessage) -> Result<(), JsonError> {
        match known {
            Known::Any => self.any(message),
            Known::Timestamp => self.timestamp(message),
            Known::Duration => self.duration(message),
            Known::Wrapper | Known::Struct | Known::List => self.only_field(message),
            Known::Value => self.value_of_any_kind(message),
            Known::FieldMask => self.field_mask(message),
            Known::Empty => {
                self.out.push_str("{}");
                Ok(())
            }
        }
    }

    /// The value of the field that these messages are made of.
    fn only_field(&mut self, message: &DynamicMessage) -> Result<(), JsonError> {
        let field = message.descriptor().get_field(1).ok_or_else(|| redefined(message))?;
        self.value(&message.get_field(&field), &field.kind())
    }

    fn timestamp(&mut self, message: &DynamicMessage) -> Result<(), JsonError> {
        let (seconds, nanos) = parts(message)?;
        let out_of_range = |what: &str, value: i64| {
            JsonError::new(format!("google.protobuf.Timestamp: {what} out of range {value}"))
        };
        if !(0..=time::NANOS_MAX).contains(&nanos) && time::TIMESTAMPS.contains(&seconds) {
            return Err(out_of_range("nanos", i64::from(nanos)));
        }
        let text = Some(seconds)
            .filter(|seconds| time::TIMESTAMPS.contains(seconds))
            .and_then(|seconds| time::timestamp(seconds, nanos))
            .ok_or_else(|| out_of_range("seconds", seconds))?;
        text::quote(&mut self.out, &text);
        Ok(())
    }

    fn duration(&mut self, message: &DynamicMessage) -> Result<(), JsonError> {
        let (seconds, nanos) = parts(message)?;
        let name = "google.protobuf.Duration";
        if seconds.saturating_abs() > time::DURATION_MAX {
            return Err(JsonError::new(format!("{name}: seconds out of range {seconds}")));
        }
        if nanos.saturating_abs() > time::NANOS_MAX {
            return Err(JsonError::new(format!("{name}: nanos out of range {nanos}")));
        }
        if seconds.signum() * i64::from(nanos.signum()) < 0 {
            return Err(JsonError::new(format!("{name}: signs of seconds and nanos do not match")));
        }
        text::quote(&mut self.out, &time::duration(seconds, nanos));
        Ok(())
    }

    fn value_of_any_kind(&mut self, message: &DynamicMessage) -> Result<(), JsonError> {
        let Some((field, value)) = message.fields().next() else {
            return Err(JsonError::new("google.protobuf.Value: none of the oneof fields is set"));
        };
        if value.as_f64().is_some_and(|number| !number.is_finite()) {
            return Err(JsonError::new("google.protobuf.Value.number_value: invalid value"));
        }
        self.value(value, &field.kind())
    }

    fn field_mask(&mut self, message: &DynamicMessage) -> Result<(), JsonError> {
        let field = message.get_field_by_number(1).ok_or_else(|| redefined(message))?;
        let paths = field.as_list().ok_or_else(|| redefined(message))?;
        let mut camels = Vec::new();
        for path in paths {
            let path = path.as_str().ok_or_else(|| redefined(message))?;
            let camel = path::to_camel(path);
            let fault = match path::is_valid(path) {
                false => "invalid path:",
                true if path::to_snake(&camel) != path => "irreversible value",
                true => "",
            };
            if !fault.is_empty() {
                let words = format!("google.protobuf.FieldMask.paths contains {fault} {path:?}");
                return Err(JsonError::new(words));
            }
            camels.push(camel);
        }
        text::quote(&mut self.out, &camels.join(","));
        Ok(())
    }

    fn any(&mut self, message: &DynamicMessage) -> Result<(), JsonError> {
        let url = message.get_field_by_number(1).ok_or_else(|| redefined(message))?;
        let bytes = message.get_field_by_number(2).ok_or_else(|| redefined(message))?;
        match (url.as_str(), bytes.as_bytes()) {
            (Some(""), Some(bytes)) if bytes.is_empty() => {
                self.out.push_str("{}");
                Ok(())
            }
            (Some(""), Some(_)) => Err(JsonError::new("google.protobuf.Any: type_url is not set")),
            (Some(url), Some(bytes)) => self.content(url, bytes),
            _ => Err(redefined(message)),
        }
    }

    /// An `Any` of this type and these bytes.
    pub fn content(&mut self, url: &str, bytes: &[u8]) -> Result<(), JsonError> {
        let descriptor = self.types.message(url).ok_or_else(|| {
            JsonError::new(format!("google.protobuf.Any: unable to resolve {url:?}: not found"))
        })?;
        let known = Known::of(&descriptor);
        let message = DynamicMessage::decode(descriptor, bytes).map_err(|error| {
            JsonError::new(format!("google.protobuf.Any: unable to unmarshal {url:?}: {error}"))
        })?;
        self.enter(|writer| {
            let Some(known) = known else {
                return writer.object(&message, Some(url));
            };
            let mut members = writer.start_object();
            writer.name(&mut members, "@type");
            text::quote(&mut writer.out, url);
            writer.name(&mut members, "value");
            writer.known(known, &message)?;
            writer.out.push('}');
            Ok(())
        })
    }
}

/// The seconds and nanoseconds of a timestamp or a duration.
fn parts(message: &DynamicMessage) -> Result<time::Parts, JsonError> {
    let seconds = message.get_field_by_number(1).and_then(|value| value.as_i64());
    let nanos = message.get_field_by_number(2).and_then(|value| value.as_i32());
    seconds.zip(nanos).ok_or_else(|| redefined(message))
}

fn redefined(message: &DynamicMessage) -> JsonError {
    let descriptor = message.descriptor();
    JsonError::new(format!("{} has other fields than those of Google", descriptor.full_name()))
}

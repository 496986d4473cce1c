//! One stage of a ramp, as options write it, and as the flag `--stage 10s:50` does.
//!
//! Does not validate: a stage without a target is reported with its scenario.

use serde_json::{Value, json};

use crate::duration::SignedDuration;
use crate::read::{Read, ReadError};

/// A stage, not yet validated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Its duration.
    pub duration: Option<SignedDuration>,
    /// The level at its end.
    pub target: Option<i64>,
}

impl Stage {
    /// As a script sees it.
    pub fn to_json(self) -> Value {
        json!({ "duration": self.duration.map(|span| span.to_string()), "target": self.target })
    }

    /// Reads `duration:target`, as flags and variables write it. Either can be missing.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        let (duration, target) = text.split_once(':').unwrap_or((text, ""));
        let duration = SignedDuration::parse_flag(duration).map_err(|error| ReadError(error.to_string()))?;
        Ok(Self { duration: Some(duration), target: i64::read_text(target)? })
    }
}

impl Read for Stage {
    fn read(value: &Value) -> Result<Option<Self>, ReadError> {
        let Value::Object(entries) = value else {
            return Err(ReadError::kind("a stage {duration, target}", value));
        };
        let member = |name| entries.get(name).unwrap_or(&Value::Null);
        Ok(Some(Self {
            duration: SignedDuration::read(member("duration"))?,
            target: i64::read(member("target"))?,
        }))
    }
}

impl Read for Vec<Stage> {
    fn read(value: &Value) -> Result<Option<Self>, ReadError> {
        let Value::Array(items) = value else {
            return if value.is_null() {
                Ok(None)
            } else {
                Err(ReadError::kind("an array of stages", value))
            };
        };
        let number = |(index, item): (usize, &Value)| match Stage::read(item) {
            Ok(stage) => Ok(stage.unwrap_or_default()),
            Err(error) => Err(ReadError(format!("stage {}: {error}", index + 1))),
        };
        items.iter().enumerate().map(number).collect::<Result<_, _>>().map(Some)
    }

    fn read_text(text: &str) -> Result<Option<Self>, ReadError> {
        if text.is_empty() {
            return Ok(None);
        }
        let number = |(index, item)| {
            Stage::parse(item).map_err(|error| ReadError(format!("error for stage {index}: {error}")))
        };
        text.split(',').enumerate().map(number).collect::<Result<_, _>>().map(Some)
    }
}

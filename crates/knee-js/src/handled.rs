//! What `handleSummary` returned: texts and bytes for stdout, stderr and files.
//!
//! The VU passes it on as JSON. Does not write.

use rquickjs::Value;
use serde::{Deserialize, Serialize};

use crate::module::bytes::bytes_of;

/// The result of `handleSummary`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Handled {
    /// Nothing: the usual text is to be shown.
    Nothing,
    /// Something that cannot be used; why, in k6's words.
    Wrong(String),
    /// Destination and content, in order.
    Pieces(Vec<(String, Piece)>),
}

/// One piece of output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Piece {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl Handled {
    /// Reads what a script returned.
    pub fn read<'js>(returned: Option<Value<'js>>) -> rquickjs::Result<Self> {
        let returned = returned.filter(|value| !value.is_undefined() && !value.is_null());
        let Some(returned) = returned else { return Ok(Self::Nothing) };
        let Some(object) = returned.as_object().filter(|_| !returned.is_array() && !returned.is_function())
        else {
            return Ok(Self::Wrong("handleSummary() should return a map with string keys".to_owned()));
        };
        let mut pieces = Vec::new();
        for pair in object.props::<String, Value<'js>>() {
            let (name, value) = pair?;
            let Some(piece) = piece(&value)? else {
                let words = format!(
                    "error handling summary object {name}: it needs to be a string or ArrayBuffer, not {}",
                    value.type_of()
                );
                return Ok(Self::Wrong(words));
            };
            pieces.push((name, piece));
        }
        Ok(Self::Pieces(pieces))
    }
}

fn piece(value: &Value<'_>) -> rquickjs::Result<Option<Piece>> {
    if let Some(text) = value.as_string() {
        return Ok(Some(Piece::Text(text.to_string()?)));
    }
    Ok(bytes_of(value).map(Piece::Bytes))
}

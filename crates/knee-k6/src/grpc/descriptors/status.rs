//! How a call ended, as scripts see it: a `google.rpc.Status`.
//!
//! Does not read headers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use prost_reflect::prost_types::Any;
use serde_json::{Value, json};

use super::json;
use super::schema::Schema;

/// The code for errors of the client itself.
const INTERNAL: i32 = 13;
/// Most bytes of the JSON of one detail.
const DETAIL_MAX: usize = 16 << 20;

/// A `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub struct Status {
    /// The code, from 0 to 16 unless the server invents one.
    #[prost(int32, tag = "1")]
    pub code: i32,
    /// What the server says.
    #[prost(string, tag = "2")]
    pub message: String,
    /// Messages of any type.
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}

impl Status {
    /// Without details.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Vec::new() }
    }

    /// From the trailers of a response: `grpc-status`, `grpc-message` and the decoded bytes of
    /// `grpc-status-details-bin`. Details that contradict the code make an internal error, as in k6; unreadable ones are
    /// ignored.
    pub fn received(code: i32, message: &str, details: Option<&[u8]>) -> Self {
        match details.and_then(|bytes| Self::decode(bytes).ok()) {
            None => Self::new(code, message),
            Some(status) if status.code == code => status,
            Some(status) => Self::new(INTERNAL, contradiction(code, message, &status)),
        }
    }

    /// What k6 gives as `error`. A detail of a type that was not loaded has its bytes in base64 as `value`.
    pub fn json(&self, schema: &Schema) -> String {
        let details: Vec<String> = self.details.iter().map(|detail| any(detail, schema)).collect();
        let message = Value::from(self.message.as_str());
        format!(r#"{{"code":{},"message":{message},"details":[{}]}}"#, self.code, details.join(","))
    }
}

fn contradiction(code: i32, message: &str, status: &Status) -> String {
    format!(
        "grpc-status-details-bin mismatch: grpc-status={code}, grpc-message={message:?}, \
         grpc-status-details-bin=code:{} message:{:?}",
        status.code, status.message
    )
}

fn any(detail: &Any, schema: &Schema) -> String {
    json::write_any(&detail.type_url, &detail.value, schema.types(), DETAIL_MAX).unwrap_or_else(|_| {
        let value = STANDARD.encode(&detail.value);
        json!({ "@type": detail.type_url, "value": value }).to_string()
    })
}

//! What a script sees of a call, with messages as JSON.
//!
//! Makes no values of JavaScript.

use std::collections::BTreeMap;

use knee_engine::http::http2::duplex::FieldList;

use super::call::Called;
use super::descriptors::{Method, RpcStatus, Schema};
use super::exchange::Ended;
use super::metadata::shown;

/// Names, each with its values.
pub type Shown = BTreeMap<String, Vec<String>>;

/// What a script sees of a call.
#[derive(Debug)]
pub struct Reply {
    /// The code.
    pub status: u32,
    /// The JSON of the status, if the call failed.
    pub error: Option<String>,
    /// The JSON of the message; `None` if the script does not want it.
    pub message: Option<String>,
    /// The fields of the head.
    pub headers: Shown,
    /// The trailers.
    pub trailers: Shown,
}

impl Reply {
    /// Of a call of `method`; k6's words for what has no JSON.
    pub fn of(called: Called, method: &Method, schema: &Schema, is_discarding: bool) -> Result<Self, String> {
        let Called { ended: Ended { status, headers, trailers }, message: _, json } = called;
        let words = |error| {
            format!("unable to convert response object to JSON: failed to marshal the message: {error}")
        };
        let message = match json {
            _ if is_discarding => None,
            Some(json) => Some(json),
            // As in k6, a failed call has a message of defaults.
            None => Some(method.empty().map_err(words)?),
        };
        let error = (!status.is_ok()).then(|| {
            let code = status.code.cast_signed();
            RpcStatus::received(code, &status.message, status.details.as_deref()).json(schema)
        });
        let of = |fields: &FieldList| shown(fields);
        Ok(Self {
            status: status.code,
            error,
            message,
            headers: headers.as_ref().map(of).unwrap_or_default(),
            trailers: of(&trailers),
        })
    }
}

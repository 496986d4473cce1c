//! What happens on a stream of gRPC, in the order in which a script learns of it.
//!
//! Plain data.

use knee_core::unit::Nanos;

use super::status::Status;
use crate::account::Charge;

/// Something that happened on a stream.
#[derive(Debug)]
pub enum StreamEvent {
    /// A message of the server.
    Data {
        /// Its JSON.
        json: String,
        /// When it was complete, on the run's clock.
        at: Nanos,
        /// The memory that it takes in its VU.
        memory: Charge,
    },
    /// The stream failed. [`Self::End`] comes after it.
    Error {
        /// How.
        status: Status,
        /// The JSON of the status, with its details.
        json: String,
    },
    /// The end. Nothing comes after it.
    End,
}

impl StreamEvent {
    /// Bytes of the message, if it is one.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Data { json, .. } => json.len(),
            Self::Error { .. } | Self::End => 0,
        }
    }
}

//! What happens on a stream of events, in the order in which a script learns of it.
//!
//! Plain data.

use crate::account::Charge;
use crate::http::answer::Headers;

/// One event as xk6-sse shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerEvent {
    /// Its `id`.
    pub id: Vec<u8>,
    /// Its `event`.
    pub name: Vec<u8>,
    /// Its lines of `data`, without the line ends after the last one.
    pub data: Vec<u8>,
    /// Its last comment.
    pub comment: Vec<u8>,
}

impl ServerEvent {
    /// Bytes of its texts.
    pub fn bytes(&self) -> usize {
        self.id.len() + self.name.len() + self.data.len() + self.comment.len()
    }
}

/// Something that happened on a stream.
#[derive(Debug)]
pub enum StreamNews {
    /// The head of the response has arrived.
    Opened {
        /// Its status.
        status: u16,
        /// Its header lines.
        headers: Box<Headers>,
    },
    /// There was no response. Nothing comes after it.
    Refused(String),
    /// An event.
    Event(Box<ServerEvent>, Charge),
    /// An error, after which others can come: a line that is no part of an event, or a broken connection.
    Wrong(String, Charge),
    /// The response is over. Nothing comes after it.
    Ended,
}

impl StreamNews {
    /// Bytes that wait with it.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Event(event, _) => event.bytes(),
            Self::Wrong(words, _) => words.len(),
            Self::Opened { .. } | Self::Refused(_) | Self::Ended => 0,
        }
    }
}

//! What happens on a socket, in the order in which a script learns of it.
//!
//! Plain data.

use knee_core::unit::Nanos;
use knee_engine::http::websocket::handshake::HandshakeReply;

use crate::account::Charge;

/// Something that happened on a socket.
#[derive(Debug)]
pub enum Event {
    /// The handshake is done.
    Opened(Box<HandshakeReply>),
    /// There was no handshake. Nothing comes after it.
    Refused {
        /// Why, in k6's words.
        error: String,
        /// The response, if one came.
        reply: Option<Box<HandshakeReply>>,
    },
    /// A message.
    Message {
        /// Whether it is a text.
        is_text: bool,
        /// Its bytes.
        bytes: Vec<u8>,
        /// When it was complete, on the run's clock.
        at: Nanos,
        /// The memory that it takes in its VU.
        memory: Charge,
    },
    /// A ping, which was answered; or why it could not be.
    Ping(Option<String>),
    /// A pong; its payload if it answers no ping of the script.
    Pong(Option<String>),
    /// So many bytes of a message were handed to the kernel.
    Written(usize),
    /// The end. Nothing comes after it.
    Ended(Ending),
}

/// How a socket ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The code of the server's close, or the one that stands for none.
    pub code: Option<u16>,
    /// The reason beside it.
    pub reason: String,
    /// The error that scripts are shown, if they are shown one.
    pub error: Option<String>,
}

impl Event {
    /// Bytes of the message, if it is one.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Message { bytes, .. } => bytes.len(),
            _ => 0,
        }
    }
}

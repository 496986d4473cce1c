//! Why the bytes of a server cannot be read any further.
//!
//! Does not say what the server is answered.

/// Why nothing more can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The server broke the rules of the protocol.
    Protocol(String),
    /// A compressed message is broken.
    Inflate(String),
    /// A message takes more memory than the run has left.
    TooLarge,
}

//! Counts decoded bytes and refuses more than a limit.
//!
//! Does not keep them.

use knee_core::outcome::Fault;

/// Size of the buffer that decoders write to, in bytes. It is on the stack and used again for every piece.
pub const OUT: usize = 8_192;

/// Decoded bytes that one body has left.
#[derive(Debug)]
pub struct DecodedLimit {
    left: u64,
}

impl DecodedLimit {
    /// At most `limit` bytes.
    pub const fn new(limit: u64) -> Self {
        Self { left: limit }
    }

    /// Counts `bytes` more.
    pub fn count(&mut self, bytes: usize) -> Result<(), Fault> {
        self.left = self.left.checked_sub(bytes as u64).ok_or(Fault::DecodeLimit)?;
        Ok(())
    }
}

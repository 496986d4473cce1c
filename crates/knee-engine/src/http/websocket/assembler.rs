//! Bytes of a server in, messages out: frames are checked and joined, and compressed messages are decompressed.
//!
//! Pure. Texts are bytes here: whether they are UTF-8 is for the reader to say. The words for what a server must not
//! send are those that other clients send it back, so that its log says what users find on the web.

use super::super::memory::MemoryShare;
use super::close;
use super::deflate::inflate;
use super::frame::{CONTROL_MAX, FrameHead, Opcode};
use super::trouble::Trouble;

/// What a server sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A whole message.
    Message {
        /// Whether it is a text.
        is_text: bool,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// A ping with its payload.
    Ping(Vec<u8>),
    /// A pong with its payload.
    Pong(Vec<u8>),
    /// A close. Nothing comes after it.
    Close {
        /// Its code; [`close::NO_STATUS`] if it has none.
        code: u16,
        /// Its reason.
        reason: String,
    },
}

/// Joins the frames of one connection.
#[derive(Debug)]
pub struct Assembler {
    /// Whether messages can be compressed.
    is_deflated: bool,
    input: Vec<u8>,
    /// Bytes of `input` that are done.
    used: usize,
    /// The frame whose payload is expected, and how much of it is missing.
    frame: Option<(FrameHead, u64)>,
    /// The message of which more frames are expected: whether it is a text, and whether it is compressed.
    open: Option<(bool, bool)>,
    message: Vec<u8>,
    memory: MemoryShare,
}

impl Assembler {
    /// An assembler that holds its messages in `memory`.
    pub const fn new(is_deflated: bool, memory: MemoryShare) -> Self {
        Self { is_deflated, input: Vec::new(), used: 0, frame: None, open: None, message: Vec::new(), memory }
    }

    /// Takes bytes of the server.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.input.drain(..self.used);
        self.used = 0;
        self.input.extend_from_slice(bytes);
    }

    /// The next thing that is complete.
    pub fn take_next(&mut self) -> Result<Option<Incoming>, Trouble> {
        loop {
            let rest = &self.input[self.used..];
            let Some((head, missing)) = self.frame else {
                let Some(head) = FrameHead::read(rest) else { return Ok(None) };
                self.check(&head)?;
                self.used += head.size;
                self.begin(&head)?;
                continue;
            };
            let is_control = Opcode::of(head.opcode).is_some_and(Opcode::is_control);
            let count = missing.min(rest.len() as u64);
            if is_control {
                if count < missing {
                    return Ok(None);
                }
                let payload = rest[..count as usize].to_vec();
                self.used += count as usize;
                self.frame = None;
                return control(head.opcode, payload).map(Some);
            }
            self.message.extend_from_slice(&rest[..count as usize]);
            self.used += count as usize;
            if count < missing {
                self.frame = Some((head, missing - count));
                return Ok(None);
            }
            self.frame = None;
            if head.is_final {
                return self.finish().map(Some);
            }
        }
    }

    /// Refuses what a server must not send.
    fn check(&self, head: &FrameHead) -> Result<(), Trouble> {
        let mut wrong: Vec<String> = Vec::new();
        let mut note = |is_wrong: bool, words: &str| {
            if is_wrong {
                wrong.push(words.to_owned());
            }
        };
        note(head.reserved[0] && !self.is_deflated, "RSV1 set");
        note(head.reserved[1], "RSV2 set");
        note(head.reserved[2], "RSV3 set");
        match Opcode::of(head.opcode) {
            Some(Opcode::Close | Opcode::Ping | Opcode::Pong) => {
                note(head.length > CONTROL_MAX as u64, "len > 125 for control");
                note(!head.is_final, "FIN not set on control");
            }
            Some(Opcode::Text | Opcode::Binary) => note(self.open.is_some(), "data before FIN"),
            Some(Opcode::Continuation) => note(self.open.is_none(), "continuation after FIN"),
            None => note(true, &format!("bad opcode {}", head.opcode)),
        }
        note(head.is_masked, "bad MASK");
        if wrong.is_empty() { Ok(()) } else { Err(Trouble::Protocol(wrong.join(", "))) }
    }

    /// Expects the payload of a frame.
    fn begin(&mut self, head: &FrameHead) -> Result<(), Trouble> {
        self.frame = Some((*head, head.length));
        match Opcode::of(head.opcode) {
            Some(opcode @ (Opcode::Text | Opcode::Binary)) => {
                self.open = Some((opcode == Opcode::Text, head.reserved[0]));
            }
            Some(Opcode::Continuation) => {}
            _ => return Ok(()),
        }
        let needed = (self.message.len() as u64).saturating_add(head.length);
        if self.memory.hold(needed) { Ok(()) } else { Err(Trouble::TooLarge) }
    }

    /// The message whose last frame is complete.
    fn finish(&mut self) -> Result<Incoming, Trouble> {
        let (is_text, is_compressed) = self.open.take().unwrap_or_default();
        let mut bytes = std::mem::take(&mut self.message);
        if is_compressed {
            bytes = inflate(&bytes, &mut self.memory)?;
        }
        self.memory.release();
        Ok(Incoming::Message { is_text, bytes })
    }
}

/// A close, a ping or a pong.
fn control(opcode: u8, payload: Vec<u8>) -> Result<Incoming, Trouble> {
    Ok(match Opcode::of(opcode) {
        Some(Opcode::Ping) => Incoming::Ping(payload),
        Some(Opcode::Pong) => Incoming::Pong(payload),
        _ => {
            let (code, reason) = close::read(&payload).map_err(Trouble::Protocol)?;
            Incoming::Close { code, reason }
        }
    })
}

#[cfg(test)]
mod tests;

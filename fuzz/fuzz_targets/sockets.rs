//! Any bytes as what a server sends on a WebSocket, in pieces whose sizes the input decides: frames, messages of several
//! frames, compressed ones. Also as the response to a handshake.
//!
//! Looks for panics, for messages that depend on the pieces, and for memory that is not given back.

#![no_main]

use std::rc::Rc;

use knee_engine::http::memory::{MemoryBudget, MemoryShare};
use knee_engine::http::websocket::assembler::{Assembler, Incoming};
use knee_engine::http::websocket::handshake::HandshakeReply;
use knee_engine::http::websocket::trouble::Trouble;
use libfuzzer_sys::fuzz_target;

/// Most bytes of messages here.
const BUDGET: u64 = 1 << 20;

// The first byte says whether messages can be compressed, the second how long pieces are.
fuzz_target!(|input: &[u8]| {
    let [flags, size, bytes @ ..] = input else { return };
    let is_deflated = flags & 1 == 1;
    let whole = read(is_deflated, bytes, bytes.len().max(1));
    assert_eq!(whole, read(is_deflated, bytes, usize::from(*size).max(1)));
    if let Ok(Some((reply, length))) = HandshakeReply::read(bytes) {
        assert!(length <= bytes.len());
        let _ = reply.verify("dGhlIHNhbXBsZSBub25jZQ==");
    }
});

/// What comes of bytes in pieces of a size, up to a close or to what is wrong.
fn read(is_deflated: bool, bytes: &[u8], size: usize) -> (Vec<Incoming>, Option<Trouble>) {
    let budget = Rc::new(MemoryBudget::new(BUDGET));
    let mut assembler = Assembler::new(is_deflated, MemoryShare::new(budget.clone(), 0));
    let mut all = Vec::new();
    let mut wrong = None;
    'pieces: for piece in bytes.chunks(size) {
        assembler.feed(piece);
        loop {
            match assembler.take_next() {
                Ok(Some(incoming)) => {
                    let is_close = matches!(incoming, Incoming::Close { .. });
                    all.push(incoming);
                    if is_close {
                        break 'pieces;
                    }
                }
                Ok(None) => break,
                Err(trouble) => {
                    wrong = Some(trouble);
                    break 'pieces;
                }
            }
        }
    }
    drop(assembler);
    assert_eq!(budget.used(), 0);
    (all, wrong)
}

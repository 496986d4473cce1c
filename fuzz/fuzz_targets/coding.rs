//! Any bytes as an encoded body: gzip, deflate, brotli or zstd, in pieces whose sizes the input decides.
//!
//! The first byte chooses the coding, the second the size of the pieces. Looks for panics, and for bodies that decode in
//! one piece and not in several.

#![no_main]

use std::rc::Rc;

use knee_engine::http::decode::Decoders;
use libfuzzer_sys::fuzz_target;

/// Most decoded bytes of a body here.
const LIMIT: u64 = 1 << 20;

fuzz_target!(|input: &[u8]| {
    let [coding, size, body @ ..] = input else { return };
    let coding: &[u8] = [&b"gzip"[..], b"deflate", b"br", b"zstd"][usize::from(*coding) % 4];
    let whole = decoded(coding, body, body.len().max(1));
    let pieces = decoded(coding, body, usize::from(*size).max(1));
    assert_eq!(whole, pieces);
});

fn decoded(coding: &[u8], body: &[u8], size: usize) -> bool {
    let Some(mut decoder) = Rc::new(Decoders::default()).decoder(coding, LIMIT) else { return false };
    body.chunks(size).all(|piece| decoder.feed(piece).is_ok()) && decoder.finish().is_ok()
}

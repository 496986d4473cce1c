//! Compression of single messages (RFC 7692), each without the context of earlier ones.
//!
//! Does not negotiate; see [`super::handshake`].

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::super::memory::MemoryShare;
use super::trouble::Trouble;

/// What ends a block and is left out on the wire (RFC 7692, section 7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];
/// Room for output that is added at a time, in bytes.
const STEP: usize = 16 << 10;

/// The payload of a message, compressed.
pub fn deflate(message: &[u8]) -> Vec<u8> {
    let mut compress = Compress::new(Compression::fast(), false);
    let mut out = Vec::with_capacity(message.len() / 2 + 64);
    loop {
        let used = compress.total_in() as usize;
        // Compressing into memory fails only for wrong parameters.
        let _ = compress.compress_vec(&message[used..], &mut out, FlushCompress::Sync);
        let is_done = compress.total_in() as usize == message.len() && out.len() < out.capacity();
        if is_done {
            break;
        }
        out.reserve(STEP);
    }
    out.truncate(out.strip_suffix(&TAIL).map_or(out.len(), <[u8]>::len));
    out
}

/// The message of a compressed payload. What it takes is held in `memory`.
pub fn inflate(payload: &[u8], memory: &mut MemoryShare) -> Result<Vec<u8>, Trouble> {
    let mut decompress = Decompress::new(false);
    let mut out = Vec::new();
    for part in [payload, &TAIL] {
        let start = decompress.total_in();
        loop {
            if out.len() == out.capacity() {
                if !memory.hold((payload.len() + out.capacity() + STEP) as u64) {
                    return Err(Trouble::TooLarge);
                }
                out.reserve_exact(STEP.max(out.capacity()));
            }
            let used = (decompress.total_in() - start) as usize;
            let status = decompress.decompress_vec(&part[used..], &mut out, FlushDecompress::Sync);
            match status {
                Ok(Status::StreamEnd) => return Ok(out),
                Ok(_) => {}
                Err(_) => {
                    let words = format!("flate: corrupt input before offset {}", decompress.total_in());
                    return Err(Trouble::Inflate(words));
                }
            }
            if (decompress.total_in() - start) as usize == part.len() && out.len() < out.capacity() {
                break;
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use proptest::prelude::*;

    use super::super::super::memory::MemoryBudget;
    use super::*;

    fn share(limit: u64) -> MemoryShare {
        MemoryShare::new(Rc::new(MemoryBudget::new(limit)), 0)
    }

    #[test]
    fn the_example_of_the_standard_is_read() {
        // RFC 7692, section 7.2.3.1.
        let payload = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
        assert_eq!(inflate(&payload, &mut share(1 << 20)), Ok(b"Hello".to_vec()));
        assert_eq!(deflate(b""), [0]);
    }

    #[test]
    fn a_small_payload_cannot_take_more_memory_than_the_budget_has() {
        let bomb = deflate(&vec![0; 8 << 20]);
        assert!(bomb.len() < 64 << 10);
        assert_eq!(inflate(&bomb, &mut share(1 << 20)), Err(Trouble::TooLarge));
    }

    #[test]
    fn bytes_that_are_no_compression_are_reported() {
        assert!(matches!(inflate(&[0xff; 8], &mut share(1 << 20)), Err(Trouble::Inflate(_))));
    }

    proptest! {
        #[test]
        fn a_message_comes_back_as_it_was(message in prop::collection::vec(0_u8..4, 0..40_000)) {
            prop_assert_eq!(inflate(&deflate(&message), &mut share(1 << 24)), Ok(message));
        }
    }
}

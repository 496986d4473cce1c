//! Tests of the assembler with frames written by hand.

use std::rc::Rc;

use proptest::prelude::*;

use super::super::super::memory::MemoryBudget;
use super::*;

fn assembler(is_deflated: bool, limit: u64) -> Assembler {
    Assembler::new(is_deflated, MemoryShare::new(Rc::new(MemoryBudget::new(limit)), 0))
}

/// A frame of a server.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..=125 => bytes.push(short as u8),
        long => {
            bytes.push(126);
            bytes.extend_from_slice(&(long as u16).to_be_bytes());
        }
    }
    bytes.extend_from_slice(payload);
    bytes
}

/// Everything that the bytes are, and what ended them.
fn read(assembler: &mut Assembler, bytes: &[u8]) -> (Vec<Incoming>, Option<Trouble>) {
    assembler.feed(bytes);
    let mut all = Vec::new();
    loop {
        match assembler.take_next() {
            Ok(Some(incoming)) => all.push(incoming),
            Ok(None) => return (all, None),
            Err(trouble) => return (all, Some(trouble)),
        }
    }
}

fn text(words: &str) -> Incoming {
    Incoming::Message { is_text: true, bytes: words.into() }
}

#[test]
fn a_message_in_pieces_is_one_message_and_a_ping_between_them_comes_first() {
    let bytes = [frame(0x01, b"he"), frame(0x89, b"p"), frame(0x00, b"ll"), frame(0x80, b"o")].concat();
    let (all, trouble) = read(&mut assembler(false, 1 << 20), &bytes);
    assert_eq!(all, [Incoming::Ping(b"p".to_vec()), text("hello")]);
    assert_eq!(trouble, None);
}

#[test]
fn what_a_server_must_not_send_is_named() {
    for (bytes, words) in [
        (frame(0xc1, b"x"), "RSV1 set"),
        (frame(0xa1, b"x"), "RSV2 set"),
        (frame(0x91, b"x"), "RSV3 set"),
        (frame(0x83, b"x"), "bad opcode 3"),
        (frame(0x80, b"x"), "continuation after FIN"),
        (frame(0x09, b"x"), "FIN not set on control"),
        (frame(0x89, &[b'x'; 126]), "len > 125 for control"),
        ([frame(0x01, b"x"), frame(0x81, b"y")].concat(), "data before FIN"),
        (vec![0x81, 0x81, 0, 0, 0, 0, b'x'], "bad MASK"),
        (vec![0xb3, 0x81, 0, 0, 0, 0, b'x'], "RSV2 set, RSV3 set, bad opcode 3, bad MASK"),
        (frame(0x88, &1004_u16.to_be_bytes()), "bad close code 1004"),
        (frame(0x88, &[0x03, 0xe8, 0xff]), "invalid utf8 payload in close frame"),
    ] {
        let (all, trouble) = read(&mut assembler(false, 1 << 20), &bytes);
        assert!(all.is_empty());
        assert_eq!(trouble, Some(Trouble::Protocol(words.to_owned())));
    }
}

#[test]
fn a_frame_larger_than_the_memory_of_the_run_is_refused_before_its_bytes_arrive() {
    let head = [0x82, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(read(&mut assembler(false, 1 << 20), &head), (vec![], Some(Trouble::TooLarge)));
}

#[test]
fn pieces_of_one_message_count_together() {
    let piece = frame(0x00, &[b'x'; 400]);
    let bytes = [frame(0x01, &[b'x'; 400]), piece.clone(), piece].concat();
    assert_eq!(read(&mut assembler(false, 1_000), &bytes).1, Some(Trouble::TooLarge));
}

#[test]
fn a_compressed_message_is_read_if_compression_was_agreed_on() {
    // RFC 7692, section 7.2.3.1.
    let payload = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    let (all, trouble) = read(&mut assembler(true, 1 << 20), &frame(0xc1, &payload));
    assert_eq!((all, trouble), (vec![text("Hello")], None));
}

#[test]
fn a_close_can_be_empty() {
    let (all, _) = read(&mut assembler(false, 1 << 20), &frame(0x88, b""));
    assert_eq!(all, [Incoming::Close { code: close::NO_STATUS, reason: String::new() }]);
}

proptest! {
    #[test]
    fn it_does_not_matter_where_the_network_cuts_the_bytes(cuts in prop::collection::vec(0_usize..600, 0..20)) {
        let bytes = [frame(0x01, b"one"), frame(0x8a, b"q"), frame(0x80, &[b'z'; 500]), frame(0x82, b"")].concat();
        let whole = read(&mut assembler(false, 1 << 20), &bytes).0;
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut assembler = assembler(false, 1 << 20);
        let parts = cuts.windows(2).flat_map(|pair| read(&mut assembler, &bytes[pair[0]..pair[1]]).0);
        prop_assert_eq!(parts.collect::<Vec<_>>(), whole);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&mut assembler(true, 1 << 16), &bytes);
    }
}

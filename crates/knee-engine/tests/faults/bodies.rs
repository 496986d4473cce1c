//! Bodies that are too large or not encoded as they say: refused in bounded memory, whatever is sent.

use std::fs;
use std::io::Write;

use knee_core::outcome::{Fault, Outcome};

use crate::answers::Ends::{In, With};
use crate::answers::check;
use crate::behaviour::Behaviour;
use crate::drive::{BODY_MAX, Drive, count, faults};
use crate::server::Server;
use crate::shortages::in_child;

/// `body` in a content coding.
pub fn encode(coding: &str, body: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::default();
    match coding {
        "gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(body).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(body).unwrap();
            encoder.finish().unwrap()
        }
        "br" => {
            let mut out = Vec::new();
            brotli::CompressorWriter::new(&mut out, 4_096, 5, 20).write_all(body).unwrap();
            out
        }
        _ => zstd::encode_all(body, 3).unwrap(),
    }
}

/// Every coding that is understood.
pub const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

/// An answer that decodes to `size` zeros.
fn bomb(coding: &'static str, size: usize) -> Behaviour {
    Behaviour::Coded(coding, encode(coding, &vec![0; size]))
}

#[test]
fn chunks_without_end_meet_the_body_limit() {
    check(&Behaviour::EndlessChunks, In(Fault::BodyLimit));
}

#[test]
fn a_body_without_end_meets_the_body_limit() {
    check(&Behaviour::EndlessBody, In(Fault::BodyLimit));
}

#[test]
fn a_length_beyond_the_body_limit_meets_it() {
    check(&Behaviour::HugeLength, In(Fault::BodyLimit));
}

#[test]
fn a_bomb_meets_the_limit_on_decoded_bytes_in_every_coding() {
    for coding in CODINGS {
        check(&bomb(coding, 4 * BODY_MAX as usize), In(Fault::DecodeLimit));
    }
}

#[test]
fn a_body_that_decodes_to_just_the_limit_is_whole() {
    for coding in CODINGS {
        check(&bomb(coding, BODY_MAX as usize), With(200));
    }
}

#[test]
fn a_body_that_is_not_encoded_as_it_says_fails_to_decode() {
    for coding in CODINGS {
        check(&Behaviour::Coded(coding, b"plain text".to_vec()), In(Fault::DecodeFailed));
    }
}

#[test]
fn a_body_in_another_coding_than_it_says_fails_to_decode() {
    check(&Behaviour::Coded("br", encode("gzip", b"hello hello hello hello")), In(Fault::DecodeFailed));
    check(&Behaviour::Coded("gzip", encode("zstd", b"hello hello hello hello")), In(Fault::DecodeFailed));
}

#[test]
fn an_encoded_body_that_was_cut_off_fails_to_decode() {
    let text: Vec<u8> = (0..5_000u32).flat_map(u32::to_le_bytes).collect();
    for coding in CODINGS {
        let mut body = encode(coding, &text);
        body.truncate(body.len() - 9);
        check(&Behaviour::Coded(coding, body), In(Fault::DecodeFailed));
    }
}

#[test]
fn a_coding_nobody_knows_is_left_alone() {
    check(&Behaviour::Coded("rot13", b"uryyb".to_vec()), With(200));
}

#[test]
fn without_decoding_a_bomb_is_a_small_body() {
    let server = Server::start(|_| bomb("gzip", 4 * BODY_MAX as usize));
    let run = Drive::closed(&server.url("/"), 20, 3).with(|settings| settings.decode = false).run();
    assert_eq!(count(&run, Outcome::Ok), 20);
}

/// Most memory this process has used so far, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn floods_and_bombs_do_not_grow_the_memory() {
    // Only a process of its own has a peak of its own; the server floods from the other one.
    const MIB: u64 = 1_024;
    let ways = || {
        let mut ways = vec![
            Behaviour::EndlessChunks,
            Behaviour::EndlessBody,
            Behaviour::LongHeader,
            Behaviour::CookieFlood,
        ];
        ways.extend([
            Behaviour::EndlessTrailer,
            Behaviour::EndlessExtension,
            Behaviour::InterimFlood,
            Behaviour::EmptyLines,
        ]);
        ways.extend(CODINGS.map(|coding| bomb(coding, 256 << 20)));
        ways
    };
    let server = || {
        let ways = ways();
        Server::start(move |request| {
            let number: usize = request.line().trim_start_matches("GET /").parse().unwrap();
            ways[number].clone()
        })
    };
    in_child("bodies::floods_and_bombs_do_not_grow_the_memory", &[], server, |url| {
        // What the process needs anyway, once.
        let warm = |number: usize| Drive::closed(&format!("{url}{number}"), 40, 10);
        warm(0).run();
        let before = peak_kib();
        for number in 0..12 {
            let run = warm(number).run();
            assert_eq!(faults(&run).iter().map(|(_, count)| count).sum::<u64>(), 40, "{number}");
            // Ten connections at once; the largest thing each may hold is a head of 256 KiB or a
            // window of 8 MiB.
            let grown = peak_kib() - before;
            assert!(grown < 96 * MIB, "behaviour {number} took {grown} KiB");
        }
    });
}

//! Bodies that are too large or not encoded as announced: refused in bounded memory.

use std::fs;
use std::io::Write;

use knee_core::outcome::{Fault, Outcome};

use crate::behaviour::Behaviour;
use crate::drive::{BODY_MAX, Drive, count, faults};
use crate::responses::Ends::{In, With};
use crate::responses::check;
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

/// Every known coding.
pub const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

/// A response that decodes to `size` zeros.
fn bomb(coding: &'static str, size: usize) -> Behaviour {
    Behaviour::Coded(coding, encode(coding, &vec![0; size]))
}

#[test]
fn endless_chunks_hit_the_body_limit() {
    check(&Behaviour::EndlessChunks, In(Fault::BodyLimit));
}

#[test]
fn an_endless_body_hits_the_body_limit() {
    check(&Behaviour::EndlessBody, In(Fault::BodyLimit));
}

#[test]
fn a_length_over_the_body_limit_hits_it() {
    check(&Behaviour::HugeLength, In(Fault::BodyLimit));
}

#[test]
fn a_bomb_hits_the_limit_on_decoded_bytes_in_every_coding() {
    for coding in CODINGS {
        check(&bomb(coding, 4 * BODY_MAX as usize), In(Fault::DecodeLimit));
    }
}

#[test]
fn a_body_that_decodes_to_exactly_the_limit_is_complete() {
    for coding in CODINGS {
        check(&bomb(coding, BODY_MAX as usize), With(200));
    }
}

#[test]
fn a_body_that_is_not_encoded_as_announced_fails_to_decode() {
    for coding in CODINGS {
        check(&Behaviour::Coded(coding, b"plain text".to_vec()), In(Fault::DecodeFailed));
    }
}

#[test]
fn a_body_in_another_coding_than_announced_fails_to_decode() {
    check(&Behaviour::Coded("br", encode("gzip", b"hello hello hello hello")), In(Fault::DecodeFailed));
    check(&Behaviour::Coded("gzip", encode("zstd", b"hello hello hello hello")), In(Fault::DecodeFailed));
}

#[test]
fn a_truncated_encoded_body_fails_to_decode() {
    let text: Vec<u8> = (0..5_000u32).flat_map(u32::to_le_bytes).collect();
    for coding in CODINGS {
        let mut body = encode(coding, &text);
        body.truncate(body.len() - 9);
        check(&Behaviour::Coded(coding, body), In(Fault::DecodeFailed));
    }
}

#[test]
fn a_body_in_an_unknown_coding_is_not_decoded() {
    check(&Behaviour::Coded("rot13", b"uryyb".to_vec()), With(200));
}

#[test]
fn without_decoding_a_bomb_is_a_small_body() {
    let server = Server::start(|_| bomb("gzip", 4 * BODY_MAX as usize));
    let run = Drive::closed(&server.url("/"), 20, 3).with(|settings| settings.decode = false).run();
    assert_eq!(count(&run, Outcome::Ok), 20);
}

/// Peak memory of this process, in KiB.
pub fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn floods_and_bombs_do_not_grow_the_memory() {
    // In a child process, because a peak belongs to a process. The server runs in the parent.
    const MIB: u64 = 1_024;
    let behaviours = || {
        let mut behaviours = vec![
            Behaviour::EndlessChunks,
            Behaviour::EndlessBody,
            Behaviour::LongHeader,
            Behaviour::CookieFlood,
        ];
        behaviours.extend([
            Behaviour::EndlessTrailer,
            Behaviour::EndlessExtension,
            Behaviour::InterimFlood,
            Behaviour::EmptyLines,
        ]);
        behaviours.extend(CODINGS.map(|coding| bomb(coding, 256 << 20)));
        behaviours
    };
    let server = || {
        let behaviours = behaviours();
        Server::start(move |request| {
            let number: usize = request.line().trim_start_matches("GET /").parse().unwrap();
            behaviours[number].clone()
        })
    };
    in_child("bodies::floods_and_bombs_do_not_grow_the_memory", &[], server, |url| {
        // Memory that the process needs anyway.
        let warm = |number: usize| Drive::closed(&format!("{url}{number}"), 40, 10);
        warm(0).run();
        let before = peak_kib();
        for number in 0..12 {
            let run = warm(number).run();
            assert_eq!(faults(&run).iter().map(|(_, count)| count).sum::<u64>(), 40, "{number}");
            // Ten connections at once; each can hold at most a head of 256 KiB or a window of 8 MiB.
            let grown = peak_kib() - before;
            assert!(grown < 96 * MIB, "behaviour {number} took {grown} KiB");
        }
    });
}

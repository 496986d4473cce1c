//! Bodies that are too large or not encoded as announced: refused in bounded memory.

use std::fs;
use std::io::Write;

use knee_core::outcome::Outcome;

use crate::behaviour::Behaviour;
use crate::drive::{BODY_MAX, Drive, count, faults};
use crate::server::Server;
use crate::shortages::in_child;
use crate::table::Ends::With;
use crate::table::check;

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

/// A small brotli body that asks for a window of 64 MiB.
pub fn large_window() -> Vec<u8> {
    let params =
        brotli::enc::BrotliEncoderParams { quality: 5, lgwin: 26, large_window: true, ..Default::default() };
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &b"hello hello hello"[..], &mut out, &params).unwrap();
    out
}

/// Every known coding.
pub const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

/// A response that decodes to `size` zeros.
fn bomb(coding: &'static str, size: usize) -> Behaviour {
    Behaviour::Coded(coding, encode(coding, &vec![0; size]))
}

#[test]
fn a_body_that_decodes_to_exactly_the_limit_is_complete() {
    for coding in CODINGS {
        check(&bomb(coding, BODY_MAX as usize), With(200));
    }
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

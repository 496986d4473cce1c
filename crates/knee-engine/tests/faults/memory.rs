//! What the responses of a server can make the process hold, over a thousand connections at once.

use std::io::Write;
use std::sync::Arc;

use knee_core::outcome::{Fault, Outcome};
use knee_core::unit::Nanos;
use knee_engine::host::raise_descriptor_limit;

use crate::behaviour::Behaviour;
use crate::bodies::peak_kib;
use crate::drive::{Drive, count, faults};
use crate::server::Server;
use crate::shortages::in_child;

const CONNECTIONS: u64 = 1_000;
/// What the responses of a server can make the process hold, in KiB.
const GROWTH_MAX: u64 = 256 << 10;

/// How responses can end that the server never completes. How many do so in which way depends on the time that their
/// bytes take.
const ENDS: &[Fault] = &[Fault::RequestTimeout, Fault::MemoryLimit, Fault::DecodeFailed];
/// Number of kinds of responses.
const KINDS: usize = 7;

/// Bytes that no coding makes shorter, then zeros that fill every window.
fn content() -> Vec<u8> {
    let mut state = 1_u64;
    let mut noise = || {
        // xorshift64: the same bytes every time.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    let mut content: Vec<u8> = (0..128 << 10).map(|_| noise()).collect();
    content.resize(20 << 20, 0);
    content
}

fn with_brotli(window_log: i32) -> Vec<u8> {
    let large_window = window_log > 24;
    let params = brotli::enc::BrotliEncoderParams {
        quality: 5,
        lgwin: window_log,
        large_window,
        ..Default::default()
    };
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &*content(), &mut out, &params).unwrap();
    out
}

fn with_zstd() -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(23).unwrap();
    encoder.write_all(&content()).unwrap();
    encoder.finish().unwrap()
}

/// A response without its last byte.
fn response(coding: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), &body[..length - 1]].concat()
}

/// A head that is nearly as long as a head can be, without its end.
fn incomplete_head() -> Vec<u8> {
    let mut head = b"HTTP/1.1 200 OK\r\nX-Long: ".to_vec();
    head.resize(255 << 10, b'x');
    head
}

/// Responses that hold as much memory as they can.
fn hungry() -> [Vec<u8>; KINDS] {
    let coded = |coding: &'static str| crate::bodies::encode(coding, &content());
    [
        response("gzip", &coded("gzip")),
        response("deflate", &coded("deflate")),
        response("br", &with_brotli(24)),
        response("br", &with_brotli(28)),
        response("zstd", &with_zstd()),
        // Less than what is decoded before the end.
        response("br", &with_brotli(24)[..60_000]),
        incomplete_head(),
    ]
}

#[test]
fn a_thousand_open_responses_of_any_kind_take_at_most_256_mib() {
    // In a child process, because a peak belongs to a process. The server runs in the parent.
    let server = || {
        raise_descriptor_limit();
        let plain = response("identity", &content()[..1 << 10]);
        let responses: Vec<Arc<[u8]>> = std::iter::once(plain).chain(hungry()).map(Arc::from).collect();
        Server::start(move |request| {
            let number: usize = request.line().trim_start_matches("GET /").parse().unwrap();
            Behaviour::Held(responses[number].clone())
        })
    };
    in_child("memory::a_thousand_open_responses_of_any_kind_take_at_most_256_mib", &[], server, |url| {
        let drive = |number: usize| {
            let drive = Drive::closed(&format!("{url}{number}"), CONNECTIONS, CONNECTIONS as u32);
            drive.with(|settings| {
                settings.request_timeout = Some(Nanos::from_secs(2));
                settings.connect_timeout = Nanos::from_secs(60);
                settings.decoded_max = 64 << 20;
            })
        };
        // Memory that a thousand connections need anyway.
        drive(0).run();
        let before = peak_kib();
        for number in 1..=KINDS {
            let run = drive(number).run();
            let ended = count(&run, Outcome::TransportError) + count(&run, Outcome::Timeout);
            assert_eq!(ended, CONNECTIONS, "{number}");
            let met = faults(&run);
            assert!(met.iter().all(|(fault, _)| ENDS.contains(fault)), "{number}: {met:?}");
            let grown = peak_kib() - before;
            assert!(grown < GROWTH_MAX, "response {number} took {grown} KiB");
        }
    });
}

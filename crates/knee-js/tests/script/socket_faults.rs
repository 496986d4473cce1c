//! Sockets against a server that writes frames as bytes, well or badly: what scripts of both modules see, and what the
//! record says of the handshakes.
//!
//! Each row is met by one socket of twelve, by every third one, and by all. The lines were recorded from k6 v1.8.1 with the
//! same bytes. `sockets.rs` has what takes time, and what the sizes of messages do.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use knee_core::outcome::Outcome as Ended;
use knee_js::program::Limits;

use super::harness::run_text_against;
use super::peer::{accept, frame, read_head};
use super::server::Server;
use super::share::{self, Share};

/// Iterations of each run; each opens a socket of both modules.
const SOCKETS: u64 = share::ALL;

/// What the server does with a socket that meets the fault.
#[derive(Clone, Copy)]
struct Fault {
    /// The answer to the handshake; `{}` stands for the answer to the key.
    head: &'static str,
    /// Bytes behind it.
    frames: &'static [u8],
    then: Then,
}

/// What follows the bytes.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    /// The server waits for a close, and answers it.
    Wait,
    /// The server ends its side of the connection.
    End,
}

const UPGRADE: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                       Sec-WebSocket-Accept: {}\r\n\r\n";

/// A text and a close, as all other sockets get them.
const GOOD: Fault = Fault { head: UPGRADE, frames: b"\x81\x04fine\x88\x02\x03\xe8", then: Then::Wait };

fn start(share: Share, fault: Fault) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("ws://{}", listener.local_addr().unwrap());
    let counts: Arc<[AtomicU64; 2]> = Arc::default();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counts = counts.clone();
            // Errors are expected: clients hang up in the middle.
            thread::spawn(move || drop(serve(stream, share, fault, &counts)));
        }
    });
    Server { base, journal: Arc::new(Mutex::new(Vec::new())) }
}

fn serve(mut stream: TcpStream, share: Share, fault: Fault, counts: &[AtomicU64; 2]) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let request = read_head(&mut stream)?;
    let count = &counts[usize::from(request.starts_with("GET /websockets "))];
    let fault = if share.has(count.fetch_add(1, Ordering::Relaxed)) { fault } else { GOOD };
    let head = fault.head.replace("{}", &accept(&request));
    stream.write_all(&[head.as_bytes(), fault.frames].concat())?;
    if fault.then == Then::End {
        stream.shutdown(Shutdown::Write)?;
        return io::copy(&mut stream, &mut io::sink()).map(drop);
    }
    // The close of a client: two bytes, the mask, and what it masks.
    let mut close = [0; 6];
    stream.read_exact(&mut close)?;
    let mut code: Vec<u8> = vec![0; usize::from(close[1] & 0x7f)];
    stream.read_exact(&mut code)?;
    code.iter_mut().zip(close[2..].iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    stream.write_all(&frame(0x88, code.get(..2).unwrap_or_default()))
}

const SOURCE: &str = "import ws from 'k6/ws'; import { WebSocket } from 'k6/websockets';
export const options = { vus: 1, iterations: 12 };
export default () => {
  const r = ws.connect(__ENV.BASE + '/ws', (s) => {
    s.on('message', (text) => console.log('ws message', text));
    s.on('error', (e) => console.log('ws error', e.error()));
    s.on('close', (code) => console.log('ws close', code));
  });
  console.log('ws end', r.status, r.error);
  const s = new WebSocket(__ENV.BASE + '/websockets');
  s.onopen = () => console.log('open');
  s.onmessage = (e) => console.log('message', e.data);
  s.onerror = (e) => console.log('error', e.error);
  s.onclose = (e) => console.log('close', e.code, e.reason, s.readyState);
};";

/// What a script prints about a pair of sockets.
type Lines = &'static [&'static str];

const OF_GOOD: Lines =
    &["ws message fine", "ws close 1000", "ws end 101 ", "open", "message fine", "close 1000  3"];

/// Both sockets end with an error that the server broke the rules, and scripts see no more of it.
const BROKEN: Lines =
    &["ws error websocket: close sent", "ws close 1001", "ws end 101 ", "open", "close undefined  3"];

/// The connection ended within a frame or without a close.
const CUT: Lines = &[
    "ws error websocket: close 1006 (abnormal closure): unexpected EOF",
    "ws close 1006",
    "ws end 101 ",
    "open",
    "error websocket: close 1006 (abnormal closure): unexpected EOF",
    "close 1006 unexpected EOF 3",
];

/// Runs the script with each share; `opens` says whether a handshake that meets the fault is OK.
fn check(name: &str, fault: Fault, expected: Lines, opens: bool) {
    thread::scope(|scope| {
        for share in Share::EACH {
            scope.spawn(move || {
                let outcome = run_text_against(&start(share, fault), SOURCE, Limits::default());
                let of = |number| if share.has(number) { expected } else { OF_GOOD };
                let lines: Vec<&str> = (0..SOCKETS).flat_map(of).copied().collect();
                assert_eq!(outcome.lines, lines, "{name}, {share:?}");
                let bad = 2 * share.count();
                let ok = if opens { 2 * SOCKETS } else { 2 * SOCKETS - bad };
                let tally = outcome.run.unwrap().measured.all();
                assert_eq!((tally.planned, tally.count(Ended::Ok)), (2 * SOCKETS, ok), "{name}, {share:?}");
            });
        }
    });
}

/// A fault behind a good handshake.
const fn frames(frames: &'static [u8], then: Then) -> Fault {
    Fault { head: UPGRADE, frames, then }
}

#[test]
fn a_connection_that_ends_early_closes_the_socket_abnormally() {
    for (name, bytes) in [
        ("no frame", &b""[..]),
        ("half a head of a frame", b"\x81"),
        ("a length of two bytes that is cut", b"\x81\x7e\x01"),
        ("half a frame", b"\x81\x0bhell"),
        ("a message whose last part is missing", b"\x01\x01x"),
    ] {
        check(name, frames(bytes, Then::End), CUT, true);
    }
}

#[test]
fn a_frame_that_breaks_the_rules_ends_the_socket() {
    let long_ping = [&b"\x89\x7e\x00\x7e"[..], &[b'x'; 126]].concat();
    for (name, bytes) in [
        ("a masked frame", &b"\x81\x81\0\0\0\0x"[..]),
        ("the first reserved bit", b"\xc1\x01x"),
        ("the second reserved bit", b"\xa1\x01x"),
        ("the third reserved bit", b"\x91\x01x"),
        ("an unknown kind of data", b"\x83\x01x"),
        ("an unknown kind of control", b"\x8b\x01x"),
        ("a ping in two frames", b"\x09\x01x"),
        ("a continuation of nothing", b"\x80\x01x"),
        ("a message within another", b"\x01\x01x\x81\x01y"),
        ("a close with a code that is never sent", b"\x88\x02\x03\xed"),
        ("a close with an unknown code", b"\x88\x02\x00\x07"),
        ("a close whose reason is no UTF-8", b"\x88\x04\x03\xe8\xff\xfe"),
        ("a ping of 126 bytes", long_ping.leak()),
    ] {
        check(name, frames(bytes, Then::Wait), BROKEN, true);
    }
}

#[test]
fn a_close_with_an_error_or_without_a_code_reaches_the_script() {
    let no_status: Lines = &[
        "ws error websocket: close 1005 (no status)",
        "ws close 1005",
        "ws end 101 ",
        "open",
        "error websocket: close 1005 (no status)",
        "close 1005  3",
    ];
    check("a close without a code", frames(b"\x88\x00", Then::Wait), no_status, true);
    check("a close of one byte", frames(b"\x88\x01x", Then::Wait), no_status, true);
    let error: Lines = &[
        "ws error websocket: close 1011 (internal server error): oops",
        "ws close 1011",
        "ws end 101 ",
        "open",
        "error websocket: close 1011 (internal server error): oops",
        "close 1011 oops 3",
    ];
    check("a close with an error", frames(b"\x88\x06\x03\xf3oops", Then::Wait), error, true);
    let closed: Lines = &["ws close 1000", "ws end 101 ", "open", "close 1000  3"];
    check("a message after a close", frames(b"\x88\x02\x03\xe8\x81\x04late", Then::Wait), closed, true);
}

#[test]
fn a_text_that_is_no_utf_8_reaches_the_script() {
    let lines: Lines = &[
        "ws message \u{fffd}\u{fffd}",
        "ws error websocket: close 1006 (abnormal closure): unexpected EOF",
        "ws close 1006",
        "ws end 101 ",
        "open",
        "message \u{fffd}\u{fffd}",
        "error websocket: close 1006 (abnormal closure): unexpected EOF",
        "close 1006 unexpected EOF 3",
    ];
    check("a text that is no UTF-8", frames(b"\x81\x02\xff\xfe", Then::End), lines, true);
}

#[test]
fn an_answer_that_is_no_upgrade_is_a_failed_request_with_its_status() {
    macro_rules! answered {
        ($status:literal) => {
            &[concat!("ws end ", $status, " "), "error websocket: bad handshake", "close undefined  3"]
        };
    }
    let rows: [(&str, &'static str, Lines); 9] = [
        ("success", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", answered!("200")),
        ("an error", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno", answered!("503")),
        ("a stranger", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", answered!("401")),
        (
            "a redirect",
            "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n",
            answered!("302"),
        ),
        (
            "the answer to another key",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
            answered!("101"),
        ),
        (
            "no answer to the key",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
            answered!("101"),
        ),
        (
            "no header Upgrade",
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
            answered!("101"),
        ),
        (
            "no header Connection",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {}\r\n\r\n",
            answered!("101"),
        ),
        (
            "another protocol",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {}\r\n\r\n",
            answered!("101"),
        ),
    ];
    for (name, head, lines) in rows {
        check(name, Fault { head, frames: b"", then: Then::End }, lines, false);
    }
}

#[test]
fn an_answer_that_is_no_http_or_is_cut_is_an_error() {
    let garbage: Lines = &[
        "ws end 0 malformed HTTP response \"garbage\"",
        "error malformed HTTP response \"garbage\"",
        "close undefined  3",
    ];
    check("no HTTP", Fault { head: "garbage\r\n\r\n", frames: b"", then: Then::End }, garbage, false);
    let cut: Lines = &["ws end 0 unexpected EOF", "error unexpected EOF", "close undefined  3"];
    check("no answer", Fault { head: "", frames: b"", then: Then::End }, cut, false);
    let half = "HTTP/1.1 101 Switching Pro";
    check("half a head", Fault { head: half, frames: b"", then: Then::End }, cut, false);
}

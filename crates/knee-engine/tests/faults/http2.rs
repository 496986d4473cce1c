//! HTTP/2 against a server that writes frames as bytes, well or badly. It shares no code with the library under test.
//!
//! Each behaviour is met at three rates, by a user with one request at a time, and by users that share connections.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::record::Run;
use knee_core::unit::Nanos;
use knee_engine::http::settings::HttpVersion;
use socket2::SockRef;

use crate::drive::{BODY_MAX, Drive, all, count, faults};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;
/// `:status: 200` in the static table (RFC 7541, appendix A).
const STATUS_200: &[u8] = &[0x88];

/// The bytes of a frame.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// A field that is not indexed (RFC 7541, 6.2.2).
fn field(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0, name.len() as u8];
    bytes.extend(name.as_bytes());
    bytes.push(value.len() as u8);
    bytes.extend(value.as_bytes());
    bytes
}

fn good(stream: u32) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, stream, STATUS_200);
    [head, frame(DATA, END_STREAM, stream, b"fine")].concat()
}

/// What follows the bytes of an answer.
#[derive(PartialEq)]
enum Then {
    Read,
    Close,
    Reset,
}

/// The answer to a request: the number of its connection, from 0, and that of its stream.
type Respond = fn(connection: u64, stream: u32) -> (Vec<u8>, Then);

/// A running server.
struct Server {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
}

impl Server {
    fn start(greeting: &'static [u8], respond: Respond) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, requests) = (listener.local_addr().unwrap(), Arc::new(AtomicU64::new(0)));
        let counted = requests.clone();
        thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let requests = counted.clone();
                // Errors are expected: clients hang up in the middle.
                thread::spawn(move || serve(stream, number as u64, greeting, respond, &requests));
            }
        });
        Self { address, requests }
    }
}

fn serve(
    mut stream: TcpStream,
    number: u64,
    greeting: &[u8],
    respond: Respond,
    requests: &AtomicU64,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut preface = [0; 24];
    stream.read_exact(&mut preface)?;
    stream.write_all(greeting)?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload)?;
        let (kind, flags) = (head[3], head[4]);
        let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        if kind == SETTINGS && flags & ACK == 0 {
            stream.write_all(&frame(SETTINGS, ACK, 0, &[]))?;
        }
        if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
            requests.fetch_add(1, Ordering::Relaxed);
            let (answer, then) = respond(number, id);
            stream.write_all(&answer)?;
            match then {
                Then::Read => {}
                Then::Close => return close(stream),
                Then::Reset => return SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO)),
            }
        }
    }
}

/// Ends the connection so that what was written arrives. Were this end gone at once, a frame that the client still sends
/// (an acknowledgement) would be answered with a reset, and a reset discards what the client has not read yet.
fn close(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    io::copy(&mut stream, &mut io::sink()).map(drop)
}

const PLAIN: &[u8] = &[0, 0, 0, SETTINGS, 0, 0, 0, 0, 0];
/// Settings by which a server takes one request at a time.
const ONE_STREAM: &[u8] = &[0, 0, 6, SETTINGS, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1];

const REQUESTS: u64 = 12;

/// Runs in which every request meets the server, each with the requests that the server read.
fn runs(greeting: &'static [u8], respond: Respond, change: fn(Drive) -> Drive) -> Vec<(Run, u64)> {
    let drives = |url: &str| {
        let open = [300.0, 1_000.0, 3_000.0].map(|rate| Drive::open(url, REQUESTS, REQUESTS as u32, rate));
        let shared = |users| Drive::closed(url, REQUESTS, users).with(|settings| settings.streams = 6);
        open.into_iter().chain([Drive::closed(url, REQUESTS, 1), shared(12)]).collect::<Vec<_>>()
    };
    let count = drives("http://localhost/").len();
    thread::scope(|scope| {
        let running: Vec<_> = (0..count)
            .map(|place| {
                scope.spawn(move || {
                    let server = Server::start(greeting, respond);
                    let url = format!("http://{}/", server.address);
                    let drive = drives(&url).swap_remove(place);
                    let drive = drive.with(|settings| settings.version = HttpVersion::Two);
                    let run = change(drive).run();
                    (run, server.requests.load(Ordering::Relaxed))
                })
            })
            .collect();
        running.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

/// The same without the last run, whose requests share connections: there one answer decides about others.
fn runs_alone(respond: Respond) -> Vec<(Run, u64)> {
    let mut runs = runs(PLAIN, respond, |drive| drive);
    runs.pop();
    runs
}

/// Every request ends with this fault.
fn all_end(greeting: &'static [u8], respond: Respond, fault: Fault) {
    all_end_after(greeting, respond, fault, |drive| drive);
}

fn all_end_after(greeting: &'static [u8], respond: Respond, fault: Fault, change: fn(Drive) -> Drive) {
    for (run, _) in runs(greeting, respond, change) {
        assert_eq!(faults(&run), [(fault, REQUESTS)]);
    }
}

/// Every request gets its answer. Returns the runs.
fn all_answered(greeting: &'static [u8], respond: Respond) -> Vec<(Run, u64)> {
    let runs = runs(greeting, respond, |drive| drive);
    for (run, _) in &runs {
        assert_eq!(count(run, Outcome::Ok), REQUESTS, "{:?}", faults(run));
        assert_eq!(all(run).status, [(200, REQUESTS)]);
    }
    runs
}

#[test]
fn every_request_is_answered_once_and_the_server_counts_the_same() {
    for (run, requests) in all_answered(PLAIN, |_, stream| (good(stream), Then::Read)) {
        assert_eq!(requests, REQUESTS);
        assert!(all(&run).bytes_received >= REQUESTS * 23, "frames are counted");
    }
}

#[test]
fn requests_wait_for_a_server_that_takes_one_at_a_time() {
    all_answered(ONE_STREAM, |_, stream| (good(stream), Then::Read));
}

#[test]
fn a_refused_stream_is_sent_again_once() {
    for (run, requests) in all_answered(PLAIN, |_, stream| match stream {
        1 => (reset(stream, 7), Then::Read),
        _ => (good(stream), Then::Read),
    }) {
        assert_eq!(requests, REQUESTS + all(&run).resent);
        assert!(all(&run).resent > 0);
    }
}

#[test]
fn a_stream_that_is_refused_again_is_a_fault_of_the_server() {
    all_end(PLAIN, |_, stream| (reset(stream, 7), Then::Read), Fault::H2Refused);
    assert_eq!(Fault::H2Refused.blame(), Blame::Server);
}

#[test]
fn a_stream_that_is_reset_in_its_body_leaves_the_others_alone() {
    let respond: Respond = |_, stream| {
        let head = frame(HEADERS, END_HEADERS, stream, STATUS_200);
        ([head, frame(DATA, 0, stream, b"fi"), reset(stream, 2)].concat(), Then::Read)
    };
    for (run, requests) in runs(PLAIN, respond, |drive| drive) {
        assert_eq!(faults(&run), [(Fault::H2Reset, REQUESTS)]);
        assert_eq!(requests, REQUESTS, "it is not sent again");
        let message = all(&run).faults[0].examples[0].clone();
        assert!(format!("{message:?}").contains("INTERNAL_ERROR"), "{message:?}");
        assert!(all(&run).connections <= REQUESTS, "connections stay");
    }
}

#[test]
fn a_reset_without_an_error_after_a_whole_answer_is_no_fault() {
    all_answered(PLAIN, |_, stream| ([good(stream), reset(stream, 0)].concat(), Then::Read));
}

#[test]
fn a_connection_that_takes_no_request_is_replaced_once() {
    all_end(PLAIN, |_, _| (goaway(0, 0), Then::Read), Fault::H2Goaway);
    all_end(PLAIN, |_, _| (goaway(0, 11), Then::Close), Fault::H2Goaway);
    assert_eq!(Fault::H2Goaway.blame(), Blame::Server);
}

#[test]
fn a_connection_that_ends_after_its_answer_is_replaced_without_a_fault() {
    let respond: Respond = |_, stream| ([goaway(stream, 0), good(stream)].concat(), Then::Read);
    for (run, _) in runs_alone(respond) {
        assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{:?}", faults(&run));
    }
}

#[test]
fn a_server_that_breaks_the_rules_is_named() {
    // A length that is wrong, a response without a status, a promise, fields that cannot be decoded, a frame too long.
    let broken: [Respond; 5] = [
        |_, stream| {
            let head = [STATUS_200, &field("content-length", "10")].concat();
            let head = frame(HEADERS, END_HEADERS, stream, &head);
            ([head, frame(DATA, END_STREAM, stream, b"fine")].concat(), Then::Read)
        },
        |_, stream| (frame(HEADERS, END_HEADERS | END_STREAM, stream, &field("a", "b")), Then::Read),
        |_, stream| {
            let promised = [&2_u32.to_be_bytes()[..], STATUS_200].concat();
            (frame(PUSH_PROMISE, END_HEADERS, stream, &promised), Then::Read)
        },
        |_, stream| (frame(HEADERS, END_HEADERS | END_STREAM, stream, &[0xFF; 8]), Then::Read),
        |_, stream| (frame(DATA, END_STREAM, stream, &vec![0; 20_000]), Then::Read),
    ];
    for respond in broken {
        all_end(PLAIN, respond, Fault::H2Protocol);
    }
    assert_eq!(Fault::H2Protocol.blame(), Blame::Protocol);
}

#[test]
fn a_head_without_end_is_ended_by_this_side() {
    let respond: Respond = |_, stream| {
        let mut bytes = frame(HEADERS, 0, stream, STATUS_200);
        for _ in 0..200 {
            bytes.extend(frame(CONTINUATION, 0, stream, &field("name", &"x".repeat(100)).repeat(100)));
        }
        (bytes, Then::Read)
    };
    for (run, _) in runs(PLAIN, respond, |drive| drive) {
        let found = faults(&run);
        assert_eq!(count(&run, Outcome::Ok), 0, "{found:?}");
        // The server can be ended while it writes.
        let expected = [Fault::H2Protocol, Fault::Reset, Fault::ClosedEarly];
        assert!(found.iter().all(|(fault, _)| expected.contains(fault)), "{found:?}");
    }
}

#[test]
fn a_server_without_http2_is_named() {
    let respond: Respond = |_, _| (Vec::new(), Then::Read);
    all_end(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", respond, Fault::H2NotSpoken);
    assert_eq!(Fault::H2NotSpoken.blame(), Blame::Protocol);
}

#[test]
fn a_server_that_hangs_up_is_named_by_how_far_it_came() {
    all_end(PLAIN, |_, _| (Vec::new(), Then::Close), Fault::ClosedEarly);
    let begun: Respond = |_, stream| (frame(HEADERS, END_HEADERS, stream, STATUS_200), Then::Close);
    for (run, _) in runs_alone(begun) {
        assert_eq!(faults(&run), [(Fault::ShortBody, REQUESTS)]);
    }
    all_end(PLAIN, |_, _| (Vec::new(), Then::Reset), Fault::Reset);
}

#[test]
fn a_server_that_says_nothing_is_a_timeout() {
    all_end_after(
        PLAIN,
        |_, _| (Vec::new(), Then::Read),
        Fault::RequestTimeout,
        |drive| drive.with(|settings| settings.request_timeout = Some(Nanos::from_millis(50))),
    );
}

#[test]
fn a_body_that_is_too_large_is_a_fault() {
    let respond: Respond = |_, stream| {
        let mut bytes = frame(HEADERS, END_HEADERS, stream, STATUS_200);
        for _ in 0..=BODY_MAX / 16_384 {
            bytes.extend(frame(DATA, 0, stream, &[b'x'; 16_384]));
        }
        (bytes, Then::Read)
    };
    all_end(PLAIN, respond, Fault::BodyLimit);
}

#[test]
fn pings_and_settings_in_masses_hold_nothing_up() {
    all_answered(PLAIN, |_, stream| {
        let noise = [frame(PING, 0, 0, &[0; 8]), frame(SETTINGS, 0, 0, &[])].concat().repeat(100);
        ([noise, good(stream)].concat(), Then::Read)
    });
}

#[test]
fn a_body_is_sent_whole() {
    for (run, requests) in
        runs(PLAIN, |_, stream| (good(stream), Then::Read), |drive| drive.method("POST", &[b'x'; 4_000]))
    {
        assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{:?}", faults(&run));
        assert_eq!(requests, REQUESTS);
        assert!(all(&run).bytes_sent > REQUESTS * 4_000);
    }
}

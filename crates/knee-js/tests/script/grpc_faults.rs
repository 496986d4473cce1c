//! Calls of gRPC against a server that writes frames as bytes, well or badly: the status that a script gets, and the
//! fault in the record.
//!
//! Each row is met by one call of twelve, by every third one, and by all. What scripts do with servers that keep the rules
//! is compared with k6 by `cargo xtask compat`.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use knee_core::outcome::{Fault, Outcome as Ended};
use knee_core::tally::Phase;
use knee_js::program::Limits;

use super::harness::run_against;
use super::server::Server;
use super::share::{self, Share};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// Calls of each run.
const CALLS: u64 = share::ALL;

/// The bytes of a frame (RFC 9113, 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Fields that are not indexed (RFC 7541, 6.2.2).
fn fields(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in pairs {
        bytes.extend([0, name.len() as u8]);
        bytes.extend(name.as_bytes());
        bytes.push(value.len() as u8);
        bytes.extend(value.as_bytes());
    }
    bytes
}

/// A head of a gRPC response with the usual fields and these.
fn head(stream: u32, pairs: &[(&str, &str)], flags: u8) -> Vec<u8> {
    let usual = [(":status", "200"), ("content-type", "application/grpc")];
    frame(HEADERS, END_HEADERS | flags, stream, &fields(&[&usual, pairs].concat()))
}

fn trailers(stream: u32, pairs: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &fields(pairs))
}

/// A message with its five bytes before it.
fn message(flag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut framed = vec![flag];
    framed.extend((bytes.len() as u32).to_be_bytes());
    framed.extend(bytes);
    framed
}

/// The text `fine` as a message of protobuf.
const FINE: &[u8] = b"\x0a\x04fine";
const OK: &[(&str, &str)] = &[("grpc-status", "0")];

/// A response with these bytes of body and these trailers.
fn response(stream: u32, body: &[u8], pairs: &[(&str, &str)]) -> Vec<u8> {
    [head(stream, &[], 0), frame(DATA, 0, stream, body), trailers(stream, pairs)].concat()
}

fn good(stream: u32) -> Vec<u8> {
    response(stream, &message(0, FINE), OK)
}

fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// A response over HTTP that no gRPC server gave.
fn http(stream: u32, status: &str) -> Vec<u8> {
    let pairs = [(":status", status), ("content-type", "text/html")];
    let head = frame(HEADERS, END_HEADERS, stream, &fields(&pairs));
    [head, frame(DATA, END_STREAM, stream, b"sorry")].concat()
}

/// What follows the bytes of an answer.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Read,
    Close,
}

type Respond = fn(stream: u32) -> Vec<u8>;

/// A server of which each call gets a good response as soon as its last message has come.
pub fn start_good() -> Server {
    start(Share::All, good, Then::Read)
}

/// A server of which a share of the calls gets `respond`, and each other one a good response.
fn start(share: Share, respond: Respond, then: Then) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = listener.local_addr().unwrap().to_string();
    let calls = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let calls = calls.clone();
            // Errors are expected: clients hang up in the middle.
            thread::spawn(move || drop(serve(stream, share, respond, then, &calls)));
        }
    });
    Server { base, journal: Arc::new(Mutex::new(Vec::new())) }
}

fn serve(
    mut stream: TcpStream,
    share: Share,
    respond: Respond,
    then: Then,
    calls: &AtomicU64,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut preface = [0; 24];
    stream.read_exact(&mut preface)?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
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
            if !share.has(calls.fetch_add(1, Ordering::Relaxed)) {
                stream.write_all(&good(id))?;
                continue;
            }
            stream.write_all(&respond(id))?;
            if then == Then::Close {
                stream.shutdown(Shutdown::Write)?;
                return io::copy(&mut stream, &mut io::sink()).map(drop);
            }
        }
    }
}

const SOURCE: &str = "import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'echo.proto');
export const options = { vus: 3, iterations: 12 };
export default () => {
  client.connect(__ENV.BASE, { plaintext: true });
  const response = client.invoke('echo.Echo/Say', { text: 'x' }, { timeout: '1s' });
  console.log('status', Number(response.status));
  client.close();
};";
const PROTO: &str = "syntax = \"proto3\"; package echo;
message Text { string text = 1; }
service Echo { rpc Say(Text) returns (Text); rpc Many(Text) returns (stream Text); }";

/// Expects the calls that meet `respond` to get `code`, and to be `fault` in the record.
fn check(respond: Respond, then: Then, code: u32, fault: Fault) {
    thread::scope(|scope| {
        for share in Share::EACH {
            scope.spawn(move || check_share(share, respond, then, code, fault));
        }
    });
}

fn check_share(share: Share, respond: Respond, then: Then, code: u32, fault: Fault) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.js");
    std::fs::write(&script, SOURCE).unwrap();
    std::fs::write(folder.path().join("echo.proto"), PROTO).unwrap();
    let outcome = run_against(&start(share, respond, then), &script, Limits::default(), &[]);
    let met =
        |code: u32| outcome.lines.iter().filter(|line| **line == format!("status {code}")).count() as u64;
    let bad = share.count();
    assert_eq!((met(code), met(0)), (bad, CALLS - bad), "{share:?}: {:?}", outcome.lines);
    let run = outcome.run.unwrap();
    let tally = run.measured.all();
    let faults: Vec<(Fault, u64)> = tally.faults.iter().map(|one| (one.fault, one.count)).collect();
    assert_eq!(faults, [(fault, bad)], "{share:?}: {:?}", tally.faults);
    assert_eq!(tally.count(Ended::Ok), CALLS - bad, "{share:?}");
    assert_eq!(tally.count(fault.outcome()), bad, "{share:?}");
}

/// Declares rows: a test for each.
macro_rules! rows {
    ($($name:ident: $respond:expr, $then:ident => $code:literal, $fault:ident;)*) => {
        $(#[test] fn $name() { check($respond, Then::$then, $code, Fault::$fault); })*
    };
}

rows! {
    a_status_without_a_response_is_the_status:
        |id| head(id, &[("grpc-status", "5"), ("grpc-message", "gone")], END_STREAM), Read => 5, GrpcStatus;
    a_status_after_a_message_is_the_status:
        |id| response(id, &message(0, FINE), &[("grpc-status", "13")]), Read => 13, GrpcStatus;
    a_status_that_is_no_number_is_unknown:
        |id| response(id, &message(0, FINE), &[("grpc-status", "fine")]), Read => 2, GrpcStatus;
    trailers_without_a_status_are_an_internal_error:
        |id| response(id, &message(0, FINE), &[("x-other", "1")]), Read => 13, GrpcStatus;
    a_stream_that_ends_without_trailers_is_an_internal_error:
        |id| [head(id, &[], 0), frame(DATA, END_STREAM, id, &message(0, FINE))].concat(), Read => 13, GrpcStatus;
    a_head_that_is_all_and_has_no_status_is_an_internal_error: |id| head(id, &[], END_STREAM), Read => 13, GrpcStatus;
    success_without_a_message_is_an_internal_error: |id| response(id, b"", OK), Read => 13, GrpcStatus;
    two_messages_are_an_internal_error:
        |id| response(id, &[message(0, FINE), message(0, FINE)].concat(), OK), Read => 13, GrpcStatus;
    a_message_that_is_cut_off_is_an_internal_error:
        |id| response(id, &message(0, FINE)[..7], OK), Read => 13, GrpcStatus;
    a_message_that_is_no_protobuf_is_an_internal_error:
        |id| response(id, &message(0, b"\x0a\xff"), OK), Read => 13, GrpcStatus;
    a_compressed_message_that_was_not_announced_is_an_internal_error:
        |id| response(id, &message(1, FINE), OK), Read => 13, GrpcStatus;
    a_message_of_another_form_is_an_internal_error: |id| response(id, &message(9, FINE), OK), Read => 13, GrpcStatus;
    a_message_that_says_it_is_too_long_exhausts_a_resource:
        |id| response(id, &[0, 0xff, 0xff, 0xff, 0xff, 1], OK), Read => 8, GrpcStatus;
    another_type_of_content_is_unknown:
        |id| frame(HEADERS, END_HEADERS | END_STREAM, id, &fields(&[(":status", "200"), ("content-type", "text/html")])),
        Read => 2, GrpcStatus;
    a_page_that_is_not_found_is_unimplemented: |id| http(id, "404"), Read => 12, GrpcStatus;
    a_page_that_is_forbidden_is_permission_denied: |id| http(id, "403"), Read => 7, GrpcStatus;
    a_service_that_is_away_is_unavailable: |id| http(id, "503"), Read => 14, GrpcStatus;
    silence_is_a_deadline_that_is_over: |_| Vec::new(), Read => 4, RequestTimeout;
    silence_after_the_head_is_a_deadline_that_is_over: |id| head(id, &[], 0), Read => 4, RequestTimeout;
    silence_within_a_message_is_a_deadline_that_is_over:
        |id| [head(id, &[], 0), frame(DATA, 0, id, &message(0, FINE)[..6])].concat(), Read => 4, RequestTimeout;
    a_reset_stream_is_an_internal_error: |id| reset(id, 2), Read => 13, H2Reset;
    a_stream_that_is_reset_within_a_message_is_an_internal_error:
        |id| [head(id, &[], 0), frame(DATA, 0, id, &message(0, FINE)[..6]), reset(id, 2)].concat(),
        Read => 13, H2Reset;
    a_stream_that_the_server_cancels_is_canceled: |id| reset(id, 8), Read => 1, H2Reset;
    a_server_that_wants_calm_exhausts_a_resource: |id| reset(id, 11), Read => 8, H2Reset;
    a_connection_that_ends_before_a_response_is_unavailable: |_| Vec::new(), Close => 14, ClosedEarly;
    a_connection_that_ends_within_a_message_is_unavailable:
        |id| [head(id, &[], 0), frame(DATA, 0, id, &message(0, FINE)[..6])].concat(), Close => 14, ShortBody;
    a_frame_of_a_stream_that_nobody_opened_breaks_the_connection:
        |id| frame(DATA, 0, id + 100, b"x"), Close => 14, H2Protocol;
}

#[test]
fn a_server_that_goes_away_gets_the_call_again_on_a_new_connection() {
    // As grpc-go does with a call that the server says it has not taken.
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.js");
    std::fs::write(&script, SOURCE).unwrap();
    std::fs::write(folder.path().join("echo.proto"), PROTO).unwrap();
    let goaway = |_| frame(GOAWAY, 0, 0, &[0; 8]);
    let outcome = run_against(&start(Share::One, goaway, Then::Close), &script, Limits::default(), &[]);
    let run = outcome.run.unwrap();
    assert_eq!(run.measured.all().count(Ended::Ok), CALLS, "{:?}", outcome.lines);
}

#[test]
fn the_messages_of_a_server_that_streams_have_times_in_the_record() {
    let source = "import grpc from 'k6/net/grpc';
        const client = new grpc.Client();
        client.load([], 'echo.proto');
        export const options = { iterations: 4 };
        export default () => {
          client.connect(__ENV.BASE, { plaintext: true });
          const stream = new grpc.Stream(client, 'echo.Echo/Many');
          stream.on('data', (message) => console.log(message.text));
          stream.on('end', () => client.close());
          stream.write({ text: 'x' });
          stream.end();
        };";
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.js");
    std::fs::write(&script, source).unwrap();
    std::fs::write(folder.path().join("echo.proto"), PROTO).unwrap();
    let three = |id| {
        let one = frame(DATA, 0, id, &message(0, FINE));
        [head(id, &[], 0), one.clone(), one.clone(), one, trailers(id, OK)].concat()
    };
    let outcome = run_against(&start(Share::All, three, Then::Read), &script, Limits::default(), &[]);
    assert_eq!(outcome.lines, ["fine"; 12]);
    let tally = outcome.run.unwrap().measured.all();
    let counts = [Phase::FirstEvent, Phase::EventGap, Phase::LongestGap]
        .map(|phase| tally.phases[phase as usize].count());
    assert_eq!((tally.count(Ended::Ok), counts), (4, [4, 8, 4]));
}

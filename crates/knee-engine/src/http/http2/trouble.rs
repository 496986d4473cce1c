//! What an error of the library means for a request.

use std::io;

use knee_core::outcome::Fault;

use super::super::failure::{Failure, Http2Problem, Http2Scope as Scope, Operation};
use super::super::response::Unprocessed;
use super::io::Shared;

/// What became of a request: why it failed, and whether the server processed it. `has_begun` says whether bytes of the
/// response were there, `is_reused` whether the connection had served a request before.
pub fn of(error: &h2::Error, shared: &Shared, has_begun: bool, is_reused: bool) -> (Failure, Unprocessed) {
    if shared.is_http1.get() {
        return (Fault::H2NotSpoken.into(), Unprocessed::No);
    }
    if let Some(reason) = error.reason() {
        return by_reason(error, u32::from(reason));
    }
    let hung_up = |failure: Failure| {
        let is_hang_up = matches!(failure.fault, Fault::ClosedEarly | Fault::Reset | Fault::TlsBroken);
        let possibly = is_reused && is_hang_up && !has_begun;
        (failure, if possibly { Unprocessed::Possibly } else { Unprocessed::No })
    };
    if let Some(known) = &*shared.broken.borrow() {
        return match known.fault {
            Fault::H2Goaway => (known.clone(), Unprocessed::Surely),
            _ => hung_up(known.clone()),
        };
    }
    match error.get_io() {
        // The library's own errors for a stream of bytes that ended, also within a frame.
        Some(error) if error.raw_os_error().is_none() && is_end(error.kind(), shared.is_ended.get()) => {
            hung_up(if has_begun { Fault::ShortBody } else { Fault::ClosedEarly }.into())
        }
        Some(error) => hung_up(Failure::exchanging(error, Operation::Read)),
        None => (Failure::new(Fault::H2Protocol, error), Unprocessed::No),
    }
}

/// Whether an error of the library means an end. For an end within a frame it has no kind of its own.
const fn is_end(kind: io::ErrorKind, is_ended: bool) -> bool {
    use io::ErrorKind::{BrokenPipe, NotConnected, Other, UnexpectedEof};
    matches!(kind, UnexpectedEof | BrokenPipe | NotConnected) || (is_ended && matches!(kind, Other))
}

fn by_reason(error: &h2::Error, code: u32) -> (Failure, Unprocessed) {
    let (fault, scope, unprocessed) = if error.is_go_away() && error.is_remote() {
        // Streams that the server has taken go on; this one it has not.
        (Fault::H2Goaway, Scope::GoAway, Unprocessed::Surely)
    } else if error.is_reset() && error.is_remote() {
        match h2::Reason::from(code) {
            h2::Reason::REFUSED_STREAM => (Fault::H2Refused, Scope::Stream, Unprocessed::Surely),
            _ => (Fault::H2Reset, Scope::Stream, Unprocessed::No),
        }
    } else {
        let scope = if error.is_go_away() { Scope::Connection } else { Scope::Stream };
        (Fault::H2Protocol, scope, Unprocessed::No)
    };
    let http2 = Some(Http2Problem { scope, code });
    (Failure { http2, ..Failure::new(fault, words(scope, code)) }, unprocessed)
}

/// The problem in the words that k6 has for it.
fn words(scope: Scope, code: u32) -> String {
    let what = match scope {
        Scope::GoAway => "received GoAway",
        Scope::Stream => "stream error",
        Scope::Connection => "connection error",
    };
    format!("http2: {what} with http2 ErrCode {}", name_of(code))
}

/// The name of an error code (RFC 9113, 7).
fn name_of(code: u32) -> String {
    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
    NAMES
        .get(code as usize)
        .map_or_else(|| format!("unknown error code 0x{code:x}"), |name| (*name).to_owned())
}

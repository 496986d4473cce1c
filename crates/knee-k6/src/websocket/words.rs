//! k6's words for what ends sockets and handshakes.
//!
//! Scripts read these texts, so they are those of k6 as far as this program knows what they contain.

use std::net::SocketAddr;

use knee_core::outcome::Fault;
use knee_engine::http::failure::{Failure, Operation};
use knee_engine::http::origin::Origin;
use knee_engine::http::websocket::handshake::Refusal;
use knee_engine::http::websocket::opening::OpenError;

use crate::go_quote::quoted;
use crate::http::{error_code, proxy_error};

/// After a close nothing more is sent.
pub const CLOSE_SENT: &str = "websocket: close sent";
/// The reason of a socket that ended without a close.
pub const UNEXPECTED_EOF: &str = "unexpected EOF";
/// The code of a socket that ended without a close.
pub const ABNORMAL: u16 = 1006;

/// A close of the server as an error.
pub fn of_close(code: u16, reason: &str) -> String {
    let meaning = match code {
        1000 => " (normal)",
        1001 => " (going away)",
        1002 => " (protocol error)",
        1003 => " (unsupported data)",
        1005 => " (no status)",
        ABNORMAL => " (abnormal closure)",
        1007 => " (invalid payload data)",
        1008 => " (policy violation)",
        1009 => " (message too big)",
        1010 => " (mandatory extension missing)",
        1011 => " (internal server error)",
        _ => "",
    };
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!("websocket: close {code}{meaning}{reason}")
}

/// A broken connection between these ends.
pub fn of_broken(failure: &Failure, ends: Option<(SocketAddr, SocketAddr)>) -> String {
    let (words, _) = error_code::of_failure(failure);
    let during = match failure.system.map(|system| system.during) {
        Some(Operation::Write) => "write",
        Some(Operation::Read) => "read",
        Some(Operation::Open) | None => return words,
    };
    match ends {
        Some((own, other)) => format!("{during} tcp {own}->{other}: {words}"),
        None => words,
    }
}

/// Why a handshake did not come about.
pub fn of_handshake(error: &OpenError, origin: &Origin) -> String {
    match error {
        OpenError::Refused(Refusal::BadHandshake) => "websocket: bad handshake".to_owned(),
        OpenError::Refused(Refusal::Compression) => "websocket: invalid compression negotiation".to_owned(),
        OpenError::NoResponse(line) => format!("malformed HTTP response {}", quoted(line.as_bytes())),
        OpenError::Failed(failure @ Failure { proxy: Some(problem), .. }) => {
            proxy_error::of_handshake(problem, failure)
        }
        OpenError::Failed(failure) if failure.fault == Fault::ClosedEarly => UNEXPECTED_EOF.to_owned(),
        OpenError::Failed(failure) => {
            let detail = error_code::detail_of(failure, origin);
            detail.unwrap_or_else(|| error_code::of_failure(failure).0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closes_are_named_as_k6_names_them() {
        // Recorded from k6 v1.8.1.
        assert_eq!(of_close(1011, "boom"), "websocket: close 1011 (internal server error): boom");
        assert_eq!(of_close(3001, "x"), "websocket: close 3001: x");
        assert_eq!(of_close(1005, ""), "websocket: close 1005 (no status)");
        assert_eq!(
            of_close(ABNORMAL, UNEXPECTED_EOF),
            "websocket: close 1006 (abnormal closure): unexpected EOF"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_broken_connection_is_named_by_its_ends() {
        let failure = Failure::exchanging(&std::io::Error::from_raw_os_error(32), Operation::Write);
        let ends = ("127.0.0.1:5".parse().unwrap(), "127.0.0.1:6".parse().unwrap());
        // Recorded from k6 v1.8.1, apart from the ports.
        assert_eq!(of_broken(&failure, Some(ends)), "write tcp 127.0.0.1:5->127.0.0.1:6: write: broken pipe");
    }
}

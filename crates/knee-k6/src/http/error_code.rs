//! k6's codes and messages for requests that failed.
//!
//! Does not decide what failed; the engine does.

use std::io;

use knee_core::outcome::Fault;
use knee_engine::http::failure::{
    Blocked, Failure, Http2Problem, Http2Scope, Operation, SystemError, TlsProblem,
};
use knee_engine::http::origin::Origin;

/// The code and the message of a failure without a complete response, unless a proxy was why.
pub fn of_failure(failure: &Failure) -> (String, u16) {
    if let Some(blocked) = failure.blocked {
        return match blocked {
            Blocked::Name => ("hostname is blocked".to_owned(), 1111),
            Blocked::Address => ("ip is blacklisted".to_owned(), 1110),
        };
    }
    if let Some(problem) = failure.http2 {
        return of_http2(problem, failure);
    }
    let of_tls = failure.tls.and_then(of_tls);
    if let Some(known) = of_tls.or_else(|| failure.system.map(of_system)) {
        return known;
    }
    let known = |words: &str, code| (words.to_owned(), code);
    match failure.fault {
        Fault::RequestTimeout => known("request timeout", 1050),
        Fault::ConnectTimeout => known("dial: i/o timeout", 1211),
        Fault::Refused => known("dial: connection refused", 1212),
        Fault::DnsNotFound => known("lookup: no such host", 1101),
        Fault::ClosedEarly => known("EOF", 1000),
        Fault::ShortBody => known("unexpected EOF", 1000),
        fault => {
            let words = failure.message.clone().unwrap_or_else(|| fault.sentence().to_owned());
            (words, code_of(fault))
        }
    }
}

const fn code_of(fault: Fault) -> u16 {
    match fault {
        Fault::DnsTimeout => 1100,
        Fault::Unreachable
        | Fault::DescriptorsExhausted
        | Fault::PortsExhausted
        | Fault::BuffersExhausted => 1213,
        Fault::Reset => 1220,
        Fault::DecodeFailed | Fault::DecodeLimit => 1701,
        Fault::NetworkOther => 1200,
        _ => 1000,
    }
}

/// The same for HTTP/2: the words are k6's already.
fn of_http2(problem: Http2Problem, failure: &Failure) -> (String, u16) {
    let base = match problem.scope {
        Http2Scope::GoAway => 1610,
        Http2Scope::Stream => 1630,
        Http2Scope::Connection => 1650,
    };
    let code = u16::try_from(problem.code).ok().filter(|code| *code <= 13).map_or(0, |code| code + 1);
    (failure.message.clone().unwrap_or_default(), base + code)
}

/// The same for TLS.
fn of_tls(problem: TlsProblem) -> Option<(String, u16)> {
    let known = |words: &str, code| Some((words.to_owned(), code));
    match problem {
        TlsProblem::UnknownIssuer => known("x509: unknown authority", 1310),
        TlsProblem::OtherName => known("x509: certificate doesn't match hostname", 1311),
        TlsProblem::OutOfDate => known("x509: certificate has expired or is not yet valid", 1000),
        TlsProblem::Alert(number) => Some((format!("remote error: tls: {}", alert(number)), 1010)),
        TlsProblem::NotTls | TlsProblem::PlainHttp => {
            known("tls: first record does not look like a TLS handshake", 1301)
        }
        TlsProblem::Closed => known("EOF", 1000),
    }
}

/// The same for errors of the system, by Go's names for operations.
fn of_system(SystemError { number, during }: SystemError) -> (String, u16) {
    let error = io::Error::from_raw_os_error(number);
    let known = |words: &str, code| (words.to_owned(), code);
    let name = match during {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Open => {
            return match error.kind() {
                io::ErrorKind::ConnectionRefused => known("dial: connection refused", 1212),
                io::ErrorKind::TimedOut => known("dial: i/o timeout", 1211),
                _ => (format!("dial: unknown errno {number} error with msg `{}`", sentence(&error)), 1213),
            };
        }
    };
    match error.kind() {
        io::ErrorKind::ConnectionReset => (format!("{name}: connection reset by peer"), 1220),
        io::ErrorKind::BrokenPipe => (format!("{name}: broken pipe"), 1201),
        io::ErrorKind::TimedOut => known("request timeout", 1050),
        _ => (format!("{name}: {}", sentence(&error)), 1200),
    }
}

/// What Go says about an error of the system.
pub(super) fn sentence_of(system: SystemError) -> String {
    sentence(&io::Error::from_raw_os_error(system.number))
}

/// The system's sentence for an error as Go has it: without a number and a capital.
fn sentence(error: &io::Error) -> String {
    let text = error.to_string();
    let mut chars = text.split(" (os error").next().unwrap_or_default().chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// Go's words for an alert (RFC 8446, 6).
const fn alert(number: u8) -> &'static str {
    match number {
        0 => "close notify",
        10 => "unexpected message",
        20 => "bad record MAC",
        22 => "record overflow",
        40 => "handshake failure",
        42 => "bad certificate",
        43 => "unsupported certificate",
        44 => "revoked certificate",
        45 => "expired certificate",
        46 => "unknown certificate",
        47 => "illegal parameter",
        48 => "unknown certificate authority",
        49 => "access denied",
        50 => "error decoding message",
        51 => "error decrypting message",
        70 => "protocol version not supported",
        71 => "insufficient security level",
        80 => "internal error",
        86 => "inappropriate fallback",
        90 => "user canceled",
        109 => "missing extension",
        110 => "unsupported extension",
        112 => "unrecognized name",
        116 => "certificate required",
        120 => "no application protocol",
        _ => "alert",
    }
}

/// A longer message, where k6 shows people more than scripts.
pub fn detail_of(failure: &Failure, origin: &Origin) -> Option<String> {
    let Origin { host, port, .. } = origin;
    if failure.proxy.is_some() {
        return None;
    }
    if failure.tls == Some(TlsProblem::PlainHttp) {
        return Some("http: server gave HTTP response to HTTPS client".to_owned());
    }
    let is_certificate = matches!(
        failure.tls,
        Some(TlsProblem::UnknownIssuer | TlsProblem::OtherName | TlsProblem::OutOfDate)
    );
    if failure.blocked.is_some() || is_certificate {
        return failure.message.clone();
    }
    match failure.fault {
        Fault::Refused => {
            // The address of a name can have changed since; one that was written is certain.
            let address = host.parse::<std::net::IpAddr>().ok()?;
            let address = std::net::SocketAddr::new(address, *port);
            Some(format!("dial tcp {address}: connect: connection refused"))
        }
        Fault::DnsNotFound => Some(format!("lookup {host}: no such host")),
        _ => None,
    }
}

/// The code of a complete response with an error status; 0 for others.
pub const fn of_status(status: u16) -> u16 {
    match status {
        400..=599 => 1000 + status,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tls_objects_to_has_the_numbers_of_k6() {
        let failure = |tls, fault| Failure { tls, ..Failure::new(fault, "words of the library") };
        for (objection, code, words) in [
            (TlsProblem::UnknownIssuer, 1310, "x509: unknown authority"),
            (TlsProblem::OtherName, 1311, "x509: certificate doesn't match hostname"),
            (TlsProblem::OutOfDate, 1000, "x509: certificate has expired or is not yet valid"),
            (TlsProblem::Alert(40), 1010, "remote error: tls: handshake failure"),
            (TlsProblem::NotTls, 1301, "tls: first record does not look like a TLS handshake"),
            (TlsProblem::PlainHttp, 1301, "tls: first record does not look like a TLS handshake"),
            (TlsProblem::Closed, 1000, "EOF"),
        ] {
            let told = of_failure(&failure(Some(objection), Fault::TlsCertificate));
            assert_eq!(told, (words.to_owned(), code), "{objection:?}");
        }
        assert_eq!(of_failure(&failure(None, Fault::TlsHandshake)).1, 1000);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn errors_of_the_system_have_the_numbers_of_k6() {
        let error = io::Error::from_raw_os_error;
        let (read, write) = (Operation::Read, Operation::Write);
        for (failure, words, code) in [
            (Failure::opening(&error(111)), "dial: connection refused", 1212),
            (Failure::opening(&error(110)), "dial: i/o timeout", 1211),
            (
                Failure::opening(&error(113)),
                "dial: unknown errno 113 error with msg `no route to host`",
                1213,
            ),
            (
                Failure::opening(&error(99)),
                "dial: unknown errno 99 error with msg `cannot assign requested address`",
                1213,
            ),
            (Failure::exchanging(&error(104), read), "read: connection reset by peer", 1220),
            (Failure::exchanging(&error(104), write), "write: connection reset by peer", 1220),
            (Failure::exchanging(&error(32), write), "write: broken pipe", 1201),
            (Failure::exchanging(&error(110), read), "request timeout", 1050),
            (Failure::exchanging(&error(113), read), "read: no route to host", 1200),
        ] {
            assert_eq!(of_failure(&failure), (words.to_owned(), code));
        }
    }

    #[test]
    fn error_statuses_have_numbers_of_their_own() {
        assert_eq!((of_status(404), of_status(503), of_status(302)), (1404, 1503, 0));
    }
}

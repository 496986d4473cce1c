//! k6's codes and messages for proxies that gave no way to a server: those of Go's client for requests, and those of the
//! library that k6 opens sockets with.
//!
//! Does not decide what failed; the engine does.

use std::net::SocketAddr;

use knee_core::outcome::Fault;
use knee_engine::http::failure::{Failure, ProxyProblem, SocksTrouble, TlsProblem};

use super::error_code;
use crate::go_quote::quoted;

/// The error of a connection by its scheme, as Go names it.
const OPERATION: &str = "proxyconnect tcp";

/// The code and the message of a failure without a complete response, whether a proxy was why or not.
pub fn of_failure(failure: &Failure) -> (String, u16) {
    match &failure.proxy {
        Some(problem) => of_request(problem, failure),
        None => error_code::of_failure(failure),
    }
}

/// The code and the message of a request that failed at a proxy.
fn of_request(problem: &ProxyProblem, failure: &Failure) -> (String, u16) {
    match problem {
        ProxyProblem::Unreached(address) => {
            (format!("{OPERATION}: {}", of_connection(failure, *address)), 1200)
        }
        ProxyProblem::Closed => ("unexpected EOF".to_owned(), 1000),
        ProxyProblem::NotHttp(line) => (not_http(line), 1000),
        ProxyProblem::Answered(words) => (answered(words).to_owned(), 1000),
        ProxyProblem::Socks { proxy, server, trouble } => {
            let proxy = proxy.map(|proxy| proxy.to_string()).unwrap_or_default();
            (format!("socks connect tcp {proxy}->{server}: {}", of_socks(*trouble, failure)), 1200)
        }
    }
}

/// The message of a socket's handshake that failed at a proxy.
pub fn of_handshake(problem: &ProxyProblem, failure: &Failure) -> String {
    match problem {
        ProxyProblem::Unreached(address) => of_connection(failure, *address),
        ProxyProblem::Closed => "unexpected EOF".to_owned(),
        ProxyProblem::NotHttp(line) => not_http(line),
        ProxyProblem::Answered(words) => answered(words).to_owned(),
        ProxyProblem::Socks { proxy, trouble, .. } => {
            let proxy = proxy.map(|proxy| proxy.to_string()).unwrap_or_default();
            let at = format!("SOCKS5 proxy at {proxy}");
            let words = match trouble {
                SocksTrouble::NoMethod => format!("{at} requires authentication"),
                SocksTrouble::Login => format!("{at} rejected username/password"),
                SocksTrouble::Version(number) => format!("{at} has unexpected version {number}"),
                SocksTrouble::Answer(number) => {
                    format!("{at} failed to connect: {}", of_answer(*number, "general failure", "forbidden"))
                }
                SocksTrouble::Address(number) => format!("got unknown address type {number} from {at}"),
                SocksTrouble::Method(_) | SocksTrouble::Name | SocksTrouble::Broken => {
                    format!("failed to read greeting from {at}: {}", of_socks(*trouble, failure))
                }
            };
            format!("proxy: {words}")
        }
    }
}

/// What Go says about a connection to the proxy itself.
fn of_connection(failure: &Failure, address: Option<SocketAddr>) -> String {
    let message = || failure.message.clone().unwrap_or_else(|| failure.fault.sentence().to_owned());
    let dial = address.map_or_else(|| "dial tcp".to_owned(), |address| format!("dial tcp {address}"));
    if failure.blocked.is_some() {
        return message();
    }
    match (failure.tls, failure.fault) {
        (Some(TlsProblem::UnknownIssuer), _) => {
            "tls: failed to verify certificate: x509: certificate signed by unknown authority".to_owned()
        }
        (Some(TlsProblem::OtherName | TlsProblem::OutOfDate), _) => message(),
        (Some(_), _) => error_code::of_failure(failure).0,
        (_, Fault::ConnectTimeout) => format!("{dial}: i/o timeout"),
        (_, Fault::Refused) => format!("{dial}: connect: connection refused"),
        (_, Fault::DnsNotFound) => {
            let name = failure.message.as_deref().and_then(|message| message.split(": ").next());
            format!("lookup {}: no such host", name.unwrap_or_default())
        }
        _ => match failure.system {
            Some(system) => format!("{dial}: connect: {}", error_code::sentence_of(system)),
            None => message(),
        },
    }
}

fn not_http(line: &str) -> String {
    format!("malformed HTTP response {}", quoted(line.as_bytes()))
}

/// The words of an answer to `CONNECT`.
fn answered(words: &str) -> &str {
    if words.is_empty() { "unknown status code" } else { words }
}

fn of_socks(trouble: SocksTrouble, failure: &Failure) -> String {
    match trouble {
        SocksTrouble::NoMethod => "no acceptable authentication methods".to_owned(),
        SocksTrouble::Method(number) => format!("unsupported authentication method {number}"),
        SocksTrouble::Login => "username/password authentication failed".to_owned(),
        SocksTrouble::Version(number) => format!("unexpected protocol version {number}"),
        SocksTrouble::Answer(number) => {
            format!(
                "unknown error {}",
                of_answer(number, "general SOCKS server failure", "not allowed by ruleset")
            )
        }
        SocksTrouble::Address(number) => format!("unknown address type {number}"),
        SocksTrouble::Name => "FQDN too long".to_owned(),
        SocksTrouble::Broken => error_code::of_failure(failure).0,
    }
}

/// The meaning of a number in an answer; two of them have other words in both libraries.
fn of_answer(number: u8, general: &str, forbidden: &str) -> String {
    match number {
        1 => general.to_owned(),
        2 => format!("connection {forbidden}"),
        3 => "network unreachable".to_owned(),
        4 => "host unreachable".to_owned(),
        5 => "connection refused".to_owned(),
        6 => "TTL expired".to_owned(),
        7 => "command not supported".to_owned(),
        8 => "address type not supported".to_owned(),
        other => format!("unknown code: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(fault: Fault, problem: ProxyProblem) -> Failure {
        Failure { proxy: Some(Box::new(problem)), ..Failure::new(fault, "p.test: words of the engine") }
    }

    #[test]
    fn problems_with_a_proxy_have_the_messages_and_the_codes_of_k6() {
        let at = Some("127.0.0.1:1".parse().unwrap());
        let socks =
            |trouble| ProxyProblem::Socks { proxy: at, server: "service.test:80".to_owned(), trouble };
        let answered = ProxyProblem::Answered("Proxy Authentication Required".to_owned());
        for (fault, problem, words, code) in [
            (
                Fault::Refused,
                ProxyProblem::Unreached(at),
                "proxyconnect tcp: dial tcp 127.0.0.1:1: connect: connection refused",
                1200,
            ),
            (
                Fault::DnsNotFound,
                ProxyProblem::Unreached(None),
                "proxyconnect tcp: lookup p.test: no such host",
                1200,
            ),
            (Fault::ProxyRefused, answered, "Proxy Authentication Required", 1000),
            (Fault::ClosedEarly, ProxyProblem::Closed, "unexpected EOF", 1000),
            (
                Fault::MalformedHead,
                ProxyProblem::NotHttp("SSH-2.0".to_owned()),
                "malformed HTTP response \"SSH-2.0\"",
                1000,
            ),
            (
                Fault::ProxyRefused,
                socks(SocksTrouble::Answer(5)),
                "socks connect tcp 127.0.0.1:1->service.test:80: unknown error connection refused",
                1200,
            ),
            (
                Fault::ClosedEarly,
                socks(SocksTrouble::Broken),
                "socks connect tcp 127.0.0.1:1->service.test:80: EOF",
                1200,
            ),
        ] {
            let failure = failure(fault, problem);
            assert_eq!(of_failure(&failure), (words.to_owned(), code));
        }
    }

    #[test]
    fn sockets_name_the_same_problems_in_other_words() {
        let at = Some("127.0.0.1:1".parse().unwrap());
        let words = |fault, problem: ProxyProblem| of_handshake(&problem, &failure(fault, problem.clone()));
        let socks =
            |trouble| ProxyProblem::Socks { proxy: at, server: "service.test:80".to_owned(), trouble };
        assert_eq!(
            words(Fault::Refused, ProxyProblem::Unreached(at)),
            "dial tcp 127.0.0.1:1: connect: connection refused"
        );
        assert_eq!(
            words(Fault::ProxyRefused, socks(SocksTrouble::Answer(2))),
            "proxy: SOCKS5 proxy at 127.0.0.1:1 failed to connect: connection forbidden"
        );
    }
}

//! k6's codes and messages for requests that failed.
//!
//! Does not decide what failed; the engine does.

use knee_core::outcome::Fault;
use knee_engine::http::failure::{Blocked, Failure, TlsProblem};
use knee_engine::http::origin::Origin;

/// The code and the message of a failure without a complete response.
pub fn of_failure(failure: &Failure) -> (String, u16) {
    let code = code_of(failure);
    if let Some(blocked) = failure.blocked {
        let words = match blocked {
            Blocked::Name => "hostname is blocked",
            Blocked::Address => "ip is blacklisted",
        };
        return (words.to_owned(), code);
    }
    let words = match failure.tls {
        Some(TlsProblem::UnknownIssuer) => Some("x509: unknown authority"),
        Some(TlsProblem::OtherName) => Some("x509: certificate doesn't match hostname"),
        Some(TlsProblem::OutOfDate) => Some("x509: certificate has expired or is not yet valid"),
        Some(TlsProblem::Alert) | None => None,
    };
    if let Some(words) = words {
        return (words.to_owned(), code);
    }
    let words = match failure.fault {
        Fault::RequestTimeout => "request timeout".to_owned(),
        Fault::ConnectTimeout => "dial: i/o timeout".to_owned(),
        Fault::Refused => "dial: connection refused".to_owned(),
        Fault::Reset => "connection reset by peer".to_owned(),
        Fault::ClosedEarly => "EOF".to_owned(),
        Fault::ShortBody => "unexpected EOF".to_owned(),
        Fault::DnsNotFound => "lookup: no such host".to_owned(),
        _ => failure.message.clone().unwrap_or_else(|| failure.fault.sentence().to_owned()),
    };
    (words, code)
}

/// A longer message, where k6 shows people more than scripts.
pub fn detail_of(failure: &Failure, origin: &Origin) -> Option<String> {
    let Origin { host, port, .. } = origin;
    if failure.blocked.is_some() || failure.tls.is_some() {
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

fn code_of(failure: &Failure) -> u16 {
    match failure.blocked {
        Some(Blocked::Name) => return 1111,
        Some(Blocked::Address) => return 1110,
        None => {}
    }
    match failure.tls {
        Some(TlsProblem::UnknownIssuer) => return 1310,
        Some(TlsProblem::OtherName) => return 1311,
        Some(TlsProblem::Alert) => return 1010,
        Some(TlsProblem::OutOfDate) | None => {}
    }
    match failure.fault {
        Fault::RequestTimeout => 1050,
        Fault::DnsNotFound => 1101,
        Fault::DnsTimeout => 1100,
        Fault::ConnectTimeout => 1211,
        Fault::Refused => 1212,
        Fault::Unreachable => 1213,
        Fault::Reset => 1220,
        Fault::DescriptorsExhausted | Fault::PortsExhausted | Fault::BuffersExhausted => 1210,
        Fault::DecodeFailed | Fault::DecodeLimit => 1701,
        Fault::NetworkOther => 1200,
        _ => 1000,
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
            (TlsProblem::Alert, 1010, "words of the library"),
        ] {
            let told = of_failure(&failure(Some(objection), Fault::TlsCertificate));
            assert_eq!(told, (words.to_owned(), code), "{objection:?}");
        }
        assert_eq!(of_failure(&failure(None, Fault::TlsHandshake)).1, 1000);
    }

    #[test]
    fn error_statuses_have_numbers_of_their_own() {
        assert_eq!((of_status(404), of_status(503), of_status(302)), (1404, 1503, 0));
    }
}

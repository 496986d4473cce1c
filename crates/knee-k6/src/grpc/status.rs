//! How a call ended: gRPC's codes, from trailers, from HTTP, from HTTP/2 and from failures of the connection.
//!
//! The mappings are those of gRPC over HTTP/2 (its specification, "Errors") as grpc-go has them; so are the words.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use knee_core::outcome::Fault;
use knee_engine::http::failure::{Failure, Http2Scope};
use knee_engine::http::http2::duplex::FieldList;
use knee_engine::http::origin::Origin;

use super::metadata::field;
use crate::http::error_code;

/// Base64 with or without padding, as gRPC allows both.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A code of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the protocol")]
pub enum Code {
    Ok = 0,
    Canceled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
}

impl Code {
    /// Every code, by its number.
    pub const ALL: [(Self, &str); 17] = [
        (Self::Ok, "OK"),
        (Self::Canceled, "Canceled"),
        (Self::Unknown, "Unknown"),
        (Self::InvalidArgument, "InvalidArgument"),
        (Self::DeadlineExceeded, "DeadlineExceeded"),
        (Self::NotFound, "NotFound"),
        (Self::AlreadyExists, "AlreadyExists"),
        (Self::PermissionDenied, "PermissionDenied"),
        (Self::ResourceExhausted, "ResourceExhausted"),
        (Self::FailedPrecondition, "FailedPrecondition"),
        (Self::Aborted, "Aborted"),
        (Self::OutOfRange, "OutOfRange"),
        (Self::Unimplemented, "Unimplemented"),
        (Self::Internal, "Internal"),
        (Self::Unavailable, "Unavailable"),
        (Self::DataLoss, "DataLoss"),
        (Self::Unauthenticated, "Unauthenticated"),
    ];
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The code; servers can send numbers that are no [`Code`].
    pub code: u32,
    /// The message.
    pub message: String,
    /// The bytes of a `google.rpc.Status`, if the server sent them.
    pub details: Option<Vec<u8>>,
}

impl Status {
    /// A status of this program.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code: code as u32, message: message.into(), details: None }
    }

    /// Whether the call succeeded.
    pub const fn is_ok(&self) -> bool {
        self.code == 0
    }

    /// As the record names it: the code, and the message if there is one.
    pub fn shown(&self) -> String {
        let name = self.name();
        if self.message.is_empty() { name } else { format!("{name}: {}", self.message) }
    }

    /// As errors of Go show it.
    pub fn rpc_error(&self) -> String {
        format!("rpc error: code = {} desc = {}", self.name(), self.message)
    }

    fn name(&self) -> String {
        let known = Code::ALL.get(self.code as usize).map(|(_, name)| (*name).to_owned());
        known.unwrap_or_else(|| format!("Code({})", self.code))
    }

    /// The status in trailers, or in a head that is all there is; `None` if there is none.
    pub fn of_fields(fields: &FieldList) -> Option<Self> {
        let code = std::str::from_utf8(field(fields, "grpc-status")?).ok();
        // Negative numbers wrap around, as in grpc-go.
        let code = code.and_then(|code| code.trim().parse::<i64>().ok()).map(|code| code as u32);
        let Some(code) = code else {
            return Some(Self::new(Code::Unknown, "malformed grpc-status"));
        };
        let message = field(fields, "grpc-message").map(percent_decoded).unwrap_or_default();
        let details = field(fields, "grpc-status-details-bin").and_then(|text| BASE64.decode(text).ok());
        Some(Self { code, message, details })
    }

    /// The status of a response without one.
    pub fn of_http(http: u16, content_type: Option<&[u8]>) -> Self {
        let code = match http {
            400 => Code::Internal,
            401 => Code::Unauthenticated,
            403 => Code::PermissionDenied,
            404 => Code::Unimplemented,
            429 | 502 | 503 | 504 => Code::Unavailable,
            _ => Code::Unknown,
        };
        let is_grpc = content_type.is_some_and(|kind| kind.starts_with(b"application/grpc"));
        let reason = http::StatusCode::from_u16(http).ok().and_then(|status| status.canonical_reason());
        let mut words = format!(
            "unexpected HTTP status code received from server: {http} ({})",
            reason.unwrap_or_default()
        );
        if !is_grpc {
            words.push_str("; ");
            words.push_str(&wrong_content_type(content_type));
        }
        Self::new(code, words)
    }

    /// The status of a call that HTTP/2 or the connection ended.
    pub fn of_failure(failure: &Failure, origin: &Origin) -> Self {
        if let Some(problem) = failure.http2.filter(|problem| problem.scope == Http2Scope::Stream) {
            let words = failure.message.clone().unwrap_or_default();
            let name = words.rsplit(' ').next().unwrap_or_default();
            let words = format!("stream terminated by RST_STREAM with error code: {name}");
            return Self::new(of_reset(problem.code), words);
        }
        let is_timeout = matches!(failure.fault, Fault::RequestTimeout);
        if is_timeout {
            return Self::new(Code::DeadlineExceeded, "context deadline exceeded");
        }
        if has_no_connection(failure.fault) {
            return Self::new(Code::Unavailable, not_connected(failure, origin));
        }
        let words = error_code::of_failure(failure).0;
        Self::new(Code::Unavailable, format!("error reading from server: {words}"))
    }
}

/// What a wrong type of content is called.
pub fn wrong_content_type(content_type: Option<&[u8]>) -> String {
    match content_type {
        Some(kind) => {
            format!("transport: received unexpected content-type \"{}\"", String::from_utf8_lossy(kind))
        }
        None => "malformed header: missing HTTP content-type".to_owned(),
    }
}

/// Why there is no connection, in the words of grpc-go.
pub fn not_connected(failure: &Failure, origin: &Origin) -> String {
    let detail = error_code::detail_of(failure, origin);
    let words = detail.unwrap_or_else(|| error_code::of_failure(failure).0);
    let during = match failure.fault {
        Fault::TlsHandshake | Fault::TlsCertificate | Fault::TlsBroken => {
            "transport: authentication handshake failed"
        }
        Fault::H2NotSpoken | Fault::ClosedEarly => {
            return format!("connection error: desc = \"error reading server preface: {words}\"");
        }
        _ => "transport: error while dialing",
    };
    format!("connection error: desc = \"{during}: {words}\"")
}

const fn has_no_connection(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::Refused
            | Fault::Unreachable
            | Fault::DnsNotFound
            | Fault::DnsTimeout
            | Fault::ConnectTimeout
            | Fault::TlsCertificate
            | Fault::TlsHandshake
            | Fault::H2NotSpoken
            | Fault::DescriptorsExhausted
            | Fault::PortsExhausted
            | Fault::BuffersExhausted
    )
}

/// The code for an error code of HTTP/2 (RFC 9113, 7).
const fn of_reset(code: u32) -> Code {
    match code {
        3 | 11 => Code::ResourceExhausted,
        7 => Code::Unavailable,
        8 => Code::Canceled,
        12 => Code::PermissionDenied,
        _ => Code::Internal,
    }
}

/// A message as it was before it was percent-encoded. What is not encoded properly stays as it is.
fn percent_decoded(text: &[u8]) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use knee_engine::http::failure::Http2Problem;

    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> FieldList {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_status_is_read_from_trailers() {
        let status = Status::of_fields(&fields(&[
            ("grpc-status", "5"),
            ("grpc-message", "no %22item%22 %e2%82%ac 100%"),
            ("grpc-status-details-bin", "CAUSAW0"),
        ]))
        .unwrap();
        assert_eq!((status.code, &*status.message), (5, "no \"item\" € 100%"));
        assert_eq!(status.details.as_deref(), Some(&b"\x08\x05\x12\x01m"[..]));
        assert_eq!(status.shown(), "NotFound: no \"item\" € 100%");
        assert_eq!(Status::of_fields(&fields(&[("a", "b")])), None);
        assert_eq!(Status::of_fields(&fields(&[("grpc-status", "x")])).unwrap().code, 2);
    }

    #[test]
    fn a_response_of_something_else_has_the_code_that_its_status_means() {
        for (http, code) in [(400, 13), (401, 16), (403, 7), (404, 12), (429, 14), (503, 14), (500, 2)] {
            assert_eq!(Status::of_http(http, None).code, code, "{http}");
        }
        // The words of grpc-go.
        assert_eq!(
            Status::of_http(404, Some(b"text/html")).message,
            "unexpected HTTP status code received from server: 404 (Not Found); \
             transport: received unexpected content-type \"text/html\""
        );
    }

    #[test]
    fn a_reset_stream_has_the_code_of_its_reason() {
        let origin = Origin { tls: false, host: "a".to_owned(), port: 1, via: None };
        for (code, expected) in [(0, 13), (7, 14), (8, 1), (11, 8), (12, 7)] {
            let http2 = Some(Http2Problem { scope: Http2Scope::Stream, code });
            let failure = Failure { http2, ..Failure::new(Fault::H2Reset, "with http2 ErrCode NAME") };
            let status = Status::of_failure(&failure, &origin);
            assert_eq!(status.code, expected, "{code}");
            assert_eq!(status.message, "stream terminated by RST_STREAM with error code: NAME");
        }
    }

    #[test]
    fn without_a_connection_a_call_is_unavailable() {
        let origin = Origin { tls: false, host: "127.0.0.1".to_owned(), port: 1, via: None };
        let status = Status::of_failure(&Fault::Refused.into(), &origin);
        assert_eq!(
            (status.code, &*status.message),
            (
                14,
                "connection error: desc = \"transport: error while dialing: \
                 dial tcp 127.0.0.1:1: connect: connection refused\""
            )
        );
    }
}

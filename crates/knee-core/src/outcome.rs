//! How a request can end, and who is to blame when it did not end well.
//!
//! Does not count (see [`crate::tally`]). `knee-engine` decides from bytes or errno which fault it was.

use serde::{Deserialize, Serialize};

/// The end of a planned request: exactly one for each.
///
/// ```text
/// planned = ok + http_error + transport_error + timeout + unsent + censored
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Outcome {
    /// A complete response with an expected status (200 to 399).
    Ok,
    /// A complete response with another status.
    HttpError,
    /// No complete response: the connection, the protocol or the generator failed.
    TransportError,
    /// Not answered within a time limit: that of the name lookup, of the connection, or of the request once it is sent.
    /// Its times are lower bounds.
    Timeout,
    /// Due, but never sent: no connection became free in time. Its response time is a lower bound.
    Unsent,
    /// Still open when the run and its grace period were over. Its times are lower bounds.
    Censored,
}

impl Outcome {
    /// Every outcome, in the order in which the request accounting prints them.
    pub const ALL: [Self; 6] =
        [Self::Ok, Self::HttpError, Self::TransportError, Self::Timeout, Self::Unsent, Self::Censored];

    /// The outcome of this name; `None` if this version does not know it.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// The name used in records, JSON, CSV and text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::HttpError => "http_error",
            Self::TransportError => "transport_error",
            Self::Timeout => "timeout",
            Self::Unsent => "unsent",
            Self::Censored => "censored",
        }
    }

    /// Whether the times of such a request are lower bounds.
    pub const fn is_lower_bound(self) -> bool {
        matches!(self, Self::Timeout | Self::Unsent | Self::Censored)
    }
}

/// Who caused a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// This machine or this program: the result says nothing about the server.
    Generator,
    /// The network in between: names, routes, resets on the way.
    Network,
    /// The server's response violates the protocol.
    Protocol,
    /// The server refused, closed the connection or did not respond in time.
    Server,
}

impl Blame {
    /// Every party, in the order in which errors are printed.
    pub const ALL: [Self; 4] = [Self::Generator, Self::Network, Self::Protocol, Self::Server];

    /// The party of this name; `None` if this version does not know it.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|blame| blame.name() == name)
    }

    /// The name used in records, JSON and text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Network => "network",
            Self::Protocol => "protocol",
            Self::Server => "server",
        }
    }
}

/// Declares [`Fault`] with its blame, name and sentence in one table, so that none can be forgotten.
macro_rules! faults {
    ($($variant:ident, $blame:ident, $name:literal, $sentence:literal;)*) => {
        /// What went wrong with a request that ended in [`Outcome::TransportError`] or
        /// [`Outcome::Timeout`], or with a call of gRPC that ended in [`Outcome::HttpError`]. Closed: messages of libraries and of the kernel are kept only as
        /// a bounded sample of examples.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Fault {
            $(#[doc = $sentence] $variant,)*
        }

        impl Fault {
            /// Every fault.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The outcome of a request that failed with it.
            pub const fn outcome(self) -> Outcome {
                match self {
                    Self::DnsTimeout | Self::ConnectTimeout | Self::RequestTimeout => Outcome::Timeout,
                    Self::GrpcStatus => Outcome::HttpError,
                    _ => Outcome::TransportError,
                }
            }

            /// Who caused it.
            pub const fn blame(self) -> Blame {
                match self { $(Self::$variant => Blame::$blame,)* }
            }

            /// The fault of this name; `None` if this version does not know it.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().find(|fault| fault.name() == name).copied()
            }

            /// The name used in records, JSON and CSV.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What happened, for people; no full stop.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

faults! {
    DescriptorsExhausted, Generator, "descriptors_exhausted", "this machine has no file descriptor left for a connection";
    PortsExhausted, Generator, "ports_exhausted", "this machine has no local port left for a connection";
    BuffersExhausted, Generator, "buffers_exhausted", "this machine has no memory left for a connection";
    GeneratorOther, Generator, "generator_other", "this machine refused an operation";
    DnsNotFound, Network, "dns_not_found", "the host name does not resolve";
    DnsTimeout, Network, "dns_timeout", "the name server did not answer in time";
    ConnectTimeout, Network, "connect_timeout", "no connection within the time limit (packets lost, or the server's accept queue full)";
    Unreachable, Network, "unreachable", "no route to the host";
    Reset, Network, "reset", "the connection was reset";
    TlsCertificate, Network, "tls_certificate", "the server's certificate was not accepted";
    TlsHandshake, Network, "tls_handshake", "the TLS handshake failed";
    TlsBroken, Network, "tls_broken", "the TLS stream broke after the handshake";
    ProxyRefused, Network, "proxy_refused", "the proxy did not connect to the server";
    NetworkOther, Network, "network_other", "the network failed in another way";
    MalformedHead, Protocol, "malformed_head", "the response does not begin as HTTP/1.1 requires";
    MalformedHeader, Protocol, "malformed_header", "a header line of the response is malformed";
    ShortHead, Protocol, "short_head", "the connection ended before the head was complete";
    HeadTooLarge, Protocol, "head_too_large", "the head of the response is larger than any client accepts";
    TooManyInterim, Protocol, "too_many_interim", "the server sent too many interim responses";
    UnexpectedUpgrade, Protocol, "unexpected_upgrade", "the server switched to another protocol unasked";
    BadLength, Protocol, "bad_length", "the length of the body is not a number, or contradicts another length";
    ConflictingFraming, Protocol, "conflicting_framing", "the response has both a length and a chunked body";
    BadTransferCoding, Protocol, "bad_transfer_coding", "the response has a transfer coding other than `chunked`";
    BadChunk, Protocol, "bad_chunk", "a chunk of the body is malformed";
    ShortBody, Protocol, "short_body", "the connection ended before the body was complete";
    DecodeFailed, Protocol, "decode_failed", "the body is not encoded as the response says";
    DecodeLimit, Protocol, "decode_limit", "the decoded body is larger than the limit";
    BodyLimit, Protocol, "body_limit", "the body is larger than the limit";
    MemoryLimit, Protocol, "memory_limit", "all responses in progress together need more memory than the limit";
    Unsolicited, Protocol, "unsolicited", "the server sent a response that no request asked for";
    H2Protocol, Protocol, "h2_protocol", "the server broke the rules of HTTP/2";
    H2NotSpoken, Protocol, "h2_not_spoken", "the server does not speak HTTP/2";
    NoEvents, Protocol, "no_events", "the response is no stream of events, or has no event";
    BadRedirect, Protocol, "bad_redirect", "a redirect has no target that knee can follow";
    Refused, Server, "refused", "the server refused the connection";
    ClosedEarly, Server, "closed_early", "the server closed the connection before it answered";
    H2Goaway, Server, "h2_goaway", "the server takes no more requests on its HTTP/2 connection, the second time too";
    H2Refused, Server, "h2_refused", "the server refused the HTTP/2 stream, the second time too";
    H2Reset, Server, "h2_reset", "the server reset the HTTP/2 stream";
    GrpcStatus, Server, "grpc_status", "the service answered with a status of gRPC other than OK";
    EventsCut, Server, "events_cut", "the stream ended before the event that was to end it";
    RequestTimeout, Server, "request_timeout", "no complete response within the time limit";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_that_a_time_limit_made_leaves_lower_bounds() {
        for fault in Fault::ALL {
            let by_limit = fault.name().ends_with("_timeout");
            assert_eq!(fault.outcome().is_lower_bound(), by_limit, "{}", fault.name());
        }
    }

    #[test]
    fn every_fault_has_a_name_of_its_own_that_json_uses_too() {
        let mut names: Vec<_> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        for fault in Fault::ALL {
            assert_eq!(serde_json::to_string(fault).unwrap(), format!("\"{}\"", fault.name()));
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Fault::ALL.len());
    }
}

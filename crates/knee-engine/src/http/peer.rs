//! Server address and negotiated TLS of a connection, for each of its responses.
//!
//! Small and copied; allocates nothing per request.

use std::net::SocketAddr;

use rustls::{CipherSuite, ProtocolVersion};

/// The other end of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// Negotiated TLS, if it is used.
    pub tls: Option<NegotiatedTls>,
}

/// TLS version and cipher suite of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegotiatedTls {
    /// The version, such as `tls1.3`; empty if it has no name.
    pub version: &'static str,
    /// The cipher suite by its registered name; empty if it has none.
    pub suite: &'static str,
}

impl NegotiatedTls {
    /// Converts rustls's names.
    pub fn new(version: Option<ProtocolVersion>, suite: Option<CipherSuite>) -> Self {
        let version = match version {
            Some(ProtocolVersion::TLSv1_2) => "tls1.2",
            Some(ProtocolVersion::TLSv1_3) => "tls1.3",
            _ => "",
        };
        // rustls has its own names for the suites of TLS 1.3.
        let suite = match suite {
            Some(CipherSuite::TLS13_AES_128_GCM_SHA256) => "TLS_AES_128_GCM_SHA256",
            Some(CipherSuite::TLS13_AES_256_GCM_SHA384) => "TLS_AES_256_GCM_SHA384",
            Some(CipherSuite::TLS13_CHACHA20_POLY1305_SHA256) => "TLS_CHACHA20_POLY1305_SHA256",
            Some(suite) => suite.as_str().unwrap_or_default(),
            None => "",
        };
        Self { version, suite }
    }
}

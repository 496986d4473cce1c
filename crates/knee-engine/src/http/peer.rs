//! Who answered, and what TLS agreed on: facts of a connection that answers carry along.
//!
//! Small and copied; nothing here is allocated for a request.

use std::net::SocketAddr;

use rustls::{CipherSuite, ProtocolVersion};

/// The other end of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// What TLS agreed on, if it was used.
    pub tls: Option<NegotiatedTls>,
}

/// What a TLS handshake agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegotiatedTls {
    /// The version, as in `tls1.3`; empty if it has no name.
    pub version: &'static str,
    /// The cipher suite by its registered name; empty if it has none.
    pub suite: &'static str,
}

impl NegotiatedTls {
    /// From the library's names.
    pub fn new(version: Option<ProtocolVersion>, suite: Option<CipherSuite>) -> Self {
        let version = match version {
            Some(ProtocolVersion::TLSv1_2) => "tls1.2",
            Some(ProtocolVersion::TLSv1_3) => "tls1.3",
            _ => "",
        };
        // The library has names of its own for those of TLS 1.3.
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

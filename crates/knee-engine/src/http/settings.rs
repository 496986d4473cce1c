//! How connections are opened and responses are read: the same for every request of a run.
//!
//! Plain data. Does not parse flags (the binary does) and does not read files: certificates and
//! keys are passed as bytes, so that unreadable files are found before any load.

use std::path::PathBuf;
use std::sync::Arc;

use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

use super::host_rules::HostRules;
use super::memory::MemoryBudget;
use super::proxy::Proxy;

/// Settings of the request path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Time limit for opening a connection: name, TCP and TLS together.
    pub connect_timeout: Nanos,
    /// Time limit of one request, from its first byte to the end of its response; `None` for no limit.
    pub request_timeout: Option<Nanos>,
    /// Whether connections are reused.
    pub keep_alive: bool,
    /// Which addresses of a name can be used.
    pub family: AddressFamily,
    /// Unix socket for every connection, whatever the URL's host.
    pub unix_socket: Option<PathBuf>,
    /// Connections to other addresses than the URL's; several entries for one origin are used in turn.
    pub connect_to: Vec<ConnectTo>,
    /// The proxy of all requests of a one-liner. Not passed to other machines.
    #[serde(skip)]
    pub proxy: Option<Arc<Proxy>>,
    /// Maximum number of redirects to follow; with 0 a redirect is an ordinary response.
    pub redirects: u32,
    /// Whether encoded bodies (gzip, deflate, br, zstd) are decoded and so verified.
    pub decode: bool,
    /// Maximum bytes of a body as received; more is a fault.
    pub body_max: u64,
    /// Maximum bytes of a body after decoding; more is a fault.
    pub decoded_max: u64,
    /// Memory for responses in progress, for all connections under these settings and their clones together.
    #[serde(skip)]
    pub memory: MemoryBudget,
    /// Fixed addresses of hosts, and blocked hosts. Not passed to other machines.
    #[serde(skip)]
    pub host_rules: HostRules,
    /// TLS.
    pub tls: TlsSettings,
    /// The version of HTTP.
    pub version: HttpVersion,
    /// Whether the responses of the one-liner are streams of events.
    pub events: Option<EventSettings>,
    /// Users of the one-liner that share a connection; above 1 with HTTP/2 only.
    pub streams: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connect_timeout: Nanos::from_secs(5),
            request_timeout: None,
            keep_alive: true,
            family: AddressFamily::Any,
            unix_socket: None,
            connect_to: Vec::new(),
            proxy: None,
            redirects: 0,
            decode: true,
            body_max: 1 << 40,
            decoded_max: 64 << 20,
            memory: MemoryBudget::default(),
            host_rules: HostRules::default(),
            tls: TlsSettings::default(),
            version: HttpVersion::One,
            events: None,
            streams: 1,
        }
    }
}

/// How responses are read that are streams of events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventSettings {
    /// Data of the event that ends a response; without it, the server ends it.
    pub until: Option<Arc<[u8]>>,
}

/// Which version of HTTP requests are sent with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpVersion {
    /// HTTP/1.1.
    #[default]
    One,
    /// HTTP/2, also without TLS.
    Two,
    /// With TLS what the server chooses, HTTP/2 or HTTP/1.1; without TLS HTTP/1.1.
    Negotiated,
}

/// Which addresses of a name can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AddressFamily {
    /// All addresses, in the resolver's order.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

/// Sends the connections for one origin to another address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectTo {
    /// Host and port in the URL.
    pub from: (String, u16),
    /// Host and port to connect to.
    pub to: (String, u16),
}

/// Settings of TLS sessions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TlsSettings {
    /// PEM of certificate authorities to trust in addition to the system's.
    pub authorities: Vec<Vec<u8>>,
    /// PEM of a client certificate chain, and of its private key.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
    /// Accept any certificate.
    pub insecure: bool,
    /// Oldest version allowed.
    pub oldest: TlsVersion,
    /// Newest version allowed.
    pub newest: TlsVersion,
    /// Registered names of the TLS 1.2 cipher suites that are allowed; all if empty.
    pub suites: Vec<String>,
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self {
            authorities: Vec::new(),
            client: None,
            insecure: false,
            oldest: TlsVersion::V1_2,
            newest: TlsVersion::V1_3,
            suites: Vec::new(),
        }
    }
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TlsVersion {
    /// RFC 5246.
    V1_2,
    /// RFC 8446.
    V1_3,
}

//! How connections are made and answers are read: the same for every request of a run.
//!
//! Plain data. Does not parse flags (the binary does) and does not read files: certificates and
//! keys arrive as bytes, so that everything unreadable is found before any load.

use std::path::PathBuf;

use knee_core::unit::Nanos;

use super::host_rules::HostRules;

/// Settings of the request path.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Time limit for a connection: name, TCP and TLS together.
    pub connect_timeout: Nanos,
    /// Time limit of one request, from sent to done; `None` for no limit.
    pub request_timeout: Option<Nanos>,
    /// Whether a connection is used for more than one request.
    pub keep_alive: bool,
    /// Which addresses of a name may be used.
    pub family: AddressFamily,
    /// Every connection goes to this Unix socket, whatever the URL's host.
    pub unix_socket: Option<PathBuf>,
    /// Connect elsewhere than the URL says; several entries for one origin are used in turn.
    pub connect_to: Vec<ConnectTo>,
    /// How many redirects are followed; 0 makes a redirect an ordinary answer.
    pub redirects: u32,
    /// Whether encoded bodies (gzip, deflate, br, zstd) are decoded, and so verified.
    pub decode: bool,
    /// Most bytes of a body as received; more is a fault.
    pub body_max: u64,
    /// Most bytes of a body after decoding; more is a fault.
    pub decoded_max: u64,
    /// Which hosts may be called, and where they are found.
    pub host_rules: HostRules,
    /// TLS.
    pub tls: TlsSettings,
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
            redirects: 0,
            decode: true,
            body_max: 1 << 40,
            decoded_max: 64 << 20,
            host_rules: HostRules::default(),
            tls: TlsSettings::default(),
        }
    }
}

/// Which addresses of a name may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressFamily {
    /// Whatever the name has, in the resolver's order.
    #[default]
    Any,
    /// IPv4 alone.
    V4,
    /// IPv6 alone.
    V6,
}

/// Connections meant for one origin go to another address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectTo {
    /// Host and port in the URL.
    pub from: (String, u16),
    /// Host and port that are connected to.
    pub to: (String, u16),
}

/// How TLS sessions are set up.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// PEM of certificate authorities that are trusted besides the system's.
    pub authorities: Vec<Vec<u8>>,
    /// PEM of a client certificate chain and of its private key.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
    /// Accept any certificate.
    pub insecure: bool,
    /// The oldest version that is spoken.
    pub oldest: TlsVersion,
    /// The newest version that is spoken.
    pub newest: TlsVersion,
    /// Registered names of the cipher suites of TLS 1.2 that may be used; all if there are none.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// RFC 5246.
    V1_2,
    /// RFC 8446.
    V1_3,
}

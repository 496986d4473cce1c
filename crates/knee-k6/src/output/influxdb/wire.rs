//! Writes to a server as k6's client does: HTTP without compression, or datagrams. Does not decide when.

use std::net::UdpSocket;
use std::time::Duration;

use url::form_urlencoded::Serializer;

use super::super::endpoint::{agent, outcome};
use super::config::{Config, Server};

/// Time limit of one write. k6 has none.
const WRITE_MAX: Duration = Duration::from_secs(10);

/// Lines on their way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// The lines.
    pub bytes: Vec<u8>,
    /// Where each of them ends. A line break can be within a line too, in a text.
    pub ends: Vec<usize>,
}

impl Body {
    /// Number of lines.
    pub fn points(&self) -> u64 {
        self.ends.len() as u64
    }
}

/// A way to a server.
pub enum Wire {
    /// Over HTTP.
    Http {
        /// The client.
        agent: ureq::Agent,
        /// The server.
        base: String,
        /// The parameters of writes.
        parameters: String,
        /// The header `authorization`.
        authorization: Option<String>,
    },
    /// Over UDP.
    Udp {
        /// The socket, or why there is none.
        socket: Result<UdpSocket, String>,
        /// Bytes of a datagram.
        payload: usize,
    },
}

impl Wire {
    /// A way to the server of `config`. Opens no connection.
    pub fn new(config: &Config) -> Self {
        match &config.server {
            Server::Http { base, authorization, insecure, proxy } => {
                let proxy = proxy.as_deref().and_then(|text| ureq::Proxy::new(text).ok());
                Self::Http {
                    agent: agent(WRITE_MAX, *insecure, proxy),
                    base: base.clone(),
                    parameters: Serializer::new(String::new())
                        .append_pair("consistency", &config.consistency)
                        .append_pair("db", &config.database)
                        .append_pair("precision", config.precision.name)
                        .append_pair("rp", &config.retention)
                        .finish(),
                    authorization: authorization.clone(),
                }
            }
            Server::Udp { address, payload } => {
                Self::Udp { socket: socket(address).map_err(|error| error.to_string()), payload: *payload }
            }
        }
    }

    /// Creates the database if it is not there. Users who cannot do that often have a database that is there, so an error
    /// is none of the output.
    pub fn create(&self, database: &str) {
        let quoted = database.replace('\\', "\\\\").replace('"', "\\\"");
        let parameters = Serializer::new(String::new())
            .append_pair("db", "")
            .append_pair("params", "{}")
            .append_pair("q", &format!("CREATE DATABASE \"{quoted}\""))
            .finish();
        let _ = self.post("query", &parameters, b"");
    }

    /// Writes lines.
    ///
    /// # Errors
    /// The server does not take them; the text says why.
    pub fn write(&self, body: &Body) -> Result<(), String> {
        match self {
            Self::Http { parameters, .. } => self.post("write", parameters, &body.bytes),
            Self::Udp { socket, payload } => {
                let socket = socket.as_ref().map_err(Clone::clone)?;
                for datagram in datagrams(body, *payload) {
                    socket.send(datagram).map_err(|error| error.to_string())?;
                }
                Ok(())
            }
        }
    }

    fn post(&self, path: &str, parameters: &str, body: &[u8]) -> Result<(), String> {
        let Self::Http { agent, base, authorization, .. } = self else { return Ok(()) };
        let mut request = agent
            .post(format!("{base}/{path}?{parameters}"))
            .header("user-agent", "knee-influxdb-output")
            .header("content-type", "text/plain; charset=utf-8");
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        outcome(request.send(body))
    }
}

fn socket(address: &str) -> std::io::Result<UdpSocket> {
    use std::net::ToSocketAddrs as _;
    let target = address.to_socket_addrs()?.next().ok_or(std::io::ErrorKind::AddrNotAvailable)?;
    let own = if target.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(own)?;
    socket.connect(target)?;
    Ok(socket)
}

/// Whole lines, as many as fit into `payload` bytes each; a line that is longer is alone.
pub fn datagrams(body: &Body, payload: usize) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let (mut from, mut last) = (0, 0);
    for end in &body.ends {
        if end - from > payload && last > from {
            parts.push(&body.bytes[from..last]);
            from = last;
        }
        last = *end;
    }
    if last > from {
        parts.push(&body.bytes[from..last]);
    }
    parts
}

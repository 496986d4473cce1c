//! Checks whether a service is ready (an open port, or a path that returns 2xx), and which ports are free.
//!
//! Asks once, with a short time limit; the caller repeats. Does not speak TLS: a service that
//! only speaks TLS is ready when its port is open.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{io, process};

use ureq::Agent;

use crate::error::reason;

/// How long one check can take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Ports below those that systems give to outgoing connections: Linux begins at 32768, macOS at 49152. A load opens
/// thousands of these, and one of them could take the port of a store between its choice and its use.
const PORTS: Range<u16> = 15_000..30_000;

/// A port of the loopback that is free right now, and that no outgoing connection takes. Each call in a process returns
/// another one.
pub(crate) fn free_port() -> io::Result<u16> {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let calls = std::iter::repeat_with(|| CALLS.fetch_add(1, Ordering::Relaxed)).take(PORTS.len());
    let mut ports = calls.map(|call| candidate(process::id(), call));
    let free = ports.find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    free.map_or_else(|| Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port()), Ok)
}

/// The port of a call. Processes that run at the same time begin at different ports.
fn candidate(process: u32, call: u32) -> u16 {
    let offset = process.wrapping_mul(97).wrapping_add(call) % PORTS.len() as u32;
    PORTS.start + offset as u16
}

/// Whether a port can be listened on, on all addresses.
pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
}

/// The host and port of `http://host:port`, and nothing else of it.
pub(crate) fn authority(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    let port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    if authority.is_empty() {
        return None;
    }
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(if has_port { authority.to_owned() } else { format!("{authority}:{port}") })
}

/// Asks once; an error names the question and the result.
pub(crate) fn ask(authority: &str, path: Option<&str>) -> Result<(), String> {
    let Some(path) = path else {
        return connect(authority)
            .map(drop)
            .map_err(|error| format!("connecting to {authority}: {}", reason(&error)));
    };
    let url = format!("http://{authority}{path}");
    match status(&url) {
        Ok(status) if (200..300).contains(&status) => Ok(()),
        Ok(status) => Err(format!("GET {url} answered {status}")),
        Err(error) => Err(format!("GET {url}: {error}")),
    }
}

fn connect(authority: &str) -> io::Result<TcpStream> {
    let addresses: Vec<SocketAddr> = authority.to_socket_addrs()?.collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn status(url: &str) -> Result<u16, String> {
    let config = Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .user_agent("knee")
        .build();
    match Agent::from(config).get(url).call() {
        Ok(response) => Ok(response.status().as_u16()),
        Err(ureq::Error::Io(error)) => Err(reason(&error)),
        Err(ureq::Error::Protocol(_) | ureq::Error::Http(_)) => Err("the response is not HTTP".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn no_port_is_one_that_an_outgoing_connection_can_get_and_none_comes_twice() {
        for process in [0, 1, 4_711, u32::MAX] {
            for call in [0, 1, 14_999, u32::MAX] {
                assert!(PORTS.contains(&candidate(process, call)));
            }
        }
        let taken: Vec<_> = (0..20)
            .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, free_port().unwrap())).unwrap())
            .collect();
        let next = free_port().unwrap();
        assert!(taken.iter().all(|listener| listener.local_addr().unwrap().port() != next));
    }

    #[test]
    fn the_authority_of_a_url_has_a_port() {
        let cases = [
            ("http://127.0.0.1:8080/x?y", Some("127.0.0.1:8080")),
            ("https://a.b", Some("a.b:443")),
            ("http://[::1]:90", Some("[::1]:90")),
            ("http://[::1]", Some("[::1]:80")),
            ("http://u:p@h/", Some("h:80")),
            ("http:///x", None),
            ("ftp://a", None),
            ("a:80", None),
        ];
        for (url, expected) in cases {
            assert_eq!(authority(url).as_deref(), expected, "{url}");
        }
    }

    /// A server that says `answer` to one connection.
    fn saying(answer: &'static str) -> String {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(answer.as_bytes());
        });
        authority
    }

    #[test]
    fn only_an_answer_of_success_is_ready() {
        assert_eq!(ask(&saying("HTTP/1.1 204 No Content\r\n\r\n"), Some("/health")), Ok(()));
        let busy = saying("HTTP/1.1 503 Busy\r\n\r\n");
        assert_eq!(ask(&busy, Some("/health")), Err(format!("GET http://{busy}/health answered 503")));
        let other = saying("SSH-2.0-OpenSSH\r\n");
        assert_eq!(ask(&other, Some("/")), Err(format!("GET http://{other}/: the response is not HTTP")));
    }

    #[test]
    fn a_port_that_is_listened_on_is_not_free() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(listener.local_addr().unwrap().port()));
    }
}

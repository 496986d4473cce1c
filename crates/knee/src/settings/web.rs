//! Where the live page is served.
//!
//! Does not open a socket.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::args::WebFlags;
use crate::problem::Problem;

/// The address to serve on; `None` without a page. Port 0 is a free port.
///
/// # Errors
///
/// When the address cannot be read.
pub fn address(flags: &WebFlags) -> Result<Option<SocketAddr>, Problem> {
    let Some(text) = flags.address.as_deref() else { return Ok(None) };
    let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    let address = match text {
        "" => Some(loopback(0)),
        _ => port
            .parse()
            .map(loopback)
            .or_else(|_| text.parse())
            .or_else(|_| text.parse::<IpAddr>().map(|address| SocketAddr::new(address, 0)))
            .ok(),
    };
    address.map(Some).ok_or_else(|| {
        Problem::new(
            format!("`--web`: `{text}` is not an address"),
            "write `--web` alone for a free port of 127.0.0.1, or `--web=127.0.0.1:8089`",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<SocketAddr>, Problem> {
        address(&WebFlags { address: Some(text.to_owned()) })
    }

    #[test]
    fn an_address_without_a_host_is_loopback_and_without_a_port_a_free_one() {
        for (text, address) in [
            ("", "127.0.0.1:0"),
            ("8089", "127.0.0.1:8089"),
            (":8089", "127.0.0.1:8089"),
            ("localhost:8089", "127.0.0.1:8089"),
            ("192.0.2.7", "192.0.2.7:0"),
            ("0.0.0.0:8089", "0.0.0.0:8089"),
            ("[::1]:8089", "[::1]:8089"),
        ] {
            assert_eq!(read(text), Ok(Some(address.parse().unwrap())), "{text}");
        }
        assert_eq!(address(&WebFlags::default()), Ok(None));
    }

    #[test]
    fn what_is_no_address_is_named() {
        for text in ["example.org:80", "127.0.0.1:99999", "http://127.0.0.1/"] {
            assert!(read(text).unwrap_err().what.contains(text));
        }
    }
}

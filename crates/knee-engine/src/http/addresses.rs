//! The addresses of hosts as one worker knows them.
//!
//! Each worker has its own copy, so that opening a connection takes no lock and touches nothing that workers share.
//! Does not resolve names; [`super::origin::Resolver`] does, once per run.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

/// The ports of one host, each with its addresses.
type Ports = Vec<(u16, Rc<[SocketAddr]>)>;

/// Addresses by host and port.
#[derive(Debug, Default)]
pub struct KnownAddresses {
    by_host: HashMap<String, Ports>,
}

impl KnownAddresses {
    /// The addresses of a host that was kept before or is an address itself.
    pub fn find(&self, host: &str, port: u16) -> Option<Rc<[SocketAddr]>> {
        let ports = self.by_host.get(host);
        let kept = ports.and_then(|ports| ports.iter().find(|(known, _)| *known == port));
        if let Some((_, addresses)) = kept {
            return Some(addresses.clone());
        }
        let address: IpAddr = host.parse().ok()?;
        Some(Rc::new([SocketAddr::new(address, port)]))
    }

    /// Keeps the addresses of a host.
    pub fn keep(&mut self, host: &str, port: u16, addresses: Rc<[SocketAddr]>) {
        let ports = self.by_host.entry(host.to_owned()).or_default();
        ports.retain(|(known, _)| *known != port);
        ports.push((port, addresses));
    }

    /// Moves an address to the front, because others did not accept a connection in time.
    pub fn prefer(&mut self, host: &str, port: u16, address: SocketAddr) {
        let Some(known) = self.find(host, port) else { return };
        let others = known.iter().copied().filter(|other| *other != address);
        let order = std::iter::once(address).chain(others).collect();
        self.keep(host, port, order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Rc<[SocketAddr]> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn addresses_need_no_dns_server() {
        let known = KnownAddresses::default();
        assert_eq!(known.find("127.0.0.1", 80), Some(addresses(&["127.0.0.1:80"])));
        assert_eq!(known.find("::1", 80), Some(addresses(&["[::1]:80"])));
        assert_eq!(known.find("localhost", 80), None);
    }

    #[test]
    fn the_address_that_accepted_is_first_from_then_on() {
        let mut known = KnownAddresses::default();
        known.keep("h", 80, addresses(&["1.1.1.1:80", "2.2.2.2:80", "3.3.3.3:80"]));
        known.keep("h", 81, addresses(&["1.1.1.1:81"]));
        known.prefer("h", 80, "3.3.3.3:80".parse().unwrap());
        assert_eq!(known.find("h", 80), Some(addresses(&["3.3.3.3:80", "1.1.1.1:80", "2.2.2.2:80"])));
        assert_eq!(known.find("h", 81), Some(addresses(&["1.1.1.1:81"])));
    }
}

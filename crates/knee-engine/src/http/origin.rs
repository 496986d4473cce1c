//! Where connections go: scheme, host and port of a URL, and the addresses of the host.
//!
//! Each name is resolved once per run, so that changing DNS answers do not change the target during
//! the measurement. Does not connect.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use knee_core::outcome::Fault;
use url::Url;

use super::failure::Failure;
use super::proxy::{Proxy, ProxyKind, Via};
use super::settings::{AddressFamily, ConnectTo, Settings};

/// Scheme, host and port, and the way there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// Whether connections use TLS.
    pub tls: bool,
    /// Host name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The proxy that connections lead through. If it forwards requests, the other fields are its own.
    pub via: Option<Via>,
}

impl Origin {
    /// The origin of an `http` or `https` URL; `None` for others and for URLs without a host.
    pub fn of(url: &Url) -> Option<Self> {
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']').to_owned();
        Some(Self { tls, host, port: url.port_or_known_default()?, via: None })
    }
}

impl Origin {
    /// The origin of connections that lead here through a proxy. Those for servers without TLS are shared by all servers
    /// if the proxy forwards requests.
    #[must_use]
    pub fn behind(self, proxy: &Arc<Proxy>) -> Self {
        if self.tls || proxy.only_tunnels || proxy.kind == ProxyKind::Socks {
            return self.tunnelled(proxy);
        }
        let via = Some(Via::Forward(proxy.clone()));
        Self { tls: false, host: proxy.host.clone(), port: proxy.port, via }
    }

    /// The origin of connections that lead here through a tunnel.
    #[must_use]
    pub fn tunnelled(self, proxy: &Arc<Proxy>) -> Self {
        Self { via: Some(Via::Tunnel(proxy.clone())), ..self }
    }

    /// Host and port as proxies read them.
    pub fn place(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

/// Where redirects can lead: only to what is under load, so that a server cannot steer the load to another service.
#[derive(Clone, Debug, Default)]
pub struct RedirectScope {
    /// Hosts and ports under load.
    loaded: Vec<(String, u16)>,
    /// Hosts that can also be loaded, at the usual ports only.
    hosts: Vec<String>,
}

impl RedirectScope {
    /// A scope without any origin under load. Redirects to `hosts` are within it at the usual port of their scheme.
    pub fn new(hosts: &[String]) -> Self {
        Self { loaded: Vec::new(), hosts: hosts.to_vec() }
    }

    /// Adds an origin under load: its host and its port, with any scheme.
    pub fn add(&mut self, origin: &Origin) {
        if !self.loads(origin) {
            self.loaded.push((origin.host.clone(), origin.port));
        }
    }

    /// Whether a redirect can lead to `origin`.
    pub fn contains(&self, origin: &Origin) -> bool {
        let usual = if origin.tls { 443 } else { 80 };
        let allowed = || self.hosts.iter().any(|host| host.eq_ignore_ascii_case(&origin.host));
        self.loads(origin) || (origin.port == usual && allowed())
    }

    fn loads(&self, origin: &Origin) -> bool {
        self.loaded.iter().any(|(host, port)| *host == origin.host && *port == origin.port)
    }
}

/// Addresses by host and port.
type Known = HashMap<(String, u16), Arc<[SocketAddr]>>;

/// Addresses of names, shared by all workers of a run.
#[derive(Debug, Default)]
pub struct Resolver {
    known: Mutex<Known>,
    clients: AtomicUsize,
}

impl Resolver {
    /// The number of a new client, from 0, over all workers.
    pub fn next_client(&self) -> usize {
        self.clients.fetch_add(1, Ordering::Relaxed)
    }

    /// The addresses of a host; blocks during the first lookup of a name. Workers keep the result
    /// ([`super::addresses`]).
    pub fn resolve(
        &self,
        host: &str,
        port: u16,
        family: AddressFamily,
    ) -> Result<Arc<[SocketAddr]>, Failure> {
        let key = (host.to_owned(), port);
        if let Some(known) = self.lock().get(&key) {
            return Ok(known.clone());
        }
        if host.parse::<IpAddr>().is_err() && is_number(host) {
            return Err(Failure::new(Fault::DnsNotFound, format!("{host}: not an address and not a name")));
        }
        let found = (host, port)
            .to_socket_addrs()
            .map_err(|error| Failure::new(Fault::DnsNotFound, format!("{host}: {error}")))?;
        let addresses: Arc<[SocketAddr]> = found.filter(|address| fits(family, address.ip())).collect();
        if addresses.is_empty() {
            return Err(Failure::new(
                Fault::DnsNotFound,
                format!("{host} has no address of the requested family"),
            ));
        }
        // Of lookups at the same time the first counts for all workers: a name can have changed in between.
        Ok(self.lock().entry(key).or_insert(addresses).clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        // A panic under the lock cannot leave the map half changed.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the system's resolver would read a host as a number, as in `127.1` or `0x7f000001`. Clients that resolve
/// names themselves know no such numbers.
fn is_number(host: &str) -> bool {
    let is_part = |part: &str| {
        let hexadecimal = part.strip_prefix("0x").or_else(|| part.strip_prefix("0X"));
        hexadecimal.map_or_else(
            || !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()),
            |digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        )
    };
    host.is_empty() || host.split('.').all(is_part)
}

fn fits(family: AddressFamily, address: IpAddr) -> bool {
    match family {
        AddressFamily::Any => true,
        AddressFamily::V4 => address.is_ipv4(),
        AddressFamily::V6 => address.is_ipv6(),
    }
}

/// Host and port that connections for `origin` go to: those of `connect_to`, in turn if it has
/// several entries for the origin, otherwise the origin's own.
pub fn destination<'a>(
    settings: &'a Settings,
    origin: &'a Origin,
    connection_index: usize,
) -> (&'a str, u16) {
    let applies = |entry: &&ConnectTo| entry.from.1 == origin.port && entry.from.0 == origin.host;
    let count = settings.connect_to.iter().filter(applies).count();
    if count == 0 {
        return (&origin.host, origin.port);
    }
    settings
        .connect_to
        .iter()
        .filter(applies)
        .nth(connection_index % count)
        .map_or((origin.host.as_str(), origin.port), |entry| (entry.to.0.as_str(), entry.to.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(url: &str) -> Origin {
        Origin::of(&Url::parse(url).unwrap()).unwrap()
    }

    #[test]
    fn the_scheme_decides_the_default_port_and_brackets_are_removed() {
        assert_eq!(origin("http://h/x").port, 80);
        assert_eq!(origin("https://h/x").port, 443);
        assert_eq!(origin("http://[::1]:8/").host, "::1");
        assert!(Origin::of(&Url::parse("ftp://h/").unwrap()).is_none());
    }

    #[test]
    fn redirects_lead_only_to_hosts_and_ports_under_load() {
        let mut scope = RedirectScope::new(&["Allowed.test".to_owned()]);
        scope.add(&origin("http://127.0.0.1:8080/"));
        scope.add(&origin("http://[::1]/"));
        for (url, within) in [
            ("http://127.0.0.1:8080/x", true),
            ("https://127.0.0.1:8080/x", true),
            ("http://127.1:8080/", true),
            ("http://2130706433:8080/", true),
            ("http://0x7f.0.0.1:8080/", true),
            ("http://user:password@127.0.0.1:8080/", true),
            ("http://[0:0::1]:80/", true),
            ("http://127.0.0.1/", false),
            ("http://127.0.0.1:8081/", false),
            ("http://127.1:22/", false),
            ("http://2130706433:8081/", false),
            ("http://127.0.0.1:8080@127.0.0.1:8081/", false),
            ("http://localhost:8080/", false),
            ("http://[::ffff:127.0.0.1]:8080/", false),
            ("http://[::1]:8080/", false),
            ("https://[::1]/", false),
            ("https://allowed.test/", true),
            ("http://allowed.test/", true),
            ("http://allowed.test:443/", false),
            ("http://allowed.test:8080/", false),
        ] {
            assert_eq!(scope.contains(&origin(url)), within, "{url}");
        }
    }

    #[test]
    fn servers_without_tls_share_connections_to_a_proxy_that_forwards() {
        let route = |proxy: &str, url| origin(url).behind(&Arc::new(Proxy::parse(proxy).unwrap()));
        assert_eq!(route("http://p", "http://a/"), route("http://p", "http://b:81/"));
        assert_ne!(route("http://p", "https://a/"), route("http://p", "https://b/"));
        assert_ne!(route("socks5://p", "http://a/"), route("socks5://p", "http://b/"));
        assert_ne!(route("http://p", "http://a/"), route("http://q", "http://a/"));
        assert_ne!(route("http://p", "http://p/"), origin("http://p/"));
    }

    #[test]
    fn connections_use_the_entries_of_connect_to_in_turn() {
        let entry = |to: &str| ConnectTo { from: ("h".into(), 80), to: (to.into(), 9) };
        let settings = Settings { connect_to: vec![entry("a"), entry("b")], ..Settings::default() };
        let origin = origin("http://h/");
        let hosts: Vec<_> =
            (0..4).map(|connection_index| destination(&settings, &origin, connection_index).0).collect();
        assert_eq!(hosts, ["a", "b", "a", "b"]);
        let other = Origin { port: 81, ..origin };
        assert_eq!(destination(&settings, &other, 0), ("h", 81));
    }

    #[test]
    fn short_forms_of_addresses_are_names_without_an_address() {
        let resolver = Resolver::default();
        for host in ["127.1", "2130706433", "0x7f.1", "0X7f000001", "127.0.0.01", ""] {
            let failure = resolver.resolve(host, 80, AddressFamily::Any).unwrap_err();
            assert_eq!(failure.fault, Fault::DnsNotFound, "{host}");
        }
    }

    #[test]
    fn addresses_need_no_dns_server() {
        let resolver = Resolver::default();
        let found = resolver.resolve("127.0.0.1", 80, AddressFamily::Any).unwrap();
        assert_eq!(*found, ["127.0.0.1:80".parse().unwrap()]);
    }
}

//! Which requests go through which proxy, by Go's rules: `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`.
//!
//! Pure: environment variables are passed in. Names are compared as they are written and not resolved.

use std::net::IpAddr;
use std::sync::Arc;

use url::Url;

use super::super::host_rules::IpNetwork;
use super::super::origin::Origin;
use super::{Proxy, ProxyError};

/// The proxies of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyRules {
    /// For servers without TLS.
    plain: Option<Arc<Proxy>>,
    /// For servers with TLS.
    secure: Option<Arc<Proxy>>,
    exceptions: Vec<Exception>,
}

/// A variable that names no proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// The name of the variable.
    pub variable: &'static str,
    /// What is wrong with it.
    pub why: ProxyError,
}

/// A server that requests go to directly.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Exception {
    /// Every server.
    All,
    /// Addresses, at this port or at all.
    Network(IpNetwork, Option<String>),
    /// The names below this one, which begins with a dot, and this one too if `or_same`.
    Name { below: String, or_same: bool, port: Option<String> },
}

impl ProxyRules {
    /// The rules of these variables; `None` if no request goes through a proxy. As in Go, upper case comes before lower
    /// case, and what names no proxy is ignored; it is returned too.
    pub fn from_environment(env: impl Fn(&str) -> Option<String>) -> (Option<Self>, Vec<Unusable>) {
        let value = |names: [&'static str; 2]| {
            let found = names.into_iter().filter_map(|name| Some((name, env(name)?)));
            found.into_iter().find(|(_, value)| !value.is_empty())
        };
        let mut unusable = Vec::new();
        let mut proxy = |names| {
            let (variable, text) = value(names)?;
            let parsed = Proxy::parse(&text).map(Arc::new);
            parsed.map_err(|why| unusable.push(Unusable { variable, why })).ok()
        };
        let plain = proxy(["HTTP_PROXY", "http_proxy"]);
        let secure = proxy(["HTTPS_PROXY", "https_proxy"]);
        let list = value(["NO_PROXY", "no_proxy"]).map(|(_, list)| list).unwrap_or_default();
        let rules =
            Self { plain, secure, exceptions: list.split(',').filter_map(Exception::parse).collect() };
        let has_effect =
            (rules.plain.is_some() || rules.secure.is_some()) && !rules.exceptions.contains(&Exception::All);
        (has_effect.then_some(rules), unusable)
    }

    /// The proxy for requests to `origin`: none for this machine's own names and addresses.
    pub fn proxy_for(&self, origin: &Origin) -> Option<&Arc<Proxy>> {
        let proxy = if origin.tls { self.secure.as_ref() } else { self.plain.as_ref() }?;
        let address: Option<IpAddr> = origin.host.parse().ok();
        let is_local = match address {
            Some(address) => address.to_canonical().is_loopback(),
            None => origin.host == "localhost",
        };
        let is_excepted = || self.exceptions.iter().any(|one| one.fits(&origin.host, address, origin.port));
        (!is_local && !is_excepted()).then_some(proxy)
    }

    /// The origin of connections for requests to `origin`.
    pub fn route(&self, origin: Origin) -> Origin {
        match self.proxy_for(&origin) {
            Some(proxy) => origin.behind(proxy),
            None => origin,
        }
    }

    /// The same for what a proxy cannot forward.
    pub fn tunnel(&self, origin: Origin) -> Origin {
        match self.proxy_for(&origin) {
            Some(proxy) => origin.tunnelled(proxy),
            None => origin,
        }
    }
}

impl Exception {
    /// Reads an entry of `NO_PROXY`; `None` for one without effect.
    fn parse(entry: &str) -> Option<Self> {
        let entry = entry.trim().to_lowercase();
        if entry == "*" {
            return Some(Self::All);
        }
        if let Ok(network) = entry.parse() {
            return Some(Self::Network(network, None));
        }
        let (host, port) = split_port(&entry);
        let port = port.filter(|port| !port.is_empty()).map(str::to_owned);
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some(Self::Network(address.into(), port));
        }
        let host = host.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(host);
        let (or_same, name) = host.strip_prefix('.').map_or((true, host), |name| (false, name));
        let below = format!(".{}", in_ascii(name));
        (!host.is_empty()).then_some(Self::Name { below, or_same, port })
    }

    fn fits(&self, host: &str, address: Option<IpAddr>, port: u16) -> bool {
        let fits_port = |own: &Option<String>| own.as_ref().is_none_or(|own| *own == port.to_string());
        match self {
            Self::All => true,
            Self::Network(network, own) => {
                address.is_some_and(|address| network.contains(address)) && fits_port(own)
            }
            Self::Name { below, or_same, port: own } => {
                let fits_name = host.ends_with(below) || (*or_same && host == &below[1..]);
                address.is_none() && fits_name && fits_port(own)
            }
        }
    }
}

/// Host and port of an entry. Without brackets, several colons are no port.
fn split_port(entry: &str) -> (&str, Option<&str>) {
    if let Some((host, rest)) = entry.strip_prefix('[').and_then(|inner| inner.split_once(']'))
        && let Some(port) = rest.strip_prefix(':')
    {
        return (host, Some(port));
    }
    match entry.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, Some(port)),
        _ => (entry, None),
    }
}

/// A name as URLs have it.
fn in_ascii(name: &str) -> String {
    let host = || Url::parse(&format!("http://{name}/")).ok()?.host_str().map(str::to_owned);
    if name.is_ascii() { name.to_owned() } else { host().unwrap_or_else(|| name.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(env: &[(&str, &str)]) -> Option<ProxyRules> {
        let find = |name: &str| env.iter().find(|(known, _)| *known == name);
        ProxyRules::from_environment(|name| find(name).map(|(_, value)| (*value).to_owned())).0
    }

    /// Host of the proxy for a URL.
    fn proxy(env: &[(&str, &str)], url: &str) -> Option<String> {
        let origin = Origin::of(&Url::parse(url).unwrap()).unwrap();
        rules(env)?.proxy_for(&origin).map(|proxy| proxy.host.clone())
    }

    #[test]
    fn the_scheme_of_the_server_chooses_the_variable() {
        let env = [("HTTP_PROXY", "p:1"), ("https_proxy", "s:1")];
        assert_eq!(proxy(&env, "http://h/").as_deref(), Some("p"));
        assert_eq!(proxy(&env, "https://h/").as_deref(), Some("s"));
        assert_eq!(proxy(&env[..1], "https://h/"), None);
        assert_eq!(rules(&[("HTTP_PROXY", "")]), None);
    }

    #[test]
    fn upper_case_comes_first_unless_it_is_empty() {
        let both = [("HTTP_PROXY", "upper:1"), ("http_proxy", "lower:1")];
        assert_eq!(proxy(&both, "http://h/").as_deref(), Some("upper"));
        assert_eq!(proxy(&[("HTTP_PROXY", ""), both[1]], "http://h/").as_deref(), Some("lower"));
    }

    #[test]
    fn this_machine_needs_no_proxy() {
        let env = [("HTTP_PROXY", "p:1")];
        for url in ["http://localhost/", "http://127.0.0.1:8080/", "http://127.9.9.9/", "http://[::1]/"] {
            assert_eq!(proxy(&env, url), None, "{url}");
        }
        assert!(proxy(&env, "http://localhost.test/").is_some());
    }

    #[test]
    fn a_variable_that_names_no_proxy_is_ignored_and_reported() {
        let (rules, unusable) = ProxyRules::from_environment(|name| match name {
            "HTTP_PROXY" => Some("ftp://p".to_owned()),
            "HTTPS_PROXY" => Some("s:1".to_owned()),
            _ => None,
        });
        assert!(rules.is_some_and(|rules| rules.plain.is_none() && rules.secure.is_some()));
        assert_eq!(unusable.len(), 1);
        assert_eq!(unusable[0].variable, "HTTP_PROXY");
    }

    #[test]
    fn no_proxy_names_servers_as_go_reads_it() {
        for (list, url, excepted) in [
            ("a.test", "http://a.test/", true),
            ("A.test", "http://B.a.test/", true),
            ("a.test", "http://nota.test/", false),
            (".a.test", "http://a.test/", false),
            (".a.test", "http://b.a.test/", true),
            ("*.a.test", "http://b.a.test/", true),
            ("*.a.test", "http://a.test/", false),
            ("a.test:81", "http://a.test/", false),
            ("a.test:81", "http://a.test:81/", true),
            ("x, a.test:80 ", "http://a.test/", true),
            ("a.test:", "http://a.test:9/", true),
            ("10.0.0.0/8", "http://10.1.2.3/", true),
            ("10.0.0.0/8", "http://11.1.2.3/", false),
            ("10.0.0.1", "http://10.0.0.1:81/", true),
            ("10.0.0.1:81", "http://10.0.0.1:81/", true),
            ("10.0.0.1:81", "http://10.0.0.1/", false),
            ("10.0.0.1", "http://10.0.0.2/", false),
            ("fd00::1", "http://[fd00::1]/", true),
            ("[fd00::1]:81", "http://[fd00::1]:81/", true),
            ("fd00::/8", "http://[fd12::1]/", true),
            ("*", "http://a.test/", true),
            ("b, *", "http://10.0.0.1/", true),
            ("b*", "http://b.test/", false),
            ("bücher.test", "http://xn--bcher-kva.test/", true),
            ("0.0.1", "http://10.0.0.1/", false),
            ("", "http://a.test/", false),
            (",:80,", "http://a.test/", false),
        ] {
            let env = [("http_proxy", "p"), ("no_proxy", list)];
            assert_eq!(proxy(&env, url).is_none(), excepted, "{list} {url}");
        }
    }
}

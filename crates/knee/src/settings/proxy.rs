//! Proxies that the environment asks for and that knee does not use, by Go's rules, which k6 follows.
//!
//! Reads no environment and connects to nothing.

use std::net::IpAddr;

use knee_engine::http::host_rules::{IpNetwork, NamePattern};
use url::{Host, Url};

use super::script::Lookup;

/// Its code in `knee explain`.
pub const CODE: &str = "proxy";

/// What `knee explain` says about it.
pub const MEANING: &str = "A variable such as HTTP_PROXY or HTTPS_PROXY names a proxy: knee does not use it and connects to the target directly. k6, curl and browsers would send the requests to the proxy, unless NO_PROXY names the target. If the target can be reached through the proxy only, requests fail; otherwise the result describes the target without the proxy. To see no warning, unset the variable for this command or add the target to NO_PROXY.";

/// A warning if requests to `target` would go through a proxy; without a target, if any could.
pub fn ignored(target: Option<&Url>, env: Lookup<'_>) -> Option<String> {
    let value = |names: [&'static str; 2]| {
        names.into_iter().find_map(|name| Some((name, env(name)?)).filter(|(_, value)| !value.is_empty()))
    };
    let (_, exceptions) = value(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    if exceptions.split(',').any(|entry| entry.trim() == "*") {
        return None;
    }
    let variables = [("https", ["HTTPS_PROXY", "https_proxy"]), ("http", ["HTTP_PROXY", "http_proxy"])];
    let applies = |scheme: &str| target.is_none_or(|url| url.scheme() == scheme);
    let (name, _) =
        variables.into_iter().filter(|(scheme, _)| applies(scheme)).find_map(|(_, names)| value(names))?;
    if target
        .is_some_and(|url| is_local(url) || exceptions.split(',').any(|entry| matches(entry.trim(), url)))
    {
        return None;
    }
    Some(format!("{name} is set, but knee connects directly, without a proxy [{CODE}]"))
}

/// Whether Go never uses a proxy for a URL.
fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => true,
    }
}

/// Whether an entry of `NO_PROXY` means a URL: an address, a network, a name with all names below it, or only those
/// below it if there is a dot in front; each with a port or without.
fn matches(entry: &str, url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let address: Option<IpAddr> = host.parse().ok();
    if let Ok(network) = entry.parse::<IpNetwork>() {
        return address.is_some_and(|address| network.contains(address));
    }
    let (name, port) = match entry.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() => (name, Some(port)),
        _ => (entry, None),
    };
    let same_port = port.is_none_or(|port| port.parse().ok() == url.port_or_known_default());
    let name = name.trim_matches(['[', ']']);
    let below = name.strip_prefix("*.").or_else(|| name.strip_prefix('.')).unwrap_or(name);
    let only_below = below.len() < name.len();
    let is_below = NamePattern::new(&format!("*.{below}")).fits(host);
    !below.is_empty() && same_port && (is_below || (!only_below && host.eq_ignore_ascii_case(below)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warns(target: Option<&str>, env: &[(&str, &str)]) -> bool {
        let url = target.map(|target| Url::parse(target).unwrap());
        let lookup =
            |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        ignored(url.as_ref(), &lookup).is_some()
    }

    #[test]
    fn a_proxy_that_k6_would_use_is_not_ignored_without_a_word() {
        let proxy = ("HTTP_PROXY", "http://p:3128");
        assert!(warns(None, &[proxy]));
        assert!(warns(None, &[("https_proxy", "p")]));
        assert!(warns(Some("http://h/"), &[proxy]));
        assert!(!warns(Some("https://h/"), &[proxy]));
        assert!(!warns(None, &[]));
        assert!(!warns(None, &[("HTTP_PROXY", "")]));
        assert!(!warns(None, &[proxy, ("NO_PROXY", "a, *")]));
        for local in ["http://localhost/", "http://127.0.0.1:8080/", "http://[::1]/"] {
            assert!(!warns(Some(local), &[proxy]), "{local}");
        }
    }

    #[test]
    fn no_proxy_names_targets_as_go_reads_it() {
        for (entry, url, excepted) in [
            ("a.test", "http://a.test/", true),
            ("a.test", "http://B.a.test/", true),
            ("a.test", "http://nota.test/", false),
            (".a.test", "http://a.test/", false),
            (".a.test", "http://b.a.test/", true),
            ("*.a.test", "http://b.a.test/", true),
            ("a.test:81", "http://a.test/", false),
            ("a.test:81", "http://a.test:81/", true),
            ("10.0.0.0/8", "http://10.1.2.3/", true),
            ("10.0.0.1", "http://10.0.0.2/", false),
            ("", "http://a.test/", false),
        ] {
            let env = [("http_proxy", "p"), ("no_proxy", entry)];
            assert_eq!(warns(Some(url), &env), !excepted, "{entry} {url}");
        }
    }
}

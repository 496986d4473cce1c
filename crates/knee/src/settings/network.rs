//! Converts k6's options about the network to settings of the request path.
//!
//! Warns about options without effect. Does not open connections.

use knee_core::unit::Nanos;
use knee_engine::host;
use knee_engine::http::host_rules::{HostRules, NamePattern, Override, Policy, Select};
use knee_engine::http::memory::MemoryBudget;
use knee_engine::http::settings::{Settings, TlsSettings, TlsVersion};
use knee_k6::options::HttpOptions;
use serde_json::Value;

use super::cipher;
use crate::problem::Problem;

/// k6's time limit of a connection.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(30);

/// The settings of the options.
///
/// # Errors
///
/// The first option with a wrong value.
pub fn settings(options: &HttpOptions) -> Result<Settings, Problem> {
    Ok(Settings {
        connect_timeout: CONNECT_TIMEOUT,
        keep_alive: !options.no_connection_reuse,
        memory: MemoryBudget::new(memory_of_bodies(host::memory_limit())),
        host_rules: host_rules(options)?,
        tls: tls(options)?,
        ..Settings::default()
    })
}

/// What the bodies of responses can take if this process can use `total` bytes of memory: a quarter. Scripts keep
/// bodies, and thousands of VUs can keep large ones, so a fixed limit would end runs that the machine can make.
fn memory_of_bodies(total: Option<u64>) -> u64 {
    const LEAST: u64 = 256 << 20;
    const UNKNOWN: u64 = 1 << 30;
    total.map_or(UNKNOWN, |total| (total / 4).max(LEAST))
}

/// Options without full effect, one sentence each.
pub fn warnings(options: &HttpOptions) -> Vec<String> {
    let mut warnings = Vec::new();
    if options.local_ips.as_ref().is_some_and(|ips| !ips.is_empty()) {
        warnings.push("the option `localIPs` has no effect in this version".to_owned());
    }
    if dns(options, "ttl").is_some_and(|ttl| ttl != "inf") {
        warnings.push("the option `dns.ttl` has no effect: names are looked up once per run".to_owned());
    }
    let old = |version: Option<&str>| version.is_some_and(|version| version_of(version).is_none());
    if old(tls_version(options, "min")) || old(tls_version(options, "max")) {
        warnings.push("the option `tlsVersion`: knee supports TLS 1.2 and 1.3 only".to_owned());
    }
    let certificates = options.tls_auth.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if certificates.len() > 1 {
        warnings.push("the option `tlsAuth`: the first certificate is used for all hosts".to_owned());
    }
    warnings.extend(cipher::warning(options));
    warnings
}

fn wrong(name: &str, value: &str, hint: &str) -> Problem {
    Problem::new(format!("the option `{name}` is wrong: {value}"), hint)
}

fn host_rules(options: &HttpOptions) -> Result<HostRules, Problem> {
    let overrides = options.hosts.iter().map(|(from, to)| {
        let hint = "write `\"name\": \"address\"`, both with a port if needed";
        Override::new(from, to).ok_or_else(|| wrong("hosts", &format!("{from}: {to}"), hint))
    });
    let networks = options.blacklist_ips.iter().map(|text| {
        text.parse().map_err(|()| wrong("blacklistIPs", text, "write a network as `10.0.0.0/8`"))
    });
    Ok(HostRules {
        only: None,
        overrides: overrides.collect::<Result<_, _>>()?,
        blocked_names: options.block_hostnames.iter().map(|text| NamePattern::new(text)).collect(),
        blocked_networks: networks.collect::<Result<_, _>>()?,
        policy: policy(options)?,
        select: select(options)?,
    })
}

/// A part of the option `dns`: of an object, or of text such as `ttl=5m,select=first`.
fn dns<'a>(options: &'a HttpOptions, part: &str) -> Option<&'a str> {
    let dns = options.dns.as_ref()?;
    let of_text = |text: &'a str| {
        let mut pairs = text.split(',').filter_map(|pair| pair.split_once('='));
        pairs.find(|(name, _)| name.trim() == part).map(|(_, value)| value.trim())
    };
    dns.as_str().map_or_else(|| dns[part].as_str(), of_text)
}

fn policy(options: &HttpOptions) -> Result<Policy, Problem> {
    let Some(text) = dns(options, "policy") else { return Ok(Policy::default()) };
    Ok(match text.to_ascii_lowercase().as_str() {
        "preferipv4" => Policy::PreferV4,
        "preferipv6" => Policy::PreferV6,
        "onlyipv4" => Policy::OnlyV4,
        "onlyipv6" => Policy::OnlyV6,
        "any" => Policy::Any,
        _ => return Err(wrong("dns.policy", text, "use preferIPv4, preferIPv6, onlyIPv4, onlyIPv6 or any")),
    })
}

fn select(options: &HttpOptions) -> Result<Select, Problem> {
    let Some(text) = dns(options, "select") else { return Ok(Select::default()) };
    Ok(match text.to_ascii_lowercase().as_str() {
        "first" => Select::First,
        "random" => Select::Random,
        "roundrobin" => Select::RoundRobin,
        _ => return Err(wrong("dns.select", text, "use first, random or roundRobin")),
    })
}

fn tls(options: &HttpOptions) -> Result<TlsSettings, Problem> {
    let defaults = TlsSettings::default();
    let oldest = tls_version(options, "min").and_then(version_of).unwrap_or(defaults.oldest);
    let newest = tls_version(options, "max").map_or(Ok(defaults.newest), |text| {
        let hint = "raise `max` to tls1.2 or tls1.3";
        version_of(text).ok_or_else(|| wrong("tlsVersion", &format!("{text} is not supported"), hint))
    })?;
    if oldest > newest {
        return Err(wrong("tlsVersion", "its `min` is above its `max`", "swap them"));
    }
    Ok(TlsSettings {
        client: client(options)?,
        insecure: options.insecure_skip_tls_verify,
        oldest,
        newest,
        suites: cipher::allowed(options, newest)?,
        ..defaults
    })
}

fn tls_version<'a>(options: &'a HttpOptions, end: &str) -> Option<&'a str> {
    let version = options.tls_version.as_ref()?;
    version.as_str().or_else(|| version[end].as_str()).filter(|text| !text.is_empty())
}

fn version_of(text: &str) -> Option<TlsVersion> {
    match text {
        "tls1.2" => Some(TlsVersion::V1_2),
        "tls1.3" => Some(TlsVersion::V1_3),
        _ => None,
    }
}

/// PEM of a certificate chain and of its key.
type Identity = (Vec<u8>, Vec<u8>);

/// Certificate and key of the first entry of `tlsAuth`.
fn client(options: &HttpOptions) -> Result<Option<Identity>, Problem> {
    let list = options.tls_auth.as_ref().and_then(Value::as_array);
    let Some(first) = list.and_then(|list| list.first()) else { return Ok(None) };
    let hint = "give `cert` and `key` as text of PEM files";
    if first["password"].as_str().is_some_and(|password| !password.is_empty()) {
        return Err(wrong(
            "tlsAuth",
            "a key with a password cannot be read",
            "remove the password from the key",
        ));
    }
    match (first["cert"].as_str(), first["key"].as_str()) {
        (Some(cert), Some(key)) => Ok(Some((cert.as_bytes().to_vec(), key.as_bytes().to_vec()))),
        _ => Err(wrong("tlsAuth", "an entry has no `cert` or no `key`", hint)),
    }
}

#[cfg(test)]
mod tests {
    use knee_k6::options::resolve::{Layers, resolve};
    use serde_json::json;

    use super::*;

    fn options(script: Value) -> HttpOptions {
        resolve(Layers { script, ..Layers::default() }, |_| true).unwrap().http
    }

    #[test]
    fn hosts_and_bars_reach_the_request_path() {
        let settings = settings(&options(json!({
            "hosts": { "a.test": "127.0.0.1", "b.test:80": "127.0.0.2:81" },
            "blockHostnames": ["*.bad"],
            "blacklistIPs": ["10.0.0.0/8"],
            "dns": { "policy": "onlyIPv4", "select": "roundRobin" },
        })));
        let host_rules = settings.unwrap().host_rules;
        assert_eq!(host_rules.address_for("b.test", 80), Some("127.0.0.2:81".parse().unwrap()));
        assert!(host_rules.check_name("x.bad").is_err());
        assert_eq!(
            (host_rules.policy, host_rules.select, host_rules.blocked_networks.len()),
            (Policy::OnlyV4, Select::RoundRobin, 1)
        );
    }

    #[test]
    fn versions_of_tls_are_kept_and_old_ones_warn() {
        let given = options(json!({ "tlsVersion": { "min": "tls1.0", "max": "tls1.2" } }));
        let tls = settings(&given).unwrap().tls;
        assert_eq!((tls.oldest, tls.newest), (TlsVersion::V1_2, TlsVersion::V1_2));
        assert_eq!(warnings(&given).len(), 1);
        assert!(warnings(&options(json!({ "tlsVersion": "tls1.3" }))).is_empty());
        assert!(settings(&options(json!({ "tlsVersion": "tls1.1" }))).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for script in [
            json!({ "dns": { "policy": "sometimes" } }),
            json!({ "dns": { "select": "best" } }),
            json!({ "tlsAuth": [{ "cert": "x" }] }),
        ] {
            assert!(settings(&options(script.clone())).is_err(), "{script}");
        }
    }
}

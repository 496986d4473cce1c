//! Proxies: the one of `-x`, and what users should know about those that the environment names.
//!
//! Reads no environment and connects to nothing. Go's rules, which k6 follows, are in
//! [`knee_engine::http::proxy::rules`].

use std::sync::Arc;

use knee_engine::http::origin::Origin;
use knee_engine::http::proxy::Proxy;
use knee_engine::http::proxy::rules::ProxyRules;
use knee_engine::http::settings::HttpVersion;
use knee_engine::secret::redacted;
use url::Url;

use super::script::Lookup;
use crate::problem::Problem;

/// Its code in `knee explain`.
pub const CODE: &str = "proxy";

/// What `knee explain` says about it.
pub const MEANING: &str = "A variable such as HTTP_PROXY or HTTPS_PROXY names a proxy. Scripts use it as under k6: HTTP_PROXY for http and ws, HTTPS_PROXY for https and wss, except for this machine and for what NO_PROXY names; figures then include the proxy. A load on a URL does not use these variables and connects to the target directly: give the proxy with -x. A variable that names no proxy is ignored, as in k6. To see no warning, unset the variable for this command or add the target to NO_PROXY.";

/// The proxy of `-x`, for this version of HTTP.
///
/// # Errors
///
/// If the text is no URL of a proxy.
pub fn explicit(text: &str, version: HttpVersion) -> Result<Proxy, Problem> {
    let mut proxy = Proxy::parse(text).map_err(|error| {
        Problem::new(
            format!("`-x {}` names no proxy: {error}", redacted(text)),
            "write it as http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT",
        )
    })?;
    // A proxy forwards HTTP/1.1 only.
    proxy.only_tunnels = version == HttpVersion::Two;
    Ok(proxy)
}

/// The rules for a script, and what the user should know about them: one sentence for each variable without effect.
pub fn of_script(env: Lookup<'_>) -> (Option<Arc<ProxyRules>>, Vec<String>) {
    let (rules, unusable) = ProxyRules::from_environment(env);
    let warnings =
        unusable.into_iter().map(|one| format!("{} is ignored, because {} [{CODE}]", one.variable, one.why));
    (rules.map(Arc::new), warnings.collect())
}

/// A warning if a script's requests to `target` would go through a proxy.
pub fn ignored(target: &Url, env: Lookup<'_>) -> Option<String> {
    let (rules, _) = ProxyRules::from_environment(env);
    let origin = Origin::of(target)?;
    rules?.proxy_for(&origin)?;
    let variable = if origin.tls { "HTTPS_PROXY" } else { "HTTP_PROXY" };
    Some(format!("{variable} is set, but knee connects directly; give the proxy with `-x` [{CODE}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup<'a>(env: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn a_variable_that_a_load_does_not_use_is_reported_if_it_would_matter() {
        let warns = |target: &str, env: &[(&str, &str)]| {
            ignored(&Url::parse(target).unwrap(), &lookup(env)).is_some()
        };
        let proxy = ("HTTP_PROXY", "http://p:3128");
        assert!(warns("http://h/", &[proxy]));
        assert!(!warns("https://h/", &[proxy]));
        assert!(!warns("http://localhost/", &[proxy]));
        assert!(!warns("http://h/", &[proxy, ("NO_PROXY", "h")]));
        assert!(!warns("http://h/", &[]));
    }

    #[test]
    fn a_variable_that_names_no_proxy_is_reported() {
        let (rules, warnings) = of_script(&lookup(&[("HTTPS_PROXY", "ftp://p"), ("HTTP_PROXY", "p:1")]));
        assert!(rules.is_some());
        assert_eq!(warnings, ["HTTPS_PROXY is ignored, because `ftp` is no kind of proxy [proxy]"]);
    }

    #[test]
    fn a_proxy_forwards_http_1_only() {
        assert!(explicit("p:1", HttpVersion::Two).unwrap().only_tunnels);
        assert!(!explicit("p:1", HttpVersion::One).unwrap().only_tunnels);
        assert!(explicit("ftp://p", HttpVersion::One).is_err());
    }
}

//! k6's option `tlsCipherSuites`: which of its suites knee has.
//!
//! The option is about TLS 1.2; suites of TLS 1.3 cannot be chosen, as in k6. Does not negotiate.

use knee_engine::http::settings::TlsVersion;
use knee_k6::options::HttpOptions;
use serde_json::Value;

use crate::problem::Problem;

/// Suites of TLS 1.2 that knee has, by k6's names. rustls adds the digest to the names of the last two.
const USABLE: [(&str, &str); 6] = [
    ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
];

/// Suites of TLS 1.2 and before that k6 has and knee does not: without forward secrecy, or broken.
const MISSING: [&str; 16] = [
    "TLS_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
];

/// Suites of TLS 1.3, which are always allowed.
const ALWAYS: [&str; 3] =
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

fn named(options: &HttpOptions) -> impl Iterator<Item = &str> {
    let list = options.tls_cipher_suites.as_ref().and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// The suites of TLS 1.2 that the options allow, by rustls's names; empty if they allow all.
///
/// # Errors
///
/// A name that k6 does not know either, and options that leave no suite.
pub fn allowed(options: &HttpOptions, newest: TlsVersion) -> Result<Vec<String>, Problem> {
    let mut allowed = Vec::new();
    for name in named(options) {
        match USABLE.iter().find(|(known, _)| *known == name) {
            Some((_, of_rustls)) => allowed.push((*of_rustls).to_owned()),
            None if MISSING.contains(&name) || ALWAYS.contains(&name) => {}
            None => {
                let words = format!("the option `tlsCipherSuites` is wrong: unknown cipher suite '{name}'");
                return Err(Problem::new(words, hint()));
            }
        }
    }
    let is_given = named(options).next().is_some();
    if is_given && allowed.is_empty() && newest == TlsVersion::V1_2 {
        let words = "the options `tlsCipherSuites` and `tlsVersion` leave no cipher suite that knee has";
        return Err(Problem::new(words, hint()));
    }
    if is_given && allowed.is_empty() {
        // No suite of TLS 1.2 has this name.
        allowed.push(ALWAYS[0].to_owned());
    }
    Ok(allowed)
}

/// A warning about suites that knee does not have, if the options name any.
pub fn warning(options: &HttpOptions) -> Option<String> {
    let missing: Vec<&str> = named(options).filter(|name| MISSING.contains(name)).collect();
    if missing.is_empty() {
        return None;
    }
    let usable = named(options).any(|name| USABLE.iter().any(|(known, _)| *known == name));
    let effect = if usable { "" } else { ", so servers need TLS 1.3" };
    Some(format!("the option `tlsCipherSuites`: knee does not have {}{effect}", missing.join(", ")))
}

fn hint() -> String {
    format!("use {}", USABLE.map(|(name, _)| name).join(", "))
}

#[cfg(test)]
mod tests {
    use knee_k6::options::resolve::{Layers, resolve};
    use serde_json::json;

    use super::*;

    fn options(suites: &[&str]) -> HttpOptions {
        let script = json!({ "tlsCipherSuites": suites });
        resolve(Layers { script, ..Layers::default() }, |_| true).unwrap().http
    }

    #[test]
    fn suites_that_knee_does_not_have_are_named_before_the_first_request() {
        let old = "TLS_RSA_WITH_AES_128_GCM_SHA256";
        let only_old = options(&[old]);
        let problem = allowed(&only_old, TlsVersion::V1_2).unwrap_err().to_string();
        assert!(problem.contains("leave no cipher suite"), "{problem}");
        assert!(problem.contains("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"), "{problem}");
        assert!(!allowed(&only_old, TlsVersion::V1_3).unwrap().is_empty(), "none is not all");
        let words = warning(&only_old).unwrap();
        assert!(words.ends_with(&format!("does not have {old}, so servers need TLS 1.3")), "{words}");
        let both = options(&[old, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]);
        assert!(warning(&both).unwrap().ends_with(old));
        assert_eq!(allowed(&both, TlsVersion::V1_2).unwrap(), ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]);
    }

    #[test]
    fn the_names_are_those_of_k6() {
        let options = options(&["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_AES_128_GCM_SHA256"]);
        let allowed = allowed(&options, TlsVersion::V1_2).unwrap();
        assert_eq!(allowed, ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"]);
        assert_eq!(warning(&options), None);
        let wrong = self::options(&["TLS_NEW"]);
        let problem = super::allowed(&wrong, TlsVersion::V1_3).unwrap_err().to_string();
        assert!(problem.contains("unknown cipher suite 'TLS_NEW'"), "{problem}");
        let all: Vec<&str> = USABLE.iter().map(|(name, _)| *name).chain(MISSING).chain(ALWAYS).collect();
        assert!(super::allowed(&self::options(&all), TlsVersion::V1_3).unwrap().len() == 6, "25 names of k6");
    }
}

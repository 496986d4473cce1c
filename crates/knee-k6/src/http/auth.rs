//! Basic and digest authentication. NTLM is in [`super::handshake`].
//!
//! Digest is RFC 7616 with MD5 and `qop=auth`, which is what k6 speaks.

use std::fmt::Write as _;

use crate::digest;
use knee_engine::http::credentials::basic;
use md5::{Digest, Md5};

use super::go_url::GoUrl;

/// Credentials of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The scheme.
    pub scheme: Scheme,
    /// User name.
    pub user: String,
    /// Password.
    pub password: String,
}

/// A scheme of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// RFC 7617.
    Basic,
    /// RFC 7616.
    Digest,
}

impl Credentials {
    /// The user and the password in a URL; `None` if it names no user.
    pub fn of_url(url: &GoUrl, scheme: Scheme) -> Option<Self> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let user = url.user()?;
        let password = user.password.as_deref().map(text).unwrap_or_default();
        Some(Self { scheme, user: text(&user.name), password })
    }

    /// The value of a basic `Authorization` header.
    pub fn basic(&self) -> String {
        basic(format!("{}:{}", self.user, self.password).as_bytes())
    }

    /// The reply to a challenge, the value of `WWW-Authenticate`; `None` if it is no digest
    /// challenge that can be answered. `nonce_of_client` is any text that is not used twice.
    pub fn digest(&self, challenge: &str, method: &str, uri: &str, nonce_of_client: &str) -> Option<String> {
        let rest = challenge.trim().strip_prefix("Digest")?;
        let part = |name: &str| parameter(rest, name);
        let (realm, nonce) = (part("realm")?, part("nonce")?);
        if part("algorithm").is_some_and(|algorithm| !algorithm.eq_ignore_ascii_case("md5")) {
            return None;
        }
        let ha1 = hex(&format!("{}:{realm}:{}", self.user, self.password));
        let ha2 = hex(&format!("{method}:{uri}"));
        let with_qop = part("qop").is_some_and(|qop| qop.split(',').any(|one| one.trim() == "auth"));
        let count = "00000001";
        let response = if with_qop {
            hex(&format!("{ha1}:{nonce}:{count}:{nonce_of_client}:auth:{ha2}"))
        } else {
            hex(&format!("{ha1}:{nonce}:{ha2}"))
        };
        let mut value = format!(
            "Digest username=\"{}\", realm=\"{realm}\", nonce=\"{nonce}\", uri=\"{uri}\", response=\"{response}\"",
            self.user
        );
        if let Some(algorithm) = part("algorithm") {
            let _ = write!(value, ", algorithm={algorithm}");
        }
        if let Some(opaque) = part("opaque") {
            let _ = write!(value, ", opaque=\"{opaque}\"");
        }
        if with_qop {
            let _ = write!(value, ", qop=auth, nc={count}, cnonce=\"{nonce_of_client}\"");
        }
        Some(value)
    }
}

fn hex(text: &str) -> String {
    digest::hex(&Md5::digest(text.as_bytes()))
}

/// A parameter of a challenge, with or without quotes.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let mut rest = challenge;
    while let Some((key, after)) = rest.split_once('=') {
        let key = key.trim_matches([',', ' ']);
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        if key.eq_ignore_ascii_case(name) {
            return Some(value.trim().to_owned());
        }
        rest = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_challenge_is_answered_as_the_standard_computes_it() {
        // RFC 2617, 3.5.
        let credentials =
            Credentials { scheme: Scheme::Digest, user: "Mufasa".into(), password: "Circle Of Life".into() };
        let challenge = "Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", \
            nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"";
        let answer = credentials.digest(challenge, "GET", "/dir/index.html", "0a4f113b").unwrap();
        assert!(answer.contains("response=\"6629fae49393a05397450978507c4ef1\""), "{answer}");
        assert!(answer.contains("opaque=\"5ccc069c403ebaf9f0171e9517f40e41\""), "{answer}");
    }
}

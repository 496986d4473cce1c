//! Paths that ask who is there: basic, bearer and digest, as httpbin has them.
//!
//! The nonce of a digest is constant: who asks is known, and answers are to be the same every time.

use std::collections::HashMap;
use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};
use serde_json::json;

use super::answer::Answer;
use super::request::Request;

const NONCE: &str = "dcd98b7102dd2f0e8b11d0f600bfb0c0";
const REALM: &str = "compat@knee";

/// The answer below one of those paths.
pub fn answer(request: &Request, steps: &[&str]) -> Answer {
    let given = request.header("authorization").unwrap_or_default();
    match steps {
        ["basic-auth", user, word] if is_basic(given, user, word) => welcome(user),
        ["basic-auth", ..] => refuse(401).with("WWW-Authenticate", "Basic realm=\"compat\""),
        ["hidden-basic-auth", user, word] if is_basic(given, user, word) => welcome(user),
        ["hidden-basic-auth", ..] => refuse(404),
        ["bearer"] if given.starts_with("Bearer ") => {
            Answer::json(&json!({ "authenticated": true, "token": &given["Bearer ".len()..] }))
        }
        ["digest-auth", quality, user, word] if is_digest(request, given, quality, user, word) => {
            welcome(user)
        }
        ["digest-auth", quality, ..] => {
            let offer = format!(
                "Digest realm=\"{REALM}\", nonce=\"{NONCE}\", qop=\"{quality}\", opaque=\"5ccc069c\", algorithm=MD5"
            );
            refuse(401).with("WWW-Authenticate", &offer)
        }
        _ => refuse(401),
    }
}

fn welcome(user: &str) -> Answer {
    Answer::json(&json!({ "authenticated": true, "user": user }))
}

fn refuse(status: u16) -> Answer {
    Answer::text(status, "text/plain", "")
}

fn is_basic(given: &str, user: &str, word: &str) -> bool {
    given == format!("Basic {}", STANDARD.encode(format!("{user}:{word}")))
}

/// RFC 7616 with MD5: `response` over user, method, target, nonces and quality.
fn is_digest(request: &Request, given: &str, quality: &str, user: &str, word: &str) -> bool {
    let Some(given) = given.strip_prefix("Digest ") else { return false };
    let parts: HashMap<&str, &str> = given
        .split(',')
        .filter_map(|part| part.trim().split_once('='))
        .map(|(name, value)| (name, value.trim_matches('"')))
        .collect();
    let part = |name: &str| parts.get(name).copied().unwrap_or_default();
    let who = hash(&format!("{user}:{REALM}:{word}"));
    let what = hash(&format!("{}:{}", request.method, request.target));
    let (count, own) = (part("nc"), part("cnonce"));
    let expected = hash(&format!("{who}:{NONCE}:{count}:{own}:{quality}:{what}"));
    part("username") == user && part("uri") == request.target && part("response") == expected
}

fn hash(text: &str) -> String {
    let mut hex = String::new();
    for byte in Md5::digest(text) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

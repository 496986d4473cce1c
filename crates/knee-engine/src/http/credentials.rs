//! User and password as they are sent: decoded from a URL, and encoded for a header.
//!
//! Does not decide who gets them.

/// The value of a basic `authorization` header (RFC 7617) for `user:password`.
pub fn basic(pair: &[u8]) -> String {
    use base64::Engine;
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
}

/// The bytes of a part of a URL.
pub fn percent_decode(text: &str) -> Vec<u8> {
    url::form_urlencoded::parse(format!("k={}", text.replace('+', "%2B")).as_bytes())
        .next()
        .map(|(_, value)| value.into_owned().into_bytes())
        .unwrap_or_default()
}

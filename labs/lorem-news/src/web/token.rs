//! Signed session cookies and CSRF tokens of forms.
//!
//! Stores nothing: the row of a session in the database decides whether it is still valid.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Signs cookies and tokens, and verifies them.
#[derive(Clone)]
pub struct Signer {
    keyed: Hmac<Sha256>,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key stays out of logs.
        f.write_str("Signer")
    }
}

impl Signer {
    /// A signer with a key of any length.
    ///
    /// # Errors
    /// Never: HMAC takes every length. The library's signature says otherwise.
    pub fn new(key: &[u8]) -> Result<Self, hmac::digest::InvalidLength> {
        Ok(Self { keyed: Hmac::new_from_slice(key)? })
    }

    /// The cookie of a session.
    pub fn session_cookie(&self, session: i64) -> String {
        let id = session.to_string();
        let signature = hex(&self.sign("session", &id));
        format!("{id}.{signature}")
    }

    /// The session of a cookie with a valid signature.
    pub fn session_of(&self, cookie: &str) -> Option<i64> {
        let (id, signature) = cookie.split_once('.')?;
        self.fits("session", id, signature).then(|| id.parse().ok())?
    }

    /// The form token for a browser with this cookie.
    pub fn form_token(&self, seed: &str) -> String {
        hex(&self.sign("form", seed))
    }

    /// Whether a form token is valid for this browser.
    pub fn form_fits(&self, seed: &str, token: &str) -> bool {
        !seed.is_empty() && self.fits("form", seed, token)
    }

    /// The purpose is signed too, so that a signature for one is invalid for another.
    fn mac(&self, purpose: &str, text: &str) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        mac.update(purpose.as_bytes());
        mac.update(b":");
        mac.update(text.as_bytes());
        mac
    }

    fn sign(&self, purpose: &str, text: &str) -> [u8; 32] {
        self.mac(purpose, text).finalize().into_bytes().into()
    }

    /// Compares in a time that does not depend on where they differ.
    fn fits(&self, purpose: &str, text: &str, signature: &str) -> bool {
        unhex(signature).is_some_and(|bytes| self.mac(purpose, text).verify_slice(&bytes).is_ok())
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)].into());
        text.push(DIGITS[usize::from(byte & 15)].into());
    }
    text
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

/// The value of a cookie.
pub fn cookie<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, v)| v)
}

/// A `Set-Cookie` header: for this site and its pages only, never for scripts.
pub fn set_cookie(name: &str, value: &str, seconds: u32, secure: bool) -> String {
    let mut text = String::with_capacity(160);
    let secure = if secure { "; Secure" } else { "" };
    // Writing to a String cannot fail.
    let _ = write!(text, "{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_cookie_cannot_be_forged_or_changed() {
        let signer = Signer::new(b"key").unwrap();
        let cookie = signer.session_cookie(41);
        assert_eq!(signer.session_of(&cookie), Some(41));
        assert_eq!(signer.session_of(&cookie.replacen("41", "42", 1)), None);
        assert_eq!(Signer::new(b"other").unwrap().session_of(&cookie), None);
        for bad in ["", ".", "41", "41.", "41.zz", "41.é", "x.00"] {
            assert_eq!(signer.session_of(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_signature_is_valid_for_one_purpose_and_one_browser() {
        let signer = Signer::new(b"key").unwrap();
        let token = signer.form_token("41");
        assert!(signer.form_fits("41", &token));
        assert!(!signer.form_fits("42", &token));
        assert!(!signer.form_fits("", &signer.form_token("")));
        assert_eq!(signer.session_of(&format!("41.{token}")), None);
    }

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        assert_eq!(cookie("a=1; session_token=2.x; b=3", "session_token"), Some("2.x"));
        assert_eq!(cookie("not_session_token=2", "session_token"), None);
    }
}

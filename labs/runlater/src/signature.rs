//! Signatures that authenticate calls to their targets, and digests of secrets.
//!
//! Stores no secrets.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// `sha256=` and the HMAC-SHA-256 (RFC 2104) of the body in hex.
pub fn sign(secret: &str, body: &[u8]) -> String {
    // HMAC accepts keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(body);
    format!("sha256={}", hex(&mac.finalize().into_bytes()))
}

/// SHA-256 in hex.
pub fn digest(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// SHA-256 of bytes.
pub fn raw_digest(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

/// Bytes as lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_rfc_4231() {
        // Test case 2: key "Jefe", data "what do ya want for nothing?".
        let expected = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(sign("Jefe", b"what do ya want for nothing?"), expected);
    }

    #[test]
    fn the_digest_is_that_of_fips_180() {
        assert_eq!(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}

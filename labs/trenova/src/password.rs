//! Passwords, stored as argon2id digests.
//!
//! Hashing takes tens of milliseconds on purpose: never call it on a thread that serves other requests.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};

/// Digest of a password, with a random salt.
///
/// # Errors
/// The system gives no random bytes.
pub fn digest(password: &str) -> Result<String, argon2::password_hash::Error> {
    Ok(Argon2::default().hash_password(password.as_bytes())?.to_string())
}

/// Whether the password matches the digest.
pub fn verify(password: &str, digest: &str) -> bool {
    PasswordHash::new(digest)
        .is_ok_and(|digest| Argon2::default().verify_password(password.as_bytes(), &digest).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_matches_its_password_only() {
        let kept = digest("a long password").unwrap();
        assert!(verify("a long password", &kept));
        assert!(!verify("A long password", &kept));
        assert!(!verify("a long password", "not a digest"));
        assert_ne!(kept, digest("a long password").unwrap(), "each has a salt of its own");
    }
}

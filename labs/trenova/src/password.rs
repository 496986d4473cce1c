//! Passwords, as argon2id digests.
//!
//! Takes tens of milliseconds on purpose: never call it where other requests wait for the thread.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};

/// The digest of a password, with a salt of its own.
///
/// # Errors
/// The system gives no random bytes.
pub fn digest(password: &str) -> Result<String, argon2::password_hash::Error> {
    Ok(Argon2::default().hash_password(password.as_bytes())?.to_string())
}

/// Whether the password belongs to the digest.
pub fn fits(password: &str, digest: &str) -> bool {
    PasswordHash::new(digest)
        .is_ok_and(|digest| Argon2::default().verify_password(password.as_bytes(), &digest).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_knows_its_password_and_no_other() {
        let kept = digest("a long password").unwrap();
        assert!(fits("a long password", &kept));
        assert!(!fits("A long password", &kept));
        assert!(!fits("a long password", "not a digest"));
        assert_ne!(kept, digest("a long password").unwrap(), "each has a salt of its own");
    }
}

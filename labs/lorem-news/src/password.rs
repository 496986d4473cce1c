//! Passwords as argon2id digests.
//!
//! Takes tens of milliseconds by design: do not call it on a thread that other requests wait for.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};

/// The digest of a password with a random salt.
///
/// # Errors
/// The system gives no random bytes.
pub fn digest(password: &str) -> Result<String, argon2::password_hash::Error> {
    Ok(Argon2::default().hash_password(password.as_bytes())?.to_string())
}

/// The digest with a given salt, for reproducible data.
///
/// # Errors
/// The salt is shorter than 8 bytes.
pub fn digest_salted(password: &str, salt: &[u8]) -> Result<String, argon2::password_hash::Error> {
    Ok(Argon2::default().hash_password_with_salt(password.as_bytes(), salt)?.to_string())
}

/// Whether the password belongs to the digest.
pub fn matches(password: &str, digest: &str) -> bool {
    PasswordHash::new(digest)
        .is_ok_and(|digest| Argon2::default().verify_password(password.as_bytes(), &digest).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_matches_its_password_and_no_other() {
        let stored = digest("a long password").unwrap();
        assert!(matches("a long password", &stored));
        assert!(!matches("A long password", &stored));
        assert!(!matches("a long password", "not a digest"));
    }

    #[test]
    fn a_given_salt_gives_the_same_digest_and_it_still_matches() {
        let stored = digest_salted("password", b"0123456789abcdef").unwrap();
        assert_eq!(stored, digest_salted("password", b"0123456789abcdef").unwrap());
        assert!(matches("password", &stored));
    }
}

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

/// The digest with a salt that is given, for data that has to come out the same each time.
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
    fn a_digest_knows_its_password_and_no_other() {
        let kept = digest("a long password").unwrap();
        assert!(matches("a long password", &kept));
        assert!(!matches("A long password", &kept));
        assert!(!matches("a long password", "not a digest"));
    }

    #[test]
    fn a_given_salt_gives_the_same_digest_and_it_still_matches() {
        let kept = digest_salted("password", b"0123456789abcdef").unwrap();
        assert_eq!(kept, digest_salted("password", b"0123456789abcdef").unwrap());
        assert!(matches("password", &kept));
    }
}

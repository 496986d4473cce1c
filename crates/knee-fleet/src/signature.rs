//! Signatures of orders: Ed25519, with keys as NATS writes them.
//!
//! Does not decide whose orders count; the agent's list of signers does.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nkeys::{KeyPair, KeyPairType};

/// Why a text is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not a seed of a user's key, which begins with `SU`.
    #[error("this is not the seed of a key: it begins with `SU` and has 58 letters and digits")]
    Seed,
    /// Not a public key of a user, which begins with `U`.
    #[error("`{0}` is not a public key: it begins with `U` and has 56 letters and digits")]
    Public(String),
}

/// Signs messages.
pub struct Signer {
    pair: KeyPair,
}

impl std::fmt::Debug for Signer {
    /// Without the secret.
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "Signer({})", self.public())
    }
}

/// Who signed a message, and the signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Public key.
    pub key: String,
    /// The signature, in base64.
    pub signature: String,
}

impl Signer {
    /// A new key.
    pub fn random() -> Self {
        Self { pair: KeyPair::new_user() }
    }

    /// The key with this seed.
    ///
    /// # Errors
    /// If it is no seed of a user's key.
    pub fn of_seed(seed: &str) -> Result<Self, KeyError> {
        let pair = KeyPair::from_seed(seed.trim()).map_err(|_| KeyError::Seed)?;
        if pair.key_pair_type() != KeyPairType::User {
            return Err(KeyError::Seed);
        }
        Ok(Self { pair })
    }

    /// What must be kept secret.
    ///
    /// # Errors
    /// Never for a signer: it was made of a seed.
    pub fn seed(&self) -> Result<String, KeyError> {
        self.pair.seed().map_err(|_| KeyError::Seed)
    }

    /// What agents know the signer by.
    pub fn public(&self) -> String {
        self.pair.public_key()
    }

    /// Signs a message; `None` never happens, because a signer has its seed.
    pub fn sign(&self, message: &[u8]) -> Option<Signed> {
        let signature = self.pair.sign(message).ok()?;
        Some(Signed { key: self.public(), signature: STANDARD.encode(signature) })
    }
}

/// Checks that a text is a public key of a user.
///
/// # Errors
/// If it is not.
pub fn check_public(key: &str) -> Result<(), KeyError> {
    match KeyPair::from_public_key(key) {
        Ok(pair) if pair.key_pair_type() == KeyPairType::User => Ok(()),
        _ => Err(KeyError::Public(key.to_owned())),
    }
}

/// Whether the signature is that of the message by the key that it names.
pub fn is_valid(message: &[u8], signed: &Signed) -> bool {
    let Ok(signature) = STANDARD.decode(&signed.signature) else { return false };
    KeyPair::from_public_key(&signed.key).is_ok_and(|pair| pair.verify(message, &signature).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_valid_for_its_message_and_key_only() {
        let (one, other) = (Signer::random(), Signer::random());
        let signed = one.sign(b"go").unwrap();
        assert!(is_valid(b"go", &signed));
        assert!(!is_valid(b"no", &signed));
        assert!(!is_valid(b"go", &Signed { key: other.public(), ..signed.clone() }));
        assert!(!is_valid(b"go", &Signed { signature: "?".to_owned(), ..signed.clone() }));
        assert!(!is_valid(b"go", &Signed { key: "U".to_owned(), ..signed }));
    }

    #[test]
    fn a_key_survives_being_written_down() {
        let signer = Signer::random();
        let again = Signer::of_seed(&format!("{}\n", signer.seed().unwrap())).unwrap();
        assert_eq!(again.public(), signer.public());
        assert!(check_public(&signer.public()).is_ok());
        assert!(check_public(&signer.seed().unwrap()).is_err());
        assert_eq!(Signer::of_seed("SUA").unwrap_err(), KeyError::Seed);
        assert!(!format!("{signer:?}").contains(&signer.seed().unwrap()), "a seed must not be shown");
    }
}

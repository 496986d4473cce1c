//! Signatures: HMAC, ECDSA and RSA.

use super::hash::Hash;
use super::key::{Algorithm, Key, Material};
use super::refused::Refused;
use super::rsa::{self, Padding};

/// How a message is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signing {
    /// With the digest of the key.
    Hmac,
    /// With a digest.
    Ecdsa(Hash),
    /// With the digest of the key.
    Rsa(Padding),
}

/// A signature of a message.
///
/// # Errors
/// The key does not fit.
pub fn sign(signing: Signing, key: &Key, message: &[u8]) -> Result<Vec<u8>, Refused> {
    match signing {
        Signing::Hmac => Ok(hmac_hash(key)?.hmac(key.secret()?, message)),
        Signing::Ecdsa(hash) => match &key.material {
            Material::CurvePrivate(private) => private.sign(hash, message),
            _ => Err(Refused::access("key is not a valid ECDSA private key")),
        },
        Signing::Rsa(padding) => {
            let (key, hash) = key.rsa_private()?;
            rsa::sign(key, hash, padding, message)
        }
    }
}

/// Whether this is the signature of a message.
///
/// # Errors
/// The key does not fit.
pub fn verify(signing: Signing, key: &Key, signature: &[u8], message: &[u8]) -> Result<bool, Refused> {
    match signing {
        Signing::Hmac => Ok(hmac_hash(key)?.hmac(key.secret()?, message) == signature),
        Signing::Ecdsa(hash) => match &key.material {
            Material::CurvePublic(public) => Ok(public.verify(hash, message, signature)),
            _ => Err(Refused::access("key is not a valid ECDSA public key")),
        },
        Signing::Rsa(padding) => {
            let (key, hash) = key.rsa_public()?;
            rsa::verify(key, hash, padding, signature, message)
        }
    }
}

fn hmac_hash(key: &Key) -> Result<Hash, Refused> {
    match key.algorithm {
        Algorithm::Hmac { hash, .. } => Ok(hash),
        _ => Err(Refused::access("key algorithm does not describe a HMAC key")),
    }
}

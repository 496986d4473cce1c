//! RSA (RFC 8017): signatures with the paddings PKCS #1 v1.5 and PSS, encryption with OAEP.
//!
//! The library is not safe against an attacker who measures how long a private key is used (RUSTSEC-2023-0071). The keys
//! here are those of a test, used against the user's own service, and what takes long is not shown to others.

use rsa::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};
use rsa::traits::PublicKeyParts;
use rsa::{Oaep, Pkcs1v15Sign, Pss};

use super::hash::{Hash, with_digest};
use super::refused::Refused;

/// A private key.
pub type Private = rsa::PrivateKey;
/// A public key.
pub type Public = rsa::PublicKey;

/// The exponent of the keys that are made.
pub const EXPONENT: i64 = 65_537;
/// Most bits of the keys that are made: longer ones take minutes, in which no other VU of the worker runs.
pub const MOST_BITS: i64 = 4_096;

/// How a message is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// PKCS #1 v1.5.
    Pkcs1,
    /// PSS.
    Pss {
        /// Bytes of the salt.
        salt: i64,
    },
}

/// A new key.
///
/// # Errors
/// So many bits are too few, or more than [`MOST_BITS`].
pub fn random(bits: i64) -> Result<Private, Refused> {
    let failed = || Refused::operation("could not generate RSA key pair");
    if bits > MOST_BITS {
        return Err(Refused::operation(format!(
            "could not generate RSA key pair of more than {MOST_BITS} bits"
        )));
    }
    let bits = usize::try_from(bits).map_err(|_| failed())?;
    Private::new(&mut rand::rng(), bits).map_err(|_| failed())
}

/// The key of a PKCS #8 structure.
pub fn private_from_pkcs8(der: &[u8]) -> Result<Private, Refused> {
    let key = Private::from_pkcs8_der(der);
    key.map_err(|error| Refused::data(format!("unable to import RSA private key data: {error}")))
}

/// The key of a `SubjectPublicKeyInfo`.
pub fn public_from_spki(der: &[u8]) -> Result<Public, Refused> {
    let key = Public::from_public_key_der(der);
    key.map_err(|error| Refused::data(format!("unable to import RSA public key data: {error}")))
}

/// As a PKCS #8 structure.
pub fn to_pkcs8(key: &Private) -> Option<Vec<u8>> {
    key.to_pkcs8_der().ok().map(|document| document.as_bytes().to_vec())
}

/// As a `SubjectPublicKeyInfo`.
pub fn to_spki(key: &Public) -> Option<Vec<u8>> {
    key.to_public_key_der().ok().map(|document| document.as_bytes().to_vec())
}

/// Bits of its modulus.
pub fn bits(key: &impl PublicKeyParts) -> usize {
    key.n().bit_width() as usize
}

/// A signature of a message.
pub fn sign(private: &Private, hash: Hash, padding: Padding, message: &[u8]) -> Result<Vec<u8>, Refused> {
    let digest = hash.digest(message);
    let rng = &mut rand::rng();
    let signed = match padding {
        Padding::Pkcs1 => {
            with_digest!(hash, D => private.sign_with_rng(rng, Pkcs1v15Sign::new::<D>(), &digest))
        }
        Padding::Pss { salt } => {
            let salt =
                salt_length(salt, "supportsalt length=0 but generates salt with maximum length . Sign")?;
            with_digest!(hash, D => private.sign_with_rng(rng, Pss::<D>::new_with_salt(salt), &digest))
        }
    };
    signed.map_err(|error| Refused::operation(format!("could not sign data: {error}")))
}

/// Whether this is the signature of a message.
pub fn verify(
    public: &Public,
    hash: Hash,
    padding: Padding,
    signature: &[u8],
    message: &[u8],
) -> Result<bool, Refused> {
    let digest = hash.digest(message);
    let verified = match padding {
        Padding::Pkcs1 => {
            with_digest!(hash, D => public.verify(Pkcs1v15Sign::new::<D>(), &digest, signature))
        }
        Padding::Pss { salt } => {
            let words = "supportsalt length=0 but tries to auto-detect salt length if 0 is used. Verify";
            let salt = salt_length(salt, words)?;
            with_digest!(hash, D => public.verify(Pss::<D>::new_with_salt(salt), &digest, signature))
        }
    };
    Ok(verified.is_ok())
}

/// k6 refuses salts without a byte, in these words.
fn salt_length(salt: i64, words: &str) -> Result<usize, Refused> {
    match usize::try_from(salt) {
        Ok(0) => Err(Refused::implementation(format!(
            "k6 RSA-PSS uses standard Golang SDK that doesn't {words} result might be different."
        ))),
        Ok(salt) => Ok(salt),
        Err(_) => Err(Refused::operation("could not sign data: the length of the salt is negative")),
    }
}

/// Encrypts a short message.
pub fn encrypt(public: &Public, hash: Hash, label: &[u8], message: &[u8]) -> Result<Vec<u8>, Refused> {
    let sealed = with_digest!(hash, D => {
        public.encrypt(&mut rand::rng(), Oaep::<D>::new_with_label(label), message)
    });
    sealed.map_err(|error| Refused::operation(format!("could not encrypt data: {error}")))
}

/// Decrypts a message.
pub fn decrypt(private: &Private, hash: Hash, label: &[u8], message: &[u8]) -> Result<Vec<u8>, Refused> {
    let plain = with_digest!(hash, D => {
        private.decrypt_blinded(&mut rand::rng(), Oaep::<D>::new_with_label(label), message)
    });
    plain.map_err(|error| Refused::operation(format!("could not decrypt data: {error}")))
}

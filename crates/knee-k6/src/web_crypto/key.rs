//! Keys, as scripts see them and as the operations use them.

use super::curve;
use super::hash::Hash;
use super::refused::Refused;
use super::rsa;

/// A key.
pub struct Key {
    /// Which of the three it is.
    pub kind: Kind,
    /// Whether scripts can export it.
    pub extractable: bool,
    /// What it is for.
    pub algorithm: Algorithm,
    /// What scripts can do with it, by the names of the API.
    pub usages: Vec<String>,
    pub(super) material: Material,
}

/// A secret, or a half of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of AES, HMAC or PBKDF2.
    Secret,
    /// Of RSA or a curve.
    Private,
    /// Of RSA or a curve.
    Public,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Private => "private",
            Self::Public => "public",
        }
    }
}

/// The algorithm of a key, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// AES in a mode.
    Aes {
        /// The name of the mode.
        name: &'static str,
        /// Length of the key in bits.
        bits: usize,
    },
    /// HMAC.
    Hmac {
        /// Its digest.
        hash: Hash,
        /// Length of the key in bits.
        bits: usize,
    },
    /// ECDSA or ECDH.
    Curve {
        /// Which of the two.
        name: &'static str,
        /// The curve that the script named.
        curve: String,
    },
    /// RSA with a padding.
    Rsa {
        /// The name of the padding.
        name: &'static str,
        /// Bits of the modulus.
        bits: usize,
        /// Its digest.
        hash: Hash,
    },
    /// A password.
    Pbkdf2,
}

impl Algorithm {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Aes { name, .. } | Self::Curve { name, .. } | Self::Rsa { name, .. } => name,
            Self::Hmac { .. } => "HMAC",
            Self::Pbkdf2 => "PBKDF2",
        }
    }
}

/// What a key consists of.
pub(super) enum Material {
    Bytes(Vec<u8>),
    CurvePrivate(curve::Private),
    CurvePublic(curve::Public),
    RsaPrivate(Box<rsa::Private>),
    RsaPublic(Box<rsa::Public>),
}

impl Key {
    /// Whether scripts can use it for this.
    pub fn has_usage(&self, usage: &str) -> bool {
        self.usages.iter().any(|has| has == usage)
    }

    /// The bytes of a secret key.
    pub(super) fn secret(&self) -> Result<&[u8], Refused> {
        match &self.material {
            Material::Bytes(bytes) => Ok(bytes),
            _ => Err(Refused::access("key handle is of incorrect type")),
        }
    }

    /// The private key of RSA, with its digest.
    pub(super) fn rsa_private(&self) -> Result<(&rsa::Private, Hash), Refused> {
        let words = "given CryptoKey is not a private RSA key, it's *rsa.PublicKey";
        match &self.material {
            Material::RsaPrivate(key) => Ok((key, self.rsa_hash()?)),
            _ => Err(Refused::access(words)),
        }
    }

    /// The public key of RSA, with its digest.
    pub(super) fn rsa_public(&self) -> Result<(&rsa::Public, Hash), Refused> {
        let words = "given CryptoKey is not a public RSA key, it's *rsa.PrivateKey";
        match &self.material {
            Material::RsaPublic(key) => Ok((key, self.rsa_hash()?)),
            _ => Err(Refused::access(words)),
        }
    }

    fn rsa_hash(&self) -> Result<Hash, Refused> {
        match self.algorithm {
            Algorithm::Rsa { hash, .. } => Ok(hash),
            _ => Err(Refused::access("key algorithm is not a RSA hashed key algorithm")),
        }
    }
}

/// A secret or private key that can be used for nothing is refused.
pub(super) fn require_usages(key: Key) -> Result<Key, Refused> {
    if key.kind != Kind::Public && key.usages.is_empty() {
        return Err(Refused::syntax("usages cannot not be empty for a secret or private CryptoKey"));
    }
    Ok(key)
}

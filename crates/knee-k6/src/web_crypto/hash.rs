//! The digests of `crypto.subtle`, and HMAC.

use hmac::{KeyInit, Mac, SimpleHmac};
use sha2::Digest;

/// A digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-1, broken; services still ask for it.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// Evaluates `$body` with `$digest` as the type of the digest.
macro_rules! with_digest {
    ($hash:expr, $digest:ident => $body:expr) => {
        match $hash {
            $crate::web_crypto::hash::Hash::Sha1 => {
                type $digest = sha1::Sha1;
                $body
            }
            $crate::web_crypto::hash::Hash::Sha256 => {
                type $digest = sha2::Sha256;
                $body
            }
            $crate::web_crypto::hash::Hash::Sha384 => {
                type $digest = sha2::Sha384;
                $body
            }
            $crate::web_crypto::hash::Hash::Sha512 => {
                type $digest = sha2::Sha512;
                $body
            }
        }
    };
}
pub(super) use with_digest;

impl Hash {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sha1, Self::Sha256, Self::Sha384, Self::Sha512];

    /// By its name, in capital letters.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hash| hash.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "SHA-1",
            Self::Sha256 => "SHA-256",
            Self::Sha384 => "SHA-384",
            Self::Sha512 => "SHA-512",
        }
    }

    /// Bits of a block, the length of an HMAC key unless another is asked for.
    pub fn block_bits(self) -> usize {
        match self {
            Self::Sha1 | Self::Sha256 => 512,
            Self::Sha384 | Self::Sha512 => 1024,
        }
    }

    /// The digest of bytes.
    pub fn digest(self, bytes: &[u8]) -> Vec<u8> {
        with_digest!(self, D => D::digest(bytes).to_vec())
    }

    /// The HMAC of bytes (RFC 2104).
    pub fn hmac(self, key: &[u8], bytes: &[u8]) -> Vec<u8> {
        // A key can have any length, so there is always a keyed digest; an empty one could not come from `digest`.
        with_digest!(self, D => match SimpleHmac::<D>::new_from_slice(key) {
            Ok(keyed) => keyed.chain_update(bytes).finalize().into_bytes().to_vec(),
            Err(_) => Vec::new(),
        })
    }
}

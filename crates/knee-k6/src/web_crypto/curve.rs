//! The curves P-256, P-384 and P-521 (FIPS 186): signatures and shared secrets.

use p256::ecdsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use p256::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};

use super::hash::Hash;
use super::refused::Refused;

/// A curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// Of 256 bits.
    P256,
    /// Of 384 bits.
    P384,
    /// Of 521 bits.
    P521,
}

/// A private key.
pub enum Private {
    /// On this curve.
    P256(p256::SecretKey),
    /// On this curve.
    P384(p384::SecretKey),
    /// On this curve.
    P521(p521::SecretKey),
}

/// A public key.
#[derive(Clone)]
pub enum Public {
    /// On this curve.
    P256(p256::PublicKey),
    /// On this curve.
    P384(p384::PublicKey),
    /// On this curve.
    P521(p521::PublicKey),
}

/// Evaluates `$body` for the key of each curve, with its crate as `library` and its variant as `Variant`.
macro_rules! of_key {
    ($kind:ident, $value:expr, $key:ident => $body:expr) => {
        match $value {
            $kind::P256($key) => {
                #[allow(unused_imports, reason = "not every body names the library")]
                use p256 as library;
                $body
            }
            $kind::P384($key) => {
                #[allow(unused_imports, reason = "not every body names the library")]
                use p384 as library;
                $body
            }
            $kind::P521($key) => {
                #[allow(unused_imports, reason = "not every body names the library")]
                use p521 as library;
                $body
            }
        }
    };
}

/// Evaluates `$body` for a curve, with its crate as `library`, and wraps the result.
macro_rules! on_curve {
    ($kind:ident, $curve:expr, $body:expr) => {
        match $curve {
            Curve::P256 => {
                #[allow(unused_imports, reason = "not every body names the library")]
                use p256 as library;
                $body.map($kind::P256)
            }
            Curve::P384 => {
                #[allow(unused_imports, reason = "not every body names the library")]
                use p384 as library;
                $body.map($kind::P384)
            }
            Curve::P521 => {
                #[allow(unused_imports, reason = "not every body names the library")]
                use p521 as library;
                $body.map($kind::P521)
            }
        }
    };
}

impl Curve {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::P256, Self::P384, Self::P521];

    /// By its name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|curve| curve.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
        }
    }

    /// Bytes of a coordinate.
    pub fn bytes(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }
}

impl Private {
    /// A new one.
    pub fn random(curve: Curve) -> Self {
        use p256::elliptic_curve::Generate;
        let rng = &mut rand::rng();
        match curve {
            Curve::P256 => Self::P256(p256::SecretKey::generate_from_rng(rng)),
            Curve::P384 => Self::P384(p384::SecretKey::generate_from_rng(rng)),
            Curve::P521 => Self::P521(p521::SecretKey::generate_from_rng(rng)),
        }
    }

    /// The key of these bytes, big-endian.
    pub fn from_scalar(curve: Curve, bytes: &[u8]) -> Option<Self> {
        let padded = padded(bytes, curve.bytes())?;
        on_curve!(Self, curve, library::SecretKey::from_slice(&padded).ok())
    }

    /// The key of a PKCS #8 structure.
    pub fn from_pkcs8(der: &[u8]) -> Option<Self> {
        Curve::ALL
            .into_iter()
            .find_map(|curve| on_curve!(Self, curve, library::SecretKey::from_pkcs8_der(der).ok()))
    }

    /// As a PKCS #8 structure.
    pub fn to_pkcs8(&self) -> Option<Vec<u8>> {
        of_key!(Self, self, key => key.to_pkcs8_der().ok()).map(|document| document.as_bytes().to_vec())
    }

    /// The other half.
    pub fn public(&self) -> Public {
        match self {
            Self::P256(key) => Public::P256(key.public_key()),
            Self::P384(key) => Public::P384(key.public_key()),
            Self::P521(key) => Public::P521(key.public_key()),
        }
    }

    /// Its bytes, big-endian.
    pub fn scalar(&self) -> Vec<u8> {
        of_key!(Self, self, key => key.to_bytes().to_vec())
    }

    /// Its curve.
    pub fn curve(&self) -> Curve {
        self.public().curve()
    }

    /// A signature of a message (ECDSA with the nonces of RFC 6979): both numbers, each as long as a coordinate.
    pub fn sign(&self, hash: Hash, message: &[u8]) -> Result<Vec<u8>, Refused> {
        let digest = long_enough(hash.digest(message), self.curve());
        of_key!(Self, self, key => {
            let signed: Result<library::ecdsa::Signature, _> =
                library::ecdsa::SigningKey::from(key).sign_prehash(&digest);
            signed.map(|signature| signature.to_bytes().to_vec())
        })
        .map_err(|error| Refused::operation(format!("unable to sign data: {error}")))
    }

    /// The secret that both sides compute (ECDH), if the other key is on the same curve.
    pub fn shared_secret(&self, other: &Public) -> Option<Vec<u8>> {
        match (self, other) {
            (Self::P256(key), Public::P256(other)) => {
                Some(key.diffie_hellman(other).raw_secret_bytes().to_vec())
            }
            (Self::P384(key), Public::P384(other)) => {
                Some(key.diffie_hellman(other).raw_secret_bytes().to_vec())
            }
            (Self::P521(key), Public::P521(other)) => {
                Some(key.diffie_hellman(other).raw_secret_bytes().to_vec())
            }
            _ => None,
        }
    }
}

impl Public {
    /// The key of an encoded point (SEC 1, 2.3.3).
    pub fn from_point(curve: Curve, bytes: &[u8]) -> Option<Self> {
        on_curve!(Self, curve, library::PublicKey::from_sec1_bytes(bytes).ok())
    }

    /// The key of two coordinates, big-endian.
    pub fn from_coordinates(curve: Curve, x: &[u8], y: &[u8]) -> Option<Self> {
        let (x, y) = (padded(x, curve.bytes())?, padded(y, curve.bytes())?);
        Self::from_point(curve, &[&[UNCOMPRESSED], &x[..], &y].concat())
    }

    /// The key of a `SubjectPublicKeyInfo`.
    pub fn from_spki(der: &[u8]) -> Option<Self> {
        Curve::ALL
            .into_iter()
            .find_map(|curve| on_curve!(Self, curve, library::PublicKey::from_public_key_der(der).ok()))
    }

    /// As a `SubjectPublicKeyInfo`.
    pub fn to_spki(&self) -> Option<Vec<u8>> {
        of_key!(Self, self, key => key.to_public_key_der().ok()).map(|document| document.as_bytes().to_vec())
    }

    /// Its point, not compressed (SEC 1, 2.3.3).
    pub fn point(&self) -> Vec<u8> {
        of_key!(Self, self, key => key.to_sec1_bytes().to_vec())
    }

    /// Its coordinates, big-endian.
    pub fn coordinates(&self) -> (Vec<u8>, Vec<u8>) {
        let point = self.point();
        let (x, y) = point[1..].split_at(self.curve().bytes());
        (x.to_vec(), y.to_vec())
    }

    /// Its curve.
    pub fn curve(&self) -> Curve {
        match self {
            Self::P256(_) => Curve::P256,
            Self::P384(_) => Curve::P384,
            Self::P521(_) => Curve::P521,
        }
    }

    /// Whether this is the signature of a message.
    pub fn verify(&self, hash: Hash, message: &[u8], signature: &[u8]) -> bool {
        let digest = long_enough(hash.digest(message), self.curve());
        of_key!(Self, self, key => {
            let signature = library::ecdsa::Signature::from_slice(signature);
            let key = library::ecdsa::VerifyingKey::from(key);
            signature.is_ok_and(|signature| key.verify_prehash(&digest, &signature).is_ok())
        })
    }
}

/// The first byte of a point that is not compressed.
const UNCOMPRESSED: u8 = 4;

/// Bytes of a number, with zeros before them; `None` if there are too many.
fn padded(bytes: &[u8], size: usize) -> Option<Vec<u8>> {
    let zeros = size.checked_sub(bytes.len())?;
    Some([&vec![0; zeros][..], bytes].concat())
}

/// A digest with zeros before it, which leave the signature as it is: the library refuses those that are shorter than
/// half of the curve, and services use them.
fn long_enough(digest: Vec<u8>, curve: Curve) -> Vec<u8> {
    padded(&digest, curve.bytes()).unwrap_or(digest)
}

//! Digests and keyed digests by the names that scripts use.
//!
//! Several of these are broken as cryptography; services still ask for them. Knows no JavaScript.

use hmac::digest::block_api::BlockSizeUser;
use hmac::{KeyInit, Mac, SimpleHmac};
use sha2::Digest;

use crate::encoding::Alphabet;

/// A digest that is being computed.
pub trait Hasher {
    /// Takes more bytes in.
    fn update(&mut self, bytes: &[u8]);
    /// The digest of all bytes up to now; more can follow.
    fn digest(&self) -> Vec<u8>;
}

/// Names of the algorithms.
pub const NAMES: [&str; 9] =
    ["md4", "md5", "ripemd160", "sha1", "sha256", "sha384", "sha512", "sha512_224", "sha512_256"];

/// A digest by its name, keyed if there is a key; `None` if there is no such algorithm.
pub fn by_name(name: &str, key: Option<&[u8]>) -> Option<Box<dyn Hasher>> {
    Some(match name {
        "md4" => begin::<md4::Md4>(key),
        "md5" => begin::<md5::Md5>(key),
        "ripemd160" => begin::<ripemd::Ripemd160>(key),
        "sha1" => begin::<sha1::Sha1>(key),
        "sha256" => begin::<sha2::Sha256>(key),
        "sha384" => begin::<sha2::Sha384>(key),
        "sha512" => begin::<sha2::Sha512>(key),
        "sha512_224" => begin::<sha2::Sha512_224>(key),
        "sha512_256" => begin::<sha2::Sha512_256>(key),
        _ => return None,
    })
}

fn begin<D: Digest + BlockSizeUser + Clone + 'static>(key: Option<&[u8]>) -> Box<dyn Hasher> {
    // A key can have any length, so there is always a keyed digest.
    match key.and_then(|key| <SimpleHmac<D> as KeyInit>::new_from_slice(key).ok()) {
        Some(keyed) => Box::new(Keyed(keyed)),
        None => Box::new(Plain(D::new())),
    }
}

struct Plain<D>(D);

impl<D: Digest + Clone> Hasher for Plain<D> {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn digest(&self) -> Vec<u8> {
        self.0.clone().finalize().to_vec()
    }
}

struct Keyed<D: Digest + BlockSizeUser>(SimpleHmac<D>);

impl<D: Digest + BlockSizeUser + Clone> Hasher for Keyed<D> {
    fn update(&mut self, bytes: &[u8]) {
        Mac::update(&mut self.0, bytes);
    }

    fn digest(&self) -> Vec<u8> {
        self.0.clone().finalize().into_bytes().to_vec()
    }
}

/// Text form of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Two digits a byte.
    Hex,
    /// Base64.
    Base64(Alphabet),
}

impl Form {
    /// By the name that scripts use; `None` if there is no such form.
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "hex" => Self::Hex,
            "base64" => Self::Base64(Alphabet::Standard),
            "base64url" => Self::Base64(Alphabet::Url),
            "base64rawurl" => Self::Base64(Alphabet::UrlRaw),
            _ => return None,
        })
    }

    /// `bytes` in this form.
    pub fn write(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => hex(bytes),
            Self::Base64(alphabet) => alphabet.encode(bytes),
        }
    }
}

/// Two digits a byte.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |four: u8| char::from(DIGITS[usize::from(four)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, key: Option<&[u8]>, text: &str) -> String {
        let mut hasher = by_name(name, key).unwrap();
        hasher.update(text.as_bytes());
        hex(&hasher.digest())
    }

    #[test]
    fn every_algorithm_computes_what_k6_computes() {
        // Recorded from k6 1.8.1.
        for (name, digest) in [
            ("md4", "aa010fbc1d14c795d86ef98c95479d17"),
            ("md5", "5eb63bbbe01eeed093cb22bb8f5acdc3"),
            ("ripemd160", "98c615784ccb5fe5936fbc0cbe9dfdb408d92f0f"),
            ("sha1", "2aae6c35c94fcfb415dbe95f408b9ce91ee846ed"),
            ("sha256", "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"),
            (
                "sha384",
                "fdbd8e75a67f29f701a4e040385e2e23986303ea10239211af907fcbb83578b3e417cb71ce646efd0819dd8c088de1bd",
            ),
            (
                "sha512",
                "309ecc489c12d6eb4cc40f50c902f2b4d0ed77ee511a7c7a9bcd3ca86d4cd86f989dd35bc5ff499670da34255b45b0cf\
                 d830e81f605dcf7dc5542e93ae9cd76f",
            ),
            ("sha512_224", "22e0d52336f64a998085078b05a6e37b26f8120f43bf4db4c43a64ee"),
            ("sha512_256", "0ac561fac838104e3f2e4ad107b4bee3e938bf15f2b15f009ccccd61a913f017"),
        ] {
            assert!(NAMES.contains(&name));
            assert_eq!(of(name, None, "hello world"), digest, "{name}");
        }
    }

    #[test]
    fn a_key_changes_the_digest_as_it_does_in_k6() {
        for (name, digest) in [
            ("ripemd160", "1e145b01da19d9b9fc95086d8352d2483cf8af4f"),
            ("sha256", "98755ce7a0d431b5d7b8ec8e343ada3bcaa4f6c44ca468cffcbaa9c273634dd7"),
            ("sha512_224", "3e383c7ac5145613d904fb42e3c7289d429da59048e9ae784f194668"),
        ] {
            assert_eq!(of(name, Some(b"k"), "data"), digest, "{name}");
        }
    }

    #[test]
    fn a_digest_can_be_asked_for_in_between() {
        let mut hasher = by_name("sha1", Some(&[0; 200])).unwrap();
        hasher.update(b"a");
        let first = hasher.digest();
        assert_eq!(first, hasher.digest());
        hasher.update(b"b");
        assert_eq!(hex(&hasher.digest()), of("sha1", Some(&[0; 200]), "ab"));
    }
}

//! Makes keys: random bytes, points on curves, pairs of primes.

use rand::Rng;

use super::curve::{Curve, Private};
use super::hash::Hash;
use super::key::{Algorithm, Key, Kind, Material, require_usages};
use super::refused::Refused;
use super::rsa;

/// What key is to be made.
pub enum Generation {
    /// Of AES.
    Aes {
        /// The name of the mode.
        name: &'static str,
        /// Bits.
        bits: i64,
    },
    /// Of HMAC.
    Hmac {
        /// Its digest.
        hash: Hash,
        /// Bits; those of a block of the digest if the script names none.
        bits: Option<i64>,
    },
    /// A pair of ECDSA or ECDH.
    Curve {
        /// Which of the two.
        name: &'static str,
        /// The curve.
        curve: String,
    },
    /// A pair of RSA.
    Rsa {
        /// The name of the padding.
        name: &'static str,
        /// Bits of the modulus.
        bits: i64,
        /// The public exponent, big-endian.
        exponent: Vec<u8>,
        /// Its digest.
        hash: Hash,
    },
}

/// What was made.
pub enum Generated {
    /// A secret key.
    Secret(Box<Key>),
    /// A private key and its public one.
    Pair(Box<(Key, Key)>),
}

/// Most bytes of an HMAC key.
const MOST_BYTES: i64 = 64 << 20;

/// Makes a key.
///
/// # Errors
/// A parameter or a usage does not fit.
pub fn generate(what: &Generation, extractable: bool, usages: Vec<String>) -> Result<Generated, Refused> {
    match what {
        Generation::Aes { name, bits } => {
            let ciphers: &[&str] = if *name == "AES-KW" { &[] } else { &["encrypt", "decrypt"] };
            let allowed = [ciphers, &["wrapKey", "unwrapKey"]].concat();
            allow(&usages, &allowed, |_| "invalid key usage".to_owned())?;
            if !matches!(bits, 128 | 192 | 256) {
                return Err(Refused::operation("invalid key length"));
            }
            let bits = *bits as usize;
            let algorithm = Algorithm::Aes { name, bits };
            secret(algorithm, random(bits / 8), extractable, usages)
        }
        Generation::Hmac { hash, bits } => {
            allow(&usages, &["sign", "verify"], |usage| format!("invalid key usage: {usage}"))?;
            let bits = bits.unwrap_or(hash.block_bits() as i64);
            if bits == 0 {
                return Err(Refused::operation("algorithm's length cannot be 0"));
            }
            if !(0..=MOST_BYTES * 8).contains(&bits) {
                return Err(Refused::operation("the length of the key is negative or too large"));
            }
            let bits = bits as usize;
            secret(Algorithm::Hmac { hash: *hash, bits }, random(bits / 8), extractable, usages)
        }
        Generation::Curve { name, curve } => curve_pair(name, curve, extractable, &usages),
        Generation::Rsa { name, bits, exponent, hash } => {
            check_exponent(exponent)?;
            let (private, public) = rsa_usages(name, &usages)?;
            let made = rsa::random(*bits)?;
            if number(exponent) != Some(rsa::EXPONENT) {
                // As k6, which makes a key for 65,537 and puts the other exponent into it.
                return Err(Refused::operation(
                    "could not validate RSA key pair, check public exponent: invalid exponents",
                ));
            }
            let algorithm = Algorithm::Rsa { name, bits: *bits as usize, hash: *hash };
            let materials =
                (Material::RsaPublic(Box::new(made.to_public_key())), Material::RsaPrivate(Box::new(made)));
            Ok(pair(&algorithm, materials, extractable, &usages, (private, public)))
        }
    }
}

fn secret(
    algorithm: Algorithm,
    bytes: Vec<u8>,
    extractable: bool,
    usages: Vec<String>,
) -> Result<Generated, Refused> {
    let material = Material::Bytes(bytes);
    let key = Key { kind: Kind::Secret, extractable, algorithm, usages, material };
    Ok(Generated::Secret(Box::new(require_usages(key)?)))
}

fn curve_pair(
    name: &'static str,
    curve: &str,
    extractable: bool,
    usages: &[String],
) -> Result<Generated, Refused> {
    let (private, public): (&[&str], &[&str]) =
        if name == "ECDH" { (&["deriveKey", "deriveBits"], &[]) } else { (&["sign"], &["verify"]) };
    let unknown = || Refused::unsupported(format!("elliptic curve {curve} is not supported"));
    let known = Curve::by_name(curve).ok_or_else(unknown)?;
    if usages.is_empty() {
        return Err(Refused::syntax("key usages cannot be empty"));
    }
    allow(usages, &[private, public].concat(), |_| "invalid key usage".to_owned())?;
    let made = Private::random(known);
    let algorithm = Algorithm::Curve { name, curve: curve.to_owned() };
    let materials = (Material::CurvePublic(made.public()), Material::CurvePrivate(made));
    Ok(pair(&algorithm, materials, extractable, usages, (private, public)))
}

/// A pair whose halves have the usages that are theirs. The public key is always extractable.
fn pair(
    algorithm: &Algorithm,
    (public_material, private_material): (Material, Material),
    extractable: bool,
    usages: &[String],
    (private, public): (&[&str], &[&str]),
) -> Generated {
    let key = |kind, extractable, material, own: &[&str]| Key {
        kind,
        extractable,
        algorithm: algorithm.clone(),
        usages: those_of(usages, own),
        material,
    };
    Generated::Pair(Box::new((
        key(Kind::Private, extractable, private_material, private),
        key(Kind::Public, true, public_material, public),
    )))
}

/// The usages that are among `own`, each once.
fn those_of(usages: &[String], own: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for usage in usages {
        if own.contains(&usage.as_str()) && !found.contains(usage) {
            found.push(usage.clone());
        }
    }
    found
}

type Halves = (&'static [&'static str], &'static [&'static str]);

/// The usages of both halves of a pair of RSA.
fn rsa_usages(name: &str, usages: &[String]) -> Result<Halves, Refused> {
    if usages.is_empty() {
        return Err(Refused::syntax("key usages cannot be empty"));
    }
    let words = |usage: &str| format!("invalid key usage: {usage}");
    if name == "RSA-OAEP" {
        allow(usages, &["encrypt", "decrypt", "wrapKey", "unwrapKey"], words)?;
        Ok((&["decrypt"], &["encrypt"]))
    } else {
        allow(usages, &["sign", "verify"], words)?;
        Ok((&["sign"], &["verify"]))
    }
}

/// Fails at the first usage that is not allowed.
pub(super) fn allow(
    usages: &[String],
    allowed: &[&str],
    words: impl Fn(&str) -> String,
) -> Result<(), Refused> {
    match usages.iter().find(|usage| !allowed.contains(&usage.as_str())) {
        Some(usage) => Err(Refused::syntax(words(usage))),
        None => Ok(()),
    }
}

fn check_exponent(exponent: &[u8]) -> Result<(), Refused> {
    let wrong = |words| Err(Refused::operation(format!("invalid public exponent: {words}")));
    match number(exponent) {
        Some(number) if number % 2 == 0 => wrong("public exponent is even"),
        Some(number) if number < 2 => wrong("public exponent too small"),
        Some(number) if number < 1 << 31 => Ok(()),
        _ => wrong("public exponent too large"),
    }
}

/// The number of these bytes, big-endian, if it is not larger than any exponent.
fn number(bytes: &[u8]) -> Option<i64> {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let digits = &bytes[start..];
    (digits.len() < 8).then(|| digits.iter().fold(0, |number, byte| number << 8 | i64::from(*byte)))
}

fn random(size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

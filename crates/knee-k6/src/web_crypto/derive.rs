//! Bits that are derived from a password or from two keys.

use hmac::{KeyInit, Mac, SimpleHmac};

use super::hash::{Hash, with_digest};
use super::key::{Algorithm, Key, Kind, Material};
use super::refused::Refused;

/// A derivation from a password: PBKDF2 (RFC 8018, 5.2) with HMAC.
pub struct Password {
    /// Its digest.
    pub hash: Hash,
    /// The salt.
    pub salt: Vec<u8>,
    /// Rounds for each block of the result.
    pub rounds: u64,
}

/// Rounds between two times that the caller is asked whether to go on.
const SLICE: u64 = 1_000;

impl Password {
    /// Bytes from a password. `breathe` is asked after every 1,000 rounds whether to go on, because a script can ask for
    /// any number of rounds; libraries compute all of them in one call.
    ///
    /// # Errors
    /// The first error of `breathe`.
    pub fn bytes<E>(
        &self,
        password: &[u8],
        length: usize,
        mut breathe: impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        let mut derived = Vec::with_capacity(length);
        let mut block: u32 = 0;
        while derived.len() < length {
            block += 1;
            let first = [&self.salt[..], &block.to_be_bytes()].concat();
            derived.extend(self.block(password, &first, &mut breathe)?);
        }
        derived.truncate(length);
        Ok(derived)
    }

    /// One block of the result: the exclusive or of all rounds.
    fn block<E>(
        &self,
        password: &[u8],
        first: &[u8],
        breathe: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        with_digest!(self.hash, D => {
            // A key can have any length, so there is always a keyed digest.
            let Ok(keyed) = SimpleHmac::<D>::new_from_slice(password) else { return Ok(Vec::new()) };
            let round = |bytes: &[u8]| keyed.clone().chain_update(bytes).finalize().into_bytes();
            let mut last = round(first);
            let mut sum = last;
            for number in 1..self.rounds {
                if number % SLICE == 0 {
                    breathe()?;
                }
                last = round(&last);
                sum.iter_mut().zip(last).for_each(|(sum, byte)| *sum ^= byte);
            }
            Ok(sum.to_vec())
        })
    }
}

/// The password behind a key, for a usage.
///
/// # Errors
/// The key is none, or not for this usage.
pub fn password<'a>(key: &'a Key, usage: &str) -> Result<&'a [u8], Refused> {
    if key.kind != Kind::Secret {
        return Err(Refused::access("algorithm's password key is not a secret key"));
    }
    if !key.has_usage(usage) {
        return Err(Refused::access(format!("provided baseKey doesn't contain `{usage}` usage")));
    }
    if key.algorithm != Algorithm::Pbkdf2 {
        return Err(Refused::operation("provided baseKey is not a valid algorithm"));
    }
    key.secret()
}

/// Bits that two keys have in common (ECDH).
///
/// # Errors
/// The keys do not fit, or have fewer bits in common.
pub fn shared_bits(private: &Key, public: &Key, bits: usize) -> Result<Vec<u8>, Refused> {
    if private.kind != Kind::Private {
        return Err(Refused::access("provided baseKey is not a private key"));
    }
    if !private.has_usage("deriveBits") {
        return Err(Refused::access("provided baseKey does not contain the 'deriveBits' usage"));
    }
    let names = match (&private.algorithm, &public.algorithm) {
        (Algorithm::Curve { curve: one, .. }, Algorithm::Curve { curve: other, .. }) => (one, other),
        _ => return Err(Refused::access("keys are not valid elliptic curve keys")),
    };
    if names.0 != names.1 {
        let words = format!("keys have different curves {} and {}", names.0, names.1);
        return Err(Refused::access(words));
    }
    let secret = match (&private.material, &public.material) {
        (Material::CurvePrivate(private), Material::CurvePublic(public)) => private.shared_secret(public),
        _ => return Err(Refused::access("key is not a valid ECDH private key")),
    };
    let secret = secret.ok_or_else(|| Refused::plain("keys are on different curves"))?;
    let bits = secret.get(..bits / 8).ok_or_else(|| Refused::operation("length is too large"))?;
    Ok(bits.to_vec())
}

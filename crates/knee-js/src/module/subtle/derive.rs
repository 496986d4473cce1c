//! `deriveBits` and `deriveKey`.

use rquickjs::{Ctx, Value};

use super::super::argument::bytes_in;
use super::super::current::{cut, state};
use super::argument::{Operation, hash, import, integer, member, normalized};
use super::key;
use super::outcome::{Failure, Outcome};
use knee_k6::web_crypto::derive::{Password, password, shared_bits};
use knee_k6::web_crypto::import::{Data, Import};
use knee_k6::web_crypto::key::{Key, Kind};
use knee_k6::web_crypto::refused::Refused;

/// Most bits that are derived from a password.
const MOST_BITS: i64 = 8 << 20;

/// `deriveBits(algorithm, key, length)`.
pub fn bits<'js>(
    ctx: &Ctx<'js>,
    algorithm: Option<&Value<'js>>,
    base: Option<&Value<'js>>,
    bits: i64,
) -> Outcome<Vec<u8>> {
    let name = normalized(algorithm, Operation::DeriveBits)?;
    let from = match name {
        "PBKDF2" => From::Password(derivation(algorithm)?),
        "ECDH" => From::Key(other_key(algorithm)?),
        _ => {
            return Err(Refused::unsupported(format!("unsupported algorithm for derive bits: {name}")).into());
        }
    };
    let base = key::of(base).ok_or_else(|| Refused::plain("the base key is not a CryptoKey"))?;
    if bits == 0 {
        return Err(Refused::operation("length can not be 0").into());
    }
    if bits % 8 != 0 {
        let words = "currently only multiples of 8 are supported for length";
        return Err(Refused::operation(words).into());
    }
    if !(0..=MOST_BITS).contains(&bits) {
        return Err(Refused::operation("length is negative or too large").into());
    }
    match from {
        From::Password(derivation) => {
            derive(ctx, &derivation, password(&base, "deriveBits")?, bits as usize / 8)
        }
        From::Key(other) => Ok(shared_bits(&base, &other, bits as usize)?),
    }
}

/// What bits are derived from, besides the base key.
enum From {
    Password(Password),
    Key(std::rc::Rc<Key>),
}

/// `deriveKey(algorithm, key, kind, extractable, usages)`.
pub fn key<'js>(
    ctx: &Ctx<'js>,
    algorithm: Option<&Value<'js>>,
    base: Option<&Value<'js>>,
    kind: Option<&Value<'js>>,
    (extractable, usages): (bool, Vec<String>),
) -> Outcome<Key> {
    let name = normalized(algorithm, Operation::DeriveKey)?;
    let derived = normalized(kind, Operation::ImportKey)?;
    normalized(kind, Operation::KeyLength)?;
    if name != "PBKDF2" {
        let words = format!("key derivation not implemented for algorithm {name}");
        return Err(Refused::plain(words).into());
    }
    let derivation = derivation(algorithm)?;
    let what: Import = import(derived, kind)?;
    let no_length = |failure| match failure {
        Failure::Refused(_) => Refused::operation("aes length parameter not specified").into(),
        script @ Failure::Script(_) => script,
    };
    let bits = integer(&member(kind, "length").map_err(no_length)?)?;
    let base = key::of(base).ok_or_else(|| Refused::plain("the base key is not a CryptoKey"))?;
    let password = password(&base, "deriveKey")?;
    if bits % 8 != 0 {
        return Err(Refused::access("provided length of key must be a multiple of 8").into());
    }
    if !(0..=MOST_BITS).contains(&bits) {
        return Err(Refused::operation("the length of the key is negative or too large").into());
    }
    let bytes = derive(ctx, &derivation, password, bits as usize / 8)?;
    Ok(knee_k6::web_crypto::import::import(&Data::Raw(bytes), &what, extractable, usages)?)
}

/// The parameters of a derivation from a password.
fn derivation(params: Option<&Value<'_>>) -> Outcome<Password> {
    let hash = hash(params, Operation::DeriveBits)?;
    let rounds = integer(&member(params, "iterations")?)?;
    if rounds == 0 {
        return Err(Refused::operation("number of iterations can't be 0").into());
    }
    let salt = member(params, "salt")?;
    let wrong = || Refused::plain("invalid type of salt, expected string, []byte or ArrayBuffer");
    let salt = bytes_in(&salt)?.ok_or_else(wrong)?;
    Ok(Password { hash, salt, rounds: rounds.try_into().unwrap_or(1) })
}

/// Derives bytes. Other VUs run in between, and the script ends when it must.
fn derive(ctx: &Ctx<'_>, derivation: &Password, password: &[u8], length: usize) -> Outcome<Vec<u8>> {
    let state = state(ctx)?;
    derivation.bytes(password, length, || if state.breathe() { Err(cut(ctx).into()) } else { Ok(()) })
}

/// The public key of the other side.
fn other_key(params: Option<&Value<'_>>) -> Outcome<std::rc::Rc<Key>> {
    let missing = |failure| match failure {
        Failure::Refused(_) => Refused::kind("algorithm does not contain a public key").into(),
        script @ Failure::Script(_) => script,
    };
    let value = member(params, "public").map_err(missing)?;
    let wrong = || Refused::kind("algorithm's public key is not a valid CryptoKey: invalid key type");
    let other = key::of(Some(&value)).ok_or_else(wrong)?;
    if other.kind != Kind::Public {
        return Err(Refused::access("algorithm's public key is not a public key").into());
    }
    let name = other.algorithm.name();
    if name != "ECDH" {
        let words = format!("algorithm name does not match public key's algorithm name: ECDH != {name}");
        return Err(Refused::access(words).into());
    }
    Ok(other)
}

//! Keys from bytes and from JSON.

use serde_json::Value;

use super::curve::{self, Curve};
use super::generate::allow;
use super::hash::Hash;
use super::jwk;
use super::key::{Algorithm, Key, Kind, Material, require_usages};
use super::refused::Refused;
use super::rsa;

/// What a script hands over.
pub enum Data {
    /// Bytes as they are: a secret, or a point on a curve.
    Raw(Vec<u8>),
    /// A private key in the structure of PKCS #8.
    Pkcs8(Vec<u8>),
    /// A public key in a `SubjectPublicKeyInfo`.
    Spki(Vec<u8>),
    /// A key as JSON (RFC 7517).
    Jwk(Value),
}

/// What key it is to be.
pub enum Import {
    /// Of AES, in this mode.
    Aes(&'static str),
    /// Of HMAC.
    Hmac {
        /// Its digest.
        hash: Hash,
        /// The bits that it must have, if the script says so.
        bits: Option<i64>,
    },
    /// Of ECDSA or ECDH.
    Curve {
        /// Which of the two.
        name: &'static str,
        /// The curve.
        curve: String,
    },
    /// Of RSA.
    Rsa {
        /// The name of the padding.
        name: &'static str,
        /// Its digest.
        hash: Hash,
    },
    /// A password.
    Pbkdf2,
}

impl Data {
    /// The name of the format.
    fn format(&self) -> &'static str {
        match self {
            Self::Raw(_) => "raw",
            Self::Pkcs8(_) => "pkcs8",
            Self::Spki(_) => "spki",
            Self::Jwk(_) => "jwk",
        }
    }
}

/// Imports a key.
///
/// # Errors
/// The data are no such key, or a usage is not allowed.
pub fn import(data: &Data, what: &Import, extractable: bool, usages: Vec<String>) -> Result<Key, Refused> {
    let (kind, algorithm, material) = match what {
        Import::Aes(name) => aes(data, name, &usages)?,
        Import::Hmac { hash, bits } => hmac(data, *hash, *bits, &usages)?,
        Import::Curve { name, curve } => on_curve(data, name, curve)?,
        Import::Rsa { name, hash } => of_rsa(data, name, *hash)?,
        Import::Pbkdf2 => password(data, extractable, &usages)?,
    };
    require_usages(Key { kind, extractable, algorithm, usages, material })
}

type Parts = (Kind, Algorithm, Material);

fn aes(data: &Data, name: &'static str, usages: &[String]) -> Result<Parts, Refused> {
    let allowed = ["encrypt", "decrypt", "wrapKey", "unwrapKey"];
    allow(usages, &allowed, |usage| format!("invalid key usage: {usage}"))?;
    let bytes = secret(data)?;
    if !matches!(bytes.len(), 16 | 24 | 32) {
        return Err(Refused::data(format!("invalid key length {} bytes", bytes.len())));
    }
    Ok((Kind::Secret, Algorithm::Aes { name, bits: bytes.len() * 8 }, Material::Bytes(bytes)))
}

fn hmac(data: &Data, hash: Hash, asked: Option<i64>, usages: &[String]) -> Result<Parts, Refused> {
    allow(usages, &["sign", "verify"], |usage| format!("invalid key usage: {usage}"))?;
    let bytes = secret(data)?;
    let bits = bytes.len() * 8;
    if bits == 0 {
        return Err(Refused::data("key length cannot be 0"));
    }
    if asked.is_some_and(|asked| asked != bits as i64) {
        let words = "key length cannot be different from the length of the imported data";
        return Err(Refused::data(words));
    }
    Ok((Kind::Secret, Algorithm::Hmac { hash, bits }, Material::Bytes(bytes)))
}

/// The bytes of a secret key.
fn secret(data: &Data) -> Result<Vec<u8>, Refused> {
    match data {
        Data::Raw(bytes) => Ok(bytes.clone()),
        Data::Jwk(json) => jwk::secret(json),
        other => Err(Refused::unsupported(format!("unsupported key format {}", other.format()))),
    }
}

fn password(data: &Data, extractable: bool, usages: &[String]) -> Result<Parts, Refused> {
    let Data::Raw(bytes) = data else {
        return Err(Refused::unsupported(format!("invalid format: {}", data.format())));
    };
    allow(usages, &["deriveBits", "deriveKey"], |usage| format!("invalid key usage: {usage}"))?;
    if extractable {
        return Err(Refused::syntax("invalid value for param extractable "));
    }
    Ok((Kind::Secret, Algorithm::Pbkdf2, Material::Bytes(bytes.clone())))
}

fn on_curve(data: &Data, name: &'static str, curve: &str) -> Result<Parts, Refused> {
    let wrong = |kind: &str| Refused::data(format!("unable to import {name} {kind} key data"));
    let material = match data {
        Data::Raw(bytes) => {
            let named = if name == "ECDH" { "ECDH" } else { "elliptic" };
            let unknown = || Refused::unsupported(format!("invalid {named} curve {curve}"));
            let known = Curve::by_name(curve).ok_or_else(unknown)?;
            public(curve::Public::from_point(known, bytes).ok_or_else(|| wrong("public"))?)
        }
        Data::Spki(der) => public(curve::Public::from_spki(der).ok_or_else(|| wrong("public"))?),
        Data::Pkcs8(der) => {
            let key = curve::Private::from_pkcs8(der).ok_or_else(|| wrong("private"))?;
            (Kind::Private, Material::CurvePrivate(key))
        }
        Data::Jwk(json) => jwk::on_curve(json)?,
    };
    let (kind, material) = material;
    Ok((kind, Algorithm::Curve { name, curve: curve.to_owned() }, material))
}

fn public(key: curve::Public) -> (Kind, Material) {
    (Kind::Public, Material::CurvePublic(key))
}

fn of_rsa(data: &Data, name: &'static str, hash: Hash) -> Result<Parts, Refused> {
    let (kind, material) = match data {
        Data::Pkcs8(der) => (Kind::Private, Material::RsaPrivate(Box::new(rsa::private_from_pkcs8(der)?))),
        Data::Spki(der) => (Kind::Public, Material::RsaPublic(Box::new(rsa::public_from_spki(der)?))),
        Data::Jwk(json) => jwk::of_rsa(json)?,
        Data::Raw(_) => {
            let words = format!("unsupported key format raw for algorithm {name}");
            return Err(Refused::unsupported(words));
        }
    };
    let bits = match &material {
        Material::RsaPrivate(key) => rsa::bits(&**key),
        Material::RsaPublic(key) => rsa::bits(&**key),
        _ => 0,
    };
    Ok((kind, Algorithm::Rsa { name, bits, hash }, material))
}

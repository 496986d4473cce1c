//! Keys as bytes and as JSON.

use serde_json::Value;

use super::jwk;
use super::key::{Algorithm, Key, Material};
use super::refused::Refused;
use super::rsa;

/// A key that was exported.
pub enum Exported {
    /// In one of the formats of bytes.
    Bytes(Vec<u8>),
    /// As JSON.
    Jwk(Value),
}

/// Exports a key in a format, by its name.
///
/// # Errors
/// The key must not be exported, or not in this format.
pub fn export(key: &Key, format: &str) -> Result<Exported, Refused> {
    if !key.extractable {
        return Err(Refused::access("the key is not extractable"));
    }
    if matches!(key.algorithm, Algorithm::Pbkdf2 | Algorithm::Aes { name: "AES-KW", .. }) {
        return Err(Refused::unsupported(format!("unsupported algorithm {}", key.algorithm.name())));
    }
    if format == "jwk" {
        return Ok(Exported::Jwk(jwk::written(key)));
    }
    let no_format = || Refused::unsupported(format!("unsupported key format {format}"));
    let no_public = || Refused::access("key is not a valid elliptic curve public key");
    let no_private = || Refused::access("key is not a valid elliptic curve private key");
    let failed = || Refused::operation(format!("unable to marshal key to {} format", format.to_uppercase()));
    let bytes = match (&key.material, format) {
        (Material::Bytes(bytes), "raw") => bytes.clone(),
        (Material::CurvePublic(key), "raw") => key.point(),
        (Material::CurvePublic(key), "spki") => key.to_spki().ok_or_else(failed)?,
        (Material::CurvePublic(_), "pkcs8") => return Err(no_private()),
        (Material::CurvePrivate(key), "pkcs8") => key.to_pkcs8().ok_or_else(failed)?,
        (Material::CurvePrivate(_), "raw" | "spki") => return Err(no_public()),
        (Material::RsaPublic(key), "spki") => rsa::to_spki(key).ok_or_else(failed)?,
        (Material::RsaPublic(_), "pkcs8") => {
            let words = "given CryptoKey is not a private RSA key, it's *rsa.PublicKey";
            return Err(Refused::access(words));
        }
        (Material::RsaPrivate(key), "pkcs8") => rsa::to_pkcs8(key).ok_or_else(failed)?,
        (Material::RsaPrivate(_), "spki") => {
            let words = "given CryptoKey is not a public RSA key, it's *rsa.PrivateKey";
            return Err(Refused::access(words));
        }
        _ => return Err(no_format()),
    };
    Ok(Exported::Bytes(bytes))
}

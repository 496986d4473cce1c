//! Arguments of `crypto.subtle`: algorithms with their parameters, bytes, usages.
//!
//! Checks them in the order of k6, because a script sees the first error only.

use rquickjs::{Coerced, Ctx, Object, Value};

use super::super::argument::kind;
use super::super::bytes::bytes_of;
use super::super::current::worked;
use super::super::define::elements;
use super::outcome::Outcome;
use knee_k6::web_crypto::aes::Cipher;
use knee_k6::web_crypto::generate::Generation;
use knee_k6::web_crypto::hash::Hash;
use knee_k6::web_crypto::import::{Data, Import};
use knee_k6::web_crypto::refused::Refused;
use knee_k6::web_crypto::rsa::Padding;
use knee_k6::web_crypto::sign::Signing;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `digest`.
    Digest,
    /// `generateKey`, and the digests of keys and of ECDSA.
    GenerateKey,
    /// `importKey`.
    ImportKey,
    /// `encrypt`.
    Encrypt,
    /// `decrypt`.
    Decrypt,
    /// `sign`.
    Sign,
    /// `verify`.
    Verify,
    /// `deriveBits`.
    DeriveBits,
    /// `deriveKey`.
    DeriveKey,
    /// The length of a key that is derived.
    KeyLength,
}

const AES: [&str; 4] = ["AES-CBC", "AES-CTR", "AES-GCM", "AES-KW"];
const RSA: [&str; 3] = ["RSASSA-PKCS1-v1_5", "RSA-PSS", "RSA-OAEP"];
const CURVES: [&str; 2] = ["ECDSA", "ECDH"];
const HMAC: [&str; 1] = ["HMAC"];
const PBKDF2: [&str; 1] = ["PBKDF2"];
const HASHES: [&str; 4] = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"];

impl Operation {
    /// Its name in errors.
    fn name(self) -> &'static str {
        match self {
            Self::Digest => "digest",
            Self::GenerateKey => "generateKey",
            Self::ImportKey => "importKey",
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
            Self::Sign => "sign",
            Self::Verify => "verify",
            Self::DeriveBits => "deriveBits",
            Self::DeriveKey => "deriveKey",
            Self::KeyLength => "getKeyLength",
        }
    }

    /// The algorithms that k6 accepts for it, in groups.
    fn algorithms(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Digest => &[&HASHES],
            Self::GenerateKey => &[&AES, &HASHES, &HMAC, &CURVES, &RSA],
            Self::ImportKey => &[&AES, &HMAC, &CURVES, &RSA, &PBKDF2],
            Self::Encrypt | Self::Decrypt => &[&AES, &["RSA-OAEP"]],
            Self::Sign | Self::Verify => &[&HMAC, &["ECDSA", "RSA-PSS", "RSASSA-PKCS1-v1_5"]],
            Self::DeriveBits => &[&HASHES, &PBKDF2, &["ECDH"]],
            Self::DeriveKey => &[&HASHES, &PBKDF2],
            Self::KeyLength => &[&AES],
        }
    }
}

/// The name of an algorithm, from a text or an object, as the constants here have it.
pub fn normalized(value: Option<&Value<'_>>, operation: Operation) -> Outcome<&'static str> {
    let wrong = || Refused::syntax("algorithm cannot be interpreted as a string or an object");
    let value = value.filter(|value| !value.is_null() && !value.is_undefined()).ok_or_else(wrong)?;
    let name: String = match value.as_object() {
        Some(object) => {
            let name: Value<'_> = object.get("name")?;
            if name.is_undefined() { String::new() } else { name.get::<Coerced<String>>()?.0 }
        }
        None if value.is_string() => value.get::<Coerced<String>>()?.0,
        None => return Err(wrong().into()),
    };
    // Only this one has small letters.
    let upper = name.to_uppercase();
    let name = if upper == RSA[0].to_uppercase() { RSA[0] } else { &upper };
    let known = operation.algorithms().iter().flat_map(|group| group.iter()).find(|known| **known == name);
    Ok(known.copied().ok_or_else(|| {
        let operation = operation.name();
        Refused::unsupported(format!(
            "algorithm {name:?} doesn't support (in implementation) operation {operation:?}"
        ))
    })?)
}

/// A member of an object that must be there; the error says its path.
pub fn member<'js>(object: Option<&Value<'js>>, name: &str) -> Outcome<Value<'js>> {
    optional(object, name)?.ok_or_else(|| Refused::kind(format!("field {name} is null or undefined")).into())
}

/// A member of an object, if it is there. A text has a length too, which k6 takes for that of a key.
fn optional<'js>(object: Option<&Value<'js>>, name: &str) -> Outcome<Option<Value<'js>>> {
    if let Some(text) = object.and_then(Value::as_string) {
        let length = text.to_string()?.encode_utf16().count();
        return Ok((name == "length").then(|| Value::new_number(text.ctx().clone(), length as f64)));
    }
    let Some(object) = object.and_then(Value::as_object) else { return Ok(None) };
    let value: Value<'js> = object.get(name)?;
    Ok(Some(value).filter(|value| !value.is_null() && !value.is_undefined()))
}

/// A member that must be there; `words` otherwise.
fn needed<'js>(object: Option<&Value<'js>>, name: &str, words: &str) -> Outcome<Value<'js>> {
    optional(object, name)?.ok_or_else(|| Refused::syntax(words).into())
}

/// A number as Go converts it: whole, 0 for what is none.
pub fn integer(value: &Value<'_>) -> Outcome<i64> {
    let number = value.get::<Coerced<f64>>()?.0;
    Ok(if number.is_nan() { 0 } else { number.trunc() as i64 })
}

/// A digest that a parameter names as text or as an object, normalized for an operation.
pub fn hash(params: Option<&Value<'_>>, operation: Operation) -> Outcome<Hash> {
    let value = needed(params, "hash", "could not get hash from algorithm parameter")?;
    let name = normalized(Some(&value), operation)?;
    let unknown = || Refused::unsupported(format!("unsupported hash algorithm: {name}"));
    Ok(Hash::by_name(name).ok_or_else(unknown)?)
}

/// The digest of a key of RSA, whose name must be in capital letters.
fn rsa_hash(params: Option<&Value<'_>>) -> Outcome<Hash> {
    let value = needed(params, "hash", "could not get hash from algorithm parameter")?;
    let name = if value.is_string() {
        value.get::<Coerced<String>>()?.0
    } else {
        let name = optional(Some(&value), "name")?;
        let missing = || Refused::kind("hash name is null or undefined");
        name.ok_or_else(missing)?.get::<Coerced<String>>()?.0
    };
    let unknown = || Refused::unsupported(format!("hash algorithm is not supported {name}"));
    Ok(Hash::by_name(&name).ok_or_else(unknown)?)
}

/// The bytes of an argument: as in k6, of the whole buffer behind an array.
pub fn bytes<'js>(ctx: &Ctx<'js>, value: Option<&Value<'js>>) -> Outcome<Vec<u8>> {
    let value = value.filter(|value| !value.is_null() && !value.is_undefined());
    let value = value.ok_or_else(|| Refused::kind("data is null or undefined"))?;
    let buffer = if is_array_of_numbers(value) {
        let array: &Object<'js> = value.as_object().ok_or_else(no_bytes)?;
        array.get("buffer")?
    } else if kind(value) == "ArrayBuffer" {
        value.clone()
    } else {
        return Err(no_bytes().into());
    };
    let bytes = bytes_of(&buffer).ok_or_else(no_bytes)?;
    worked(ctx, bytes.len())?;
    Ok(bytes)
}

fn no_bytes() -> Refused {
    Refused::operation("data is neither an ArrayBuffer, nor a TypedArray nor DataView")
}

fn is_array_of_numbers(value: &Value<'_>) -> bool {
    let kind = kind(value);
    kind.starts_with("[]") && kind != "[]interface {}"
}

/// Fails unless a value has bytes.
pub fn is_binary(value: Option<&Value<'_>>) -> Outcome<()> {
    let view = |value: &Value<'_>| {
        let object = value.as_object();
        object.is_some_and(|object| object.contains_key("byteLength").unwrap_or(false))
    };
    match value {
        Some(value) if kind(value) == "ArrayBuffer" || is_array_of_numbers(value) || view(value) => Ok(()),
        _ => Err(Refused::plain("data must be an ArrayBuffer, TypedArray, or DataView").into()),
    }
}

/// The bytes of a parameter: of a view, those that it shows. Nothing if it is missing.
fn parameter_bytes(params: Option<&Value<'_>>, name: &str) -> Outcome<Vec<u8>> {
    let Some(value) = optional(params, name)? else { return Ok(Vec::new()) };
    if value.is_string() {
        return Ok(value.get::<Coerced<String>>()?.0.into_bytes());
    }
    let wrong = || Refused::syntax("invalid algorithm parameters, unable to interpret as \"\" object");
    Ok(bytes_of(&value).ok_or_else(wrong)?)
}

fn parameter_integer(params: Option<&Value<'_>>, name: &str) -> Outcome<i64> {
    optional(params, name)?.map_or(Ok(0), |value| integer(&value))
}

/// The texts of an array; none if it is left out.
pub fn texts(value: Option<&Value<'_>>) -> Outcome<Vec<String>> {
    let Some(array) = value.and_then(Value::as_array) else { return Ok(Vec::new()) };
    let texts = elements(array)?.map(|value| Ok(value?.get::<Coerced<String>>()?.0));
    texts.collect()
}

/// How a message is encrypted.
pub fn cipher(name: &str, params: Option<&Value<'_>>) -> Outcome<Cipher> {
    Ok(match name {
        "AES-CBC" => Cipher::Cbc { iv: parameter_bytes(params, "iv")? },
        "AES-CTR" => Cipher::Ctr {
            counter: parameter_bytes(params, "counter")?,
            length: parameter_integer(params, "length")?,
        },
        "AES-GCM" => Cipher::Gcm {
            iv: parameter_bytes(params, "iv")?,
            additional: parameter_bytes(params, "additionalData")?,
            tag: parameter_integer(params, "tagLength")?,
        },
        "RSA-OAEP" => Cipher::Oaep { label: parameter_bytes(params, "label")? },
        _ => return Err(Refused::unsupported(format!("unsupported algorithm {name}")).into()),
    })
}

/// How a message is signed.
pub fn signing(name: &str, params: Option<&Value<'_>>) -> Outcome<Signing> {
    Ok(match name {
        "HMAC" => Signing::Hmac,
        "ECDSA" => Signing::Ecdsa(hash(params, Operation::GenerateKey)?),
        "RSASSA-PKCS1-v1_5" => Signing::Rsa(Padding::Pkcs1),
        "RSA-PSS" => {
            let salt = needed(params, "saltLength", "could not get saltLength from algorithm parameter")?;
            Signing::Rsa(Padding::Pss { salt: integer(&salt)? })
        }
        _ => {
            let words = format!("unsupported algorithm for signing/verifying: {name}");
            return Err(Refused::unsupported(words).into());
        }
    })
}

/// What key is to be made.
pub fn generation(name: &'static str, params: Option<&Value<'_>>) -> Outcome<Generation> {
    let words = |field: &str| format!("could not get {field} from algorithm parameter");
    Ok(match name {
        "HMAC" => {
            let hash = hash(params, Operation::GenerateKey)?;
            let bits = optional(params, "length")?;
            Generation::Hmac { hash, bits: bits.map(|bits| integer(&bits)).transpose()? }
        }
        _ if AES.contains(&name) => {
            let bits = needed(params, "length", &words("length"))?;
            Generation::Aes { name, bits: integer(&bits)? }
        }
        _ if CURVES.contains(&name) => Generation::Curve { name, curve: curve(params)? },
        _ if RSA.contains(&name) => {
            let bits = integer(&needed(params, "modulusLength", &words("modulusLength"))?)?;
            let exponent = needed(params, "publicExponent", &words("publicExponent"))?;
            let bytes = (kind(&exponent) == "[]uint8").then(|| bytes_of(&exponent)).flatten();
            let wrong = || Refused::operation("publicExponent is not a byte array");
            Generation::Rsa { name, bits, exponent: bytes.ok_or_else(wrong)?, hash: rsa_hash(params)? }
        }
        _ => {
            let all =
                "AES-CBC, AES-CTR, AES-GCM, AES-KW, HMAC, ECDH, ECDSA, RSASSA-PKCS1-v1_5, RSA-PSS, RSA-OAEP";
            let words = format!("unsupported key generation algorithm '{name}', accepted values are: {all}");
            return Err(Refused::not_there(words).into());
        }
    })
}

fn curve(params: Option<&Value<'_>>) -> Outcome<String> {
    let words = "could not get namedCurve from algorithm parameter";
    Ok(needed(params, "namedCurve", words)?.get::<Coerced<String>>()?.0)
}

/// What key the data are to be.
pub fn import(name: &'static str, params: Option<&Value<'_>>) -> Outcome<Import> {
    Ok(match name {
        "HMAC" => {
            let hash = hash(params, Operation::GenerateKey)?;
            let bits = optional(params, "length")?;
            Import::Hmac { hash, bits: bits.map(|bits| integer(&bits)).transpose()? }
        }
        "PBKDF2" => Import::Pbkdf2,
        _ if AES.contains(&name) => Import::Aes(name),
        _ if CURVES.contains(&name) => Import::Curve { name, curve: curve(params)? },
        _ => Import::Rsa { name, hash: rsa_hash(params)? },
    })
}

/// The data of a key in a format.
pub fn key_data<'js>(ctx: &Ctx<'js>, format: &str, value: Option<&Value<'js>>) -> Outcome<Data> {
    Ok(match format {
        "raw" => Data::Raw(bytes(ctx, value)?),
        "pkcs8" => Data::Pkcs8(bytes(ctx, value)?),
        "spki" => Data::Spki(bytes(ctx, value)?),
        "jwk" => {
            let json = value.cloned().map(|value| ctx.json_stringify(value)).transpose()?.flatten();
            let json = json.map(|json| json.to_string()).transpose()?.unwrap_or_default();
            Data::Jwk(serde_json::from_str(&json).unwrap_or_default())
        }
        _ => return Err(Refused::implementation(format!("unsupported format {format}")).into()),
    })
}

//! Keys as JSON (RFC 7517 and 7518).

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rsa::BoxedUint;
use rsa::traits::{PrivateKeyParts, PublicKeyParts};
use serde_json::{Map, Value, json};

use super::curve::{Curve, Private, Public};
use super::key::{Algorithm, Key, Kind, Material};
use super::refused::Refused;
use super::rsa as rsa_keys;

/// The bytes of a secret key.
pub(super) fn secret(json: &Value) -> Result<Vec<u8>, Refused> {
    let invalid = |words: String| Refused::data(format!("invalid symmetric JWK: {words}"));
    if text(json, "kty") != "oct" {
        return Err(invalid(format!("invalid key type: {}", text(json, "kty"))));
    }
    if text(json, "k").is_empty() {
        return Err(invalid("key (k) is required".to_owned()));
    }
    number(json, "k").map_err(|words| Refused::data(format!("failed to decode symmetric key: {words}")))
}

/// A key on a curve.
pub(super) fn on_curve(json: &Value) -> Result<(Kind, Material), Refused> {
    let invalid = |words: String| Refused::plain(format!("invalid EC JWK key: {words}"));
    if text(json, "kty") != "EC" {
        return Err(invalid(format!("invalid key type: {}", text(json, "kty"))));
    }
    for (member, words) in
        [("crv", "curve is required"), ("x", "coordinate X is required"), ("y", "coordinate Y is required")]
    {
        if text(json, member).is_empty() {
            return Err(invalid(words.to_owned()));
        }
    }
    let name = text(json, "crv");
    let unknown = || Refused::plain(format!("failed to parse elliptic curve: invalid elliptic curve {name}"));
    let curve = Curve::by_name(name).ok_or_else(unknown)?;
    let decode = |member, what: &str| {
        number(json, member).map_err(|words| Refused::plain(format!("failed to decode {what}: {words}")))
    };
    let (x, y) = (decode("x", "X coordinate")?, decode("y", "Y coordinate")?);
    let outside = || Refused::plain("the coordinates of the EC JWK key are not on its curve");
    let public = Public::from_coordinates(curve, &x, &y).ok_or_else(outside)?;
    if text(json, "d").is_empty() {
        return Ok((Kind::Public, Material::CurvePublic(public)));
    }
    let wrong = || Refused::plain("D of the EC JWK key is no private key of its curve");
    let private = Private::from_scalar(curve, &decode("d", "D")?).ok_or_else(wrong)?;
    Ok((Kind::Private, Material::CurvePrivate(private)))
}

/// A key of RSA.
pub(super) fn of_rsa(json: &Value) -> Result<(Kind, Material), Refused> {
    let invalid = |words: String| Refused::plain(format!("invalid RSA JWK key: {words}"));
    if text(json, "kty") != "RSA" {
        return Err(invalid(format!("invalid key type: {}", text(json, "kty"))));
    }
    for (member, words) in [("n", "modulus (n) is required"), ("e", "exponent (e) is required")] {
        if text(json, member).is_empty() {
            return Err(invalid(words.to_owned()));
        }
    }
    let part = |member, what: &str| {
        let bytes = number(json, member);
        let bytes = bytes.map_err(|words| Refused::plain(format!("failed to decode {what}: {words}")))?;
        Ok(BoxedUint::from_be_slice_vartime(&bytes))
    };
    let (n, e) = (part("n", "modulus")?, part("e", "exponent")?);
    let refused = |error| Refused::plain(format!("failed to validate private key: {error}"));
    if text(json, "d").is_empty() {
        let key = rsa_keys::Public::new(n, e).map_err(refused)?;
        return Ok((Kind::Public, Material::RsaPublic(Box::new(key))));
    }
    let d = part("d", "private exponent")?;
    let primes = vec![part("p", "first prime factor")?, part("q", "second prime factor")?];
    let key = rsa_keys::Private::from_components(n, e, d, primes).map_err(refused)?;
    Ok((Kind::Private, Material::RsaPrivate(Box::new(key))))
}

/// A key as JSON.
pub(super) fn written(key: &Key) -> Value {
    match &key.material {
        Material::Bytes(bytes) => json!({
            "k": written_number(bytes), "kty": "oct", "ext": key.extractable, "key_ops": key.usages,
            "alg": algorithm(&key.algorithm, bytes.len()),
        }),
        Material::CurvePublic(public) => Value::Object(point(public)),
        Material::CurvePrivate(private) => {
            let mut members = point(&private.public());
            members.insert("d".to_owned(), written_number(&private.scalar()).into());
            Value::Object(members)
        }
        Material::RsaPublic(key) => modulus(&**key),
        Material::RsaPrivate(key) => {
            let mut json = modulus(&**key);
            let prime = |place: usize| key.primes().get(place).map(|prime| prime.as_ref().clone());
            let parts = [
                ("d", Some(key.d().clone())),
                ("p", prime(0)),
                ("q", prime(1)),
                ("dp", key.dp().cloned()),
                ("dq", key.dq().cloned()),
                ("qi", key.crt_coefficient()),
            ];
            for (member, part) in parts {
                if let Some(part) = part {
                    json[member] = written_number(&part.to_be_bytes_trimmed_vartime()).into();
                }
            }
            json
        }
    }
}

fn point(public: &Public) -> Map<String, Value> {
    let (x, y) = public.coordinates();
    let members = [
        ("kty", "EC".to_owned()),
        ("crv", public.curve().name().to_owned()),
        ("x", written_number(&x)),
        ("y", written_number(&y)),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

fn modulus(key: &impl PublicKeyParts) -> Value {
    json!({ "kty": "RSA", "n": written_number(&key.n_bytes()), "e": written_number(&key.e_bytes()) })
}

/// The member `alg`: "A128CBC" or "HS256", for example.
fn algorithm(algorithm: &Algorithm, bytes: usize) -> String {
    match algorithm {
        Algorithm::Hmac { hash, .. } => format!("HS{}", &hash.name()[4..]),
        other => format!("A{}{}", bytes * 8, other.name().get(4..).unwrap_or_default()),
    }
}

fn text<'a>(json: &'a Value, member: &str) -> &'a str {
    json.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// The bytes of a member, big-endian; or what is wrong with it.
fn number(json: &Value, member: &str) -> Result<Vec<u8>, String> {
    BASE64_URL_SAFE_NO_PAD.decode(text(json, member)).map_err(|error| error.to_string())
}

fn written_number(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

//! Public keys of certificates, as whole numbers.
//!
//! Does not compute with keys.

use x509_parser::der_parser::asn1_rs::{Any, FromDer as _, Integer, Oid, Sequence};
use x509_parser::x509::SubjectPublicKeyInfo;

/// Object identifiers of keys that k6 shows.
const RSA: &str = "1.2.840.113549.1.1.1";
const DSA: &str = "1.2.840.10040.4.1";
const ECDSA: &str = "1.2.840.10045.2.1";

/// Curves that Go knows, and the bytes of a coordinate.
const CURVES: [(&str, usize); 4] =
    [("1.3.132.0.33", 28), ("1.2.840.10045.3.1.7", 32), ("1.3.132.0.34", 48), ("1.3.132.0.35", 66)];

/// A positive whole number: its bytes, the highest first.
pub type Number = Vec<u8>;

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// Of RSA.
    Rsa {
        /// The modulus.
        n: Number,
        /// The exponent.
        e: u64,
    },
    /// Of DSA.
    Dsa {
        /// The prime.
        p: Number,
        /// The prime that divides `p - 1`.
        q: Number,
        /// The generator.
        g: Number,
        /// The key itself.
        y: Number,
    },
    /// Of a curve.
    Ecdsa {
        /// The first coordinate.
        x: Number,
        /// The second one.
        y: Number,
    },
}

impl PublicKey {
    /// k6's name of its algorithm.
    pub const fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa { .. } => "RSA",
            Self::Dsa { .. } => "DSA",
            Self::Ecdsa { .. } => "ECDSA",
        }
    }
}

/// Reads a key; `None` if k6 does not show keys of its algorithm. Fails in Go's words.
pub fn of(info: &SubjectPublicKeyInfo<'_>) -> Result<Option<PublicKey>, String> {
    let data: &[u8] = &info.subject_public_key.data;
    let parameters = info.algorithm.parameters.as_ref();
    match info.algorithm.algorithm.to_id_string().as_str() {
        RSA => rsa(data, parameters).map(Some),
        DSA => dsa(data, parameters).map(Some),
        ECDSA => ecdsa(data, parameters).map(Some),
        _ => Ok(None),
    }
}

/// The tag of nothing.
const NULL: u32 = 5;

fn rsa(data: &[u8], parameters: Option<&Any<'_>>) -> Result<PublicKey, String> {
    if parameters.is_none_or(|parameters| parameters.tag().0 != NULL || !parameters.data.is_empty()) {
        return Err("RSA key missing NULL parameters".to_owned());
    }
    let (_, inside) = Sequence::from_der(data).map_err(|_| "invalid RSA public key")?;
    let (rest, n) = Integer::from_der(&inside.content).map_err(|_| "invalid RSA modulus")?;
    let (_, e) = Integer::from_der(rest).map_err(|_| "invalid RSA public exponent")?;
    let n = positive(&n).ok_or("RSA modulus is not a positive number")?;
    // Go keeps the exponent in 63 bits.
    let e = e.as_i64().map_err(|_| "invalid RSA public exponent")?;
    let e = u64::try_from(e).ok().filter(|e| *e > 0).ok_or("RSA public exponent is not a positive number")?;
    Ok(PublicKey::Rsa { n, e })
}

fn dsa(data: &[u8], parameters: Option<&Any<'_>>) -> Result<PublicKey, String> {
    const INVALID: &str = "invalid DSA parameters";
    let (_, y) = Integer::from_der(data).map_err(|_| "invalid DSA public key")?;
    let mut rest = parameters.filter(|parameters| parameters.tag().0 == 16).ok_or(INVALID)?.data;
    let mut next = || {
        let (left, number) = Integer::from_der(rest).map_err(|_| INVALID)?;
        rest = left;
        Ok::<_, &str>(number)
    };
    let (p, q, g) = (next()?, next()?, next()?);
    let number = |number: &Integer<'_>| positive(number).ok_or("zero or negative DSA parameter");
    Ok(PublicKey::Dsa { p: number(&p)?, q: number(&q)?, g: number(&g)?, y: number(&y)? })
}

fn ecdsa(data: &[u8], parameters: Option<&Any<'_>>) -> Result<PublicKey, String> {
    let curve = parameters.and_then(|parameters| Oid::try_from(parameters.clone()).ok());
    let curve = curve.ok_or("invalid ECDSA parameters")?.to_id_string();
    let known = CURVES.iter().find(|(oid, _)| *oid == curve);
    let (_, size) = known.ok_or("unsupported elliptic curve")?;
    let point = data.strip_prefix(&[4]).filter(|point| point.len() == 2 * size);
    let (x, y) = point.ok_or("failed to unmarshal elliptic curve point")?.split_at(*size);
    Ok(PublicKey::Ecdsa { x: without_zeros(x), y: without_zeros(y) })
}

fn positive(number: &Integer<'_>) -> Option<Number> {
    let bytes: &[u8] = number.as_ref();
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    Some(without_zeros(bytes)).filter(|bytes| !is_negative && !bytes.is_empty())
}

fn without_zeros(bytes: &[u8]) -> Number {
    bytes.iter().copied().skip_while(|byte| *byte == 0).collect()
}

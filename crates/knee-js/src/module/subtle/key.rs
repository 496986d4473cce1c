//! Keys as scripts hold them.

#![allow(missing_docs, reason = "the macro makes constants that are not part of the interface")]

use std::rc::Rc;

use rquickjs::class::{Class, Trace};
use rquickjs::{Ctx, JsLifetime, Object, Result, Value};

use super::super::current::charge;
use super::super::define::{Define as _, array_of};
use super::outcome::Outcome;
use knee_k6::account::Charge;
use knee_k6::web_crypto::key::{Algorithm, Key};
use knee_k6::web_crypto::refused::Refused;

/// A key, with what scripts can read of it.
#[derive(Trace, JsLifetime)]
#[rquickjs::class]
pub struct CryptoKey {
    #[qjs(skip_trace)]
    key: Shared,
    #[qjs(skip_trace)]
    _memory: Held,
}

/// In which no value of JavaScript is.
type Shared = Rc<Key>;

/// Memory that is counted, in which no value of JavaScript is.
type Held = Charge;

/// What a key takes: one of RSA with 8,192 bits needs most of it.
const KEY_BYTES: usize = 16 << 10;

impl CryptoKey {
    /// The object of a key.
    pub fn object<'js>(ctx: &Ctx<'js>, key: Key) -> Result<Object<'js>> {
        let memory = charge(ctx, KEY_BYTES)?;
        let key = Rc::new(key);
        let object = Class::instance(ctx.clone(), Self { key: key.clone(), _memory: memory })?.into_inner();
        object.put("type", key.kind.name())?;
        object.put("extractable", key.extractable)?;
        object.put("algorithm", algorithm(ctx, &key.algorithm)?)?;
        object.put("usages", array_of(ctx, key.usages.iter().map(|usage| Ok(usage.as_str())))?)?;
        Ok(object)
    }
}

fn algorithm<'js>(ctx: &Ctx<'js>, algorithm: &Algorithm) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.put("name", algorithm.name())?;
    let hash = match algorithm {
        Algorithm::Aes { bits, .. } => {
            object.put("length", *bits as f64)?;
            None
        }
        Algorithm::Hmac { hash, bits } => {
            object.put("length", *bits as f64)?;
            Some(hash)
        }
        Algorithm::Rsa { bits, hash, .. } => {
            object.put("modulusLength", *bits as f64)?;
            Some(hash)
        }
        Algorithm::Curve { curve, .. } => {
            object.put("namedCurve", curve.as_str())?;
            None
        }
        Algorithm::Pbkdf2 => None,
    };
    if let Some(hash) = hash {
        let named = Object::new(ctx.clone())?;
        named.put("name", hash.name())?;
        object.put("hash", named)?;
    }
    Ok(object)
}

/// The key behind a value, if it is one.
pub fn of(value: Option<&Value<'_>>) -> Option<Shared> {
    let class = Class::<CryptoKey>::from_value(value?).ok()?;
    let key = class.borrow().key.clone();
    Some(key)
}

/// The key of an argument, which the error calls `what`.
pub fn argument(value: Option<&Value<'_>>, what: &str) -> Outcome<Shared> {
    let wrong = || Refused::access(format!("{what} does hold not a valid CryptoKey object"));
    Ok(of(value).ok_or_else(wrong)?)
}

/// Fails with `words` unless the key is of this algorithm.
pub fn must_match(key: &Key, name: &str, words: &str) -> Outcome<()> {
    if key.algorithm.name() == name { Ok(()) } else { Err(Refused::access(words).into()) }
}

/// Fails with `words` unless the key has this usage.
pub fn must_have(key: &Key, usage: &str, words: &str) -> Outcome<()> {
    if key.has_usage(usage) { Ok(()) } else { Err(Refused::access(words).into()) }
}

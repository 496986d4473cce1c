//! `crypto.subtle`: reads the arguments of a script, and makes promises of the results.
//!
//! Computes nothing itself; see [`knee_k6::web_crypto`]. Keys and signatures are computed at once, on the worker's
//! thread: meanwhile its other VUs wait, as they wait for the rest of a script.

use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Function, IntoJs, Object, Promise, Result, Value};

use super::bytes::buffer_of;
use super::current::{charge, worked};
use super::define::Define as _;
use super::{go_error, later};
use argument::{Operation, bytes, cipher, normalized, signing, texts};
use key::CryptoKey;
use knee_k6::web_crypto::export::{Exported, export};
use knee_k6::web_crypto::generate::{Generated, generate};
use knee_k6::web_crypto::hash::Hash;
use knee_k6::web_crypto::refused::Refused;
use knee_k6::web_crypto::{aes, sign};
use outcome::{Failure, Outcome};

mod argument;
mod derive;
mod key;
mod outcome;

/// An argument of a function, which a script can leave out.
type Argument<'js> = Opt<Value<'js>>;

/// Makes the object.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.put("decrypt", Function::new(ctx.clone(), decrypted)?.with_name("decrypt")?)?;
    object.put("deriveBits", Function::new(ctx.clone(), derived_bits)?.with_name("deriveBits")?)?;
    object.put("deriveKey", Function::new(ctx.clone(), derived_key)?.with_name("deriveKey")?)?;
    object.put("digest", Function::new(ctx.clone(), digested)?.with_name("digest")?)?;
    object.put("encrypt", Function::new(ctx.clone(), encrypted)?.with_name("encrypt")?)?;
    object.put("exportKey", Function::new(ctx.clone(), exported)?.with_name("exportKey")?)?;
    object.put("generateKey", Function::new(ctx.clone(), generated)?.with_name("generateKey")?)?;
    object.put("importKey", Function::new(ctx.clone(), imported)?.with_name("importKey")?)?;
    object.put("sign", Function::new(ctx.clone(), signed)?.with_name("sign")?)?;
    object.put("unwrapKey", Function::new(ctx.clone(), not_there)?.with_name("unwrapKey")?)?;
    object.put("verify", Function::new(ctx.clone(), verified)?.with_name("verify")?)?;
    object.put("wrapKey", Function::new(ctx.clone(), not_there)?.with_name("wrapKey")?)?;
    Ok(object)
}

/// A promise of an outcome.
fn promise<'js, T: IntoJs<'js>>(ctx: &Ctx<'js>, outcome: Outcome<T>) -> Result<Promise<'js>> {
    match outcome {
        Ok(value) => later::fulfilled(ctx, value),
        Err(Failure::Refused(refused)) => later::rejected(ctx, error(ctx, &refused)?),
        Err(Failure::Script(error)) => Err(error),
    }
}

/// The value that k6 rejects with.
fn error<'js>(ctx: &Ctx<'js>, refused: &Refused) -> Result<Object<'js>> {
    let error = go_error::bare(ctx, &refused.to_string())?;
    if !refused.name.is_empty() {
        error.put("name", refused.name)?;
        error.put("message", refused.message.as_str())?;
    }
    Ok(error)
}

/// Bytes for the script, made in the time that so many take.
fn buffer<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> Outcome<Value<'js>> {
    // They exist twice for a moment.
    let _held = charge(ctx, bytes.len())?;
    worked(ctx, bytes.len())?;
    Ok(buffer_of(ctx, bytes)?.into_value())
}

fn digested<'js>(ctx: Ctx<'js>, algorithm: Argument<'js>, data: Argument<'js>) -> Result<Promise<'js>> {
    let compute = || {
        argument::is_binary(data.0.as_ref())?;
        let data = bytes(&ctx, data.0.as_ref())?;
        let name = normalized(algorithm.0.as_ref(), Operation::Digest)?;
        let words = "accepted values are: SHA-1, SHA-256, SHA-384, and SHA-512";
        let unknown = || Refused::unsupported(format!("unsupported digest algorithm '{name}', {words}"));
        let hash = Hash::by_name(name).ok_or_else(unknown)?;
        worked(&ctx, data.len())?;
        buffer(&ctx, &hash.digest(&data))
    };
    promise(&ctx, compute())
}

fn encrypted<'js>(
    ctx: Ctx<'js>,
    algorithm: Argument<'js>,
    key: Argument<'js>,
    data: Argument<'js>,
) -> Result<Promise<'js>> {
    let compute = || {
        let message = bytes(&ctx, data.0.as_ref())?;
        let name = normalized(algorithm.0.as_ref(), Operation::Encrypt)?;
        let key = key::argument(key.0.as_ref(), "encrypt's key argument")?;
        key::must_match(&key, name, "encrypt's algorithm name does not match key algorithm name")?;
        let cipher = cipher(name, algorithm.0.as_ref())?;
        key::must_have(&key, "encrypt", "encrypt's key does not contain the 'encrypt' usage")?;
        let _held = charge(&ctx, message.len())?;
        buffer(&ctx, &aes::encrypt(&cipher, &key, &message)?)
    };
    promise(&ctx, compute())
}

fn decrypted<'js>(
    ctx: Ctx<'js>,
    algorithm: Argument<'js>,
    key: Argument<'js>,
    data: Argument<'js>,
) -> Result<Promise<'js>> {
    let compute = || {
        let message = bytes(&ctx, data.0.as_ref())?;
        let name = normalized(algorithm.0.as_ref(), Operation::Decrypt)?;
        let key = key::argument(key.0.as_ref(), "decrypt's key argument")?;
        key::must_match(&key, name, "decrypt's algorithm name does not match key algorithm name")?;
        let cipher = cipher(name, algorithm.0.as_ref())?;
        key::must_have(&key, "decrypt", "decrypt's key does not contain the 'decrypt' usage")?;
        let _held = charge(&ctx, message.len())?;
        buffer(&ctx, &aes::decrypt(&cipher, &key, &message)?)
    };
    promise(&ctx, compute())
}

fn signed<'js>(
    ctx: Ctx<'js>,
    algorithm: Argument<'js>,
    key: Argument<'js>,
    data: Argument<'js>,
) -> Result<Promise<'js>> {
    let compute = || {
        let message = bytes(&ctx, data.0.as_ref())?;
        let name = normalized(algorithm.0.as_ref(), Operation::Sign)?;
        let signing = signing(name, algorithm.0.as_ref())?;
        let key = key::argument(key.0.as_ref(), "key argument")?;
        key::must_match(&key, name, "algorithm name does not match key algorithm name")?;
        key::must_have(&key, "sign", "key does not contain the 'sign' usage")?;
        worked(&ctx, message.len())?;
        buffer(&ctx, &sign::sign(signing, &key, &message)?)
    };
    promise(&ctx, compute())
}

fn verified<'js>(
    ctx: Ctx<'js>,
    algorithm: Argument<'js>,
    key: Argument<'js>,
    signature: Argument<'js>,
    data: Argument<'js>,
) -> Result<Promise<'js>> {
    let compute = || {
        let signature = bytes(&ctx, signature.0.as_ref())?;
        let message = bytes(&ctx, data.0.as_ref())?;
        let name = normalized(algorithm.0.as_ref(), Operation::Verify)?;
        let signing = signing(name, algorithm.0.as_ref())?;
        let key = key::argument(key.0.as_ref(), "key argument")?;
        key::must_match(&key, name, "algorithm name does not match key algorithm name")?;
        key::must_have(&key, "verify", "key does not contain the 'verify' usage")?;
        worked(&ctx, message.len())?;
        Ok(sign::verify(signing, &key, &signature, &message)?)
    };
    promise(&ctx, compute())
}

fn generated<'js>(
    ctx: Ctx<'js>,
    algorithm: Argument<'js>,
    extractable: Opt<Coerced<bool>>,
    usages: Argument<'js>,
) -> Result<Promise<'js>> {
    let compute = || {
        let name = normalized(algorithm.0.as_ref(), Operation::GenerateKey)?;
        let what = argument::generation(name, algorithm.0.as_ref())?;
        let extractable = extractable.0.is_some_and(|flag| flag.0);
        match generate(&what, extractable, texts(usages.0.as_ref())?)? {
            Generated::Secret(key) => Ok(CryptoKey::object(&ctx, *key)?),
            Generated::Pair(keys) => {
                let (private, public) = *keys;
                let pair = Object::new(ctx.clone())?;
                pair.put("privateKey", CryptoKey::object(&ctx, private)?)?;
                pair.put("publicKey", CryptoKey::object(&ctx, public)?)?;
                Ok(pair)
            }
        }
    };
    promise(&ctx, compute())
}

fn imported<'js>(
    ctx: Ctx<'js>,
    format: Opt<Coerced<String>>,
    data: Argument<'js>,
    algorithm: Argument<'js>,
    extractable: Opt<Coerced<bool>>,
    usages: Argument<'js>,
) -> Result<Promise<'js>> {
    let compute = || {
        let format = format.0.map(|format| format.0).unwrap_or_default();
        let data = argument::key_data(&ctx, &format, data.0.as_ref())?;
        let name = normalized(algorithm.0.as_ref(), Operation::ImportKey)?;
        let what = argument::import(name, algorithm.0.as_ref())?;
        let extractable = extractable.0.is_some_and(|flag| flag.0);
        let usages = texts(usages.0.as_ref())?;
        let key = knee_k6::web_crypto::import::import(&data, &what, extractable, usages)?;
        Ok(CryptoKey::object(&ctx, key)?)
    };
    promise(&ctx, compute())
}

fn exported<'js>(ctx: Ctx<'js>, format: Opt<Coerced<String>>, key: Argument<'js>) -> Result<Promise<'js>> {
    let compute = || {
        let key = key::of(key.0.as_ref())
            .ok_or_else(|| Refused::implementation("unable to extract CryptoKey from key object"))?;
        match export(&key, &format.0.map(|format| format.0).unwrap_or_default())? {
            Exported::Bytes(bytes) => buffer(&ctx, &bytes),
            Exported::Jwk(json) => Ok(ctx.json_parse(json.to_string())?),
        }
    };
    promise(&ctx, compute())
}

fn derived_bits<'js>(
    ctx: Ctx<'js>,
    algorithm: Argument<'js>,
    key: Argument<'js>,
    length: Opt<Coerced<f64>>,
) -> Result<Promise<'js>> {
    let bits = length.0.map_or(0.0, |length| length.0);
    let outcome = derive::bits(&ctx, algorithm.0.as_ref(), key.0.as_ref(), bits as i64);
    promise(&ctx, outcome.and_then(|bits| buffer(&ctx, &bits)))
}

fn derived_key<'js>(
    ctx: Ctx<'js>,
    algorithm: Argument<'js>,
    key: Argument<'js>,
    kind: Argument<'js>,
    extractable: Opt<Coerced<bool>>,
    usages: Argument<'js>,
) -> Result<Promise<'js>> {
    let compute = || {
        let extractable = extractable.0.is_some_and(|flag| flag.0);
        let usages = texts(usages.0.as_ref())?;
        let derived =
            derive::key(&ctx, algorithm.0.as_ref(), key.0.as_ref(), kind.0.as_ref(), (extractable, usages))?;
        Ok(CryptoKey::object(&ctx, derived)?)
    };
    promise(&ctx, compute())
}

fn not_there(ctx: Ctx<'_>) -> Result<()> {
    Err(go_error::throw(&ctx, "not implemented"))
}

//! `k6/crypto`: digests, keyed digests, random bytes.
//!
//! Computes nothing itself; see [`knee_k6::digest`].

#![allow(missing_docs, reason = "the macro makes constants that are not part of the interface")]

use std::cell::RefCell;

use rand::Rng;
use rquickjs::class::{Class, Trace};
use rquickjs::function::Opt;
use rquickjs::{ArrayBuffer, Coerced, Ctx, Function, IntoJs, JsLifetime, Object, Result, Value};

use super::argument::{self, bytes_argument, text};
use super::bytes::buffer_of;
use super::current::{charge, worked};
use super::define::Define as _;
use super::go_error;
use knee_k6::account::Charge;
use knee_k6::digest::{self, Form, NAMES};

/// Its exports.
pub const EXPORTS: &[&str] = &[
    "createHash",
    "createHMAC",
    "hexEncode",
    "hmac",
    "md4",
    "md5",
    "randomBytes",
    "ripemd160",
    "sha1",
    "sha256",
    "sha384",
    "sha512",
    "sha512_224",
    "sha512_256",
];

/// Most random bytes of one call.
const RANDOM_MAX: f64 = (64 << 20) as f64;

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    for name in NAMES {
        let digest = move |ctx: Ctx<'js>, input: Opt<Value<'js>>, form: Opt<Value<'js>>| {
            whole(&ctx, name, input, form)
        };
        object.put(name, Function::new(ctx.clone(), digest)?.with_name(name)?)?;
    }
    object.put("createHash", Function::new(ctx.clone(), create_hash)?.with_name("createHash")?)?;
    object.put("createHMAC", Function::new(ctx.clone(), create_hmac)?.with_name("createHMAC")?)?;
    object.put("hmac", Function::new(ctx.clone(), hmac)?.with_name("hmac")?)?;
    object.put("hexEncode", Function::new(ctx.clone(), hex_encode)?.with_name("hexEncode")?)?;
    object.put("randomBytes", Function::new(ctx.clone(), random_bytes)?.with_name("randomBytes")?)?;
    Ok(object)
}

/// A digest that a script feeds piece by piece.
#[derive(Trace, JsLifetime)]
#[rquickjs::class]
pub struct Hasher {
    #[qjs(skip_trace)]
    state: State,
    #[qjs(skip_trace)]
    _memory: Held,
}

/// Memory that is counted, in which no value of JavaScript is.
type Held = Charge;

/// What a digest takes, with its object.
const HASHER_BYTES: usize = 1 << 10;

/// The state of a digest, in which no value of JavaScript is.
type State = RefCell<Box<dyn digest::Hasher>>;

#[rquickjs::methods]
impl Hasher {
    /// Takes more bytes in.
    pub fn update<'js>(&self, ctx: Ctx<'js>, input: Opt<Value<'js>>) -> Result<()> {
        let bytes = bytes_argument(&ctx, &or_nothing(&ctx, input))?;
        self.state.borrow_mut().update(&bytes);
        worked(&ctx, bytes.len())
    }

    /// The digest of everything up to now.
    pub fn digest<'js>(&self, ctx: Ctx<'js>, form: Opt<Value<'js>>) -> Result<Value<'js>> {
        // Reading the form can run code of the script, which can feed this digest.
        let digest = self.state.borrow().digest();
        write(&ctx, &digest, form)
    }
}

fn or_nothing<'js>(ctx: &Ctx<'js>, value: Opt<Value<'js>>) -> Value<'js> {
    value.0.unwrap_or_else(|| Value::new_undefined(ctx.clone()))
}

fn write<'js>(ctx: &Ctx<'js>, bytes: &[u8], form: Opt<Value<'js>>) -> Result<Value<'js>> {
    let name = text(form)?;
    if name == "binary" {
        return Ok(buffer_of(ctx, bytes)?.into_value());
    }
    match Form::by_name(&name) {
        Some(form) => form.write(bytes).into_js(ctx),
        None => Err(go_error::throw(ctx, &format!("invalid output encoding: {name}"))),
    }
}

fn hasher<'js>(ctx: &Ctx<'js>, name: &str, key: Option<&[u8]>) -> Result<Box<dyn digest::Hasher>> {
    digest::by_name(name, key).ok_or_else(|| go_error::throw(ctx, &format!("invalid algorithm: {name}")))
}

/// `md5(input, form)` and its like.
fn whole<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    input: Opt<Value<'js>>,
    form: Opt<Value<'js>>,
) -> Result<Value<'js>> {
    let input = or_nothing(ctx, input);
    let Some(bytes) = argument::bytes_in(&input)? else {
        return Err(go_error::throw(ctx, &format!("{name} failed: {}", argument::no_bytes(&input))));
    };
    let mut hasher = hasher(ctx, name, None)?;
    hasher.update(&bytes);
    worked(ctx, bytes.len())?;
    write(ctx, &hasher.digest(), form)
}

fn create_hash<'js>(ctx: Ctx<'js>, name: Opt<Value<'js>>) -> Result<Class<'js, Hasher>> {
    let state = RefCell::new(hasher(&ctx, &text(name)?, None)?);
    let memory = charge(&ctx, HASHER_BYTES)?;
    Class::instance(ctx, Hasher { state, _memory: memory })
}

fn create_hmac<'js>(
    ctx: Ctx<'js>,
    name: Opt<Value<'js>>,
    key: Opt<Value<'js>>,
) -> Result<Class<'js, Hasher>> {
    let key = bytes_argument(&ctx, &or_nothing(&ctx, key))?;
    let state = RefCell::new(hasher(&ctx, &text(name)?, Some(&key))?);
    let memory = charge(&ctx, HASHER_BYTES)?;
    Class::instance(ctx, Hasher { state, _memory: memory })
}

fn hmac<'js>(
    ctx: Ctx<'js>,
    name: Opt<Value<'js>>,
    key: Opt<Value<'js>>,
    input: Opt<Value<'js>>,
    form: Opt<Value<'js>>,
) -> Result<Value<'js>> {
    let key = bytes_argument(&ctx, &or_nothing(&ctx, key))?;
    let mut hasher = hasher(&ctx, &text(name)?, Some(&key))?;
    let input = bytes_argument(&ctx, &or_nothing(&ctx, input))?;
    hasher.update(&input);
    worked(&ctx, input.len())?;
    write(&ctx, &hasher.digest(), form)
}

fn hex_encode<'js>(ctx: Ctx<'js>, input: Opt<Value<'js>>) -> Result<String> {
    Ok(digest::hex(&bytes_argument(&ctx, &or_nothing(&ctx, input))?))
}

fn random_bytes<'js>(ctx: Ctx<'js>, size: Opt<Value<'js>>) -> Result<ArrayBuffer<'js>> {
    let size = match size.0 {
        Some(size) => size.get::<Coerced<f64>>()?.0.trunc(),
        None => 0.0,
    };
    // Written so that no number is refused as well.
    if !(1.0..=RANDOM_MAX).contains(&size) {
        return Err(go_error::throw(&ctx, "invalid size"));
    }
    // They exist twice for a moment.
    let _held = charge(&ctx, size as usize)?;
    let mut bytes = vec![0; size as usize];
    rand::rng().fill_bytes(&mut bytes);
    worked(&ctx, bytes.len())?;
    buffer_of(&ctx, &bytes)
}

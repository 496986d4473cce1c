//! `k6/crypto/x509`: what certificates say, as the objects that k6 makes of them.
//!
//! Reads no certificates itself; see [`knee_k6::x509`]. Keys have their numbers, but not the methods that Go gives them.

use std::fmt::Write as _;

use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Exception, Function, IntoJs as _, Object, Result, Value};

use super::argument::bytes_in;
use super::current::{charge, worked};
use super::define::{Define as _, array_of, elements};
use super::go_error;
use knee_k6::x509::{Certificate, CertificateError, Name, PublicKey};

/// Its exports.
pub const EXPORTS: &[&str] = &["getAltNames", "getIssuer", "getSubject", "parse"];

/// Object identifiers of the parts of names that have fields of their own.
const COMMON_NAME: &str = "2.5.4.3";
const COUNTRY: &str = "2.5.4.6";
const LOCALITY: &str = "2.5.4.7";
const STATE: &str = "2.5.4.8";
const STREET: &str = "2.5.4.9";
const ORGANIZATION: &str = "2.5.4.10";
const UNIT: &str = "2.5.4.11";
const POSTAL_CODE: &str = "2.5.4.17";

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let alt_names = |ctx: Ctx<'js>, pem: Opt<Value<'js>>| texts(&ctx, &read(&ctx, pem)?.alt_names);
    object.put("getAltNames", Function::new(ctx.clone(), alt_names)?.with_name("getAltNames")?)?;
    let issuer = |ctx: Ctx<'js>, pem: Opt<Value<'js>>| issuer(&ctx, &read(&ctx, pem)?.issuer);
    object.put("getIssuer", Function::new(ctx.clone(), issuer)?.with_name("getIssuer")?)?;
    let subject = |ctx: Ctx<'js>, pem: Opt<Value<'js>>| subject(&ctx, &read(&ctx, pem)?.subject);
    object.put("getSubject", Function::new(ctx.clone(), subject)?.with_name("getSubject")?)?;
    let parse = |ctx: Ctx<'js>, pem: Opt<Value<'js>>| certificate(&ctx, &read(&ctx, pem)?);
    object.put("parse", Function::new(ctx.clone(), parse)?.with_name("parse")?)?;
    Ok(object)
}

/// The certificate in an argument.
fn read<'js>(ctx: &Ctx<'js>, pem: Opt<Value<'js>>) -> Result<Certificate> {
    let pem = bytes(ctx, pem)?;
    // What is decoded, and what is made of it, is about as large.
    let _held = charge(ctx, 2 * pem.len())?;
    worked(ctx, pem.len())?;
    Certificate::read(&pem).map_err(|error| refused(ctx, &error))
}

fn refused(ctx: &Ctx<'_>, error: &CertificateError) -> rquickjs::Error {
    go_error::throw(ctx, &error.to_string())
}

/// An argument as Go's bytes.
fn bytes<'js>(ctx: &Ctx<'js>, value: Opt<Value<'js>>) -> Result<Vec<u8>> {
    let value = value.0.filter(|value| !value.is_null() && !value.is_undefined());
    let Some(value) = value else { return Ok(Vec::new()) };
    if let Some(bytes) = bytes_in(&value)? {
        return Ok(bytes);
    }
    if let Some(array) = value.as_array() {
        let byte = |element: Result<Value<'js>>| Ok(element?.get::<Coerced<f64>>()?.0 as i64 as u8);
        return elements(array)?.map(byte).collect();
    }
    let shown = value.get::<Coerced<String>>()?.0;
    let words = if value.is_object() {
        format!("cannot convert {shown} to []uint8: not an array or iterable")
    } else {
        format!("could not convert {shown} to []uint8")
    };
    Err(Exception::throw_type(ctx, &format!("could not convert function call parameter 0: {words}")))
}

fn certificate<'js>(ctx: &Ctx<'js>, certificate: &Certificate) -> Result<Object<'js>> {
    let key = certificate.public_key().map_err(|error| refused(ctx, &error))?;
    let object = Object::new(ctx.clone())?;
    object.put("subject", subject(ctx, &certificate.subject)?)?;
    object.put("issuer", issuer(ctx, &certificate.issuer)?)?;
    object.put("notBefore", certificate.not_before.as_str())?;
    object.put("notAfter", certificate.not_after.as_str())?;
    object.put("altNames", texts(ctx, &certificate.alt_names)?)?;
    object.put("signatureAlgorithm", certificate.signature_algorithm)?;
    object.put("fingerPrint", array_of(ctx, certificate.fingerprint.into_iter().map(Ok))?)?;
    object.put("publicKey", public_key(ctx, key)?)?;
    Ok(object)
}

fn subject<'js>(ctx: &Ctx<'js>, name: &Name) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.put("commonName", name.last(COMMON_NAME))?;
    object.put("country", name.first(COUNTRY))?;
    object.put("postalCode", name.first(POSTAL_CODE))?;
    object.put("stateOrProvinceName", name.first(STATE))?;
    object.put("localityName", name.first(LOCALITY))?;
    object.put("streetAddress", name.first(STREET))?;
    object.put("organizationName", name.first(ORGANIZATION))?;
    object.put("organizationalUnitName", array_of(ctx, name.all(UNIT).map(Ok))?)?;
    object.put("names", parts(ctx, name)?)?;
    Ok(object)
}

fn issuer<'js>(ctx: &Ctx<'js>, name: &Name) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.put("commonName", name.last(COMMON_NAME))?;
    object.put("country", name.first(COUNTRY))?;
    object.put("stateOrProvinceName", name.first(STATE))?;
    object.put("localityName", name.first(LOCALITY))?;
    object.put("organizationName", name.first(ORGANIZATION))?;
    object.put("names", parts(ctx, name)?)?;
    Ok(object)
}

/// All parts of a name.
fn parts<'js>(ctx: &Ctx<'js>, name: &Name) -> Result<Value<'js>> {
    let part = |part: &knee_k6::x509::NamePart| {
        let object = Object::new(ctx.clone())?;
        object.put("type", part.kind.as_str())?;
        object.put("value", part.value.as_str())?;
        Ok(object)
    };
    Ok(array_of(ctx, name.parts.iter().map(part))?.into_value())
}

fn texts<'js>(ctx: &Ctx<'js>, texts: &[String]) -> Result<Value<'js>> {
    Ok(array_of(ctx, texts.iter().map(|text| Ok(text.as_str())))?.into_value())
}

fn public_key<'js>(ctx: &Ctx<'js>, key: &PublicKey) -> Result<Object<'js>> {
    let numbers = Object::new(ctx.clone())?;
    match key {
        PublicKey::Rsa { n, e } => {
            numbers.put("n", whole_number(ctx, n)?)?;
            numbers.put("e", *e as f64)?;
        }
        PublicKey::Dsa { p, q, g, y } => {
            let parameters = Object::new(ctx.clone())?;
            for object in [&parameters, &numbers] {
                for (name, number) in [("p", p), ("q", q), ("g", g)] {
                    object.put(name, whole_number(ctx, number)?)?;
                }
            }
            numbers.put("parameters", parameters)?;
            numbers.put("y", whole_number(ctx, y)?)?;
        }
        PublicKey::Ecdsa { x, y } => {
            numbers.put("x", whole_number(ctx, x)?)?;
            numbers.put("y", whole_number(ctx, y)?)?;
        }
    }
    let object = Object::new(ctx.clone())?;
    object.put("algorithm", key.algorithm())?;
    object.put("key", numbers)?;
    Ok(object)
}

/// A `BigInt`. It is made of a literal: a script can replace the function.
fn whole_number<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> Result<Value<'js>> {
    if bytes.is_empty() {
        return ctx.eval("0n");
    }
    let mut literal = String::from("0x");
    for byte in bytes {
        // Writing into a text cannot fail.
        let _ = write!(literal, "{byte:02x}");
    }
    literal.push('n');
    ctx.eval::<Value<'js>, _>(literal)?.into_js(ctx)
}

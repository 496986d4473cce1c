//! `k6/secrets`: secrets from the sources that the user has named.
//!
//! Keeps no secret; see [`knee_k6::secrets`], which also masks those that were handed out.

use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Function, Object, Promise, Result};

use super::current::state;
use super::define::Define as _;
use super::{go_error, later};
use knee_k6::secrets::DEFAULT;

/// Its exports besides the default one.
pub const EXPORTS: &[&str] = &[];

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = source(ctx, DEFAULT.to_owned())?;
    let named = |ctx: Ctx<'js>, name: Opt<Coerced<String>>| {
        source(&ctx, name.0.map(|name| name.0).unwrap_or_default())
    };
    object.put("source", Function::new(ctx.clone(), named)?.with_name("source")?)?;
    Ok(object)
}

/// A source: whether it exists is asked with its first secret, as in k6.
fn source<'js>(ctx: &Ctx<'js>, name: String) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let get = move |ctx: Ctx<'js>, key: Opt<Coerced<String>>| {
        secret(&ctx, &name, &key.0.map(|key| key.0).unwrap_or_default())
    };
    object.put("get", Function::new(ctx.clone(), get)?.with_name("get")?)?;
    Ok(object)
}

fn secret<'js>(ctx: &Ctx<'js>, source: &str, key: &str) -> Result<Promise<'js>> {
    let state = state(ctx)?;
    match state.program.surroundings.secrets.get(source, key) {
        Ok(secret) => later::fulfilled(ctx, secret),
        Err(error) => later::rejected(ctx, go_error::bare(ctx, &error.to_string())?),
    }
}

//! `k6/ws`: a socket whose script waits for its end.

use rquickjs::{Ctx, Object, Result};

use super::native;
use crate::module::define::Define as _;
use crate::module::factory;
use knee_k6::websocket::request::Dialect;

/// Its exports.
pub const EXPORTS: &[&str] = &["connect"];

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let make = factory::function(ctx, "ws", include_str!("ws.js"))?;
    let object = Object::new(ctx.clone())?;
    object.put("connect", make.call::<_, Object<'js>>((native::functions(ctx, Dialect::Ws)?,))?)?;
    Ok(object)
}

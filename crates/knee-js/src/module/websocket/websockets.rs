//! `k6/websockets` and `k6/experimental/websockets`: sockets as browsers have them.

use rquickjs::{Ctx, Function, Object, Result};

use super::native;
use crate::module::define::Define as _;
use crate::module::{factory, streams};
use crate::runtime::intrinsic::{self, Needs};
use knee_k6::websocket::request::Dialect;

/// Its exports.
pub const EXPORTS: &[&str] = &["Blob", "WebSocket"];

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    intrinsic::ensure(ctx, Needs::BINARY);
    let native = native::functions(ctx, Dialect::WebSockets)?;
    let streams = |ctx: Ctx<'js>| streams::build(&ctx);
    native.put("streams", Function::new(ctx.clone(), streams)?)?;
    let blob: Object<'js> =
        factory::function(ctx, "websockets", include_str!("blob.js"))?.call((native.clone(),))?;
    factory::function(ctx, "websockets", include_str!("websockets.js"))?.call((native, blob))
}

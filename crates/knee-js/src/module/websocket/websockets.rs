//! `k6/websockets` and `k6/experimental/websockets`: sockets as browsers have them.

use rquickjs::{Ctx, Object, Result};

use super::native;
use crate::module::factory;
use crate::runtime::intrinsic::{self, Needs};
use knee_k6::websocket::request::Dialect;

/// Its exports.
pub const EXPORTS: &[&str] = &["Blob", "WebSocket"];

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    intrinsic::ensure(ctx, Needs::BINARY);
    let native = native::functions(ctx, Dialect::WebSockets)?;
    let blob: Object<'js> =
        factory::function(ctx, "websockets", include_str!("blob.js"))?.call((native.clone(),))?;
    factory::function(ctx, "websockets", include_str!("websockets.js"))?.call((native, blob))
}

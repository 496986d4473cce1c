//! `k6/experimental/streams`: streams that are read in pieces.
//!
//! The state of a stream is kept in `streams/readable.js`, where the garbage collector sees it. Has no streams of bytes,
//! no `tee()` and nothing that writes, as k6 has none.

use rquickjs::{Ctx, Error, Function, Object, Result};

use super::define::Define as _;
use super::{factory, go_error};
use crate::runtime::intrinsic::{self, Needs};

/// Its exports.
pub const EXPORTS: &[&str] = &["CountQueuingStrategy", "ReadableStream", "ReadableStreamDefaultReader"];

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    intrinsic::ensure(ctx, Needs::COLLECTIONS);
    let fail =
        |ctx: Ctx<'js>, words: String| -> Result<()> { Err::<(), Error>(go_error::throw(&ctx, &words)) };
    let native = Object::new(ctx.clone())?;
    native.put("fail", Function::new(ctx.clone(), fail)?)?;
    factory::function(ctx, "streams", include_str!("streams/readable.js"))?.call((native,))
}

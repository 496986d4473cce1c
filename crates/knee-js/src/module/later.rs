//! Promises that are settled at the next turn of the event loop, as k6 settles those of work beside the script.
//!
//! Does no work: what a promise is settled with is known before.

use rquickjs::{Ctx, Function, IntoJs, Promise, Result, Value};

use super::current::{charge, state};
use crate::event_loop::Callback;

/// Bytes that a promise takes until it is settled. Its values are counted on their own.
const PROMISE_BYTES: usize = 256;

/// A promise that will be fulfilled with `value`.
pub fn fulfilled<'js>(ctx: &Ctx<'js>, value: impl IntoJs<'js>) -> Result<Promise<'js>> {
    let (promise, resolve, _) = ctx.promise()?;
    settle(ctx, resolve, value.into_js(ctx)?)?;
    Ok(promise)
}

/// A promise that will be rejected with `reason`.
pub fn rejected<'js>(ctx: &Ctx<'js>, reason: impl IntoJs<'js>) -> Result<Promise<'js>> {
    let (promise, _, reject) = ctx.promise()?;
    settle(ctx, reject, reason.into_js(ctx)?)?;
    Ok(promise)
}

fn settle<'js>(ctx: &Ctx<'js>, settle: Function<'js>, value: Value<'js>) -> Result<()> {
    let memory = charge(ctx, PROMISE_BYTES)?;
    state(ctx)?.events.call_later(Callback::new(ctx, settle, vec![value]), memory);
    Ok(())
}

//! `k6/x/sse`: streams of server-sent events, as xk6-sse has them.
//!
//! What keeps values of JavaScript is written in JavaScript: the handlers. Does not send; `knee_k6::sse` does.

use rquickjs::{Ctx, Object, Result};

use super::current::state;
use super::define::Define as _;
use super::{factory, go_error};
use knee_k6::metric::{Contains, Kind};

mod native;
mod params;

/// Its exports.
pub const EXPORTS: &[&str] = &["open"];

/// Makes the module. The metric of events exists from then on.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let declared = state(ctx)?.program.metrics.declare("sse_event", Kind::Counter, Contains::Default);
    let events = declared.map_err(|error| go_error::throw(ctx, &error.to_string()))?;
    let make = factory::function(ctx, "sse", include_str!("sse/open.js"))?;
    let object = Object::new(ctx.clone())?;
    object.put("open", make.call::<_, Object<'js>>((native::functions(ctx, events)?,))?)?;
    Ok(object)
}

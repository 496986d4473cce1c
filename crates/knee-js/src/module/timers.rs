//! `k6/timers`, and the globals of the same names.

use knee_core::unit::Nanos;
use rquickjs::function::{Opt, Rest};
use rquickjs::{Coerced, Ctx, Exception, Function, Object, Result, Value};

use super::current::{charge, state};
use super::define::Define as _;
use crate::event_loop::{Callback, Timer};

/// Its exports.
pub const EXPORTS: &[&str] = &["clearInterval", "clearTimeout", "setInterval", "setTimeout"];

/// Bytes that a timer takes. The values of the script are counted on their own.
const TIMER_BYTES: usize = 256;

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.put("clearInterval", Function::new(ctx.clone(), clear)?.with_name("clearInterval")?)?;
    object.put("clearTimeout", Function::new(ctx.clone(), clear)?.with_name("clearTimeout")?)?;
    object.put("setInterval", Function::new(ctx.clone(), set_interval)?.with_name("setInterval")?)?;
    object.put("setTimeout", Function::new(ctx.clone(), set_timeout)?.with_name("setTimeout")?)?;
    Ok(object)
}

fn set_timeout<'js>(
    ctx: Ctx<'js>,
    callback: Value<'js>,
    delay: Opt<Coerced<f64>>,
    arguments: Rest<Value<'js>>,
) -> Result<u32> {
    add(&ctx, "setTimeout", &callback, delay, arguments, false)
}

fn set_interval<'js>(
    ctx: Ctx<'js>,
    callback: Value<'js>,
    delay: Opt<Coerced<f64>>,
    arguments: Rest<Value<'js>>,
) -> Result<u32> {
    add(&ctx, "setInterval", &callback, delay, arguments, true)
}

fn add<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    callback: &Value<'js>,
    delay: Opt<Coerced<f64>>,
    arguments: Rest<Value<'js>>,
    repeated: bool,
) -> Result<u32> {
    let Some(callback) = callback.as_function() else {
        return Err(Exception::throw_type(ctx, &format!("{name}'s callback isn't a callable function")));
    };
    let state = state(ctx)?;
    let millis = delay.0.map_or(0.0, |delay| delay.0).max(0.0);
    let span = Nanos::from_secs_f64(millis / 1e3);
    let memory = charge(ctx, TIMER_BYTES)?;
    let callback = Callback::new(ctx, callback.clone(), arguments.0);
    let every = repeated.then(|| span.max(Nanos::from_millis(1)));
    let timer = Timer { every, callback, memory };
    Ok(state.events.add_timer(state.now().saturating_add(span), timer))
}

fn clear<'js>(ctx: Ctx<'js>, id: Opt<Value<'js>>) -> Result<()> {
    if let Some(id) = id.0.and_then(|id| id.as_number()) {
        state(&ctx)?.events.clear_timer(id as u32);
    }
    Ok(())
}

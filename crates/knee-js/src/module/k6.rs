//! `k6`: `fail`, `group`, `randomSeed`, `sleep`; and `check`, which has a file of its own.

use knee_core::unit::Nanos;
use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Function, Object, Result, Value};

use super::current::{charge, cut, state};
use super::define::Define as _;
use super::{check, go_error};
use crate::op::Op;

/// Its exports.
pub const EXPORTS: &[&str] = &["check", "fail", "group", "randomSeed", "sleep"];

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.put("check", check::build(ctx)?)?;
    object.put("fail", Function::new(ctx.clone(), fail)?.with_name("fail")?)?;
    object.put("group", Function::new(ctx.clone(), group)?.with_name("group")?)?;
    object.put("randomSeed", Function::new(ctx.clone(), random_seed)?.with_name("randomSeed")?)?;
    object.put("sleep", Function::new(ctx.clone(), sleep)?.with_name("sleep")?)?;
    Ok(object)
}

fn fail<'js>(ctx: Ctx<'js>, message: Opt<Coerced<String>>) -> Result<()> {
    let message = message.0.map(|text| text.0).unwrap_or_default();
    Err(go_error::throw(&ctx, &message))
}

fn group<'js>(ctx: Ctx<'js>, name: Coerced<String>, body: Value<'js>) -> Result<Value<'js>> {
    let state = state(&ctx)?;
    if state.init.get() {
        return Err(go_error::throw(&ctx, "Using group() in the init context is not supported"));
    }
    let Some(body) = body.as_function() else {
        return Err(go_error::throw(&ctx, "group() requires a callback as a second argument"));
    };
    check::refuse_colons(&ctx, &name.0)?;
    if check::is_async(body) {
        return Err(go_error::throw(&ctx, "group() does not support async functions"));
    }
    let outer = state.group.borrow().clone();
    let _held = charge(&ctx, outer.len() + name.0.len())?;
    let inner: std::rc::Rc<str> = format!("{outer}::{}", name.0).into();
    let begun = state.now();
    state.enter_group(inner.clone());
    let result = body.call::<_, Value<'js>>(());
    // A throw can have left an inner group.
    state.enter_group(inner);
    let span = state.now().since(begun);
    state.observe(&[], |observer, context| observer.group(span, context));
    state.enter_group(outer);
    result
}

fn random_seed<'js>(ctx: Ctx<'js>, seed: Coerced<f64>) -> Result<()> {
    super::global::seed_random(&ctx, seed.0.to_bits())
}

fn sleep<'js>(ctx: Ctx<'js>, seconds: Coerced<f64>) -> Result<()> {
    let state = state(&ctx)?;
    if state.init.get() {
        return Ok(());
    }
    let until = state.now().saturating_add(Nanos::from_secs_f64(seconds.0.max(0.0)));
    state.ask(Op::Sleep(until)).map(drop).ok_or_else(|| cut(&ctx))
}

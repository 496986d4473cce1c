//! `k6`: `check`, `fail`, `group`, `randomSeed`, `sleep`.

use knee_core::unit::Nanos;
use rquickjs::atom::PredefinedAtom;
use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Function, Object, Result, Value};

use super::current::{cut, state};
use super::define::Define as _;
use super::go_error;
use crate::op::Op;

/// Its exports.
pub const EXPORTS: &[&str] = &["check", "fail", "group", "randomSeed", "sleep"];

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.put("check", Function::new(ctx.clone(), check)?.with_name("check")?)?;
    object.put("fail", Function::new(ctx.clone(), fail)?.with_name("fail")?)?;
    object.put("group", Function::new(ctx.clone(), group)?.with_name("group")?)?;
    object.put("randomSeed", Function::new(ctx.clone(), random_seed)?.with_name("randomSeed")?)?;
    object.put("sleep", Function::new(ctx.clone(), sleep)?.with_name("sleep")?)?;
    Ok(object)
}

/// Name and value of every tag in an object, as text.
pub fn tags_of<'js>(value: Option<&Value<'js>>) -> Result<Vec<(String, String)>> {
    let Some(object) = value.and_then(Value::as_object) else { return Ok(Vec::new()) };
    let pairs = object.props::<String, Coerced<String>>();
    pairs.map(|pair| pair.map(|(name, value)| (name, value.0))).collect()
}

fn check<'js>(
    ctx: Ctx<'js>,
    value: Value<'js>,
    sets: Opt<Value<'js>>,
    tags: Opt<Value<'js>>,
) -> Result<bool> {
    let state = state(&ctx)?;
    if state.init.get() {
        return Err(go_error::throw(&ctx, "Using check() in the init context is not supported"));
    }
    let Some(sets) = sets.0.and_then(Value::into_object) else {
        return Err(go_error::throw(&ctx, "no checks provided to `check`"));
    };
    let tags = tags_of(tags.0.as_ref())?;
    let mut all = true;
    for pair in sets.props::<String, Value<'js>>() {
        let (name, condition) = pair?;
        refuse_colons(&ctx, &name)?;
        if is_async(&condition) {
            return Err(go_error::throw(
                &ctx,
                "check() does not support async functions: await the value first, then check it",
            ));
        }
        // A promise that a plain function returns is an object like any other, and true, as in k6.
        let verdict = match condition.as_function() {
            Some(function) => function.call::<_, Value<'js>>((value.clone(),)),
            None => Ok(condition),
        };
        let passed = verdict.and_then(|verdict| verdict.get::<Coerced<bool>>());
        let told = matches!(passed, Ok(Coerced(true)));
        state.observe(&tags, |observer, context| observer.check(&name, told, context));
        // What a condition throws ends the check after it was counted as failed, as in k6.
        all &= passed?.0;
    }
    Ok(all)
}

/// Whether a value is a function declared with `async`.
fn is_async(value: &Value<'_>) -> bool {
    let kind = |function: &Function<'_>| function.get::<_, String>(PredefinedAtom::SymbolToStringTag);
    value.as_function().is_some_and(|function| kind(function).is_ok_and(|kind| kind == "AsyncFunction"))
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
    refuse_colons(&ctx, &name.0)?;
    if is_async(body.as_value()) {
        return Err(go_error::throw(&ctx, "group() does not support async functions"));
    }
    let outer = state.group.borrow().clone();
    let inner: std::rc::Rc<str> = format!("{outer}::{}", name.0).into();
    let begun = state.now();
    state.group.replace(inner.clone());
    let result = body.call::<_, Value<'js>>(());
    // A throw can have left an inner group.
    state.group.replace(inner);
    let span = state.now().since(begun);
    state.observe(&[], |observer, context| observer.group(span, context));
    state.group.replace(outer);
    result
}

/// Paths of groups and checks are joined with `::`, which therefore cannot be in a name.
fn refuse_colons(ctx: &Ctx<'_>, name: &str) -> Result<()> {
    if name.contains("::") {
        return Err(go_error::throw(ctx, "group and check names may not contain '::'"));
    }
    Ok(())
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

//! `k6/execution`: where in the test a script stands, and a way to end it.

use rquickjs::function::Opt;
use rquickjs::object::Accessor;
use rquickjs::{Coerced, Ctx, Exception, Function, IntoJs, Object, Result, Value};

use super::state;
use crate::state::State;

/// What it exports.
pub const EXPORTS: &[&str] = &["instance", "scenario", "test", "vu"];

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("scenario", scenario(ctx)?)?;
    object.set("instance", instance(ctx)?)?;
    object.set("test", test(ctx)?)?;
    object.set("vu", vu(ctx)?)?;
    Ok(object)
}

/// A property that is worked out each time it is read.
fn reading<'js, T: IntoJs<'js> + 'js>(
    object: &Object<'js>,
    name: &'static str,
    read: impl Fn(&State) -> T + 'js,
) -> Result<()> {
    let get = move |ctx: Ctx<'js>| -> Result<Value<'js>> { read(&*state(&ctx)?).into_js(&ctx) };
    object.prop(name, Accessor::new_get(get).enumerable().configurable())
}

fn scenario<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    reading(&object, "name", |state| state.place.borrow().scenario.to_string())?;
    reading(&object, "executor", |state| state.place.borrow().executor.to_string())?;
    reading(&object, "startTime", |state| state.story().scenario_started_ms)?;
    reading(&object, "progress", |state| state.story().progress(state.now()))?;
    reading(&object, "iterationInInstance", |state| state.place.borrow().iteration_in_test as f64)?;
    reading(&object, "iterationInTest", |state| state.place.borrow().iteration_in_test as f64)?;
    Ok(object)
}

fn instance<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    reading(&object, "currentTestRunDuration", |state| state.now().as_millis_f64())?;
    reading(&object, "iterationsCompleted", |state| state.story().tally.completed() as f64)?;
    reading(&object, "iterationsInterrupted", |state| state.story().tally.interrupted() as f64)?;
    reading(&object, "vusActive", |state| state.story().tally.active() as f64)?;
    reading(&object, "vusInitialized", |state| state.story().tally.initialized() as f64)?;
    Ok(object)
}

fn test<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let abort = |ctx: Ctx<'js>, reason: Opt<Coerced<String>>| -> Result<()> {
        let words = reason
            .0
            .map_or_else(|| "test aborted".to_owned(), |reason| format!("test aborted: {}", reason.0));
        state(&ctx)?.abort.replace(Some(words.clone()));
        Err(Exception::throw_message(&ctx, &words))
    };
    let fail = |ctx: Ctx<'js>, reason: Opt<Coerced<String>>| -> Result<()> {
        let state = state(&ctx)?;
        state.story().tally.fail();
        let words =
            reason.0.map_or_else(|| "test failed".to_owned(), |reason| format!("test failed: {}", reason.0));
        state.program.say(crate::program::Level::Error, &words);
        Ok(())
    };
    object.set("abort", Function::new(ctx.clone(), abort)?.with_name("abort")?)?;
    object.set("fail", Function::new(ctx.clone(), fail)?.with_name("fail")?)?;
    let options =
        |ctx: Ctx<'js>| -> Result<Value<'js>> { ctx.json_parse(state(&ctx)?.story().options.to_string()) };
    object.prop("options", Accessor::new_get(options).enumerable().configurable())?;
    Ok(object)
}

fn vu<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    reading(&object, "idInInstance", |state| state.place.borrow().vu as f64)?;
    reading(&object, "idInTest", |state| state.place.borrow().vu as f64)?;
    reading(&object, "iterationInInstance", |state| state.place.borrow().iteration as f64)?;
    reading(&object, "iterationInScenario", |state| state.place.borrow().iteration_in_scenario as f64)?;
    let tags = tags(ctx)?;
    object.set("tags", tags.clone())?;
    let metrics = Object::new(ctx.clone())?;
    metrics.set("tags", tags)?;
    metrics.set("metadata", Object::new(ctx.clone())?)?;
    object.set("metrics", metrics)?;
    Ok(object)
}

/// The tags of the VU as an object that can be written to.
fn tags<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    const SHOW: &str = r"(read, write) => new Proxy({}, {
      get: (target, key) => (typeof key === 'string' ? read()[key] : undefined),
      set: (target, key, value) => { write(String(key), value); return true; },
      deleteProperty: (target, key) => { write(String(key), undefined); return true; },
      has: (target, key) => key in read(),
      ownKeys: () => Object.keys(read()),
      getOwnPropertyDescriptor: (target, key) => Object.getOwnPropertyDescriptor(read(), key),
    })";
    let show: Function<'js> = ctx.eval(SHOW)?;
    let read = Function::new(ctx.clone(), read_tags)?;
    let write = Function::new(ctx.clone(), write_tag)?;
    show.call((read, write))
}

fn read_tags<'js>(ctx: Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let state = state(&ctx)?;
    object.set("scenario", state.place.borrow().scenario.to_string())?;
    if !state.group.borrow().is_empty() {
        object.set("group", state.group.borrow().to_string())?;
    }
    for (name, value) in state.tags.borrow().iter() {
        object.set(name.as_str(), value.as_str())?;
    }
    Ok(object)
}

fn write_tag<'js>(ctx: Ctx<'js>, name: String, value: Value<'js>) -> Result<()> {
    let state = state(&ctx)?;
    if value.is_object() || value.is_null() {
        let words = "invalid value for metric tag: only String, Boolean and Number types are accepted as a metric tag value";
        return Err(Exception::throw_type(&ctx, words));
    }
    let mut tags = state.tags.borrow().to_vec();
    tags.retain(|(known, _)| *known != name);
    if !value.is_undefined() {
        tags.push((name, value.get::<Coerced<String>>()?.0));
    }
    state.tags.replace(tags.into());
    Ok(())
}

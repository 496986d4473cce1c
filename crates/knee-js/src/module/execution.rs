//! `k6/execution`: the position of a script in the test, and how to end the test.
//!
//! While a script is loaded it has no position yet, so reading it throws, as in k6. Reading the scenario in `setup`
//! and after the load throws too.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::function::Opt;
use rquickjs::object::Accessor;
use rquickjs::{Coerced, Ctx, Exception, Function, IntoJs, Object, Result, Value};

use super::current::state;
use super::define::Define as _;
use super::{factory, go_error};
use crate::runtime::intrinsic::{self, Needs};
use crate::runtime::thrown::{Thrown, end};
use crate::state::State;

/// Its exports.
pub const EXPORTS: &[&str] = &["instance", "scenario", "test", "vu"];

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    intrinsic::ensure(ctx, Needs::PROXY);
    let object = Object::new(ctx.clone())?;
    object.put("scenario", scenario(ctx)?)?;
    object.put("instance", instance(ctx)?)?;
    object.put("test", test(ctx)?)?;
    object.put("vu", vu(ctx)?)?;
    Ok(object)
}

/// What `import exec from` gives: the same, except that reaching for a part too early throws.
pub fn guarded<'js>(ctx: &Ctx<'js>, module: &Object<'js>) -> Result<Object<'js>> {
    const GUARD: &str = r"(module, ready) => {
      const guarded = {};
      const { defineProperty } = Object;
      const guard = (name, tooEarly) => defineProperty(guarded, name, {
        __proto__: null, enumerable: true, configurable: true, get: () => { ready(tooEarly); return module[name]; },
      });
      guard('instance', 'getting instance information in the init context is not supported');
      guard('scenario', 'getting scenario information outside of the VU context is not supported');
      guard('vu', 'getting VU information in the init context is not supported');
      return defineProperty(guarded, 'test', {
        __proto__: null, enumerable: true, configurable: true, writable: true, value: module.test,
      });
    }";
    let ready = |ctx: Ctx<'js>, too_early: String| -> Result<()> {
        if state(&ctx)?.init.get() { Err(go_error::throw(&ctx, &too_early)) } else { Ok(()) }
    };
    let guard = factory::function(ctx, "execution", GUARD)?;
    guard.call((module.clone(), Function::new(ctx.clone(), ready)?))
}

/// k6's message outside of scenarios.
const NO_SCENARIO: &str = "getting scenario information outside of the VU context is not supported";

/// A property of the scenario, which throws where there is none.
fn of_scenario<'js, T: IntoJs<'js> + 'js>(
    object: &Object<'js>,
    name: &'static str,
    read: impl Fn(&State) -> T + 'js,
) -> Result<()> {
    let get = move |ctx: Ctx<'js>| -> Result<Value<'js>> {
        let state = state(&ctx)?;
        if state.init.get() || state.place.borrow().scenario.is_empty() {
            return Err(go_error::throw(&ctx, NO_SCENARIO));
        }
        read(&state).into_js(&ctx)
    };
    object.prop(name, Accessor::new_get(get).enumerable().configurable())
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
    of_scenario(&object, "name", |state| state.place.borrow().scenario.to_string())?;
    of_scenario(&object, "executor", |state| state.place.borrow().executor.to_string())?;
    of_scenario(&object, "startTime", |state| state.execution_info().scenario_started_ms)?;
    of_scenario(&object, "progress", |state| state.execution_info().progress(state.now()))?;
    of_scenario(&object, "iterationInInstance", |state| state.place.borrow().iteration_in_instance as f64)?;
    of_scenario(&object, "iterationInTest", |state| state.place.borrow().iteration_in_test as f64)?;
    Ok(object)
}

fn instance<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    reading(&object, "currentTestRunDuration", |state| state.now().as_millis_f64())?;
    reading(&object, "iterationsCompleted", |state| state.execution_info().tally.completed() as f64)?;
    reading(&object, "iterationsInterrupted", |state| state.execution_info().tally.interrupted() as f64)?;
    reading(&object, "vusActive", |state| state.execution_info().tally.active() as f64)?;
    reading(&object, "vusInitialized", |state| state.execution_info().tally.initialized() as f64)?;
    Ok(object)
}

fn test<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let fail = |ctx: Ctx<'js>, reason: Opt<Value<'js>>| -> Result<()> {
        let state = state(&ctx)?;
        state.execution_info().tally.fail();
        let words = explained("test marked as failed", reason.0)?;
        state.program.say(crate::program::LogLevel::Error, &words);
        Ok(())
    };
    object.put("abort", Function::new(ctx.clone(), abort)?.with_name("abort")?)?;
    object.put("fail", Function::new(ctx.clone(), fail)?.with_name("fail")?)?;
    let options = |ctx: Ctx<'js>| -> Result<Value<'js>> {
        let state = state(&ctx)?;
        if state.init.get() {
            return Err(go_error::throw(&ctx, "getting test options in the init context is not supported"));
        }
        ctx.json_parse(state.execution_info().options.to_string())
    };
    object.prop("options", Accessor::new_get(options).enumerable().configurable())?;
    Ok(object)
}

/// Ends the whole test. No part of the script that asks for it goes on, `finally` included.
fn abort<'js>(ctx: Ctx<'js>, reason: Opt<Value<'js>>) -> Result<()> {
    let mut words = explained("test aborted", reason.0)?;
    let here = Thrown::of(&ctx, Exception::from_message(ctx.clone(), "")?.as_value());
    if let Some(frame) = here.frames.first() {
        words.push(' ');
        words.push_str(frame);
    }
    state(&ctx)?.abort.replace(Some(words.clone()));
    Err(end(&ctx, &words))
}

/// What happened, and why, if the script says so.
fn explained(what: &str, reason: Option<Value<'_>>) -> Result<String> {
    match reason.filter(|reason| !reason.is_null() && !reason.is_undefined()) {
        Some(reason) => Ok(format!("{what}: {}", reason.get::<Coerced<String>>()?.0)),
        None => Ok(what.to_owned()),
    }
}

fn vu<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    reading(&object, "idInInstance", |state| state.place.borrow().vu as f64)?;
    reading(&object, "idInTest", |state| state.place.borrow().vu_in_test as f64)?;
    reading(&object, "iterationInInstance", |state| state.place.borrow().iteration as f64)?;
    reading(&object, "iterationInScenario", |state| state.place.borrow().iteration_in_scenario as f64)?;
    let tags = noted(ctx, read_tags, |state| &state.tags)?;
    object.put("tags", tags.clone())?;
    let metrics = Object::new(ctx.clone())?;
    metrics.put("tags", tags)?;
    metrics.put("metadata", noted(ctx, read_metadata, |state| &state.metadata)?)?;
    object.put("metrics", metrics)?;
    Ok(object)
}

/// Notes of the VU, which go with its samples.
type Notes = RefCell<Rc<[(String, String)]>>;

/// Bytes that a tag or a metadata entry takes. Its texts are counted on their own.
const NOTE_BYTES: usize = 64;

/// Notes of the VU as an object that can be written to.
fn noted<'js>(
    ctx: &Ctx<'js>,
    read: fn(Ctx<'js>) -> Result<Object<'js>>,
    notes: fn(&State) -> &Notes,
) -> Result<Object<'js>> {
    const SHOW: &str = r"(read, write) => new Proxy({}, {
      __proto__: null,
      get: (target, key) => (typeof key === 'string' ? read()[key] : undefined),
      set: (target, key, value) => { write(String(key), value); return true; },
      deleteProperty: (target, key) => { write(String(key), undefined); return true; },
      has: (target, key) => key in read(),
      ownKeys: () => Object.keys(read()),
      getOwnPropertyDescriptor: (target, key) => Object.getOwnPropertyDescriptor(read(), key),
    })";
    let show = factory::function(ctx, "execution", SHOW)?;
    let read = Function::new(ctx.clone(), read)?;
    let write = move |ctx: Ctx<'js>, name: String, value: Value<'js>| write_note(&ctx, notes, &name, &value);
    show.call((read, Function::new(ctx.clone(), write)?))
}

fn read_tags<'js>(ctx: Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let state = state(&ctx)?;
    let scenario = state.place.borrow().scenario.clone();
    let (group, tags) = (state.group.borrow().clone(), state.tags.borrow().clone());
    if !scenario.is_empty() {
        object.put("scenario", &*scenario)?;
    }
    if !scenario.is_empty() || !group.is_empty() {
        object.put("group", &*group)?;
    }
    for (name, value) in tags.iter() {
        object.put(name.as_str(), value.as_str())?;
    }
    Ok(object)
}

fn read_metadata<'js>(ctx: Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let metadata = state(&ctx)?.metadata.borrow().clone();
    for (name, value) in metadata.iter() {
        object.put(name.as_str(), value.as_str())?;
    }
    Ok(object)
}

fn write_note<'js>(
    ctx: &Ctx<'js>,
    notes: fn(&State) -> &Notes,
    name: &str,
    value: &Value<'js>,
) -> Result<()> {
    let state = state(ctx)?;
    if value.is_object() || value.is_null() {
        let words = "invalid value for metric tag: only String, Boolean and Number types are accepted as a metric tag value";
        return Err(Exception::throw_type(ctx, words));
    }
    let notes = notes(&state);
    let mut kept = notes.borrow().to_vec();
    kept.retain(|(known, _)| known != name);
    if !value.is_undefined() {
        kept.push((name.to_owned(), value.get::<Coerced<String>>()?.0));
    }
    notes.replace(kept.into());
    let bytes = |notes: &Notes| -> usize {
        notes.borrow().iter().map(|(name, value)| NOTE_BYTES + name.len() + value.len()).sum()
    };
    // Their texts are in the script's own memory, so it is soon enough to count the copies now.
    state.notes_memory.borrow_mut().note(bytes(&state.tags) + bytes(&state.metadata));
    Ok(())
}

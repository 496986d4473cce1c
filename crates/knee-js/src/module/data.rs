//! `k6/data`: `SharedArray`, one copy of whose elements all VUs share.
//!
//! An element is parsed each time it is asked for and frozen, so that no VU can change what
//! another one sees.

use std::sync::Arc;

use rquickjs::function::{Constructor, Opt};
use rquickjs::{Coerced, Ctx, Function, Object, Result, Value};

use super::current::{out_of_memory, state};
use super::define::{self, Define as _};
use super::{factory, go_error};
use crate::runtime::intrinsic::{self, Needs};
use knee_k6::data::Elements;

/// Its exports.
pub const EXPORTS: &[&str] = &["SharedArray"];

/// The constructor: `(make) => SharedArray`, where `make(name, source)` has the number of elements and a function that
/// parses one. Shows them as an array. Keeps the functions that it needs, whatever becomes of the globals.
const SHOW: &str = r"(make) => {
  const { values, freeze, defineProperty } = Object;
  const { isInteger } = Number;
  const { from } = Array;
  const constant = (value) => {
    if (value !== null && typeof value === 'object') {
      const parts = values(value);
      for (let at = 0; at < parts.length; at++) constant(parts[at]);
      freeze(value);
    }
    return value;
  };
  const place = (key) => {
    if (typeof key !== 'string') return -1;
    const number = +key;
    return isInteger(number) && number >= 0 && '' + number === key ? number : -1;
  };
  const refuse = () => { throw new TypeError('SharedArray is immutable'); };
  return function SharedArray(name, source) {
    const { length, element } = make(name, source);
    return new Proxy([], {
      __proto__: null,
      get(target, key) {
        if (key === 'length') return length;
        const at = place(key);
        if (at >= 0) return at < length ? constant(element(at)) : undefined;
        return Array.prototype[key];
      },
      has(target, key) {
        const at = place(key);
        return at >= 0 ? at < length : key in target;
      },
      ownKeys() {
        return from({ length: length + 1 }, (_, at) => (at < length ? '' + at : 'length'));
      },
      getOwnPropertyDescriptor(target, key) {
        const at = place(key);
        const found = { __proto__: null, enumerable: true, configurable: true, writable: true };
        if (at >= 0 && at < length) return { ...found, value: constant(element(at)) };
        return key === 'length' ? { ...found, value: length, enumerable: false, configurable: false } : undefined;
      },
      set: refuse,
      deleteProperty: refuse,
      defineProperty: refuse,
    });
  };
}";

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    intrinsic::ensure(ctx, Needs::PROXY);
    let object = Object::new(ctx.clone())?;
    let make = |ctx: Ctx<'js>, name: Opt<Coerced<String>>, source: Opt<Value<'js>>| {
        shared_array(&ctx, name.0.map(|name| name.0), source.0)
    };
    let show = factory::function(ctx, "data", SHOW)?;
    let constructor: Function<'js> = show.call((Function::new(ctx.clone(), make)?,))?;
    object.put("SharedArray", constructor)?;
    Ok(object)
}

/// Elements as an array that cannot be changed.
pub fn shown<'js>(ctx: &Ctx<'js>, elements: Arc<Elements>) -> Result<Object<'js>> {
    intrinsic::ensure(ctx, Needs::PROXY);
    let make = move |ctx: Ctx<'js>| parts(&ctx, elements.clone());
    let constructor: Constructor<'js> =
        factory::function(ctx, "data", SHOW)?.call((Function::new(ctx.clone(), make)?,))?;
    constructor.construct(())
}

/// The number of elements of a shared array, and a function that parses one.
fn shared_array<'js>(
    ctx: &Ctx<'js>,
    name: Option<String>,
    source: Option<Value<'js>>,
) -> Result<Object<'js>> {
    let state = state(ctx)?;
    if !state.init.get() {
        return Err(go_error::throw(ctx, "new SharedArray must be called in the init context"));
    }
    let name = name.filter(|name| !name.is_empty());
    let Some(name) = name else {
        return Err(go_error::throw(ctx, "empty name provided to SharedArray's constructor"));
    };
    let elements = if let Some(elements) = state.program.array(&name) {
        elements
    } else {
        let kept = state.program.keep_array(&name, elements_of(ctx, source)?);
        kept.ok_or_else(|| out_of_memory(ctx))?
    };
    parts(ctx, elements)
}

/// The number of elements, and a function that parses one.
fn parts<'js>(ctx: &Ctx<'js>, elements: Arc<Elements>) -> Result<Object<'js>> {
    let made = Object::new(ctx.clone())?;
    made.put("length", elements.len() as f64)?;
    let element = move |ctx: Ctx<'js>, place: f64| -> Result<Value<'js>> {
        match elements.get(place as usize) {
            Some(json) => ctx.json_parse(json),
            None => Ok(Value::new_undefined(ctx)),
        }
    };
    made.put("element", Function::new(ctx.clone(), element)?)?;
    Ok(made)
}

fn elements_of<'js>(ctx: &Ctx<'js>, source: Option<Value<'js>>) -> Result<Elements> {
    let words = "a function is expected as the second argument of SharedArray's constructor";
    let source = source.as_ref().and_then(Value::as_function).cloned();
    let source = source.ok_or_else(|| go_error::throw(ctx, words))?;
    let value: Value<'js> = source.call(())?;
    let words = "only arrays can be made into SharedArray";
    let array = value.as_array().ok_or_else(|| go_error::throw(ctx, words))?;
    let mut elements = Elements::default();
    let most = state(ctx)?.program.surroundings.limits.shared;
    for element in define::elements(array)? {
        let json = ctx.json_stringify(element?)?;
        elements.push(&json.map_or_else(|| Ok("null".to_owned()), |json| json.to_string())?);
        // Elements can be one long text many times.
        if elements.bytes() > most {
            return Err(out_of_memory(ctx));
        }
    }
    Ok(elements)
}

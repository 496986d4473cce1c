//! `k6/data`: `SharedArray`, one copy of whose elements all VUs share.
//!
//! An element is parsed each time it is asked for and frozen, so that no VU can change what
//! another one sees.

use std::rc::Rc;

use rquickjs::function::{Constructor, Opt};
use rquickjs::{Coerced, Ctx, Function, Object, Result, Value};

use super::current::state;
use super::go_error;
use knee_k6::data::Elements;

/// Its exports.
pub const EXPORTS: &[&str] = &["SharedArray"];

/// Shows elements as an array: `(length, element) => array`.
const SHOW: &str = r"(length, element) => {
  const freeze = (value) => {
    if (value !== null && typeof value === 'object') {
      Object.values(value).forEach(freeze);
      Object.freeze(value);
    }
    return value;
  };
  const place = (key) => {
    if (typeof key !== 'string') return -1;
    const number = Number(key);
    return Number.isInteger(number) && number >= 0 && String(number) === key ? number : -1;
  };
  const refuse = () => { throw new TypeError('SharedArray is immutable'); };
  return new Proxy([], {
    get(target, key) {
      if (key === 'length') return length;
      const at = place(key);
      if (at >= 0) return at < length ? freeze(element(at)) : undefined;
      return Array.prototype[key];
    },
    has(target, key) {
      const at = place(key);
      return at >= 0 ? at < length : key in target;
    },
    ownKeys() {
      return [...Array.from({ length }, (_, at) => String(at)), 'length'];
    },
    getOwnPropertyDescriptor(target, key) {
      const at = place(key);
      if (at >= 0 && at < length) {
        return { value: freeze(element(at)), enumerable: true, configurable: true, writable: true };
      }
      return key === 'length' ? { value: length, enumerable: false, configurable: false, writable: true } : undefined;
    },
    set: refuse,
    deleteProperty: refuse,
    defineProperty: refuse,
  });
}";

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let show: Function<'js> = ctx.eval(SHOW)?;
    let make = move |ctx: Ctx<'js>, name: Opt<Coerced<String>>, source: Opt<Value<'js>>| {
        shared_array(&ctx, &show, name.0.map(|name| name.0), source.0)
    };
    let prototype = Object::new(ctx.clone())?;
    object.set("SharedArray", Constructor::new_prototype(ctx, prototype, make)?)?;
    Ok(object)
}

fn shared_array<'js>(
    ctx: &Ctx<'js>,
    show: &Function<'js>,
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
    let elements = match state.program.array(&name) {
        Some(elements) => elements,
        None => state.program.keep_array(&name, elements_of(ctx, source)?),
    };
    let elements = Rc::new(elements);
    let length = elements.len();
    let element = Function::new(ctx.clone(), move |ctx: Ctx<'js>, place: f64| -> Result<Value<'js>> {
        match elements.get(place as usize) {
            Some(json) => ctx.json_parse(json),
            None => Ok(Value::new_undefined(ctx)),
        }
    })?;
    show.call((length as f64, element))
}

fn elements_of<'js>(ctx: &Ctx<'js>, source: Option<Value<'js>>) -> Result<Elements> {
    let words = "a function is expected as the second argument of SharedArray's constructor";
    let source = source.as_ref().and_then(Value::as_function).cloned();
    let source = source.ok_or_else(|| go_error::throw(ctx, words))?;
    let value: Value<'js> = source.call(())?;
    let words = "only arrays can be made into SharedArray";
    let array = value.as_array().ok_or_else(|| go_error::throw(ctx, words))?;
    let mut elements = Elements::default();
    for element in array.iter::<Value<'js>>() {
        let json = ctx.json_stringify(element?)?;
        elements.push(&json.map_or_else(|| Ok("null".to_owned()), |json| json.to_string())?);
    }
    Ok(elements)
}

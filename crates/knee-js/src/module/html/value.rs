//! Methods and values that selections and elements have in common.

use knee_k6::html::form::FieldValue;
use rquickjs::class::{Class, JsClass};
use rquickjs::function::{Rest, This};
use rquickjs::{Array, Coerced, Ctx, Function, IntoJs, Object, Result, Value};

/// Adds a method to the prototype of a class.
pub fn add<'js, C, F>(ctx: &Ctx<'js>, prototype: &Object<'js>, name: &str, method: F) -> Result<()>
where
    C: JsClass<'js> + 'js,
    F: Fn(&Ctx<'js>, &C, &[Value<'js>]) -> Result<Value<'js>> + 'js,
{
    let call = move |ctx: Ctx<'js>, this: This<Class<'js, C>>, arguments: Rest<Value<'js>>| {
        method(&ctx, &this.0.borrow(), &arguments.0)
    };
    prototype.set(name, Function::new(ctx.clone(), call)?.with_name(name)?)
}

/// The value of a field; undefined for what is none.
pub fn field<'js>(ctx: &Ctx<'js>, value: Option<FieldValue>) -> Result<Value<'js>> {
    match value {
        Some(FieldValue::Text(text)) => text.into_js(ctx),
        Some(FieldValue::List(texts)) => texts.into_js(ctx),
        None => Ok(Value::new_undefined(ctx.clone())),
    }
}

/// Values as an array.
pub fn list<'js>(ctx: &Ctx<'js>, values: impl Iterator<Item = Result<Value<'js>>>) -> Result<Value<'js>> {
    let array = Array::new(ctx.clone())?;
    for (place, value) in values.enumerate() {
        array.set(place, value?)?;
    }
    Ok(array.into_value())
}

/// An argument as text; `None` if it was not given.
pub fn text(value: Option<&Value<'_>>) -> Result<Option<String>> {
    match value {
        Some(value) if value.is_null() || value.is_undefined() => Ok(Some(String::new())),
        Some(value) => Ok(Some(value.get::<Coerced<String>>()?.0)),
        None => Ok(None),
    }
}

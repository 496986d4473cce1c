//! Methods and values that selections and elements have in common.

use knee_k6::html::form::FieldValue;
use knee_k6::html::{PageError, Selection};
use rquickjs::class::{Class, JsClass};
use rquickjs::function::{Rest, This};
use rquickjs::{Coerced, Ctx, Error, Function, IntoJs, Object, Result, Value};

use crate::module::current::cut;
use crate::module::define::{Define as _, array_of};
use crate::module::go_error;

/// An object of a page.
pub trait OfPage {
    /// The nodes that it stands for.
    fn nodes(&self) -> &Selection;
}

/// The error of a page that cannot be read, or of work on a page that had to end.
pub fn refuse(ctx: &Ctx<'_>, error: PageError) -> Error {
    match error {
        PageError::OutOfMemory => Error::Allocation,
        PageError::Ended => cut(ctx),
        PageError::TooDeep | PageError::Attributes => go_error::throw(ctx, &error.to_string()),
    }
}

/// Adds a method to the prototype of a class. The method fails if the work on the page had to end.
pub fn add<'js, C, F>(ctx: &Ctx<'js>, prototype: &Object<'js>, name: &str, method: F) -> Result<()>
where
    C: JsClass<'js> + OfPage + 'js,
    F: Fn(&Ctx<'js>, &C, &[Value<'js>]) -> Result<Value<'js>> + 'js,
{
    let call = move |ctx: Ctx<'js>, this: This<Class<'js, C>>, arguments: Rest<Value<'js>>| {
        let this = this.0.borrow();
        let made = method(&ctx, &this, &arguments.0)?;
        match this.nodes().take_trouble() {
            Some(error) => Err(refuse(&ctx, error)),
            None => Ok(made),
        }
    };
    prototype.put(name, Function::new(ctx.clone(), call)?.with_name(name)?)
}

/// The value of a field; undefined for what is none.
pub fn field<'js>(ctx: &Ctx<'js>, value: Option<FieldValue>) -> Result<Value<'js>> {
    match value {
        Some(FieldValue::Text(text)) => text.into_js(ctx),
        Some(FieldValue::List(texts)) => Ok(array_of(ctx, texts.into_iter().map(Ok))?.into_value()),
        None => Ok(Value::new_undefined(ctx.clone())),
    }
}

/// Values as an array.
pub fn list<'js>(ctx: &Ctx<'js>, values: impl Iterator<Item = Result<Value<'js>>>) -> Result<Value<'js>> {
    Ok(array_of(ctx, values)?.into_value())
}

/// An argument as text; `None` if it was not given.
pub fn text(value: Option<&Value<'_>>) -> Result<Option<String>> {
    match value {
        Some(value) if value.is_null() || value.is_undefined() => Ok(Some(String::new())),
        Some(value) => Ok(Some(value.get::<Coerced<String>>()?.0)),
        None => Ok(None),
    }
}

//! Errors as k6's own functions throw them.
//!
//! Does not decide what is an error.

use rquickjs::object::Property;
use rquickjs::{Atom, Ctx, Error, Exception, Function, IntoAtom, Object, Result, Value};

use super::define::Define as _;

/// Throws an error with k6's name for errors that do not come from a script: `GoError`.
pub fn throw(ctx: &Ctx<'_>, words: &str) -> Error {
    match exception(ctx, words) {
        Ok(error) => error.throw(),
        Err(error) => error,
    }
}

/// The same error as a value.
pub fn made<'js>(ctx: &Ctx<'js>, words: &str) -> Result<Value<'js>> {
    Ok(exception(ctx, words)?.into_value())
}

fn exception<'js>(ctx: &Ctx<'js>, words: &str) -> Result<Exception<'js>> {
    let error = Exception::from_message(ctx.clone(), words)?;
    let name: Atom<'_> = "name".into_atom(ctx)?;
    error.as_object().prop(name, Property::from("GoError").writable().configurable())?;
    Ok(error)
}

/// An error as k6 rejects promises with: an object that is no `Error`, and whose text is `words`.
pub fn bare<'js>(ctx: &Ctx<'js>, words: &str) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let said = || {
        let words = words.to_owned();
        Function::new(ctx.clone(), move || words.clone())
    };
    object.put("error", said()?)?;
    object.prop("toString", Property::from(said()?).writable().configurable())?;
    Ok(object)
}

//! Errors as k6's own functions throw them.
//!
//! Does not decide what is an error.

use rquickjs::{Atom, Ctx, Error, Exception, IntoAtom};

/// Throws an error with k6's name for errors that do not come from a script: `GoError`.
pub fn throw(ctx: &Ctx<'_>, words: &str) -> Error {
    let made = Exception::from_message(ctx.clone(), words).and_then(|error| {
        let name: Atom<'_> = "name".into_atom(ctx)?;
        error
            .as_object()
            .prop(name, rquickjs::object::Property::from("GoError").writable().configurable())?;
        Ok(error)
    });
    match made {
        Ok(error) => error.throw(),
        Err(error) => error,
    }
}

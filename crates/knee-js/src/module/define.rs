//! Objects and arrays that no prototype can interfere with.
//!
//! A script can put setters and getters on `Object.prototype` and `Array.prototype`. Assigning a property would call
//! them, in the middle of a function of this crate. So properties are defined here, which calls nothing. Reads the
//! length of arrays too, because the one of rquickjs ends the process for arrays with more than 2^31 elements.

use rquickjs::object::Property;
use rquickjs::{Array, Ctx, IntoAtom, IntoJs, Object, Result, Value};

/// Gives an object a property of its own.
pub trait Define<'js> {
    /// Defines an ordinary property: writable, enumerable, configurable.
    fn put<K: IntoAtom<'js>, V: IntoJs<'js>>(&self, key: K, value: V) -> Result<()>;
}

impl<'js> Define<'js> for Object<'js> {
    fn put<K: IntoAtom<'js>, V: IntoJs<'js>>(&self, key: K, value: V) -> Result<()> {
        self.prop(key, Property::from(value).writable().enumerable().configurable())
    }
}

/// A new array of these values.
pub fn array_of<'js, V: IntoJs<'js>>(
    ctx: &Ctx<'js>,
    values: impl IntoIterator<Item = Result<V>>,
) -> Result<Array<'js>> {
    let array = Array::new(ctx.clone())?;
    for (place, value) in values.into_iter().enumerate() {
        array.as_object().put(place as u32, value?)?;
    }
    Ok(array)
}

/// Number of elements of an array.
pub fn length(array: &Array<'_>) -> Result<u32> {
    // An array has this as a number of its own, from 0 to 2^32 - 1.
    array.as_object().get::<_, f64>("length").map(|length| length as u32)
}

/// The elements of an array, as many as it has now.
pub fn elements<'a, 'js>(array: &'a Array<'js>) -> Result<impl Iterator<Item = Result<Value<'js>>> + 'a> {
    Ok((0..length(array)?).map(|place| array.get(place as usize)))
}

//! Objects of `k6/http` that stand for more than their properties: files, named URLs and expected statuses.
//!
//! A script sees ordinary objects. What they stand for is kept beside the properties, where no prototype and no copy
//! of the properties can pretend to be one. Does not read the properties.

use std::rc::Rc;

use rquickjs::class::{Class, JsClass, Readable, Trace, Tracer};
use rquickjs::function::Constructor;
use rquickjs::{Ctx, JsLifetime, Object, Result};

use knee_k6::http::request::Expected;

/// What an object stands for.
#[derive(Clone, JsLifetime)]
pub enum Mark {
    /// What `http.file` made.
    File,
    /// What `http.url` made.
    Url,
    /// What `http.expectedStatuses` made.
    Expected(Statuses),
}

/// In which no value of JavaScript is.
type Statuses = Rc<Expected>;

impl<'js> Trace<'js> for Mark {
    fn trace<'a>(&self, _: Tracer<'a, 'js>) {}
}

impl<'js> JsClass<'js> for Mark {
    const NAME: &'static str = "Object";
    type Mutable = Readable;

    fn constructor(_: &Ctx<'js>) -> Result<Option<Constructor<'js>>> {
        Ok(None)
    }
}

/// A new object that stands for something.
pub fn marked<'js>(ctx: &Ctx<'js>, mark: Mark) -> Result<Object<'js>> {
    let plain = Object::new(ctx.clone())?;
    let prototype = plain.get_prototype().unwrap_or(plain);
    Ok(Class::instance_proto(mark, prototype)?.into_inner())
}

/// What an object stands for, if anything.
pub fn mark_of(object: &Object<'_>) -> Option<Mark> {
    let class = Class::<Mark>::from_object(object)?;
    let mark = class.borrow().clone();
    Some(mark)
}

/// Whether an object was made by `http.file`.
pub fn is_file(object: &Object<'_>) -> bool {
    has(object, "content_type") && matches!(mark_of(object), Some(Mark::File))
}

/// Whether an object was made by `http.url`.
pub fn is_url(object: &Object<'_>) -> bool {
    has(object, "clean_url") && matches!(mark_of(object), Some(Mark::Url))
}

/// Whether an object has a property. Most objects have not, and for those the mark need not be looked for, which is
/// slow.
fn has(object: &Object<'_>, key: &str) -> bool {
    object.contains_key(key).unwrap_or_else(|_| {
        object.ctx().catch();
        false
    })
}

//! Selections and elements as scripts see them.
//!
//! Their methods are elsewhere: of selections in `html.rs`, of elements in `element.rs`.

use knee_k6::html;
use rquickjs::class::{Class, Trace, Tracer};
use rquickjs::{Ctx, IntoJs, JsLifetime, Result, Value};

use super::value::OfPage;

/// A selection as scripts see it.
pub fn show<'js>(ctx: &Ctx<'js>, selection: html::Selection) -> Result<Value<'js>> {
    Class::instance(ctx.clone(), Selection { inner: selection })?.into_js(ctx)
}

/// A selection as scripts see it.
#[derive(JsLifetime)]
pub struct Selection {
    /// The nodes.
    pub inner: Inner,
}

/// No value of JavaScript is in it.
pub type Inner = html::Selection;

impl<'js> Trace<'js> for Selection {
    fn trace<'a>(&self, _: Tracer<'a, 'js>) {}
}

impl<'js> IntoJs<'js> for Selection {
    fn into_js(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        Class::instance(ctx.clone(), self)?.into_js(ctx)
    }
}

/// A node as scripts see it.
#[derive(JsLifetime)]
pub struct Element {
    /// The selection of this node alone.
    pub inner: Inner,
}

/// The first node of a selection; undefined if there is none.
pub fn show_element<'js>(ctx: &Ctx<'js>, selection: Inner) -> Result<Value<'js>> {
    if selection.is_empty() {
        return Ok(Value::new_undefined(ctx.clone()));
    }
    Class::instance(ctx.clone(), Element { inner: selection })?.into_js(ctx)
}

impl<'js> Trace<'js> for Element {
    fn trace<'a>(&self, _: Tracer<'a, 'js>) {}
}

impl OfPage for Selection {
    fn nodes(&self) -> &Inner {
        &self.inner
    }
}

impl OfPage for Element {
    fn nodes(&self) -> &Inner {
        &self.inner
    }
}

//! Responses of calls and events of streams, as values of JavaScript.
//!
//! Calls no handlers.

use knee_core::clock;
use rquickjs::{Ctx, IntoJs, Object, Result, Value};

use crate::module::define::{Define as _, array_of};
use knee_k6::grpc::descriptors::MethodInfo;
use knee_k6::grpc::event::StreamEvent;
use knee_k6::grpc::reply::{Reply, Shown};

/// What `load` returns.
pub fn methods<'js>(ctx: &Ctx<'js>, methods: &[MethodInfo]) -> Result<Value<'js>> {
    let shown = methods.iter().map(|method| {
        let object = Object::new(ctx.clone())?;
        object.put("package", &*method.package)?;
        object.put("service", &*method.service)?;
        object.put("full_method", &*method.full_method)?;
        object.put("name", &*method.name)?;
        object.put("is_client_stream", method.is_client_stream)?;
        object.put("is_server_stream", method.is_server_stream)?;
        Ok(object)
    });
    Ok(array_of(ctx, shown)?.into_value())
}

/// The response of a call.
pub fn reply<'js>(ctx: &Ctx<'js>, reply: Reply) -> Result<Value<'js>> {
    let json = |text: Option<String>| match text {
        Some(text) => ctx.json_parse(text),
        None => Ok(Value::new_null(ctx.clone())),
    };
    let object = Object::new(ctx.clone())?;
    object.put("message", json(reply.message)?)?;
    object.put("error", json(reply.error)?)?;
    object.put("headers", lists(ctx, reply.headers)?)?;
    object.put("trailers", lists(ctx, reply.trailers)?)?;
    object.put("status", f64::from(reply.status))?;
    Ok(object.into_value())
}

fn lists<'js>(ctx: &Ctx<'js>, fields: Shown) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, values) in fields {
        object.put(name, array_of(ctx, values.into_iter().map(Ok))?)?;
    }
    Ok(object)
}

/// An event of a stream as an array whose first element names it.
pub fn event<'js>(ctx: &Ctx<'js>, event: StreamEvent) -> Result<Value<'js>> {
    let named =
        |name: &str, value: Value<'js>| Ok(array_of(ctx, [name.into_js(ctx), Ok(value)])?.into_value());
    match event {
        StreamEvent::Data { json, at: _, memory } => {
            let value = ctx.json_parse(json)?;
            drop(memory);
            named("data", value)
        }
        StreamEvent::Error { status, json } => {
            let words = status.rpc_error().into_js(ctx);
            let error = ctx.json_parse(json)?;
            Ok(array_of(ctx, ["error".into_js(ctx), Ok(error), words])?.into_value())
        }
        StreamEvent::End => named("end", Value::new_undefined(ctx.clone())),
    }
}

/// Whole seconds since the Unix epoch.
pub fn seconds() -> f64 {
    clock::wall().as_secs_f64().floor()
}

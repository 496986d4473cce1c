//! What happens on sockets, as values of JavaScript, of which the first names it; and the events that handlers get.
//!
//! Does not call handlers.

use std::collections::BTreeMap;

use knee_core::clock;
use knee_core::unit::Nanos;
use knee_engine::http::websocket::handshake::HandshakeReply;
use rquickjs::function::Rest;
use rquickjs::object::Property;
use rquickjs::{Ctx, IntoJs, Object, Result, Value};

use crate::module::bytes::buffer_of;
use crate::module::current::state;
use crate::module::define::{Define as _, array_of};
use crate::state::State;
use knee_k6::go_text::text;
use knee_k6::http::answer::shown_name;
use knee_k6::websocket::event::{Ending, Event};

/// What happened, as values. `buffered`: bytes that the script has sent and that are not written, for the end of a socket.
pub fn values<'js>(ctx: &Ctx<'js>, state: &State, event: Event, buffered: usize) -> Result<Vec<Value<'js>>> {
    let named = |name: &str| name.into_js(ctx);
    Ok(match event {
        Event::Opened(reply) => {
            let protocol = reply.get("sec-websocket-protocol").unwrap_or_default().into_js(ctx)?;
            let extensions = reply.all("sec-websocket-extensions");
            let extensions = array_of(ctx, extensions.into_iter().map(Ok))?.into_value();
            vec![named("open")?, protocol, extensions, response(ctx, Some(&*reply), "")?]
        }
        Event::Refused { error, reply } => {
            // As in k6, a response has no error, because its status says enough.
            let shown = if reply.is_some() { "" } else { &error };
            let response = response(ctx, reply.as_deref(), shown)?;
            vec![named("refused")?, error.into_js(ctx)?, response]
        }
        Event::Message { is_text, bytes, at, memory } => {
            let data =
                if is_text { text(&bytes).into_js(ctx)? } else { buffer_of(ctx, &bytes)?.into_value() };
            drop(memory);
            vec![named("message")?, data, is_text.into_js(ctx)?, wall(state, at).into_js(ctx)?]
        }
        Event::Ping(wrong) => vec![named("ping")?, wrong.into_js(ctx)?],
        Event::Pong(unknown) => vec![named("pong")?, unknown.into_js(ctx)?],
        // Scripts see it in `bufferedAmount` alone.
        Event::Written(_) => vec![named("written")?],
        Event::Ended(Ending { code, reason, error }) => {
            let buffered = (buffered as f64).into_js(ctx)?;
            vec![named("end")?, code.into_js(ctx)?, reason.into_js(ctx)?, error.into_js(ctx)?, buffered]
        }
    })
}

/// What happened, as an array.
pub fn array<'js>(ctx: &Ctx<'js>, state: &State, event: Event) -> Result<Value<'js>> {
    let values = values(ctx, state, event, 0)?;
    Ok(array_of(ctx, values.into_iter().map(Ok))?.into_value())
}

/// `event(type, target, timestamp, name, value, ...)`: what a handler gets. As in k6, its properties cannot be changed.
pub fn event<'js>(ctx: Ctx<'js>, given: Rest<Value<'js>>) -> Result<Object<'js>> {
    let event = Object::new(ctx)?;
    let (usual, others) = given.0.split_at(given.0.len().min(USUAL.len()));
    for (name, value) in USUAL.iter().zip(usual) {
        event.prop(*name, Property::from(value.clone()).enumerable())?;
    }
    for pair in others.chunks_exact(2) {
        event.prop(pair[0].clone(), Property::from(pair[1].clone()).enumerable())?;
    }
    Ok(event)
}

/// What every event has.
const USUAL: [&str; 3] = ["type", "target", "timestamp"];

/// The result of `ws.connect`.
fn response<'js>(ctx: &Ctx<'js>, reply: Option<&HandshakeReply>, error: &str) -> Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    let headers = Object::new(ctx.clone())?;
    let mut joined: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in reply.iter().flat_map(|reply| &reply.fields) {
        let value = String::from_utf8_lossy(value);
        joined
            .entry(shown_name(name.as_bytes()))
            .and_modify(|known| {
                known.push_str(", ");
                known.push_str(&value);
            })
            .or_insert_with(|| value.to_string());
    }
    for (name, value) in joined {
        headers.put(name, value)?;
    }
    object.put("url", "")?;
    object.put("status", reply.map_or(0, |reply| reply.status))?;
    object.put("headers", headers)?;
    object.put("body", reply.map(|reply| text(&reply.body)).unwrap_or_default())?;
    object.put("error", error)?;
    Ok(object.into_value())
}

/// Milliseconds since the Unix epoch at a time on the run's clock.
fn wall(state: &State, at: Nanos) -> f64 {
    clock::wall().since(state.now().since(at)).as_millis_f64()
}

/// The same for now.
pub fn wall_now(ctx: Ctx<'_>) -> Result<f64> {
    let state = state(&ctx)?;
    Ok(wall(&state, state.now()))
}

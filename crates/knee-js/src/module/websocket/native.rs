//! The functions that the JavaScript of sockets calls.
//!
//! Numbers stand for sockets. Handlers are called by JavaScript alone.

use std::rc::Rc;

use knee_core::unit::Nanos;
use knee_engine::http::websocket::close;
use knee_engine::http::websocket::frame::Opcode;
use rquickjs::function::{Opt, Rest};
use rquickjs::{Array, ArrayBuffer, Ctx, Function, IntoJs as _, Object, Persistent, Result, Value};

use super::{params, shown};
use crate::event_loop::Listener;
use crate::module::argument;
use crate::module::bytes::{buffer_of, bytes_of};
use crate::module::current::{charge, cut, out_of_memory, state, worked};
use crate::module::define::{Define as _, array_of};
use crate::module::go_error;
use crate::module::text::Text;
use crate::op::Op;
use crate::program::LogLevel;
use crate::state::State;
use knee_k6::errand::Work;
use knee_k6::go_text;
use knee_k6::websocket::conversation::converse;
use knee_k6::websocket::event::Event;
use knee_k6::websocket::line::{Line, Unsent};
use knee_k6::websocket::request::Dialect;
use knee_k6::websocket::session::Session;
use knee_k6::websocket::words::CLOSE_SENT;

/// What a socket takes besides its messages: a task, a connection and their buffers.
const SOCKET_BYTES: usize = 16 << 10;

/// The functions, as an object that scripts do not see.
pub fn functions<'js>(ctx: &Ctx<'js>, dialect: Dialect) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let dial = move |ctx: Ctx<'js>, given: Rest<Value<'js>>| dial(&ctx, dialect, &given.0);
    object.put("begin", Function::new(ctx.clone(), begin)?)?;
    object.put("dial", Function::new(ctx.clone(), dial)?)?;
    object.put("hear", Function::new(ctx.clone(), hear)?)?;
    object.put("send", Function::new(ctx.clone(), send)?)?;
    object.put("ping", Function::new(ctx.clone(), ping)?)?;
    object.put("close", Function::new(ctx.clone(), shut)?)?;
    object.put("drop", Function::new(ctx.clone(), drop_socket)?)?;
    object.put("finish", Function::new(ctx.clone(), finish)?)?;
    object.put("throws", Function::new(ctx.clone(), throws)?)?;
    object.put("now", Function::new(ctx.clone(), now)?)?;
    object.put("wall", Function::new(ctx.clone(), shown::wall_now)?)?;
    object.put("warn", Function::new(ctx.clone(), warn)?)?;
    object.put("fail", Function::new(ctx.clone(), fail)?)?;
    object.put("kind", Function::new(ctx.clone(), kind)?)?;
    object.put("bytes", Function::new(ctx.clone(), bytes)?)?;
    object.put("buffered", Function::new(ctx.clone(), buffered)?)?;
    object.put("event", Function::new(ctx.clone(), shown::event)?)?;
    object.put("utf8", Function::new(ctx.clone(), utf8)?)?;
    object.put("text", Function::new(ctx.clone(), text)?)?;
    Ok(object)
}

/// `begin()`: fails while the script is loaded.
fn begin(ctx: Ctx<'_>) -> Result<()> {
    if state(&ctx)?.init.get() {
        return Err(go_error::throw(&ctx, "using websockets in the init context is not supported"));
    }
    Ok(())
}

/// `dial(url, protocols, params, deliver)`: begins a handshake; the number of the socket and its URL. What happens on it
/// is passed to `deliver`, or waits for [`hear`] without one.
fn dial<'js>(ctx: &Ctx<'js>, dialect: Dialect, given: &[Value<'js>]) -> Result<Array<'js>> {
    begin(ctx.clone())?;
    let state = state(ctx)?;
    let request = params::request(ctx, &state, dialect, given)?;
    let memory = charge(ctx, SOCKET_BYTES)?;
    let url = request.url.clone();
    let session = Session::new(state.observer.borrow().clone(), &request, state.now());
    let id = state.sockets.add(session, state.clock.get(), &state.account);
    let deliver = given.get(3).and_then(|deliver| deliver.as_function().cloned());
    let deliver = deliver.map(|deliver| Persistent::save(ctx, deliver));
    state.events.listen(id, Listener { deliver, memory });
    if let Some(line) = state.sockets.find(id) {
        let work: Work = Box::new(move |errand| Box::pin(converse(errand, request, line)));
        state.ask(Op::Start(work)).ok_or_else(|| cut(ctx))?;
    }
    array_of(ctx, [(id as f64).into_js(ctx), (*url).into_js(ctx)])
}

/// `hear(id, until)`: waits for what happens next on a socket; undefined if nothing did until then. The time is that of
/// [`now`]; without one there is no limit.
fn hear<'js>(ctx: Ctx<'js>, id: f64, until: Opt<Value<'js>>) -> Result<Option<Value<'js>>> {
    let state = state(&ctx)?;
    let id = id as u64;
    let until = until.0.and_then(|until| until.as_number());
    let until = until.map_or(Nanos::MAX, |millis| Nanos::from_secs_f64(millis.max(0.0) / 1e3));
    loop {
        if let Some(event) = state.sockets.take_of(id) {
            if let (Event::Message { at, .. }, Some(line)) = (&event, state.sockets.find(id)) {
                line.note_received(*at);
            }
            worked(&ctx, event.bytes())?;
            return shown::array(&ctx, &state, event).map(Some);
        }
        if state.now() >= until {
            return Ok(None);
        }
        state.ask(Op::Hear(id, until)).ok_or_else(|| cut(&ctx))?;
    }
}

/// A socket; `None` once it was forgotten.
fn line(state: &State, id: f64) -> Option<Rc<Line>> {
    state.sockets.find(id as u64)
}

/// Waits until what was sent is with the kernel, where k6 waits; k6's words if it was not sent.
fn sent<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    id: f64,
    send: impl FnOnce(&Line) -> std::result::Result<(), Unsent>,
) -> Result<Option<String>> {
    let Some(line) = line(state, id) else { return Ok(Some(CLOSE_SENT.to_owned())) };
    match send(&line) {
        Ok(()) => {}
        Err(Unsent::OutOfMemory) => return Err(out_of_memory(ctx)),
        Err(Unsent::Because(words)) => return Ok(Some(words)),
    }
    if line.session().dialect() == Dialect::Ws && !line.is_flushed() {
        state.ask(Op::Flush(id as u64)).ok_or_else(|| cut(ctx))?;
        return Ok(line.broken());
    }
    Ok(None)
}

/// `send(id, data)`: a text, or bytes as a binary message.
fn send<'js>(ctx: Ctx<'js>, id: f64, data: Value<'js>) -> Result<Option<String>> {
    let state = state(&ctx)?;
    if let Some(text) = data.as_string() {
        let text = Text::of(text.clone())?;
        worked(&ctx, text.len())?;
        note_buffered(&state, id, text.len());
        return sent(&ctx, &state, id, |line| line.send(Opcode::Text, text.as_bytes()));
    }
    let bytes = bytes_of(&data).unwrap_or_default();
    worked(&ctx, bytes.len())?;
    note_buffered(&state, id, bytes.len());
    sent(&ctx, &state, id, |line| line.send(Opcode::Binary, &bytes))
}

/// As in k6, a message counts as buffered even if it cannot be sent.
fn note_buffered(state: &State, id: f64, bytes: usize) {
    if let Some(line) = line(state, id) {
        line.note_buffered(bytes);
    }
}

fn ping(ctx: Ctx<'_>, id: f64) -> Result<Option<String>> {
    let state = state(&ctx)?;
    sent(&ctx, &state, id, Line::ping)
}

/// `close(id, code, reason)`: sends a close. Codes are cut to 16 bits, as k6 cuts them.
fn shut(ctx: Ctx<'_>, id: f64, code: f64, reason: Opt<String>) -> Result<Option<String>> {
    let state = state(&ctx)?;
    let payload = close::payload(code as i64 as u16, &reason.0.unwrap_or_default());
    sent(&ctx, &state, id, |line| line.close(&payload))
}

/// `drop(id)`: closes the connection.
fn drop_socket(ctx: Ctx<'_>, id: f64) -> Result<()> {
    let state = state(&ctx)?;
    if let Some(line) = line(&state, id) {
        line.drop_socket();
    }
    Ok(())
}

/// `finish(id)`: the script has done with a socket, which counts its duration and is forgotten.
fn finish(ctx: Ctx<'_>, id: f64) -> Result<()> {
    let state = state(&ctx)?;
    if let Some(line) = line(&state, id) {
        line.finish();
    }
    state.sockets.forget(id as u64);
    state.events.unlisten(id as u64);
    Ok(())
}

/// Whether failed handshakes are thrown.
fn throws(ctx: Ctx<'_>) -> Result<bool> {
    Ok(state(&ctx)?.http.borrow().throw)
}

/// Milliseconds on the run's clock.
fn now(ctx: Ctx<'_>) -> Result<f64> {
    Ok(state(&ctx)?.now().as_millis_f64())
}

fn warn(ctx: Ctx<'_>, words: String) -> Result<()> {
    state(&ctx)?.program.say(LogLevel::Warn, &words);
    Ok(())
}

fn fail(ctx: Ctx<'_>, words: String) -> Result<()> {
    Err(go_error::throw(&ctx, &words))
}

/// `buffered(id)`: bytes that were sent and that the script does not know to be written; undefined for a forgotten socket.
fn buffered(ctx: Ctx<'_>, id: f64) -> Result<Option<f64>> {
    Ok(line(&*state(&ctx)?, id).map(|line| line.buffered() as f64))
}

/// The type of a value as k6's messages name it.
fn kind(value: Value<'_>) -> &'static str {
    argument::kind(&value)
}

/// A copy of the bytes of a buffer or of a view of one.
fn bytes<'js>(ctx: Ctx<'js>, value: Value<'js>) -> Result<Option<ArrayBuffer<'js>>> {
    bytes_of(&value).map(|bytes| buffer_of(&ctx, &bytes)).transpose()
}

/// The bytes of a text; none for anything else.
fn utf8<'js>(ctx: Ctx<'js>, text: Value<'js>) -> Result<ArrayBuffer<'js>> {
    match text.as_string() {
        Some(text) => buffer_of(&ctx, Text::of(text.clone())?.as_bytes()),
        None => buffer_of(&ctx, &[]),
    }
}

fn text(value: Value<'_>) -> String {
    go_text::text(&bytes_of(&value).unwrap_or_default())
}

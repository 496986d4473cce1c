//! The functions that the JavaScript of streams calls.
//!
//! Numbers stand for streams. Handlers are called by JavaScript alone.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use knee_core::unit::Nanos;
use rquickjs::class::Class;
use rquickjs::function::Rest;
use rquickjs::{Coerced, Ctx, Function, Object, Persistent, Result, Value};

use super::client::{GrpcClient, NOT_CONNECTED};
use super::{message, params, shown};
use crate::event_loop::Listener;
use crate::module::current::{charge, cut, state};
use crate::module::define::Define as _;
use crate::module::go_error;
use crate::op::Op;
use crate::program::LogLevel;
use knee_k6::errand::Work;
use knee_k6::grpc::descriptors::Method;
use knee_k6::grpc::exchange::Asked;
use knee_k6::grpc::frame::framed;
use knee_k6::grpc::session::StreamMetrics;
use knee_k6::grpc::status::{Code, Status};
use knee_k6::grpc::stream::{Line, Messages, Opening, serve};

/// Memory of a stream without its messages, in bytes: its task and buffers.
const STREAM_BYTES: usize = 16 << 10;

/// The functions, as an object that scripts do not see.
pub fn functions<'js>(ctx: &Ctx<'js>, metrics: StreamMetrics) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let open = move |ctx: Ctx<'js>, given: Rest<Value<'js>>| open(&ctx, metrics, &given.0);
    object.put("open", Function::new(ctx.clone(), open)?)?;
    object.put("write", Function::new(ctx.clone(), write)?)?;
    object.put("end", Function::new(ctx.clone(), end)?)?;
    object.put("drop", Function::new(ctx.clone(), drop_stream)?)?;
    object.put("seconds", Function::new(ctx.clone(), shown::seconds)?)?;
    object.put("warn", Function::new(ctx.clone(), warn)?)?;
    object.put("warnOf", Function::new(ctx.clone(), warn_of)?)?;
    object.put("fail", Function::new(ctx.clone(), fail)?)?;
    Ok(object)
}

/// `open(client, method, params, deliver)`: opens a stream; its number. What happens on it is passed to `deliver`.
fn open<'js>(ctx: &Ctx<'js>, metrics: StreamMetrics, given: &[Value<'js>]) -> Result<f64> {
    let state = state(ctx)?;
    let client = client_of(given.first())
        .map_err(|words| go_error::throw(ctx, &format!("invalid GRPC Stream's client: {words}")))?;
    let inner = client.borrow().inner();
    let Some(connection) = inner.connection.borrow().clone() else {
        let words = format!("invalid GRPC Stream's client: {NOT_CONNECTED}");
        return Err(go_error::throw(ctx, &words));
    };
    let name = given.get(1).map(Value::get::<Coerced<String>>).transpose()?;
    let method = inner
        .method(&name.map(|Coerced(name)| name).unwrap_or_default())
        .map_err(|words| go_error::throw(ctx, &format!("invalid GRPC Stream's method: {words}")))?;
    let params = params::call(ctx, given.get(2))?
        .map_err(|words| go_error::throw(ctx, &format!("invalid GRPC Stream's parameters: {words}")))?;
    let memory = charge(ctx, STREAM_BYTES)?;
    let number = state.inbox.number();
    let schema = inner.schema.borrow().clone();
    let messages = Messages { method: method.clone(), schema, is_discarding: params.is_discarding };
    let line = Line::new(number, state.inbox.clone(), &state.account, metrics, messages);
    let line = Rc::new(line);
    let limit = params.timeout.map_or(Nanos::MAX, |timeout| state.now().saturating_add(timeout));
    let asked = Asked { path: method.path().to_owned(), metadata: params.metadata.clone(), limit };
    let session = params.session(&state, &connection.destination.address, method.path());
    let opening = Opening { connection, session, asked, line: line.clone() };
    // What came of opening it, and whether anything has.
    let (refused, is_decided) = (Rc::new(RefCell::new(None)), Rc::new(Cell::new(false)));
    let (outcome, decided, inbox) = (refused.clone(), is_decided.clone(), state.inbox.clone());
    let work: Work = Box::new(move |errand| {
        Box::pin(serve(errand, opening, move |opened| {
            outcome.replace(opened.err());
            decided.set(true);
            inbox.wake();
        }))
    });
    let deliver = given.get(3).and_then(|deliver| deliver.as_function().cloned());
    let deliver = deliver.map(|deliver| Persistent::save(ctx, deliver));
    state.streams.add(number, line);
    state.events.listen(number, Listener { deliver, memory });
    state.ask(Op::Start(work)).ok_or_else(|| cut(ctx))?;
    state.ask(Op::Until(is_decided)).ok_or_else(|| cut(ctx))?;
    let refused = refused.take();
    if let Some(status) = refused {
        state.events.unlisten(number);
        state.streams.forget(number);
        let words = format!("failed to create a new stream: {}", status.rpc_error());
        return Err(go_error::throw(ctx, &words));
    }
    Ok(number as f64)
}

fn client_of<'js>(value: Option<&Value<'js>>) -> std::result::Result<Class<'js, GrpcClient>, &'static str> {
    let value = value.filter(|value| !value.is_null() && !value.is_undefined());
    let value = value.ok_or("empty gRPC client")?;
    Class::<GrpcClient>::from_value(value).map_err(|_| "not a gRPC client")
}

/// `write(stream, value)`: sends a message.
fn write<'js>(ctx: Ctx<'js>, number: f64, value: Value<'js>) -> Result<()> {
    let state = state(&ctx)?;
    let Some(line) = state.streams.find(number as u64) else { return Ok(()) };
    let json = message::plain(&ctx, value)?.unwrap_or_default();
    let made = encoded(line.method(), &json);
    match made {
        Ok(framed) => {
            let memory = charge(&ctx, framed.len())?;
            line.write(framed, memory);
        }
        Err(status) => line.fail(status),
    }
    Ok(())
}

fn encoded(method: &Method, json: &str) -> std::result::Result<bytes::Bytes, Status> {
    let bytes = method.encode(json.as_bytes()).map_err(|error| {
        let words = format!("can't serialise request object to protocol buffer: {error}");
        Status::new(Code::Unknown, words)
    })?;
    framed(&bytes)
}

/// `end(stream)`: nothing more is sent.
fn end(ctx: Ctx<'_>, number: f64) -> Result<()> {
    if let Some(line) = state(&ctx)?.streams.find(number as u64) {
        line.end();
    }
    Ok(())
}

/// `drop(stream)`: the script has done with a stream whose handler has thrown.
fn drop_stream(ctx: Ctx<'_>, number: f64) -> Result<()> {
    let state = state(&ctx)?;
    if let Some(line) = state.streams.find(number as u64) {
        line.fail(Status::new(Code::Canceled, ""));
    }
    state.streams.forget(number as u64);
    state.events.unlisten(number as u64);
    state.inbox.forget(number as u64);
    Ok(())
}

fn warn(ctx: Ctx<'_>, words: String) -> Result<()> {
    state(&ctx)?.program.say(LogLevel::Warn, &words);
    Ok(())
}

/// A warning that names the method of a stream.
fn warn_of(ctx: Ctx<'_>, method: String, words: String) -> Result<()> {
    state(&ctx)?.program.say_with(LogLevel::Warn, &words, &[("streamMethod", &method)]);
    Ok(())
}

fn fail(ctx: Ctx<'_>, words: String) -> Result<()> {
    Err(go_error::throw(&ctx, &words))
}

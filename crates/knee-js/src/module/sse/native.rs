//! The functions that the JavaScript of streams of events calls.
//!
//! Numbers stand for streams. Handlers are called by JavaScript alone.

use std::collections::BTreeMap;
use std::rc::Rc;

use knee_core::unit::Nanos;
use rquickjs::function::Opt;
use rquickjs::{Array, Ctx, Function, IntoJs as _, Object, Result, Value};

use super::params;
use crate::module::current::{charge, cut, state, worked};
use crate::module::define::{Define as _, array_of};
use crate::module::go_error;
use crate::op::Op;
use knee_k6::errand::Work;
use knee_k6::go_text::text;
use knee_k6::http::answer::{Headers, shown_name};
use knee_k6::metric::MetricId;
use knee_k6::sse::conversation::converse;
use knee_k6::sse::event::{ServerEvent, StreamNews};
use knee_k6::sse::session::Session;
use knee_k6::sse::stream::EventStream;

/// Bytes of a stream without its events: a task, a connection and their buffers.
const STREAM_BYTES: usize = 16 << 10;

/// The functions, as an object that scripts do not see. Events are counted by this metric.
pub fn functions<'js>(ctx: &Ctx<'js>, events: MetricId) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let open = move |ctx: Ctx<'js>, url: Value<'js>, params: Opt<Value<'js>>| {
        open(&ctx, events, &url, params.0.as_ref())
    };
    object.put("begin", Function::new(ctx.clone(), begin)?)?;
    object.put("open", Function::new(ctx.clone(), open)?)?;
    object.put("hear", Function::new(ctx.clone(), hear)?)?;
    object.put("close", Function::new(ctx.clone(), close)?)?;
    object.put("finish", Function::new(ctx.clone(), finish)?)?;
    object.put("throws", Function::new(ctx.clone(), throws)?)?;
    object.put("fail", Function::new(ctx.clone(), fail)?)?;
    Ok(object)
}

/// `begin()`: fails while the script is loaded.
fn begin(ctx: Ctx<'_>) -> Result<()> {
    if state(&ctx)?.init.get() {
        return Err(go_error::throw(&ctx, "using sse in the init context is not supported"));
    }
    Ok(())
}

/// `open(url, params)`: begins a request; the number of its stream.
fn open<'js>(ctx: &Ctx<'js>, events: MetricId, url: &Value<'js>, params: Option<&Value<'js>>) -> Result<f64> {
    let state = state(ctx)?;
    let (request, decodes) = params::request(ctx, &state, Some(url), params)?;
    let memory = charge(ctx, STREAM_BYTES)?;
    let number = state.inbox.number();
    let session = Session::new(state.observer.borrow().clone(), &request, events, state.now());
    let stream = Rc::new(EventStream::new(number, state.inbox.clone(), &state.account, session));
    state.event_streams.add(stream.clone());
    let work: Work = Box::new(move |errand| {
        Box::pin(async move {
            converse(errand, request, decodes, stream).await;
            drop(memory);
        })
    });
    state.ask(Op::Start(work)).ok_or_else(|| cut(ctx))?;
    Ok(number as f64)
}

/// `hear(id)`: waits for what happens next on a stream.
fn hear<'js>(ctx: Ctx<'js>, id: f64) -> Result<Value<'js>> {
    let state = state(&ctx)?;
    let id = id as u64;
    loop {
        let Some(stream) = state.event_streams.find(id) else { return Err(cut(&ctx)) };
        if let Some(news) = stream.take() {
            worked(&ctx, news.bytes())?;
            if matches!(news, StreamNews::Event(..)) {
                stream.session().note_event(state.now());
            }
            return Ok(shown(&ctx, news)?.into_value());
        }
        state.ask(Op::Hear(id, Nanos::MAX)).ok_or_else(|| cut(&ctx))?;
    }
}

/// `close(id)`: nothing more is read.
fn close(ctx: Ctx<'_>, id: f64) -> Result<()> {
    if let Some(stream) = state(&ctx)?.event_streams.find(id as u64) {
        stream.close();
    }
    Ok(())
}

/// `finish(id)`: the script has done with a stream, which counts as a request and is forgotten.
fn finish(ctx: Ctx<'_>, id: f64) -> Result<()> {
    let state = state(&ctx)?;
    let id = id as u64;
    let Some(stream) = state.event_streams.find(id) else { return Ok(()) };
    let now = state.now();
    stream.close();
    // The request ends in the record before the iteration can.
    while !stream.is_over() && state.ask(Op::Hear(id, Nanos::MAX)).is_some() {
        while stream.take().is_some() {}
    }
    // As in k6, what the run ended has no samples.
    if !state.must_end() {
        stream.session().note_end(now);
    }
    state.event_streams.forget(id);
    Ok(())
}

/// Whether failed requests are thrown.
fn throws(ctx: Ctx<'_>) -> Result<bool> {
    Ok(state(&ctx)?.http.borrow().throw)
}

fn fail(ctx: Ctx<'_>, words: String) -> Result<()> {
    Err(go_error::throw(&ctx, &words))
}

/// What happened, as an array whose first element names it.
fn shown<'js>(ctx: &Ctx<'js>, news: StreamNews) -> Result<Array<'js>> {
    let list = |values: Vec<Value<'js>>| array_of(ctx, values.into_iter().map(Ok));
    let named = |name: &str| name.into_js(ctx);
    match news {
        StreamNews::Opened { status, headers } => {
            list(vec![named("open")?, response(ctx, status, Some(&headers), "")?])
        }
        StreamNews::Refused(words) => {
            let response = response(ctx, 0, None, &words)?;
            list(vec![named("refused")?, response, words.into_js(ctx)?])
        }
        StreamNews::Event(event, memory) => {
            let event = event_of(ctx, &event)?;
            drop(memory);
            list(vec![named("event")?, event])
        }
        StreamNews::Wrong(words, memory) => {
            let words = words.into_js(ctx)?;
            drop(memory);
            list(vec![named("wrong")?, words])
        }
        StreamNews::Ended => list(vec![named("end")?]),
    }
}

fn event_of<'js>(ctx: &Ctx<'js>, event: &ServerEvent) -> Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    object.put("id", text(&event.id))?;
    object.put("comment", text(&event.comment))?;
    object.put("name", text(&event.name))?;
    object.put("data", text(&event.data))?;
    Ok(object.into_value())
}

/// The result of `open`.
fn response<'js>(ctx: &Ctx<'js>, status: u16, headers: Option<&Headers>, error: &str) -> Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    let shown = Object::new(ctx.clone())?;
    let mut joined: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers.iter().flat_map(|headers| headers.iter()) {
        let value = String::from_utf8_lossy(value);
        let known = joined.entry(shown_name(name)).or_default();
        if !known.is_empty() {
            known.push_str(", ");
        }
        known.push_str(&value);
    }
    for (name, value) in joined {
        shown.put(name, value)?;
    }
    object.put("url", "")?;
    object.put("status", status)?;
    object.put("headers", shown)?;
    object.put("error", error)?;
    Ok(object.into_value())
}

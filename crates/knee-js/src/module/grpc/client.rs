//! `Client`: its descriptors, its connection, and its calls.
//!
//! Streams are in [`super::native`].

#![allow(missing_docs, reason = "the macro makes constants that are not part of the interface")]

use std::cell::RefCell;
use std::rc::Rc;

use knee_core::unit::Nanos;
use rquickjs::class::Trace;
use rquickjs::function::{Opt, Rest};
use rquickjs::{Coerced, Ctx, Error, JsLifetime, Object, Persistent, Promise, Result, Value};

use super::params::CallParams;
use super::{connect, message, params, shown};
use crate::event_loop::Promised;
use crate::module::current::{charge, cut, state};
use crate::module::define::Define as _;
use crate::module::{argument, go_error};
use crate::op::Op;
use crate::state::State;
use knee_k6::errand::{Errand, Work};
use knee_k6::go_quote::quoted;
use knee_k6::grpc::call::{Call, Called, call};
use knee_k6::grpc::connection::Connection;
use knee_k6::grpc::descriptors::{Loaded, Method, Schema};
use knee_k6::grpc::exchange::Asked;
use knee_k6::grpc::frame::framed;
use knee_k6::grpc::health::{self, HealthCheckRequest, HealthCheckResponse};
use knee_k6::grpc::reflection::reflect;
use knee_k6::grpc::reply::Reply;
use knee_k6::grpc::session::Session;
use knee_k6::inbox::Happening;
use prost::Message as _;

/// What a call takes until it is over: a task, a stream and their buffers.
const CALL_BYTES: usize = 8 << 10;
/// Time limit of a call unless it says otherwise.
const CALL_TIMEOUT: Nanos = Nanos::from_secs(120);

/// A client.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "Client")]
pub struct GrpcClient {
    #[qjs(skip_trace)]
    inner: Shared,
}

/// What calls of a client share.
type Shared = Rc<Inner>;

/// The descriptors and the connection of a client.
#[derive(Default)]
pub struct Inner {
    /// What was loaded.
    pub schema: RefCell<Schema>,
    /// The connection, once there is one.
    pub connection: RefCell<Option<Rc<Connection>>>,
}

/// k6's words for a client that is not connected.
pub const NOT_CONNECTED: &str = "no gRPC connection, you must call connect first";

/// A call that can be made, or k6's words for why it cannot.
type Prepared = std::result::Result<(Call, Method, CallParams), String>;

impl GrpcClient {
    /// What calls of it share.
    pub fn inner(&self) -> Rc<Inner> {
        self.inner.clone()
    }

    fn add<'js>(&self, ctx: &Ctx<'js>, loaded: &Loaded) -> Result<Value<'js>> {
        self.inner.schema.borrow_mut().add(loaded);
        shown::methods(ctx, loaded.methods())
    }

    fn prepare<'js>(
        &self,
        ctx: &Ctx<'js>,
        state: &State,
        method: &str,
        request: Option<Value<'js>>,
        given: Option<&Value<'js>>,
    ) -> Result<Prepared> {
        if state.init.get() {
            return Ok(Err("invoking RPC methods in the init context is not supported".to_owned()));
        }
        let Some(connection) = self.inner.connection.borrow().clone() else {
            return Ok(Err(NOT_CONNECTED.to_owned()));
        };
        let method = match self.inner.method(method) {
            Ok(method) => method,
            Err(words) => return Ok(Err(words)),
        };
        let params = match params::call(ctx, given)? {
            Ok(params) => params,
            Err(words) => return Ok(Err(format!("invalid GRPC's client.invoke() parameters: {words}"))),
        };
        let Some(request) = request else { return Ok(Err("request cannot be nil".to_owned())) };
        let json = match message::of_request(ctx, request)? {
            Ok(json) => json,
            Err(words) => return Ok(Err(words)),
        };
        let made = method
            .encode(json.as_bytes())
            .map_err(|error| format!("unable to serialise request object to protocol buffer: {error}"));
        let message = match made.and_then(|bytes| framed(&bytes).map_err(|status| status.message)) {
            Ok(message) => message,
            Err(words) => return Ok(Err(words)),
        };
        let limit = state.now().saturating_add(params.timeout.unwrap_or(CALL_TIMEOUT));
        let asked = Asked { path: method.path().to_owned(), metadata: params.metadata.clone(), limit };
        let session = params.session(state, &connection.destination.address, method.path());
        let wanted = (!params.is_discarding).then(|| method.clone());
        Ok(Ok((Call { connection, session, asked, message, method: wanted }, method, params)))
    }
}

impl Inner {
    /// Closes the connection, if there is one.
    fn close(&self) {
        let connection = self.connection.borrow_mut().take();
        if let Some(connection) = connection {
            connection.close();
        }
    }

    /// A method that was loaded; k6's words for one that was not.
    pub fn method(&self, name: &str) -> std::result::Result<Method, String> {
        if name.is_empty() {
            return Err("method to invoke cannot be empty".to_owned());
        }
        let path = if name.starts_with('/') { name.to_owned() } else { format!("/{name}") };
        let found = self.schema.borrow().method(&path);
        found.ok_or_else(|| format!("method {} not found in file descriptors", quoted(path.as_bytes())))
    }
}

/// Does work while the script waits; what came of it.
fn wait<T: 'static>(
    ctx: &Ctx<'_>,
    state: &State,
    work: impl AsyncFnOnce(Errand) -> T + 'static,
) -> Result<T> {
    let result = Rc::new(RefCell::new(None));
    let put = result.clone();
    let work: Work = Box::new(move |errand| {
        Box::pin(async move {
            let made = work(errand).await;
            put.replace(Some(made));
        })
    });
    state.ask(Op::Wait(work)).ok_or_else(|| cut(ctx))?;
    result.take().ok_or_else(|| cut(ctx))
}

fn thrown(ctx: &Ctx<'_>) -> impl Fn(String) -> Error {
    move |words| go_error::throw(ctx, &words)
}

#[rquickjs::methods]
impl GrpcClient {
    /// A client without a connection.
    #[qjs(constructor)]
    pub fn new() -> Self {
        Self { inner: Rc::default() }
    }

    /// `load(importPaths, ...files)`: compiles `.proto` files; the methods of these files and of the files they import.
    pub fn load<'js>(
        &self,
        ctx: Ctx<'js>,
        paths: Opt<Value<'js>>,
        files: Rest<Coerced<String>>,
    ) -> Result<Value<'js>> {
        let state = state(&ctx)?;
        if !state.init.get() {
            return Err(go_error::throw(&ctx, "load must be called in the init context"));
        }
        let paths = params::texts(&ctx, paths.0.as_ref())?;
        let files: Vec<String> = files.0.into_iter().map(|Coerced(file)| file).collect();
        let loaded = state.program.descriptors(&paths, &files).map_err(thrown(&ctx))?;
        self.add(&ctx, &loaded)
    }

    /// `loadProtoset(file)`: the methods of a set of descriptors.
    #[qjs(rename = "loadProtoset")]
    pub fn load_protoset<'js>(&self, ctx: Ctx<'js>, file: Coerced<String>) -> Result<Value<'js>> {
        let state = state(&ctx)?;
        if !state.init.get() {
            return Err(go_error::throw(&ctx, "load must be called in the init context"));
        }
        let loaded = state.program.descriptor_set(&file.0).map_err(thrown(&ctx))?;
        self.add(&ctx, &loaded)
    }

    /// `connect(address, params)`: opens the connection.
    pub fn connect<'js>(
        &self,
        ctx: Ctx<'js>,
        address: Opt<Value<'js>>,
        given: Opt<Value<'js>>,
    ) -> Result<bool> {
        let state = state(&ctx)?;
        if state.init.get() {
            let words = "connecting to a gRPC server in the init context is not supported";
            return Err(go_error::throw(&ctx, words));
        }
        let params = connect::params(given.0.as_ref())?
            .map_err(|words| go_error::throw(&ctx, &format!("invalid grpc.connect() parameters: {words}")))?;
        let limit = state.now().saturating_add(params.timeout);
        let (reflects, metadata) = (params.reflects, params.reflect_metadata.clone());
        let address: Rc<str> = argument::text(address)?.into();
        // As in k6, a client that cannot connect is not connected any more.
        self.inner.close();
        let opened = wait(&ctx, &state, async move |errand: Errand| {
            let destination = params.destination(&errand.sender.network, &address)?;
            let origin = destination.origin.clone();
            let opened = Connection::open(&errand.sender.network, destination, limit.min(errand.cut)).await;
            opened.map(Rc::new).map_err(|failure| connect::refused(&failure, &origin))
        })?;
        let connection = opened.map_err(thrown(&ctx))?;
        self.inner.connection.replace(Some(connection.clone()));
        if !reflects {
            return Ok(true);
        }
        let sessions = module_sessions(&state);
        let files = wait(&ctx, &state, async move |errand: Errand| {
            reflect(&errand, &connection, &sessions, metadata, limit).await
        })?;
        let loaded = Loaded::from_files(&files.map_err(thrown(&ctx))?)
            .map_err(|error| go_error::throw(&ctx, &format!("can't convert method info: {error}")))?;
        self.inner.schema.borrow_mut().add(&loaded);
        Ok(true)
    }

    /// `invoke(method, request, params)`: a unary call, and its response.
    pub fn invoke<'js>(
        &self,
        ctx: Ctx<'js>,
        method: Opt<Value<'js>>,
        request: Opt<Value<'js>>,
        given: Opt<Value<'js>>,
    ) -> Result<Value<'js>> {
        let state = state(&ctx)?;
        let method = argument::text(method)?;
        let prepared = self.prepare(&ctx, &state, &method, request.0, given.0.as_ref())?;
        let (made, method, params) = prepared.map_err(thrown(&ctx))?;
        let called = wait(&ctx, &state, async move |errand| call(errand, made).await)?;
        let reply = Reply::of(called, &method, &self.inner.schema.borrow(), params.is_discarding);
        shown::reply(&ctx, reply.map_err(thrown(&ctx))?)
    }

    /// `asyncInvoke(method, request, params)`: the same as a promise.
    #[qjs(rename = "asyncInvoke")]
    pub fn async_invoke<'js>(
        &self,
        ctx: Ctx<'js>,
        method: Opt<Value<'js>>,
        request: Opt<Value<'js>>,
        given: Opt<Value<'js>>,
    ) -> Result<Promise<'js>> {
        let state = state(&ctx)?;
        let method = argument::text(method)?;
        let (promise, resolve, reject) = ctx.promise()?;
        let (made, method, params) = match self.prepare(&ctx, &state, &method, request.0, given.0.as_ref())? {
            Ok(prepared) => prepared,
            Err(words) => {
                reject.call::<_, ()>((go_error::bare(&ctx, &words)?,))?;
                return Ok(promise);
            }
        };
        let id = state.inbox.number();
        let memory = charge(&ctx, CALL_BYTES)?;
        let [resolve, reject] = [resolve, reject].map(|settle| Persistent::save(&ctx, settle));
        state.events.promise(Promised { id, resolve, reject, memory });
        let (inner, inbox) = (self.inner.clone(), state.inbox.clone());
        let work: Work = Box::new(move |errand| {
            Box::pin(async move {
                let called = call(errand, made).await;
                let reply = Reply::of(called, &method, &inner.schema.borrow(), params.is_discarding);
                inbox.push(id, Happening::Called(Box::new(reply)));
            })
        });
        state.ask(Op::Start(work)).ok_or_else(|| cut(&ctx))?;
        Ok(promise)
    }

    /// `healthCheck(service)`: how a service is.
    #[qjs(rename = "healthCheck")]
    pub fn health_check<'js>(&self, ctx: Ctx<'js>, service: Opt<Value<'js>>) -> Result<Object<'js>> {
        let state = state(&ctx)?;
        let Some(connection) = self.inner.connection.borrow().clone() else {
            return Err(go_error::throw(&ctx, NOT_CONNECTED));
        };
        let request = HealthCheckRequest { service: argument::text(service)? };
        let message = framed(&request.encode_to_vec()).map_err(|status| thrown(&ctx)(status.message))?;
        let asked = Asked { path: health::CHECK.to_owned(), metadata: Vec::new(), limit: Nanos::MAX };
        let session = module_sessions(&state)(health::CHECK);
        let made = Call { connection, session, asked, message, method: None };
        let Called { ended, message, json: _ } =
            wait(&ctx, &state, async move |errand| call(errand, made).await)?;
        if !ended.status.is_ok() {
            return Err(go_error::throw(&ctx, &ended.status.rpc_error()));
        }
        let answer = HealthCheckResponse::decode(message.unwrap_or_default())
            .map_err(|error| go_error::throw(&ctx, &error.to_string()))?;
        let object = Object::new(ctx.clone())?;
        object.put("status", answer.status)?;
        Ok(object)
    }

    /// `close()`: closes the connection, any number of times.
    pub fn close(&self) {
        self.inner.close();
    }
}

/// Makes the sessions of calls that the module makes by itself.
fn module_sessions(state: &State) -> impl Fn(&str) -> Session + 'static {
    let (observer, origin) = (state.observer.borrow().clone(), params::origins(state));
    move |path| Session::of_module(observer.clone(), origin.clone(), path)
}

//! gRPC: the second door to the todos, with the operations, switches, limits and refusals of the HTTP routes.
//!
//! Does not know how todos are stored, nor how they are encoded: answers come encoded from the service.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::serve::Listener as _;
use bytes::Bytes;
use futures_util::{Stream, stream};
use http_body_util::BodyExt as _;
use tokio::time::Instant;
use tonic::service::Routes;
use tonic::{Code, Status};
use tonic_reflection::server::Builder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::RequestBodyTimeoutLayer;

use crate::changes::{Change, End, Reader};
use crate::encode::Format;
use crate::metric;
use crate::refusal::Refusal;
use crate::stall::StallListener;
use crate::todo::Draft;
use crate::web::{AppState, BODY_TIMEOUT};

pub use encoded_message::EncodedMessage;
use server::todos_server::{Todos, TodosServer};

mod encoded_message;

/// The messages of `proto/todos.proto`, and a client.
#[allow(
    missing_docs,
    unused_qualifications,
    clippy::pedantic,
    clippy::missing_errors_doc,
    reason = "generated code"
)]
pub mod message {
    include!(concat!(env!("OUT_DIR"), "/messages/todos.v1.rs"));
}

#[allow(missing_docs, unused_qualifications, clippy::pedantic, reason = "generated code")]
mod server {
    include!(concat!(env!("OUT_DIR"), "/server/todos.v1.rs"));
}

/// Descriptors of `proto/todos.proto`, for reflection.
const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/todos.descriptors"));

/// Method label of calls in the metrics. Their status is the one of gRPC.
const METHOD: &str = "gRPC";

/// Paths of the calls; clients can invent others.
const CALLS: [&str; 6] = [
    "/todos.v1.Todos/List",
    "/todos.v1.Todos/Show",
    "/todos.v1.Todos/Create",
    "/todos.v1.Todos/Set",
    "/todos.v1.Todos/Delete",
    "/todos.v1.Todos/Watch",
];

type Answer<T> = Result<tonic::Response<T>, Status>;

/// Reason why gRPC cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The descriptors of reflection are not readable.
    #[error("the descriptors of reflection: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// The server failed.
    #[error("gRPC: {0}")]
    Serve(#[from] tonic::transport::Error),
}

/// Serves gRPC over HTTP/2 without TLS until `stop`, then finishes open calls.
///
/// # Errors
/// The server fails.
pub async fn serve(
    listener: StallListener,
    state: Arc<AppState>,
    stop: impl Future<Output = ()>,
) -> Result<(), Problem> {
    let incoming = stream::unfold(listener, async |mut listener| {
        let (connection, _) = listener.accept().await;
        Some((Ok::<_, std::io::Error>(connection), listener))
    });
    let mut server = tonic::transport::Server::builder();
    server.add_routes(routes(state)?).serve_with_incoming_shutdown(incoming, stop).await?;
    Ok(())
}

fn routes(state: Arc<AppState>) -> Result<Routes, Problem> {
    let reflection = || Builder::configure().register_encoded_file_descriptor_set(DESCRIPTORS);
    let todos = TodosServer::new(Calls(Arc::clone(&state))).max_decoding_message_size(state.body_limit);
    let services = Routes::new(todos)
        .add_service(reflection().build_v1()?)
        // Older clients know only this version.
        .add_service(reflection().build_v1alpha()?);
    let limited = services
        .into_axum_router()
        .layer(middleware::map_request(name_body_timeout))
        .layer(middleware::from_fn_with_state(state, count))
        .layer(CatchPanicLayer::new())
        .layer(RequestBodyTimeoutLayer::new(BODY_TIMEOUT));
    Ok(Routes::from(limited))
}

/// Gives a message that stalls its status. Without it, the cause would be unknown.
async fn name_body_timeout(request: Request) -> Request {
    request.map(|body| {
        Body::new(body.map_err(|error| match Refusal::of_body(&error) {
            Some(refusal) => Status::from(refusal).into(),
            None => error.into_inner(),
        }))
    })
}

/// Counts and logs each call with its duration. The status of a stream that fails later is not known yet.
async fn count(
    State(state): State<Arc<AppState>>,
    path: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let call = CALLS.into_iter().find(|call| *call == request.uri().path());
    let start = Instant::now();
    let response = next.run(request).await;
    let time = start.elapsed();
    let status = response.headers().get("grpc-status");
    let code = status.map_or(Code::Ok, |status| Code::from_bytes(status.as_bytes()));
    let route = call.or(path.as_ref().map(MatchedPath::as_str)).unwrap_or("none");
    let metrics = &state.metrics;
    metrics.requests.get_or_create(&metric::RequestLabels::new(route, METHOD, code as u16)).inc();
    metrics.seconds.get_or_create(&metric::RouteLabels::new(route, METHOD)).observe(time.as_secs_f64());
    tracing::debug!(route, ?code, micros = time.as_micros() as u64, "answered");
    response
}

/// The calls.
struct Calls(Arc<AppState>);

#[tonic::async_trait]
impl Todos for Calls {
    async fn list(&self, _: tonic::Request<server::ListRequest>) -> Answer<EncodedMessage> {
        let Self(state) = self;
        if let Some(cached) = state.todo_service.cached_list(Format::Protobuf) {
            return Ok(message(cached));
        }
        Ok(message(state.executor.run(state.todo_service.clone().list(Format::Protobuf)).await?))
    }

    async fn show(&self, request: tonic::Request<server::ShowRequest>) -> Answer<EncodedMessage> {
        let Self(state) = self;
        let server::ShowRequest { id } = request.into_inner();
        Ok(message(state.executor.run(state.todo_service.clone().show(id, Format::Protobuf)).await?))
    }

    async fn create(&self, request: tonic::Request<server::CreateRequest>) -> Answer<EncodedMessage> {
        let Self(state) = self;
        let server::CreateRequest { name, description, done } = request.into_inner();
        let draft = Draft::of(name, description, done)?;
        Ok(message(state.executor.run(state.todo_service.clone().create(draft)).await?.protobuf))
    }

    async fn set(&self, request: tonic::Request<server::SetRequest>) -> Answer<EncodedMessage> {
        let Self(state) = self;
        let server::SetRequest { id, done } = request.into_inner();
        let done = done.ok_or_else(|| Refusal::BadBody("done is missing".to_owned()))?;
        Ok(message(state.executor.run(state.todo_service.clone().set(id, done, Format::Protobuf)).await?))
    }

    async fn delete(&self, request: tonic::Request<server::DeleteRequest>) -> Answer<server::DeleteResponse> {
        let Self(state) = self;
        state.executor.run(state.todo_service.clone().delete(request.into_inner().id)).await?;
        Ok(tonic::Response::new(server::DeleteResponse {}))
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<server::Change, Status>> + Send>>;

    async fn watch(&self, request: tonic::Request<server::WatchRequest>) -> Answer<Self::WatchStream> {
        let server::WatchRequest { changes } = request.into_inner();
        let left = (changes > 0).then_some(changes);
        let reader = self.0.changes.subscribe()?;
        Ok(tonic::Response::new(Box::pin(stream::unfold(Some((reader, left)), next_message))))
    }
}

/// A reader, and how many changes it still wants if it does not want them all.
type Watching = (Reader, Option<u32>);

/// The next message of a stream. After an end there is none.
async fn next_message(
    watching: Option<Watching>,
) -> Option<(Result<server::Change, Status>, Option<Watching>)> {
    let (mut reader, left) = watching.filter(|(_, left)| *left != Some(0))?;
    match reader.next().await {
        Ok(Change { sequence, todo }) => {
            let todo = Some(EncodedMessage::from(todo.protobuf));
            Some((Ok(server::Change { sequence, todo }), Some((reader, left.map(|left| left - 1)))))
        }
        Err(end) => Some((Err(end.into()), None)),
    }
}

fn message(encoded: Bytes) -> tonic::Response<EncodedMessage> {
    tonic::Response::new(encoded.into())
}

impl From<End> for Status {
    fn from(end: End) -> Self {
        match end {
            End::TooSlow => Self::resource_exhausted(end.to_string()),
            End::Stopping => Self::unavailable(end.to_string()),
        }
    }
}

//! A small HTTP/1.1 service with a knee that can be predicted.
//!
//! What limits it: a request needs one of [`Service::workers`] for its service time, during which
//! the worker sleeps, as one that waits for a database does. The service times are exponentially
//! distributed around [`Service::service_time`]. Requests that find all workers busy wait in the
//! order in which they came, without limit. So
//!
//! ```text
//! knee = workers / service time = 8 / 2 ms = 4,000 requests/s
//! ```
//!
//! less what a thread takes to wake up, some 60 us a request on Linux. Above that the queue grows as
//! long as the load lasts. The service needs little CPU, so the knee is the same on most machines.
//!
//! `/events` is a stream of ten events, each of which needs a worker; see [`events`].
//!
//! Does not use any code of the generator, and does not measure.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, server::conn::http1};
use hyper_util::rt::TokioIo;
use knee_core::unit::Nanos;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use self::clerk::Clerk;
use self::events::Events;

mod clerk;
mod events;

/// What `/` answers.
const ORDER: &str = r#"{"order":4711,"customer":"Ada","items":[{"sku":"kettle-1.7l","count":1,"price_cents":3490},{"sku":"tea-assam-250g","count":2,"price_cents":890}],"total_cents":5270,"state":"shipped"}"#;

/// What limits the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// How many requests are worked on at once; 1 or more.
    pub workers: usize,
    /// Mean time that a worker needs for one.
    pub service_time: Nanos,
    /// Decides the service times, in the order of arrival.
    pub seed: u64,
}

impl Default for Service {
    fn default() -> Self {
        Self { workers: 8, service_time: Nanos::from_millis(2), seed: 1 }
    }
}

impl Service {
    /// The predicted knee in requests per second: workers / service time.
    pub fn knee(&self) -> f64 {
        self.workers as f64 / self.service_time.as_secs_f64()
    }
}

/// Serves connections of `listener` until `wait` returns, which runs on a thread of its own.
/// Requests in flight at that moment are not waited for.
pub fn serve(
    listener: TcpListener,
    service: &Service,
    wait: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    // The threads for blocking work are the workers: as many as there are, and a queue before them.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(service.workers)
        .thread_keep_alive(Duration::from_secs(3_600))
        .build()?;
    let (stop, stopped) = oneshot::channel();
    thread::Builder::new().name("demo-stop".to_owned()).spawn(move || {
        wait();
        // If serving failed before, the receiver is gone.
        let _ = stop.send(());
    })?;
    let clerk = Arc::new(Clerk::new(service.service_time, service.seed));
    let listener = {
        let _entered = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    runtime.spawn(accept(listener, clerk));
    // The other end is dropped only when `wait` panicked: a reason to stop as well.
    let _ = runtime.block_on(stopped);
    runtime.shutdown_background();
    Ok(())
}

/// Accepts connections for ever.
async fn accept(listener: tokio::net::TcpListener, clerk: Arc<Clerk>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(converse(stream, clerk.clone()))),
            // Most likely no descriptor is left; one can become free soon.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Answers the requests of one connection.
async fn converse(stream: TcpStream, clerk: Arc<Clerk>) {
    // Without this an answer can wait 40 ms for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(|request| answer(request, &clerk));
    // A client that breaks the connection off has no use for the error.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}

/// What is answered: a whole body, or a stream.
type Answer = Either<Full<Bytes>, Events>;

async fn answer(request: Request<Incoming>, clerk: &Arc<Clerk>) -> Result<Response<Answer>, Infallible> {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    Ok(match request.uri().path() {
        "/" | "/healthz" | "/events" if !reads => {
            json(StatusCode::METHOD_NOT_ALLOWED, r#"{"error":"method not allowed"}"#)
        }
        "/" => {
            clerk.work().await;
            json(StatusCode::OK, ORDER)
        }
        "/events" => of_type("text/event-stream", Either::Right(Events::new(clerk.clone()))),
        "/healthz" => json(StatusCode::OK, r#"{"state":"ok"}"#),
        _ => json(StatusCode::NOT_FOUND, r#"{"error":"not found"}"#),
    })
}

fn json(status: StatusCode, body: &'static str) -> Response<Answer> {
    let body = Either::Left(Full::new(Bytes::from_static(body.as_bytes())));
    let mut response = of_type("application/json", body);
    *response.status_mut() = status;
    response
}

fn of_type(kind: &'static str, body: Answer) -> Response<Answer> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests;

//! Doors that speak gRPC: the services of `compat/cases/grpc`, health and reflection.
//!
//! tonic reads and writes messages, so that knee's own code is not tested against itself. What tonic cannot say is
//! asked for in a header (see `fault`).

use std::convert::Infallible;
use std::io::Result as IoResult;
use std::net::TcpListener;
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};
use h2::Reason;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic_health::ServingStatus;
use tonic_reflection::server::Builder;

use super::{Journal, Request};

mod fault;
mod proto;
mod raw;
mod shop;

/// What a door offers beside the services of the cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extras {
    /// Health, and both versions of reflection.
    All,
    /// Reflection in its first version only.
    Old,
    /// Nothing.
    None,
}

/// An answer.
type Response = http::Response<Body>;

/// What ends a stream without an answer: the code of a reset.
type Broken = h2::Error;

/// Ports that are served by one thread.
pub struct Doors {
    runtime: Runtime,
    journal: Journal,
}

/// What the connections of a door share.
#[derive(Clone)]
struct Door {
    acceptor: Option<TlsAcceptor>,
    extras: Extras,
    journal: Journal,
}

impl Doors {
    /// No door yet; what is asked goes into the journal.
    pub fn new(journal: &Journal) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, journal: journal.clone() })
    }

    /// Opens a port, with TLS if there is a configuration of it; returns its host and port.
    pub fn open(&self, extras: Extras, config: Option<ServerConfig>) -> Result<String> {
        let acceptor = config.map(|mut config| {
            config.alpn_protocols = vec![b"h2".to_vec()];
            TlsAcceptor::from(Arc::new(config))
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen on the loopback")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?.to_string();
        let door = Door { acceptor, extras, journal: self.journal.clone() };
        self.runtime.spawn(door.listen(listener));
        Ok(address)
    }

    /// Serves all doors until the process ends.
    pub fn serve(self) {
        std::thread::spawn(move || self.runtime.block_on(std::future::pending::<()>()));
    }
}

impl Door {
    async fn listen(self, listener: TcpListener) {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        while let Ok((stream, _)) = listener.accept().await {
            let door = self.clone();
            // A connection that breaks is the client's business: what it asked is in the journal.
            tokio::spawn(async move { door.accept(stream).await.unwrap_or_default() });
        }
    }

    async fn accept(self, stream: TcpStream) -> IoResult<()> {
        stream.set_nodelay(true)?;
        match self.acceptor.clone() {
            None => self.converse(stream).await,
            Some(acceptor) => self.converse(acceptor.accept(stream).await?).await,
        }
        Ok(())
    }

    async fn converse(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.auto_date_header(false);
        let service = service_fn(move |request| {
            let door = self.clone();
            async move { door.answer(request).await }
        });
        // How a client leaves is no matter.
        let _ = builder.serve_connection(TokioIo::new(stream), service).await;
    }

    async fn answer(&self, request: http::Request<Incoming>) -> Result<Response, Broken> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).push(seen(&request));
        if let Some(answer) = fault::answer(&request) {
            return answer;
        }
        let path = request.uri().path().to_owned();
        let (service, _) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
        let answer = match service {
            "grpc.health.v1.Health" if self.extras == Extras::All => health(request).await,
            "grpc.reflection.v1.ServerReflection" if self.extras == Extras::All => {
                let builder = Builder::configure().register_encoded_file_descriptor_set(proto::described());
                called(builder.build_v1().map_err(undescribed)?, request).await
            }
            "grpc.reflection.v1alpha.ServerReflection" if self.extras != Extras::None => {
                let builder = Builder::configure().register_encoded_file_descriptor_set(proto::described());
                called(builder.build_v1alpha().map_err(undescribed)?, request).await
            }
            _ => return Ok(shop::answer(request).await),
        };
        Ok(answer)
    }
}

/// The server's own health is good, `shop.Shop` does not serve, and other names are unknown.
async fn health(request: http::Request<Incoming>) -> Response {
    let (reporter, server) = tonic_health::server::health_reporter();
    reporter.set_service_status("shop.Shop", ServingStatus::NotServing).await;
    called(server, request).await
}

async fn called<S>(mut service: S, request: http::Request<Incoming>) -> Response
where
    S: Service<http::Request<Incoming>, Response = Response, Error = Infallible>,
{
    match service.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// What becomes of a call if the descriptions are wrong.
fn undescribed(_: tonic_reflection::server::Error) -> Broken {
    Reason::INTERNAL_ERROR.into()
}

/// A request as it is kept. The time limit that is left, and the name of a library, are the client's business.
fn seen(request: &http::Request<Incoming>) -> Request {
    let fields = request.headers().iter().filter_map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let value = match name.as_str() {
            "grpc-timeout" => "set".to_owned(),
            "user-agent" => value.split_once("grpc-").map_or(&*value, |(own, _)| own).trim_end().to_owned(),
            _ => value,
        };
        (!value.is_empty() || name != "user-agent").then(|| (name.to_string(), value))
    });
    Request {
        method: request.method().to_string(),
        target: request.uri().path().to_owned(),
        headers: fields.collect(),
        arrived: Some(SystemTime::now()),
        ..Request::default()
    }
}

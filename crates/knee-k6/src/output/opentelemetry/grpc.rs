//! OTLP over gRPC: one call per message, each on a connection of its own
//! (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>).
//!
//! A push comes every ten seconds, so a connection that stays open would save little, and could break in between. Does
//! not compress, and does not speak gRPC for scripts.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, Request, Uri};
use knee_engine::http::settings::{HttpVersion, TlsSettings};
use knee_engine::http::tls::configure;
use prost::Message as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::config::Config;
use super::http::accepted;
use super::message::ExportRequest;

/// The method that takes metrics.
const METHOD: &str = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";
/// Bytes before a message: whether it is compressed, and its length.
const PREFIX: usize = 5;
/// Bytes of a response that are read.
const RESPONSE_MAX: usize = 64 << 10;
/// The names of the codes of gRPC, by number.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// A client.
pub struct Client {
    runtime: Runtime,
    address: String,
    tls: Option<Arc<ClientConfig>>,
    headers: Vec<(String, String)>,
    limit: Duration,
}

impl Client {
    /// A client whose calls end within `limit`.
    ///
    /// # Errors
    /// The system gives no resources, or the certificates cannot be used.
    pub fn new(config: &Config, address: &str, plain: bool, limit: Duration) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let settings = TlsSettings {
            authorities: config.tls.authorities.clone().into_iter().collect(),
            client: config.tls.client.clone(),
            insecure: config.tls.insecure,
            ..TlsSettings::default()
        };
        let tls = (!plain).then(|| configure(&settings, HttpVersion::Two)).transpose();
        Ok(Self {
            runtime: runtime.map_err(|error| error.to_string())?,
            address: address.to_owned(),
            tls: tls.map_err(|error| error.to_string())?,
            headers: config.headers.clone(),
            limit,
        })
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The endpoint does not take it; the text says why.
    pub fn send(&self, message: &ExportRequest) -> Result<(), String> {
        self.runtime.block_on(async {
            let call = tokio::time::timeout(self.limit, self.call(message)).await;
            call.unwrap_or_else(|_| Err(format!("the endpoint took longer than {} s", self.limit.as_secs())))
        })
    }

    async fn call(&self, message: &ExportRequest) -> Result<(), String> {
        let stream = TcpStream::connect(&self.address).await.map_err(|error| error.to_string())?;
        let Some(tls) = &self.tls else { return self.export(stream, message).await };
        let host = self.address.rsplit_once(':').map_or(self.address.as_str(), |(host, _)| host);
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|_| format!("`{host}` is no name that a certificate can have"))?;
        let stream = TlsConnector::from(tls.clone()).connect(name, stream).await;
        self.export(stream.map_err(|error| format!("TLS failed: {error}"))?, message).await
    }

    async fn export<S>(&self, stream: S, message: &ExportRequest) -> Result<(), String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (client, connection) = h2::client::handshake(stream).await.map_err(|error| error.to_string())?;
        let driver = tokio::spawn(connection);
        let result = self.exchange(client, message).await;
        driver.abort();
        result
    }

    async fn exchange(
        &self,
        client: h2::client::SendRequest<Bytes>,
        message: &ExportRequest,
    ) -> Result<(), String> {
        let text = |error: h2::Error| error.to_string();
        let mut client = client.ready().await.map_err(text)?;
        let (response, mut stream) = client.send_request(self.request()?, false).map_err(text)?;
        stream.send_data(framed(message), true).map_err(text)?;
        let response = response.await.map_err(text)?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("the endpoint answered with status {}", status.as_u16()));
        }
        let (head, mut body) = response.into_parts();
        let mut received = BytesMut::new();
        while let Some(part) = body.data().await {
            let part = part.map_err(text)?;
            let _ = body.flow_control().release_capacity(part.len());
            if received.len() + part.len() > RESPONSE_MAX {
                return Err("the endpoint's response is too long".to_owned());
            }
            received.extend_from_slice(&part);
        }
        let trailers = body.trailers().await.map_err(text)?;
        // A call that fails at once has its status among the headers.
        code(trailers.as_ref().unwrap_or(&head.headers))?;
        accepted(received.get(PREFIX..).unwrap_or_default())
    }

    fn request(&self) -> Result<Request<()>, String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let uri =
            Uri::builder().scheme(scheme).authority(self.address.as_str()).path_and_query(METHOD).build();
        let mut request = Request::post(uri.map_err(|error| error.to_string())?)
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("user-agent", "knee-opentelemetry-output");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.body(()).map_err(|error| error.to_string())
    }
}

/// A message with its prefix.
fn framed(message: &ExportRequest) -> Bytes {
    let length = message.encoded_len();
    let mut out = BytesMut::with_capacity(PREFIX + length);
    out.put_u8(0);
    out.put_u32(length as u32);
    out.extend_from_slice(&message.encode_to_vec());
    out.freeze()
}

/// The outcome of a call, by its trailers.
fn code(trailers: &HeaderMap) -> Result<(), String> {
    let text = |name: &str| trailers.get(name).and_then(|value| value.to_str().ok());
    let Some(status) = text("grpc-status") else {
        return Err("the endpoint's response has no status of gRPC".to_owned());
    };
    if status == "0" {
        return Ok(());
    }
    let name = status.parse().ok().and_then(|number: usize| CODES.get(number)).copied().unwrap_or(status);
    let reason = percent_encoding::percent_decode_str(text("grpc-message").unwrap_or_default());
    let reason = reason.decode_utf8_lossy();
    let separator = if reason.is_empty() { "" } else { ": " };
    Err(format!("the endpoint answered with {name}{separator}{reason}"))
}

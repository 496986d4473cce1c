//! Webhook calls: one HTTP request to a task's target, and its outcome.
//!
//! Does not retry, follow redirects or store results.

use std::collections::HashMap;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Method, Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiResolver, Name};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tower_service::Service;

use crate::config::Permission;
use crate::config::switch::HttpClient;
use crate::job::Job;
use crate::signature;

/// Most bytes kept of a response body.
const RESPONSE_MAX: usize = 256 * 1024;
/// Connections per host with `pool_25`.
const MAX_PER_HOST: usize = 25;
const SIGNATURE: &str = "x-runlater-signature";
const CALLBACK_TIMEOUT: Duration = Duration::from_secs(10);

/// Outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The target responded.
    Responded {
        /// Status.
        status: u16,
        /// `Retry-After` header.
        retry_after: Option<String>,
        /// Body, up to a limit.
        body: String,
    },
    /// No complete response in time.
    Timeout,
    /// No response; the reason.
    Failed(String),
}

/// Why the client cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The certificates cannot be used.
    #[error("the certificates in {path}: {reason}")]
    Certificates {
        /// Path of the file.
        path: String,
        /// Reason.
        reason: String,
    },
}

type Connector = HttpsConnector<HttpConnector<FilteringResolver>>;

/// HTTP client for calls, callbacks and notifications.
pub struct WebhookClient {
    client: Client<Connector, Full<Bytes>>,
    private: Permission,
    /// Limit of calls per host; `None` if unlimited.
    host_limits: Option<Mutex<HashMap<String, Arc<Semaphore>>>>,
}

impl WebhookClient {
    /// Reuses connections as the switch says; trusts the system's certificates and those in `ca`.
    ///
    /// # Errors
    /// The file has no usable certificates.
    pub fn new(switch: HttpClient, private: Permission, ca: Option<&Path>) -> Result<Self, Problem> {
        let mut tcp =
            HttpConnector::new_with_resolver(FilteringResolver { private, system: GaiResolver::new() });
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let is_kept = switch != HttpClient::PerCall;
        let tls = tls(ca, is_kept)?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let idle = match switch {
            HttpClient::PerCall => 0,
            HttpClient::Pool25 => MAX_PER_HOST,
            HttpClient::Pool => usize::MAX,
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(idle)
            .pool_idle_timeout(Duration::from_secs(30))
            .build(connector);
        let host_limits = (switch == HttpClient::Pool25).then(Mutex::default);
        Ok(Self { client, private, host_limits })
    }

    /// Calls the target of a job.
    pub async fn call(&self, job: &Job) -> Outcome {
        let work = &job.work;
        let method = Method::from_bytes(work.method.as_bytes()).unwrap_or_default();
        let has_body = matches!(method, Method::POST | Method::PUT | Method::PATCH);
        let body = if has_body { work.body.clone().unwrap_or_default() } else { String::new() };
        let mut request = match request(method, &work.url, body, &work.webhook_secret) {
            Ok(request) => request,
            Err(reason) => return Outcome::Failed(reason),
        };
        let headers = request.headers_mut();
        let own: HashMap<String, String> = serde_json::from_str(&work.headers).unwrap_or_default();
        for (name, value) in own {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value))
                && name != SIGNATURE
            {
                headers.insert(name, value);
            }
        }
        for (name, id) in [("x-runlater-task-id", job.task_id), ("x-runlater-execution-id", job.id)] {
            if let Ok(value) = HeaderValue::try_from(id.to_string()) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        self.send(request, Duration::from_millis(u64::from(work.timeout_ms.unsigned_abs()))).await
    }

    /// Posts a message once; true if the response is 2xx.
    pub async fn post(&self, url: &str, message: String, secret: &str) -> bool {
        let Ok(mut request) = request(Method::POST, url, message, secret) else { return false };
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let outcome = self.send(request, CALLBACK_TIMEOUT).await;
        matches!(outcome, Outcome::Responded { status: 200..=299, .. })
    }

    async fn send(&self, request: Request<Full<Bytes>>, timeout: Duration) -> Outcome {
        if let Err(reason) = self.is_allowed(request.uri()) {
            return Outcome::Failed(reason);
        }
        let deadline = Instant::now() + timeout;
        let sending = async {
            let _slot = self.host_slot(request.uri()).await;
            self.exchange(request).await
        };
        tokio::time::timeout_at(deadline, sending).await.unwrap_or(Outcome::Timeout)
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Outcome {
        let response = match self.client.request(request).await {
            Ok(response) => response,
            Err(error) => return Outcome::Failed(reason(&error)),
        };
        let status = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.map(ToOwned::to_owned);
        match read(response.into_body()).await {
            Ok(bytes) => Outcome::Responded { status, retry_after, body: text(&bytes) },
            Err(error) => Outcome::Failed(format!("the answer broke off: {error}")),
        }
    }

    async fn host_slot(&self, uri: &Uri) -> Option<OwnedSemaphorePermit> {
        let host = uri.authority()?.to_string();
        let limit = {
            let mut host_limits = self.host_limits.as_ref()?.lock();
            // Drops hosts without calls in progress.
            if host_limits.len() > 10_000 {
                host_limits.retain(|_, limit| Arc::strong_count(limit) > 1);
            }
            Arc::clone(host_limits.entry(host).or_insert_with(|| Arc::new(Semaphore::new(MAX_PER_HOST))))
        };
        limit.acquire_owned().await.ok()
    }

    /// Checks literal addresses; names are checked when resolved.
    fn is_allowed(&self, uri: &Uri) -> Result<(), String> {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        match host.parse() {
            Ok(address) if self.private == Permission::Deny && is_private(address) => Err(DENIED.to_owned()),
            _ => Ok(()),
        }
    }
}

const DENIED: &str = "the address is not a public one";

fn request(method: Method, url: &str, body: String, secret: &str) -> Result<Request<Full<Bytes>>, String> {
    let signature = signature::sign(secret, body.as_bytes());
    Request::builder()
        .method(method)
        .uri(url)
        .header(USER_AGENT, "runlater")
        .header(SIGNATURE, signature)
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| error.to_string())
}

/// Reads up to the limit; the rest is neither kept nor awaited.
async fn read(mut body: hyper::body::Incoming) -> Result<Vec<u8>, hyper::Error> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame?.data_ref() {
            let room = RESPONSE_MAX - bytes.len();
            bytes.extend_from_slice(&data[..data.len().min(room)]);
            if data.len() >= room {
                break;
            }
        }
    }
    Ok(bytes)
}

/// Text that PostgreSQL can store.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

/// The innermost cause says what happened; the outer ones only where.
fn reason(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    text(cause.to_string().as_bytes())
}

fn tls(ca: Option<&Path>, resumes: bool) -> Result<ClientConfig, Problem> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca {
        let problem = |reason: String| Problem::Certificates { path: path.display().to_string(), reason };
        let certificates = CertificateDer::pem_file_iter(path).map_err(|error| problem(error.to_string()))?;
        for certificate in certificates {
            let added = certificate
                .map_err(|error| error.to_string())
                .and_then(|certificate| roots.add(certificate).map_err(|error| error.to_string()));
            added.map_err(problem)?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Problem::Certificates { path: "the system".to_owned(), reason: error.to_string() })?
        .with_root_certificates(roots)
        .with_no_client_auth();
    if !resumes {
        // No session resumption: as published, every connection does a full handshake.
        config.resumption = Resumption::disabled();
    }
    Ok(config)
}

/// Resolves names; refuses private addresses unless allowed.
#[derive(Clone)]
pub struct FilteringResolver {
    private: Permission,
    system: GaiResolver,
}

impl Service<Name> for FilteringResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.system.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (private, resolving) = (self.private, self.system.call(name));
        Box::pin(async move {
            let found: GaiAddrs = resolving.await?;
            let mut allowed: Vec<SocketAddr> = found.collect();
            allowed.retain(|address| private == Permission::Allow || !is_private(address.ip()));
            if allowed.is_empty() {
                return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, DENIED));
            }
            Ok(allowed.into_iter())
        })
    }
}

/// Whether an address is local, private or unroutable.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_broadcast()
                || address.is_multicast()
                || first == 0
                // Shared by carriers (RFC 6598).
                || (first == 100 && (64..128).contains(&second))
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.is_multicast()
                || translated(address).is_some_and(|address| is_private(address.into()))
        }
    }
}

/// The address that a translator of a network without IPv4 reaches for this one (RFC 6052).
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let octets = address.octets();
    let is_translated = octets[..12] == [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];
    is_translated.then(|| Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_recognized_in_every_notation() {
        let private = [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "fe80::1",
            "fd00::1",
            "64:ff9b::127.0.0.1",
        ];
        assert!(private.iter().all(|address| is_private(address.parse().unwrap())));
        let public = ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::1.1.1.1"];
        assert!(!public.iter().any(|address| is_private(address.parse().unwrap())));
    }

    #[test]
    fn a_response_becomes_text_that_postgres_can_store() {
        assert_eq!(text(b"a\0b\xffc"), "a\u{fffd}b\u{fffd}c");
    }
}

//! OTLP over HTTP: a message is the body of a POST, without compression, as in k6.

use std::time::Duration;

use prost::Message as _;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

use super::super::endpoint::{agent_with, exchange};
use super::config::{Config, Tls};
use super::message::{ExportRequest, ExportResponse};

/// A client.
pub struct Client {
    agent: ureq::Agent,
    url: String,
    headers: Vec<(String, String)>,
}

impl Client {
    /// A client that answers within `limit`.
    pub fn new(config: &Config, url: &str, limit: Duration) -> Self {
        let agent = agent_with(limit, tls(&config.tls), ureq::Proxy::try_from_env());
        Self { agent, url: url.to_owned(), headers: config.headers.clone() }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The endpoint does not take it; the text says why.
    pub fn send(&self, message: &ExportRequest) -> Result<(), String> {
        let mut request = self.agent.post(&self.url).header("user-agent", "knee-opentelemetry-output");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.header("content-type", "application/x-protobuf");
        let body = exchange(request.send(&message.encode_to_vec()[..]))?;
        accepted(&body)
    }
}

/// What an endpoint did not take of a message, as an error.
pub fn accepted(response: &[u8]) -> Result<(), String> {
    // An answer of another kind says nothing about it.
    let partial = ExportResponse::decode(response).ok().and_then(|response| response.partial_success);
    match partial {
        Some(partial) if partial.rejected > 0 => {
            Err(format!("the endpoint did not take {} points: {}", partial.rejected, partial.message))
        }
        _ => Ok(()),
    }
}

fn tls(settings: &Tls) -> TlsConfig {
    let certificates = |pem: &[u8]| -> Vec<Certificate<'static>> {
        let items = parse_pem(pem).filter_map(Result::ok);
        items.filter_map(|item| if let PemItem::Certificate(one) = item { Some(one) } else { None }).collect()
    };
    let roots = settings
        .authorities
        .as_deref()
        .map_or(RootCerts::PlatformVerifier, |pem| RootCerts::new_with_certs(&certificates(pem)));
    let client = settings.client.as_ref().and_then(|(chain, key)| {
        let key = PrivateKey::from_pem(key).ok()?;
        Some(ClientCert::new_with_certs(&certificates(chain), key))
    });
    TlsConfig::builder().root_certs(roots).client_cert(client).disable_verification(settings.insecure).build()
}

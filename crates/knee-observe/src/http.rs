//! Fetches a page of text: bounded in time and size, without redirects and proxies.
//!
//! Speaks TLS if the address does. Does not understand pages.

use std::io::Read;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use rustls::pki_types::CertificateDer;
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};
use url::Url;

use crate::sampler::Unreadable;
use crate::text::decoded;
use crate::tls::{self, Settings};

/// Most bytes of a page; the rest is left out.
pub(crate) const PAGE_MAX: usize = 4 << 20;

/// Time limit of everything together.
const WITHIN: Duration = Duration::from_secs(2);

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) text: String,
    /// Whether there was more.
    pub(crate) is_cut: bool,
}

/// Fetches pages of one address over one connection.
pub(crate) struct Fetcher {
    /// What asks; an error if the address or its files cannot be used.
    agent: Result<Agent, String>,
    url: String,
    authorization: Option<String>,
}

impl Fetcher {
    /// For the page at this URL. A user and password in it are sent as basic authentication.
    pub(crate) fn new(url: &Url) -> Self {
        let mut bare = url.clone();
        bare.set_fragment(None);
        // Only a URL that cannot have a user refuses this, and it has none.
        let _ = bare.set_username("").and_then(|()| bare.set_password(None));
        let authorization = (!url.username().is_empty() || url.password().is_some()).then(|| {
            let (user, password) = (decoded(url.username()), decoded(url.password().unwrap_or_default()));
            format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")))
        });
        Self { agent: agent(url), url: bare.to_string(), authorization }
    }

    /// Fetches the page.
    pub(crate) fn fetch(&self) -> Result<Page, Unreadable> {
        let agent = self.agent.as_ref().map_err(|reason| Unreadable(reason.clone()))?;
        let mut request = agent.get(&self.url);
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let response = request.call().map_err(|error| Unreadable(reason(&error)))?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(Unreadable(format!("it answered {status}")));
        }
        let mut bytes = Vec::new();
        let reader = response.into_body().into_reader();
        let read = reader.take(PAGE_MAX as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| Unreadable(format!("the page breaks off: {error}")))?;
        let is_cut = bytes.len() > PAGE_MAX;
        bytes.truncate(PAGE_MAX);
        Ok(Page { text: String::from_utf8_lossy(&bytes).into_owned(), is_cut })
    }
}

/// What asks for the page at this URL.
fn agent(url: &Url) -> Result<Agent, String> {
    let (_, settings) = tls::of_page(url)?;
    let builder = Agent::config_builder()
        .timeout_global(Some(WITHIN))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .user_agent("knee-observe");
    let builder = if url.scheme() == "https" { builder.tls_config(config(&settings)?) } else { builder };
    Ok(Agent::from(builder.build()))
}

/// The same TLS in the words of the client.
fn config(settings: &Settings) -> Result<TlsConfig, String> {
    let mut builder = TlsConfig::builder();
    if let Some(own) = settings.identity()? {
        let chain: Vec<Certificate<'static>> = own.chain.iter().map(owned).collect();
        let key = PrivateKey::from_pem(&own.key_pem).map_err(|error| error.to_string())?;
        builder = builder.client_cert(Some(ClientCert::new_with_certs(&chain, key)));
    }
    if settings.trusts_all() {
        return Ok(builder.disable_verification(true).build());
    }
    let authorities = settings.authorities()?;
    let authorities: Vec<Certificate<'static>> = authorities.iter().map(owned).collect();
    Ok(builder.root_certs(RootCerts::new_with_certs(&authorities)).build())
}

fn owned(der: &CertificateDer<'_>) -> Certificate<'static> {
    Certificate::from_der(der).to_owned()
}

fn reason(error: &ureq::Error) -> String {
    let explained = match error {
        ureq::Error::Timeout(_) => Some("it did not answer within 2 s".to_owned()),
        ureq::Error::Rustls(error) => tls::explained(error, "http://"),
        ureq::Error::Io(error) => Some(tls::explained(error, "http://").unwrap_or_else(|| error.to_string())),
        _ => None,
    };
    explained.unwrap_or_else(|| error.to_string())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server that answers every request with these bytes, each on a new connection; returns its URL.
    pub(crate) fn serve(answer: impl Fn(usize) -> Vec<u8> + Send + 'static) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/metrics", listener.local_addr().unwrap());
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                // The client can close early.
                let _ = stream.write_all(&answer(number));
            }
        });
        url.parse().unwrap()
    }

    /// A server whose pages never end: a byte in each pause. Returns its URL.
    pub(crate) fn drip(pause: Duration) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/metrics", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                thread::spawn(move || {
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                    let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n# ");
                    // The client ends it.
                    while sent.is_ok() {
                        thread::sleep(pause);
                        sent = stream.write_all(b"x");
                    }
                });
            }
        });
        url.parse().unwrap()
    }

    pub(crate) fn page(body: &str) -> Vec<u8> {
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
            .into_bytes()
    }

    #[test]
    fn a_page_of_100_mb_is_cut_and_an_error_is_no_page() {
        let large = serve(|_| page(&"x".repeat(100 << 20)));
        let page = Fetcher::new(&large).fetch().unwrap();
        assert!(page.is_cut && page.text.len() == PAGE_MAX);
        let broken = serve(|_| b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n".to_vec());
        assert_eq!(Fetcher::new(&broken).fetch().unwrap_err().to_string(), "it answered 503");
        let torn = serve(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc".to_vec());
        assert!(Fetcher::new(&torn).fetch().is_err());
        let alien = serve(|_| b"SSH-2.0-OpenSSH\r\n".to_vec());
        assert!(Fetcher::new(&alien).fetch().is_err());
    }
}

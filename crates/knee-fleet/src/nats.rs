//! The state machines over `JetStream` of NATS.
//!
//! Does not decide anything: it carries messages, runs timers, and does what the machines say.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::jetstream::{self, stream};
use async_nats::{Client, ConnectOptions, HeaderMap};
use knee_core::unit::Nanos;
use percent_encoding::percent_decode_str;

use crate::name::RunId;
use crate::signature::{Signed, Signer};
use crate::wire::{header, subject};

pub mod agent;

pub mod controller;

mod job;

mod kept;

mod order;

mod published;

/// The bucket of what controllers know, for those that take over.
const RUNS: &str = "knee_runs";
/// Most bytes of a job.
pub const JOB_MAX: u64 = 256 << 20;
/// How long an answer is waited for.
const ANSWER: Duration = Duration::from_secs(2);
/// How long the stream of a run is kept unless a controller deletes it.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// Within this time the server drops a message that it has.
const DUPLICATES: Duration = Duration::from_secs(120);

/// Where the NATS server is, and how to log in.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Its address, such as `nats://10.0.0.5:4222` or `tls://nats:4222`; several with commas.
    pub url: String,
    /// File of credentials (a JWT and its seed).
    pub credentials: Option<PathBuf>,
    /// Seed of an `NKey` to log in with.
    pub nkey: Option<String>,
    /// Certificate authorities to trust, in PEM.
    pub authorities: Option<PathBuf>,
}

/// Why NATS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// No connection.
    #[error("cannot connect to NATS at {url}: {why}")]
    Connect {
        /// The address, without a password.
        url: String,
        /// Why not.
        why: String,
    },
    /// The server refused something.
    #[error("NATS: {what}: {why}")]
    Server {
        /// What was wanted.
        what: &'static str,
        /// Why not.
        why: String,
    },
    /// A file of this machine.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
}

fn server(what: &'static str) -> impl Fn(String) -> LinkError {
    move |why| LinkError::Server { what, why }
}

/// The address without what logs in.
fn shown(url: &str) -> String {
    let one = |url: &str| match url.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.split_once("://").map(|(scheme, _)| format!("{scheme}://"));
            format!("{}{host}", scheme.unwrap_or_default())
        }
        None => url.to_owned(),
    };
    url.split(',').map(one).collect::<Vec<_>>().join(",")
}

/// User and password, or a token, in the address of the first server; the library does not take them from there.
fn login(url: &str) -> Option<(String, Option<String>)> {
    let first = url.split(',').next().unwrap_or(url);
    let place = first.split_once("://").map_or(first, |(_, place)| place);
    let (login, _) = place.rsplit_once('@')?;
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    Some(match login.split_once(':') {
        Some((user, password)) => (decoded(user), Some(decoded(password))),
        None => (decoded(login), None),
    })
}

impl Link {
    /// The address without what logs in, for people.
    pub fn shown(&self) -> String {
        shown(&self.url)
    }

    /// Connects. Later losses of the connection are repaired by themselves.
    ///
    /// # Errors
    /// If there is no connection within five seconds.
    pub async fn connect(&self, name: &str) -> Result<Client, LinkError> {
        let failed = |why: String| LinkError::Connect { url: self.shown(), why };
        let mut options = ConnectOptions::new()
            .name(name)
            .ping_interval(Duration::from_secs(2))
            .connection_timeout(Duration::from_secs(5))
            .request_timeout(Some(ANSWER))
            .reconnect_delay_callback(|tries| {
                Duration::from_millis(100 * u64::try_from(tries).unwrap_or(20).min(20))
            });
        if let Some(path) = &self.credentials {
            options = options
                .credentials_file(path)
                .await
                .map_err(|error| LinkError::File { path: path.display().to_string(), error })?;
        }
        if self.credentials.is_none() && self.nkey.is_none() {
            options = match login(&self.url) {
                Some((user, Some(password))) => options.user_and_password(user, password),
                Some((token, None)) => options.token(token),
                None => options,
            };
        }
        if let Some(seed) = &self.nkey {
            options = options.nkey(seed.clone());
        }
        if let Some(path) = &self.authorities {
            options = options.add_root_certificates(path.clone());
        }
        let servers: Vec<&str> = self.url.split(',').collect();
        options.connect(servers).await.map_err(|error| failed(error.to_string()))
    }
}

/// The name of a run's stream.
fn stream_name(run: &RunId) -> String {
    format!("KNEE_RUN_{run}")
}

/// Makes the stream of a run, or finds it.
async fn stream_of(context: &jetstream::Context, run: &RunId) -> Result<stream::Stream, LinkError> {
    let config = stream::Config {
        name: stream_name(run),
        subjects: subject::kept(run).to_vec(),
        retention: stream::RetentionPolicy::Limits,
        discard: stream::DiscardPolicy::New,
        storage: stream::StorageType::File,
        // Without a limit of its own, because the server would reserve it; that of the account counts.
        max_bytes: -1,
        max_age: KEPT,
        duplicate_window: DUPLICATES,
        num_replicas: 1,
        ..stream::Config::default()
    };
    context
        .get_or_create_stream(config)
        .await
        .map_err(|error| server("the stream of the run")(error.to_string()))
}

/// The headers of a signed message.
fn signed_headers(signer: &Signer, body: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(Signed { key, signature }) = signer.sign(body) {
        headers.insert(header::KEY, key.as_str());
        headers.insert(header::SIGNATURE, signature.as_str());
    }
    headers
}

/// The signature of a message, if it has one.
fn signature_of(headers: Option<&HeaderMap>) -> Option<Signed> {
    let headers = headers?;
    let text = |name: &str| headers.get(name).map(|value| value.as_str().to_owned());
    Some(Signed { key: text(header::KEY)?, signature: text(header::SIGNATURE)? })
}

/// What this machine's monotonic clock reads. All processes of the machine see the same time.
pub fn monotonic() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_or_a_token_are_taken_from_the_address() {
        let password = |text: &str| Some(text.to_owned());
        assert_eq!(login("nats://me:p%40ss@a:4222,nats://b"), Some(("me".to_owned(), password("p@ss"))));
        assert_eq!(login("tls://token@a"), Some(("token".to_owned(), None)));
        assert_eq!(login("a:4222"), None);
    }

    #[test]
    fn passwords_in_the_address_are_not_shown() {
        assert_eq!(shown("nats://me:secret@host:4222"), "nats://host:4222");
        assert_eq!(shown("nats://a:4222,tls://t@b:4222"), "nats://a:4222,tls://b:4222");
    }
}

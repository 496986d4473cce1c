//! What `new Client()` is given: a URL or an object, with the messages of xk6-redis for what it does not take.
//!
//! Connects to nothing. Clusters and sentinels are refused here, by name.

use std::thread::available_parallelism;

use knee_core::unit::Nanos;
use serde_json::Value;

use super::given::{Certificates, Given, PORT};
use super::{json, url};

/// How often a command is sent again, unless the options say otherwise.
const RETRIES: u32 = 3;
/// Time to connect, and time to wait for a reply.
const DIAL: Nanos = Nanos::from_secs(5);
const READ: Nanos = Nanos::from_secs(3);
/// Pauses before a command is sent again: the first one, and the longest one.
const PAUSE: (Nanos, Nanos) = (Nanos::from_millis(8), Nanos::from_millis(512));
/// Connections of a client per CPU.
const CONNECTIONS_PER_CPU: usize = 10;
/// Most connections of a client.
const CONNECTIONS_MAX: usize = 10_000;

/// Options with everything that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The name of the host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// A Unix socket in place of both, which k6 cannot open.
    pub socket: Option<String>,
    /// TLS, if it is used.
    pub tls: Option<Certificates>,
    /// The name of the user.
    pub user: String,
    /// The password.
    pub password: String,
    /// The name that the server gets for its connections.
    pub name: String,
    /// The number of the database.
    pub database: i64,
    /// How often a command is sent again.
    pub retries: u32,
    /// The first pause before that, and the longest one.
    pub pauses: (Nanos, Nanos),
    /// Time to connect.
    pub dial: Nanos,
    /// Time to send a command and to wait for its reply.
    pub read: Nanos,
    /// Time to wait for a connection.
    pub wait: Nanos,
    /// Most connections.
    pub connections: usize,
}

/// Why there are no options, in k6's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid options; reason: {0}")]
pub struct OptionsError(pub String);

impl Options {
    /// The options that a URL says.
    pub fn of_url(text: &str) -> Result<Self, OptionsError> {
        url::read(text).map(Self::from).map_err(OptionsError)
    }

    /// The options that an object says, as JSON.
    pub fn of_object(object: &Value) -> Result<Self, OptionsError> {
        json::read(object).map(Self::from).map_err(OptionsError)
    }
}

impl From<Given> for Options {
    fn from(given: Given) -> Self {
        let cpus = available_parallelism().map_or(1, std::num::NonZero::get);
        let read = given.read.or(READ);
        let host = if given.host.is_empty() { "localhost".to_owned() } else { given.host };
        Self {
            host,
            port: if given.port == 0 { PORT } else { given.port },
            socket: given.socket,
            tls: given.tls,
            user: given.user,
            password: given.password,
            name: given.name,
            database: given.database,
            retries: match given.retries {
                0 => RETRIES,
                count => u32::try_from(count).unwrap_or(0),
            },
            pauses: (given.pause.or(PAUSE.0), given.pause_max.or(PAUSE.1)),
            dial: given.dial.or(DIAL),
            read,
            wait: given.wait.or(read.saturating_add(Nanos::from_secs(1))),
            connections: match usize::try_from(given.connections) {
                Ok(0) | Err(_) => CONNECTIONS_PER_CPU * cpus,
                Ok(count) => count.min(CONNECTIONS_MAX),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Result<Options, String> {
        Options::of_url(text).map_err(|error| error.0)
    }

    fn object(text: &str) -> Result<Options, String> {
        Options::of_object(&serde_json::from_str(text).unwrap()).map_err(|error| error.0)
    }

    #[test]
    fn a_url_says_where_the_server_is_and_who_asks() {
        let options = url("redis://ann:se%20cret@[::1]:7000/3?client_name=load&max_retries=-1").unwrap();
        assert_eq!((options.host.as_str(), options.port, options.database), ("::1", 7000, 3));
        assert_eq!((options.user.as_str(), options.password.as_str()), ("ann", "se cret"));
        assert_eq!((options.name.as_str(), options.retries, options.tls), ("load", 0, None));
        let usual = url("rediss://").unwrap();
        assert_eq!((usual.host.as_str(), usual.port, usual.retries), ("localhost", 6379, RETRIES));
        assert!(usual.tls.is_some());
    }

    #[test]
    fn times_of_a_url_are_seconds_or_have_a_unit() {
        let options = url("redis://h?dial_timeout=2&read_timeout=100ms&pool_timeout=0").unwrap();
        assert_eq!((options.dial, options.read), (Nanos::from_secs(2), Nanos::from_millis(100)));
        assert_eq!(options.wait, Nanos::MAX);
    }

    #[test]
    fn times_of_an_object_are_milliseconds() {
        let text = r#"{"Socket": {"host": "h", "port": 1, "readTimeout": 50, "poolSize": 2}, "database": 4}"#;
        let options = object(text).unwrap();
        assert_eq!((options.port, options.read, options.connections), (1, Nanos::from_millis(50), 2));
        assert_eq!(options.database, 4);
        assert_eq!(object(r#"{"socket": {}, "username": null}"#).unwrap().host, "localhost");
    }

    #[test]
    fn clusters_and_sentinels_are_refused_by_their_names() {
        for text in [r#"{"cluster": {"nodes": ["redis://a"]}}"#, r#"{"masterName": "m", "socket": {}}"#] {
            let refused = object(text).unwrap_err();
            assert!(refused.ends_with("not supported: name one server"), "{refused}");
        }
        assert_eq!(
            object(r#"{"cluster": {"nodes": []}}"#).unwrap_err(),
            "cluster nodes property cannot be empty"
        );
    }

    #[test]
    fn no_number_is_too_large_for_the_options() {
        let options = url("redis://h?pool_size=99999999999&dial_timeout=9223372036854775807").unwrap();
        assert_eq!(options.connections, CONNECTIONS_MAX);
    }
}

//! What `new Client()` is given: a URL or an object, with the messages of xk6-redis for what it does not take.
//!
//! Connects to nothing.

use std::thread::available_parallelism;

use knee_core::unit::Nanos;
use serde_json::Value;

use super::given::{Address, Certificates, Given, Greeting, Layout, PORT};
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
/// The same for each server of a cluster.
const CONNECTIONS_PER_CPU_OF_CLUSTER: usize = 5;
/// How often a command is sent on in a cluster, unless the options say otherwise.
const REDIRECTS: u32 = 3;
/// Most connections of a client.
const CONNECTIONS_MAX: usize = 10_000;

/// Options with everything that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Where the server is, or one of them.
    pub address: Address,
    /// The cluster, if there is one.
    pub cluster: Option<Cluster>,
    /// The sentinels, if there are any.
    pub sentinels: Option<Sentinels>,
    /// A Unix socket in place of both, which k6 cannot open.
    pub socket: Option<String>,
    /// TLS, if it is used.
    pub tls: Option<Certificates>,
    /// The first commands of each connection.
    pub greeting: Greeting,
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

/// A cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Where some of its servers are.
    pub nodes: Vec<Address>,
    /// How often a command is sent on, or again.
    pub redirects: u32,
    /// Which servers answer questions, if not only those that take changes.
    pub readers: Option<Readers>,
}

/// Which servers of a cluster answer questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Replicas.
    Replicas,
    /// All, by chance.
    Any,
    /// The one that has answered fastest so far.
    Fastest,
}

/// Sentinels, which know where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentinels {
    /// Where they are.
    pub at: Vec<Address>,
    /// The name of the server.
    pub master: String,
    /// The first commands of a connection to them.
    pub greeting: Greeting,
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
        let greeting = Greeting {
            user: given.user,
            password: given.password,
            name: given.name,
            database: given.database,
            is_reader: false,
        };
        let address = usual(given.address);
        let (cluster, sentinels) = parts(given.layout, &address, &greeting);
        // In a cluster, commands are sent on or again, and not to the same server again unless that was asked for. Its
        // servers have one database.
        let (retries, per_cpu, database) = match cluster {
            Some(_) => (0, CONNECTIONS_PER_CPU_OF_CLUSTER, 0),
            None => (RETRIES, CONNECTIONS_PER_CPU, greeting.database),
        };
        let is_reader = cluster.as_ref().is_some_and(|cluster| cluster.readers.is_some());
        Self {
            greeting: Greeting { database, is_reader, ..greeting },
            address,
            cluster,
            sentinels,
            socket: given.socket,
            tls: given.tls,
            retries: match given.retries {
                0 => retries,
                count => u32::try_from(count).unwrap_or(0),
            },
            pauses: (given.pause.or(PAUSE.0), given.pause_max.or(PAUSE.1)),
            dial: given.dial.or(DIAL),
            read,
            wait: given.wait.or(read.saturating_add(Nanos::from_secs(1))),
            connections: match usize::try_from(given.connections) {
                Ok(0) | Err(_) => per_cpu * cpus,
                Ok(count) => count.min(CONNECTIONS_MAX),
            },
        }
    }
}

/// An address with everything that was left out.
fn usual(Address { host, port }: Address) -> Address {
    Address {
        host: if host.is_empty() { "localhost".to_owned() } else { host },
        port: if port == 0 { PORT } else { port },
    }
}

/// The cluster or the sentinels that the options describe; neither for the one server at `address`.
fn parts(layout: Layout, address: &Address, greeting: &Greeting) -> (Option<Cluster>, Option<Sentinels>) {
    match layout {
        Layout::Cluster { nodes, redirects, is_reader, fastest, randomly } if nodes.len() > 1 => {
            let readers = match (fastest, randomly, is_reader) {
                (true, _, _) => Some(Readers::Fastest),
                (_, true, _) => Some(Readers::Any),
                (_, _, true) => Some(Readers::Replicas),
                _ => None,
            };
            let redirects = match redirects {
                0 => REDIRECTS,
                count => u32::try_from(count).unwrap_or(0),
            };
            (Some(Cluster { nodes: nodes.into_iter().map(usual).collect(), redirects, readers }), None)
        }
        Layout::Sentinel { master, user, password } if !master.is_empty() => {
            let greeting = Greeting { user, password, name: greeting.name.clone(), ..Greeting::default() };
            (None, Some(Sentinels { at: vec![address.clone()], master, greeting }))
        }
        // As in k6, one address is no cluster.
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(host: &str, port: u16) -> Address {
        Address { host: host.to_owned(), port }
    }

    fn url(text: &str) -> Result<Options, String> {
        Options::of_url(text).map_err(|error| error.0)
    }

    fn object(text: &str) -> Result<Options, String> {
        Options::of_object(&serde_json::from_str(text).unwrap()).map_err(|error| error.0)
    }

    #[test]
    fn a_url_says_where_the_server_is_and_who_asks() {
        let options = url("redis://ann:se%20cret@[::1]:7000/3?client_name=load&max_retries=-1").unwrap();
        let Greeting { user, password, name, database, .. } = &options.greeting;
        assert_eq!((options.address, *database), (address("::1", 7000), 3));
        assert_eq!((user.as_str(), password.as_str(), name.as_str()), ("ann", "se cret", "load"));
        assert_eq!((options.retries, options.tls), (0, None));
        let usual = url("rediss://").unwrap();
        assert_eq!((usual.address, usual.retries), (address("localhost", 6379), RETRIES));
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
        assert_eq!((options.address.port, options.read, options.connections), (1, Nanos::from_millis(50), 2));
        assert_eq!(options.greeting.database, 4);
        let usual = object(r#"{"socket": {}, "username": null}"#).unwrap();
        assert_eq!(usual.address, address("localhost", PORT));
    }

    #[test]
    fn several_addresses_are_those_of_a_cluster() {
        let options =
            object(r#"{"cluster": {"nodes": ["redis://a:1/3", "redis://b:2"], "maxRedirects": 8}}"#);
        let options = options.unwrap();
        let nodes = vec![address("a", 1), address("b", 2)];
        assert_eq!(options.cluster, Some(Cluster { nodes, redirects: 8, readers: None }));
        assert_eq!((options.retries, options.greeting.database), (0, 0));
        let one = object(r#"{"cluster": {"nodes": ["redis://a:1/3"], "readOnly": true}}"#).unwrap();
        assert_eq!((one.cluster, one.greeting.database, one.address), (None, 3, address("a", 1)));
        for (text, readers) in [
            ("readOnly", Readers::Replicas),
            ("routeByLatency", Readers::Fastest),
            ("routeRandomly", Readers::Any),
        ] {
            let nodes = r#"[{"socket": {"host": "a", "port": 1}}, {"socket": {"host": "b", "port": 2}}]"#;
            let options = object(&format!(r#"{{"cluster": {{"nodes": {nodes}, "{text}": true}}}}"#)).unwrap();
            assert!(options.greeting.is_reader);
            assert_eq!(options.cluster.unwrap().readers, Some(readers));
        }
    }

    #[test]
    fn servers_of_a_cluster_have_the_same_options() {
        let node = |rest: &str| format!(r#"{{"socket": {{"host": "a", "port": 1}}, {rest}}}"#);
        let both = |one: &str, two: &str| {
            object(&format!(r#"{{"cluster": {{"nodes": [{}, {}]}}}}"#, node(one), node(two)))
        };
        for (one, two, words) in [
            (r#""database": 1"#, r#""database": 2"#, "inconsistent db option: 1 != 2"),
            (r#""username": "a""#, r#""username": "b""#, "inconsistent username option: a != b"),
            (r#""password": "a""#, r#""password": "b""#, "inconsistent password option"),
            (r#""maxRetries": 1"#, r#""maxRetries": 2"#, "inconsistent maxRetries option: 1 != 2"),
        ] {
            assert_eq!(both(one, two).unwrap_err(), words);
        }
        assert!(both(r#""database": 1"#, r#""database": 0"#).is_ok());
    }

    #[test]
    fn a_sentinel_is_asked_where_the_server_is() {
        let text = r#"{"masterName": "shop", "sentinelUsername": "s", "sentinelPassword": "t", "username": "u",
            "password": "p", "socket": {"host": "a", "port": 26379}}"#;
        let options = object(text).unwrap();
        let sentinels = options.sentinels.unwrap();
        assert_eq!((sentinels.at, sentinels.master.as_str()), (vec![address("a", 26_379)], "shop"));
        assert_eq!((sentinels.greeting.user.as_str(), options.greeting.user.as_str()), ("s", "u"));
    }

    #[test]
    fn a_cluster_without_servers_is_refused() {
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

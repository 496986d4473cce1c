//! Options of a client as they were given, in a URL or in an object. Reads neither.

use knee_core::unit::Nanos;

/// The port of a server unless another one is named.
pub const PORT: u16 = 6379;

/// A time limit as an option says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// The usual one.
    #[default]
    Usual,
    /// None.
    Never,
    /// This one.
    After(Nanos),
}

impl Limit {
    /// The time; `usual` if it was not given.
    pub fn or(self, usual: Nanos) -> Nanos {
        match self {
            Self::Usual => usual,
            Self::Never => Nanos::MAX,
            Self::After(time) => time,
        }
    }
}

/// Where a server is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The name of the host; empty for this machine.
    pub host: String,
    /// The port; 0 for the usual one.
    pub port: u16,
}

/// Who asks, and for what: the first commands of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Greeting {
    /// The name of the user.
    pub user: String,
    /// The password.
    pub password: String,
    /// The name that the server gets for its connections.
    pub name: String,
    /// The number of the database.
    pub database: i64,
    /// Whether a replica can answer.
    pub is_reader: bool,
}

/// What servers are to each other, if there are several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// There is one.
    #[default]
    One,
    /// They are a cluster.
    Cluster {
        /// Where some of them are.
        nodes: Vec<Address>,
        /// How often a command is sent on.
        redirects: i64,
        /// Whether replicas can answer.
        is_reader: bool,
        /// Whether the fastest one is asked.
        fastest: bool,
        /// Whether any one is asked.
        randomly: bool,
    },
    /// The address is that of a sentinel.
    Sentinel {
        /// The name of the server that it knows.
        master: String,
        /// Who asks it.
        user: String,
        /// The password for it.
        password: String,
    },
}

/// Certificates, as PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificates {
    /// Of authorities.
    pub authorities: Vec<String>,
    /// The client's own, and its key.
    pub own: Option<(String, String)>,
    /// Whether any certificate of the server will do.
    pub is_lenient: bool,
}

/// Options as they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Where the server is.
    pub address: Address,
    /// Whether this server is one of a cluster, or a sentinel.
    pub layout: Layout,
    /// A Unix socket in place of both.
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
    pub retries: i64,
    /// The first pause before that.
    pub pause: Limit,
    /// The longest one.
    pub pause_max: Limit,
    /// Time to connect.
    pub dial: Limit,
    /// Time to wait for a reply.
    pub read: Limit,
    /// Time to wait for a connection.
    pub wait: Limit,
    /// Most connections.
    pub connections: i64,
}

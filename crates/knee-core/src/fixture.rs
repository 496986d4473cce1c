//! What a study declares to be brought up before a trial: services, databases, caches, as data.
//!
//! A declaration is what stands in the tables `[service.*]`, `[postgres.*]`, `[redis.*]` and `[generator]` of a
//! `study.toml`. Bringing it up is the fixture's work, deciding when is the study's. Does not look for
//! programs, does not open files, and does not check that what a text refers to exists.
//!
//! Texts of `command`, `seed` and `env` can contain placeholders in braces that the fixture fills in: `{port}`,
//! `{data}` (the service's own folder), `{study}` (the study's folder), `{postgres.NAME.url}`,
//! `{postgres.NAME.socket_url}`, `{postgres.NAME.replica_url}`, `{redis.NAME.url}`, `{redis.NAME.socket}`,
//! `{service.NAME.url}`, `{service.NAME.port}`. `{{word}}` stands for `{word}`. `build` is shell text and stays
//! as it is. Names consist of letters, digits, `_` and `-`.

pub mod placeholder;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Everything that stands while trials run. Databases and caches come up first, then the services in
/// the order of their names' dependencies through placeholders in braces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Declaration {
    /// Programs that answer HTTP, by name. One that is loaded is called `main` unless a study says otherwise.
    pub service: BTreeMap<String, Service>,
    /// Private PostgreSQL clusters, by name.
    pub postgres: BTreeMap<String, Postgres>,
    /// Private Redis servers, by name.
    pub redis: BTreeMap<String, Redis>,
    /// Where the load comes from.
    pub generator: Generator,
}

/// What the fixture sees to for the generator of load, which is the program itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Generator {
    /// CPUs it can run on, as `0` or `0-1,3`. All of them when absent.
    pub cpus: Option<String>,
    /// How many times the CPU time of a service or store it gets when both want the same CPU: 1 to 50. Equal
    /// shares when absent.
    pub cpu_weight: Option<u32>,
}

/// A program that answers HTTP, or an address where one of the user's own answers already.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Service {
    /// A shell command that builds the program, run once before the first start. It can take long.
    pub build: Option<String>,
    /// The program and its arguments. Empty only when `address` is given.
    pub command: Vec<String>,
    /// Environment on top of a clean one (`PATH`, `HOME` and `LANG` are kept; `TMPDIR` is a folder of the fixture).
    pub env: BTreeMap<String, String>,
    /// A running service of the user's own, as `http://host:port`: nothing is started or reset.
    pub address: Option<String>,
    /// The port of a service whose port cannot be chosen. When absent, `{port}` is a free port.
    pub port: Option<u16>,
    /// When the service counts as up.
    pub ready: Ready,
    /// Makes the data once, before the first trial; run as `command` is. Empty when there is none.
    pub seed: Vec<String>,
    /// What brings the data back to how the seed left it, between trials.
    pub reset: Reset,
    /// CPUs the service can run on, as `0` or `0-1,3`. All of them when absent.
    pub cpus: Option<String>,
    /// CPU time as a multiple of one CPU: 0.5 is half a CPU. Needs a writable cgroup, and where there is none the
    /// fixture reports that it could not be done; absent for no limit.
    pub cpu_limit: Option<f64>,
    /// How many seconds after SIGTERM the service is sent SIGKILL; 10 when absent.
    pub stop_within_s: Option<f64>,
}

/// How a service tells that it is up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ready {
    /// A path that answers 2xx once the service is up, as `/health`. With none, an open port is enough.
    pub path: Option<String>,
    /// Seconds until a service that is not up counts as one that never comes up.
    pub within_s: f64,
}

impl Default for Ready {
    fn default() -> Self {
        Self { path: None, within_s: 30.0 }
    }
}

/// How data comes back to its seeded state between trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reset {
    /// Nothing is reset: trials see what earlier trials left.
    #[default]
    Keep,
    /// The service's data folder is copied back from how the seed left it. For SQLite and plain files.
    Copy,
    /// Its PostgreSQL databases are created again from a template; its Redis servers are flushed and loaded again.
    /// The data folder is copied back, too. Its stores are those that its texts name.
    Stores,
    /// The seed is run again on empty stores and an empty folder: slow, and always possible.
    Seed,
}

/// A private PostgreSQL cluster in a temporary folder, made by `initdb`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Postgres {
    /// Lines of `postgresql.conf`: `shared_buffers = "256MB"`.
    pub settings: BTreeMap<String, Setting>,
    /// Extensions created in the database; those that need preloading are preloaded.
    pub extensions: Vec<String>,
    /// A streaming replica on a port of its own.
    pub replica: Option<Replication>,
    /// Lowest major version accepted.
    pub min_version: Option<u32>,
    /// CPUs it can run on.
    pub cpus: Option<String>,
    /// A cluster of the user's own, as a connection URL: nothing is started, and nothing in it is reset by the fixture.
    pub address: Option<String>,
}

/// Whether a commit waits for the replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replication {
    /// A commit waits until the replica has it.
    Sync,
    /// A commit does not wait.
    Async,
}

/// A value of a setting as TOML writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// `on` or `off`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A fraction.
    Float(f64),
    /// Everything else, units included.
    Text(String),
}

/// A private Redis (or Valkey) server on a port of its own, without persistence unless a setting asks for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Redis {
    /// Directives of `redis.conf`: `appendonly = "yes"`.
    pub settings: BTreeMap<String, Setting>,
    /// CPUs it can run on.
    pub cpus: Option<String>,
    /// A server of the user's own, as `redis://host:port/db`: nothing is started, and nothing in it is reset by the fixture.
    pub address: Option<String>,
}

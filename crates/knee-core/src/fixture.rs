//! The services, databases and caches that a study declares, as data.
//!
//! A declaration is the content of the tables `[service.*]`, `[postgres.*]`, `[redis.*]` and `[generator]` of a
//! `study.toml`. The fixture starts what is declared; the study decides when. Does not look for programs, does not
//! open files, and does not check references in texts.
//!
//! Texts of `command`, `seed` and `env` can contain placeholders in braces that the fixture fills in: `{port}`,
//! `{data}` (the service's own folder), `{study}` (the study's folder), `{postgres.NAME.url}`,
//! `{postgres.NAME.socket_url}`, `{postgres.NAME.replica_url}`, `{redis.NAME.url}`, `{redis.NAME.socket}`,
//! `{service.NAME.url}`, `{service.NAME.port}`. `{{word}}` stands for `{word}`. `build` is shell text, in which
//! nothing is filled in. Names consist of letters, digits, `_` and `-`.

pub mod division;

pub mod placeholder;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Everything that runs during trials. Databases and caches start first. Then services start, each after those that
/// its placeholders name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Declaration {
    /// HTTP services, by name. The service under load is called `main` unless a study names another.
    pub service: BTreeMap<String, Service>,
    /// Private PostgreSQL clusters, by name.
    pub postgres: BTreeMap<String, Postgres>,
    /// Private Redis servers, by name.
    pub redis: BTreeMap<String, Redis>,
    /// The load generator.
    pub generator: Generator,
}

/// What the fixture sets for the load generator, which is this program itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Generator {
    /// CPUs it can run on, as `0` or `0-1,3`. When absent, knee chooses them, unless `share_cpus` is set.
    pub cpus: Option<String>,
    /// Whether services and stores can run on the generator's CPUs. Otherwise, the generator has CPUs of its own.
    pub share_cpus: bool,
    /// Whether agents make the load, so that it takes no CPU here. Not declared: who runs a study decides it.
    #[serde(skip)]
    pub is_elsewhere: bool,
    /// CPU weight of the generator, 1 to 50: when it and a service or store want the same CPU, it gets this many times
    /// the CPU time of the other. Equal shares when absent.
    pub cpu_weight: Option<u32>,
}

/// A program that serves HTTP, or the address of a service that the user runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Service {
    /// A shell command that builds the program. It runs once, before the first start, and can take long.
    pub build: Option<String>,
    /// The program and its arguments. Empty only when `address` is given.
    pub command: Vec<String>,
    /// Environment on top of a clean one (`PATH`, `HOME` and `LANG` are kept; `TMPDIR` is a folder of the fixture).
    pub env: BTreeMap<String, String>,
    /// Address of a service that the user runs, as `http://host:port`; the fixture does not start or reset it.
    pub address: Option<String>,
    /// The port of a service whose port cannot be chosen. When absent, `{port}` is a free port.
    pub port: Option<u16>,
    /// When the service counts as ready.
    pub ready: Ready,
    /// The path of a page of metrics in the text format of Prometheus, as `/metrics`. Observers of what a study started
    /// read it, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<String>,
    /// Command that makes the data once, before the first trial. Runs like `command`. Empty for none.
    pub seed: Vec<String>,
    /// The variables of switches and variants that the seed gets. All of them when absent: each variant that changes a
    /// variable then has its own seed. Variables of the service's own `env` are always passed.
    pub seed_env: Option<Vec<String>>,
    /// How the data returns to its seeded state between trials.
    pub reset: Reset,
    /// CPUs the service can run on, as `0` or `0-1,3`. When absent, those that the generator leaves.
    pub cpus: Option<String>,
    /// CPU time as a multiple of one CPU: 0.5 is half a CPU. Needs a writable cgroup; without one the fixture reports
    /// that the limit is unavailable. No limit when absent.
    pub cpu_limit: Option<f64>,
    /// Seconds from SIGTERM to SIGKILL; 10 when absent.
    pub stop_within_s: Option<f64>,
}

/// How the fixture finds out that a service is ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ready {
    /// A path that returns 2xx once the service is ready, as `/health`. Without one, an open port is enough.
    pub path: Option<String>,
    /// Seconds until a service that is not ready counts as failed.
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
    /// No reset: a trial sees the data that earlier trials left.
    #[default]
    Keep,
    /// The service's data folder is replaced by a copy of its seeded state. For SQLite and plain files.
    Copy,
    /// Its PostgreSQL databases are created again from a template; its Redis servers are flushed and loaded again.
    /// The data folder is replaced, too. A service's stores are those that its texts name.
    Stores,
    /// The seed runs again on empty stores and an empty folder: slow, but always possible.
    Seed,
}

/// A private PostgreSQL cluster in a temporary folder, made by `initdb`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Postgres {
    /// Lines of `postgresql.conf`: `shared_buffers = "256MB"`.
    pub settings: BTreeMap<String, Setting>,
    /// Extensions to create in the database. Those that need it are preloaded.
    pub extensions: Vec<String>,
    /// A streaming replica on a port of its own.
    pub replica: Option<Replication>,
    /// Lowest major version accepted.
    pub min_version: Option<u32>,
    /// CPUs it can run on. When absent, those that the generator leaves.
    pub cpus: Option<String>,
    /// Connection URL of a cluster that the user runs; the fixture does not start or reset it.
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
    /// CPUs it can run on. When absent, those that the generator leaves.
    pub cpus: Option<String>,
    /// Address of a server that the user runs, as `redis://host:port/db`; the fixture does not start or reset it.
    pub address: Option<String>,
}

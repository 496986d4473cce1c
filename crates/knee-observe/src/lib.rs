//! Watches databases, caches, processes and the machine beside a run, on the run's own clock.
//!
//! Each source has a thread of its own, which never touches the threads of the load generator. Sources are only read:
//! nothing is written to them, and nothing that resets a counter is called. SQLite plans statements on a copy of a
//! database, after the run. A source that is refused, slow or dies is reported, and the run goes on. Does not draw
//! conclusions and does not write records.
//! `docs/reference/observations.md` lists every figure.

mod address;

mod calls;

mod figures;

mod host;

mod http;

mod nginx;

mod observers;

mod pace;

mod pgbouncer;

mod plans;

mod postgres;

mod process;

mod profile;

mod prometheus;

mod proposals;

mod redis;

mod sampler;

mod session;

mod sql;

mod sqlite;

mod target;

mod text;

mod tls;

mod watch;

pub use observers::Observers;
pub use sqlite::open_databases;
pub use target::{Target, TargetError};

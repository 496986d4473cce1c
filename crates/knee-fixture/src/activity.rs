//! The work that PostgreSQL servers of a fixture have done, as their own statistics report it.
//!
//! Does not divide by requests, and knows nothing about servers that the user runs.

use crate::postgres::sql::Endpoint;

/// Work of all servers since they were started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Blocks of the database that were accessed, in memory or not.
    pub blocks: u64,
    /// Bytes of the write-ahead log.
    pub wal_bytes: u64,
}

/// Asks the servers; can be passed to another thread.
#[derive(Clone, Debug)]
pub struct ActivityProbe {
    pub(crate) servers: Vec<Endpoint>,
    pub(crate) database: &'static str,
}

impl ActivityProbe {
    /// The work until now; `None` if a server does not answer, or if there is none. A connection of a service adds its
    /// blocks to the statistics about once a second.
    pub fn read(&self) -> Option<Activity> {
        let statement = format!(
            "SELECT coalesce(sum(blks_hit + blks_read), 0)::bigint::text || ' ' || \
             pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint::text \
             FROM pg_stat_database WHERE datname = '{}'",
            self.database
        );
        let mut all: Option<Activity> = None;
        for server in &self.servers {
            let answer = server.ask("postgres", std::slice::from_ref(&statement)).ok().flatten()?;
            let (blocks, wal) = answer.split_once(' ')?;
            let so_far = all.get_or_insert_default();
            so_far.blocks += blocks.parse::<u64>().ok()?;
            so_far.wal_bytes += wal.parse::<u64>().ok()?;
        }
        all
    }
}

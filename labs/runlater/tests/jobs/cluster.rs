//! The clusters of the tests, with their settings. Commits wait for the disk, as in production.

use testbed::Cluster;

/// An empty cluster.
pub fn empty() -> Cluster {
    Cluster::start(&["max_connections=200", "autovacuum=off", "log_statement=all"])
}

/// An empty cluster without a log of statements, for trials of many jobs.
pub fn quiet() -> Cluster {
    Cluster::start(&["max_connections=200"])
}

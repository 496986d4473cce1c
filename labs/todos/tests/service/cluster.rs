//! The clusters of the tests, with their settings. Commits wait for the disk, as in production.

use testbed::Cluster;

const SETTINGS: [&str; 3] = ["max_connections=60", "autovacuum=off", "log_statement=all"];

/// An empty cluster.
pub fn empty() -> Cluster {
    Cluster::start(&SETTINGS)
}

/// An empty cluster whose commits wait for the replica.
pub fn empty_synchronous() -> Cluster {
    Cluster::start(&[&SETTINGS[..], &["synchronous_standby_names=standby"]].concat())
}

/// A replica that can be read.
pub fn replica(of: &Cluster) -> Cluster {
    of.replica(&[&SETTINGS[..], &["hot_standby=on"]].concat())
}

//! How often the locks of a SQLite file are held.
//!
//! Does not judge it.

use crate::watched::Watched;

/// Fewest samples.
const SAMPLES_MIN: f64 = 50.0;

/// The share of the samples in which a transaction that writes holds its lock; `None` with too few samples.
pub(in crate::rules) fn held(file: &Watched<'_>) -> Option<f64> {
    let locks = ["write", "reserved", "exclusive"];
    locks.iter().filter_map(|lock| share(file, "sqlite.lock.held", lock)).reduce(f64::max)
}

/// A counter of locks as a share of the samples; `None` with too few of them.
pub(super) fn share(file: &Watched<'_>, name: &str, label: &str) -> Option<f64> {
    let samples = file.rise("sqlite.lock.samples", "").filter(|rise| rise.amount >= SAMPLES_MIN)?;
    Some(file.rise(name, label)?.amount / samples.amount)
}

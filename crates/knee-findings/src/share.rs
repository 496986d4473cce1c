//! Shares of samples of a PostgreSQL server's activity.
//!
//! Does not judge them.

use crate::watched::Watched;

/// Fewest samples of active backends from which shares are read.
pub(crate) const SAMPLES_MIN: f64 = 50.0;

/// States as `pg_stat_activity` has them.
pub(crate) const ACTIVE: &str = "active";
pub(crate) const IDLE: &str = "idle in transaction";

/// Samples of backends that have a transaction, at work or idle.
pub(crate) fn in_transaction(server: &Watched<'_>) -> f64 {
    let in_state = |state: &str| server.rise("activity.state", state).map_or(0.0, |rise| rise.amount);
    in_state(ACTIVE) + in_state(IDLE)
}

/// Samples of active backends, at least [`SAMPLES_MIN`].
pub(crate) fn active(server: &Watched<'_>) -> Option<f64> {
    server.rise("activity.state", ACTIVE).map(|rise| rise.amount).filter(|active| *active >= SAMPLES_MIN)
}

/// The share of samples of active backends that wait for something for which `is_it` holds.
pub(crate) fn waiting(server: &Watched<'_>, is_it: impl Fn(&str) -> bool) -> Option<f64> {
    let active = active(server)?;
    let waits = server.rises("activity.wait");
    Some(waits.iter().filter(|(wait, _)| is_it(wait)).map(|(_, rise)| rise.amount).sum::<f64>() / active)
}

/// The mean number of backends in a state; `None` without samples.
pub(crate) fn backends(server: &Watched<'_>, state: &str) -> Option<f64> {
    let samples = server.rise("activity.samples", "")?.amount;
    let in_state = server.rise("activity.state", state).map_or(0.0, |rise| rise.amount);
    (samples > 0.0).then(|| in_state / samples)
}

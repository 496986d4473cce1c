//! Shares of samples of a PostgreSQL server's activity.
//!
//! Does not judge them.

use crate::watched::Watched;

/// Fewest samples of active backends from which shares are read.
pub(crate) const SAMPLES_MIN: f64 = 50.0;

/// Samples of active backends, at least [`SAMPLES_MIN`].
pub(crate) fn active(server: &Watched<'_>) -> Option<f64> {
    server.rise("activity.state", "active").map(|rise| rise.amount).filter(|active| *active >= SAMPLES_MIN)
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

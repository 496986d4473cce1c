//! Shares of samples: of a PostgreSQL server's activity, and of looks at a Redis server.
//!
//! Does not judge them.

use crate::watched::Watched;

/// Fewest samples of active backends from which shares are read.
pub(crate) const SAMPLES_MIN: f64 = 50.0;

/// Fewest samples from which a share is read with its certainty: of ten, five are surely more than a tenth.
pub(crate) const CERTAIN_MIN: f64 = 10.0;

/// Fewest samples that show a wait, and fewest readings between which some did: one incident is not what limits a service.
const WAITS_MIN: f64 = 5.0;
const READINGS_MIN: usize = 3;

/// Standard score of the lower end of a share: below it with a chance of 1 %.
const SCORE: f64 = 2.33;

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

/// Samples of active backends, at least [`CERTAIN_MIN`].
pub(crate) fn some_active(server: &Watched<'_>) -> Option<f64> {
    server.rise("activity.state", ACTIVE).map(|rise| rise.amount).filter(|active| *active >= CERTAIN_MIN)
}

/// The share of samples of active backends that wait, by a counter whose label says for what. `None` unless it is at least
/// `limit` with a certainty of 99 % (Wilson, 1927), however few samples there are. Backends of one look wait for each
/// other, so that a look counts as one sample.
pub(crate) fn certain(
    server: &Watched<'_>,
    counter: &str,
    limit: f64,
    is_it: impl Fn(&str) -> bool + Copy,
) -> Option<f64> {
    let active = some_active(server)?;
    let waits: f64 =
        server.rises(counter).iter().filter(|(of, _)| is_it(of)).map(|(_, rise)| rise.amount).sum();
    let share = (waits / active).min(1.0);
    let samples = server.rise("activity.samples", "").map_or(active, |looks| looks.amount.min(active));
    let is_often = share * samples >= WAITS_MIN && server.readings(counter, is_it) >= READINGS_MIN;
    (is_often && lower_end(share, samples) >= limit).then_some(share)
}

/// The share of the looks at a server at which something was seen, by the counter of looks and by the name and the label
/// of the other one. `None` unless it is at least `limit` with a certainty of 99 %.
pub(crate) fn of_looks(
    server: &Watched<'_>,
    looks: &str,
    (counter, label): (&str, &str),
    limit: f64,
) -> Option<f64> {
    let looks = server.rise(looks, "").map(|rise| rise.amount).filter(|looks| *looks >= 1.0)?;
    let seen = server.rise(counter, label)?.amount;
    let share = (seen / looks).min(1.0);
    let is_often = seen >= WAITS_MIN && server.readings(counter, |of| of == label) >= READINGS_MIN;
    (is_often && lower_end(share, looks) >= limit).then_some(share)
}

/// The lower end of a share of so many samples, by Wilson's score interval.
fn lower_end(share: f64, samples: f64) -> f64 {
    let square = SCORE * SCORE / samples;
    let half = SCORE * (share * (1.0 - share) / samples + square / (4.0 * samples)).sqrt();
    ((share + square / 2.0 - half) / (1.0 + square)).max(0.0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_end_of_a_share_is_that_of_published_tables() {
        // Wilson's interval of 10 of 20, and of 1 of 10; both with the score 2.33.
        for (share, samples, end) in
            [(0.5, 20.0, 0.269), (0.1, 10.0, 0.015), (0.4, 10.0, 0.146), (0.2, 1_000.0, 0.172)]
        {
            assert!(
                (lower_end(share, samples) - end).abs() < 0.01,
                "{share} of {samples}: {}",
                lower_end(share, samples)
            );
        }
    }
}

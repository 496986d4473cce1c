//! The rows of a histogram for people: equal steps where the requests are, one row for the tail.
//!
//! Does not draw; see [`crate::text`].

use knee_core::estimate::Distribution;
use knee_core::histogram::Histogram;

/// How many rows a histogram has at the most.
pub const ROWS: usize = 11;

/// One row: the times above the row before, up to and including `upto`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Greatest time of the row in nanoseconds.
    pub upto: f64,
    /// How many requests lie in it.
    pub count: u64,
    /// How many of them are lower bounds.
    pub bounds: u64,
}

/// Rows for a distribution. No row without times; one row if all times are equal.
///
/// Steps of equal width lead from the least time to the greatest. If the greatest is more than
/// twice the 99th percentile they end at that percentile, and the last row takes the rest: a
/// single slow request would otherwise press all others into the first row.
pub fn bars(times: &Distribution) -> Vec<Bar> {
    let (all, bounds) = (times.all(), times.bounds());
    let (Some(min), Some(max), Some(p99)) = (all.min(), all.max(), all.quantile(0.99)) else {
        return Vec::new();
    };
    let (min, max, p99) = (min.0 as f64, max.0 as f64, p99.0 as f64);
    let tail = max > 2.0 * p99;
    let (top, steps) = if tail { (p99, ROWS - 1) } else { (max, ROWS) };
    let step = (top - min) / steps as f64;
    let mut rows: Vec<Bar> = (1..=steps)
        .map(|row| Bar { upto: min + step * row as f64, count: 0, bounds: 0 })
        .skip_while(|row| step == 0.0 && row.upto < top)
        .collect();
    if step == 0.0 {
        rows.truncate(1);
    }
    if tail {
        rows.push(Bar { upto: max, count: 0, bounds: 0 });
    }
    fill(&mut rows, all, |bar, count| bar.count += count);
    fill(&mut rows, bounds, |bar, count| bar.bounds += count);
    rows
}

/// Counts every bucket of `times` into the first row that reaches its greatest value.
fn fill(rows: &mut [Bar], times: &Histogram, add: impl Fn(&mut Bar, u64)) {
    let Some(last) = rows.len().checked_sub(1) else { return };
    let mut row = 0;
    for (_, highest, count) in times.iter() {
        // Half a nanosecond absorbs the rounding of the steps.
        while row < last && highest.0 as f64 > rows[row].upto + 0.5 {
            row += 1;
        }
        add(&mut rows[row], count);
    }
    add(&mut rows[last], times.overflow());
}

#[cfg(test)]
mod tests {
    use knee_core::outcome::Outcome;
    use knee_core::tally::EndpointTally;
    use knee_core::unit::Nanos;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_slow_request_does_not_press_the_others_into_one_row() {
        let mut times = Histogram::new();
        (1..=1_000).for_each(|n| times.record(Nanos(n)));
        times.record(Nanos::from_secs(1));
        let rows = bars(&Distribution::exact(&times));
        assert_eq!(rows.len(), ROWS);
        assert!(rows[..10].iter().all(|row| (95..=101).contains(&row.count)), "{rows:?}");
        assert_eq!((rows[10].upto, rows[10].count), (1e9, 10));
    }

    #[test]
    fn equal_times_are_one_row() {
        let mut times = Histogram::new();
        times.record(Nanos(500));
        times.record(Nanos(500));
        let row = Bar { upto: 500.0, count: 2, bounds: 0 };
        assert_eq!(bars(&Distribution::exact(&times)), [row]);
        assert_eq!(bars(&Distribution::default()), []);
    }

    #[test]
    fn requests_that_were_given_up_are_counted_apart_too() {
        let mut tally = EndpointTally::default();
        tally.outcomes[Outcome::Ok as usize].response.record(Nanos(100));
        tally.outcomes[Outcome::Timeout as usize].response.record_many(Nanos(300), 2);
        let rows = bars(&Distribution::response(&tally));
        assert_eq!((rows[0].count, rows[0].bounds), (1, 0));
        assert_eq!((rows[10].count, rows[10].bounds), (2, 2));
    }

    proptest! {
        #[test]
        fn every_request_is_in_one_row(values in prop::collection::vec(0u64..8_000_000_000_000, 1..200)) {
            let mut times = Histogram::new();
            for value in &values {
                times.record(Nanos(*value));
            }
            let rows = bars(&Distribution::exact(&times));
            prop_assert!(rows.len() <= ROWS);
            prop_assert_eq!(rows.iter().map(|row| row.count).sum::<u64>(), values.len() as u64);
            prop_assert!(rows.windows(2).all(|pair| pair[0].upto < pair[1].upto));
        }
    }
}

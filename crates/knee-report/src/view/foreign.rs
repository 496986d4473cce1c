//! Figures that only formats of other tools need.
//!
//! The project's own reports have none of them.

use knee_core::estimate::{Distribution, samples_needed};
use knee_core::outcome::Outcome;
use knee_core::record::Point;
use knee_core::tally::{EndpointTally, Phase};
use knee_core::unit::Nanos;

use super::bars::{self, Bar};
use super::moment::share_inside;
use super::reading::Reading;
use super::request_stats::RequestStats;

/// Shares at which oha gives times and rates, with its names.
pub const FOREIGN_SHARES: [(&str, f64); 9] = [
    ("p10", 0.1),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

/// Figures for formats of other tools.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// Share of the requests that came due that ended ok, 0 to 1.
    pub ok_share: Option<f64>,
    /// Mean body size of a response in bytes.
    pub body_bytes_per_answer: Option<u64>,
    /// Body bytes per second over the whole run.
    pub body_bytes_per_second: Option<f64>,
    /// Response time of all outcomes, at [`FOREIGN_SHARES`].
    pub response: [Reading; 9],
    /// Time from the last byte sent to the first byte of the response, at [`FOREIGN_SHARES`].
    pub wait: [Reading; 9],
    /// The same as rows to draw.
    pub wait_histogram: Vec<Bar>,
    /// OK responses per second, by interval.
    pub rates: Rates,
}

/// An interval is in the window if more than this share of it is: intervals end a few microseconds
/// late.
const WHOLE: f64 = 0.99;

/// OK responses per second of the intervals that lie wholly in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Their mean.
    pub mean: Option<f64>,
    /// Their standard deviation (that of a sample); `None` for fewer than two.
    pub deviation: Option<f64>,
    /// The least.
    pub min: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
    /// By nearest rank at [`FOREIGN_SHARES`]; `None` where there are too few intervals.
    pub percentiles: [Option<f64>; 9],
}

impl Foreign {
    /// Computes the figures of a run; `window` is its begin and end.
    pub fn of(
        tally: &EndpointTally,
        response: &Distribution,
        total: &RequestStats,
        series: &[Point],
        window: (Nanos, Nanos),
    ) -> Self {
        let wait = Distribution::exact(&tally.phases[Phase::Wait as usize]);
        let shares = |times: &Distribution| FOREIGN_SHARES.map(|(_, q)| times.quantile(q).into());
        let books = &total.books;
        let answers = total.status.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        let ended = series.last().map_or(window.1, |last| last.to);
        let seconds = ended.since(window.0).as_secs_f64();
        Self {
            ok_share: (books.planned > 0).then(|| books.count(Outcome::Ok) as f64 / books.planned as f64),
            body_bytes_per_answer: total.bytes_body.checked_div(answers),
            body_bytes_per_second: (seconds > 0.0).then(|| total.bytes_body as f64 / seconds),
            response: shares(response),
            wait: shares(&wait),
            wait_histogram: bars::bars(&wait),
            rates: Rates::of(series, window),
        }
    }
}

impl Rates {
    fn of(series: &[Point], (from, to): (Nanos, Nanos)) -> Self {
        let whole = series.iter().filter(|point| share_inside(point, from, to) > WHOLE);
        let ok = |point: &Point| point.by_outcome[Outcome::Ok as usize];
        let mut rates: Vec<f64> = whole.filter_map(|point| point.per_second(ok(point))).collect();
        rates.sort_by(f64::total_cmp);
        let count = rates.len();
        if count == 0 {
            return Self::default();
        }
        let mean = rates.iter().sum::<f64>() / count as f64;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        let ranked = |q: f64| rates.get(((q * count as f64).ceil() as usize).saturating_sub(1)).copied();
        Self {
            mean: Some(mean),
            deviation: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            min: rates.first().copied(),
            max: rates.last().copied(),
            percentiles: FOREIGN_SHARES
                .map(|(_, q)| if count as u64 >= samples_needed(q) { ranked(q) } else { None }),
        }
    }
}

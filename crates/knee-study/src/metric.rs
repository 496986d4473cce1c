//! What a trial can measure: names, units, which way is better, and the scale on which figures are compared.
//!
//! Does not measure. A metric that a trial could not measure is absent from its result, never zero.

use std::fmt;
use std::str::FromStr;

use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

/// A figure of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// OK responses per second.
    #[serde(alias = "rate")]
    Goodput,
    /// Responses per second with any outcome.
    Throughput,
    /// Mean response time.
    Mean,
    /// Median response time.
    P50,
    /// 90th percentile of the response time.
    P90,
    /// 95th percentile of the response time.
    P95,
    /// 99th percentile of the response time.
    P99,
    /// 99.9th percentile of the response time.
    #[serde(rename = "p99.9")]
    P99_9,
    /// The longest response time.
    Max,
    /// Share of the requests that failed.
    Errors,
    /// CPU time of the service per request.
    CpuPerRequest,
    /// CPU time of the databases and caches per request.
    StoreCpuPerRequest,
    /// CPU time of the generator per request.
    GeneratorCpuPerRequest,
    /// Database blocks per request, found in memory or not.
    BlocksPerRequest,
    /// Bytes of write-ahead log per request.
    WalPerRequest,
    /// Highest memory use of the service.
    Memory,
    /// Mean bytes of a response's body, as received.
    ResponseSize,
    /// Mean time of execution of a statement in PostgreSQL.
    StatementTime,
    /// Executions of a statement per request.
    StatementCallsPerRequest,
    /// Time of all executions of a statement per request.
    StatementTimePerRequest,
    /// Mean duration of an iteration of a script.
    IterationTime,
    /// Mean time from the scheduled send to the first event of a response.
    FirstEvent,
    /// Mean time from an event to the next.
    EventGap,
    /// Mean of the longest time between two events of each response.
    LongestGap,
    /// Events per second.
    Events,
}

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Requests per second.
    PerSecond,
    /// A share, 0 to 1.
    Share,
    /// A number of something.
    Count,
    /// Bytes.
    Bytes,
}

/// Which way a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A rise is an improvement.
    More,
    /// A fall is an improvement.
    Less,
    /// Neither is.
    None,
}

/// How two figures are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// By their ratio. Differences are natural logarithms of ratios, so that halving is as far from no change as
    /// doubling.
    Ratio,
    /// By their difference, in points: shares, which can be 0.
    Difference,
}

impl Metric {
    /// Every metric, in the order of a table.
    pub const ALL: [Self; 25] = [
        Self::Goodput,
        Self::Throughput,
        Self::Mean,
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P99_9,
        Self::Max,
        Self::Errors,
        Self::CpuPerRequest,
        Self::StoreCpuPerRequest,
        Self::GeneratorCpuPerRequest,
        Self::BlocksPerRequest,
        Self::WalPerRequest,
        Self::Memory,
        Self::ResponseSize,
        Self::StatementTime,
        Self::StatementCallsPerRequest,
        Self::StatementTimePerRequest,
        Self::IterationTime,
        Self::FirstEvent,
        Self::EventGap,
        Self::LongestGap,
        Self::Events,
    ];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::Throughput => "throughput",
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P99_9 => "p99.9",
            Self::Max => "max",
            Self::Errors => "errors",
            Self::CpuPerRequest => "cpu_per_request",
            Self::StoreCpuPerRequest => "store_cpu_per_request",
            Self::GeneratorCpuPerRequest => "generator_cpu_per_request",
            Self::BlocksPerRequest => "blocks_per_request",
            Self::WalPerRequest => "wal_per_request",
            Self::Memory => "memory",
            Self::ResponseSize => "response_size",
            Self::StatementTime => "statement_time",
            Self::StatementCallsPerRequest => "statement_calls_per_request",
            Self::StatementTimePerRequest => "statement_time_per_request",
            Self::IterationTime => "iteration_time",
            Self::FirstEvent => "first_event",
            Self::EventGap => "event_gap",
            Self::LongestGap => "longest_gap",
            Self::Events => "events",
        }
    }

    /// What it is counted in.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Goodput | Self::Throughput | Self::Events => Unit::PerSecond,
            Self::Errors => Unit::Share,
            Self::BlocksPerRequest | Self::StatementCallsPerRequest => Unit::Count,
            Self::WalPerRequest | Self::Memory | Self::ResponseSize => Unit::Bytes,
            _ => Unit::Time,
        }
    }

    /// Which way is better.
    pub const fn direction(self) -> Direction {
        match self {
            Self::Goodput | Self::Events => Direction::More,
            // A service that refuses requests responds to more of them; the generator is not what is compared; a shorter
            // response can say less.
            Self::Throughput | Self::GeneratorCpuPerRequest | Self::ResponseSize => Direction::None,
            _ => Direction::Less,
        }
    }

    /// How two figures are compared.
    pub const fn scale(self) -> Scale {
        match self.unit() {
            Unit::Share => Scale::Difference,
            _ => Scale::Ratio,
        }
    }

    /// The share of requests that are at most as slow as a percentile; `None` for other metrics.
    pub const fn quantile(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.5),
            Self::P90 => Some(0.9),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
            Self::P99_9 => Some(0.999),
            _ => None,
        }
    }

    /// Whether it is measured of each endpoint, and not only of all requests together.
    pub const fn is_by_endpoint(self) -> bool {
        self.is_response_time()
            || matches!(self, Self::Goodput | Self::Throughput | Self::Errors | Self::ResponseSize)
    }

    /// Whether it is measured of one statement of a database, which a claim names, and not of a whole trial.
    pub const fn is_by_statement(self) -> bool {
        matches!(self, Self::StatementTime | Self::StatementCallsPerRequest | Self::StatementTimePerRequest)
    }

    /// Whether it is measured only if a study asks for it, and only of a PostgreSQL server that knee starts.
    pub const fn is_of_postgres(self) -> bool {
        matches!(self, Self::BlocksPerRequest | Self::WalPerRequest)
    }

    /// Whether it is measured only of responses that are streams of events.
    pub const fn is_of_events(self) -> bool {
        matches!(self, Self::FirstEvent | Self::EventGap | Self::LongestGap | Self::Events)
    }

    /// Whether it measures how long a response takes.
    pub const fn is_response_time(self) -> bool {
        self.quantile().is_some() || matches!(self, Self::Mean | Self::Max)
    }

    /// A figure on the scale of the differences; `None` for figures without a value on this scale.
    pub fn scaled(self, value: f64) -> Option<f64> {
        match self.scale() {
            Scale::Difference => (0.0..=1.0).contains(&value).then_some(value),
            Scale::Ratio => (value > 0.0 && value.is_finite()).then(|| value.ln()),
        }
    }

    /// The figure for a value on that scale; a share beyond its ends counts as its ends.
    pub fn unscaled(self, position: f64) -> f64 {
        match self.scale() {
            Scale::Difference => position.clamp(0.0, 1.0),
            Scale::Ratio => position.exp(),
        }
    }

    /// Converts a margin as users state it to the scale of the differences.
    pub fn scaled_margin(self, margin: f64) -> f64 {
        match self.scale() {
            Scale::Difference => margin,
            Scale::Ratio => margin.ln_1p(),
        }
    }

    /// Converts a difference on that scale to a change as users state it: a difference of shares, or `to / from - 1`.
    pub fn as_change(self, difference: f64) -> f64 {
        match self.scale() {
            Scale::Difference => difference,
            Scale::Ratio => difference.exp_m1(),
        }
    }

    /// Reads a figure as a person writes it: `12.5ms`, `421.47/s`, `77.5%`, `0.4`.
    pub fn read(self, text: &str) -> Result<f64, FigureError> {
        let trimmed = text.trim();
        let value = match self.unit() {
            // A bare number could be anything: seconds here, milliseconds in the next tool.
            Unit::Time if trimmed.ends_with(|last: char| last.is_ascii_digit()) => None,
            Unit::Time => trimmed.parse::<Nanos>().ok().map(|nanos| nanos.0 as f64),
            Unit::PerSecond => number(trimmed.strip_suffix("/s").unwrap_or(trimmed)),
            Unit::Share => share(trimmed).filter(|share| *share <= 1.0),
            Unit::Count | Unit::Bytes => number(trimmed),
        };
        value.ok_or_else(|| FigureError { text: text.to_owned(), metric: self })
    }
}

/// A non-negative number, with or without digit groups.
fn number(text: &str) -> Option<f64> {
    let plain = text.trim().replace([',', '_'], "");
    plain.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// `5%` or `0.05`; not negative.
pub fn share(text: &str) -> Option<f64> {
    match text.trim().strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    }
}

/// A text that is not a figure of its metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a figure for {metric}, which is written as {}", example(*.metric))]
pub struct FigureError {
    text: String,
    metric: Metric,
}

const fn example(metric: Metric) -> &'static str {
    match metric.unit() {
        Unit::Time => "\"12.5ms\"",
        Unit::PerSecond => "\"421.47/s\"",
        Unit::Share => "\"0.1%\"",
        Unit::Count => "\"4.2\"",
        Unit::Bytes => "a number of bytes",
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is not a metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a metric")]
pub struct MetricError(String);

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(text: &str) -> Result<Self, MetricError> {
        let known = Self::ALL.into_iter().find(|metric| metric.name() == text);
        known.ok_or_else(|| MetricError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_people_write_them() {
        for (metric, text, value) in [
            (Metric::P99, "299.1ms", 299_100_000.0),
            (Metric::Goodput, "19,253.1/s", 19_253.1),
            (Metric::Goodput, "840", 840.0),
            (Metric::Errors, "77.5%", 0.775),
            (Metric::Errors, "0.001", 0.001),
            (Metric::BlocksPerRequest, "12", 12.0),
        ] {
            let found = metric.read(text).unwrap();
            assert!((found - value).abs() < 1e-6 * value, "{metric} {text}: {found}");
        }
    }

    #[test]
    fn a_time_without_a_unit_and_a_share_above_all_are_refused() {
        for (metric, text) in [
            (Metric::P50, "12.5"),
            (Metric::P50, ""),
            (Metric::Errors, "120%"),
            (Metric::Errors, "-1%"),
            (Metric::Goodput, "fast"),
            (Metric::Goodput, "NaN"),
            (Metric::Goodput, "-3/s"),
            (Metric::Memory, "inf"),
        ] {
            assert!(metric.read(text).is_err(), "{metric} {text}");
        }
        let text = Metric::P50.read("12.5").unwrap_err().to_string();
        assert_eq!(text, "`12.5` is not a figure for p50, which is written as \"12.5ms\"");
    }

    #[test]
    fn names_are_read_back_and_are_those_of_the_files() {
        for metric in Metric::ALL {
            assert_eq!(metric.name().parse(), Ok(metric));
            let toml = toml::to_string(&std::collections::BTreeMap::from([("metric", metric)])).unwrap();
            assert_eq!(toml, format!("metric = \"{metric}\"\n"));
        }
        assert!("latency_of_sorts".parse::<Metric>().is_err());
    }

    #[test]
    fn no_figure_leaves_the_scale_of_differences() {
        assert_eq!(Metric::Goodput.scaled(0.0), None);
        assert_eq!(Metric::P50.scaled(f64::NAN), None);
        assert_eq!(Metric::Errors.scaled(0.0), Some(0.0));
        assert_eq!(Metric::Errors.scaled(1.5), None);
        assert_eq!(
            Metric::Errors.scaled(0.25),
            Some(0.25),
            "a difference of shares is in points at any level"
        );
        assert!(Metric::Errors.unscaled(-0.1) >= 0.0);
    }
}

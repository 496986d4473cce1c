//! The grammar of a threshold: `aggregation comparison number`, such as `p(95)<500`.
//!
//! Does not know metrics' names or tags. The words of the errors are k6's, spelling included.

use std::fmt;
use std::str::FromStr;

use crate::duration::SignedDuration;
use crate::metric::{Kind, Sink};

/// A parsed threshold: a figure, a comparison, a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expression {
    /// The figure of the metric.
    pub aggregation: Aggregation,
    /// The comparison.
    pub comparison: Comparison,
    /// The limit.
    pub limit: f64,
}

impl Expression {
    /// Whether `value` passes.
    pub fn holds(&self, value: f64) -> bool {
        match self.comparison {
            Comparison::LessOrEqual => value <= self.limit,
            Comparison::Less => value < self.limit,
            Comparison::GreaterOrEqual => value >= self.limit,
            Comparison::Greater => value > self.limit,
            Comparison::Equal => is_same(value, self.limit),
            Comparison::NotEqual => !is_same(value, self.limit),
        }
    }
}

/// Exact equality is what a script asks for with `==`.
#[allow(clippy::float_cmp, reason = "`rate==1` means exactly one")]
fn is_same(value: f64, limit: f64) -> bool {
    value == limit
}

/// A figure that a metric can be asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aggregation {
    /// Sum of a counter.
    Count,
    /// Sum per second of a counter; share of a rate.
    Rate,
    /// Last value of a gauge.
    Value,
    /// Arithmetic mean of a trend.
    Avg,
    /// Smallest value of a trend.
    Min,
    /// Largest value of a trend.
    Max,
    /// Median of a trend.
    Med,
    /// Percentile of a trend, 0 to 100.
    Percentile(f64),
}

impl Aggregation {
    /// The figure of `sink` after `elapsed` of the run; zero where the kind of metric has no such figure.
    pub fn of(self, sink: &Sink, elapsed: SignedDuration) -> f64 {
        match (self, sink) {
            (Self::Count, Sink::Counter(counter)) => counter.sum(),
            (Self::Rate, Sink::Counter(counter)) => counter.per_second(elapsed.as_secs_f64()),
            (Self::Value, Sink::Gauge(gauge)) => gauge.value(),
            (Self::Rate, Sink::Rate(rate)) => rate.share(),
            (Self::Avg, Sink::Trend(trend)) => trend.avg(),
            (Self::Min, Sink::Trend(trend)) => trend.min(),
            (Self::Max, Sink::Trend(trend)) => trend.max(),
            (Self::Med, Sink::Trend(trend)) => trend.percentile(50.0),
            (Self::Percentile(percent), Sink::Trend(trend)) => trend.percentile(percent),
            _ => 0.0,
        }
    }

    /// Whether a metric of this kind has such a figure.
    pub fn fits(self, kind: Kind) -> bool {
        Self::methods(kind).contains(&self.method())
    }

    /// Its name in a threshold, without the number of a percentile.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Rate => "rate",
            Self::Value => "value",
            Self::Avg => "avg",
            Self::Min => "min",
            Self::Max => "max",
            Self::Med => "med",
            Self::Percentile(_) => "p",
        }
    }

    /// The methods that a kind of metric has.
    pub const fn methods(kind: Kind) -> &'static [&'static str] {
        match kind {
            Kind::Counter => &["count", "rate"],
            Kind::Gauge => &["value"],
            Kind::Rate => &["rate"],
            Kind::Trend => &["avg", "min", "max", "med", "p"],
        }
    }
}

/// As it stands in a threshold and before the value in the summary: `avg`, `p(95)`.
impl fmt::Display for Aggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percentile(percent) => write!(f, "p({percent})"),
            other => f.write_str(other.method()),
        }
    }
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<=`
    LessOrEqual,
    /// `<`
    Less,
    /// `>=`
    GreaterOrEqual,
    /// `>`
    Greater,
    /// `===` or `==`
    Equal,
    /// `!=`
    NotEqual,
}

/// In the order in which k6 looks for them, so that `<=` is not taken for `<`.
const SIGNS: [(&str, Comparison); 7] = [
    ("<=", Comparison::LessOrEqual),
    ("<", Comparison::Less),
    (">=", Comparison::GreaterOrEqual),
    (">", Comparison::Greater),
    ("===", Comparison::Equal),
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
];

/// Why a text is not a threshold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// No comparison with a right side.
    #[error("failed parsing threshold expression {0:?}; reason: malformed threshold expression")]
    Malformed(String),
    /// The left side of the comparison is not a figure.
    #[error("failed parsing threshold expression's {source_text:?} left hand side; reason: {reason}")]
    Left {
        /// The whole expression.
        source_text: String,
        /// The error of the left side.
        reason: String,
    },
    /// The right side of the comparison is not a number.
    #[error(
        "failed parsing threshold expresion's {source_text:?} right hand side; reason: strconv.ParseFloat: parsing {number:?}: invalid syntax"
    )]
    Right {
        /// The whole expression.
        source_text: String,
        /// The text that should be a number.
        number: String,
    },
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        let (left, comparison, right) =
            split(text).ok_or_else(|| ExpressionError::Malformed(text.to_owned()))?;
        let aggregation = aggregation(left)
            .map_err(|reason| ExpressionError::Left { source_text: text.to_owned(), reason })?;
        let limit = float(right).ok_or_else(|| ExpressionError::Right {
            source_text: text.to_owned(),
            number: right.to_owned(),
        })?;
        Ok(Self { aggregation, comparison, limit })
    }
}

/// The first sign of [`SIGNS`] that has something on its right, and both sides without blanks.
fn split(text: &str) -> Option<(&str, Comparison, &str)> {
    SIGNS.iter().find_map(|&(sign, comparison)| {
        let (left, right) = text.split_once(sign)?;
        (!right.is_empty()).then_some((left.trim(), comparison, right.trim()))
    })
}

fn aggregation(text: &str) -> Result<Aggregation, String> {
    match text {
        "count" => Ok(Aggregation::Count),
        "rate" => Ok(Aggregation::Rate),
        "value" => Ok(Aggregation::Value),
        "avg" => Ok(Aggregation::Avg),
        "min" => Ok(Aggregation::Min),
        "max" => Ok(Aggregation::Max),
        "med" => Ok(Aggregation::Med),
        _ => percentile(text),
    }
}

fn percentile(text: &str) -> Result<Aggregation, String> {
    let number = text
        .strip_prefix("p(")
        .and_then(|rest| rest.strip_suffix(')'))
        .ok_or("failed parsing method from expression")?;
    let percent = float(number).ok_or_else(|| {
        format!("malformed percentile value; reason: strconv.ParseFloat: parsing {number:?}: invalid syntax")
    })?;
    // k6 takes it, and panics when it is to be computed.
    if !(0.0..=100.0).contains(&percent) {
        return Err(format!("malformed percentile value; reason: {number} is not from 0 to 100"));
    }
    Ok(Aggregation::Percentile(percent))
}

/// A number as Go reads one: single underscores can stand between digits.
fn float(text: &str) -> Option<f64> {
    let has_stray_underscore = text.starts_with('_')
        || text.as_bytes().windows(2).any(|pair| {
            (pair[0] == b'_' && !pair[1].is_ascii_digit()) || (pair[1] == b'_' && !pair[0].is_ascii_digit())
        })
        || text.ends_with('_');
    if has_stray_underscore {
        return None;
    }
    text.replace('_', "").parse().ok()
}

//! Thresholds: the pass criteria of a run, as k6 scripts write them.
//!
//! Does not know where the figures come from (see [`crate::metric`]) and does not stop a run; it reports
//! whether one should be stopped.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::duration::SignedDuration;
use crate::metric::{Contains, Kind, Sink};
use crate::read::{ConfigError, Read, ReadError, required};

mod expression;

pub use expression::{Aggregation, Comparison, Expression, ExpressionError};

#[cfg(test)]
mod tests;

/// One threshold as it stands in the options, not yet parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThresholdText {
    /// The expression, as written.
    pub source: String,
    /// Whether the run ends as soon as it does not hold.
    pub abort_on_fail: bool,
    /// Time after the start of the run in which it must not end the run.
    pub delay_abort_eval: SignedDuration,
}

impl Read for ThresholdText {
    fn read(value: &Value) -> Result<Option<Self>, ReadError> {
        let source = match value {
            Value::String(source) => source.clone(),
            Value::Object(entries) => {
                required(entries.get("threshold").unwrap_or(&Value::Null), "a threshold")?
            }
            _ => {
                return Err(ReadError::kind(
                    "a threshold: a text or {threshold, abortOnFail, delayAbortEval}",
                    value,
                ));
            }
        };
        let member = |name| value.get(name).unwrap_or(&Value::Null);
        Ok(Some(Self {
            source,
            abort_on_fail: bool::read(member("abortOnFail"))?.unwrap_or(false),
            delay_abort_eval: SignedDuration::read(member("delayAbortEval"))?.unwrap_or(SignedDuration::ZERO),
        }))
    }
}

/// The thresholds of the options, by metric or `metric{tag:value}`, in the order they were written.
pub type ThresholdTexts = BTreeMap<String, Vec<ThresholdText>>;

impl Read for ThresholdTexts {
    fn read(value: &Value) -> Result<Option<Self>, ReadError> {
        let Value::Object(entries) = value else {
            return if value.is_null() { Ok(None) } else { Err(ReadError::kind("an object", value)) };
        };
        entries
            .iter()
            .map(|(metric, list)| Ok((metric.clone(), texts(metric, list)?)))
            .collect::<Result<_, _>>()
            .map(Some)
    }
}

fn texts(metric: &str, list: &Value) -> Result<Vec<ThresholdText>, ReadError> {
    let Value::Array(items) = list else {
        return Err(ReadError::kind(&format!("an array of thresholds for `{metric}`"), list));
    };
    let one = |item| required::<ThresholdText>(item, "a threshold");
    items
        .iter()
        .map(one)
        .collect::<Result<_, ReadError>>()
        .map_err(|error| ReadError(format!("`{metric}`: {error}")))
}

/// One threshold, ready to be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The expression, as written; it names the threshold in every output.
    pub source: String,
    /// The parsed expression.
    pub expression: Expression,
    /// Whether the run ends as soon as it does not hold.
    pub abort_on_fail: bool,
    /// Time after the start of the run in which it must not end the run.
    pub delay_abort_eval: SignedDuration,
}

impl Threshold {
    /// Parses the text of the options.
    pub fn parse(text: &ThresholdText) -> Result<Self, ExpressionError> {
        Ok(Self {
            source: text.source.clone(),
            expression: text.source.parse()?,
            abort_on_fail: text.abort_on_fail,
            delay_abort_eval: text.delay_abort_eval,
        })
    }

    /// Whether it holds for what `sink` has seen after `elapsed` of the run. As in k6, a metric without
    /// samples has the value zero, except that a rate without samples always passes.
    pub fn holds(&self, sink: &Sink, elapsed: SignedDuration) -> bool {
        if matches!(sink, Sink::Rate(rate) if rate.total() == 0) {
            return true;
        }
        self.expression.holds(self.expression.aggregation.of(sink, elapsed))
    }

    /// Whether a failure at `elapsed` should end the run.
    pub fn aborts(&self, elapsed: SignedDuration) -> bool {
        self.abort_on_fail && elapsed >= self.delay_abort_eval
    }
}

/// The thresholds of one metric or sub-metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Guarded {
    /// The metric, or `metric{tag:value}`, as written.
    pub name: String,
    /// The kind of the metric.
    pub kind: Kind,
    /// Unit of its values.
    pub contains: Contains,
    /// Its thresholds, in the order of the options.
    pub thresholds: Vec<Threshold>,
}

/// The thresholds of one metric or sub-metric, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The metric, or `metric{tag:value}`, as written.
    pub name: String,
    /// The kind of the metric.
    pub kind: Kind,
    /// Unit of its values.
    pub contains: Contains,
    /// Its thresholds, in the order of the options.
    pub thresholds: Vec<JudgedThreshold>,
}

/// One threshold, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedThreshold {
    /// The expression, as written.
    pub source: String,
    /// The figure that it limits.
    pub aggregation: Aggregation,
    /// Value of the figure.
    pub value: f64,
    /// Whether it held.
    pub holds: bool,
}

/// Judges all thresholds after `elapsed` of the run. `sink_of` knows what a metric or sub-metric has
/// seen. While the run goes on (`is_over` is false), metrics without samples are left alone.
pub fn judge(
    guards: &[Guarded],
    sink_of: impl Fn(&str) -> Option<Sink>,
    elapsed: SignedDuration,
    is_over: bool,
) -> (Vec<Judged>, Verdict) {
    let mut verdict = Verdict::default();
    let mut judged = Vec::new();
    for guard in guards {
        let sink = sink_of(&guard.name).filter(|sink| !sink.is_empty());
        if sink.is_none() && !is_over {
            continue;
        }
        let sink = sink.unwrap_or_else(|| Sink::new(guard.kind));
        let mut crossed = false;
        let one = |threshold: &Threshold| {
            let holds = threshold.holds(&sink, elapsed);
            crossed |= !holds;
            verdict.abort |= !holds && threshold.aborts(elapsed);
            let aggregation = threshold.expression.aggregation;
            JudgedThreshold {
                source: threshold.source.clone(),
                aggregation,
                value: aggregation.of(&sink, elapsed),
                holds,
            }
        };
        let thresholds = guard.thresholds.iter().map(one).collect();
        if crossed {
            verdict.crossed.push(guard.name.clone());
        }
        judged.push(Judged {
            name: guard.name.clone(),
            kind: guard.kind,
            contains: guard.contains,
            thresholds,
        });
    }
    (judged, verdict)
}

/// Result of one evaluation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The metrics whose thresholds do not hold, sorted by name.
    pub crossed: Vec<String>,
    /// Whether one of them asks to end the run now.
    pub abort: bool,
}

/// The error that k6 prints at the end of a run.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thresholds on metrics '{}' have been crossed", self.crossed.join(", "))
    }
}

/// Parses every threshold of the options. `kind_of` knows the metrics by their name alone;
/// `None` means that no such metric exists.
pub fn compile(
    texts: &ThresholdTexts,
    kind_of: impl Fn(&str) -> Option<(Kind, Contains)>,
) -> Result<Vec<Guarded>, ConfigError> {
    texts.iter().map(|(name, list)| guarded(name, list, &kind_of)).collect()
}

fn guarded(
    name: &str,
    list: &[ThresholdText],
    kind_of: &impl Fn(&str) -> Option<(Kind, Contains)>,
) -> Result<Guarded, ConfigError> {
    let parse = |text| Threshold::parse(text).map_err(|error| ConfigError::new(error.to_string()));
    let thresholds: Vec<Threshold> = list.iter().map(parse).collect::<Result<_, _>>()?;
    let key = crate::metric::Key::parse(name).map_err(|error| {
        ConfigError::new(format!(
            "unable to validate threshold expressions; reason: parsing metric name failed, {error}"
        ))
    })?;
    let Some((kind, contains)) = kind_of(&key.metric) else {
        return Err(ConfigError::new(format!(
            "invalid threshold defined on {name}; reason: no metric name {:?} found",
            key.metric
        )));
    };
    for threshold in &thresholds {
        check_kind(name, threshold, kind)?;
    }
    Ok(Guarded { name: name.to_owned(), kind, contains, thresholds })
}

fn check_kind(name: &str, threshold: &Threshold, kind: Kind) -> Result<(), ConfigError> {
    let aggregation = threshold.expression.aggregation;
    if aggregation.fits(kind) {
        return Ok(());
    }
    Err(ConfigError::new(format!(
        "invalid threshold {:?} applied on metric {name}; reason: unsupported aggregation method {} on metric of type {kind}. \
         supported aggregation methods for this metric are: {}",
        threshold.source,
        aggregation.method(),
        Aggregation::methods(kind).join(", "),
    )))
}

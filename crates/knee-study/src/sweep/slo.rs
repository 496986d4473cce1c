//! Limits on response time, as people write them: `p99<250ms`.
//!
//! Does not decide about a step; [`super::rule`] does.

use std::fmt;
use std::str::FromStr;

use knee_core::estimate::{Distribution, samples_needed};
use knee_core::unit::Nanos;
use serde::Serialize;

/// A limit on response time (done - due), or on the times of the events of responses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slo {
    /// Which times.
    pub of: Timed,
    /// The statistic that is compared with the limit.
    pub statistic: Statistic,
    /// The limit; the statistic must lie below or at it.
    pub limit: Nanos,
}

/// Times that can have a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Timed {
    /// Of responses, until their end.
    #[default]
    Response,
    /// Until the first event of each response.
    FirstEvent,
    /// The longest time between two events of each response.
    LongestGap,
}

impl Timed {
    const ALL: [Self; 3] = [Self::Response, Self::FirstEvent, Self::LongestGap];

    /// The name before a statistic, as it is written; response times have none.
    const fn name(self) -> &'static str {
        match self {
            Self::Response => "",
            Self::FirstEvent => "first_event",
            Self::LongestGap => "longest_gap",
        }
    }
}

/// A statistic of a distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Statistic {
    /// A quantile, 0 to below 1.
    Quantile(f64),
    /// The mean.
    Mean,
    /// The greatest.
    Max,
}

/// Result of a step for one limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// Whether it was met.
    pub kept: bool,
    /// The statistic in seconds; a lower bound if requests did not end.
    pub seconds: f64,
    /// Whether there were enough requests for the statistic to be published on its own.
    pub enough: bool,
    /// Requests that took longer than the limit, or might have.
    pub over: u64,
    /// All requests.
    pub n: u64,
}

impl Slo {
    /// Compares response times with the limit; `None` without any.
    ///
    /// A quantile is judged by counting: `p99<250ms` is met if at most 1 % of the requests took longer, or might have
    /// because they never ended. Counting needs no interpolation and works for any number of requests. With fewer than
    /// [`samples_needed`] the result depends on luck.
    pub fn judge(&self, times: &Distribution) -> Option<Held> {
        let all = times.all();
        let n = times.n();
        let bounds = times.bounds().count_at_or_below(self.limit);
        let within = all.count_at_or_below(self.limit).saturating_sub(bounds);
        let over = n.saturating_sub(within);
        let (nanos, kept) = match self.statistic {
            Statistic::Quantile(q) => {
                // Half a request absorbs the rounding of n (1 - q).
                (all.quantile(q)?.0 as f64, over as f64 <= n as f64 * (1.0 - q) + 1e-6)
            }
            Statistic::Mean => (all.mean()?, all.mean()? <= self.limit.0 as f64),
            Statistic::Max => (all.max()?.0 as f64, all.max()? <= self.limit && times.bounds().count() == 0),
        };
        let enough = match self.statistic {
            Statistic::Quantile(q) => n >= samples_needed(q),
            Statistic::Mean | Statistic::Max => true,
        };
        Some(Held { kept, seconds: nanos / 1e9, enough, over, n })
    }

    /// What is limited, as reports name it: `p99`, or `first event p99`.
    pub fn measured(&self) -> String {
        let words = self.of.name().replace('_', " ");
        if words.is_empty() { self.statistic.to_string() } else { format!("{words} {}", self.statistic) }
    }

    /// Requests that a step needs for a reliable judgement of the limit.
    pub fn samples(&self) -> u64 {
        match self.statistic {
            Statistic::Quantile(q) => samples_needed(q),
            Statistic::Mean | Statistic::Max => 200,
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // 0.999 is 99.9 and not 99.90000000000001.
            Self::Quantile(q) => write!(f, "p{}", (q * 1e7).round() / 1e5),
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
        }
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ≤ {}", self.measured(), self.limit)
    }
}

/// Why a limit could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a limit on response time")]
pub struct SloError(String);

/// Reads `p99<250ms`, `p99.9<=1s`, `mean<20ms`, `max<2s`, `first_event p99<500ms`. `<` and `<=` mean the same, because
/// a measured time practically never equals the limit.
impl FromStr for Slo {
    type Err = SloError;

    fn from_str(text: &str) -> Result<Self, SloError> {
        let error = || SloError(text.to_owned());
        let (statistic, limit) = text.split_once('<').ok_or_else(error)?;
        let limit = limit.strip_prefix('=').unwrap_or(limit).trim();
        let (of, statistic) = timed(statistic.trim());
        let statistic = match statistic {
            "mean" | "avg" => Statistic::Mean,
            "max" => Statistic::Max,
            "median" | "med" => Statistic::Quantile(0.5),
            quantile => Statistic::Quantile(percent(quantile).ok_or_else(error)? / 100.0),
        };
        // A bare number would be seconds, which is not what `p99<250` is meant to say.
        if limit.is_empty() || limit.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return Err(error());
        }
        let limit: Nanos = limit.parse().map_err(|_| error())?;
        if limit == Nanos::ZERO { Err(error()) } else { Ok(Self { of, statistic, limit }) }
    }
}

/// Which times a limit is about, and the statistic after that.
fn timed(text: &str) -> (Timed, &str) {
    let named = Timed::ALL.into_iter().skip(1).find_map(|of| {
        let rest = text.strip_prefix(of.name())?;
        rest.starts_with(char::is_whitespace).then(|| (of, rest.trim_start()))
    });
    named.unwrap_or((Timed::Response, text))
}

/// `p99.9` or `p(99.9)` as 99.9; above 0 and below 100.
fn percent(text: &str) -> Option<f64> {
    let number = text.strip_prefix('p')?;
    let number = number.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(number);
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: f64 = plain.then(|| number.parse().ok())??;
    (value > 0.0 && value < 100.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use knee_core::outcome::Outcome;
    use knee_core::tally::EndpointTally;

    use super::*;

    #[test]
    fn limits_are_read_as_people_write_them() {
        for (text, shown) in [
            ("p99<250ms", "p99 ≤ 250 ms"),
            ("p99.9 <= 1s", "p99.9 ≤ 1.00 s"),
            ("p(95)<20ms", "p95 ≤ 20.0 ms"),
            ("mean<2ms", "mean ≤ 2.00 ms"),
            ("max<3s", "max ≤ 3.00 s"),
            ("first_event p99<500ms", "first event p99 ≤ 500 ms"),
            ("longest_gap  max < 2s", "longest gap max ≤ 2.00 s"),
        ] {
            assert_eq!(text.parse::<Slo>().map(|slo| slo.to_string()).as_deref(), Ok(shown), "{text}");
        }
    }

    #[test]
    fn what_is_no_limit_is_refused() {
        for text in [
            "",
            "p99",
            "p99<",
            "p99<250",
            "p100<1s",
            "p0<1s",
            "p-1<1s",
            "q99<1s",
            "p99>1s",
            "p99<0s",
            "p99<x",
            "first_eventp99<1s",
            "first_event<1s",
            "gap p99<1s",
        ] {
            assert!(text.parse::<Slo>().is_err(), "{text}");
        }
    }

    /// 99 requests of 10 ms and one that took `last` or, if `given_up`, more.
    fn hundred(last: Nanos, given_up: bool) -> Distribution {
        let mut tally = EndpointTally::default();
        tally.outcomes[Outcome::Ok as usize].response.record_many(Nanos::from_millis(10), 99);
        let outcome = if given_up { Outcome::Timeout } else { Outcome::Ok };
        tally.outcomes[outcome as usize].response.record(last);
        Distribution::response(&tally)
    }

    #[test]
    fn one_slow_request_in_a_hundred_keeps_p99_and_breaks_p99_9() {
        let times = hundred(Nanos::from_secs(9), false);
        let kept = |text: &str| text.parse::<Slo>().unwrap().judge(&times).unwrap().kept;
        assert!(kept("p99<20ms"));
        assert!(!kept("p99.9<20ms"));
        assert!(!kept("max<1s"));
        assert!(!kept("mean<20ms"), "the mean is 99.9 ms");
    }

    #[test]
    fn a_request_that_was_given_up_early_counts_as_too_slow() {
        let times = hundred(Nanos::from_millis(1), true);
        let held = |text: &str| text.parse::<Slo>().unwrap().judge(&times).unwrap().kept;
        assert!(held("p99<20ms"));
        assert!(!held("p99.5<20ms"), "it might have taken any time");
        assert!(!held("max<20ms"));
    }
}

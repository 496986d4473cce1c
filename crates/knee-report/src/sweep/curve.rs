//! The curve of a sweep: response time and goodput over the offered load, with marks.
//!
//! Defines what is drawn; the text and the SVG draw it.

use knee_study::sweep::rule::Outcome;
use knee_study::sweep::{FinishedStep, LevelRange, LoadKind, Report};

use super::goal::{self, Tail};
use crate::view::reading::Reading;

/// A step on the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// What was asked for.
    pub level: f64,
    /// Responses that were ok, per second.
    pub goodput: f64,
    /// Median response time in seconds.
    pub p50: Option<f64>,
    /// Response time in the tail in seconds.
    pub tail: Option<f64>,
    /// What came of it.
    pub outcome: Outcome,
}

/// A mark on the axis of levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// What it is.
    pub name: &'static str,
    /// One letter for it.
    pub letter: char,
    /// Where.
    pub interval: LevelRange,
}

/// A percentile of response time over the levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Percentile {
    /// Its name: `p99`.
    pub name: String,
    /// Each step that has it: its level, the time in seconds, what came of it; ascending by level.
    pub steps: Vec<(f64, f64, Outcome)>,
    /// Each level once, with the median time of its steps in seconds, those left out that say nothing of the service.
    pub medians: Vec<(f64, f64)>,
}

impl Percentile {
    fn of(report: &Report, name: &str, q: f64) -> Self {
        let step = |trial: &FinishedStep| {
            let seconds = goal::reading(trial, q).nanos().filter(|nanos| *nanos > 0.0)? / 1e9;
            Some((trial.step.load.level(), seconds, trial.judged.outcome))
        };
        let mut steps: Vec<(f64, f64, Outcome)> = report.ladder().filter_map(step).collect();
        steps.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
        let valid: Vec<(f64, f64)> = steps
            .iter()
            .filter(|(.., outcome)| *outcome != Outcome::Void)
            .map(|(level, seconds, _)| (*level, *seconds))
            .collect();
        let median = |at_level: &[(f64, f64)]| {
            let (low, high) = (at_level[(at_level.len() - 1) / 2], at_level[at_level.len() / 2]);
            (low.0, f64::midpoint(low.1, high.1))
        };
        let medians = valid.chunk_by(|one, other| one.0.total_cmp(&other.0).is_eq()).map(median).collect();
        Self { name: name.to_owned(), steps, medians }
    }
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Steps of the ladder, ascending by level.
    pub dots: Vec<Dot>,
    /// Response times at the median and at the percentiles of the limits.
    pub percentiles: Vec<Percentile>,
    /// Limits on response time with their names, in seconds.
    pub limits: Vec<(String, f64)>,
    /// Knee, capacity and breaking point, if known.
    pub marks: Vec<Mark>,
    /// The unit of levels.
    pub unit: &'static str,
    /// The unit of throughput.
    pub rate_unit: &'static str,
    /// Name of the tail.
    pub tail: &'static str,
    /// Whether the axis of levels is logarithmic: it is if they span a wide range.
    pub log_levels: bool,
}

/// The axis is logarithmic if levels span more than this factor.
const FAR: f64 = 30.0;

impl Curve {
    /// The curve of a report; `q` is the quantile of the tail, `tails` are the percentiles of the limits.
    pub fn of(report: &Report, (tail, q): (&'static str, f64), tails: &[Tail]) -> Self {
        let secs = |reading: Reading| reading.nanos().map(|nanos| nanos / 1e9);
        let mut dots: Vec<Dot> = report
            .ladder()
            .map(|trial| Dot {
                level: trial.step.load.level(),
                goodput: trial.result.goodput,
                p50: secs(trial.result.response.quantile(0.5).into()),
                tail: secs(trial.result.response.quantile(q).into()),
                outcome: trial.judged.outcome,
            })
            .collect();
        dots.sort_by(|a, b| a.level.total_cmp(&b.level));
        let knee = report
            .knee
            .as_ref()
            .filter(|knee| !knee.at_the_end && !knee.at_the_start)
            .map(|knee| knee.interval);
        let marks = [
            ("knee", 'K', knee),
            ("capacity", 'C', report.capacity.interval()),
            ("breaking point", 'B', report.breaking.interval()),
        ];
        let span = dots.last().map_or(1.0, |last| last.level / dots[0].level);
        Self {
            dots,
            marks: marks
                .into_iter()
                .filter_map(|(name, letter, at)| Some(Mark { name, letter, interval: at? }))
                .collect(),
            percentiles: std::iter::once(("p50", 0.5))
                .chain(tails.iter().map(|tail| (tail.name.as_str(), tail.q)))
                .map(|(name, q)| Percentile::of(report, name, q))
                .collect(),
            limits: goal::limits(report),
            unit: report.unit(),
            rate_unit: if report.config.kind == LoadKind::Iterations { "iterations/s" } else { "requests/s" },
            tail,
            log_levels: span > FAR,
        }
    }

    /// The lowest and the highest level; `None` with fewer than two.
    pub fn levels(&self) -> Option<(f64, f64)> {
        let (first, last) = (self.dots.first()?.level, self.dots.last()?.level);
        (last > first).then_some((if self.log_levels { first } else { 0.0 }, last))
    }

    /// Whether levels are counted: they are numbers of connections.
    pub fn is_counted(&self) -> bool {
        self.unit == "connections"
    }

    /// The shortest and the longest time of the percentiles and their limits, in seconds.
    pub fn times_with_limits(&self) -> Option<(f64, f64)> {
        let of_steps = self.percentiles.iter().flat_map(|one| &one.steps).map(|(_, seconds, _)| *seconds);
        let (least, most) = of_steps.fold(None, |ends: Option<(f64, f64)>, seconds| match ends {
            None => Some((seconds, seconds)),
            Some((least, most)) => Some((least.min(seconds), most.max(seconds))),
        })?;
        let limits = || self.limits.iter().map(|(_, seconds)| *seconds);
        Some((limits().fold(least, f64::min), limits().fold(most, f64::max)))
    }

    /// The shortest and the longest time that is drawn, in seconds, above zero.
    pub fn times(&self) -> Option<(f64, f64)> {
        let times =
            || self.dots.iter().flat_map(|dot| [dot.p50, dot.tail]).flatten().filter(|time| *time > 0.0);
        Some((times().reduce(f64::min)?, times().reduce(f64::max)?))
    }
}

//! The curve of a sweep: response time and goodput over the offered load, with marks.
//!
//! Defines what is drawn; the text and the SVG draw it.

use knee_study::sweep::rule::Outcome;
use knee_study::sweep::{LevelRange, LoadKind, Report};

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

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Steps of the ladder, ascending by level.
    pub dots: Vec<Dot>,
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
    /// The curve of a report; `q` is the quantile of the tail.
    pub fn of(report: &Report, tail: &'static str, q: f64) -> Self {
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

    /// The shortest and the longest time that is drawn, in seconds, above zero.
    pub fn times(&self) -> Option<(f64, f64)> {
        let times =
            || self.dots.iter().flat_map(|dot| [dot.p50, dot.tail]).flatten().filter(|time| *time > 0.0);
        Some((times().reduce(f64::min)?, times().reduce(f64::max)?))
    }
}

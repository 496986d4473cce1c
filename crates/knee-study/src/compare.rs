//! Two sides under one load: the study behind `knee compare` and `knee calibrate`, and its result.
//!
//! Does not know what a side is (an address, a command) or what is sent to it; its caller does.

use std::collections::BTreeMap;

use knee_core::fixture::Declaration;
use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

use crate::definition::{Cell, Definition, Design, DesignKind, Load, Variant, Workload};
use crate::metric::Metric;
use crate::statistics::verdict::Verdict;
use crate::study::{Conclusion, Effect, Row, Study};

/// The baseline.
pub const A: &str = "A";

/// The candidate.
pub const B: &str = "B";

/// The load of both.
pub const LOAD: &str = "load";

/// Settings of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Title of the report.
    pub title: String,
    /// The fixture to start, if any; the service under load is called `main`.
    pub fixture: Declaration,
    /// The sides: one for an A/A test, or [`A`] and [`B`].
    pub variants: Vec<Variant>,
    /// Blocks; each has every side once.
    pub blocks: usize,
    /// Warm-up before each trial.
    pub warm_up: Nanos,
    /// How long a trial measures.
    pub measure: Nanos,
    /// Seed of every order and every arrival.
    pub seed: u64,
    /// Equivalence margin as a share; `None` for 5 %, or more if the machine's noise requires it.
    pub margin: Option<f64>,
    /// Metrics that get a verdict, the most important first.
    pub metrics: Vec<Metric>,
}

impl Asked {
    /// The study that runs it.
    pub fn definition(self) -> Definition {
        let order: Vec<String> = self.variants.iter().map(|variant| variant.name.clone()).collect();
        let workload = Workload {
            name: LOAD.to_owned(),
            text: String::new(),
            service: "main".to_owned(),
            load: Load::OfCaller,
            measure: None,
            reset: false,
        };
        let design = Design {
            kind: DesignKind::Pairs,
            baseline: order.first().cloned().unwrap_or_default(),
            order,
            best: None,
            pairs: Vec::new(),
            growth: None,
            blocks: self.blocks,
            quick: Vec::new(),
            restart_every: 1,
            warm_up: self.warm_up,
            settle: self.warm_up,
            measure: self.measure,
            seed: self.seed,
            margin: self.margin,
            margins: BTreeMap::new(),
            metrics: self.metrics,
            // A pipeline needs a duration that is known beforehand.
            extend: false,
            aa: false,
        };
        Definition {
            title: self.title,
            question: None,
            source: None,
            claims_in: Vec::new(),
            fixture: self.fixture,
            switches: BTreeMap::new(),
            statements: BTreeMap::new(),
            variants: self.variants,
            workloads: vec![workload],
            design,
            claims: Vec::new(),
            published: Vec::new(),
        }
    }
}

/// A side without changes.
pub fn variant(name: &str, text: &str) -> Variant {
    Variant {
        name: name.to_owned(),
        text: text.to_owned(),
        extends: None,
        service: "main".to_owned(),
        switches: BTreeMap::new(),
        env: BTreeMap::new(),
        command: None,
        revision: None,
        sql: BTreeMap::new(),
        settings: BTreeMap::new(),
    }
}

/// The result of B against A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What A is.
    pub a: String,
    /// What B is.
    pub b: String,
    /// The load of both.
    pub load: String,
    /// The verdict on B by the first metric.
    pub verdict: Verdict,
    /// That metric.
    pub by: Metric,
    /// Metrics by which B is worse, with a point estimate beyond the margin.
    pub regressions: Vec<Metric>,
    /// Whether A and B are the same service, so that any difference is noise.
    pub same_service: bool,
    /// Sides that were one process in all their trials, because knee did not start them: differences between two starts
    /// of the same service are not in the intervals.
    #[serde(default)]
    pub not_restarted: Vec<String>,
    /// Every metric, the most important first.
    pub metrics: Vec<Line>,
    /// The study of both.
    pub study: Conclusion,
}

/// One metric of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// What A measured; `None` if it did not.
    pub a: Option<Row>,
    /// What B measured.
    pub b: Option<Row>,
    /// Whether B is worse, with a point estimate beyond the margin.
    pub regression: bool,
    /// Noise floor of this machine for this many blocks, in the sense of the change, if known.
    pub noise_floor: Option<f64>,
    /// The change from A to B, and the verdict on B.
    #[serde(flatten)]
    pub effect: Effect,
}

impl Comparison {
    /// The result of a study of [`Asked::definition`]. `load` describes the load of both sides.
    pub fn of(study: &Study, load: impl Into<String>) -> Self {
        let conclusion = study.conclude();
        let text = |name: &str| {
            let variant = study.variants().iter().find(|variant| variant.name == name);
            variant.map_or_else(String::new, |variant| variant.text.clone())
        };
        let metrics: Vec<Line> = conclusion.effects.iter().map(|effect| line(&conclusion, effect)).collect();
        let first = metrics.first();
        let (a, b) = (text(A), text(B));
        Self {
            verdict: first.map_or(Verdict::Undecided, |line| line.effect.verdict),
            by: first.map_or(Metric::Goodput, |line| line.effect.metric),
            regressions: metrics
                .iter()
                .filter(|line| line.regression)
                .map(|line| line.effect.metric)
                .collect(),
            same_service: a == b,
            not_restarted: study
                .variants()
                .iter()
                .filter(|variant| variant.command.is_none())
                .map(|variant| variant.name.clone())
                .collect(),
            a,
            b,
            load: load.into(),
            metrics,
            study: conclusion,
        }
    }

    /// The mean size of the responses of a side in bytes, over its usable trials; `None` if none is known. Two sides whose
    /// responses differ do different work, whatever their times are.
    pub fn response_size(&self, side: &str) -> Option<f64> {
        let of_side = self.study.trials.iter().filter(|entry| entry.trial.variant == side);
        let (bytes, requests) = of_side
            .filter_map(|entry| entry.usable())
            .filter_map(|measured| {
                Some((measured.figures.get(&Metric::ResponseSize)?.value, measured.requests))
            })
            .fold((0.0, 0.0), |(bytes, all), (size, n)| (bytes + size * n as f64, all + n as f64));
        (requests > 0.0).then(|| bytes / requests)
    }
}

fn line(conclusion: &Conclusion, effect: &Effect) -> Line {
    let row = |cell: &Cell| {
        let mut rows = conclusion.timeline.iter();
        rows.find(|row| row.cell == *cell && row.metric == effect.metric).cloned()
    };
    let noise = conclusion.noise.as_ref();
    Line {
        a: row(&effect.from),
        b: row(&effect.to),
        regression: effect.is_regression(),
        noise_floor: noise.and_then(|noise| noise.change(effect.metric, effect.n_blocks)),
        effect: effect.clone(),
    }
}

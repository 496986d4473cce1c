//! Two sides under one load: the study behind `knee compare` and `knee calibrate`, and what it showed of them.
//!
//! Does not know what a side is (an address, a command) or what is sent to it: its caller does. Two runs that were
//! made already are [`super::beside`]'s.

use std::collections::BTreeMap;

use knee_core::fixture::Declaration;
use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

use crate::definition::{Cell, Definition, Design, DesignKind, Load, Variant, Workload};
use crate::metric::Metric;
use crate::statistics::verdict::Verdict;
use crate::study::{Calibration, Conclusion, Effect, Entry, Estimate, LostBlock, Spread, Study, Totals};

/// The side that is there already.
pub const A: &str = "A";

/// The side that is judged.
pub const B: &str = "B";

/// The load of both.
pub const LOAD: &str = "load";

/// What a comparison is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// What the report is called.
    pub title: String,
    /// What is to be started, if anything; a service that is loaded is called `main`.
    pub fixture: Declaration,
    /// The sides: one for a side against itself, or [`A`] and [`B`].
    pub variants: Vec<Variant>,
    /// Blocks; each has every side once.
    pub blocks: usize,
    /// Load that is not measured, before each trial.
    pub warm_up: Nanos,
    /// How long a trial measures.
    pub measure: Nanos,
    /// Decides every order and every arrival.
    pub seed: u64,
    /// Differences below this share do not matter; `None` for 5 %, or what the machine's noise allows.
    pub margin: Option<f64>,
    /// What verdicts are drawn from, the most important first.
    pub metrics: Vec<Metric>,
}

impl Asked {
    /// The study that answers it.
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
            fixture: self.fixture,
            switches: BTreeMap::new(),
            variants: self.variants,
            workloads: vec![workload],
            design,
            claims: Vec::new(),
            published: Vec::new(),
        }
    }
}

/// A side that changes nothing about what it names.
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
    }
}

/// What B is beside A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What A is.
    pub a: String,
    /// What B is.
    pub b: String,
    /// What both were sent.
    pub load: String,
    /// The verdict on B by the first metric.
    pub verdict: Verdict,
    /// That metric.
    pub by: Metric,
    /// Metrics by which B is worse, and by its best single guess by more than the margin.
    pub regressions: Vec<Metric>,
    /// Every metric, the most important first.
    pub metrics: Vec<Line>,
    /// The machine's noise, if it is known.
    pub noise: Option<Calibration>,
    /// Blocks planned.
    pub blocks: usize,
    /// The seed of every order and every arrival.
    pub seed: u64,
    /// Chance of a false verdict, all metrics together.
    pub alpha: f64,
    /// Whether nothing was left to run.
    pub over: bool,
    /// What became of the trials.
    pub totals: Totals,
    /// Blocks without a usable trial of one of the sides.
    pub lost: Vec<LostBlock>,
    /// Remarks that the reader needs for the rest.
    pub notes: Vec<String>,
    /// Every trial with what it measured.
    pub trials: Vec<Entry>,
}

/// One metric of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Which.
    pub metric: Metric,
    /// What A measured; `None` if it did not.
    pub a: Option<Spread>,
    /// What B measured.
    pub b: Option<Spread>,
    /// The verdict on B.
    pub verdict: Verdict,
    /// The change from A to B; `None` without a block that has both.
    pub change: Option<Estimate>,
    /// What would not matter, in the sense of `change`.
    pub margin: f64,
    /// Whether B is worse, and by its best single guess by more than the margin.
    pub regression: bool,
    /// What noise alone does to the mean of so many blocks on this machine, in the sense of `change`, if that is known.
    pub noise_floor: Option<f64>,
    /// The smallest change that so many blocks find four times in five.
    pub mde: Option<f64>,
    /// About how many blocks would decide, if undecided.
    pub blocks_needed: Option<usize>,
    /// Blocks in which both sides were measured.
    pub n_blocks: usize,
    /// Exact two-sided p of no difference, after Holm's correction.
    pub p_adjusted: f64,
    /// The difference of each of those blocks, on the scale of the differences.
    pub differences: Vec<f64>,
    /// What else is to be said.
    pub notes: Vec<String>,
}

impl Comparison {
    /// What a study of [`Asked::definition`] showed. `load` says what both sides were sent.
    pub fn of(study: &Study, load: impl Into<String>) -> Self {
        let conclusion = study.conclude();
        let noise = study.calibration().cloned();
        let text = |name: &str| {
            let variant = study.variants().iter().find(|variant| variant.name == name);
            variant.map_or_else(String::new, |variant| variant.text.clone())
        };
        let metrics: Vec<Line> =
            conclusion.effects.iter().map(|effect| line(&conclusion, effect, noise.as_ref())).collect();
        let first = metrics.first();
        let (a, b) = (text(A), text(B));
        let mut notes = conclusion.notes;
        if a == b {
            notes.insert(0, "A and B are the same service: any difference is noise".to_owned());
        }
        Self {
            verdict: first.map_or(Verdict::Undecided, |line| line.verdict),
            by: first.map_or(Metric::Goodput, |line| line.metric),
            regressions: metrics.iter().filter(|line| line.regression).map(|line| line.metric).collect(),
            a,
            b,
            load: load.into(),
            metrics,
            noise,
            blocks: conclusion.blocks,
            seed: conclusion.seed,
            alpha: conclusion.alpha,
            over: conclusion.over,
            totals: conclusion.totals,
            lost: conclusion.lost,
            notes,
            trials: conclusion.trials,
        }
    }
}

fn line(conclusion: &Conclusion, effect: &Effect, noise: Option<&Calibration>) -> Line {
    let spread = |cell: &Cell| {
        let mut rows = conclusion.timeline.iter();
        rows.find(|row| row.cell == *cell && row.metric == effect.metric).map(|row| row.spread)
    };
    Line {
        metric: effect.metric,
        a: spread(&effect.from),
        b: spread(&effect.to),
        verdict: effect.verdict,
        change: effect.change,
        margin: effect.margin,
        regression: effect.is_regression(),
        noise_floor: noise.and_then(|noise| noise.change(effect.metric, effect.n_blocks)),
        mde: effect.mde,
        blocks_needed: effect.blocks_needed,
        n_blocks: effect.n_blocks,
        p_adjusted: effect.p_adjusted,
        differences: effect.differences.clone(),
        notes: effect.notes.clone(),
    }
}

//! The conclusion: everything a report of a study shows, computed once.
//!
//! Does not lay anything out.

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use serde::{Deserialize, Serialize};

pub use super::rounds::{LostRound, Spread};

use super::rounds::Rounds;
use super::{
    Bound, ClaimResult, Effect, Entry, GrowthResult, Relation, Study, Told, bound, claim, effect, growth,
    wording,
};
use crate::definition::{Cell, Kind, Published};
use crate::metric::Metric;
use crate::statistics::sign_flip;
use crate::statistics::verdict::Verdict;

/// What a study showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// What the report is called.
    pub title: String,
    /// What the study was to find out.
    pub question: Option<String>,
    /// Where the story is told that it re-tests.
    pub source: Option<String>,
    /// How the arms were compared.
    pub kind: Kind,
    /// Whether it was a quick one: only large changes are told.
    pub quick: bool,
    /// Whether nothing was left to run.
    pub over: bool,
    /// Whether it went on for as many blocks again because something was undecided.
    pub extended: bool,
    /// The seed of every order and every arrival.
    pub seed: u64,
    /// Blocks planned.
    pub blocks: usize,
    /// Chance of a false verdict in each comparison, all its metrics together.
    pub alpha: f64,
    /// The metrics that verdicts are drawn from.
    pub metrics: Vec<Metric>,
    /// The arms, in the order of the study.
    pub arms: Vec<ArmSummary>,
    /// The workloads with what they are, in the order of the study.
    pub workloads: Vec<(String, String)>,
    /// What each arm measured: the timeline.
    pub timeline: Vec<Row>,
    /// Every comparison by every metric.
    pub effects: Vec<Effect>,
    /// How figures grow with the amount of data.
    pub growth: Vec<GrowthResult>,
    /// What became of the claims.
    pub claims: Vec<ClaimResult>,
    /// Published figures beside measured ones.
    pub beside: Vec<Beside>,
    /// What the CPUs allow each arm, where the CPU time of its requests is known.
    #[serde(default)]
    pub bounds: Vec<Bound>,
    /// Blocks without a usable trial of some arm and workload.
    pub lost: Vec<LostRound>,
    /// What became of the trials.
    pub totals: Totals,
    /// What has to be known to read the rest.
    pub notes: Vec<String>,
    /// Every trial with what it measured.
    pub trials: Vec<Entry>,
}

/// An arm of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmSummary {
    /// Its name.
    pub name: String,
    /// What it is.
    pub text: String,
    /// The switches that are not as in the base, with their values.
    pub differs: BTreeMap<String, String>,
    /// The git revision, if it has one.
    pub revision: Option<String>,
    /// Why it was lost, if it was.
    pub lost: Option<String>,
}

/// One metric of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Arm and workload.
    pub cell: Cell,
    /// The metric.
    pub metric: Metric,
    /// What the rounds were.
    pub spread: Spread,
}

/// A published figure beside the measured one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// What was published.
    pub published: Published,
    /// What was measured; `None` if nothing was.
    pub measured: Option<Spread>,
    /// Measured median over published figure; `None` without either or with nothing published but zero.
    pub ratio: Option<f64>,
}

/// What became of the trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// All that were run.
    pub trials: usize,
    /// Measurements against which nothing speaks.
    pub valid: usize,
    /// Measurements that may be bent; they count.
    pub suspect: usize,
    /// Measurements that do not count.
    pub invalid: usize,
    /// Trials in which the service died or did not come up.
    pub broken: usize,
    /// Trials that measured a service that was not steady.
    pub unsteady: usize,
    /// Trials that count and were too short to tell whether it was.
    #[serde(default)]
    pub steady_unknown: usize,
    /// Requests measured in trials that count.
    pub requests: u64,
}

/// Draws the conclusion of a study.
pub(super) fn draw(study: &Study) -> Conclusion {
    let rounds = Rounds::of(&study.entries);
    let (definition, design) = (&study.definition, &study.definition.design);
    let effects = effect::all(study);
    let claims = claim::all(study, &effects);
    let totals = totals(&study.entries);
    let mut conclusion = Conclusion {
        title: definition.title.clone(),
        question: definition.question.clone(),
        source: definition.source.clone(),
        kind: design.kind,
        quick: study.options.quick,
        over: study.is_over(),
        extended: study.extended,
        seed: design.seed,
        blocks: study.blocks,
        alpha: effect::alpha(study),
        metrics: design.metrics.clone(),
        arms: arms(study),
        workloads: definition.workloads.iter().map(|load| (load.name.clone(), load.text.clone())).collect(),
        timeline: timeline(study, &rounds),
        effects,
        growth: growth::all(study),
        claims,
        beside: definition.published.iter().map(|published| beside(&rounds, published)).collect(),
        totals,
        bounds: bound::all(study, &rounds),
        lost: rounds.lost,
        notes: Vec::new(),
        trials: study.entries.clone(),
    };
    conclusion.notes = notes(study, &conclusion);
    conclusion
}

fn arms(study: &Study) -> Vec<ArmSummary> {
    let base = study.lineup.arms.first().map(|arm| &arm.switches);
    let differs = |switches: &BTreeMap<String, String>| {
        let other =
            |(name, value): &(&String, &String)| base.and_then(|base| base.get(*name)) != Some(*value);
        switches.iter().filter(other).map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let arms = study.lineup.arms.iter().map(|arm| ArmSummary {
        name: arm.name.clone(),
        text: arm.text.clone(),
        differs: differs(&arm.switches),
        revision: arm.revision.clone(),
        lost: study.lost.get(&arm.name).cloned(),
    });
    arms.collect()
}

/// Every metric that any trial measured, arm by arm within a workload.
fn timeline(study: &Study, rounds: &Rounds<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for workload in &study.definition.workloads {
        for arm in &study.lineup.arms {
            let cell = Cell { arm: arm.name.clone(), workload: workload.name.clone() };
            for metric in Metric::ALL {
                if let Some(spread) = rounds.spread(&cell, metric) {
                    rows.push(Row { cell: cell.clone(), metric, spread });
                }
            }
        }
    }
    rows
}

fn beside(rounds: &Rounds<'_>, published: &Published) -> Beside {
    let measured = rounds.spread(&published.cell, published.metric);
    let ratio = measured.filter(|_| published.value > 0.0).map(|spread| spread.median / published.value);
    Beside { published: published.clone(), measured, ratio }
}

fn totals(entries: &[Entry]) -> Totals {
    let mut totals = Totals { trials: entries.len(), ..Totals::default() };
    for entry in entries {
        let Told::Measured(measured) = &entry.told else {
            totals.broken += 1;
            continue;
        };
        match measured.state {
            Validity::Valid => totals.valid += 1,
            Validity::Suspect => totals.suspect += 1,
            Validity::Invalid => totals.invalid += 1,
        }
        if measured.state != Validity::Invalid {
            totals.requests += measured.requests;
            totals.unsteady += usize::from(measured.steady == Some(false));
            totals.steady_unknown += usize::from(measured.steady.is_none());
        }
    }
    totals
}

fn notes(study: &Study, conclusion: &Conclusion) -> Vec<String> {
    let mut notes = Vec::new();
    if !conclusion.over {
        let left = wording::count(study.remaining(), "trial");
        notes.push(format!("the study is not over: {left} left; what it says may change"));
    }
    if conclusion.quick {
        let text = "a quick study tells large changes only: \"same\" means no change of 25 % or more (of errors: 5 points)";
        notes.push(text.to_owned());
    }
    let tests = study.definition.design.metrics.len();
    if !conclusion.quick && sign_flip::least_p(study.blocks) * tests as f64 >= conclusion.alpha {
        let blocks = wording::count(study.blocks, "block");
        let metrics = wording::count(tests, "metric");
        notes.push(format!("{blocks} cannot show a difference by {metrics}: more blocks, or fewer metrics"));
    }
    for arm in &conclusion.arms {
        if let Some(reason) = &arm.lost {
            notes.push(format!("arm {} was lost, the others went on: {reason}", arm.name));
        }
    }
    let lost = conclusion.lost.len();
    if lost > 0 {
        notes.push(format!("{} lost although tried twice", wording::count(lost, "round")));
    }
    if conclusion.totals.suspect > 0 {
        notes.push(format!(
            "{} suspect; counted all the same",
            wording::count(conclusion.totals.suspect, "trial")
        ));
    }
    if conclusion.totals.unsteady > 0 {
        let unsteady = wording::count(conclusion.totals.unsteady, "trial");
        notes.push(format!("{unsteady} measured a service that was not steady: a longer warm-up may help"));
    }
    notes.extend(
        study.calibration.as_ref().map(|noise| noise.words(&study.definition.design.metrics, study.blocks)),
    );
    notes.extend(chance(conclusion));
    notes
}

/// How many false verdicts are to be expected among all comparisons, and what the A/A said.
fn chance(conclusion: &Conclusion) -> Vec<String> {
    let mut notes = Vec::new();
    let mut pairs: Vec<_> = conclusion
        .effects
        .iter()
        .filter(|effect| effect.primary && effect.rounds > 0)
        .map(|e| (&e.from, &e.to))
        .collect();
    pairs.dedup();
    if pairs.len() > 10 {
        let expected = pairs.len() as f64 * 0.05;
        notes.push(format!(
            "of {} comparisons up to {expected:.1} would be called different by chance if none were",
            pairs.len()
        ));
    }
    let twins: Vec<&Effect> = conclusion
        .effects
        .iter()
        .filter(|effect| effect.relation == Relation::Itself && effect.rounds > 0)
        .collect();
    let wrong = twins.iter().filter(|twin| matches!(twin.verdict, Verdict::Faster | Verdict::Slower)).count();
    if !twins.is_empty() {
        let tests = wording::count(twins.len(), "test");
        notes.push(format!("the base against itself was called different in {wrong} of {tests}"));
    }
    notes
}

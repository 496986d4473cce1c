//! A study in progress: its settings, the trials left, and the results so far.
//!
//! Only reports its state. Does not advance and does not conclude.

use std::collections::{BTreeMap, VecDeque};

use knee_core::estimate::samples_needed;
use knee_core::fixture::division::Division;
use knee_core::unit::Nanos;

use super::calibration::Calibration;
use super::lineup::Lineup;
use super::trial::{Entry, Options, Trial};
use crate::definition::{Definition, Variant, Workload};
use crate::metric::Metric;

/// Longest trial of a quick study, and its longest warm-up.
const MEASURE_QUICK: Nanos = Nanos::from_secs(2);
const SETTLE_QUICK: Nanos = Nanos::from_secs(1);

/// How many times the declared time a trial lasts at most.
const LONGER_MAX: f64 = 6.0;

/// Requests of a trial beyond those that are needed, as a factor: rates vary.
const MARGIN_OF_PILOT: f64 = 1.2;

/// A study under way.
#[derive(Clone, Debug)]
pub struct Study {
    pub(super) definition: Definition,
    pub(super) options: Options,
    pub(super) lineup: Lineup,
    pub(super) calibration: Option<Calibration>,
    /// Blocks planned by now.
    pub(super) blocks: usize,
    pub(super) extended: bool,
    /// Trials left of the planned blocks, the next one first.
    pub(super) ahead: VecDeque<Trial>,
    pub(super) entries: Vec<Entry>,
    /// Variants that no longer take part, each with the reason.
    pub(super) lost: BTreeMap<String, String>,
    /// Claims that were changed after trials were run, and when the last session before that began.
    pub(super) changed: BTreeMap<String, Nanos>,
    /// How the CPUs are divided; `None` if nothing is started, or before the first trial.
    pub(super) division: Option<Division>,
}

impl Study {
    /// The next trial to run; `None` when the study is over. A second call returns the same trial.
    pub fn next(&self) -> Option<Trial> {
        self.ahead.front().cloned()
    }

    /// Whether nothing is left to run.
    pub fn is_over(&self) -> bool {
        self.ahead.is_empty()
    }

    /// Number of trials left, without later repeats and an extension.
    pub fn remaining(&self) -> usize {
        self.ahead.len()
    }

    /// The trials left, in order, without later repeats and an extension.
    pub fn planned(&self) -> impl Iterator<Item = &Trial> {
        self.ahead.iter()
    }

    /// The results so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What is studied.
    pub const fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Its options, beyond its definition.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// The machine's noise, if it is known.
    pub const fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    /// The variants that take part, including those that the design creates.
    pub fn variants(&self) -> &[Variant] {
        &self.lineup.variants
    }

    /// The variant of a trial.
    pub fn variant_of(&self, trial: &Trial) -> Option<&Variant> {
        self.lineup.variants.iter().find(|variant| variant.name == trial.variant)
    }

    /// The workload of a trial.
    pub fn workload_of(&self, trial: &Trial) -> Option<&Workload> {
        self.definition.workload(&trial.workload)
    }

    /// Warm-up of a trial; longer if the process is fresh.
    pub fn settle(&self, fresh: bool) -> Nanos {
        let design = &self.definition.design;
        let whole = if fresh { design.warm_up } else { design.settle };
        if self.options.quick { whole.min(SETTLE_QUICK) } else { whole }
    }

    /// Measured time of a trial; a script without the placeholder `{duration}` ends by its own options. The first block
    /// is the pilot: if a percentile that the study asks for needs more requests than it had, later trials of the
    /// workload are longer.
    pub fn measure(&self, trial: &Trial) -> Nanos {
        if trial.block == 0 { self.declared(&trial.workload) } else { self.measure_of(&trial.workload) }
    }

    /// Measured time of the trials of a workload after the pilot.
    pub(super) fn measure_of(&self, workload: &str) -> Nanos {
        self.lengthened(workload).unwrap_or_else(|| self.declared(workload))
    }

    /// The measured time of a trial as the study declares it.
    pub(super) fn declared(&self, workload: &str) -> Nanos {
        let own = self.definition.workload(workload).and_then(|workload| workload.measure);
        let whole = own.unwrap_or(self.definition.design.measure);
        if self.options.quick { whole.min(MEASURE_QUICK) } else { whole }
    }

    /// The measured time that gives every variant enough requests, if that is more than was declared, and at most
    /// [`LONGER_MAX`] times as much. Quick studies stay short, scripts without `{duration}` end by their own options,
    /// and a comparison takes the time that its caller knows.
    pub(super) fn lengthened(&self, workload: &str) -> Option<Nanos> {
        let lasts_as_asked = self.definition.workload(workload)?.lasts_as_asked();
        if self.options.quick || !lasts_as_asked || self.blocks < 2 {
            return None;
        }
        let needed = self.rarest_percentile(workload)?.1.div_ceil(self.blocks.max(1) as u64);
        let pilot =
            self.entries.iter().filter(|entry| entry.trial.block == 0 && entry.trial.workload == workload);
        let fewest = pilot.filter_map(|entry| Some(entry.usable()?.requests)).min()?;
        let factor = MARGIN_OF_PILOT * needed as f64 / fewest.max(1) as f64;
        let declared = self.declared(workload);
        let longer = declared.as_secs_f64() * factor.min(LONGER_MAX);
        (factor > MARGIN_OF_PILOT).then(|| Nanos::from_secs_f64(longer.ceil()))
    }

    /// Of the percentiles of the study and of its claims the one that takes the most requests of a variant over all blocks,
    /// and how many.
    pub(super) fn rarest_percentile(&self, workload: &str) -> Option<(Metric, u64)> {
        let claims = self.definition.claims.iter();
        let claimed = claims.filter(|claim| claim.test.cells().iter().any(|cell| cell.workload == workload));
        let metrics = self.definition.design.metrics.iter().copied();
        let asked = metrics.chain(claimed.filter_map(|claim| claim.test.metric()));
        let needed = asked.filter_map(|metric| Some((metric, samples_needed(metric.quantile()?))));
        needed.max_by_key(|(_, needed)| *needed)
    }

    /// Whether any metric that the study or one of its claims asks for is of this kind.
    pub fn asks_for(&self, kind: impl Fn(Metric) -> bool) -> bool {
        let claims = self.definition.claims.iter().filter_map(|claim| claim.test.metric());
        self.definition.design.metrics.iter().copied().chain(claims).any(kind)
    }

    /// The claims whose tests were added or changed after trials were run, by name: when the last session before the
    /// change began, since the Unix epoch.
    pub const fn changed_claims(&self) -> &BTreeMap<String, Nanos> {
        &self.changed
    }

    /// The same study with claims that were changed after trials were run.
    #[must_use]
    pub fn with_changed_claims(self, changed: BTreeMap<String, Nanos>) -> Self {
        Self { changed, ..self }
    }

    /// How the CPUs are divided between the generator and everything else, if trials were run that way.
    pub const fn division(&self) -> Option<&Division> {
        self.division.as_ref()
    }

    /// Sets how the CPUs are divided in all its trials.
    pub fn divide(&mut self, division: Option<Division>) {
        self.division = division;
    }

    pub(super) const fn can_extend(&self) -> bool {
        self.definition.design.extend && !self.options.quick
    }
}

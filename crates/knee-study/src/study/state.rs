//! A study in progress: its settings, the trials left, and the results so far.
//!
//! Only reports its state. Does not advance and does not conclude.

use std::collections::{BTreeMap, VecDeque};

use knee_core::unit::Nanos;

use super::calibration::Calibration;
use super::lineup::Lineup;
use super::trial::{Entry, Options, Trial};
use crate::definition::{Definition, Variant, Workload};

/// Longest trial of a quick study, and its longest warm-up.
const MEASURE_QUICK: Nanos = Nanos::from_secs(2);
const SETTLE_QUICK: Nanos = Nanos::from_secs(1);

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

    /// Measured time of a trial; scripts end by their own options.
    pub fn measure(&self, trial: &Trial) -> Nanos {
        let own = self.workload_of(trial).and_then(|workload| workload.measure);
        let whole = own.unwrap_or(self.definition.design.measure);
        if self.options.quick { whole.min(MEASURE_QUICK) } else { whole }
    }

    pub(super) const fn can_extend(&self) -> bool {
        self.definition.design.extend && !self.options.quick
    }
}

//! A study: asked for its next trial, told what came of it, and asked in the end what it showed.
//!
//! ```text
//! Study::new -> next -> tell -> next -> tell -> … -> conclude
//! ```
//!
//! A function of definition, options and what it was told: the caller stores each [`Entry`], and a study that was
//! stopped is the same study with its entries told again. Does not run trials, wait or store.

mod bound;

mod calibration;

mod claim;

mod conclusion;

mod effect;

mod estimate;

mod growth;

pub(crate) mod lineup;

mod measured;

mod usable;

mod trial;

pub mod wording;

pub use bound::{Bound, Component};
pub use calibration::Calibration;
pub use claim::{ClaimResult, ClaimVerdict};
pub use conclusion::{Conclusion, LostBlock, PublishedResult, Row, Spread, Totals, VariantSummary};
pub use effect::Effect;
pub use estimate::Estimate;
pub use growth::{GrowthClass, GrowthResult};
pub use lineup::Relation;
pub use measured::Spent;
pub use trial::{
    CUT_SHORT, Entry, Figure, GENERATOR, Measured, Options, Placement, Refusal, TRIAL_RULES, Trial,
    TrialResult, TrialRule, TrialWarning,
};

use std::collections::{BTreeMap, VecDeque};

use knee_core::unit::Nanos;
use knee_core::validity::Validity;

use crate::definition::{Definition, Variant, Workload};
use crate::design;
use crate::statistics::verdict::Verdict;
use lineup::Lineup;

/// How often a trial is run at the most: an invalid one is repeated once.
const ATTEMPTS_MAX: u32 = 2;

/// Blocks of a quick study.
const BLOCKS_QUICK: usize = 6;

/// Longest trial of a quick study, and longest time before it.
const MEASURE_QUICK: Nanos = Nanos::from_secs(2);
const SETTLE_QUICK: Nanos = Nanos::from_secs(1);

/// A study under way.
#[derive(Clone, Debug)]
pub struct Study {
    definition: Definition,
    options: Options,
    lineup: Lineup,
    calibration: Option<Calibration>,
    /// Blocks planned by now.
    blocks: usize,
    extended: bool,
    /// What is left of the blocks planned, the next one first.
    ahead: VecDeque<Trial>,
    entries: Vec<Entry>,
    /// Variants that no longer take part, and why.
    lost: BTreeMap<String, String>,
}

impl Study {
    /// A study before its first trial.
    ///
    /// # Errors
    /// If the options name a variant that does not take part or leave nothing to compare, or if a margin was asked
    /// for that this machine's noise does not allow.
    pub fn new(
        definition: Definition,
        options: Options,
        calibration: Option<Calibration>,
    ) -> Result<Self, Refusal> {
        let lineup = Lineup::of(&definition, &options)?;
        let otherwise =
            if options.quick { BLOCKS_QUICK.min(definition.design.blocks) } else { definition.design.blocks };
        let blocks = options.blocks.unwrap_or(otherwise);
        if blocks == 0 {
            return Err(Refusal::NoBlocks);
        }
        if let Some(calibration) = &calibration {
            calibration.allows(&definition, options.quick, blocks)?;
        }
        let mut study = Self {
            definition,
            options,
            lineup,
            calibration,
            blocks,
            extended: false,
            ahead: VecDeque::new(),
            entries: Vec::new(),
            lost: BTreeMap::new(),
        };
        study.plan(0..blocks);
        Ok(study)
    }

    /// The study as it was when its caller had stored `entries`.
    ///
    /// # Errors
    /// Those of [`Study::new`], and [`Refusal::OtherStudy`] if the entries are not those of this definition
    /// and these options.
    pub fn resume(
        definition: Definition,
        options: Options,
        calibration: Option<Calibration>,
        entries: Vec<Entry>,
    ) -> Result<Self, Refusal> {
        let mut study = Self::new(definition, options, calibration)?;
        for entry in entries {
            study
                .record_result(&entry.trial, entry.result)
                .map_err(|_| Refusal::OtherStudy(entry.trial.number))?;
        }
        Ok(study)
    }

    /// The next trial to run; `None` when the study is over. Asking twice gives the same.
    pub fn next(&self) -> Option<Trial> {
        self.ahead.front().cloned()
    }

    /// Whether nothing is left to run.
    pub fn is_over(&self) -> bool {
        self.ahead.is_empty()
    }

    /// Trials that are left, as far as is known now: repeats and an extension come on top.
    pub fn remaining(&self) -> usize {
        self.ahead.len()
    }

    /// The trials that are left, as far as is known now, in their order.
    pub fn planned(&self) -> impl Iterator<Item = &Trial> {
        self.ahead.iter()
    }

    /// What was told so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What is studied.
    pub const fn definition(&self) -> &Definition {
        &self.definition
    }

    /// What was asked of it beyond its definition.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// The machine's noise, if it is known.
    pub const fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    /// The variants that take part, those that the design makes by itself among them.
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

    /// How long a trial loads the service before it measures: longer if its process is fresh.
    pub fn settle(&self, fresh: bool) -> Nanos {
        let design = &self.definition.design;
        let whole = if fresh { design.warm_up } else { design.settle };
        if self.options.quick { whole.min(SETTLE_QUICK) } else { whole }
    }

    /// How long a trial measures; scripts end by their own options.
    pub fn measure(&self, trial: &Trial) -> Nanos {
        let own = self.workload_of(trial).and_then(|workload| workload.measure);
        let whole = own.unwrap_or(self.definition.design.measure);
        if self.options.quick { whole.min(MEASURE_QUICK) } else { whole }
    }

    /// Takes what came of `trial`, which has to be the one that [`Study::next`] gave.
    ///
    /// # Errors
    /// [`Refusal::NotNext`] if it is another one; nothing is changed then.
    pub fn record_result(&mut self, trial: &Trial, result: TrialResult) -> Result<(), Refusal> {
        if self.ahead.front() != Some(trial) {
            return Err(Refusal::NotNext(trial.number));
        }
        self.ahead.pop_front();
        let last = trial.attempt >= ATTEMPTS_MAX;
        match &result {
            TrialResult::Measured(measured) if measured.validity == Validity::Invalid && !last => {
                self.repeat(trial);
            }
            TrialResult::Measured(_) => {}
            TrialResult::Died { .. } if !last => self.repeat(trial),
            TrialResult::Died { reason } | TrialResult::NeverReady { reason } => {
                self.lose(&trial.variant, reason);
            }
        }
        self.entries.push(Entry { trial: trial.clone(), result });
        if self.ahead.is_empty() {
            self.extend();
        }
        Ok(())
    }

    /// What all that was told shows. May be asked at any time; a study that is not over says so.
    pub fn conclude(&self) -> Conclusion {
        conclusion::draw(self)
    }

    fn repeat(&mut self, trial: &Trial) {
        // Whatever spoilt the first attempt should not meet the second.
        self.ahead.push_front(Trial {
            attempt: trial.attempt + 1,
            restart: true,
            reset: true,
            ..trial.clone()
        });
    }

    fn lose(&mut self, variant: &str, reason: &str) {
        self.lost.entry(variant.to_owned()).or_insert_with(|| reason.to_owned());
        self.ahead.retain(|trial| trial.variant != variant);
    }

    /// Goes on once for as many blocks again, if that was asked for and something is undecided.
    fn extend(&mut self) {
        if !self.may_extend() || self.extended {
            return;
        }
        let effects = effect::all(self);
        let open = |effect: &Effect| effect.primary && effect.verdict == Verdict::Undecided;
        // Variants that are lost decide nothing by going on.
        let alive = |effect: &Effect| {
            ![&effect.from, &effect.to].iter().any(|cell| self.lost.contains_key(&cell.variant))
        };
        if effects.iter().any(|effect| open(effect) && alive(effect)) {
            self.extended = true;
            let from = self.blocks;
            self.blocks *= 2;
            self.plan(from..self.blocks);
        }
    }

    const fn may_extend(&self) -> bool {
        self.definition.design.extend && !self.options.quick
    }

    /// Lines up the trials of some blocks: variant by variant, because a change of variants costs a start, and each
    /// variant with all workloads.
    fn plan(&mut self, blocks: std::ops::Range<usize>) {
        let design = &self.definition.design;
        let mut number = self.ahead.back().map_or(self.entries.len(), |trial| trial.number + 1);
        number = self.entries.iter().map(|entry| entry.trial.number + 1).max().unwrap_or(0).max(number);
        for block in blocks {
            let workloads = design::workload_order(design.seed, block, self.definition.workloads.len());
            for variant in design::order(design.seed, block, self.lineup.variants.len()) {
                let variant = &self.lineup.variants[variant].name;
                if self.lost.contains_key(variant) {
                    continue;
                }
                for (position, workload) in workloads.iter().enumerate() {
                    let named = &self.definition.workloads[*workload];
                    self.ahead.push_back(Trial {
                        number,
                        block,
                        attempt: 1,
                        variant: variant.clone(),
                        workload: named.name.clone(),
                        arrival_seed: design::arrival_seed(design.seed, block, *workload),
                        restart: position == 0 && block % design.restart_every == 0,
                        reset: named.reset,
                    });
                    number += 1;
                }
            }
        }
    }
}

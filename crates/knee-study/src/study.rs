//! A study: returns its next trial, takes the trial's result, and in the end draws the conclusion.
//!
//! ```text
//! Study::new -> next -> record_result -> next -> record_result -> … -> conclude
//! ```
//!
//! A function of definition, options and recorded results: the caller stores each [`Entry`]. To resume a study that was
//! stopped, the caller records its entries again. Does not run trials, wait or store.

mod bound;

mod calibration;

mod claim;

mod conclusion;

mod contrast;

mod cpus;

mod effect;

mod endpoint;

mod estimate;

mod figure;

mod growth;

mod headline;

pub(crate) mod lineup;

mod measured;

mod repeat;

mod resource;

mod resource_use;

mod shortage;

mod state;

mod statement;

mod times;

mod usable;

mod vouched;

mod trial;

pub use bound::{Bound, Component};
pub use calibration::Calibration;
pub use claim::{Basis, ClaimResult, ClaimVerdict, ClaimedSize, WITHOUT_MIN};
pub use conclusion::{Conclusion, Controls, LostBlock, PublishedResult, Row, Spread, Totals, VariantSummary};
pub use cpus::CpuUse;
pub use effect::{Effect, Reason};
pub use estimate::Estimate;
pub use figure::Figure;
pub use growth::{GrowthClass, GrowthResult};
pub use headline::Headline;
pub use lineup::Relation;
pub use measured::{Spent, StatementWork};
pub use repeat::{NEIGHBOURS, REPEATS_MAX};
pub use resource::ObservedResource;
pub use resource_use::OfResource;
pub use shortage::Shortage;
pub use state::Study;
pub use times::{MergedTimes, ResponseTimes};
pub use trial::{
    CUT_SHORT, ENDPOINTS_MAX, Entry, GENERATOR, Measured, OfEndpoint, OfStatement, Options, Placement,
    Refusal, TRIAL_RULES, Trial, TrialResult, TrialRule, TrialWarning,
};
pub use vouched::Absence;

use std::collections::{BTreeMap, VecDeque};

use crate::definition::Definition;
use crate::design;
use crate::statistics::verdict::Verdict;
use lineup::Lineup;

/// Blocks of a quick study.
const BLOCKS_QUICK: usize = 6;

impl Study {
    /// A study before its first trial.
    ///
    /// # Errors
    /// If the options name a variant that does not take part, or leave nothing to compare, or if a margin is within
    /// this machine's noise.
    pub fn new(
        definition: Definition,
        options: Options,
        calibration: Option<Calibration>,
    ) -> Result<Self, Refusal> {
        let lineup = Lineup::of(&definition, &options)?;
        Self::of_lineup(definition, options, calibration, lineup)
    }

    /// A study of which one variant is started and nothing is measured, so that one is enough.
    ///
    /// # Errors
    ///
    /// Those of [`Study::new`], but for [`Refusal::NothingToCompare`].
    pub fn to_start(definition: Definition, options: Options) -> Result<Self, Refusal> {
        let lineup = Lineup::of_any(&definition, &options)?;
        Self::of_lineup(definition, options, None, lineup)
    }

    fn of_lineup(
        definition: Definition,
        options: Options,
        calibration: Option<Calibration>,
        lineup: Lineup,
    ) -> Result<Self, Refusal> {
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
            changed: BTreeMap::new(),
            division: None,
        };
        study.plan(0..blocks);
        Ok(study)
    }

    /// The study in the state after `entries`, which its caller had stored.
    ///
    /// # Errors
    /// Those of [`Study::new`], and [`Refusal::OtherStudy`] if the entries are not those of this definition
    /// and these options, and [`Refusal::UnknownEndpoint`] if a claim is about an endpoint that none of them has.
    pub fn resume(
        definition: Definition,
        options: Options,
        calibration: Option<Calibration>,
        entries: Vec<Entry>,
    ) -> Result<Self, Refusal> {
        let mut study = Self::new(definition, options, calibration)?;
        let following: Vec<Trial> = entries.iter().skip(1).map(|entry| entry.trial.clone()).collect();
        for (position, entry) in entries.into_iter().enumerate() {
            let next = following.get(position);
            study
                .take(&entry.trial, entry.result, next)
                .map_err(|_| Refusal::OtherStudy(entry.trial.number))?;
        }
        endpoint::unknown(&study).map_or(Ok(study), Err)
    }

    /// Takes the result of `trial`, which must be the one that [`Study::next`] gave.
    ///
    /// # Errors
    /// [`Refusal::NotNext`] if it is another one; nothing is changed then.
    pub fn record_result(&mut self, trial: &Trial, result: TrialResult) -> Result<(), Refusal> {
        self.take(trial, result, None)
    }

    /// The same for a stored result. The stored trial that follows shows whether this one was repeated and whether the
    /// study was extended: older versions had other rules for both.
    fn take(&mut self, trial: &Trial, result: TrialResult, stored: Option<&Trial>) -> Result<(), Refusal> {
        if self.ahead.front() != Some(trial) {
            return Err(Refusal::NotNext(trial.number));
        }
        self.ahead.pop_front();
        let again = match stored {
            Some(next) => next.number == trial.number,
            None => repeat::is_due(trial, &result),
        };
        let lost = repeat::loses(&self.entries, trial, &result).map(str::to_owned);
        let died = matches!(result, TrialResult::Died { .. });
        self.entries.push(Entry { trial: trial.clone(), result });
        match lost {
            _ if again => self.repeat(trial),
            Some(reason) => self.lose(&trial.variant, &reason),
            None if died => self.freshen(&trial.variant),
            None => {}
        }
        if self.ahead.is_empty() {
            self.extend(stored.is_some());
        }
        Ok(())
    }

    /// The conclusion from all results so far. Can be called at any time; the conclusion of an unfinished study is
    /// marked as such.
    pub fn conclude(&self) -> Conclusion {
        conclusion::draw(self)
    }

    fn repeat(&mut self, trial: &Trial) {
        // What spoilt one attempt should not meet the next.
        self.ahead.push_front(Trial {
            attempt: trial.attempt + 1,
            restart: true,
            reset: true,
            ..trial.clone()
        });
    }

    /// After a death, the state of the process and of its data is unknown.
    fn freshen(&mut self, variant: &str) {
        if let Some(next) = self.ahead.front_mut().filter(|next| next.variant == variant) {
            (next.restart, next.reset) = (true, true);
        }
    }

    fn lose(&mut self, variant: &str, reason: &str) {
        self.lost.entry(variant.to_owned()).or_insert_with(|| reason.to_owned());
        self.ahead.retain(|trial| trial.variant != variant);
    }

    /// Doubles the number of blocks once, if that was asked for and a verdict is undecided, or if it was done before
    /// the study was stored.
    fn extend(&mut self, was_extended: bool) {
        if !self.can_extend() || self.extended {
            return;
        }
        let effects = effect::all(self);
        let open = |effect: &Effect| effect.primary && effect.verdict == Verdict::Undecided;
        // Variants that are lost decide nothing by going on.
        let alive = |effect: &Effect| {
            ![&effect.from, &effect.to].iter().any(|cell| self.lost.contains_key(&cell.variant))
        };
        if was_extended || effects.iter().any(|effect| open(effect) && alive(effect)) {
            self.extended = true;
            let from = self.blocks;
            self.blocks *= 2;
            self.plan(from..self.blocks);
        }
    }

    /// Puts the trials of some blocks in order: variant by variant, because a change of variant needs a start, and
    /// each variant with all workloads.
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

//! The trials of a study, one after the other: studies, comparisons and calibrations.
//!
//! `knee_study` decides which trial comes next; a [`TrialRunner`] runs it. Does not conclude, does not show anything,
//! and does not know where results are saved.

use knee_core::clock::MonotonicClock;
use knee_core::fixture::division::Division;
use knee_core::unit::Nanos;
use knee_engine::control::{Control, Request};
use knee_fixture::Preparation;
use knee_study::metric::Metric;
use knee_study::sizing::Size;
use knee_study::study::{Shortage, Study, Trial, TrialResult};

use crate::error::Error;
use crate::runner::{Outcome, Spans, TrialRunner};

/// Events while trials run.
#[derive(Debug)]
pub enum Event<'a> {
    /// Services and stores are about to start.
    FixtureStarts,
    /// A service is about to be built, or its data to be seeded.
    Prepares(Preparation<'a>),
    /// The CPUs are divided, before the first trial.
    Divided {
        /// Who has which CPUs.
        division: &'a Division,
        /// What a pilot showed, if there was one.
        size: Option<Size>,
    },
    /// A trial has ended.
    Trial {
        /// The trial.
        trial: &'a Trial,
        /// Its result.
        result: &'a TrialResult,
        /// The last lines of a service that ended or did not come up.
        output: &'a [String],
        /// Trials left.
        left: usize,
        /// Estimated time of the trials left; `None` while unknown.
        time_left: Option<Nanos>,
    },
    /// The first block has ended, and some percentiles will have too few requests.
    Short {
        /// Which ones; at least one.
        shortages: &'a [Shortage],
    },
    /// The user interrupted them.
    Interrupted,
    /// The last one has ended, and everything is about to stop.
    Ended {
        /// What the time was spent on.
        spans: Spans,
    },
}

/// How trials are run and reported.
pub struct Trials<'a> {
    /// Stops them early.
    pub control: &'a Control,
    /// Gets every event.
    pub observe: &'a mut dyn FnMut(Event<'_>),
    /// Saves the result of a trial before the next one begins.
    pub save: &'a mut dyn FnMut(&Trial, &TrialResult) -> Result<(), Error>,
}

impl Trials<'_> {
    /// Runs all trials that are left and stops the fixture; returns the error that ended them early, if any.
    ///
    /// # Errors
    ///
    /// A failure without any usable trial.
    pub fn run(mut self, study: &mut Study, mut runner: TrialRunner) -> Result<Option<Error>, Error> {
        let fault = self.run_all(study, &mut runner)?;
        if self.control.request() != Request::Run {
            (self.observe)(Event::Interrupted);
        }
        (self.observe)(Event::Ended { spans: runner.spans() });
        runner.down()?;
        Ok(fault)
    }

    fn run_all(&mut self, study: &mut Study, runner: &mut TrialRunner) -> Result<Option<Error>, Error> {
        let clock = MonotonicClock::start();
        let mut pace = Pace::default();
        while self.control.request() == Request::Run
            && let Some(trial) = study.next()
        {
            let Outcome { result, output, no_success } =
                match runner.run(study, &trial, &mut reporting(self.observe)) {
                    Ok(outcome) => outcome,
                    Err(_) if self.control.request() != Request::Run => return Ok(None),
                    Err(error) => return Ok(Some(error)),
                };
            if let Some(error) = no_success.filter(|_| !has_success(study, &trial)) {
                return Ok(Some(error));
            }
            (self.save)(&trial, &result)?;
            pace.ended(clock.now());
            let left = study.remaining().saturating_sub(1);
            let time_left = pace.of(left);
            (self.observe)(Event::Trial { trial: &trial, result: &result, output: &output, left, time_left });
            study.record_result(&trial, result)?;
            self.foresee(study, &trial);
        }
        Ok(None)
    }

    /// Reports what the study will not have, once: after its first block, if others follow.
    fn foresee(&mut self, study: &Study, ended: &Trial) {
        if ended.block > 0 || study.next().is_none_or(|next| next.block == 0) {
            return;
        }
        let shortages = study.shortages();
        if !shortages.is_empty() {
            (self.observe)(Event::Short { shortages: &shortages });
        }
    }
}

/// Passes builds and seeds on as events.
pub(crate) fn reporting(observe: &mut dyn FnMut(Event<'_>)) -> impl FnMut(Preparation<'_>) {
    |preparation| observe(Event::Prepares(preparation))
}

/// Whether an earlier trial of the same workload had a successful response.
fn has_success(study: &Study, trial: &Trial) -> bool {
    study.entries().iter().filter(|entry| entry.trial.workload == trial.workload).any(|entry| {
        let TrialResult::Measured(measured) = &entry.result else { return false };
        measured.figures.get(&Metric::Errors).is_some_and(|share| share.value < 1.0)
    })
}

/// How long trials take. The first one also builds and seeds, so it does not count.
#[derive(Default)]
struct Pace {
    ended: u32,
    first: Nanos,
    last: Nanos,
}

impl Pace {
    /// Records the end of one more trial, this long after the first one began.
    fn ended(&mut self, at: Nanos) {
        self.ended += 1;
        self.last = at;
        if self.ended == 1 {
            self.first = at;
        }
    }

    /// Estimated time for this many more trials; `None` before two have ended.
    fn of(&self, trials: usize) -> Option<Nanos> {
        let ended = self.ended.checked_sub(1).filter(|ended| *ended > 0)?;
        let each = self.last.since(self.first).as_secs_f64() / f64::from(ended);
        Some(Nanos::from_secs_f64(each * trials as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_trial_that_waits_for_a_build_does_not_lengthen_the_time_that_is_left() {
        let mut pace = Pace::default();
        pace.ended(Nanos::from_secs(90));
        assert_eq!(pace.of(2), None, "how much of it was the build is not known");
        pace.ended(Nanos::from_secs(97));
        pace.ended(Nanos::from_secs(104));
        assert_eq!(pace.of(10), Some(Nanos::from_secs(70)));
    }
}

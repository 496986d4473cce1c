//! One trial: the service as the variant wants it, loaded as the driver does, and what was measured.
//!
//! Does not decide what comes next, and does not interpret what was measured.

use std::path::PathBuf;

use knee_core::record::{Ending, Run};
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_fixture::{Fixture, Running, Store};
use knee_study::definition::{Load, Variant, Workload};
use knee_study::study::{Measured, Spent, Study, Trial, TrialResult, TrialWarning};

use super::arm::{others, overrides};
use super::spending::{Seeing, Watch};
use super::{Failed, Standing, broken, failed, place, variable};
use crate::exit::Exit;
use crate::problem::{Problem, printable};
use crate::process::used;

/// A run, and the name of its record.
pub type Taken = (Run, Option<PathBuf>);

/// Sends the load of a trial.
pub trait Driver {
    /// Where a variant answers already; without an address its service is started.
    fn address(&self, _arm: &Variant) -> Option<String> {
        None
    }

    /// Loads `url` as the workload says, and returns what was measured.
    ///
    /// # Errors
    ///
    /// What cannot be sent, or what failed on this machine.
    fn load(&self, workload: &Workload, url: &str, times: Times, control: &Control) -> Result<Taken, Failed>;
}

/// How long a trial loads, and with which arrivals.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Load that is not measured, at the beginning.
    pub settle: Nanos,
    /// Load that is measured.
    pub measure: Nanos,
    /// Seed of the arrivals.
    pub seed: u64,
}

/// What stands while trials run.
pub struct Bench {
    /// `None` when nothing has to be started.
    standing: Option<Standing>,
    driver: Box<dyn Driver>,
    control: Control,
    /// The variant whose service runs, with where it answers.
    running: Option<(String, String, Running)>,
}

/// Why no service can be had.
enum Absent {
    /// The fixture says so.
    Fixture(knee_fixture::Error),
    /// There is no fixture.
    Unasked,
}

impl From<knee_fixture::Error> for Absent {
    fn from(error: knee_fixture::Error) -> Self {
        Self::Fixture(error)
    }
}

impl Bench {
    /// A bench on which nothing runs yet.
    pub fn new(standing: Option<Standing>, driver: Box<dyn Driver>, control: Control) -> Self {
        Self { standing, driver, control, running: None }
    }

    /// Runs a trial.
    ///
    /// # Errors
    ///
    /// What failed on this machine, or what the study asks for and cannot be had. What the service does
    /// wrong is told, not failed.
    pub fn take(&mut self, study: &Study, trial: &Trial) -> Result<TrialResult, Failed> {
        let missing = |what: &str| failed(Problem::new(format!("the study has no {what} of this trial"), ""));
        let variant = study.variant_of(trial).cloned().ok_or_else(|| missing("variant"))?;
        let workload = study.workload_of(trial).cloned().ok_or_else(|| missing("workload"))?;
        let (running, fresh) = match self.service(study, trial, &variant, &workload.service) {
            Ok(found) => found,
            Err(Absent::Fixture(error)) => return failure_result(&error),
            Err(Absent::Unasked) => return Err(missing("service")),
        };
        let workload = match self.filled(workload) {
            Ok(workload) => workload,
            Err(error) => return failure_result(&error),
        };
        let pids: Vec<u32> = running.pid.into_iter().collect();
        let fixture = self.standing.as_ref().map(|standing| &standing.fixture);
        let stores: Vec<Store> = fixture.map(Fixture::stores).unwrap_or_default();
        let weight = fixture.and_then(Fixture::generator_weight);
        let placement = place::of(
            &workload.service,
            &running,
            &stores,
            fixture.map_or(&[], Fixture::unavailable),
            weight,
        );
        let stores: Vec<u32> = stores.into_iter().flat_map(|store| store.pids).collect();
        let times =
            Times { settle: study.settle(fresh), measure: study.measure(trial), seed: trial.arrival_seed };
        // That of another run, if this one should never begin.
        let _ = self.control.take_clock();
        let watch = Watch::start(pids.clone(), stores);
        let taken = self.driver.load(&workload, &running.url, times, &self.control);
        let seeing = watch.end(self.control.take_clock());
        let (run, record) = taken?;
        let spent = Spent { memory: used(&pids).map(|used| used.memory), ..spent(&run, &seeing) };
        if let Some(Err(error)) = self.standing.as_ref().map(|standing| standing.fixture.check()) {
            self.running = None;
            return failure_result(&error);
        }
        if matches!(run.ending, Ending::Interrupted | Ending::Aborted) {
            return Err((Problem::new("the trial was interrupted", ""), Exit::Interrupted));
        }
        let record = record.map(|path| printable(&path.display().to_string()));
        let mut measured = Measured { placement, ..Measured::of(&run, spent, record) };
        measured.warnings.extend(cut_short(run.window(), times.measure));
        Ok(TrialResult::Measured(measured))
    }

    /// The service as the trial wants it, and whether its process is fresh.
    fn service(
        &mut self,
        study: &Study,
        trial: &Trial,
        variant: &Variant,
        name: &str,
    ) -> Result<(Running, bool), Absent> {
        if let Some(url) = self.driver.address(variant) {
            return Ok((Running { url, pid: None, log: None, unavailable: Vec::new() }, false));
        }
        let fixture = &mut self.standing.as_mut().ok_or(Absent::Unasked)?.fixture;
        if trial.reset {
            self.running = None;
            fixture.reset(name)?;
        }
        let known = self.running.take().filter(|(of, service, _)| *of == variant.name && service == name);
        let (running, fresh) = if let Some((_, _, running)) = known.filter(|_| !trial.restart) {
            (running, false)
        } else {
            let definition = study.definition();
            for other in others(definition, variant, name) {
                fixture.start(&other, &overrides(definition, variant, &other))?;
            }
            (fixture.start(name, &overrides(definition, variant, name))?, true)
        };
        self.running = Some((variant.name.clone(), name.to_owned(), running.clone()));
        Ok((running, fresh))
    }

    /// A workload with the places in its environment filled in, and what they name running.
    fn filled(&mut self, mut workload: Workload) -> Result<Workload, knee_fixture::Error> {
        if let (Some(standing), Load::Script { env, .. }) = (&mut self.standing, &mut workload.load) {
            for (name, text) in env {
                *text = standing.fixture.fill(text, &variable(&workload.name, name))?;
            }
        }
        Ok(workload)
    }

    /// Takes everything down.
    ///
    /// # Errors
    ///
    /// What could not be removed.
    pub fn down(self) -> Result<(), knee_fixture::Error> {
        // The bridge is kept until the fixture is down: taking down may wait, too.
        self.standing.map_or(Ok(()), |Standing { fixture, bridge: _bridge }| fixture.down())
    }
}

/// What the measured requests cost. Where the window was too short to look into, what the whole trial cost is shared
/// out between those requests and the others.
fn spent(run: &Run, seeing: &Seeing) -> Spent {
    let from = run.head.measured_from;
    let [service, stores, generator] =
        seeing.between(from, from.saturating_add(run.window())).unwrap_or_else(|| {
            let measured = run.measured.accounting().planned as f64;
            let share = measured / (measured + run.warm_up.accounting().planned as f64).max(1.0);
            seeing.whole().map(|cpu| Some(Nanos((cpu?.as_nanos() as f64 * share) as u64)))
        });
    Spent { service, stores, generator, memory: None }
}

/// What to say of a script whose own options end it before the time that the study declares.
fn cut_short(window: Nanos, measure: Nanos) -> Option<TrialWarning> {
    let (window, measure) = (window.as_secs_f64(), measure.as_secs_f64());
    (window < measure * 0.95).then(|| {
        let message = format!(
            "the script's options end it after {window:.1} s of measuring, `measure` is {measure:.1} s"
        );
        TrialWarning::new("cut_short", message)
    })
}

/// What a service did that ends its trial; other errors are failures of the tool or of the study.
fn failure_result(error: &knee_fixture::Error) -> Result<TrialResult, Failed> {
    let reason = error.to_string();
    match error {
        knee_fixture::Error::NeverReady { .. } | knee_fixture::Error::Died { at_start: true, .. } => {
            Ok(TrialResult::NeverReady { reason })
        }
        knee_fixture::Error::Died { .. } => Ok(TrialResult::Died { reason }),
        _ => Err(broken(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_ends_before_the_declared_time_is_reported_and_one_that_ends_with_it_is_not() {
        let warning = cut_short(Nanos::from_secs(3), Nanos::from_secs(5)).unwrap();
        assert_eq!(
            warning.message,
            "the script's options end it after 3.0 s of measuring, `measure` is 5.0 s"
        );
        assert_eq!(cut_short(Nanos::from_millis(4_900), Nanos::from_secs(5)), None);
    }
}

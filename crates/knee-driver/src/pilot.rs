//! Divides the CPUs before the first trial of a study: as its saved trials did, or by a pilot.
//!
//! A pilot is needed only if there are several ways to divide them. `knee_study::sizing` says how many CPUs the
//! generator needs; the fixture places the processes. Does not save the pilot.

use knee_core::unit::Nanos;
use knee_study::metric::Metric;
use knee_study::sizing::{self, Pilot, Size};
use knee_study::study::{Measured, Study, Trial};

use crate::error::Error;
use crate::runner::{Times, TrialRunner};
use crate::trials::{Event, reporting};

/// Measured time of a pilot, and its longest warm-up. A script without `{duration}` takes the time of its own options.
const MEASURE: Nanos = Nanos::from_secs(2);
const SETTLE: Nanos = Nanos::from_secs(1);

/// Divides the CPUs, and records the division in the study.
///
/// # Errors
///
/// When the saved trials ran on another division, or a load cannot be sent.
pub(crate) fn divide(
    study: &mut Study,
    runner: &mut TrialRunner,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<(), Error> {
    let Some(fixture) = runner.fixture() else { return Ok(()) };
    let size = match (study.division(), fixture.divisible()) {
        (Some(before), Some(_)) => {
            fixture.divide(before.generator_cpus())?;
            None
        }
        (None, Some(cpus)) if study.entries().is_empty() => sized(study, runner, cpus, observe)?,
        _ => None,
    };
    let Some(division) = runner.fixture().map(|fixture| fixture.division().clone()) else { return Ok(()) };
    if !study.entries().is_empty() && !study.division().is_some_and(|before| before.is_like(&division)) {
        return Err(Error::OtherDivision);
    }
    observe(Event::Divided { division: &division, size });
    study.divide(Some(division));
    Ok(())
}

/// Loads the baseline and the last variant, and gives the generator the CPUs that it needs for them.
fn sized(
    study: &Study,
    runner: &mut TrialRunner,
    cpus: usize,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Option<Size>, Error> {
    let generator = runner.fixture().map_or(0, |fixture| fixture.division().generator_cpus());
    let mut pilots = Vec::new();
    for trial in trials(study) {
        let settle = study.settle(true).min(SETTLE);
        let times = Times { settle, measure: MEASURE, seed: trial.arrival_seed };
        let measured = match runner.pilot(study, &trial, times, &mut reporting(observe)) {
            // The trials will find out too.
            Err(_) if runner.is_interrupted() => return Ok(None),
            other => other?,
        };
        pilots.extend(measured.as_ref().and_then(pilot));
    }
    let size = sizing::size(&pilots, cpus, generator);
    if let Some((size, fixture)) = size.zip(runner.fixture()) {
        fixture.divide(size.generator)?;
    }
    Ok(size)
}

/// The baseline and the last variant of the study, which is usually the fastest, under each workload.
fn trials(study: &Study) -> Vec<Trial> {
    let names: Vec<&String> = study.variants().iter().map(|variant| &variant.name).collect();
    let mut chosen: Vec<&String> = names.first().into_iter().chain(names.last()).copied().collect();
    chosen.dedup();
    let workloads = &study.definition().workloads;
    let of = |variant: &String| {
        let variant = variant.clone();
        workloads.iter().map(move |workload| Trial {
            number: 0,
            block: 0,
            attempt: 1,
            variant: variant.clone(),
            workload: workload.name.clone(),
            arrival_seed: study.definition().design.seed,
            restart: true,
            reset: workload.reset,
        })
    };
    chosen.into_iter().flat_map(of).collect()
}

/// The figures of a pilot; `None` if nothing was answered.
fn pilot(measured: &Measured) -> Option<Pilot> {
    let figure = |metric: Metric| measured.figures.get(&metric).map(|figure| figure.value);
    let throughput = figure(Metric::Throughput).filter(|rate| *rate > 0.0)?;
    let cost = |metric: Metric| figure(metric).unwrap_or_default() / 1e9;
    Some(Pilot {
        // What did not keep up asks for more than it got.
        scheduled: (measured.kept_up == Some(true)).then_some(throughput),
        throughput,
        generator_cost: cost(Metric::GeneratorCpuPerRequest),
        other_cost: cost(Metric::CpuPerRequest) + cost(Metric::StoreCpuPerRequest),
    })
}

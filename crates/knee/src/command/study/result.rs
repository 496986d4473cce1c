//! The lines of a study before and while it runs.
//!
//! Does not write its result; see [`super::document`].

use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_study::metric::Metric;
use knee_study::study::{Study, Trial, TrialResult};

use crate::problem::printable;

/// What would be run, line by line.
pub fn plan(study: &Study) -> Vec<String> {
    let names: Vec<&str> = study.variants().iter().map(|variant| variant.name.as_str()).collect();
    let workloads: Vec<&str> =
        study.definition().workloads.iter().map(|workload| workload.name.as_str()).collect();
    vec![
        format!("variants:      {}", printable(&names.join(", "))),
        format!("workloads: {}", printable(&workloads.join(", "))),
        format!("trials:    {}, without repeats and an extension", study.remaining()),
    ]
}

/// A line on what came of a trial. `left` trials are left, which take about `time`.
pub fn line(trial: &Trial, result: &TrialResult, left: usize, time: Option<Nanos>) -> String {
    let place =
        format!("block {} {} on {}", trial.block + 1, printable(&trial.workload), printable(&trial.variant));
    let rest = match (left, time) {
        (0, _) => "the last one".to_owned(),
        (left, Some(time)) => format!("{left} left, {}", span(time)),
        (left, None) => format!("{left} left"),
    };
    format!("{place}: {} · {rest}", outcome_of(result))
}

fn outcome_of(result: &TrialResult) -> String {
    let measured = match result {
        TrialResult::Measured(measured) => measured,
        TrialResult::Died { reason } => return format!("the service died: {}", first_line(reason)),
        TrialResult::NeverReady { reason } => {
            return format!("the service did not come up: {}", first_line(reason));
        }
    };
    let figure = |metric: Metric| measured.figures.get(&metric).map(|figure| figure.value);
    let rate = figure(Metric::Goodput).map(|rate| format!("{rate:.0}/s"));
    let middle = figure(Metric::P50).map(|time| format!("p50 {:.2} ms", time / 1e6));
    let errors = figure(Metric::Errors).filter(|share| *share > 0.0);
    let errors = errors.map(|share| format!("{:.1} % errors", share * 100.0));
    let state = (measured.validity != Validity::Valid).then(|| {
        format!(
            "{}: {}",
            measured.validity.name(),
            measured.warnings.first().map_or("", |warning| warning.message.as_str())
        )
    });
    let parts: Vec<String> = [rate, middle, errors, state].into_iter().flatten().collect();
    printable(&parts.join(", "))
}

fn first_line(text: &str) -> String {
    printable(text.lines().next().unwrap_or_default())
}

fn span(time: Nanos) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    if seconds < 90 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}

//! A side of a comparison with outputs of other tools: one run, from knee's record or from an output.
//!
//! Does not compare and does not lay out.

use std::path::Path;

use knee_audit::finding::{Finding, Grade};
use knee_audit::measurement::Load;
use knee_audit::run::{Quantity, RunFigure, RunLoad, Value};
use knee_core::plan::{Executor, Plan, Stop};
use knee_core::record::Run;
use knee_core::validity::Validity;
use knee_study::metric::Metric;
use knee_study::record_pair;
use knee_study::study::{Measured, Spent};

use super::opened::{Opened, Output};
use crate::command::saved;
use crate::problem::{Problem, on_one_line};

/// The figures of a saved run that outputs of other tools can have, too.
const METRICS: [(Metric, Quantity); 10] = [
    (Metric::Throughput, Quantity::Throughput),
    (Metric::Goodput, Quantity::Goodput),
    (Metric::Errors, Quantity::Errors),
    (Metric::Mean, Quantity::Mean),
    (Metric::P50, Quantity::Percentile(0.5)),
    (Metric::P90, Quantity::Percentile(0.9)),
    (Metric::P95, Quantity::Percentile(0.95)),
    (Metric::P99, Quantity::Percentile(0.99)),
    (Metric::P99_9, Quantity::Percentile(0.999)),
    (Metric::Max, Quantity::Max),
];

/// One run.
pub struct Side {
    /// Name of its file, harmless.
    pub name: String,
    /// What the file is.
    pub format: String,
    /// Its load, each part in words; empty if nothing is known.
    pub load: Vec<String>,
    /// Its figures.
    pub run: knee_audit::Run,
    /// What the checks of outputs found in it; of a saved run nothing.
    pub findings: Vec<Finding>,
    /// Why its figures mislead, each as a sentence without a full stop.
    pub warnings: Vec<String>,
}

impl Side {
    /// The run in a file.
    ///
    /// # Errors
    ///
    /// If the file does not hold one run.
    pub fn of(path: &Path, opened: Opened) -> Result<Self, Problem> {
        match opened {
            Opened::Output(output) => Self::of_output(*output),
            Opened::Saved(saved) => {
                let name = on_one_line(&path.display().to_string());
                saved::run_of(path, saved).map(|run| Self::of_saved(name, &run))
            }
        }
    }

    /// The run of an output.
    ///
    /// # Errors
    ///
    /// If the output is not of one run.
    pub fn of_output(output: Output) -> Result<Self, Problem> {
        let Output { name, examined } = output;
        let run = knee_audit::Run::of(&examined.document)
            .map_err(|error| Problem::new(format!("`{name}`: {error}"), error.hint()))?;
        let findings = examined.report.findings;
        let warnings = findings.iter().filter_map(warning).collect();
        let format = examined.document.format;
        Ok(Self { name, format, load: run.load.words(), run, findings, warnings })
    }

    fn of_saved(name: String, run: &Run) -> Self {
        let measured = Measured::of(run, &Spent::default(), None);
        let mut figures =
            vec![RunFigure { quantity: Quantity::Requests, value: Value::exact(measured.requests as f64) }];
        let mut missing = Vec::new();
        for (metric, quantity) in METRICS {
            match measured.figures.get(&metric) {
                Some(figure) if figure.at_least => {
                    missing.push(format!("{}: only a lower bound is known", quantity.name()));
                }
                Some(figure) => {
                    let value = if is_time(quantity) { figure.value / 1e9 } else { figure.value };
                    figures.push(RunFigure { quantity, value: Value::exact(value) });
                }
                None => missing.push(quantity.name()),
            }
        }
        let warnings = run.validity.warnings.iter().filter(|each| each.validity != Validity::Valid);
        let warnings = warnings.map(|each| format!("{}: {}", each.validity.name(), each.message)).collect();
        let notes = vec!["knee counts failed requests as slower than all others in percentiles".to_owned()];
        Self {
            name,
            format: "knee record".to_owned(),
            load: vec![record_pair::load(&run.head.plan)],
            run: knee_audit::Run { tool: "knee", load: load(&run.head.plan), figures, missing, notes },
            findings: Vec::new(),
            warnings,
        }
    }

    /// The names of its figures.
    pub fn figure_names(&self) -> String {
        let names: Vec<String> = self.run.figures.iter().map(|figure| figure.quantity.name()).collect();
        if names.is_empty() { "no figures".to_owned() } else { names.join(", ") }
    }
}

const fn is_time(quantity: Quantity) -> bool {
    matches!(quantity, Quantity::Mean | Quantity::Min | Quantity::Percentile(_) | Quantity::Max)
}

/// A finding that is more than a note, as a sentence.
fn warning(finding: &Finding) -> Option<String> {
    let grade = match finding.grade {
        Grade::Impossible => "cannot be true",
        Grade::Misleading => "misleading",
        Grade::Note => return None,
    };
    Some(format!("{grade}: {} [{}]", finding.says, finding.check))
}

/// The load of a plan, if it is one steady level.
fn load(plan: &Plan) -> RunLoad {
    let [scenario] = plan.scenarios.as_slice() else { return RunLoad::default() };
    let duration = match scenario.stop {
        Stop::At(end) => Some(Value::exact(end.since(plan.warm_up).as_secs_f64())),
        Stop::Requests(_) => None,
    };
    let steady = RunLoad { places_name: "connections", duration, ..RunLoad::default() };
    match &scenario.executor {
        Executor::Closed { vus } if vus.stages.is_empty() => {
            RunLoad { model: Load::Closed, places: Some(Value::exact(vus.start)), ..steady }
        }
        Executor::Open { rate, .. } if rate.stages.is_empty() => {
            RunLoad { model: Load::Open, rate: Some(Value::exact(rate.start)), ..steady }
        }
        Executor::Closed { .. } | Executor::Open { .. } => steady,
    }
}

//! The lines of a study, a comparison or a calibration before and while it runs.
//!
//! Does not write the result.

use std::collections::{BTreeMap, BTreeSet};

use knee_core::fixture::division::Division;
use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_driver::{Event, Preparation, Spans};
use knee_report::number;
use knee_report::study::{self, cause};
use knee_study::metric::Metric;
use knee_study::sizing::Size;
use knee_study::study::{Shortage, Study, Trial, TrialResult};

use crate::problem::{on_one_line, printable};

/// The trials that would run, line by line.
pub fn plan(study: &Study) -> Vec<String> {
    let names: Vec<&str> = study.variants().iter().map(|variant| variant.name.as_str()).collect();
    let workloads: Vec<&str> =
        study.definition().workloads.iter().map(|workload| workload.name.as_str()).collect();
    let mut lines = vec![
        format!("variants:  {}", on_one_line(&names.join(", "))),
        format!("workloads: {}", on_one_line(&workloads.join(", "))),
        format!("trials:    {}, not counting repeats of lost trials and extra blocks", study.remaining()),
        format!("time:      {} of load, plus the time for starts, builds and resets", span(load_time(study))),
    ];
    lines.extend(study.planned().map(|trial| {
        let start = if trial.restart { ", fresh process" } else { "" };
        let reset = if trial.reset { ", data reset" } else { "" };
        let (variant, workload) = (on_one_line(&trial.variant), on_one_line(&trial.workload));
        format!("{:>5}. block {}: {workload} on {variant}{start}{reset}", trial.number + 1, trial.block + 1)
    }));
    lines
}

/// Load time of the planned trials, including warm-up.
fn load_time(study: &Study) -> Nanos {
    let time = |trial: &Trial| study.settle(trial.restart).as_nanos() + study.measure(trial).as_nanos();
    Nanos(study.planned().map(time).sum())
}

/// Reports each trial when it ends, in one short line with the codes of its warnings. Reports the output of a failed
/// service once per failure, and the meaning of the codes once at the end.
pub struct Progress {
    narrate: fn(&str),
    /// No line per trial.
    quiet: bool,
    /// Message when the user interrupts the trials.
    interrupted: &'static str,
    /// Failures whose output was already shown.
    shown: BTreeSet<(String, String)>,
    /// Trials by the code of a warning.
    codes: BTreeMap<String, usize>,
}

impl Progress {
    /// Reports to `narrate`.
    pub fn new(narrate: fn(&str), quiet: bool, interrupted: &'static str) -> Self {
        Self { narrate, quiet, interrupted, shown: BTreeSet::new(), codes: BTreeMap::new() }
    }

    /// Reports once what the codes of the trials mean, the most frequent first.
    pub fn explain(&self) {
        let mut codes: Vec<(&String, &usize)> = self.codes.iter().filter(|_| !self.quiet).collect();
        codes.sort_by_key(|(_, trials)| std::cmp::Reverse(**trials));
        for (code, trials) in codes {
            let trials = number::counted(*trials as u64, "trial");
            let cause = cause(code).map_or_else(String::new, |cause| format!(": {cause}"));
            (self.narrate)(&format!("[{code}] in {trials}{cause}; see `knee explain {code}`"));
        }
    }

    /// Reports one event.
    pub fn report(&mut self, event: &Event<'_>) {
        match event {
            Event::Trial { trial, result, output, left, time_left } => {
                for code in codes(result) {
                    *self.codes.entry(code.to_owned()).or_default() += 1;
                }
                if !self.quiet {
                    (self.narrate)(&line(trial, result, *left, *time_left));
                }
                self.failure(trial, result, output);
            }
            Event::FixtureStarts => (self.narrate)("starting the services and stores of the study"),
            Event::Prepares(preparation) => {
                if !self.quiet {
                    (self.narrate)(&prepares(*preparation));
                }
            }
            Event::Divided { division, size } => {
                if !self.quiet {
                    (self.narrate)(&divided(division, size.as_ref()));
                }
            }
            Event::Short { shortages } => shortages.iter().for_each(|short| (self.narrate)(&foreseen(short))),
            Event::Interrupted => (self.narrate)(self.interrupted),
            Event::Ended { spans } => {
                if let Some(line) = spent(spans).filter(|_| !self.quiet) {
                    (self.narrate)(&line);
                }
            }
        }
    }

    fn failure(&mut self, trial: &Trial, result: &TrialResult, output: &[String]) {
        let (TrialResult::Died { reason } | TrialResult::NeverReady { reason }) = result else { return };
        if !self.shown.insert((trial.variant.clone(), reason.clone())) {
            return;
        }
        let last = output.last().map(|line| format!(": {line}")).unwrap_or_default();
        let reason = reason.strip_suffix(&last).unwrap_or(reason);
        let mut text = format!("warning: {}: {}", on_one_line(&trial.variant), on_one_line(reason));
        if output.is_empty() {
            text.push_str("; it printed nothing");
        }
        for line in output {
            text.push_str("\n  | ");
            text.push_str(&printable(line));
        }
        (self.narrate)(&text);
    }
}

/// What the time was spent on; `None` without any load.
fn spent(spans: &Spans) -> Option<String> {
    let overhead = number::percent(spans.overhead()?);
    let (load, starts, around) = (span(spans.load), span(spans.starts), span(spans.around));
    Some(format!(
        "time: {load} under load; without load {overhead}: {starts} to reset and start services, {around} to start \
         virtual users and to wait for open requests"
    ))
}

/// A command of the study that can take minutes.
fn prepares(preparation: Preparation<'_>) -> String {
    match preparation {
        Preparation::Build(command) => format!("building: {}", on_one_line(command)),
        Preparation::Seed(words) => format!("seeding: {}", on_one_line(&words.join(" "))),
    }
}

/// Who has which CPUs, and whether a pilot showed that the generator has too few.
fn divided(division: &Division, size: Option<&Size>) -> String {
    let short = match size {
        Some(Size { generator, needed, enough: false }) => {
            format!("; too few: the generator needs about {needed:.1} CPUs and has {generator}")
        }
        _ => String::new(),
    };
    format!("{}{short}", study::division(division))
}

/// A percentile that the study will not have, and what would do.
fn foreseen(short: &Shortage) -> String {
    let Shortage { metric, workload, variant, requests, needed, blocks, blocks_needed } = short;
    let blocks = if *blocks == 1 { "1 block has".to_owned() } else { format!("{blocks} blocks have") };
    format!(
        "note: {metric} of {} will stay undecided: on {}, {blocks} about {}, and it takes {}; {} would \
         do, or trials {:.1} times as long",
        on_one_line(workload),
        on_one_line(variant),
        number::counted(*requests, "request"),
        number::count(*needed),
        number::counted(*blocks_needed as u64, "block"),
        *needed as f64 / (*requests).max(1) as f64
    )
}

/// The line with the result of a trial. `left` trials are left, which take about `time`.
fn line(trial: &Trial, result: &TrialResult, left: usize, time: Option<Nanos>) -> String {
    let place = format!(
        "block {} {} on {}",
        trial.block + 1,
        on_one_line(&trial.workload),
        on_one_line(&trial.variant)
    );
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
            return format!("the service did not become ready: {}", first_line(reason));
        }
    };
    let figure = |metric: Metric| measured.figures.get(&metric).map(|figure| figure.value);
    let rate = figure(Metric::Goodput).map(|rate| format!("{rate:.0}/s"));
    let middle = figure(Metric::P50).map(|time| format!("p50 {:.2} ms", time / 1e6));
    let errors = figure(Metric::Errors).filter(|share| *share > 0.0);
    let errors = errors.map(|share| format!("{:.1} % errors", share * 100.0));
    let validity = (measured.validity != Validity::Valid).then(|| {
        let codes: Vec<&str> = codes(result).into_iter().collect();
        let codes = if codes.is_empty() { String::new() } else { format!(" [{}]", codes.join(", ")) };
        format!("{}{codes}", measured.validity.name())
    });
    let parts: Vec<String> = [rate, middle, errors, validity].into_iter().flatten().collect();
    on_one_line(&parts.join(", "))
}

/// The codes of a trial's warnings, each once.
fn codes(result: &TrialResult) -> BTreeSet<&str> {
    let TrialResult::Measured(measured) = result else { return BTreeSet::new() };
    measured.warnings.iter().map(|warning| warning.code.as_str()).filter(|code| !code.is_empty()).collect()
}

fn first_line(text: &str) -> String {
    on_one_line(text.lines().next().unwrap_or_default())
}

fn span(time: Nanos) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    if seconds < 90 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_and_a_seed_are_lines_with_their_commands() {
        let build = prepares(Preparation::Build("cargo build\u{1b} --release"));
        assert!(build.starts_with("building: cargo build") && build.ends_with(" --release"), "{build}");
        assert!(!build.contains('\u{1b}'), "{build}");
        let seed = ["server", "seed", "{data}"].map(str::to_owned);
        assert_eq!(prepares(Preparation::Seed(&seed)), "seeding: server seed {data}");
    }

    #[test]
    fn a_percentile_that_a_study_will_not_have_comes_with_what_would_do() {
        let short = Shortage {
            metric: Metric::P95,
            workload: "mix".to_owned(),
            variant: "stock\u{1b}[2J".to_owned(),
            requests: 1_608,
            needed: 2_000,
            blocks: 8,
            blocks_needed: 10,
        };
        let line = foreseen(&short);
        assert!(line.starts_with("note: p95 of mix will stay undecided: on stock"), "{line}");
        assert!(!line.contains('\u{1b}'), "{line}");
        assert!(
            line.ends_with(
                "8 blocks have about 1,608 requests, and it takes 2,000; 10 blocks would do, or trials 1.2 times as long"
            ),
            "{line}"
        );
    }
}

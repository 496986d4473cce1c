//! `knee compare`: compares two URLs or commands, which it loads alternately, two saved runs, or two outputs of other
//! tools.
//!
//! `knee_study` chooses the trials and draws the conclusion, as in a study of two variants. Does not
//! calculate.

use std::path::Path;

use knee_driver::study::run_unsaved;
use knee_engine::control::{Control, Request};
use knee_report::html;
use knee_report::kept;
use knee_report::study::comparison as shown;
use knee_study::compare::Comparison;
use knee_study::record_pair::RecordPair;
use knee_study::study::{Options, Study};

use super::failed::{Failed, driver_failed, failed, refused};
use super::history;
use super::keep::keep;
use super::noise;
use super::outputs::{self, Opened};
use super::progress::Progress;
use super::pushes;
use super::rendered::render;
use super::saved::{open_run, run_of};
use super::sides::Sides;
use crate::args::{CompareArgs, CompareFormat, CompareOutputFlags};
use crate::exit::Exit;
use crate::other_load::Presence;
use crate::problem::{Problem, on_one_line};
use crate::settings::compare::{self as settings, Side};
use crate::settings::fleet::Remote;
use crate::settings::output::open_result;
use crate::signals;
use crate::store::Store;

/// Runs the command.
///
/// # Errors
///
/// What is wrong with what was typed, or what failed on this machine.
pub fn compare(args: &CompareArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    if let Some(name) = &args.baseline {
        return with_baseline(name, args, narrate).map_err(refused);
    }
    let store = Store::of_process();
    let side = |text: &Option<String>| {
        settings::side(text.as_deref().unwrap_or_default(), store.as_ref()).map_err(refused)
    };
    match (side(&args.a)?, side(&args.b)?) {
        (Side::Record(a), Side::Record(b)) => {
            settings::refuse_misplaced(args, true).map_err(refused)?;
            records(&a, &b, &args.output, narrate).map_err(refused)
        }
        (Side::Record(_), _) | (_, Side::Record(_)) => Err(refused(Problem::new(
            "a saved run cannot be compared with a URL or a command",
            "give two saved runs, or two URLs or commands",
        ))),
        (a, b) => {
            settings::refuse_misplaced(args, false).map_err(refused)?;
            driven(args, [a, b], narrate)
        }
    }
}

/// A saved run beside the one before it that has this name and can be compared.
fn with_baseline(name: &str, args: &CompareArgs, narrate: fn(&str)) -> Result<Exit, Problem> {
    settings::refuse_misplaced(args, true)?;
    let (candidate, None) = (args.a.as_deref().unwrap_or("last"), &args.b) else {
        let hint = "give the candidate alone: `--baseline NAME` is the other side";
        return Err(Problem::new("two sides are given, and `--baseline`", hint));
    };
    let Side::Record(candidate) = settings::side(candidate, Store::of_process().as_ref())? else {
        let what = format!("`{}` is not a saved run, for `--baseline`", on_one_line(candidate));
        return Err(Problem::new(what, "load it first; then give `last` or a file"));
    };
    let baseline = history::baseline(name, &open_run(&candidate, narrate)?, narrate)?;
    records(&baseline, &candidate, &args.output, narrate)
}

fn records(a: &Path, b: &Path, output: &CompareOutputFlags, narrate: fn(&str)) -> Result<Exit, Problem> {
    let name = |path: &Path| on_one_line(&path.display().to_string());
    let (one, other) = match (outputs::open(a, narrate)?, outputs::open(b, narrate)?) {
        (Opened::Saved(one), Opened::Saved(other)) => (run_of(a, one)?, run_of(b, other)?),
        (one, other) => return outputs::compare([(a, one), (b, other)], output),
    };
    let noise = noise::of_this_machine(narrate);
    let pair = RecordPair::of((&one, &name(a)), (&other, &name(b)), noise);
    let mut sink = open_result(output.output.as_deref())?;
    let rendered = match output.output_format.unwrap_or_default() {
        CompareFormat::Json => shown::record_pair_json(&pair),
        CompareFormat::Html => html::record_pair(&pair, (&one, &other)),
        _ => render(&shown::record_pair(&pair), output),
    };
    sink.write(rendered.as_bytes())?;
    Ok(Exit::Ok)
}

fn driven(args: &CompareArgs, sides: [Side; 2], narrate: fn(&str)) -> Result<Exit, Failed> {
    let typed = |side: &Option<String>| side.clone().unwrap_or_default();
    let (a, b) = (typed(&args.a), typed(&args.b));
    let named = [(a.as_str(), &sides[0]), (b.as_str(), &sides[1])];
    let variants = settings::variants(&named, &args.command).map_err(refused)?;
    let asked = settings::asked("A and B", variants, &args.trial, &args.verdict, args.request.stream)
        .map_err(refused)?;
    let targets = settings::pushes(args).map_err(refused)?;
    let driver = Sides::new(args, sides).map_err(refused)?;
    let load = driver.words(asked.measure, asked.warm_up).map_err(refused)?;
    let noise = noise::of_this_machine(narrate);
    let definition = asked.definition();
    let options = Options { fleet: Remote::words(&args.fleet, &args.service_host), ..Options::default() };
    let mut study =
        Study::new(definition, options, noise).map_err(|refusal| driver_failed(refusal.into()))?;
    let mut sink = open_result(args.output.output.as_deref()).map_err(refused)?;
    let control = Control::new();
    let fault = pushes::during(&targets, narrate, |feed| {
        drive(&mut study, driver.with_feed(feed), &control, args.output.quiet, narrate)
    })?;
    let comparison = Comparison::of(&study, load);
    let fault = match fault {
        Some(fault) if comparison.study.totals.trials == 0 => return Err(fault),
        Some((problem, exit)) => {
            narrate(&problem.to_string());
            Some(exit)
        }
        None => None,
    };
    let rendered = match args.output.output_format.unwrap_or_default() {
        CompareFormat::Json => shown::comparison_json(&comparison),
        CompareFormat::Html => html::comparison(&comparison),
        _ => render(&shown::comparison(&comparison), &args.output),
    };
    sink.write(rendered.as_bytes()).map_err(failed)?;
    keep(&kept::comparison(&comparison).with_page(html::comparison(&comparison)), narrate);
    Ok(fault.unwrap_or_else(|| exit_of(&comparison, control.request() != Request::Run)))
}

/// Runs the trials of a study whose sides `driver` loads; returns the error that ended them early.
pub(super) fn drive(
    study: &mut Study,
    driver: Sides,
    control: &Control,
    quiet: bool,
    narrate: fn(&str),
) -> Result<Option<Failed>, Failed> {
    let _signals =
        signals::watch(control.clone()).map_err(|error| failed(Problem::new(error.to_string(), "")))?;
    let interrupted = "interrupted: the result covers the trials so far";
    let mut progress = Progress::new(narrate, quiet, interrupted);
    let mut observe = |event: knee_driver::Event<'_>| progress.report(&event);
    let _presence = Presence::of_series(control, narrate);
    let fault = run_unsaved(study, Box::new(driver), control, &mut observe);
    progress.explain();
    Ok(fault.map_err(driver_failed)?.map(driver_failed))
}

/// Exit code of a comparison: the lack of a valid result has precedence over the way it ended.
fn exit_of(comparison: &Comparison, interrupted: bool) -> Exit {
    let compared = comparison.metrics.iter().any(|line| line.effect.n_blocks > 0);
    match () {
        () if interrupted => Exit::Interrupted,
        () if !compared => Exit::Invalid,
        () if comparison.regressions.is_empty() => Exit::Ok,
        () => Exit::Slower,
    }
}

#[cfg(test)]
mod tests;

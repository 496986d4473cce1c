//! `knee sweep`: climb with the load until the service no longer keeps up, and say what it takes.
//!
//! Every step is a run of its own whose record is kept. Which step comes next, and what the steps
//! have shown, is decided by `knee_study::sweep`; this makes the steps and shows them. Does not
//! calculate.

use std::path::PathBuf;

use knee_core::clock::{self, MonotonicClock};
use knee_core::record::Run;
use knee_core::validity::Validity;
use knee_engine::control::{Control, Request};
use knee_engine::host;
use knee_report::SweepView;
use knee_report::sweep::{About, json, markdown, svg, text};
use knee_report::text::{Palette, Style};
use knee_study::sweep::conclusion::Facts;
use knee_study::sweep::course::Ended;
use knee_study::sweep::{Report, Step, StepResult, Sweep};

use super::build;
use crate::args::{SweepArgs, SweepFormat};
use crate::exit::Exit;
use crate::problem::{Problem, printable};
use crate::process;
use crate::settings::output::{Sink, open_result};
use crate::settings::sweep::{self as settings, SweepSettings};
use crate::settings::{Surroundings, target};
use crate::signals;

mod script;

mod url;

/// A sweep that failed: with the code to end with.
type Failed = (Problem, Exit);

/// Makes the steps of a sweep.
trait Loader {
    /// Makes one, and returns what was measured.
    fn take(&mut self, step: &Step, control: &Control, narrate: fn(&str)) -> Result<Taken, Failed>;

    /// What is loaded, for a title.
    fn title(&self) -> String;

    /// Whether it is on this machine; `None` if that cannot be told.
    fn co_located(&self) -> Option<bool>;

    /// After the last step.
    fn end(&mut self) -> Result<(), Failed> {
        Ok(())
    }
}

/// Where the result goes. Opened before the first step: a file that cannot be written must not cost a sweep.
struct Sinks {
    result: Sink,
    json: Option<Sink>,
    drawing: Option<Sink>,
}

impl Sinks {
    fn open(settings: &SweepSettings) -> Result<Self, Problem> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(|path| open_result(Some(path))).transpose();
        let result = open_result(settings.file.as_deref())?;
        Ok(Self { result, json: open(&settings.json)?, drawing: open(&settings.svg)? })
    }
}

/// A step that was made.
struct Taken {
    run: Run,
    record: Option<PathBuf>,
    /// Requests that one arrival makes.
    requests_per_arrival: f64,
}

/// Does it.
///
/// # Errors
///
/// What is wrong with what was typed, or what failed on this machine.
pub fn sweep(args: &SweepArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let surroundings = Surroundings::read();
    let script = args.target.as_deref().is_some_and(settings::is_script);
    let settings = settings::settings(args, &surroundings).map_err(refused)?;
    settings::refuse_misplaced(args, script).map_err(refused)?;
    process::check(&settings.pids).map_err(refused)?;
    if script {
        let mut loader = script::ScriptLoader::begin(args, &settings, narrate)?;
        return conduct(&settings, &mut loader, narrate);
    }
    let load = settings::load(args, &settings, &surroundings).map_err(refused)?;
    target::probe(&load.targets, &load.http).map_err(refused)?;
    let mut loader = url::UrlLoader::new(load, &settings).map_err(refused)?;
    conduct(&settings, &mut loader, narrate)
}

fn conduct(settings: &SweepSettings, loader: &mut dyn Loader, narrate: fn(&str)) -> Result<Exit, Failed> {
    let mut sinks = Sinks::open(settings).map_err(refused)?;
    let control = Control::new();
    let _signals =
        signals::watch(control.clone()).map_err(|error| failed(Problem::new(error.to_string(), "")))?;
    let about = About {
        title: loader.title(),
        build: build(),
        machine: host::machine(),
        started: clock::wall(),
        co_located: loader.co_located(),
    };
    let (sweep, fault) = climb(settings, loader, &control, narrate);
    let fault = fault.or(loader.end().err());
    let report = sweep.conclude(facts(settings, &about));
    // What was measured before something failed is told all the same.
    if fault.is_none() || !report.trials.is_empty() {
        write(settings, &report, &about, &mut sinks).map_err(failed)?;
    }
    fault.map_or_else(|| Ok(exit_of(&report)), Err)
}

/// Makes step after step until there is none left, or somebody ends it, or one fails.
fn climb(
    settings: &SweepSettings,
    loader: &mut dyn Loader,
    control: &Control,
    narrate: fn(&str),
) -> (Sweep, Option<Failed>) {
    let mut sweep = Sweep::new(settings.config.clone());
    while control.request() == Request::Run
        && let Some(step) = sweep.next()
    {
        match measure(settings, loader, &step, control, narrate) {
            Ok(result) => {
                sweep.record_result(result);
            }
            Err(fault) => return (sweep, Some(fault)),
        }
        if control.request() != Request::Run {
            break;
        }
        let left = sweep.left();
        if let Some(trial) = sweep.trials().last().filter(|_| settings.progress) {
            narrate(&text::step_line(trial, settings.config.kind, left, settings.time_unit));
        }
    }
    // Here and not in the loop, because it may also be left between two steps.
    if control.request() != Request::Run {
        narrate("interrupted: the result is drawn from the steps that were made");
        sweep.interrupt();
    }
    (sweep, None)
}

fn measure(
    settings: &SweepSettings,
    loader: &mut dyn Loader,
    step: &Step,
    control: &Control,
    narrate: fn(&str),
) -> Result<StepResult, Failed> {
    let clock = MonotonicClock::start();
    let before = process::used_by_all(&settings.pids);
    let Taken { run, record, requests_per_arrival } = loader.take(step, control, narrate)?;
    let after = process::used_by_all(&settings.pids);
    let mut result = StepResult::of(&run, requests_per_arrival);
    result.took = clock.now().as_secs_f64();
    result.cpu = before.zip(after).map(|(before, after)| after.cpu.since(before.cpu).as_secs_f64());
    result.record = record.map(|path| printable(&path.display().to_string()));
    Ok(result)
}

fn facts(settings: &SweepSettings, about: &About) -> Facts {
    let cores = (!settings.pids.is_empty()).then(|| f64::from(about.machine.cores));
    Facts { cores, assumptions: settings.assumptions }
}

fn write(settings: &SweepSettings, report: &Report, about: &About, sinks: &mut Sinks) -> Result<(), Problem> {
    let view = SweepView::of(report, about);
    let palette = if settings.color { Palette::Ansi } else { Palette::None };
    let style = Style { palette, unit: settings.time_unit, ..Style::default() };
    let text = match settings.format {
        SweepFormat::Text => text::render(&view, &style),
        SweepFormat::Md => markdown::render(&view, &style),
        SweepFormat::Json => json::render(&view),
    };
    let written = sinks.result.write(text.as_bytes());
    if let Some(json) = &mut sinks.json {
        json.write(json::render(&view).as_bytes())?;
    }
    if let Some(drawing) = &mut sinks.drawing {
        drawing.write(svg::render(&view).as_bytes())?;
    }
    written
}

/// How a sweep ends the program: a result that is not to be used counts more than how it came to its end.
fn exit_of(report: &Report) -> Exit {
    match (report.state, report.ended) {
        (Validity::Invalid, _) => Exit::Invalid,
        (_, Ended::Interrupted) => Exit::Interrupted,
        _ => Exit::Ok,
    }
}

fn refused(problem: Problem) -> Failed {
    (problem, Exit::Configuration)
}

fn failed(problem: Problem) -> Failed {
    (problem, Exit::Failure)
}

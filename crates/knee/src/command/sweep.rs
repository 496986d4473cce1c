//! `knee sweep`: raises the load until the service no longer keeps up, and reports its capacity.
//!
//! Every step is a separate run with a saved record. `knee_study::sweep` chooses the steps and draws the conclusion;
//! this module runs and shows them. Does not calculate.

use std::path::PathBuf;

use knee_core::clock;
use knee_core::record::Run;
use knee_core::validity::Validity;
use knee_driver::cpu_use::CpuWatch;
use knee_driver::process;
use knee_driver::sweep::{Surroundings as Around, climb};
use knee_engine::control::{Control, Request};
use knee_engine::host;
use knee_report::sweep::stops::StepFindings;
use knee_report::sweep::{About, json, markdown, svg, text};
use knee_report::text::{Palette, Style};
use knee_report::{SweepView, html, kept};
use knee_study::sweep::conclusion::Facts;
use knee_study::sweep::course::Ended;
use knee_study::sweep::{Report, Step, Sweep};

use super::build;
use super::failed::{Failed, driver_failed, failed, refused};
use super::keep::keep;
use super::pushes::{self, Feed};
use crate::args::{ConnectionFlags, FleetFlags, RequestFlags, SweepArgs, SweepFormat};
use crate::exit::Exit;
use crate::other_load::Presence;
use crate::problem::Problem;
use crate::settings::output::{Sink, open_result};
use crate::settings::sweep::{self as settings, SweepSettings};
use crate::settings::{Surroundings, target};
use crate::signals;

mod loader;

mod of_study;

mod saved;

mod script;

pub mod short;

mod url;

use loader::Loader;
use of_study::{Plan, Started};

/// Destination of the result. Opened before the first step, so that an unwritable file does not cost a sweep.
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

/// Runs the command.
///
/// # Errors
///
/// What is wrong with what was typed, or what failed on this machine.
pub fn sweep(args: &SweepArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    if args.target.as_deref().is_some_and(settings::is_study) {
        return of_a_study(args, narrate);
    }
    settings::refuse_study_flags(&args.study).map_err(refused)?;
    let surroundings = Surroundings::read();
    let script = args.target.as_deref().is_some_and(settings::is_script);
    let settings = settings::settings(args, &surroundings).map_err(refused)?;
    settings::refuse_misplaced(args, script).map_err(refused)?;
    let settings = settings::of_fleet(settings, args).map_err(refused)?;
    process::check(&settings.pids).map_err(driver_failed)?;
    pushes::during(&settings.pushes, narrate, |feed| of_target(args, &settings, feed, narrate))
}

/// Runs the steps, whose figures go to `feed`.
fn of_target(
    args: &SweepArgs,
    settings: &SweepSettings,
    feed: Option<Feed>,
    narrate: fn(&str),
) -> Result<Exit, Failed> {
    if args.target.as_deref().is_some_and(settings::is_script) {
        let mut loader = script::ScriptLoader::begin(args, settings, feed, narrate)?;
        let (control, _signals) = watched()?;
        return conduct(args, settings, &mut loader, &control, narrate);
    }
    let load = settings::load(args, settings, &Surroundings::read()).map_err(refused)?;
    // The agents of a fleet can reach what this machine cannot.
    if load.fleet.is_none() {
        target::probe(&load.targets, &load.http).map_err(refused)?;
    }
    let mut loader = url::UrlLoader::new(load, settings, feed).map_err(refused)?;
    let (control, _signals) = watched()?;
    conduct(args, settings, &mut loader, &control, narrate)
}

/// Starts the service of a study, runs the steps and stops everything.
fn of_a_study(args: &SweepArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let plan = Plan::read(args)?;
    let settings = plan.first_settings()?;
    // Before anything is built and started for it.
    saved::check(args, &settings.config, (&plan.title(), &plan.declared()))?;
    pushes::during(&settings.pushes, narrate, |feed| {
        let (control, _signals) = watched()?;
        let mut started = match Started::begin(&plan, feed, &control, narrate) {
            Err(_) if control.request() != Request::Run => return Ok(Exit::Interrupted),
            other => other?,
        };
        conduct(args, &settings, &mut started, &control, narrate)
    })
}

/// A control that the user's signals reach.
fn watched() -> Result<(Control, signals::Watch), Failed> {
    let control = Control::new();
    let signals =
        signals::watch(control.clone()).map_err(|error| failed(Problem::new(error.to_string(), "")))?;
    Ok((control, signals))
}

fn conduct(
    args: &SweepArgs,
    settings: &SweepSettings,
    loader: &mut dyn Loader,
    control: &Control,
    narrate: fn(&str),
) -> Result<Exit, Failed> {
    let (title, declared) = (loader.title(), loader.declared());
    let mut saved = saved::open(args, &settings.config, (title.as_str(), declared.as_str()), narrate)?;
    let mut sinks = Sinks::open(settings).map_err(refused)?;
    let pids = [settings.pids.clone(), loader.pids()].concat();
    let co_located = loader.co_located();
    let watch = (co_located == Some(true) || !pids.is_empty()).then(|| CpuWatch::new(&pids));
    let shared_cpus = watch.as_ref().and_then(CpuWatch::shared);
    let facts = facts(settings, watch.as_ref(), shared_cpus.as_deref());
    let about = About {
        title,
        build: build(),
        machine: host::machine(),
        started: clock::wall(),
        co_located,
        shared_cpus: shared_cpus.unwrap_or_default(),
        division: loader.division(),
        again: loader.again(),
        with_options: args.request != RequestFlags::default()
            || args.connection != ConnectionFlags::default()
            || args.fleet != FleetFlags::default()
            || !args.ladder.allow_hosts.is_empty(),
    };
    // Agents of a fleet take no CPU time of this machine.
    let sharing = text::sharing(facts, &about).filter(|_| args.fleet == FleetFlags::default());
    if let Some(line) = sharing.filter(|_| settings.progress) {
        narrate(&format!("note: {line}"));
    }
    let mut advice = advise(&about, facts);
    let mut observe = |sweep: &Sweep| {
        let Some(trial) = sweep.trials().last() else { return };
        if settings.progress {
            narrate(&text::step_line(trial, &settings.config, sweep.left(), settings.time_unit));
        }
        if let Some(line) = advice(sweep) {
            narrate(&line);
        }
    };
    let mut found: Vec<StepFindings> = Vec::new();
    let mut look = |step: &Step, run: &Run| found.push(StepFindings::of(step, run));
    let around = Around {
        pids,
        watch,
        reset: settings.reset.as_deref(),
        saved: saved.as_mut().map(|saved| &mut saved.steps),
        look: &mut look,
    };
    let presence = Presence::of_series(control, narrate);
    let (sweep, fault) = climb(&settings.config, around, loader, control, &mut observe);
    drop(presence);
    if control.request() != Request::Run {
        narrate("interrupted: the result covers the steps so far; --resume continues");
    }
    let fault = fault.map(driver_failed).or(loader.end().err());
    let report = sweep.conclude(facts);
    // What was measured before something failed is reported all the same.
    if fault.is_none() || !report.trials.is_empty() {
        let view = SweepView::of(&report, &about).with_findings(&found);
        write(settings, &view, &mut sinks).map_err(failed)?;
        save(settings, &view, narrate);
    }
    fault.map_or_else(|| Ok(exit_of(&report)), Err)
}

fn facts(settings: &SweepSettings, watch: Option<&CpuWatch>, shared: Option<&[usize]>) -> Facts {
    Facts {
        cores: watch.and_then(CpuWatch::cores),
        shared_cpus: shared.map(<[usize]>::len),
        assumptions: settings.assumptions,
    }
}

/// Says once, as soon as a step is void because the generator was late, what can be done about it.
fn advise(about: &About, facts: Facts) -> impl FnMut(&Sweep) -> Option<String> {
    let (about, mut said) = (about.clone(), false);
    move |sweep| {
        let advice = text::advice(&sweep.conclude(facts), &about).filter(|_| !said);
        said |= advice.is_some();
        advice
    }
}

fn write(settings: &SweepSettings, view: &SweepView<'_>, sinks: &mut Sinks) -> Result<(), Problem> {
    let palette = if settings.color { Palette::Ansi } else { Palette::None };
    let style = Style { palette, unit: settings.time_unit, ..Style::default() };
    let text = match settings.format {
        SweepFormat::Text => text::render(view, &style),
        SweepFormat::Html => html::sweep(view, &style),
        SweepFormat::Md => markdown::render(view, &style),
        SweepFormat::Json => json::render(view),
    };
    let written = sinks.result.write(text.as_bytes());
    if let Some(json) = &mut sinks.json {
        json.write(json::render(view).as_bytes())?;
    }
    if let Some(drawing) = &mut sinks.drawing {
        drawing.write(svg::render(view).as_bytes())?;
    }
    written
}

fn save(settings: &SweepSettings, view: &SweepView<'_>, narrate: fn(&str)) {
    let style = Style { unit: settings.time_unit, ..Style::default() };
    keep(&kept::sweep(view, &style).with_page(html::sweep(view, &style)), narrate);
}

/// Exit code of a sweep: an invalid result has precedence over the way the sweep ended.
fn exit_of(report: &Report) -> Exit {
    match (report.state, report.ended) {
        (Validity::Invalid, _) => Exit::Invalid,
        (_, Ended::Interrupted) => Exit::Interrupted,
        _ => Exit::Ok,
    }
}

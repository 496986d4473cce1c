//! A short sweep of a URL for `knee find --sweep`, with the whole run of the step that shows the limit.
//!
//! Every step has a record, as in any sweep, but the sweep itself is not saved and cannot go on later. Does not print a
//! result.

use knee_core::clock;
use knee_core::record::Run;
use knee_driver::sweep::{Surroundings as Around, climb};
use knee_engine::control::Control;
use knee_engine::host;
use knee_report::sweep::stops::{StepFindings, Stops};
use knee_report::sweep::{About, text};
use knee_report::{SweepView, View};
use knee_study::sweep::conclusion::Facts;
use knee_study::sweep::{Report, Step, Sweep};

use super::loader::Loader;
use super::url::UrlLoader;
use super::{build, exit_of};
use crate::args::SweepArgs;
use crate::command::failed::{Failed, driver_failed, failed, refused};
use crate::exit::Exit;
use crate::other_load::Presence;
use crate::problem::{Problem, on_one_line};
use crate::settings::sweep::{self as settings, SweepSettings};
use crate::settings::{Surroundings, target};
use crate::signals;

/// What a short sweep found.
pub struct Look {
    /// Title of the target.
    pub title: String,
    /// The result of the sweep, in sentences.
    pub headline: String,
    /// The findings at the limit.
    pub stops: Stops,
    /// The run of the step that shows it.
    pub view: View,
    /// The name of the record of this run; `None` if it is not saved.
    pub record: Option<String>,
    /// Exit code of the sweep.
    pub exit: Exit,
}

/// Sweeps the URL of `args`.
///
/// # Errors
///
/// What is wrong with what was typed, or what failed on this machine.
pub fn look(args: &SweepArgs, narrate: fn(&str)) -> Result<Look, Failed> {
    let surroundings = Surroundings::read();
    let settings = settings::settings(args, &surroundings).map_err(refused)?;
    let load = settings::load(args, &settings, &surroundings).map_err(refused)?;
    target::probe(&load.targets, &load.http).map_err(refused)?;
    let mut loader = UrlLoader::new(load, &settings, None).map_err(refused)?;
    let about = About {
        title: loader.title(),
        build: build(),
        machine: host::machine(),
        started: clock::wall(),
        co_located: loader.co_located(),
        shared_cpus: Vec::new(),
        division: None,
        again: None,
        with_options: false,
    };
    let (report, looks) = all_steps(&settings, &mut loader, narrate)?;
    concluded(&report, &about, looks)
}

/// What is kept of the run of each step.
type Looks = Vec<(StepFindings, View)>;

fn all_steps(
    settings: &SweepSettings,
    loader: &mut UrlLoader,
    narrate: fn(&str),
) -> Result<(Report, Looks), Failed> {
    let control = Control::new();
    let _signals =
        signals::watch(control.clone()).map_err(|error| failed(Problem::new(error.to_string(), "")))?;
    let _presence = Presence::of_series(&control, narrate);
    let mut looks = Looks::new();
    let mut look = |step: &Step, run: &Run| looks.push((StepFindings::of(step, run), View::of(run)));
    let mut observe = |sweep: &Sweep| {
        if let Some(trial) = sweep.trials().last().filter(|_| settings.progress) {
            narrate(&text::step_line(trial, &settings.config, sweep.left(), settings.time_unit));
        }
    };
    let around = Around { pids: Vec::new(), watch: None, reset: None, saved: None, look: &mut look };
    let (sweep, fault) = climb(&settings.config, around, loader, &control, &mut observe);
    if let Some(fault) = fault {
        let failed = driver_failed(fault);
        if sweep.trials().is_empty() {
            return Err(failed);
        }
        // What was measured before is looked at all the same.
        narrate(&format!("warning: the sweep ended early: {}", on_one_line(&failed.0.what)));
    }
    Ok((sweep.conclude(Facts::default()), looks))
}

fn concluded(report: &Report, about: &About, looks: Looks) -> Result<Look, Failed> {
    let (found, views): (Vec<StepFindings>, Vec<View>) = looks.into_iter().unzip();
    let seen = SweepView::of(report, about).with_findings(&found);
    let headline = seen.headline;
    let none = || nothing_measured(&headline, exit_of(report));
    let stops = seen.stops.ok_or_else(none)?;
    let numbers = found.iter().map(|one| one.number);
    let view = numbers.zip(views).find(|(number, _)| *number == stops.step).map(|(_, view)| view);
    let trial = report.trials.iter().find(|trial| trial.step.number == stops.step);
    let view = view.ok_or_else(none)?;
    Ok(Look {
        title: about.title.clone(),
        headline,
        stops,
        view,
        record: trial.and_then(|trial| trial.result.record.clone()),
        exit: exit_of(report),
    })
}

/// No step of the ladder can be looked at: the user ended the search before the first one, or the load generator made
/// all of them void.
fn nothing_measured(headline: &str, exit: Exit) -> Failed {
    let what =
        format!("no step of the sweep shows what stops the service: {}", headline.trim_end_matches('.'));
    let hint = "repeat the search, with more time by `-z` or at a load of your own without `--sweep`";
    (Problem::new(what, hint), if exit == Exit::Ok { Exit::Failure } else { exit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_the_user_ended_before_the_first_step_is_interrupted_and_no_failure() {
        let (problem, exit) = nothing_measured("Capacity unknown: no usable step.", Exit::Interrupted);
        assert_eq!(exit, Exit::Interrupted);
        assert!(problem.what.ends_with(": Capacity unknown: no usable step"), "{problem:?}");
        assert_eq!(nothing_measured("", Exit::Ok).1, Exit::Failure);
    }
}

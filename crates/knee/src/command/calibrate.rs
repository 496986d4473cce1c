//! `knee calibrate`: runs a service against itself to measure the noise of this machine, and saves the noise floor.
//!
//! Does not calculate; `knee_study` does.

use std::path::Path;

use knee_core::clock;
use knee_driver::calibration::{DAYS, SavedCalibration};
use knee_engine::control::{Control, Request};
use knee_engine::host;
use knee_report::kept::{self, KeptResult};
use knee_report::number::counted;
use knee_report::study::{Document, comparison as shown, notes};
use knee_report::{html, json};
use knee_study::compare::A;
use knee_study::study::{Options, Study};

use super::build;
use super::compare::drive;
use super::failed::{Failed, driver_failed, failed, refused};
use super::keep::keep;
use super::noise;
use super::rendered::render;
use super::sides::Sides;
use crate::args::{CalibrateArgs, CompareFormat, CompareOutputFlags};
use crate::exit::Exit;
use crate::problem::{Problem, on_one_line, reason};
use crate::settings::compare::{self as settings, Side};
use crate::settings::output::open_result;

/// Runs the command.
///
/// # Errors
///
/// What is wrong with what was typed, or what failed on this machine.
pub fn calibrate(args: &CalibrateArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let shelf = noise::saved().ok_or_else(|| {
        refused(Problem::new(
            "no folder for calibrations: neither KNEE_HOME nor HOME is set",
            "set HOME or KNEE_HOME",
        ))
    })?;
    let side = side(args.url.as_deref()).map_err(failed)?;
    let typed = args.url.as_deref().unwrap_or("The demo server, a new process in each trial");
    let of = settings::shown(typed, &side).map_err(refused)?;
    let asked = settings::asked_of_noise(typed, &side, args).map_err(refused)?;
    let driver = Sides::itself(args.url.as_deref(), args).map_err(refused)?;
    let load = driver.words(asked.measure, asked.warm_up).map_err(refused)?;
    let options = Options { aa: Some(A.to_owned()), ..Options::default() };
    let mut study =
        Study::new(asked.definition(), options, None).map_err(|refusal| driver_failed(refusal.into()))?;
    let mut sink = open_result(args.output.output.as_deref()).map_err(refused)?;
    narrate(&format!("{of}, against itself: {load}"));
    let control = Control::new();
    if let Some(fault) = drive(&mut study, driver, &control, args.output.quiet, narrate)? {
        return Err(fault);
    }
    if control.request() != Request::Run {
        narrate("nothing is saved: a noise floor needs all blocks");
        return Ok(Exit::Interrupted);
    }
    let conclusion = study.conclude();
    let Some(calibration) = conclusion.calibration(format!("{of}: {load}")) else {
        let lost = conclusion.lost.first().map_or("", |lost| lost.why.as_str());
        let what = format!("fewer than two blocks are usable, nothing is saved: {lost}");
        return Err((
            Problem::new(what, "docs/concept/validity.md explains why a run is not valid"),
            Exit::Invalid,
        ));
    };
    let kept = SavedCalibration::new(clock::wall(), build(), host::machine(), calibration);
    let path = shelf.keep(&kept).map_err(driver_failed)?;
    let mut notes = notes(&conclusion);
    if args.url.is_some() {
        notes.insert(
            0,
            "one process: differences between two starts of the service are not in the noise floor"
                .to_owned(),
        );
    }
    let document = document(&kept, notes, &path);
    let result = kept::calibration(&document, json::pretty(&kept));
    let rendered = rendered(&document, &result, &args.output);
    sink.write(rendered.as_bytes()).map_err(failed)?;
    let page = html::calibration(&document, &result);
    keep(&result.with_page(page), narrate);
    Ok(Exit::Ok)
}

fn rendered(document: &Document, result: &KeptResult, output: &CompareOutputFlags) -> String {
    match output.output_format.unwrap_or_default() {
        CompareFormat::Json => result.printed.json.clone(),
        CompareFormat::Html => html::calibration(document, result),
        _ => render(document, output),
    }
}

fn document(kept: &SavedCalibration, mut notes: Vec<String>, path: &Path) -> Document {
    let machine = &kept.machine;
    let cpu = machine.cpu.as_deref().unwrap_or(&machine.arch);
    let on = format!("{} of {cpu} under {}", counted(u64::from(machine.cores), "CPU"), machine.system);
    let place = on_one_line(&path.display().to_string());
    notes.push(format!("measured on {}, saved for {DAYS} days in {place}", noise::day(kept.made)));
    shown::calibration(&kept.calibration, &on, &notes)
}

/// The service that is compared with itself: the user's, or the demo server of this program, which is started anew for
/// each trial.
fn side(url: Option<&str>) -> Result<Side, Problem> {
    let Some(url) = url else {
        let program = std::env::current_exe().map_err(|error| {
            Problem::new(format!("the demo server cannot be started: {}", reason(&error)), "give a URL")
        })?;
        let mut words = vec![program.display().to_string()];
        words.extend(["demo", "--serve-only", "--listen", "127.0.0.1:{port}"].map(str::to_owned));
        return Ok(Side::Command { words, env: Vec::new() });
    };
    Ok(Side::Url(url.to_owned()))
}

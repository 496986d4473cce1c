//! `knee study DIR --up`: one variant with its services and stores, for a person to look at, until Ctrl-C.
//!
//! Sends no load and measures nothing, so everything shares the CPUs.

use std::path::Path;
use std::thread;
use std::time::Duration;

use knee_driver::standing::{self, Standing};
use knee_engine::control::{Control, Request as Asked};
use knee_study::definition::{Definition, Load, Workload};
use knee_study::study::{Options, Study};

use crate::command::failed::{Failed, driver_failed, failed};
use crate::command::progress::Progress;
use crate::exit::Exit;
use crate::problem::{Problem, on_one_line};
use crate::signals;

/// Interval of looks at signals.
const PAUSE: Duration = Duration::from_millis(100);

/// Most workloads that are shown: the addresses are not to be lost above a long list.
const SHOWN: usize = 5;

/// Pauses from one look at the services to the next: a look reads what each process has mapped, and costs CPU time that
/// they would use.
const PAUSES_PER_LOOK: u32 = 10;

/// Brings up `variant`, or the baseline, and keeps it until the user interrupts. `quiet` leaves out builds and seeds.
///
/// # Errors
///
/// What cannot be started, or ended by itself.
pub fn up(
    definition: &Definition,
    folder: &Path,
    variant: Option<&str>,
    quiet: bool,
    narrate: fn(&str),
) -> Result<Exit, Failed> {
    // Nothing is measured for the study here, and observers can be put beside any load.
    let options = Options { share_cpus: true, observed: true, ..Options::default() };
    let study = Study::to_start(definition.clone(), options)
        .map_err(|refusal| driver_failed(knee_driver::Error::from(refusal)))?;
    let control = Control::new();
    let _signals =
        signals::watch(control.clone()).map_err(|error| failed(Problem::new(error.to_string(), "")))?;
    let variant = variant.unwrap_or(&definition.design.baseline);
    narrate(&format!("starting `{}` with its stores", on_one_line(variant)));
    let mut progress = Progress::new(narrate, quiet, "");
    let mut observe = |event: knee_driver::Event<'_>| progress.report(&event);
    let mut standing = match standing::up(&study, (variant, None), folder, &control, &mut observe) {
        Err(_) if control.request() != Asked::Run => return Ok(Exit::Interrupted),
        other => other.map_err(driver_failed)?,
    };
    for line in lines(definition, folder, &mut standing) {
        narrate(&line);
    }
    let ended = stay(&mut standing, &control);
    narrate("stopping everything");
    standing.down().map_err(driver_failed)?;
    ended.map_err(driver_failed)?;
    Ok(Exit::Ok)
}

/// Waits until the user interrupts. An error if a service or a store ends by itself.
fn stay(standing: &mut Standing, control: &Control) -> Result<(), knee_driver::Error> {
    loop {
        for _ in 0..PAUSES_PER_LOOK {
            if control.request() != Asked::Run {
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
        standing.check()?;
    }
}

/// The addresses, and what to try.
fn lines(definition: &Definition, folder: &Path, standing: &mut Standing) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, running) in &standing.services {
        lines.push(format!("{name} is at {}", on_one_line(&running.url)));
        if let Some(metrics) = &running.metrics {
            lines.push(format!("{name} has metrics at {}", on_one_line(metrics)));
        }
    }
    for (name, url) in standing.stores() {
        lines.push(format!("{name} is at {}", on_one_line(&url)));
    }
    for workload in definition.workloads.iter().take(SHOWN) {
        if let Some(line) = attempt(definition, workload, folder, standing) {
            lines.push(format!("to try `{}`: {line}", on_one_line(&workload.name)));
        }
    }
    let more = definition.workloads.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!("and {more} more workloads, which are in study.toml"));
    }
    lines.push("Ctrl-C stops everything".to_owned());
    lines
}

/// A command line that sends what a workload sends: one request, or the script.
fn attempt(
    definition: &Definition,
    workload: &Workload,
    folder: &Path,
    standing: &mut Standing,
) -> Option<String> {
    let (_, running) = standing.services.iter().find(|(name, _)| *name == workload.service)?;
    let url = running.url.clone();
    let mut words: Vec<String> = Vec::new();
    match &workload.load {
        Load::Request(request) => {
            words.extend(["curl", "-i", "-X"].map(str::to_owned));
            words.push(request.method.clone());
            for (name, value) in &request.headers {
                words.extend(["-H".to_owned(), format!("{name}: {value}")]);
            }
            if let Some(body) = &request.body {
                words.extend(["-d".to_owned(), body.clone()]);
            }
            words.push(format!("{url}{}", request.path));
        }
        Load::Script { path, env } => {
            words.extend(["knee", "run"].map(str::to_owned));
            words.push(folder.join(path).display().to_string());
            words.extend(["-e".to_owned(), format!("BASE_URL={url}")]);
            for (name, text) in env {
                let value = standing.fill(text, &workload.name, name, definition.lasts(workload)).ok()?;
                words.extend(["-e".to_owned(), format!("{name}={value}")]);
            }
        }
        Load::OfCaller => return None,
    }
    // Only a NUL cannot be quoted, and no text of a study.toml has one.
    shlex::try_join(words.iter().map(String::as_str)).ok().map(|line| on_one_line(&line))
}

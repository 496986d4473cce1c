//! A run that a fleet makes: its record here is merged from those of the agents while they arrive.
//!
//! One thread talks to the agents, one merges, one shows; `run/showing.rs` has the last two. Does not merge
//! itself (`knee_core::record::merge` does), and judges nothing.

mod place;
mod showing;

use std::io;
use std::path::{Path, PathBuf};

use knee_core::unit::Nanos;
use knee_driver::private_file;
use knee_engine::control::Control;
use knee_fleet::controller::{self, Engaged, Failure};
use knee_fleet::growing::Copies;
use knee_fleet::name::RunId;
use knee_fleet::nats::controller::{Fleet, Load as FleetLoad, RunError, Saved, Watcher};

use crate::command::build;
use crate::command::failed::{Failed, failed, refused};
use crate::problem::{Problem, on_one_line};
use crate::settings::fleet::FleetChoice;
use crate::store;

use place::unable;
use showing::Showing;

pub use place::{About, Done, Follows, Listener, Place};

/// What is to be made.
pub struct Load<'l> {
    /// How long it takes, with its grace period; `None` without an end in time.
    pub lasts: Option<Nanos>,
    /// The job, as soon as it is made. Called for the first time when there are agents for it.
    pub job: Box<dyn FnMut() -> Option<Result<Vec<u8>, String>> + 'l>,
    /// Whether a controller that takes over needs the job.
    pub keeps_job: bool,
    /// Who hears what is merged.
    pub listener: Option<Listener>,
}

/// Why there is no run here.
#[derive(Debug)]
pub struct NoRun {
    /// What to say.
    pub failed: Failed,
    /// Who has its load.
    pub load: LoadOf,
}

/// Who has the load of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadOf {
    /// There is none, or it goes on by itself.
    Nobody,
    /// Another controller.
    Another,
    /// This one had it to its end.
    Own,
}

impl From<Failed> for NoRun {
    fn from(failed: Failed) -> Self {
        Self { failed, load: LoadOf::Nobody }
    }
}

impl From<NoRun> for Failed {
    fn from(no_run: NoRun) -> Self {
        no_run.failed
    }
}

/// Has the agents make a load, and merges what they measured.
///
/// # Errors
///
/// If the agents cannot be had, or something fails on this machine.
pub fn take(
    load: Load<'_>,
    choice: &FleetChoice,
    about: &About,
    place: Place,
    control: &Control,
    narrate: fn(&str),
) -> Result<Done, NoRun> {
    let run = RunId::random(&about.name);
    let request = controller::Request {
        run: run.clone(),
        wanted: choice.wanted.clone(),
        build: build(),
        mixed: choice.mixed,
        lasts: load.lasts,
    };
    let value = serde_json::to_value(about).map_err(|error| unable(&error))?;
    let Load { job, keeps_job, listener, .. } = load;
    let source = Source { job, listener, follows: Follows::Merge };
    conduct(choice, (&run, false), (place, source), control, narrate, async |fleet, folder, watcher| {
        let load = FleetLoad { request, about: value, keeps_job };
        fleet.run(load, folder, watcher).await
    })
}

/// Takes over a run whose controller is gone.
///
/// # Errors
///
/// If there is no such run, another controller has it by now, or something fails on this machine.
pub fn resume(
    choice: &FleetChoice,
    saved: Saved,
    follows: Follows,
    place: Place,
    control: &Control,
    narrate: fn(&str),
) -> Result<Done, NoRun> {
    let run = saved.run.clone();
    let request = controller::Request {
        run: run.clone(),
        wanted: choice.wanted.clone(),
        build: build(),
        mixed: choice.mixed,
        lasts: saved.lasts,
    };
    let source = Source { job: Box::new(|| None), listener: None, follows };
    conduct(choice, (&run, true), (place, source), control, narrate, async |fleet, folder, watcher| {
        fleet.resume(saved, request, folder, watcher).await
    })
}

fn conduct(
    choice: &FleetChoice,
    (run, under_way): (&RunId, bool),
    (place, source): (Place, Source<'_>),
    control: &Control,
    narrate: fn(&str),
    work: impl AsyncFnOnce(&Fleet, PathBuf, &mut dyn Watcher) -> Result<(Vec<Engaged>, Copies), RunError>,
) -> Result<Done, NoRun> {
    let folder = copies_folder(run, under_way)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| unable(&error))?;
    let mut showing = Showing {
        run: run.clone(),
        place,
        control: control.clone(),
        narrate,
        job: source.job,
        listener: source.listener,
        follows: source.follows,
        said: Vec::new(),
        warnings: Vec::new(),
        merging: None,
        copies: None,
        under_way,
        sender: None,
        lost: false,
        held: (Vec::new(), 0),
    };
    let ended = runtime.block_on(async {
        let fleet = Fleet::connect(&choice.link, choice.signer.clone()).await?;
        let worked = work(&fleet, folder.clone(), &mut showing).await;
        if let Err(RunError::Failure(failure)) = &worked
            && *failure != Failure::Superseded
        {
            // There is no load to be taken over.
            fleet.forget(run).await;
        }
        Ok::<_, RunError>((fleet, worked?.1))
    });
    let (fleet, copies) = match ended {
        Ok(ended) => ended,
        Err(error) => return Err(no_run(error, showing, &folder)),
    };
    let (lost, keeps) = (showing.lost, showing.place.keeps_copies);
    let left = matches!(showing.follows, Follows::Left);
    let done = showing.finish(&copies).map_err(|failed| NoRun { failed, load: LoadOf::Own })?;
    if left {
        narrate(&format!(
            "note: NATS keeps the run {run} and its script for 7 days: `knee fleet resume {run}` judges its thresholds and \
             runs its `teardown()`, where the script can be taken over"
        ));
    } else if lost {
        narrate(&format!(
            "note: NATS keeps what arrived of the run {run} for 7 days; copies: {}",
            on_one_line(&folder.display().to_string())
        ));
    } else {
        runtime.block_on(fleet.forget(run));
        if !keeps {
            // The merged record has all that is in them.
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
    Ok(done)
}

/// There is no run here: removes what was begun of it.
fn no_run(error: RunError, showing: Showing<'_>, folder: &Path) -> NoRun {
    let (begun, under_way) = (showing.copies.is_some(), showing.under_way);
    showing.abandon();
    if !begun || matches!(error, RunError::Failure(_)) && !under_way {
        // It has at most empty copies.
        let _ = std::fs::remove_dir_all(folder);
    }
    let load = match &error {
        RunError::Failure(Failure::Superseded) => LoadOf::Another,
        RunError::Broken(_) => LoadOf::Own,
        _ => LoadOf::Nobody,
    };
    NoRun { failed: problem_of(error), load }
}

/// Where the copies of the agents' records go: a new folder. `under_way`: there can be one of another controller, even one
/// that takes the run over at the same time.
///
/// # Errors
///
/// If it cannot be made.
pub fn copies_folder(run: &RunId, under_way: bool) -> Result<PathBuf, Failed> {
    let home = store::home(|name| std::env::var_os(name));
    let home = home.unwrap_or_else(std::env::temp_dir);
    let all = home.join("fleet");
    let own = all.join(run.as_str());
    if !under_way {
        private_file::create_folder(&own).map_err(|error| unable(&error))?;
        return Ok(own);
    }
    private_file::create_folder(&all).map_err(|error| unable(&error))?;
    // Beside those of the controller that is gone: nothing is overwritten.
    let others = (2..).map(|number| all.join(format!("{run}-{number}")));
    for folder in std::iter::once(own).chain(others) {
        match private_file::create_new_folder(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(unable(&error)),
        }
    }
    Err(unable(&"there is no folder for the copies"))
}

/// What is wrong, with the next step.
pub fn problem_of(error: RunError) -> Failed {
    let what = error.to_string();
    match error {
        RunError::Link(_) => refused(Problem::new(what, "check the address, the network and how to log in")),
        RunError::Broken(_) => {
            failed(Problem::new(what, "the load was ended; `knee fleet fetch` copies its records"))
        }
        RunError::NoRun(_) => refused(Problem::new(what, "`knee fleet ls` lists those that can be")),
        RunError::Failure(failure) => {
            let hint = match failure {
                Failure::Unfit(_) => {
                    "start more agents, wait until they are free, or take fewer; `knee fleet ls` lists them"
                }
                Failure::Refused { .. } => {
                    "check `signers` in the agent's file, and the time that its messages take"
                }
                Failure::NotReady { .. } => {
                    "check `targets` and the ceilings in the agent's file, and its machine"
                }
                Failure::Silent(_) | Failure::Late(_) => "check the agent and its way to NATS",
                Failure::Clock { .. } => "place agent, NATS and controller nearer to each other",
                Failure::Stopped | Failure::NoJob(_) => "",
                Failure::Superseded => "its result is where that one runs",
            };
            let exit = if matches!(failure, Failure::Stopped | Failure::Superseded) {
                crate::exit::Exit::Interrupted
            } else {
                crate::exit::Exit::Configuration
            };
            (Problem::new(what, hint), exit)
        }
    }
}

/// Where a run comes from.
struct Source<'l> {
    job: Box<dyn FnMut() -> Option<Result<Vec<u8>, String>> + 'l>,
    listener: Option<Listener>,
    follows: Follows,
}

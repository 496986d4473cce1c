//! A run that a fleet makes: its record here is merged from those of the agents while they arrive.
//!
//! One thread talks to the agents, one merges, one shows. Does not merge itself (`knee_core::record::merge` does), and
//! judges nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};

use knee_core::event::Event;
use knee_core::record::Run;
use knee_core::record::merge::{Merged, Watched, merge, merge_watched};
use knee_core::unit::Nanos;
use knee_driver::private_file;
use knee_engine::control::{Control, Request};
use knee_fleet::controller::{self, Engaged, Failure, Notice};
use knee_fleet::growing::Copies;
use knee_fleet::name::RunId;
use knee_fleet::nats::controller::{Fleet, Load as FleetLoad, Rest, RunError, Saved, Watcher};
use knee_fleet::wire::{Said, StopLevel, Stopped};
use knee_report::number::counted;
use serde::{Deserialize, Serialize};

use crate::command::build;
use crate::command::failed::{Failed, failed, refused};
use crate::live::{self, Live};
use crate::problem::{Problem, on_one_line};
use crate::settings::fleet::FleetChoice;
use crate::settings::output::Progress;
use crate::store::{self, NewRecord, Store};

/// Lines of scripts that are held back behind a screen; all of them are in the agents' logs.
const HELD_MAX: usize = 1_000;

/// What a controller that takes over wants to know.
#[derive(Debug, Serialize, Deserialize)]
pub struct About {
    /// The target.
    pub title: String,
    /// When the run was asked for, wall-clock time.
    pub started: Nanos,
    /// Name of the saved run.
    pub name: String,
}

/// How a run is shown and where it goes.
pub struct Place {
    /// The record; `None` if it is not saved.
    pub record: Option<NewRecord>,
    /// What is shown.
    pub progress: Progress,
    /// The unit of its times.
    pub unit: Option<knee_report::number::Unit>,
    /// Whether the copies of the agents' records stay although nothing was lost. Of trials, which are many, they do not.
    pub keeps_copies: bool,
}

impl Place {
    /// That of a run that is taken over.
    ///
    /// # Errors
    ///
    /// If records cannot be saved here.
    pub fn of_another(about: &About, narrate: fn(&str)) -> Result<Self, Failed> {
        let store = Store::of_process();
        let record = store::open_record(None, store.as_ref(), about.started, &about.name);
        let record = record.map_err(refused)?.map_err(|warning| {
            narrate(&format!("warning: {}", on_one_line(&warning)));
        });
        Ok(Self { record: record.ok(), progress: Progress::Lines, unit: None, keeps_copies: true })
    }
}

/// What follows the load of a run that is taken over.
pub enum Follows {
    /// The merge, and nothing else.
    Merge,
    /// The end of a script, which is being loaded: this is who hears of its load. Without one, another controller can end
    /// the script.
    Script(Receiver<Listener>),
    /// The end of a script, which another controller can do.
    Left,
}

/// A run, and where its record is.
pub struct Done {
    /// The run of all agents together.
    pub run: Run,
    /// Its record, if it is saved.
    pub path: Option<PathBuf>,
    /// What the scripts of its agents said of the test.
    pub said: Vec<Said>,
    /// What agents warned of, with their names.
    pub warnings: Vec<String>,
    /// Whether something came too late for the first merge: a listener has not seen it.
    pub merged_again: bool,
}

/// Hears what is merged while that goes on.
pub type Listener = Box<dyn FnMut(Watched<'_>) + Send>;

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

fn unable(error: &dyn std::fmt::Display) -> Failed {
    failed(Problem::new(error.to_string(), ""))
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

type Merging = JoinHandle<Result<Run, String>>;

/// Shows a run and merges it while it is made.
struct Showing<'l> {
    run: RunId,
    place: Place,
    control: Control,
    narrate: fn(&str),
    job: Box<dyn FnMut() -> Option<Result<Vec<u8>, String>> + 'l>,
    listener: Option<Listener>,
    /// What follows the load; who waits for a listener does not merge yet.
    follows: Follows,
    said: Vec<Said>,
    warnings: Vec<String>,
    merging: Option<(Merging, Live)>,
    copies: Option<Copies>,
    /// Whether the load has begun already.
    under_way: bool,
    sender: Option<SyncSender<Event>>,
    lost: bool,
    /// What scripts wrote while a screen is shown, and how many more lines there were.
    held: (Vec<String>, usize),
}

impl Showing<'_> {
    /// A line for people: on the screen if there is one.
    fn warn(&self, text: &str) {
        match &self.sender {
            // A screen that is behind loses a line.
            Some(sender) => drop(sender.try_send(Event::Warning(on_one_line(text)))),
            None => (self.narrate)(&format!("warning: {}", on_one_line(text))),
        }
    }

    /// What the script of an agent wrote; behind a screen that is shown.
    fn wrote(&mut self, agent: &str, lines: &[String], left_out: u64) {
        let mut all: Vec<String> =
            lines.iter().map(|line| format!("{agent}: {}", on_one_line(line))).collect();
        if left_out > 0 {
            all.push(format!("{agent}: {left_out} further lines are in its log"));
        }
        if self.sender.is_some() && matches!(self.place.progress, Progress::Screen { .. }) {
            let (held, more) = &mut self.held;
            let fits = all.len().min(HELD_MAX.saturating_sub(held.len()));
            *more += all.len() - fits;
            held.extend(all.into_iter().take(fits));
        } else {
            for line in &all {
                (self.narrate)(line);
            }
        }
    }

    /// Shows what was held back behind the screen, which is gone.
    fn tell_held(&mut self) {
        let (held, more) = std::mem::take(&mut self.held);
        for line in held {
            (self.narrate)(&line);
        }
        if more > 0 {
            (self.narrate)(&format!("{more} further lines of scripts are in the logs of the agents"));
        }
    }

    /// Begins to merge and to show.
    fn begin(&mut self) {
        if let Some(copies) = self.copies.clone()
            && let Err((problem, _)) = self.begun(copies)
        {
            (self.narrate)(&format!("warning: {problem}"));
        }
    }

    fn begun(&mut self, copies: Copies) -> Result<(), Failed> {
        let (sender, events) = sync_channel(live::BACKLOG);
        let live = Live::start(self.place.progress, self.place.unit, events, self.control.clone())
            .map_err(|error| unable(&error))?;
        let file = self.place.record.as_ref().map(|record| record.file.try_clone()).transpose();
        let file = file.map_err(|error| unable(&error))?;
        let events = sender.clone();
        let mut listener = self.listener.take();
        let merging = thread::Builder::new().name("merge".to_owned()).spawn(move || {
            let sources = copies.readers().map_err(|error| error.to_string())?;
            let mut watch = |seen: Watched<'_>| {
                if let Some(listener) = &mut listener {
                    listener(seen);
                }
                let event = match seen {
                    Watched::Begun(head) => Event::Started(Arc::new(head.clone())),
                    Watched::Interval(interval) => Event::Interval(Arc::new(interval.clone())),
                    Watched::Metrics(_) => return,
                };
                // A screen that is behind loses a frame, never a measurement.
                drop(events.try_send(event));
            };
            let merged = if let Some(file) = file {
                let Merged { run, sink } = merge_watched(sources, BufWriter::new(file), &mut watch)
                    .map_err(|error| error.to_string())?;
                let file = sink.into_inner().map_err(|error| error.to_string())?;
                file.sync_all().map_err(|error| error.to_string())?;
                run
            } else {
                let merged = merge_watched(sources, io::sink(), &mut watch);
                merged.map_err(|error| error.to_string())?.run
            };
            drop(events.try_send(Event::Ended));
            Ok(merged)
        });
        self.merging = Some((merging.map_err(|error| unable(&error))?, live));
        self.sender = Some(sender);
        Ok(())
    }

    /// There is no run.
    fn abandon(mut self) {
        if let Some(NewRecord { path, .. }) = self.place.record.take() {
            // What was written of it is no record.
            let _ = std::fs::remove_file(path);
        }
        self.sender = None;
        if let Some(copies) = self.copies.take() {
            copies.close_all();
        }
        if let Some((merging, live)) = self.merging.take() {
            // There is nothing to merge; what that says of it is of no use.
            let _ = merging.join();
            let _ = live.finish(None);
        }
        self.tell_held();
    }

    /// The run, merged again if something came too late for the first time.
    fn finish(mut self, copies: &Copies) -> Result<Done, Failed> {
        let Some((merging, live)) = self.merging.take() else {
            return Err(unable(&"the run has no agents"));
        };
        let merged = merging.join().unwrap_or_else(|_| Err("the merge failed".to_owned()));
        let (merged, merged_again) = match merged {
            Ok(run) if !copies.is_stale() => (Ok(run), false),
            _ => (self.merge_again(copies), true),
        };
        self.sender = None;
        let said = live.finish(merged.as_ref().ok());
        self.tell_held();
        for warning in said {
            (self.narrate)(&format!("warning: {warning}"));
        }
        let path = self.place.record.as_ref().map(|record| record.path.clone());
        match merged {
            Ok(run) => Ok(Done { run, path, said: self.said, warnings: self.warnings, merged_again }),
            Err(why) => {
                if let Some(path) = path {
                    let _ = std::fs::remove_file(path);
                }
                let hint = "the copies of the agents' records are kept; `knee merge` reads them";
                Err(failed(Problem::new(format!("the records of the agents cannot be merged: {why}"), hint)))
            }
        }
    }

    /// From the files, with what came late. A record of which not even the beginning arrived is left out.
    fn merge_again(&mut self, copies: &Copies) -> Result<Run, String> {
        let words = |error: &dyn std::fmt::Display| error.to_string();
        let mut sources = Vec::new();
        for path in copies.files() {
            let mut file = File::open(path).map_err(|error| words(&error))?;
            if knee_core::record::format::Reader::new(BufReader::new(&file)).is_ok() {
                file.rewind().map_err(|error| words(&error))?;
                sources.push(BufReader::new(file));
            }
        }
        match &self.place.record {
            Some(NewRecord { path, .. }) => {
                let file = OpenOptions::new().write(true).truncate(true).open(path);
                let file = file.map_err(|error| words(&error))?;
                let merged = merge(sources, BufWriter::new(file)).map_err(|error| words(&error))?;
                let file = merged.sink.into_inner().map_err(|error| words(&error))?;
                file.sync_all().map_err(|error| words(&error))?;
                Ok(merged.run)
            }
            None => merge(sources, io::sink()).map(|merged| merged.run).map_err(|error| words(&error)),
        }
    }
}

impl Watcher for Showing<'_> {
    fn engaged(&mut self, _agents: &[Engaged], copies: &Copies) {
        self.copies = Some(copies.clone());
        if self.under_way && !matches!(self.follows, Follows::Script(_)) {
            self.begin();
        }
    }

    fn job(&mut self) -> Option<Result<Vec<u8>, String>> {
        (self.job)()
    }

    fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::Claimed(agents) => {
                let names: Vec<&str> = agents.iter().map(knee_fleet::name::AgentId::as_str).collect();
                let (agents, names) = (counted(names.len() as u64, "agent"), names.join(", "));
                (self.narrate)(&format!("fleet: {agents}: {names}; run {}", self.run));
            }
            Notice::Starting { after, bound } => {
                let words = format!("starts in {after}, clocks known to within {bound}");
                if self.merging.is_some() {
                    return self.warn(&format!("put off: it {words}"));
                }
                (self.narrate)(&format!("fleet: {words}"));
                // Only now: a screen hides what is said before.
                self.begin();
            }
            Notice::Quiet(agent) => self.warn(&format!("{agent}: nothing has come from it for 3 s")),
            Notice::Back(agent) => self.warn(&format!("{agent}: it is back")),
            Notice::Lost { agent, why } => {
                self.lost = true;
                self.warn(&format!("{agent} is lost: {why}"));
            }
            Notice::Said { agent, said } => {
                if let Some(Stopped::Asked(why) | Stopped::Threw(why) | Stopped::Failed(why)) = &said.stopped
                {
                    self.warn(&format!("{agent}: its script ended the test: {why}"));
                }
                self.said.push(said);
            }
            Notice::Wrote { agent, lines, left_out } => self.wrote(agent.as_str(), &lines, left_out),
            Notice::Warning { agent, text } => {
                let warning = format!("{agent}: {text}");
                self.warn(&warning);
                self.warnings.push(warning);
            }
        }
    }

    fn stop(&mut self) -> StopLevel {
        match self.control.request() {
            Request::Run => StopLevel::None,
            Request::Stop => StopLevel::Stop,
            Request::Abort => StopLevel::Abort,
        }
    }

    fn rest(&mut self) -> Rest {
        let Follows::Script(listener) = &self.follows else {
            return if matches!(self.follows, Follows::Left) { Rest::Left } else { Rest::Own };
        };
        match listener.try_recv() {
            Ok(listener) => (self.follows, self.listener) = (Follows::Merge, Some(listener)),
            Err(TryRecvError::Empty) => return Rest::Unknown,
            Err(TryRecvError::Disconnected) => self.follows = Follows::Left,
        }
        self.begin();
        self.rest()
    }
}

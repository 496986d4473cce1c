//! Shows a run of a fleet, and merges it while its records arrive.
//!
//! Does not talk to the agents: it watches the controller that does. What the merged record means is for its caller.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Seek};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};

use knee_core::event::Event;
use knee_core::record::Run;
use knee_core::record::merge::{Merged, Watched, merge, merge_watched};
use knee_engine::control::{Control, Request};
use knee_fleet::controller::{Engaged, Notice};
use knee_fleet::growing::Copies;
use knee_fleet::name::RunId;
use knee_fleet::nats::controller::{Rest, Watcher};
use knee_fleet::wire::{Said, StopLevel, Stopped};
use knee_report::number::counted;

use super::place::{Done, Follows, Listener, Place, unable};
use crate::command::failed::{Failed, failed};
use crate::live::{self, Live};
use crate::problem::{Problem, on_one_line};
use crate::settings::output::Progress;
use crate::store::NewRecord;

/// Lines of scripts that are held back behind a screen; all of them are in the agents' logs.
const HELD_MAX: usize = 1_000;

type Merging = JoinHandle<Result<Run, String>>;

/// Shows a run and merges it while it is made.
pub(super) struct Showing<'l> {
    pub(super) run: RunId,
    pub(super) place: Place,
    pub(super) control: Control,
    pub(super) narrate: fn(&str),
    pub(super) job: Box<dyn FnMut() -> Option<Result<Vec<u8>, String>> + 'l>,
    pub(super) listener: Option<Listener>,
    /// What follows the load; who waits for a listener does not merge yet.
    pub(super) follows: Follows,
    pub(super) said: Vec<Said>,
    pub(super) warnings: Vec<String>,
    pub(super) merging: Option<(Merging, Live)>,
    pub(super) copies: Option<Copies>,
    /// Whether the load has begun already.
    pub(super) under_way: bool,
    pub(super) sender: Option<SyncSender<Event>>,
    pub(super) lost: bool,
    /// What scripts wrote while a screen is shown, and how many more lines there were.
    pub(super) held: (Vec<String>, usize),
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
    pub(super) fn abandon(mut self) {
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
    pub(super) fn finish(mut self, copies: &Copies) -> Result<Done, Failed> {
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

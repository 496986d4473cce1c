//! What a run of a fleet is given and what it gives: where its record goes, what follows its load, and its result.
//!
//! Does not make runs.

use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use knee_core::record::Run;
use knee_core::record::merge::Watched;
use knee_core::unit::Nanos;
use knee_fleet::wire::Said;
use serde::{Deserialize, Serialize};

use crate::command::failed::{Failed, failed, refused};
use crate::problem::{Problem, on_one_line};
use crate::settings::output::Progress;
use crate::store::{self, NewRecord, Store};

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

/// A run that cannot go on because of this machine.
pub(super) fn unable(error: &dyn std::fmt::Display) -> Failed {
    failed(Problem::new(error.to_string(), ""))
}

//! The saved steps of a sweep, one line each, written as they end, so that a sweep that was killed can go on.
//!
//! ```text
//! FOLDER/sweep.jsonl     the design, then a line per step
//! FOLDER/….knee          the record of each step
//! ```
//!
//! A line has what the record of its step does not have. Does not judge: the same design with the same measurements
//! makes the same sweep.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use knee_core::record::Run;
use knee_core::record::run::read;
use knee_study::sweep::bound::ProgramUse;
use knee_study::sweep::{Config, Step, StepResult, Sweep};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::{private_file, resource};

/// The file of a sweep in the folder of its records.
const FILE: &str = "sweep.jsonl";

/// What decides the steps of a sweep; a sweep goes on only with the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Title of the target.
    title: String,
    config: Value,
    /// A number that stands for everything else that was typed, which can be secret.
    requests: u64,
}

impl Design {
    /// The design of a sweep of `title`. `requests` stands for the requests that are sent.
    pub fn of(title: &str, config: &Config, requests: u64) -> Self {
        let config = serde_json::to_value(config).unwrap_or_default();
        Self { title: title.to_owned(), config, requests }
    }
}

/// A finished step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedStep {
    step: Step,
    /// The file of its record.
    record: PathBuf,
    shown: String,
    requests_per_arrival: f64,
    took: f64,
    cpu: Option<f64>,
    host_busy: Option<f64>,
    programs: Vec<ProgramUse>,
}

/// The steps of an earlier process, and the file to which more are added.
pub struct SavedSteps {
    path: PathBuf,
    file: File,
    earlier: Vec<SavedStep>,
    /// Whether a step could not be saved: those after it would not follow.
    broken: bool,
}

impl SavedSteps {
    /// Begins the file of a new sweep in `folder`.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn begin(folder: &Path, design: &Design) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let unable = |error| Error::unwritable(&path, error);
        private_file::create_folder(folder).map_err(unable)?;
        let mut file = private_file::create_new(&path).map_err(unable)?;
        file.write_all(line(design).as_bytes()).map_err(unable)?;
        Ok(Self { path, file, earlier: Vec::new(), broken: false })
    }

    /// Whether the sweep in `folder` has this design.
    pub fn is_of(folder: &Path, design: &Design) -> bool {
        let Ok(file) = File::open(folder.join(FILE)) else { return false };
        let first = BufReader::new(file).lines().next().and_then(Result::ok).unwrap_or_default();
        serde_json::from_str::<Design>(&first).is_ok_and(|known| known == *design)
    }

    /// Goes on with the sweep in `folder`. A last line that was cut short is dropped: its step is run again.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub fn resume(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let unreadable = |source| Error::NotSaved { path: path.clone(), source };
        let text = fs::read_to_string(&path).map_err(unreadable)?;
        let mut whole = text.lines().next().map_or(0, |first| first.len() + 1).min(text.len());
        let mut earlier = Vec::new();
        for one in text.get(whole..).unwrap_or_default().split_inclusive('\n') {
            let Ok(saved) = serde_json::from_str::<SavedStep>(one) else { break };
            if !one.ends_with('\n') {
                break;
            }
            whole += one.len();
            earlier.push(saved);
        }
        let file = private_file::options().append(true).open(&path).map_err(unreadable)?;
        let mut saved = Self { path, file, earlier, broken: false };
        saved.cut(whole)?;
        Ok(saved)
    }

    fn cut(&mut self, bytes: usize) -> Result<(), Error> {
        self.file.set_len(bytes as u64).map_err(|error| Error::unwritable(&self.path, error))
    }

    /// How many steps an earlier process saved.
    pub fn count(&self) -> usize {
        self.earlier.len()
    }

    /// Gives a new sweep the steps of the earlier process, and `look` their runs, as if they had just been run.
    ///
    /// # Errors
    ///
    /// When a record cannot be read, or when this version chooses other steps.
    pub(crate) fn replay(&self, sweep: &mut Sweep, look: &mut dyn FnMut(&Step, &Run)) -> Result<(), Error> {
        for saved in &self.earlier {
            if sweep.next() != Some(saved.step) {
                return Err(Error::Unrelated { of: "another design", path: self.path.clone() });
            }
            let run = saved.run()?;
            look(&saved.step, &run);
            sweep.record_result(saved.result(&run));
        }
        Ok(())
    }

    /// Adds a step that has ended. A step without a record cannot be read again: it and those after it are left out.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(crate) fn add(&mut self, step: &Step, file: Option<&Path>, result: &StepResult) -> Result<(), Error> {
        let (Some(record), Some(shown), false) = (file, &result.record, self.broken) else {
            self.broken = true;
            return Ok(());
        };
        let saved = SavedStep {
            step: *step,
            record: record.to_owned(),
            shown: shown.clone(),
            requests_per_arrival: result.requests_per_arrival,
            took: result.took,
            cpu: result.cpu,
            host_busy: result.host_busy,
            programs: result.programs.clone(),
        };
        let written = self.file.write_all(line(&saved).as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|error| Error::unwritable(&self.path, error))
    }
}

impl SavedStep {
    /// The run of the step, from its record.
    fn run(&self) -> Result<Run, Error> {
        let unreadable = |source| Error::NotSaved { path: self.record.clone(), source };
        let file = File::open(&self.record).map_err(unreadable)?;
        let reading = read(BufReader::new(file)).map_err(|error| unreadable(std::io::Error::other(error)))?;
        Ok(reading.run)
    }

    /// What the step measured.
    fn result(&self, run: &Run) -> StepResult {
        let mut result = StepResult::of(run, self.requests_per_arrival);
        result.took = self.took;
        result.cpu = self.cpu;
        result.host_busy = self.host_busy;
        result.programs.clone_from(&self.programs);
        result.resources = resource::of(run);
        result.record = Some(self.shown.clone());
        result
    }
}

fn line(value: &impl Serialize) -> String {
    // Numbers, texts and lists of them always serialise.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

//! The saved trials of a study, one line each, written as they are run.
//!
//! ```text
//! STUDY/.knee/trials.jsonl
//! STUDY/.knee/before.jsonl     those of the study before, if this one was begun anew
//! ```
//!
//! The first line names their study and options. Each session has a line with its time and machine. Does not interpret
//! trials.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use knee_core::fixture::division::Division;
use knee_core::unit::Nanos;
use knee_report::study::Session;
use knee_study::definition::{Claim, Definition};
use knee_study::study::{Calibration, Entry, Options, Study, Trial, TrialResult};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::lock::{self, Lock};
use crate::private_file;

/// The trials of the study in one folder.
pub struct SavedTrials {
    folder: PathBuf,
}

/// The first line.
#[derive(PartialEq, Serialize, Deserialize)]
struct Heading {
    definition: Definition,
    options: Options,
    /// Claims that were changed after trials were run: when the last session before the change began.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    changed_claims: BTreeMap<String, Nanos>,
    /// The noise of the machine when the study began, which decides margins and verdicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    noise: Option<Calibration>,
    /// How the CPUs were divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    division: Option<Division>,
}

/// A line after the first.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    /// A session began here.
    Session { session: Session },
    /// A trial that was made.
    Trial(Box<Entry>),
}

/// The saved state of a study.
pub struct Stored {
    /// Its options, beyond its definition.
    pub options: Options,
    /// Its sessions; none if an older version ran all trials.
    pub sessions: Vec<Session>,
    /// Its trials.
    pub entries: Vec<Entry>,
    /// Claims that were changed after trials were run: when the last session before the change began.
    pub changed_claims: BTreeMap<String, Nanos>,
    /// The noise of the machine when the study began, if it was known.
    pub noise: Option<Calibration>,
    /// How the CPUs were divided; `None` if an older version ran all trials.
    pub division: Option<Division>,
}

/// A file to which trials are added.
pub struct Journal {
    file: File,
    path: PathBuf,
}

impl SavedTrials {
    /// Those of the study in `folder`.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.join(".knee") }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("trials.jsonl")
    }

    /// The saved state of the study of `definition`, whatever its options. If the study was killed while it wrote the
    /// last line, that line is incomplete, and its trial is run again.
    ///
    /// # Errors
    ///
    /// When nothing is saved, or when it belongs to another study.
    pub fn read(&self, definition: &Definition) -> Result<Stored, Error> {
        let path = self.file();
        let unreadable = |source| Error::NotSaved { path: path.clone(), source };
        let file = File::open(&path).map_err(unreadable)?;
        let mut lines = BufReader::new(file).lines();
        let heading = lines.next().transpose().map_err(unreadable)?.unwrap_or_default();
        let known: Option<Heading> = serde_json::from_str(&heading).ok();
        let Some(known) = known.filter(|known| without_words(&known.definition) == without_words(definition))
        else {
            return Err(self.unrelated("another study.toml"));
        };
        let mut stored = Stored {
            options: known.options,
            sessions: Vec::new(),
            entries: Vec::new(),
            changed_claims: known.changed_claims,
            noise: known.noise,
            division: known.division,
        };
        for line in lines.map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Line::Session { session }) => stored.sessions.push(session),
                Ok(Line::Trial(entry)) => stored.entries.push(*entry),
                Err(_) => break,
            }
        }
        stored.mark_changes(&known.definition.claims, &definition.claims);
        Ok(stored)
    }

    /// The same, to continue with these options.
    ///
    /// # Errors
    ///
    /// Also when the trials were made with other options.
    pub fn resumed(&self, definition: &Definition, options: &Options) -> Result<Stored, Error> {
        let stored = self.read(definition)?;
        if stored.options == *options { Ok(stored) } else { Err(self.unrelated("other options")) }
    }

    fn unrelated(&self, of: &'static str) -> Error {
        Error::Unrelated { of, path: self.file() }
    }

    /// Keeps other studies out of the folder while the lock is held.
    ///
    /// # Errors
    ///
    /// When another process runs a study in it.
    pub fn lock(&self) -> Result<Lock, Error> {
        lock::take(&self.folder.join("lock"), "another `knee study` runs the study in this folder")
    }

    /// Saves the state of the study in place of an earlier one. If the earlier study does not continue here, its file
    /// is kept as `before.jsonl`, so that a forgotten `--resume` does not lose hours of measurements.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn open(&self, study: &Study, sessions: &[Session]) -> Result<Journal, Error> {
        let path = self.file();
        let unable = |error| Error::unwritable(&path, error);
        fs::create_dir_all(&self.folder).map_err(unable)?;
        // Results of trials are no part of anybody's repository unless they choose so.
        fs::write(self.folder.join(".gitignore"), "*\n").map_err(unable)?;
        let heading = Heading {
            definition: study.definition().clone(),
            options: study.options().clone(),
            changed_claims: study.changed_claims().clone(),
            noise: study.calibration().cloned(),
            division: study.division().cloned(),
        };
        let mut text = line(&heading);
        let session = |session: &Session| line(&Line::Session { session: session.clone() });
        for each in sessions {
            text.push_str(&session(each));
        }
        study.entries().iter().for_each(|entry| text.push_str(&line(entry)));
        let fresh = self.folder.join("trials.jsonl.new");
        private_file::write(&fresh, text.as_bytes()).map_err(unable)?;
        if study.entries().is_empty() && has_trials(&path) {
            fs::rename(&path, self.folder.join("before.jsonl")).map_err(unable)?;
        }
        // Whole or not at all: what was kept until now is in this file alone.
        fs::rename(&fresh, &path).map_err(unable)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(unable)?;
        Ok(Journal { file, path })
    }
}

impl Stored {
    /// Marks the claims whose tests are other than when the last trials were run. Words can be corrected without a mark.
    fn mark_changes(&mut self, then: &[Claim], now: &[Claim]) {
        if self.entries.is_empty() {
            return;
        }
        // An older version stored no sessions.
        let began = self.sessions.last().map_or(Nanos::ZERO, |session| session.started);
        let known =
            |claim: &&Claim| then.iter().any(|before| before.id == claim.id && before.test == claim.test);
        let changed = now.iter().filter(|claim| !known(claim)).map(|claim| (claim.id.clone(), began));
        self.changed_claims.extend(changed);
    }
}

impl Journal {
    /// Adds a trial.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn add(&mut self, trial: &Trial, result: &TrialResult) -> Result<(), Error> {
        let entry = Entry { trial: trial.clone(), result: result.clone() };
        let text = line(&entry);
        self.file.write_all(text.as_bytes()).map_err(|error| Error::unwritable(&self.path, error))
    }
}

/// Whether a file of trials has any.
fn has_trials(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let is_trial = |line: String| matches!(serde_json::from_str(&line), Ok(Line::Trial(_)));
    BufReader::new(file).lines().skip(1).map_while(Result::ok).any(is_trial)
}

/// The part of a definition that decides its trials: without texts of the report, claims and published figures, which
/// can be corrected afterwards.
fn without_words(definition: &Definition) -> Definition {
    let mut bare = definition.clone();
    (bare.title, bare.question, bare.source) = (String::new(), None, None);
    bare.claims.clear();
    bare.published.clear();
    bare.variants.iter_mut().for_each(|variant| variant.text.clear());
    bare.workloads.iter_mut().for_each(|workload| workload.text.clear());
    bare.switches.values_mut().for_each(|switch| {
        switch.text.clear();
        switch.affects = None;
    });
    bare
}

fn line(value: &impl Serialize) -> String {
    // Maps with names for keys and numbers always serialise.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = r#"title = "kept"

[service.main]
command = ["server"]

[variants.one]

[variants.two]

[workloads.list]
path = "/"

[design]
kind = "ladder"
"#;

    fn study() -> Study {
        let definition = Definition::read(STUDY, "study.toml", &|_| true).unwrap();
        Study::new(definition, Options::default(), None).unwrap()
    }

    /// Makes a trial and keeps it.
    fn go_on(kept: &SavedTrials, mut study: Study) -> Study {
        let mut journal = kept.open(&study, &[]).unwrap();
        let trial = study.next().unwrap();
        let result = TrialResult::Died { reason: "of old age".to_owned() };
        journal.add(&trial, &result).unwrap();
        study.record_result(&trial, result).unwrap();
        study
    }

    #[test]
    fn a_claim_that_was_changed_after_its_data_were_taken_is_marked_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let saved = SavedTrials::at(folder.path());
        let claim = |below: &str, text: &str| {
            let claims = format!(
                "\n[claims.C]\ntext = \"{text}\"\nvariant = \"one\"\nworkload = \"list\"\nmetric = \"errors\"\nbelow = \"{below}\"\n"
            );
            Definition::read(&format!("{STUDY}{claims}"), "study.toml", &|_| true).unwrap()
        };
        let session = |seconds| Session {
            started: Nanos::from_secs(seconds),
            first_trial: 0,
            build: knee_core::record::Build::default(),
            machine: knee_engine::host::machine(),
        };
        let study = Study::new(claim("1%", "few errors"), Options::default(), None).unwrap();
        let mut journal = saved.open(&study, &[session(100)]).unwrap();
        journal.add(&study.next().unwrap(), &TrialResult::Died { reason: "gone".to_owned() }).unwrap();

        assert!(
            saved.read(&claim("1%", "hardly any")).unwrap().changed_claims.is_empty(),
            "words can change"
        );
        let changed = claim("5%", "few errors");
        let stored = saved.read(&changed).unwrap();
        assert_eq!(stored.changed_claims, BTreeMap::from([("C".to_owned(), Nanos::from_secs(100))]));

        // Going on with it does not make the mark go away, nor its date later.
        let again = Study::resume(changed.clone(), stored.options, None, stored.entries).unwrap();
        let again = again.with_changed_claims(stored.changed_claims.clone());
        saved.open(&again, &[session(100), session(900)]).unwrap();
        assert_eq!(saved.read(&changed).unwrap().changed_claims, stored.changed_claims);
    }

    #[test]
    fn a_study_begun_anew_keeps_the_one_before_and_one_that_goes_on_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let (kept, before) = (SavedTrials::at(folder.path()), folder.path().join(".knee/before.jsonl"));
        let two = go_on(&kept, go_on(&kept, study()));
        assert_eq!(kept.read(two.definition()).unwrap().entries, two.entries());
        assert!(!before.exists(), "nothing was replaced");

        let measured = fs::read(kept.file()).unwrap();
        kept.open(&study(), &[]).unwrap();
        assert_eq!(fs::read(&before).unwrap(), measured);
        assert_eq!(kept.read(two.definition()).unwrap().entries, []);
        kept.open(&study(), &[]).unwrap();
        assert_eq!(fs::read(&before).unwrap(), measured, "what has no trial takes no other's place");
    }
}

//! The saved trials of a study: one line each while they are run, packed at the end of a session.
//!
//! ```text
//! STUDY/.knee/trials.jsonl        while trials are run, and after a kill
//! STUDY/trials.jsonl.zst          after a session: the trials from which every document can be made again
//! STUDY/.knee/trials.jsonl.zst    the same of a quick study, of some variants, or of an A/A test
//! STUDY/.knee/before.jsonl[.zst]  those of the study before, if this one was begun anew
//! ```
//!
//! Chooses the file that a report or a resumed study reads. Does not interpret trials.

mod file;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use knee_report::study::Session;
use knee_study::definition::Definition;
use knee_study::study::{Options, Study, Trial, TrialResult};

pub use file::Stored;

use crate::error::Error;
use crate::lock::{self, Lock};
use crate::private_file;

/// The folder of what belongs to this machine alone.
const PRIVATE: &str = ".knee";

/// The file to which trials are added.
const JOURNAL: &str = "trials.jsonl";

/// The file of packed trials.
const PACKED: &str = "trials.jsonl.zst";

/// The trials of the study in one folder.
pub struct SavedTrials {
    study: PathBuf,
    folder: PathBuf,
}

/// What became of the trials at the end of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packed {
    /// They are in this file.
    In(PathBuf),
    /// They stay where they are: this study is unfinished and was begun anew, and this file has another one.
    Unfinished(PathBuf),
    /// Nothing was to be packed.
    Already,
}

/// A file to which trials are added.
pub struct Journal {
    file: File,
    path: PathBuf,
}

/// Whether a study with these options has every variant and trials of full length. Only then its results are those of
/// the study's folder.
pub fn is_whole(options: &Options) -> bool {
    !options.quick && options.variants.is_empty() && options.aa.is_none()
}

/// The folder for the documents of the study in `folder` with these options.
pub fn documents(folder: &Path, options: &Options) -> PathBuf {
    if is_whole(options) { folder.to_owned() } else { private(folder) }
}

/// The folder of what belongs to this machine alone, for the study in `folder`.
fn private(folder: &Path) -> PathBuf {
    folder.join(PRIVATE)
}

/// Makes this folder, which is no part of anybody's repository.
///
/// # Errors
///
/// When it cannot be written.
pub fn make_private(folder: &Path) -> std::io::Result<PathBuf> {
    let private = private(folder);
    fs::create_dir_all(&private)?;
    fs::write(private.join(".gitignore"), "*\n")?;
    Ok(private)
}

impl SavedTrials {
    /// Those of the study in `folder`.
    pub fn at(folder: &Path) -> Self {
        Self { study: folder.to_owned(), folder: private(folder) }
    }

    fn journal(&self) -> PathBuf {
        self.folder.join(JOURNAL)
    }

    fn packed(&self, whole: bool) -> PathBuf {
        if whole { self.study.join(PACKED) } else { self.folder.join(PACKED) }
    }

    /// What is saved of the study of `definition`: of the journal, of the whole study, of a part.
    fn all(&self, definition: &Definition) -> [Result<Stored, Error>; 3] {
        [self.journal(), self.packed(true), self.packed(false)].map(|path| file::read(&path, definition))
    }

    /// The saved state of the study of `definition`, whatever its options. The whole study comes before a part of it,
    /// and packed trials come before those of a study that was begun anew and is not packed yet.
    ///
    /// # Errors
    ///
    /// When nothing is saved, when it belongs to another study, or when it is damaged.
    pub fn read(&self, definition: &Definition) -> Result<Stored, Error> {
        let [journal, whole, part] = self.all(definition);
        let is_newest = match (&journal, &whole) {
            (Ok(journal), _) if !is_whole(&journal.options) || journal.entries.is_empty() => false,
            (Ok(journal), Ok(whole)) => journal.continues(whole),
            (journal, _) => journal.is_ok(),
        };
        match (journal, whole, part) {
            (Ok(journal), ..) if is_newest => Ok(journal),
            (_, Ok(whole), _) => Ok(whole),
            (_, Err(damaged @ Error::Damaged { .. }), _) => Err(damaged),
            (Ok(journal), _, Ok(part)) if journal.entries.is_empty() => Ok(part),
            (Ok(journal), ..) => Ok(journal),
            (.., Ok(part)) => Ok(part),
            (journal, whole, part) => telling([journal, whole, part]),
        }
    }

    /// The saved state of the study with these options, to continue it.
    ///
    /// # Errors
    ///
    /// Also when the trials were made with other options.
    pub fn resumed(&self, definition: &Definition, options: &Options) -> Result<Stored, Error> {
        let [journal, whole, part] = self.all(definition);
        let of_options = |stored: &Stored| stored.options == *options;
        let packed = if is_whole(options) { whole } else { part };
        match (journal, packed) {
            (Ok(journal), Ok(packed)) if of_options(&journal) && of_options(&packed) => {
                Ok(if packed.continues(&journal) { packed } else { journal })
            }
            (Ok(journal), _) if of_options(&journal) => Ok(journal),
            (_, Ok(packed)) if of_options(&packed) => Ok(packed),
            (Ok(_), _) => Err(Error::Unrelated { of: "other options", path: self.journal() }),
            (_, Ok(_)) => Err(Error::Unrelated { of: "other options", path: self.packed(is_whole(options)) }),
            (journal, packed) => telling([journal, packed]),
        }
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
        let path = self.journal();
        let unable = |error| Error::unwritable(&path, error);
        make_private(&self.study).map_err(unable)?;
        let text = file::text(study, sessions);
        let fresh = self.folder.join("trials.jsonl.new");
        private_file::write(&fresh, text.as_bytes()).map_err(unable)?;
        if study.entries().is_empty() && file::has_trials(&path) {
            fs::rename(&path, self.folder.join("before.jsonl")).map_err(unable)?;
        }
        // Whole or not at all: what was kept until now is in this file alone.
        fs::rename(&fresh, &path).map_err(unable)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(unable)?;
        Ok(Journal { file, path })
    }

    /// Packs the trials of the study, if the journal has them, and removes the journal. A study that was begun anew and
    /// is not finished does not replace another one. What is replaced stays as `before.jsonl.zst`.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, or another process runs the study.
    pub fn pack(&self, study: &Study, sessions: &[Session], held: Option<&Lock>) -> Result<Packed, Error> {
        let path = self.packed(is_whole(study.options()));
        let written = file::read(&self.journal(), study.definition());
        let entries = file::portable(study.entries());
        if entries.is_empty() || !written.is_ok_and(|written| written.entries == entries) {
            return Ok(Packed::Already);
        }
        let _lock = held.is_none().then(|| self.lock()).transpose()?;
        let unable = |error| Error::unwritable(&path, error);
        let replaced = match file::read(&path, study.definition()) {
            Ok(before) if entries.starts_with(&before.entries) => false,
            Ok(_) | Err(Error::Unrelated { .. }) if !study.is_over() => return Ok(Packed::Unfinished(path)),
            Err(Error::NotSaved { .. }) => false,
            _ => true,
        };
        let packed = file::packed(&file::text(study, sessions)).map_err(unable)?;
        let fresh = self.folder.join("trials.jsonl.zst.new");
        private_file::write(&fresh, &packed).map_err(unable)?;
        if replaced {
            fs::rename(&path, self.folder.join("before.jsonl.zst")).map_err(unable)?;
        }
        fs::rename(&fresh, &path).map_err(unable)?;
        fs::remove_file(self.journal()).map_err(|error| Error::unwritable(&self.journal(), error))?;
        Ok(Packed::In(path))
    }
}

/// The first result, or a later one that is not about a missing file.
fn telling<const N: usize>(results: [Result<Stored, Error>; N]) -> Result<Stored, Error> {
    let silent = |result: &Result<Stored, Error>| matches!(result, Err(Error::NotSaved { .. }));
    let better = |found, next| if silent(&found) { next } else { found };
    let mut results = results.into_iter();
    let first = results.next().unwrap_or(Err(Error::Missing("file")));
    results.filter(|next| !silent(next)).fold(first, better)
}

impl Journal {
    /// Adds a trial.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn add(&mut self, trial: &Trial, result: &TrialResult) -> Result<(), Error> {
        let text = file::trial(trial, result);
        self.file.write_all(text.as_bytes()).map_err(|error| Error::unwritable(&self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use knee_core::unit::Nanos;
    use knee_study::study::Calibration;

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
    fn a_page_of_metrics_can_be_declared_after_the_trials_and_changes_nothing_of_a_study_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let kept = SavedTrials::at(folder.path());
        let first = go_on(&kept, study());
        let service = serde_json::to_value(&first.definition().fixture.service["main"]).unwrap();
        assert_eq!(service.get("metrics"), None, "stored as before there was the key");
        let declared = STUDY.replace("[\"server\"]", "[\"server\"]\nmetrics = \"/metrics\"");
        let with_page = Definition::read(&declared, "study.toml", &|_| true).unwrap();
        assert_ne!(with_page, *first.definition());
        assert_eq!(kept.read(&with_page).unwrap().entries, first.entries());
    }

    #[test]
    fn a_study_begun_anew_keeps_the_one_before_and_one_that_goes_on_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let (kept, before) = (SavedTrials::at(folder.path()), folder.path().join(".knee/before.jsonl"));
        let two = go_on(&kept, go_on(&kept, study()));
        assert_eq!(kept.read(two.definition()).unwrap().entries, two.entries());
        assert!(!before.exists(), "nothing was replaced");

        let measured = fs::read(kept.journal()).unwrap();
        kept.open(&study(), &[]).unwrap();
        assert_eq!(fs::read(&before).unwrap(), measured);
        assert_eq!(kept.read(two.definition()).unwrap().entries, []);
        kept.open(&study(), &[]).unwrap();
        assert_eq!(fs::read(&before).unwrap(), measured, "what has no trial takes no other's place");
    }

    /// A study of which this many trials were made, all of them in the journal.
    fn after(kept: &SavedTrials, options: Options, trials: usize) -> Study {
        let definition = Definition::read(STUDY, "study.toml", &|_| true).unwrap();
        let mut study = Study::new(definition, options, None).unwrap();
        let mut journal = kept.open(&study, &[]).unwrap();
        for _ in 0..trials {
            let trial = study.next().unwrap();
            let result = measured(study.options().blocks.unwrap_or(0) as f64);
            journal.add(&trial, &result).unwrap();
            study.record_result(&trial, result).unwrap();
        }
        study
    }

    fn measured(goodput: f64) -> TrialResult {
        let figure = knee_study::study::Figure::from(goodput + 0.1);
        TrialResult::Measured(knee_study::study::Measured {
            figures: BTreeMap::from([(knee_study::metric::Metric::Goodput, figure)]),
            requests: 1_000,
            host_busy: None,
            times: None,
            responses: None,
            endpoints: BTreeMap::new(),
            statements: BTreeMap::new(),
            resources: BTreeMap::new(),
            validity: knee_core::validity::Validity::Valid,
            warnings: Vec::new(),
            steady: None,
            kept_up: None,
            record: Some("/home/me/records/one.knee".to_owned()),
            placement: knee_study::study::Placement::default(),
        })
    }

    fn one_block() -> Options {
        Options { blocks: Some(1), ..Options::default() }
    }

    #[test]
    fn packed_trials_are_the_same_bytes_and_name_no_folder_of_the_machine_that_ran_them() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let packed = folders.each_ref().map(|folder| {
            let kept = SavedTrials::at(folder.path());
            after(&kept, one_block(), 2);
            // As a report or a resumed study does: from what is saved.
            let definition = Definition::read(STUDY, "study.toml", &|_| true).unwrap();
            let stored = kept.read(&definition).unwrap();
            let study = Study::resume(definition, stored.options, None, stored.entries).unwrap();
            let path = folder.path().join(PACKED);
            assert_eq!(kept.pack(&study, &stored.sessions, None).unwrap(), Packed::In(path.clone()));
            assert!(!kept.journal().exists(), "the trials are in one file alone");
            assert_eq!(kept.read(study.definition()).unwrap().entries, study.entries());
            fs::read(path).unwrap()
        });
        assert_eq!(packed[0], packed[1]);
        let text = zstd::decode_all(&packed[0][..]).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("\"one.knee\"") && !text.contains("/home/me"), "{text}");
    }

    #[test]
    fn an_unfinished_study_begun_anew_leaves_the_finished_one_in_its_place_until_it_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let kept = SavedTrials::at(folder.path());
        let first = after(&kept, one_block(), 2);
        kept.pack(&first, &[], None).unwrap();
        let more = Options { blocks: Some(2), ..Options::default() };
        let begun = after(&kept, more.clone(), 1);
        assert_eq!(kept.pack(&begun, &[], None).unwrap(), Packed::Unfinished(folder.path().join(PACKED)));
        let entries = |stored: Stored| stored.entries.len();
        assert_eq!(entries(kept.read(first.definition()).unwrap()), 2, "a report shows the finished one");
        assert_eq!(
            entries(kept.resumed(first.definition(), &more).unwrap()),
            1,
            "--resume goes on with the new one"
        );
        assert_eq!(entries(kept.resumed(first.definition(), &one_block()).unwrap()), 2);

        let finished = after(&kept, more, 4);
        assert_eq!(kept.pack(&finished, &[], None).unwrap(), Packed::In(folder.path().join(PACKED)));
        assert_eq!(entries(kept.read(first.definition()).unwrap()), 4);
        assert!(folder.path().join(".knee/before.jsonl.zst").is_file(), "the first one is not lost");
    }

    #[test]
    fn an_unfinished_study_of_another_definition_leaves_the_finished_one_too() {
        let folder = tempfile::tempdir().unwrap();
        let kept = SavedTrials::at(folder.path());
        let first = after(&kept, one_block(), 2);
        kept.pack(&first, &[], None).unwrap();
        let longer = format!("{STUDY}measure = \"9s\"\n");
        let longer = Definition::read(&longer, "study.toml", &|_| true).unwrap();
        let begun = go_on(&kept, Study::new(longer, Options::default(), None).unwrap());
        assert_eq!(kept.pack(&begun, &[], None).unwrap(), Packed::Unfinished(folder.path().join(PACKED)));
        assert_eq!(kept.read(first.definition()).unwrap().entries.len(), 2);
        assert_eq!(kept.resumed(begun.definition(), &Options::default()).unwrap().entries.len(), 1);
    }

    #[test]
    fn a_quick_study_does_not_replace_the_whole_one_and_each_is_found_by_its_options() {
        let folder = tempfile::tempdir().unwrap();
        let kept = SavedTrials::at(folder.path());
        let whole = after(&kept, one_block(), 2);
        kept.pack(&whole, &[], None).unwrap();
        let quick = Options { quick: true, blocks: Some(1), ..Options::default() };
        let part = after(&kept, quick.clone(), 2);
        assert_eq!(
            kept.pack(&part, &[], None).unwrap(),
            Packed::In(folder.path().join(".knee").join(PACKED))
        );
        let definition = whole.definition();
        assert_eq!(kept.read(definition).unwrap().options, one_block());
        assert_eq!(kept.resumed(definition, &quick).unwrap().options, quick);
        let other = Options { blocks: Some(9), ..Options::default() };
        assert!(matches!(
            kept.resumed(definition, &other),
            Err(Error::Unrelated { of: "other options", .. })
        ));
    }

    #[test]
    fn a_damaged_file_of_packed_trials_is_an_error_and_not_a_shorter_study() {
        let folder = tempfile::tempdir().unwrap();
        let kept = SavedTrials::at(folder.path());
        let study = after(&kept, one_block(), 2);
        kept.pack(&study, &[], None).unwrap();
        let path = folder.path().join(PACKED);
        let whole = fs::read(&path).unwrap();
        let mut turned = whole.clone();
        *turned.last_mut().unwrap() ^= 1;
        for bytes in [&whole[..whole.len() - 5], &turned[..], b"no zstd", b""] {
            fs::write(&path, bytes).unwrap();
            let refused = kept.read(study.definition()).unwrap_err();
            assert!(matches!(refused, Error::Damaged { .. } | Error::Unrelated { .. }), "{refused}");
        }
    }

    #[test]
    fn the_noise_floor_of_the_first_day_is_saved_and_a_killed_study_loses_no_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let kept = SavedTrials::at(folder.path());
        let definition = Definition::read(STUDY, "study.toml", &|_| true).unwrap();
        let noise = Calibration { of: "a server".to_owned(), blocks: 10, ..Calibration::default() };
        let study = Study::new(definition.clone(), one_block(), Some(noise.clone())).unwrap();
        let mut journal = kept.open(&study, &[]).unwrap();
        journal.add(&study.next().unwrap(), &measured(0.2)).unwrap();
        journal.file.write_all(b"{\"trial\":{\"number\":1,").unwrap();
        let stored = kept.read(&definition).unwrap();
        assert_eq!((stored.calibration, stored.entries.len()), (Some(noise), 1));
    }
}

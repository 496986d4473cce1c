//! Where the trials of a study are kept, one line each, as they are made.
//!
//! ```text
//! STUDY/.knee/trials.jsonl
//! ```
//!
//! The first line says of which study and options they are; a line for each stretch in which trials were made says when and
//! on which machine. Does not interpret trials.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use knee_report::study::Session;
use knee_study::definition::Definition;
use knee_study::study::{Entry, Options, Study, Told, Trial};
use serde::{Deserialize, Serialize};

use crate::problem::{Problem, reason};

/// The trials of the study in one folder.
pub struct Kept {
    folder: PathBuf,
}

/// What the first line says.
#[derive(PartialEq, Serialize, Deserialize)]
struct Heading {
    definition: Definition,
    options: Options,
}

/// What a line after the first says.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    /// From here on trials were made.
    Session { session: Session },
    /// A trial that was made.
    Trial(Box<Entry>),
}

/// What was kept of a study.
pub struct Stored {
    /// What was asked of it beyond its definition.
    pub options: Options,
    /// When and where its trials were made; none if an older version made them all.
    pub sessions: Vec<Session>,
    /// Its trials.
    pub entries: Vec<Entry>,
}

/// A file to which trials are added.
pub struct Journal {
    file: File,
    path: PathBuf,
}

impl Kept {
    /// Those of the study in `folder`.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.join(".knee") }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("trials.jsonl")
    }

    /// What was kept of the study of `definition`, whatever its options were. A last line that is not whole was being
    /// written when the study was killed; its trial is made again.
    ///
    /// # Errors
    ///
    /// When there is nothing, or it is of another study.
    pub fn read(&self, definition: &Definition) -> Result<Stored, Problem> {
        let path = self.file();
        let hint = "run the study first, without --resume and --report-only";
        let unreadable = |error: &std::io::Error| {
            Problem::new(format!("no trials are kept, `{}`: {}", path.display(), reason(error)), hint)
        };
        let file = File::open(&path).map_err(|error| unreadable(&error))?;
        let mut lines = BufReader::new(file).lines();
        let heading = lines.next().transpose().map_err(|error| unreadable(&error))?.unwrap_or_default();
        let known: Option<Heading> = serde_json::from_str(&heading).ok();
        let Some(known) = known.filter(|known| without_words(&known.definition) == without_words(definition))
        else {
            return Err(self.other("of another study.toml"));
        };
        let mut stored = Stored { options: known.options, sessions: Vec::new(), entries: Vec::new() };
        for line in lines.map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Line::Session { session }) => stored.sessions.push(session),
                Ok(Line::Trial(entry)) => stored.entries.push(*entry),
                Err(_) => break,
            }
        }
        Ok(stored)
    }

    /// The same, for going on with these options.
    ///
    /// # Errors
    ///
    /// Also when the trials were made with other options.
    pub fn resumed(&self, definition: &Definition, options: &Options) -> Result<Stored, Problem> {
        let stored = self.read(definition)?;
        if stored.options == *options { Ok(stored) } else { Err(self.other("of other options")) }
    }

    fn other(&self, what: &str) -> Problem {
        let text = format!("the trials that were kept are {what}: `{}`", self.file().display());
        Problem::new(text, "leave --resume and --report-only out to begin anew")
    }

    /// Writes down what is known of the study so far, in place of what was kept of an earlier one.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn open(&self, study: &Study, sessions: &[Session]) -> Result<Journal, Problem> {
        let path = self.file();
        let unable = |error: std::io::Error| unwritable(&path, &error);
        fs::create_dir_all(&self.folder).map_err(unable)?;
        // Results of trials are no part of anybody's repository unless they choose so.
        fs::write(self.folder.join(".gitignore"), "*\n").map_err(unable)?;
        let heading = Heading { definition: study.definition().clone(), options: study.options().clone() };
        let mut text = line(&heading);
        let session = |session: &Session| line(&Line::Session { session: session.clone() });
        for each in sessions {
            text.push_str(&session(each));
        }
        study.entries().iter().for_each(|entry| text.push_str(&line(entry)));
        fs::write(&path, text).map_err(unable)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(unable)?;
        Ok(Journal { file, path })
    }
}

impl Journal {
    /// Adds a trial.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn add(&mut self, trial: &Trial, told: &Told) -> Result<(), Problem> {
        let entry = Entry { trial: trial.clone(), told: told.clone() };
        let text = line(&entry);
        self.file.write_all(text.as_bytes()).map_err(|error| unwritable(&self.path, &error))
    }
}

/// What of a definition decides its trials: not the words of its report, nor what is claimed and published. Those may be
/// corrected afterwards.
fn without_words(definition: &Definition) -> Definition {
    let mut bare = definition.clone();
    (bare.title, bare.question, bare.source) = (String::new(), None, None);
    bare.claims.clear();
    bare.published.clear();
    bare.arms.iter_mut().for_each(|arm| arm.text.clear());
    bare.workloads.iter_mut().for_each(|workload| workload.text.clear());
    bare.switches.values_mut().for_each(|switch| switch.text.clear());
    bare
}

fn line(value: &impl Serialize) -> String {
    // Maps with names for keys and numbers always serialise.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

fn unwritable(path: &Path, error: &std::io::Error) -> Problem {
    let hint = "check the folder, its permissions and the space left";
    Problem::new(format!("trials cannot be kept, `{}`: {}", path.display(), reason(error)), hint)
}

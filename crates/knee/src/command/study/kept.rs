//! Where the trials of a study are kept, one line each, as they are made.
//!
//! ```text
//! STUDY/.knee/trials.jsonl
//! ```
//!
//! The first line says of which study and options they are. Does not interpret them.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

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

    /// The trials that were kept of this study with these options. A last line that is not whole was being
    /// written when the study was killed; its trial is made again.
    ///
    /// # Errors
    ///
    /// When there are none, or they are of another study.
    pub fn entries(&self, definition: &Definition, options: &Options) -> Result<Vec<Entry>, Problem> {
        let path = self.file();
        let hint = "leave --resume out to begin anew";
        let unreadable = |error: &std::io::Error| {
            Problem::new(format!("nothing to resume, `{}`: {}", path.display(), reason(error)), hint)
        };
        let file = File::open(&path).map_err(|error| unreadable(&error))?;
        let mut lines = BufReader::new(file).lines();
        let heading = lines.next().transpose().map_err(|error| unreadable(&error))?.unwrap_or_default();
        let known: Option<Heading> = serde_json::from_str(&heading).ok();
        let same = known.is_some_and(|known| known.definition == *definition && known.options == *options);
        if !same {
            let words = "the trials that were kept are of another study.toml or of other options";
            return Err(Problem::new(format!("{words}: `{}`", path.display()), hint));
        }
        let lines = lines.map_while(Result::ok);
        Ok(lines.map_while(|line| serde_json::from_str(&line).ok()).collect())
    }

    /// Writes down what is known of the study so far, in place of what was kept of an earlier one.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn open(&self, study: &Study) -> Result<Journal, Problem> {
        let path = self.file();
        let unable = |error: std::io::Error| unwritable(&path, &error);
        fs::create_dir_all(&self.folder).map_err(unable)?;
        // Results of trials are no part of anybody's repository unless they choose so.
        fs::write(self.folder.join(".gitignore"), "*\n").map_err(unable)?;
        let heading = Heading { definition: study.definition().clone(), options: study.options().clone() };
        let mut text = line(&heading);
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

fn line(value: &impl Serialize) -> String {
    // Maps with names for keys and numbers always serialise.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

fn unwritable(path: &Path, error: &std::io::Error) -> Problem {
    let hint = "check the folder, its permissions and the space left";
    Problem::new(format!("trials cannot be kept, `{}`: {}", path.display(), reason(error)), hint)
}

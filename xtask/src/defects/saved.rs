//! What was seen in each look, as JSON beside the page.
//!
//! Does not judge it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::expected::Case;

/// All looks, in the order in which they were first made.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Saved {
    /// Version of this layout.
    version: u32,
    /// The looks.
    pub looks: Vec<Looked>,
}

/// The version of the layout.
const VERSION: u32 = 1;

/// One look.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Looked {
    /// The variant.
    pub variant: String,
    /// The workload.
    pub workload: String,
    /// Measured time, in seconds.
    pub seconds: u64,
    /// Whether the service could use all CPUs.
    pub share_cpus: bool,
    /// `valid`, `suspect` or `invalid`; empty if there was no run.
    pub validity: String,
    /// Codes of the warnings.
    pub warnings: Vec<String>,
    /// Findings and hints, in their order.
    pub said: Vec<Said>,
    /// Codes of the rules that could not run, each with what it lacked.
    pub could_not_run: Vec<(String, String)>,
    /// OK responses per second.
    pub goodput_per_s: Option<f64>,
    /// Mean response time, in milliseconds. A short look has too few requests for high percentiles.
    pub mean_ms: Option<f64>,
    /// Requests that were not OK.
    pub failed: u64,
    /// Version and commit of the knee that looked.
    pub build: String,
    /// The CPU.
    pub machine: String,
    /// Why there is no run.
    pub problem: Option<String>,
}

/// A finding or a hint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Said {
    /// Code of the rule.
    pub code: String,
    /// `hint`, `likely` or `strong`.
    pub confidence: String,
    /// The sentence.
    pub statement: String,
}

impl Said {
    /// Whether one signal alone speaks for it.
    pub fn is_hint(&self) -> bool {
        self.confidence == "hint"
    }
}

impl Looked {
    /// Findings that are no hints, in their order.
    pub fn findings(&self) -> impl Iterator<Item = &Said> {
        self.said.iter().filter(|said| !said.is_hint())
    }

    /// Hints.
    pub fn hints(&self) -> impl Iterator<Item = &Said> {
        self.said.iter().filter(|said| said.is_hint())
    }

    /// The look in one line.
    pub fn says(&self) -> String {
        if let Some(problem) = &self.problem {
            return format!("failed: {problem}");
        }
        let said: Vec<String> = self
            .said
            .iter()
            .map(|said| if said.is_hint() { format!("({})", said.code) } else { said.code.clone() })
            .collect();
        let said = if said.is_empty() { "nothing".to_owned() } else { said.join(", ") };
        format!("{} [{}]", said, self.validity)
    }

    fn is_of(&self, variant: &str, workload: &str) -> bool {
        self.variant == variant && self.workload == workload
    }
}

impl Saved {
    /// Reads the file; without one there are no looks.
    pub fn read(path: &Path) -> Result<Self> {
        let Some(saved) = read_document::<Self>(path)? else {
            return Ok(Self { version: VERSION, looks: Vec::new() });
        };
        ensure!(saved.version == VERSION, "{} has version {}", path.display(), saved.version);
        Ok(saved)
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_document(path, self)
    }

    /// The look at a variant under a workload.
    pub fn look(&self, variant: &str, workload: &str) -> Option<&Looked> {
        self.looks.iter().find(|look| look.is_of(variant, workload))
    }

    /// Whether a case was looked at, and there was a run.
    pub fn has(&self, case: &Case) -> bool {
        self.look(&case.variant, &case.workload).is_some_and(|look| look.problem.is_none())
    }

    /// Adds a look, in place of an earlier one at the same case.
    pub fn put(&mut self, looked: Looked) {
        match self.looks.iter_mut().find(|look| look.is_of(&looked.variant, &looked.workload)) {
            Some(earlier) => *earlier = looked,
            None => self.looks.push(looked),
        }
    }
}

/// Reads what was saved beside a page; `None` without a file.
pub(super) fn read_document<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    serde_json::from_str(&text).with_context(|| path.display().to_string()).map(Some)
}

/// Saves a document beside its page.
pub(super) fn write_document<T: Serialize>(path: &Path, document: &T) -> Result<()> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(variant: &str, problem: Option<&str>) -> Looked {
        let problem = problem.map(str::to_owned);
        Looked { variant: variant.to_owned(), workload: "list".to_owned(), problem, ..Looked::default() }
    }

    #[test]
    fn a_case_that_ran_is_kept_and_one_that_failed_is_looked_at_again() {
        let case = |variant: &str| Case {
            study: None,
            variant: variant.to_owned(),
            workload: "list".to_owned(),
            seconds: None,
            share_cpus: false,
        };
        let mut saved = Saved::default();
        saved.put(looked("a", None));
        saved.put(looked("b", Some("no port")));
        assert_eq!(
            [saved.has(&case("a")), saved.has(&case("b")), saved.has(&case("c"))],
            [true, false, false]
        );
        saved.put(looked("b", None));
        assert_eq!((saved.has(&case("b")), saved.looks.len()), (true, 2));
    }

    #[test]
    fn what_is_written_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("confusion.json");
        let mut saved = Saved::read(&path).unwrap();
        saved.put(looked("a", None));
        saved.write(&path).unwrap();
        assert_eq!(Saved::read(&path).unwrap().looks, saved.looks);
    }
}

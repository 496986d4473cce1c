//! The results of each case under k6, kept in a file, so that k6 is not needed to compare with it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::case::Case;
use super::outcome::Outcome;

/// Where the expectations are, below the root of the repository.
pub const FILE: &str = "compat/recorded.json";

/// Everything that was recorded.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The version of k6 that was asked.
    pub k6: String,
    /// By the name of the case.
    pub cases: BTreeMap<String, Entry>,
}

/// What was recorded of one case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Checksum of the script it is of.
    pub script: String,
    /// What came of it.
    pub outcome: Outcome,
}

impl Recorded {
    /// Reads the file; nothing was recorded where there is none.
    pub fn read(root: &Path) -> Result<Self> {
        match fs::read_to_string(root.join(FILE)) {
            Ok(text) => serde_json::from_str(&text).with_context(|| format!("in {FILE}")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {FILE}")),
        }
    }

    /// Writes the file.
    pub fn write(&self, root: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(root.join(FILE), text).with_context(|| format!("cannot write {FILE}"))
    }

    /// What is expected of `case`; an error if that was recorded of another script, or not at all.
    pub fn expected(&self, case: &Case) -> Result<&Outcome> {
        match self.cases.get(&case.name) {
            Some(entry) if entry.script == case.checksum => Ok(&entry.outcome),
            Some(_) => bail!("{} has changed: record it with `cargo xtask compat --record`", case.name),
            None => bail!("{} was not recorded: `cargo xtask compat --record`", case.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_is_of_one_script_only() {
        let entry = Entry { script: "1".into(), outcome: Outcome::default() };
        let recorded = Recorded { k6: "1.8.1".into(), cases: [("a/b".to_owned(), entry)].into() };
        let case =
            |name: &str, sum: &str| Case { name: name.into(), checksum: sum.into(), ..Case::default() };
        assert!(recorded.expected(&case("a/b", "1")).is_ok());
        assert!(recorded.expected(&case("a/b", "2")).unwrap_err().to_string().contains("has changed"));
        assert!(recorded.expected(&case("a/c", "1")).unwrap_err().to_string().contains("was not recorded"));
    }
}

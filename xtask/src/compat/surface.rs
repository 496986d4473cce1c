//! The table of what k6 offers to scripts and on its command line, row by row.
//!
//! The file says what knee makes of each row; which case tries it is said by the cases.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::case::Case;

/// Where the table is, below the root of the repository.
pub const FILE: &str = "compat/surface.toml";

/// What knee makes of a row.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is there, and a case tries it.
    #[default]
    Yes,
    /// Parts of it are there; the note says which.
    Partly,
    /// It is there, and tried where k6 cannot be asked; the note says where.
    Elsewhere,
    /// It is to come; until then it is refused with a message.
    Later,
    /// It will not come; the note says why.
    Never,
}

/// A row: one function, option, flag or behaviour.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// How cases name it.
    pub name: String,
    /// What knee makes of it.
    #[serde(default)]
    pub state: State,
    /// What a user must know about it.
    #[serde(default)]
    pub note: String,
}

/// Rows under one heading.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// The rows.
    pub rows: Vec<Row>,
}

/// The table.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Surface {
    /// Its sections, in the order of the page.
    #[serde(default)]
    pub section: Vec<Section>,
}

impl Surface {
    /// Reads the table.
    pub fn read(root: &Path) -> Result<Self> {
        let text = fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
        toml::from_str(&text).with_context(|| format!("in {FILE}"))
    }

    /// Fails if a case names a row that is not there, or a row that is there has no case.
    pub fn check(&self, cases: &[Case]) -> Result<()> {
        let rows = || self.section.iter().flat_map(|section| &section.rows);
        let names: BTreeSet<&str> = rows().map(|row| row.name.as_str()).collect();
        let tried: BTreeSet<&str> = cases.iter().flat_map(|case| &case.rows).map(String::as_str).collect();
        let mut wrong: Vec<String> = cases
            .iter()
            .flat_map(|case| case.rows.iter().map(move |row| (case, row)))
            .filter(|(_, row)| !names.contains(row.as_str()))
            .map(|(case, row)| format!("{} names the row `{row}`, which is not in {FILE}", case.name))
            .collect();
        let claimed = rows().filter(|row| matches!(row.state, State::Yes | State::Partly));
        let untried = claimed.filter(|row| !tried.contains(row.name.as_str()));
        wrong.extend(untried.map(|row| format!("the row `{}` has no case", row.name)));
        let silent = rows().filter(|row| row.state != State::Yes && row.note.is_empty());
        wrong.extend(silent.map(|row| format!("the row `{}` wants a note", row.name)));
        if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(row: &str) -> Case {
        Case { name: "a/b".into(), rows: vec![row.into()], ..Case::default() }
    }

    fn surface(rows: &str) -> Surface {
        toml::from_str(&format!("[[section]]\ntitle = \"t\"\nrows = [{rows}]")).unwrap()
    }

    #[test]
    fn a_row_that_is_there_has_a_case() {
        let surface =
            surface("{ name = \"k6.check\" }, { name = \"k6/ws\", state = \"later\", note = \"n\" }");
        assert!(surface.check(&[case("k6.check")]).is_ok());
        assert_eq!(surface.check(&[]).unwrap_err().to_string(), "the row `k6.check` has no case");
    }

    #[test]
    fn a_case_names_rows_that_exist() {
        let surface = surface("{ name = \"k6/ws\", state = \"later\", note = \"n\" }");
        assert!(surface.check(&[case("k6.chekc")]).unwrap_err().to_string().contains("k6.chekc"));
    }

    #[test]
    fn what_is_not_there_says_why() {
        let surface = surface("{ name = \"k6/ws\", state = \"later\" }");
        assert_eq!(surface.check(&[]).unwrap_err().to_string(), "the row `k6/ws` wants a note");
    }
}

//! Where two outcomes differ, and which of that is known and explained.
//!
//! A known difference names its lines exactly: a second difference in the same case is not hidden by it, and
//! one that has gone is reported, so that the list only says what is true.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::outcome::Outcome;

/// Where known differences are listed, below the root of the repository.
pub const FILE: &str = "compat/differences.toml";

/// Lines about one part of a case that are not the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// What the lines are about.
    pub part: String,
    /// Lines of k6 alone.
    pub k6: Vec<String>,
    /// Lines of knee alone.
    pub knee: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.part)?;
        self.k6.iter().try_for_each(|line| writeln!(f, "    k6   {line}"))?;
        self.knee.iter().try_for_each(|line| writeln!(f, "    knee {line}"))
    }
}

/// A difference that is known.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The case.
    pub case: String,
    /// What the lines are about.
    pub part: String,
    /// Why it is so, in one sentence that a user can read.
    pub why: String,
    /// Lines of k6 alone.
    #[serde(default)]
    pub k6: Vec<String>,
    /// Lines of knee alone.
    #[serde(default)]
    pub knee: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    difference: Vec<Known>,
}

/// Reads the list.
pub fn known(root: &Path) -> Result<Vec<Known>> {
    let text = fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
    let list: List = toml::from_str(&text).with_context(|| format!("in {FILE}"))?;
    Ok(list.difference)
}

/// Where two outcomes differ, part by part.
pub fn between(k6: &Outcome, knee: &Outcome) -> Vec<Difference> {
    let parts: BTreeSet<&String> = k6.0.keys().chain(knee.0.keys()).collect();
    let empty = Vec::new();
    let of = |part: &String| {
        let (k6, knee) = (k6.0.get(part).unwrap_or(&empty), knee.0.get(part).unwrap_or(&empty));
        let (k6, knee) = apart(k6, knee);
        Difference { part: part.clone(), k6, knee }
    };
    parts.into_iter().map(of).filter(|found| !found.k6.is_empty() || !found.knee.is_empty()).collect()
}

/// The lines of each list that are not in their longest common subsequence.
fn apart(one: &[String], other: &[String]) -> (Vec<String>, Vec<String>) {
    let width = other.len() + 1;
    let mut longest = vec![0_u32; (one.len() + 1) * width];
    for row in (0..one.len()).rev() {
        for column in (0..other.len()).rev() {
            let at = row * width + column;
            longest[at] = if one[row] == other[column] {
                longest[at + width + 1] + 1
            } else {
                longest[at + width].max(longest[at + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    while row < one.len() || column < other.len() {
        let at = row * width + column;
        if row < one.len() && column < other.len() && one[row] == other[column] {
            (row, column) = (row + 1, column + 1);
        } else if column == other.len() || (row < one.len() && longest[at + width] >= longest[at + 1]) {
            left.push(one[row].clone());
            row += 1;
        } else {
            right.push(other[column].clone());
            column += 1;
        }
    }
    (left, right)
}

/// What is wrong with a case: unexplained differences, and explanations of differences that do not exist.
pub fn unexplained(case: &str, found: &[Difference], known: &[Known]) -> (Vec<Difference>, Vec<Known>) {
    let of_case = || known.iter().filter(|known| known.case == case);
    let explains = |known: &Known, found: &Difference| {
        (&known.part, &known.k6, &known.knee) == (&found.part, &found.k6, &found.knee)
    };
    let open = found.iter().filter(|found| !of_case().any(|known| explains(known, found)));
    let stale = of_case().filter(|known| !found.iter().any(|found| explains(known, found)));
    (open.cloned().collect(), stale.cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(part: &str, lines: &[&str]) -> Outcome {
        let mut outcome = Outcome::default();
        outcome.add(part, lines.iter().map(|line| (*line).to_owned()).collect());
        outcome
    }

    fn difference(k6: &[&str], knee: &[&str]) -> Difference {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Difference { part: "requests".into(), k6: owned(k6), knee: owned(knee) }
    }

    fn of(k6: &[&str], knee: &[&str]) -> Vec<Difference> {
        between(&outcome("requests", k6), &outcome("requests", knee))
    }

    #[test]
    fn equal_outcomes_do_not_differ() {
        assert_eq!(of(&["a", "b"], &["a", "b"]), []);
    }

    #[test]
    fn only_the_lines_that_differ_are_named() {
        assert_eq!(of(&["a", "b", "c"], &["a", "x", "c"]), [difference(&["b"], &["x"])]);
        assert_eq!(of(&["a", "a"], &["a"]), [difference(&["a"], &[])]);
        assert_eq!(of(&[], &["a"]), [difference(&[], &["a"])]);
    }

    #[test]
    fn another_order_is_a_difference() {
        assert_eq!(of(&["a", "b"], &["b", "a"]).len(), 1);
    }

    #[test]
    fn a_known_difference_explains_exactly_its_lines() {
        let known = Known {
            case: "x/y".into(),
            part: "requests".into(),
            why: "because".into(),
            k6: vec!["b".into()],
            knee: vec!["x".into()],
        };
        let known = [known];
        assert_eq!(unexplained("x/y", &[difference(&["b"], &["x"])], &known), (vec![], vec![]));
        let more = difference(&["b", "c"], &["x"]);
        assert_eq!(
            unexplained("x/y", std::slice::from_ref(&more), &known),
            (vec![more.clone()], known.to_vec())
        );
        assert_eq!(unexplained("x/y", &[], &known), (vec![], known.to_vec()));
        assert_eq!(unexplained("x/z", &[], &known), (vec![], vec![]));
    }
}

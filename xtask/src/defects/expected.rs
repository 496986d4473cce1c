//! What the trial compares with: the defects, the codes that name them, and the cases that follow.
//!
//! Does not run anything.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The variant without a defect.
pub(super) const HEALTHY: &str = "healthy";

/// `labs/findings/expected.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    /// The defects that the lab has.
    pub defect: Vec<Defect>,
}

/// A list of defects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum List {
    /// Made before the rules, which have learned from it.
    #[default]
    First,
    /// Made of incidents, after the rules had learned from the first list.
    Second,
    /// Made of incidents, after the rules had learned from the second list.
    Third,
    /// Made of incidents, after the rules had learned from the third list.
    Fourth,
    /// Made of incidents, after the rules had learned from the fourth list.
    Fifth,
    /// Made of incidents, after the rules had learned from the fifth list.
    Sixth,
    /// Made of incidents, after the rules had learned from the sixth list.
    Seventh,
    /// Made of incidents, while the rules learned from the seventh list.
    Eighth,
    /// Made of incidents, after the rules had learned from the eighth list.
    Ninth,
}

impl List {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::First,
        Self::Second,
        Self::Third,
        Self::Fourth,
        Self::Fifth,
        Self::Sixth,
        Self::Seventh,
        Self::Eighth,
        Self::Ninth,
    ];

    /// Its name in a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first list",
            Self::Second => "second list",
            Self::Third => "third list",
            Self::Fourth => "fourth list",
            Self::Fifth => "fifth list",
            Self::Sixth => "sixth list",
            Self::Seventh => "seventh list",
            Self::Eighth => "eighth list",
            Self::Ninth => "ninth list",
        }
    }
}

/// A seeded defect.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Defect {
    /// Its variant in the study.
    pub name: String,
    /// Its entry in the list of defects.
    pub of: String,
    /// The list that it is of.
    #[serde(default)]
    pub list: List,
    /// Where its incident is described.
    pub source: Option<String>,
    /// The folder of its study below that of the trial, if it is not in the study of most.
    pub study: Option<String>,
    /// The workload under which it shows.
    pub workload: String,
    /// Codes that name it. Empty if no rule is meant for it.
    pub expects: Vec<String>,
    /// Codes of its consequences, which are neither found nor wrong.
    #[serde(default)]
    pub also: Vec<String>,
    /// Measured time in seconds, if it has a pace of its own.
    pub seconds: Option<u64>,
    /// Whether it shows only if the service can use all CPUs.
    #[serde(default)]
    pub share_cpus: bool,
    /// In which way it differs from its entry.
    pub note: Option<String>,
}

/// One look: a variant under a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    /// The folder of its study below that of the trial, if it is not in the study of most.
    pub study: Option<String>,
    /// The variant.
    pub variant: String,
    /// The workload.
    pub workload: String,
    /// Measured time in seconds, if it is not the usual one.
    pub seconds: Option<u64>,
    /// Whether the service can use all CPUs.
    pub share_cpus: bool,
}

impl Case {
    /// The folder of its study below that of the trial; empty for the study of most.
    pub fn folder(&self) -> &str {
        self.study.as_deref().unwrap_or_default()
    }

    /// Whether nothing is wrong in it.
    pub fn is_healthy(&self) -> bool {
        self.variant == HEALTHY
    }

    /// Its name on the command line.
    pub fn label(&self) -> String {
        if self.is_healthy() { format!("{HEALTHY}/{}", self.workload) } else { self.variant.clone() }
    }
}

impl Expected {
    /// Reads the file.
    pub fn read(text: &str) -> Result<Self> {
        let expected: Self = toml::from_str(text).context("expected.toml")?;
        let mut names = BTreeSet::new();
        for defect in &expected.defect {
            ensure!(names.insert(&defect.name), "expected.toml has `{}` twice", defect.name);
            let is_both = defect.also.iter().find(|code| defect.expects.contains(code));
            ensure!(is_both.is_none(), "expected.toml: `{}` expects {is_both:?} twice", defect.name);
            let has_source = defect.list == List::First || defect.source.is_some();
            ensure!(has_source, "expected.toml: `{}` has no source", defect.name);
            // Looks are found again by variant and workload.
            let is_elsewhere =
                |other: &Defect| other.workload == defect.workload && other.study != defect.study;
            let is_in_two = expected.defect.iter().any(is_elsewhere);
            ensure!(!is_in_two, "expected.toml has the workload `{}` in two studies", defect.workload);
        }
        Ok(expected)
    }

    /// One list alone.
    pub fn only(&self, list: List) -> Self {
        Self { defect: self.defect.iter().filter(|defect| defect.list == list).cloned().collect() }
    }

    /// All looks: each defect, then each of their workloads in a healthy shop.
    pub fn cases(&self) -> Vec<Case> {
        let of = |defect: &Defect, variant: &str| Case {
            study: defect.study.clone(),
            variant: variant.to_owned(),
            workload: defect.workload.clone(),
            seconds: defect.seconds,
            share_cpus: defect.share_cpus,
        };
        let mut cases: Vec<Case> = self.defect.iter().map(|defect| of(defect, &defect.name)).collect();
        for defect in &self.defect {
            let healthy = of(defect, HEALTHY);
            if !cases.contains(&healthy) {
                cases.push(healthy);
            }
        }
        cases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "[[defect]]\nname = 'a'\nof = 'A: a'\nworkload = 'list'\nexpects = ['x']\n\
                       [[defect]]\nname = 'b'\nof = 'A: b'\nworkload = 'list'\nexpects = []\n";

    #[test]
    fn a_workload_of_two_defects_has_one_healthy_twin() {
        let cases = Expected::read(TWO).unwrap().cases();
        let labels: Vec<String> = cases.iter().map(Case::label).collect();
        assert_eq!(labels, ["a", "b", "healthy/list"]);
    }

    #[test]
    fn a_healthy_twin_is_in_the_study_of_its_defect_and_a_workload_is_in_one_study() {
        let in_other = TWO.replacen("name = 'b'", "name = 'b'\nstudy = 'replica'", 1);
        assert!(Expected::read(&in_other).is_err());
        let (first, second) = in_other.split_at(in_other.rfind("[[defect]]").unwrap());
        let cases = Expected::read(&format!("{first}{}", second.replace("'list'", "'lag'"))).unwrap().cases();
        let folders: Vec<_> = cases.iter().map(|case| (case.label(), case.folder())).collect();
        let expected = [("a", ""), ("b", "replica"), ("healthy/list", ""), ("healthy/lag", "replica")];
        assert_eq!(folders, expected.map(|(label, folder)| (label.to_owned(), folder)));
    }

    const OTHER: &str = "[[defect]]\nname = 'c'\nof = 'C: c'\nworkload = 'list'\nexpects = []\nlist = 'second'\n\
                         source = 'https://example.org'\n";

    #[test]
    fn a_list_alone_has_its_defects_and_their_healthy_twins() {
        let expected = Expected::read(&format!("{TWO}{OTHER}")).unwrap();
        let labels = |list| expected.only(list).cases().iter().map(Case::label).collect::<Vec<_>>();
        assert_eq!(labels(List::First), ["a", "b", "healthy/list"]);
        assert_eq!(labels(List::Second), ["c", "healthy/list"]);
        let others =
            [List::Third, List::Fourth, List::Fifth, List::Sixth, List::Seventh, List::Eighth, List::Ninth];
        assert!(others.into_iter().all(|list| labels(list).is_empty()));
    }

    #[test]
    fn a_defect_of_a_list_of_incidents_names_its_source() {
        for list in ["second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"] {
            let other = OTHER.replace("second", list);
            assert!(Expected::read(&other).is_ok(), "{list}");
            assert!(Expected::read(&other.replace("source", "note")).is_err(), "{list}");
        }
    }

    #[test]
    fn a_name_that_stands_twice_is_a_mistake() {
        assert!(Expected::read(&format!("{TWO}{TWO}")).is_err());
    }

    #[test]
    fn a_code_is_either_expected_or_a_consequence() {
        assert!(
            Expected::read(&TWO.replacen("expects = ['x']", "expects = ['x']\nalso = ['x']", 1)).is_err()
        );
    }
}

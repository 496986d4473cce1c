//! `CHANGELOG.md` has the form of Keep a Changelog: versions with the newest first, and in each the groups in one order,
//! each once and none empty.
//!
//! Does not judge what the entries say; prose has rules of its own.

use super::Violation;
use super::tree::Tree;

const PATH: &str = "CHANGELOG.md";

/// The groups of a version, in their order: those of Keep a Changelog, and before them the changes that alter figures.
const GROUPS: [&str; 7] = ["Moves numbers", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

/// What comes before any release.
const UNRELEASED: &str = "Unreleased";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let Some(text) = tree.text(PATH) else { return Vec::new() };
    let mut form = Form::default();
    for (line, text) in (1..).zip(text.lines()) {
        form.read(line, text);
    }
    form.close();
    form.violations
}

/// What has been read.
#[derive(Default)]
struct Form {
    violations: Vec<Violation>,
    /// The version before, as numbers; more than every version at first.
    before: Option<Vec<u64>>,
    /// How many versions there were.
    versions: usize,
    /// The place of the last group of this version.
    place: Option<usize>,
    /// The line of a group that has no entry yet.
    empty: Option<usize>,
}

impl Form {
    fn read(&mut self, line: usize, text: &str) {
        if let Some(version) = text.strip_prefix("## ") {
            self.close();
            self.version(line, version);
        } else if let Some(group) = text.strip_prefix("### ") {
            self.close();
            self.group(line, group);
        } else if text.starts_with("- ") {
            self.empty = None;
            if self.versions > 0 && self.place.is_none() {
                self.blame(line, "an entry belongs to a group");
            }
        }
    }

    fn blame(&mut self, line: usize, text: impl Into<String>) {
        self.violations.push(Violation::new(PATH, line, text));
    }

    /// The end of a group.
    fn close(&mut self) {
        if let Some(line) = self.empty.take() {
            self.blame(line, "a group without an entry");
        }
    }

    fn version(&mut self, line: usize, title: &str) {
        self.versions += 1;
        self.place = None;
        if title == UNRELEASED {
            if self.versions > 1 {
                self.blame(line, format!("`{UNRELEASED}` is the first version"));
            }
            return;
        }
        let Some(numbers) = numbers(title) else {
            self.blame(line, "a version is `Unreleased` or `1.2.3 (2026-12-31)`");
            return;
        };
        if self.before.as_ref().is_some_and(|before| *before <= numbers) {
            self.blame(line, "the newest version comes first");
        }
        self.before = Some(numbers);
    }

    fn group(&mut self, line: usize, name: &str) {
        let Some(place) = GROUPS.iter().position(|group| *group == name) else {
            self.blame(line, format!("`{name}` is no group; the groups are {}", GROUPS.join(", ")));
            return;
        };
        if self.place.is_some_and(|before| before >= place) {
            self.blame(line, format!("each group comes once, in this order: {}", GROUPS.join(", ")));
        }
        (self.place, self.empty) = (Some(place), Some(line));
    }
}

/// The numbers of a version with a date.
fn numbers(title: &str) -> Option<Vec<u64>> {
    let (version, date) = title.strip_suffix(')')?.split_once(" (")?;
    let is_date = date.len() == 10 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let numbers: Vec<u64> = version.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    (is_date && numbers.len() == 3).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        check(&Tree::of(&[(PATH, text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_changelog_of_this_form_is_well() {
        let text = "# Changelog\n\n- not an entry\n\n## Unreleased\n\n### Moves numbers\n\n- a\n\n### Fixed\n\n- b\n\n\
                    ## 0.10.0 (2026-12-02)\n\n### Added\n\n- c\n\n## 0.9.1 (2026-12-01)\n\n### Added\n\n- d\n";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn versions_and_groups_out_of_order_are_found() {
        let old_first = "## 0.1.0 (2026-12-01)\n### Added\n- a\n## 0.2.0 (2026-12-02)\n### Added\n- b\n";
        assert_eq!(found(old_first), ["CHANGELOG.md:4: the newest version comes first"]);
        let late = "## 0.1.0 (2026-12-01)\n### Added\n- a\n## Unreleased\n### Added\n- b\n";
        assert_eq!(found(late), ["CHANGELOG.md:4: `Unreleased` is the first version"]);
        for text in [
            "## Unreleased\n### Fixed\n- a\n### Added\n- b\n",
            "## Unreleased\n### Fixed\n- a\n### Fixed\n- b\n",
        ] {
            assert_eq!(found(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn unknown_and_empty_groups_versions_without_a_date_and_loose_entries_are_found() {
        for text in [
            "## Unreleased\n### News\n",
            "## Unreleased\n### Added\n### Fixed\n- a\n",
            "## Unreleased\n### Added\n",
            "## 0.1.0\n### Added\n- a\n",
            "## 0.1 (2026-12-01)\n",
            "## Unreleased\n- a\n",
        ] {
            assert_eq!(found(text).len(), 1, "{text}");
        }
    }
}

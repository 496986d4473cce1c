//! The notes of a release: the group of its version in `CHANGELOG.md`.
//!
//! Words are those of the change log. Does not publish them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::Release;

/// What begins the group of a version.
const GROUP: &str = "## ";

/// Writes the notes. A version that the change log does not name yet has those of "Unreleased".
pub fn make(release: &Release) -> Result<PathBuf> {
    let changes = fs::read_to_string(release.root.join("CHANGELOG.md"))?;
    let group = group(&changes, &release.version).or_else(|| group(&changes, "Unreleased"));
    let group =
        group.context("CHANGELOG.md has neither a group for this version nor a group `Unreleased`")?;
    let path = release.folder.join("RELEASE-NOTES.md");
    fs::write(&path, format!("# knee {}\n\n{}\n", release.version, group.trim()))?;
    Ok(path)
}

/// What stands below the heading of a version, up to the next one.
fn group<'a>(changes: &'a str, version: &str) -> Option<&'a str> {
    let is_heading = |line: &str| {
        let name = line.strip_prefix(GROUP).map(|title| title.split([' ', ']']).next().unwrap_or_default());
        name.is_some_and(|name| name.trim_start_matches('[') == version)
    };
    let mut at = 0;
    let begins = changes.split_inclusive('\n').find_map(|line| {
        at += line.len();
        is_heading(line.trim_end()).then_some(at)
    })?;
    let rest = &changes[begins..];
    Some(&rest[..rest.find(&format!("\n{GROUP}")).unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGES: &str = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0 (2026-12-01)\n\n### Fixed\n\n- a\n\n\
                           ## [0.1.0] - 2026-11-01\n\n- first\n";

    #[test]
    fn the_notes_are_the_group_of_the_version_and_no_other() {
        assert_eq!(group(CHANGES, "0.2.0").unwrap().trim(), "### Fixed\n\n- a");
        assert_eq!(group(CHANGES, "0.1.0").unwrap().trim(), "- first");
        assert_eq!(group(CHANGES, "Unreleased").unwrap().trim(), "- new");
        assert_eq!(group(CHANGES, "0.2"), None);
    }

    #[test]
    fn the_change_log_of_this_project_has_notes_for_the_next_release() {
        let changes = fs::read_to_string(crate::root().join("CHANGELOG.md")).unwrap();
        assert!(group(&changes, "Unreleased").unwrap().contains("### "));
    }
}

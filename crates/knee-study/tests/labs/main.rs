//! The studies of the labs, as they are in this repository, have no mistakes.
//!
//! Does not run them.

#![allow(clippy::expect_used, reason = "a helper of a test fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

use knee_study::definition::Definition;

/// Every folder of the labs that can hold a study.
fn folders() -> Vec<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("the folder can be listed");
        let paths = entries.map(|entry| entry.expect("the entry can be read").path());
        paths.filter(|path| path.is_dir()).collect()
    };
    let labs = inside(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs"));
    labs.iter().flat_map(|lab| inside(lab)).chain(labs.iter().cloned()).collect()
}

#[test]
fn every_study_of_the_labs_can_be_read() {
    let mut count = 0;
    for folder in folders() {
        let Ok(text) = fs::read_to_string(folder.join("study.toml")) else { continue };
        let read = Definition::read(&text, "study.toml", &|script| folder.join(script).exists());
        assert!(read.is_ok(), "{}: {}", folder.display(), read.expect_err("the study has mistakes"));
        count += 1;
    }
    assert!(count >= 5, "{count} studies of five labs");
}

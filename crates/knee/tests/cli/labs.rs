//! The published documents of the labs: everyone can make them again from the saved trials.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::program::Home;

fn labs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs")
}

/// Every file below a folder, by its path within.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut left) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The folders of all studies with saved trials, within their lab.
fn studies(lab: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    let trials = lab.keys().filter(|path| path.ends_with("trials.jsonl.zst"));
    trials.map(|path| path.parent().unwrap().to_owned()).collect()
}

#[test]
fn every_document_of_the_labs_is_what_their_saved_trials_say() {
    let mut made = 0;
    for lab in fs::read_dir(labs()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let before = files(&lab);
        for study in studies(&before) {
            let name = lab.strip_prefix(labs()).unwrap();
            let clone = Home::new();
            let copy = clone.path("labs").join(name);
            for (path, bytes) in &before {
                fs::create_dir_all(copy.join(path).parent().unwrap()).unwrap();
                fs::write(copy.join(path), bytes).unwrap();
            }
            // Commands in the documents begin at the root of the repository.
            fs::create_dir(clone.path(".git")).unwrap();
            let finished = clone.knee("study . --report-only").folder(&copy.join(&study)).run();
            let name = name.join(&study).display().to_string();
            assert!(finished.stderr.contains("results: "), "{name}: {finished:?}");
            for (path, bytes) in files(&copy) {
                let same = before.get(&path).is_some_and(|known| *known == bytes);
                assert!(same || path.starts_with(".knee"), "{name}: {} is another one", path.display());
            }
            made += 1;
        }
    }
    assert!(made >= 5, "{made} studies with trials");
}

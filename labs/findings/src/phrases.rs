//! Phrases of the shop in another language, from a file beside that of SQLite.
//!
//! Does not use the stores, and does not parse HTTP. No request changes the file.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::defect::Defect;
use crate::refusal::Refusal;

/// Phrases of the file.
const PHRASES: u32 = 25_000;

/// The phrases and their file.
pub struct Phrases {
    path: PathBuf,
    defect: Defect,
    /// The phrases of a healthy shop, as they were read when it started.
    all: BTreeMap<String, String>,
}

impl Phrases {
    /// Writes the file beside this one. Only the healthy shop and its defect have it, so that the others have no more
    /// to keep.
    ///
    /// # Errors
    /// The file cannot be written or read.
    pub fn open(views: &Path, defect: Defect) -> Result<Self, Refusal> {
        let path = views.with_file_name("phrases.json");
        let mut all = BTreeMap::new();
        if matches!(defect, Defect::None | Defect::ParsePerRequest) {
            let text = |number: u32| format!("Tea of the season, number {number}, in a box of ten");
            let phrases: BTreeMap<String, String> =
                (0..PHRASES).map(|number| (key(number), text(number))).collect();
            fs::write(&path, serde_json::to_vec(&phrases).map_err(io::Error::from)?)?;
        }
        if defect == Defect::None {
            all = read(&path)?;
        }
        Ok(Self { path, defect, all })
    }

    /// A phrase. The defect reads and parses the whole file for it.
    ///
    /// # Errors
    /// The file cannot be read; there is no such phrase.
    pub fn phrase(&self, number: u32) -> Result<Value, Refusal> {
        let key = key(number);
        let text = if self.defect == Defect::ParsePerRequest {
            read(&self.path)?.remove(&key)
        } else {
            self.all.get(&key).cloned()
        };
        Ok(json!({"phrase": number, "text": text.ok_or(Refusal::Missing)?}))
    }
}

fn key(number: u32) -> String {
    format!("shop.page{}.line{number}", number % 40)
}

fn read(path: &Path) -> io::Result<BTreeMap<String, String>> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_for_each_phrase_only_with_the_defect() {
        for (defect, is_read) in [(Defect::None, false), (Defect::ParsePerRequest, true)] {
            let folder = tempfile::tempdir().unwrap();
            let phrases = Phrases::open(&folder.path().join("views.sqlite3"), defect).unwrap();
            let text = "Tea of the season, number 7, in a box of ten";
            assert_eq!(phrases.phrase(7).unwrap()["text"], text, "{defect:?}");
            assert!(matches!(phrases.phrase(PHRASES), Err(Refusal::Missing)), "{defect:?}");
            fs::remove_file(&phrases.path).unwrap();
            assert_eq!(phrases.phrase(7).is_err(), is_read, "{defect:?}");
        }
    }
}

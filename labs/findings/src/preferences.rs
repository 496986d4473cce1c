//! Preferences of members, in memory and in a file beside that of SQLite.
//!
//! Does not use the stores, and does not parse HTTP. Does not read the file: it begins with each start of the shop.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::defect::Defect;
use crate::refusal::Refusal;

/// Members that have preferences.
const MEMBERS: u32 = 16_000;

/// What a member prefers.
#[derive(Serialize)]
struct Preference {
    language: &'static str,
    currency: &'static str,
    mails: &'static str,
    address: String,
    /// How often they were changed.
    changes: u32,
}

/// The preferences and their file.
pub struct Preferences {
    path: PathBuf,
    defect: Defect,
    all: Mutex<BTreeMap<u32, Preference>>,
}

impl Preferences {
    /// Preferences whose file is beside this one.
    pub fn new(views: &Path, defect: Defect) -> Arc<Self> {
        let one = |member: u32| Preference {
            language: "en",
            currency: "EUR",
            mails: "what is new, once a week, and never on a Sunday",
            address: format!("member{member}@shop.test, {member} Long Street, a town by the sea"),
            changes: 0,
        };
        let all = (0..MEMBERS).map(|member| (member, one(member))).collect();
        let path = views.with_file_name("preferences.json");
        Arc::new(Self { path, defect, all: Mutex::new(all) })
    }

    /// Changes the preferences of a member. Returns when the file has them.
    ///
    /// # Errors
    /// There is no such member; the file cannot be written.
    pub async fn change(self: Arc<Self>, member: u32) -> Result<(), Refusal> {
        let changed = tokio::task::spawn_blocking(move || self.change_now(member)).await;
        changed.unwrap_or_else(|error| Err(io::Error::other(error).into()))
    }

    /// A healthy shop appends a line for the change; the defect writes all preferences again.
    fn change_now(&self, member: u32) -> Result<(), Refusal> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let one = all.get_mut(&member).ok_or(Refusal::Missing)?;
        one.changes += 1;
        if self.defect == Defect::FilePerChange {
            let text = serde_json::to_vec(&*all).map_err(io::Error::from)?;
            return Ok(fs::write(&self.path, text)?);
        }
        let mut line = serde_json::to_vec(&(member, &*one)).map_err(io::Error::from)?;
        line.push(b'\n');
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        Ok(file.write_all(&line)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_change_writes_a_line_and_all_preferences_with_the_defect() {
        for (defect, lines, is_whole) in [(Defect::None, 3, false), (Defect::FilePerChange, 1, true)] {
            let folder = tempfile::tempdir().unwrap();
            let preferences = Preferences::new(&folder.path().join("views.sqlite3"), defect);
            for member in [7, 8, 7] {
                Arc::clone(&preferences).change(member).await.unwrap();
            }
            let text = fs::read_to_string(folder.path().join("preferences.json")).unwrap();
            assert_eq!(text.lines().count(), lines, "{defect:?}");
            assert_eq!(text.len() > 1 << 20, is_whole, "{defect:?}: {} bytes", text.len());
            // Both have the last change.
            assert!(text.contains(r#""changes":2"#), "{defect:?}");
            let stranger = Arc::clone(&preferences).change(MEMBERS).await;
            assert!(matches!(stranger, Err(Refusal::Missing)), "{stranger:?}");
        }
    }
}

//! The expected hash of each module from the network, for the scripts of one folder.
//!
//! ```text
//! # Modules that scripts of this folder import over https, and their hashes. Written by knee.
//! https://jslib.k6.io/ajv/6.12.5/index.js sha256:ba7816bf…
//! ```
//!
//! One line per module, sorted, so that two people's changes merge. Fetches nothing, and does not choose
//! where the file is: [`super::remote`] does.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::cache::replace;
use super::hash::Hash;
use super::trouble::Trouble;

/// The name of the file beside a script, which knee updates and never creates.
pub const NAME: &str = "knee.lock";
/// Its first line.
const HEAD: &str =
    "# Modules that scripts of this folder import over https, and their hashes. Written by knee.\n";

/// A lock in memory.
#[derive(Debug, Default)]
pub struct Lock {
    hashes: BTreeMap<String, Hash>,
    changed: bool,
}

impl Lock {
    /// Reads a lock; an empty one if there is no file.
    pub fn read(path: &Path) -> Result<Self, Trouble> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(Trouble::new(format!("{} cannot be read: {error}", path.display()), ""));
            }
        };
        let mut hashes = BTreeMap::new();
        for (number, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parts = line.split_once(' ').and_then(|(url, hash)| Some((url, hash.trim().parse().ok()?)));
            let Some((url, hash)) = parts else {
                let what = format!("{} line {}: `{line}` is no URL and hash", path.display(), number + 1);
                return Err(Trouble::new(what, "correct the line or delete it; knee writes it again"));
            };
            hashes.insert(url.to_owned(), hash);
        }
        Ok(Self { hashes, changed: false })
    }

    /// The expected hash of a module.
    pub fn hash(&self, url: &str) -> Option<Hash> {
        self.hashes.get(url).copied()
    }

    /// Sets the expected hash of a module.
    pub fn add(&mut self, url: &str, hash: Hash) {
        if self.hashes.insert(url.to_owned(), hash) != Some(hash) {
            self.changed = true;
        }
    }

    /// Whether it must be written.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = HEAD.to_owned();
        for (url, hash) in &self.hashes {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{url} {hash}");
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        replace(path, text.as_bytes())
    }
}

//! Folders for what a command makes.
//!
//! Does not know what is in them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// A folder without anything in it: removes what an earlier command left.
pub fn emptied(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

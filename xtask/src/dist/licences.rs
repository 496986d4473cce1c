//! The licences of the libraries that are in the program, with their texts: what must travel with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::{Release, packages};

/// How the names of files with licences begin.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"];

/// The list of libraries, and each text once with the libraries that it is of.
pub fn text(release: &Release) -> Result<String> {
    let packages = packages::of_others(release)?;
    let mut list = String::new();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in &packages {
        let label = format!("{} {}", package.name, package.version);
        let licence = package.license.as_deref().unwrap_or("see its text");
        writeln!(list, "{label}: {licence}")?;
        if let Some(folder) = package.manifest_path.parent() {
            for text in of_folder(folder.as_std_path())? {
                texts.entry(text).or_default().push(label.clone());
            }
        }
    }
    let mut page = format!("knee contains these {} libraries:\n\n{list}", packages.len());
    for (text, labels) in &texts {
        write!(page, "\n{}\n{}\n\n{}\n", "=".repeat(80), labels.join(", "), text.trim_end())?;
    }
    Ok(page)
}

fn of_folder(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if entry.file_type()?.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            found.push(String::from_utf8_lossy(&fs::read(entry.path())?).into_owned());
        }
    }
    Ok(found)
}

//! A list of what is in the program, for programs that check it: `CycloneDX` 1.5.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use super::{Release, packages};

/// Makes the list.
pub fn make(release: &Release) -> Result<PathBuf> {
    let packages = packages::of_others(release)?;
    let components: Vec<Value> = packages
        .iter()
        .map(|package| {
            let licences: Vec<Value> = package
                .license
                .iter()
                .map(|licence| json!({ "expression": licence.replace('/', " OR ") }))
                .collect();
            let purl = format!("pkg:cargo/{}@{}", package.name, package.version);
            json!({
                "type": "library",
                "bom-ref": purl,
                "name": package.name,
                "version": package.version.to_string(),
                "purl": purl,
                "licenses": licences,
            })
        })
        .collect();
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "knee", "version": release.version } },
        "components": components,
    });
    let path = release.folder.join(format!("knee-{}.cdx.json", release.version));
    fs::write(&path, serde_json::to_string_pretty(&document)? + "\n")?;
    Ok(path)
}

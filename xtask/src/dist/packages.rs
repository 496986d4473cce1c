//! The libraries that are in the program.
//!
//! Those of the build alone and of tests are not in it. Does not read their licences.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand, Package, PackageId};

use super::Release;
use super::platform::PLATFORMS;

/// All packages of others that the program of any platform contains, by name and version.
pub fn of_others(release: &Release) -> Result<Vec<Package>> {
    let mut found = BTreeMap::new();
    for platform in &PLATFORMS {
        let options = ["--locked".to_owned(), format!("--filter-platform={}", platform.target)];
        let metadata = MetadataCommand::new().current_dir(&release.root).other_options(options).exec()?;
        let nodes = &metadata.resolve.as_ref().context("cargo resolved no dependencies")?.nodes;
        let own =
            metadata.packages.iter().find(|package| package.name == "knee").context("there is no knee")?;
        let mut seen: BTreeSet<&PackageId> = BTreeSet::new();
        let mut open = vec![&own.id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let Some(node) = nodes.iter().find(|node| node.id == *id) else { continue };
            let normal = node.deps.iter().filter(|dependency| {
                dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
            });
            open.extend(normal.map(|dependency| &dependency.pkg));
        }
        for package in metadata.packages.iter().filter(|package| seen.contains(&package.id)) {
            // Those of the workspace have no source.
            if package.source.is_some() {
                found.insert((package.name.to_string(), package.version.to_string()), package.clone());
            }
        }
    }
    Ok(found.into_values().collect())
}

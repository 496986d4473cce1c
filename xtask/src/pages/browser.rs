//! What opens the pages: node, Playwright and axe-core from npm, a Chromium that is there, and a Firefox if there is
//! one.
//!
//! The scripts are in `xtask/pages`; does not know what they look for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::said;
use crate::folder::emptied;
use crate::program;

/// Chromium by its names in distributions.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Firefox by its names in distributions.
const FIREFOX: [&str; 2] = ["firefox-esr", "firefox"];

/// What the scripts take from npm.
const PACKAGES: [&str; 2] = ["package.json", "package-lock.json"];

/// The scripts.
const SCRIPTS: [&str; 7] =
    ["check.mjs", "firefox.mjs", "look.mjs", "measure.mjs", "served.mjs", "sound.mjs", "stop.mjs"];

/// A browser with the scripts that steer it.
pub struct Browser {
    chromium: PathBuf,
    firefox: Option<PathBuf>,
    scripts: PathBuf,
    pictures: PathBuf,
}

impl Browser {
    /// The browser of this machine; what steers it is installed below `target/tools`.
    pub fn get(root: &Path, folder: &Path) -> Result<Self> {
        let found = NAMES.iter().find_map(|name| on_path(name));
        let chromium = found.context("there is no chromium\n\nhint: install the package `chromium`")?;
        let scripts = program::target(root)?.join("tools").join("pages");
        fs::create_dir_all(&scripts)?;
        let from = root.join("xtask/pages");
        for name in SCRIPTS {
            fs::copy(from.join(name), scripts.join(name)).with_context(|| format!("cannot copy {name}"))?;
        }
        let is_same = PACKAGES.iter().all(|name| is_same(&from.join(name), &scripts.join(name)));
        if !is_same || !scripts.join("node_modules").exists() {
            for name in PACKAGES {
                fs::copy(from.join(name), scripts.join(name))
                    .with_context(|| format!("cannot copy {name}"))?;
            }
            let mut npm = Command::new("npm");
            npm.args(["ci", "--no-fund", "--no-audit", "--ignore-scripts"]).current_dir(&scripts);
            said(&mut npm).context(
                "npm cannot install what opens the pages\n\nhint: it needs node, npm and, once, the network",
            )?;
        }
        let pictures = folder.join("pictures");
        emptied(&pictures)?;
        let firefox = FIREFOX.iter().find_map(|name| on_path(name));
        Ok(Self { chromium, firefox, scripts, pictures })
    }

    /// Proves that the checks find faults: what finds nothing wrong with a page that is all wrong would prove nothing.
    pub fn is_sound(&self) -> Result<()> {
        if self.firefox.is_none() {
            println!("pages: Firefox is left out: install the package `firefox-esr`");
        }
        said(self.script("sound.mjs").arg(&self.scripts)).map(drop)
    }

    /// Opens all pages of a folder, if one is given, and these URLs, each as `NAME=URL`; prints what is wrong, and returns
    /// whether nothing is.
    ///
    /// Loads that are started from a page go to `target`.
    pub fn check(&self, pages: Option<&Path>, urls: &[String], target: &str) -> Result<bool> {
        let pages = pages.unwrap_or_else(|| Path::new("-"));
        let mut check = self.script("check.mjs");
        check.arg(pages).arg(&self.pictures).args(urls).env("KNEE_TARGET", target);
        let is_well = check.status()?.success();
        println!("pages: pictures are in {}", self.pictures.display());
        if self.firefox.is_none() {
            return Ok(is_well);
        }
        Ok(self.script("firefox.mjs").arg(pages).args(urls).status()?.success() && is_well)
    }

    /// Measures the pages of a folder and a live page; returns JSON.
    pub fn measure(&self, pages: &Path, live: &str) -> Result<String> {
        said(self.script("measure.mjs").arg(pages).arg(live))
    }

    /// Stops a load on its live page; returns when, in seconds since 1970.
    pub fn stop(&self, live: &str) -> Result<String> {
        said(self.script("stop.mjs").arg(live))
    }

    fn script(&self, name: &str) -> Command {
        let mut node = Command::new("node");
        node.arg(self.scripts.join(name)).env("KNEE_CHROMIUM", &self.chromium);
        if let Some(firefox) = &self.firefox {
            node.env("KNEE_FIREFOX", firefox);
        }
        node
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

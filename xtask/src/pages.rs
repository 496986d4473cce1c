//! `cargo xtask pages`: every page of knee in a browser, below `target/pages`.
//!
//! Has `knee` make a page of each kind, among them those with hostile names, many endpoints and an overload, serves
//! what was saved and loads that go on, and has Chromium open all of them at four widths in light and dark: axe-core
//! judges them, the keyboard does what people do, and a picture of each is kept to be looked at. Firefox opens them too,
//! if there is one. With `--measure` it measures instead. Needs node, npm and chromium, and the network once. Compares
//! no pictures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::program::{self, Knee};

mod browser;
mod cost;
mod day;
mod make;
mod stop;

use browser::Browser;
use make::Workshop;

/// What `cargo xtask pages` takes.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Pages of this build in place of the release build of this tree
    #[arg(long)]
    knee: Option<PathBuf>,
    /// Measure sizes, times, memory and what watchers cost in place of looking for faults; wants a release build
    #[arg(long)]
    measure: bool,
    /// Pages to make and to look at; all of them if none is named
    names: Vec<String>,
}

/// Makes the pages and looks at them; fails if something is wrong with one.
pub fn run(root: &Path, options: Options) -> Result<()> {
    let folder = program::target(root)?.join("pages");
    let browser = Browser::get(root, &folder)?;
    let knee = Knee::get(root, options.knee)?.path().canonicalize()?;
    let workshop = Workshop::open(root, knee.clone(), &folder)?;
    workshop.make(&options.names)?;
    if options.measure {
        return measure(&knee, &workshop, &browser, &folder);
    }
    browser.is_sound()?;
    let saved_are_well = browser.check(Some(&workshop.pages()), &[], workshop.url())?;
    // Loads that go on end at some time, and are in the way until then: they begin when the saved pages were seen.
    let served = workshop.served(&options.names)?;
    let urls: Vec<String> = served.iter().map(|(name, url, _)| format!("{name}={url}")).collect();
    let served_are_well = urls.is_empty() || browser.check(None, &urls, workshop.url())?;
    ensure!(saved_are_well && served_are_well, "something is wrong with the pages");
    Ok(())
}

/// Measures what BENCHMARKS.md says of pages.
fn measure(knee: &Path, workshop: &Workshop, browser: &Browser, folder: &Path) -> Result<()> {
    let record = folder.join("day.knee");
    day::write(&workshop.record()?, &record, day::DAY_S)?;
    day::measure(knee, &record, &workshop.pages().join("day.html"))?;
    fs::remove_file(&record)?;
    stop::measure(workshop, browser)?;
    let live = workshop.served(&["live".to_owned()])?;
    let url = &live.first().context("a load that goes on has a page")?.1;
    println!("{}", browser.measure(&workshop.pages(), url)?);
    cost::measure(knee)
}

/// Runs a command to its end; an error has what it said.
fn said(command: &mut Command) -> Result<String> {
    let name = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {name}"))?;
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    ensure!(output.status.success(), "{name} ended with {}:\n{said}", output.status);
    Ok(said)
}

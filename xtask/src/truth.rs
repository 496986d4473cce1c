//! `cargo xtask truth`: what `knee` says against what is true, with real processes.
//!
//! Each oracle is an experiment whose result is known beforehand: from arithmetic, from theory, or from
//! what the server itself counted. The long form takes more than an hour, most of it for 200 comparisons of a service with itself, the short one some minutes;
//! it asks the same with fewer requests. Does not look inside `knee`: it runs the program that
//! users have and reads its JSON.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::json;

use crate::process;
use crate::program::Knee;

mod alike;
pub mod delay;
mod instrument;
pub mod law;
mod queue;
pub mod row;
pub mod server;
pub mod stall;
mod statement;
mod sweep;

use row::Row;

/// What was asked for.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Fewer requests and repetitions: some minutes in place of more than an hour
    #[arg(long)]
    short: bool,
    /// Try this build in place of the release build of this tree
    #[arg(long, value_name = "PROGRAM")]
    knee: Option<PathBuf>,
    /// Ask one of them: stall, delay, bimodal, queue, pause, hog, overload, limits, repeat, alike, planted or
    /// errors
    #[arg(long, value_name = "ORACLE")]
    only: Option<String>,
}

/// Where oracles are asked.
pub struct Laboratory {
    /// The program under test.
    pub knee: Knee,
    /// The folder of the project.
    pub root: PathBuf,
    /// Whether the short form was asked for.
    pub short: bool,
}

impl Laboratory {
    /// What belongs to the form that was asked for.
    pub fn pick<T>(&self, long: T, short: T) -> T {
        if self.short { short } else { long }
    }
}

/// Runs one oracle.
type Oracle = fn(&Laboratory) -> Result<Vec<Row>>;

const ORACLES: [(&str, Oracle); 12] = [
    ("stall", stall::run),
    ("delay", delay::fixed),
    ("bimodal", delay::bimodal),
    ("queue", queue::run),
    ("pause", instrument::pause),
    ("hog", instrument::hog),
    ("overload", instrument::overload),
    ("limits", sweep::limits),
    ("repeat", sweep::repeat),
    ("alike", alike::alike),
    ("planted", alike::planted),
    ("errors", alike::errors),
];

/// Asks all oracles, prints a table and one line of JSON, and fails if one contradicts.
pub fn run(root: &Path, options: Options) -> Result<()> {
    let Options { short, knee, only } = options;
    let laboratory = Laboratory { knee: Knee::get(root, knee)?, root: root.to_owned(), short };
    if process::cpus() < 2 {
        eprintln!("truth: one CPU only: generator and server share it, and limits might not be kept");
    }
    let begun = Instant::now();
    let mut rows = Vec::new();
    let asked = |name: &str| only.as_deref().is_none_or(|only| name == only);
    for (name, oracle) in ORACLES.iter().filter(|(name, _)| asked(name)) {
        eprintln!("truth: {name} ({:.0} s)", begun.elapsed().as_secs_f64());
        rows.extend(oracle(&laboratory)?);
    }
    let seconds = begun.elapsed().as_secs_f64().round();
    println!("{}", row::table(&rows));
    println!("{}", json!({ "truth": rows, "short": short, "seconds": seconds }));
    judge(&rows)
}

/// Fails if a comparison does not hold.
fn judge(rows: &[Row]) -> Result<()> {
    let failed: Vec<&Row> = rows.iter().filter(|row| row.pass == Some(false)).collect();
    let owned =
        failed.iter().filter(|row| row.verdict.starts_with("suspect") || row.verdict.starts_with("invalid"));
    match (failed.len(), owned.count()) {
        (0, _) => Ok(()),
        (failed, owned) => bail!(
            "{failed} of {} comparisons do not hold; {owned} of them are results that knee itself \
             calls suspect or invalid: ask again on a quiet machine",
            rows.len()
        ),
    }
}

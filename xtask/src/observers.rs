//! `cargo xtask observers`: what observers cost the service and the stores that they watch, and the load generator.
//!
//! The shop of `labs/findings` is up without a defect, on a CPU of its own. The same load is sent with all observers and
//! without them, alternately. Prints a table, and asserts nothing: the figures are for BENCHMARKS.md.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::paired;
use crate::process;
use crate::program::{self, Knee, Measured, words};

mod cpu_time;
mod shop;

use shop::Shop;

/// What was asked for.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Pairs of a run with observers and a run without
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(3..=200))]
    blocks: u32,
    /// Length of each run in seconds
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(5..=120))]
    seconds: u32,
    /// Requests per second: the CPU of the shop must have room
    #[arg(long, default_value_t = 1_000)]
    rate: u32,
    /// Measure this build in place of the release build of this tree
    #[arg(long, value_name = "PROGRAM")]
    knee: Option<PathBuf>,
}

/// Fewest requests of a run: a 99th percentile needs them.
const REQUESTS_MIN: u64 = 10_000;

/// What one run cost.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// CPU time of service and stores per request, in microseconds.
    cpu_us: f64,
    /// Lag of the generator at the 99th percentile, in microseconds.
    lag_us: f64,
}

/// Loads the shop alternately with and without observers, and prints the table.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    ensure!(process::cpus() >= 2, "the generator and the shop need a CPU each");
    ensure!(
        u64::from(options.rate) * u64::from(options.seconds) >= REQUESTS_MIN,
        "a run needs {REQUESTS_MIN} requests: raise --rate or --seconds"
    );
    let knee = Knee::get(root, options.knee.clone())?;
    program::lab(root, "findings")?;
    let shop = Shop::up(root, knee.path())?;
    // Fills caches and the pool.
    look(&knee, &shop, options, false)?;
    let mut pairs = Vec::new();
    for block in 0..options.blocks {
        // Which comes first alternates, so that a drift of the machine costs both alike.
        let first = look(&knee, &shop, options, block % 2 == 0)?;
        let second = look(&knee, &shop, options, block % 2 == 1)?;
        let (with, without) = if block % 2 == 0 { (first, second) } else { (second, first) };
        eprintln!(
            "block {}: {:.1} us of CPU time per request with observers, {:.1} us without",
            block + 1,
            with.cpu_us,
            without.cpu_us
        );
        pairs.push((with, without));
    }
    print(&pairs, options);
    Ok(())
}

/// One run, and what it cost.
fn look(knee: &Knee, shop: &Shop, options: &Options, observed: bool) -> Result<Cost> {
    let mut arguments = words(&format!("-q {} -z {}s -c 50 --warm-up 1s", options.rate, options.seconds));
    arguments.push(format!("{}/notes/17", shop.service()));
    if observed {
        arguments.extend(shop.sources().iter().flat_map(|source| ["--observe".to_owned(), source.clone()]));
    }
    let before = cpu_time::of_tree(shop.pid());
    let measured: Measured = knee.measure(&arguments)?;
    let after = cpu_time::of_tree(shop.pid());
    let requests = measured.count("/requests/ok")?;
    ensure!(requests > 0, "no request of the shop was answered");
    Ok(Cost {
        cpu_us: after.saturating_sub(before).as_secs_f64() * 1e6 / requests as f64,
        lag_us: measured.figure("/generator_lag_ms/p99")? * 1e3,
    })
}

fn print(pairs: &[(Cost, Cost)], options: &Options) {
    let (low, mean, high) = paired::change(pairs.iter().map(|(with, without)| (with.cpu_us, without.cpu_us)));
    let delays: Vec<f64> = pairs.iter().map(|(with, without)| with.lag_us - without.lag_us).collect();
    let (lag_low, lag_mean, lag_high) = paired::interval(&delays);
    println!(
        "All observers (machine, process, PostgreSQL, Redis, SQLite) against none: {} blocks of {} s at {}/s",
        options.blocks, options.seconds, options.rate
    );
    println!("| figure | measured (95 % CI) |\n|---|---|");
    println!("| CPU time of service and stores per request | {mean:+.1} % ({low:+.1} to {high:+.1}) |");
    println!("| lag of the generator, p99 | {lag_mean:+.0} us ({lag_low:+.0} to {lag_high:+.0}) |");
}

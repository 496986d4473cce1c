//! `cargo xtask observers`: what observers cost the service and the stores that they watch, and the load generator.
//!
//! The shop of `labs/findings` is up without a defect, on a CPU of its own. Its CPU time is measured while one load goes on
//! and observers come and go beside it, so that nothing else differs. The lag of a generator that observes is compared in
//! pairs of loads. Prints a table, and asserts nothing: the figures are for BENCHMARKS.md.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::paired;
use crate::process;
use crate::program::{self, Knee, words};

mod cpu_time;
mod shop;

use shop::Shop;

/// What was asked for.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Pairs of a time with observers and a time without
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(3..=200))]
    blocks: u32,
    /// Length of each time in seconds
    #[arg(long, default_value_t = 14, value_parser = clap::value_parser!(u32).range(9..=124))]
    seconds: u32,
    /// Requests per second: the CPU of the shop must have room
    #[arg(long, default_value_t = 1_000)]
    rate: u32,
    /// Only this figure
    #[arg(long, value_enum)]
    only: Option<Figure>,
    /// Measure this build in place of the release build of this tree
    #[arg(long, value_name = "PROGRAM")]
    knee: Option<PathBuf>,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Figure {
    /// CPU time of service and stores per request
    Cpu,
    /// Lag of the generator at the 99th percentile
    Lag,
}

/// Fewest requests of a time: a 99th percentile needs them.
const REQUESTS_MIN: u64 = 10_000;

/// Seconds until observers have begun, and before they end: the first looks at a database cost more, once.
const EDGE: u32 = 2;

/// Seconds that a program can take longer than it was asked for.
const SLACK: u32 = 1;

/// Seconds between two looks at what is read seldom: tables, statements, plans. A time has whole rounds of them.
const ROUND: u32 = 5;

/// Measures, and prints the table.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    ensure!(process::cpus() >= 2, "the generator and the shop need a CPU each");
    ensure!(
        u64::from(options.rate) * u64::from(options.seconds) >= REQUESTS_MIN,
        "a time needs {REQUESTS_MIN} requests: raise --rate or --seconds"
    );
    ensure!(
        (options.seconds - 2 * EDGE).is_multiple_of(ROUND),
        "--seconds is {} and a multiple of {ROUND}: observers look at some things every {ROUND} s",
        2 * EDGE
    );
    let knee = Knee::get(root, options.knee.clone())?;
    program::lab(root, "findings")?;
    let shop = Shop::up(root, knee.path())?;
    println!(
        "All observers (machine, process, PostgreSQL, Redis, SQLite) against none: {} blocks of {} s at {}/s",
        options.blocks, options.seconds, options.rate
    );
    println!("| figure | measured (95 % CI) |\n|---|---|");
    if options.only != Some(Figure::Lag) {
        let (low, mean, high) = paired::change(cpu_times(&knee, &shop, options)?.into_iter());
        println!("| CPU time of service and stores per request | {mean:+.1} % ({low:+.1} to {high:+.1}) |");
    }
    if options.only != Some(Figure::Cpu) {
        let (low, mean, high) = paired::interval(&lags(&knee, &shop, options)?);
        println!("| lag of the generator, p99 | {mean:+.0} us ({low:+.0} to {high:+.0}) |");
    }
    Ok(())
}

/// Which of a block comes first alternates, so that a drift of the machine costs both alike.
fn block<T>(number: u32, mut of: impl FnMut(bool) -> Result<T>) -> Result<(T, T)> {
    let (first, second) = (of(number.is_multiple_of(2))?, of(!number.is_multiple_of(2))?);
    Ok(if number.is_multiple_of(2) { (first, second) } else { (second, first) })
}

/// Microseconds of CPU time of service and stores per request, with observers and without them, under one load. A
/// knee that observes, or does not, sends one request per second beside it.
fn cpu_times(knee: &Knee, shop: &Shop, options: &Options) -> Result<Vec<(f64, f64)>> {
    let all = 2 * options.blocks * (options.seconds + SLACK) + 2 * EDGE;
    let mut load = knee.start(&load(options.rate, all, shop))?;
    thread::sleep(Duration::from_secs(EDGE.into()));
    let mut pairs = Vec::new();
    for number in 0..options.blocks {
        let (with, without) = block(number, |observed| {
            let mut arguments =
                words(&format!("-q 1 -z {}s -c 1 {}/notes/17", options.seconds, shop.service()));
            arguments.extend(observers(shop, observed));
            let mut beside = knee.beside(&arguments)?;
            thread::sleep(Duration::from_secs(EDGE.into()));
            let before = cpu_time::of_tree(shop.pid());
            let inner = options.seconds - 2 * EDGE;
            thread::sleep(Duration::from_secs(inner.into()));
            let used = cpu_time::of_tree(shop.pid()).saturating_sub(before);
            ensure!(beside.is_running()?, "what observes ended before its time");
            beside.end()?;
            Ok(used.as_secs_f64() * 1e6 / f64::from(inner * options.rate))
        })?;
        eprintln!(
            "block {}: {with:.1} us of CPU time per request with observers, {without:.1} us without",
            number + 1
        );
        pairs.push((with, without));
    }
    ensure!(load.child().try_wait()?.is_none(), "the load ended before the last block");
    let answered = knee.result(load)?.count("/requests/ok")?;
    let planned = u64::from(all * options.rate);
    ensure!(answered * 100 >= planned * 99, "{answered} of {planned} requests were answered OK");
    Ok(pairs)
}

/// By how many microseconds the lag of a generator that observes is longer.
fn lags(knee: &Knee, shop: &Shop, options: &Options) -> Result<Vec<f64>> {
    let mut longer = Vec::new();
    // Fills caches and the pool.
    knee.measure(&load(options.rate, options.seconds, shop))?;
    for number in 0..options.blocks {
        let (with, without) = block(number, |observed| {
            let mut arguments = load(options.rate, options.seconds, shop);
            arguments.extend(observers(shop, observed));
            Ok(knee.measure(&arguments)?.figure("/generator_lag_ms/p99")? * 1e3)
        })?;
        eprintln!("block {}: lag {with:.0} us with observers, {without:.0} us without", number + 1);
        longer.push(with - without);
    }
    Ok(longer)
}

fn load(rate: u32, seconds: u32, shop: &Shop) -> Vec<String> {
    words(&format!("-q {rate} -z {seconds}s -c 50 --warm-up 1s {}/notes/17", shop.service()))
}

/// The flags of all observers, or none.
fn observers(shop: &Shop, observed: bool) -> Vec<String> {
    let sources = if observed { shop.sources() } else { Vec::new() };
    sources.into_iter().flat_map(|source| ["--observe".to_owned(), source]).collect()
}

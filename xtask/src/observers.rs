//! `cargo xtask observers`: what observers cost the service and the stores that they watch, and the load generator.
//!
//! The shop of `labs/findings` is up without a defect, on a CPU of its own. Its CPU time is measured while one load goes on
//! and all observers watch it, but are stopped for half of the time, so that nothing else differs. The lag of a generator
//! that observes is compared in pairs of loads. What a service pays that counts its SQLite for observers is measured without
//! the shop. Prints tables, and asserts nothing: the figures are for BENCHMARKS.md.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::paired;
use crate::process;
use crate::program::{self, Beside, Knee, words};

mod cpu_time;
mod shop;
mod sqlite;

use shop::Shop;

/// What was asked for.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Blocks of four windows of 6 s for the CPU time, two of them with observers
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(3..=200))]
    blocks: u32,
    /// Pairs of loads for the lag, and of laps for SQLite
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(3..=200))]
    pairs: u32,
    /// Length in seconds of a load whose lag is measured
    #[arg(long, default_value_t = 14, value_parser = clap::value_parser!(u32).range(5..=124))]
    seconds: u32,
    /// Requests per second: the CPU of the shop must have room
    #[arg(long, default_value_t = 2_000)]
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
    /// Time of a statement of SQLite that the library knee-sqlite counts
    Sqlite,
}

impl Options {
    /// Whether this figure is asked for.
    fn measures(&self, figure: Figure) -> bool {
        self.only.is_none_or(|only| only == figure)
    }
}

/// Fewest requests of a load: a 99th percentile needs them.
const REQUESTS_MIN: u64 = 10_000;

/// Seconds until the load is even.
const SETTLE: u32 = 5;

/// Seconds until observers have seen what they look at once: settings, columns, and the plans of ten statements.
const BEGIN: u32 = 30;

/// A window in seconds. The shop has work of its own every three seconds, so that windows need whole rounds of it, and
/// the machine's speed drifts within half a minute, so that they are short.
const WINDOW: u32 = 6;

/// Seconds until observers that go on have made up for their pause: everything is due at once then. In the 12 s from then
/// to the next pause, what is read every 5 s is read three times: a little more often than usual, and never less.
const RESUME: u32 = 4;

/// Seconds of a block: a window with observers, two without, one with. What changes evenly over a block cancels out.
const BLOCK: u32 = 4 * WINDOW + RESUME;

/// How long, and how often, the observers go on until no answer is under way when they are stopped.
const ANSWER: Duration = Duration::from_millis(7);
const ATTEMPTS: u32 = 200;

/// Seconds that the load goes on longer than the blocks take: waking up and reading `/proc` take time.
fn slack(blocks: u32) -> u32 {
    5 + blocks / 4
}

/// Measures, and prints the table.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    ensure!(process::cpus() >= 2, "the generator and the shop need a CPU each");
    ensure!(
        u64::from(options.rate) * u64::from(options.seconds) >= REQUESTS_MIN,
        "a load needs {REQUESTS_MIN} requests: raise --rate or --seconds"
    );
    if options.measures(Figure::Sqlite) {
        sqlite::print(root, options.pairs)?;
    }
    if options.only == Some(Figure::Sqlite) {
        return Ok(());
    }
    let knee = Knee::get(root, options.knee.clone())?;
    program::lab(root, "findings")?;
    let shop = Shop::up(root, knee.path())?;
    println!(
        "All observers (machine, process, PostgreSQL, Redis, SQLite) against none, at {} requests/s",
        options.rate
    );
    println!("| figure | measured |\n|---|---|");
    if options.measures(Figure::Cpu) {
        print_cost(&cpu_time_of_observers(&knee, &shop, options)?, options.rate);
    }
    if options.measures(Figure::Lag) {
        let (low, mean, high) = paired::interval(&lags(&knee, &shop, options)?);
        println!(
            "| lag of the generator at the 99th percentile, by observers | {mean:+.0} us \
             (95 % CI {low:+.0} to {high:+.0}, {} pairs) |",
            options.pairs
        );
    }
    Ok(())
}

/// What observers cost, as CPU time per second in milliseconds.
struct Cost {
    /// Of service and stores with observers and without, by block.
    pairs: Vec<(f64, f64)>,
    /// Of the observer's session in PostgreSQL, while it was not stopped.
    session: f64,
}

fn print_cost(cost: &Cost, rate: u32) {
    let (low, mean, high) = paired::change(cost.pairs.iter().copied());
    let blocks = cost.pairs.len();
    println!(
        "| CPU time of service and stores per request, by observers | {mean:+.1} % \
         (95 % CI {low:+.1} to {high:+.1}, {blocks} blocks) |"
    );
    let without = cost.pairs.iter().map(|(_, without)| without).sum::<f64>() / blocks as f64;
    let (session, share) = (cost.session, cost.session / without * 100.0);
    println!(
        "| of this, what the session of the observer in PostgreSQL uses itself | {session:.1} ms/s, {share:.1} % |"
    );
    println!("| CPU time per request without observers | {:.0} us |", without * 1e3 / f64::from(rate));
}

/// CPU time under one load, beside which all observers watch and are stopped for half of the time.
fn cpu_time_of_observers(knee: &Knee, shop: &Shop, options: &Options) -> Result<Cost> {
    let blocks = options.blocks * BLOCK + slack(options.blocks);
    let all = SETTLE + BEGIN + blocks;
    let mut load = knee.start(&load(options.rate, all, shop))?;
    thread::sleep(Duration::from_secs(SETTLE.into()));
    let before = shop.backends();
    let mut arguments = words(&format!("-q 1 -z {}s -c 1 {}/notes/17", BEGIN + blocks, shop.service()));
    arguments.extend(observers(shop, true));
    let mut beside = knee.beside(&arguments)?;
    thread::sleep(Duration::from_secs(BEGIN.into()));
    let new: Vec<u32> = shop.backends().difference(&before).copied().collect();
    let [session] = new[..] else { bail!("the observer has one session in PostgreSQL, not {}", new.len()) };
    let mut cost = Cost { pairs: Vec::new(), session: 0.0 };
    for number in 1..=options.blocks {
        let (pair, of_session) = block(shop, &beside, session)?;
        eprintln!("block {number}: {:.1} ms/s with observers, {:.1} ms/s without", pair.0, pair.1);
        ensure!(shop.backends().contains(&session), "the observer lost its session: measure again");
        cost.pairs.push(pair);
        cost.session += of_session / f64::from(options.blocks);
    }
    ensure!(beside.is_running()?, "what observes ended before its time");
    ensure!(load.child().try_wait()?.is_none(), "the load ended before the last block");
    beside.end()?;
    let answered = knee.result(load)?.count("/requests/ok")?;
    let planned = u64::from(all) * u64::from(options.rate);
    ensure!(answered * 100 >= planned * 99, "{answered} of {planned} requests were answered OK");
    Ok(cost)
}

/// CPU time of the shop in milliseconds per second, with observers and without, and that of their session.
fn block(shop: &Shop, beside: &Beside, session: u32) -> Result<((f64, f64), f64)> {
    let first = window(shop, session)?;
    pause(beside, session)?;
    let without = [window(shop, session)?, window(shop, session)?];
    beside.go_on()?;
    thread::sleep(Duration::from_secs(RESUME.into()));
    let last = window(shop, session)?;
    let pair = (f64::midpoint(first.0, last.0), f64::midpoint(without[0].0, without[1].0));
    Ok((pair, f64::midpoint(first.1, last.1)))
}

/// Stops the observers while their session has nothing to do: with an answer under way, they would take the server for
/// dead when they go on.
fn pause(beside: &Beside, session: u32) -> Result<()> {
    for _ in 0..ATTEMPTS {
        beside.pause()?;
        if shop::is_idle(session) {
            return Ok(());
        }
        beside.go_on()?;
        thread::sleep(ANSWER);
    }
    bail!("the session of the observer always has an answer under way")
}

/// CPU time of the shop and of a session in PostgreSQL in one window, in milliseconds per second.
fn window(shop: &Shop, session: u32) -> Result<(f64, f64)> {
    let (before, session_before, began) =
        (cpu_time::of_tree(shop.pid()), cpu_time::of_tree(session), Instant::now());
    thread::sleep(Duration::from_secs(WINDOW.into()));
    let (after, seconds) = (cpu_time::of_tree(shop.pid()), began.elapsed().as_secs_f64());
    let session_after = cpu_time::of_tree(session);
    let used = after.checked_sub(before).context("a thread of the shop ended: measure again")?;
    let per_second = |used: Duration| used.as_secs_f64() * 1e3 / seconds;
    Ok((per_second(used), per_second(session_after.saturating_sub(session_before))))
}

/// By how many microseconds the lag of a generator that observes is longer.
fn lags(knee: &Knee, shop: &Shop, options: &Options) -> Result<Vec<f64>> {
    let mut longer = Vec::new();
    // Fills caches and the pool.
    knee.measure(&load(options.rate, options.seconds, shop))?;
    for number in 0..options.pairs {
        let (with, without) = pair(number, |observed| {
            let mut arguments = load(options.rate, options.seconds, shop);
            arguments.extend(observers(shop, observed));
            Ok(knee.measure(&arguments)?.figure("/generator_lag_ms/p99")? * 1e3)
        })?;
        eprintln!("pair {}: lag {with:.0} us with observers, {without:.0} us without", number + 1);
        longer.push(with - without);
    }
    Ok(longer)
}

/// Which of a pair comes first alternates, so that a drift of the machine costs both alike.
fn pair<T>(number: u32, mut of: impl FnMut(bool) -> Result<T>) -> Result<(T, T)> {
    let (first, second) = (of(number.is_multiple_of(2))?, of(!number.is_multiple_of(2))?);
    Ok(if number.is_multiple_of(2) { (first, second) } else { (second, first) })
}

fn load(rate: u32, seconds: u32, shop: &Shop) -> Vec<String> {
    words(&format!("-q {rate} -z {seconds}s -c 50 --warm-up 1s {}/notes/17", shop.service()))
}

/// The flags of all observers, or none.
fn observers(shop: &Shop, observed: bool) -> Vec<String> {
    let sources = if observed { shop.sources() } else { Vec::new() };
    sources.into_iter().flat_map(|source| ["--observe".to_owned(), source]).collect()
}

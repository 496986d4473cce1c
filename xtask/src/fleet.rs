//! `cargo xtask fleet`: real fleets on this machine, in which something dies at a random moment.
//!
//! After each trial the figures must agree: what was planned is what was seen plus what is counted as lost, the target
//! saw what the record says, and `knee merge` over the copies gives the record byte for byte. A trial that hangs is a
//! failure. With `--checks`, all acceptance checks of fleets, on machines that are network namespaces. Needs nats-server.
//! Does not measure times of the service; the load is far below what any machine can do.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

mod broker;
mod checks;
mod counting;
mod lan;
mod proxy;
mod quota;
mod record;
mod trial;
mod world;

use trial::{Death, Verdict};

/// What dies, how often; or which checks.
#[derive(Args)]
pub struct Options {
    /// The program to try; built in release mode without one
    #[arg(long)]
    knee: Option<PathBuf>,
    /// Trials in which an agent is killed
    #[arg(long, default_value_t = 100)]
    agents: u32,
    /// Trials in which the controller is killed, and another one takes over
    #[arg(long, default_value_t = 50)]
    controllers: u32,
    /// Trials in which nats-server is killed and started again
    #[arg(long, default_value_t = 12)]
    servers: u32,
    /// Trials beside each other
    #[arg(long, default_value_t = 6)]
    beside: usize,
    /// Seed of the moments
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run the acceptance checks in network namespaces: all, or some of 1 to 12 and scene, as in `--checks 2,9`
    #[arg(long, value_name = "CHECKS", num_args = 0..=1, default_missing_value = "all")]
    checks: Option<String>,
    /// Simulated fleets of check 1
    #[arg(long, default_value_t = 10_000)]
    simulated: u64,
    /// Loads of check 10, each by five agents of which four have another clock
    #[arg(long, default_value_t = 25)]
    clocks: u32,
}

/// Runs all trials and prints a row for each kind; or the checks.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let (knee, mut added) = match &options.knee {
        Some(knee) => (knee.clone(), Vec::new()),
        None => (build(root)?, vec!["--knee".to_owned()]),
    };
    let knee = knee.canonicalize().with_context(|| format!("`{}`", knee.display()))?;
    if let Some(wanted) = &options.checks {
        if !added.is_empty() {
            added.push(knee.display().to_string());
        }
        let setting = checks::Setting { root, knee: &knee, options };
        return if lan::enter(&added)? { checks::run(&setting, wanted) } else { Ok(()) };
    }
    let found = Command::new("nats-server").arg("--version").output();
    let missing = found.is_err_and(|error| error.kind() == ErrorKind::NotFound);
    ensure!(!missing, "`nats-server` is not there\n\nhint: on Debian, apt-get install nats-server");
    println!("seed {}; a load of 8 s by 4 agents in each trial", options.seed);
    println!(
        "{:<12} {:>6} {:>6} {:>8} {:>8} {:>8}  failures",
        "killed", "trials", "held", "planned", "seen", "lost"
    );
    let mut failed = 0;
    for name in ["agent", "controller", "nats-server"] {
        failed += report(name, &try_deaths(&knee, name, options, false));
    }
    if failed > 0 {
        bail!("{failed} trials failed");
    }
    Ok(())
}

type Tried = Vec<(Death, Result<Verdict>)>;

/// All trials in which `name` is killed; on machines of their own if `separate`.
fn try_deaths(knee: &Path, name: &str, options: &Options, separate: bool) -> Tried {
    let count = match name {
        "agent" => options.agents,
        "controller" => options.controllers,
        _ => options.servers,
    };
    let mut random = StdRng::seed_from_u64(options.seed);
    let deaths = (0..count).map(|_| death(name, &mut random)).collect();
    trials(knee, separate, deaths, options.beside)
}

fn build(root: &Path) -> Result<PathBuf> {
    let built = Command::new("cargo")
        .args(["build", "--release", "--locked", "-p", "knee"])
        .current_dir(root)
        .status();
    ensure!(built.context("cargo")?.success(), "knee cannot be built");
    Ok(root.join("target/release/knee"))
}

/// A moment of the load, and who dies then.
fn death(name: &str, random: &mut StdRng) -> Death {
    let after = random.random_range(0.3..7.0);
    match name {
        "agent" => Death::Agent { number: random.random_range(1..=4), after },
        "controller" => Death::Controller { after, away: random.random_range(0.0..5.0) },
        _ => Death::Server { after, away: random.random_range(0.1..3.0) },
    }
}

fn trials(knee: &Path, separate: bool, deaths: Vec<Death>, beside: usize) -> Tried {
    let waiting = Mutex::new(deaths);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..beside.max(1) {
            scope.spawn(|| {
                loop {
                    let Some(death) = waiting.lock().ok().and_then(|mut deaths| deaths.pop()) else { return };
                    let verdict = trial::trial(knee, separate, &death);
                    if let Ok(mut done) = done.lock() {
                        done.push((death, verdict));
                    }
                }
            });
        }
    });
    done.into_inner().unwrap_or_default()
}

/// Prints a row; how many trials failed.
fn report(name: &str, verdicts: &[(Death, Result<Verdict>)]) -> usize {
    let good: Vec<&Verdict> = verdicts.iter().filter_map(|(_, verdict)| verdict.as_ref().ok()).collect();
    let sum = |of: fn(&Verdict) -> u64| good.iter().map(|verdict| of(verdict)).sum::<u64>();
    let failures = verdicts.len() - good.len();
    println!(
        "{name:<12} {:>6} {:>6} {:>8} {:>8} {:>8}  {failures}",
        verdicts.len(),
        good.len(),
        sum(|verdict| verdict.planned),
        sum(|verdict| verdict.seen),
        sum(|verdict| verdict.lost),
    );
    for (death, verdict) in verdicts {
        if let Err(error) = verdict {
            println!("  {death:?}: {error:#}");
        }
    }
    failures
}

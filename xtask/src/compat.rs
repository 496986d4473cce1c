//! `cargo xtask compat`: the same scripts under k6 and under `knee run`, against the same server.
//!
//! Side by side where k6 is on PATH; against what was recorded from it everywhere else (`--recorded`, as in
//! continuous integration). Does not look inside `knee`: it runs the program that users have.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::{process, program};

mod case;
mod console;
mod difference;
mod outcome;
mod page;
mod recorded;
mod run;
mod samples;
mod server;
mod surface;
mod times;
mod whole;
mod wire;

use case::Case;
use difference::{Difference, Known};
use outcome::Outcome;
use recorded::{Entry, Recorded};
use run::{Place, Program};
use surface::Surface;

/// How often k6 must give the same result before it is recorded. The order of k6's maps is random.
const RECORDINGS: usize = 4;

/// What was asked for.
#[derive(Debug, Default, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "one a flag")]
pub struct Options {
    /// Only cases whose name contains this
    filter: Option<String>,
    /// Compare with what was recorded from k6, which is not needed then
    #[arg(long, conflicts_with = "record")]
    recorded: bool,
    /// Record what comes of the cases under k6
    #[arg(long)]
    record: bool,
    /// Write the page in docs/reference and run nothing
    #[arg(long, conflicts_with_all = ["record", "recorded"])]
    page: bool,
    /// Compare when requests are sent, plan by plan, in this many rounds (the machine should do little else)
    #[arg(long, value_name = "ROUNDS", conflicts_with_all = ["record", "recorded", "page", "serve"])]
    times: Option<usize>,
    /// Compare whole scripts that are not of this repository: files, and folders of them
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["record", "recorded", "page", "times", "filter"])]
    scripts: Vec<PathBuf>,
    /// Serve on a port of the loopback for trying things by hand, and run nothing
    #[arg(long, conflicts_with_all = ["record", "recorded", "page"])]
    serve: bool,
    /// This k6 in place of the one on PATH
    #[arg(long, value_name = "PROGRAM", default_value = "k6")]
    k6: PathBuf,
    /// This build of knee in place of the debug build of this tree
    #[arg(long, value_name = "PROGRAM")]
    knee: Option<PathBuf>,
}

impl Options {
    /// What continuous integration asks for, of a program that is there already.
    pub fn recorded(knee: PathBuf) -> Self {
        Self { recorded: true, knee: Some(knee), ..Self::default() }
    }
}

/// Does what was asked for; fails if a difference is not explained.
pub fn run(root: &Path, options: Options) -> Result<()> {
    if options.serve {
        return serve();
    }
    // Programs run in folders of their own.
    let root = &root.canonicalize().context("the repository is not here")?;
    if let Some(rounds) = options.times {
        let knee = knee(root, options.knee)?;
        return times::run(root, &options.k6, &knee, rounds, options.filter.as_deref());
    }
    if !options.scripts.is_empty() {
        let knee = knee(root, options.knee)?;
        return whole::run(&options.scripts, options.k6, knee);
    }
    let cases = case::all(root)?;
    let (surface, known) = (Surface::read(root)?, difference::known(root)?);
    surface.check(&cases)?;
    check_known(&known, &cases)?;
    if options.record {
        return record(root, &cases, &options);
    }
    let recorded = Recorded::read(root)?;
    let text = page::render(&surface, &cases, &known, &recorded.k6);
    if options.page {
        return page::write(root, &text);
    }
    if options.recorded {
        page::check(root, &text)?;
    }
    compare(root, &cases, &known, &recorded, options)
}

/// Serves until the process is ended.
fn serve() -> Result<()> {
    let server = server::Server::start()?;
    println!("{}", server.base);
    loop {
        thread::park();
    }
}

/// Runs the cases under k6 and keeps what comes of them.
fn record(root: &Path, cases: &[Case], options: &Options) -> Result<()> {
    let k6 = Program::K6(options.k6.clone());
    let asked = selected(cases, options);
    let outcomes = each(&asked, |place, case| stable(place, &k6, case))?;
    let mut recorded = Recorded::read(root)?;
    recorded.k6 = version(&options.k6)?;
    recorded.cases.retain(|name, _| cases.iter().any(|case| case.name == *name));
    for (case, outcome) in asked.iter().zip(outcomes) {
        recorded.cases.insert(case.name.clone(), Entry { script: case.checksum.clone(), outcome });
    }
    recorded.write(root)?;
    println!("compat: {} cases recorded from k6 {}", asked.len(), recorded.k6);
    Ok(())
}

/// What comes of a case under k6, if that is the same every time.
fn stable(place: &Place, k6: &Program, case: &Case) -> Result<Outcome> {
    let outcome = place.run(k6, case)?;
    for _ in 1..RECORDINGS {
        let differences = difference::between(&outcome, &place.run(k6, case)?);
        if let Some(difference) = differences.first() {
            bail!("{} does not come out the same under k6 itself:\n{difference}", case.name);
        }
    }
    Ok(outcome)
}

/// Runs the cases and tells where they differ.
fn compare(
    root: &Path,
    cases: &[Case],
    known: &[Known],
    recorded: &Recorded,
    options: Options,
) -> Result<()> {
    let begun = Instant::now();
    let asked = selected(cases, &options);
    let knee = Program::Knee(knee(root, options.knee.clone())?);
    let k6 = Program::K6(options.k6);
    let found = each(&asked, |place, case| {
        let expected =
            if options.recorded { recorded.expected(case)?.clone() } else { place.run(&k6, case)? };
        Ok(difference::between(&expected, &place.run(&knee, case)?))
    })?;
    let mut wrong = 0;
    for (case, found) in asked.iter().zip(&found) {
        let (open, stale) = difference::unexplained(&case.name, found, known);
        wrong += usize::from(!open.is_empty() || !stale.is_empty());
        tell(case, &open, &stale);
    }
    let differing = found.iter().filter(|found| !found.is_empty()).count();
    println!(
        "compat: {} cases, {} the same, {} with explained differences only, {wrong} wrong, in {:.1} s",
        asked.len(),
        asked.len() - differing,
        differing.saturating_sub(wrong),
        begun.elapsed().as_secs_f64()
    );
    if wrong > 0 {
        bail!(
            "{wrong} cases with unexplained differences: correct knee, or explain them in {}",
            difference::FILE
        );
    }
    Ok(())
}

/// The build of knee that is compared.
fn knee(root: &Path, asked: Option<PathBuf>) -> Result<PathBuf> {
    match asked {
        // Each case is run in a folder of its own.
        Some(path) => path.canonicalize().with_context(|| format!("no {}", path.display())),
        None => program::debug_build(root),
    }
}

fn tell(case: &Case, open: &[Difference], stale: &[Known]) {
    if !open.is_empty() || !stale.is_empty() {
        println!("{}", case.name);
    }
    for difference in open {
        print!("{difference}");
    }
    for Known { part, why, .. } in stale {
        println!("  {part}: {} lists a difference that is not there: {why}", difference::FILE);
    }
}

fn selected<'a>(cases: &'a [Case], options: &Options) -> Vec<&'a Case> {
    let asked = |case: &&Case| options.filter.as_ref().is_none_or(|filter| case.name.contains(filter));
    cases.iter().filter(asked).collect()
}

/// A known difference is of a case that exists.
fn check_known(known: &[Known], cases: &[Case]) -> Result<()> {
    match known.iter().find(|known| !cases.iter().any(|case| case.name == known.case)) {
        Some(known) => bail!("{} names {}, which is no case", difference::FILE, known.case),
        None => Ok(()),
    }
}

/// Does `work` for each case, as many at a time as there are CPUs, each in a place of its own.
fn each<T: Send>(cases: &[&Case], work: impl Fn(&Place, &Case) -> Result<T> + Sync) -> Result<Vec<T>> {
    each_at(cases, Place::new, work)
}

/// The same in places of another kind.
fn each_at<T: Send>(
    cases: &[&Case],
    place: fn() -> Result<Place>,
    work: impl Fn(&Place, &Case) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::default();
    let places: Vec<Place> = (0..process::cpus()).map(|_| place()).collect::<Result<_>>()?;
    thread::scope(|scope| {
        for place in places {
            let (next, done, work) = (&next, &done, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { break };
                    let result = work(&place, case);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    let broken: Vec<String> =
        done.iter().filter_map(|(_, result)| Some(format!("{:#}", result.as_ref().err()?))).collect();
    if !broken.is_empty() {
        bail!("{}", broken.join("\n"));
    }
    done.into_iter().map(|(_, result)| result).collect()
}

/// `1.8.1` of `k6 v1.8.1 (go1.26.8, linux/amd64)`.
fn version(k6: &Path) -> Result<String> {
    let ran =
        Command::new(k6).arg("version").output().with_context(|| format!("cannot run {}", k6.display()))?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let word = text.split_whitespace().nth(1).context("k6 does not say its version")?;
    Ok(word.trim_start_matches('v').to_owned())
}

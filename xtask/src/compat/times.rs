//! `cargo xtask compat --times`: whether knee sends its requests when k6 does.
//!
//! Runs each plan of `compat/times.toml` under both programs in turn, several times, and compares, request by request, the
//! time since the scenario began at which the server got it. Does not compare what is sent; the cases do.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::server::{Request, Server};

/// Where plans and their script are, below the root of the repository.
const PLANS: &str = "compat/times.toml";
const SCRIPT: &str = "compat/times.js";

/// A difference up to this many milliseconds is none.
const NEAR: f64 = 5.0;

/// And neither is one of this many median deviations of k6 itself.
const DEVIATIONS: f64 = 3.0;

/// `compat/times.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    plan: Vec<TimedPlan>,
}

/// A scenario whose times are compared.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TimedPlan {
    name: String,
    /// Seconds an iteration sleeps after its request.
    pause: f64,
    /// The options of the scenario, as JSON.
    scenario: String,
    /// Compare only the first request of each VU: when it starts.
    #[serde(default)]
    starts: bool,
}

/// Times of one run, in milliseconds since the scenario began, ascending.
type Times = Vec<f64>;

/// What came of one plan.
#[derive(Debug, PartialEq)]
struct Comparison {
    k6: BTreeSet<usize>,
    knee: BTreeSet<usize>,
    /// The request with the largest difference beyond what is allowed, or the largest at all: index, difference and
    /// what is allowed, in milliseconds.
    worst: Option<(usize, f64, f64)>,
}

impl Comparison {
    fn is_alike(&self) -> bool {
        self.knee.is_subset(&self.k6)
            && self.worst.is_none_or(|(_, difference, allowed)| difference.abs() <= allowed)
    }
}

/// Runs all plans and prints a table; fails if a plan differs.
pub fn run(root: &Path, k6: &Path, knee: &Path, rounds: usize, filter: Option<&str>) -> Result<()> {
    ensure!(rounds > 0, "--times takes the number of rounds, from 1");
    let text = fs::read_to_string(root.join(PLANS)).with_context(|| format!("cannot read {PLANS}"))?;
    let plans: Document = toml::from_str(&text).with_context(|| format!("{PLANS} is no list of plans"))?;
    let server = Server::start()?;
    let mut different = 0;
    println!("{:<34} {:>8} {:>8} {:>24}  within", "plan", "k6", "knee", "worst difference (ms)");
    for plan in plans.plan.iter().filter(|plan| filter.is_none_or(|filter| plan.name.contains(filter))) {
        let (mut of_k6, mut of_knee) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            of_k6.push(once(root, &server, k6, &["--no-usage-report", "--address", ""], plan)?);
            of_knee.push(once(root, &server, knee, &[], plan)?);
        }
        let comparison = compare(&of_k6, &of_knee);
        different += usize::from(!comparison.is_alike());
        println!("{:<34} {}", plan.name, line(&comparison));
    }
    if different > 0 {
        bail!("{different} plans are not sent as by k6");
    }
    Ok(())
}

/// The times of one run.
fn once(root: &Path, server: &Server, program: &Path, words: &[&str], plan: &TimedPlan) -> Result<Times> {
    server.take();
    let status = Command::new(program)
        .args(["run", "--quiet"])
        .args(words)
        .arg(root.join(SCRIPT))
        .envs([("BASE", server.base.as_str()), ("PLAN", &plan.scenario), ("PAUSE", &plan.pause.to_string())])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("cannot run {}", program.display()))?;
    ensure!(status.success(), "{} ended with {status} in {}", program.display(), plan.name);
    times(&server.take(), plan.starts)
}

/// Milliseconds from the start of the scenario, which each request names, to its arrival.
fn times(requests: &[Request], starts: bool) -> Result<Times> {
    let mut vus = BTreeSet::new();
    let mut times = Vec::new();
    for request in requests {
        let began: f64 = request.argument("began").context("a request without `began`")?.parse()?;
        let arrived = request.arrived.context("a request without a time")?.duration_since(UNIX_EPOCH)?;
        if !starts || vus.insert(request.argument("vu")) {
            times.push(arrived.as_micros() as f64 / 1e3 - began);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// Compares the middle of each request's times over all rounds.
fn compare(k6: &[Times], knee: &[Times]) -> Comparison {
    let counts = |runs: &[Times]| runs.iter().map(Vec::len).collect::<BTreeSet<usize>>();
    let shortest = k6.iter().chain(knee).map(Vec::len).min().unwrap_or_default();
    let at = |runs: &[Times], index: usize| runs.iter().map(|run| run[index]).collect::<Vec<f64>>();
    let differences = (0..shortest).map(|index| {
        let own = at(k6, index);
        let middle = median(own.clone());
        let spread = median(own.iter().map(|time| (time - middle).abs()).collect());
        (index, median(at(knee, index)) - middle, NEAR.max(DEVIATIONS * spread))
    });
    let beyond = |(_, difference, allowed): &(usize, f64, f64)| difference.abs() / allowed;
    let worst = differences.max_by(|one, other| beyond(one).total_cmp(&beyond(other)));
    Comparison { k6: counts(k6), knee: counts(knee), worst }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[middle],
        _ => values[middle - 1].midpoint(values[middle]),
    }
}

fn line(comparison: &Comparison) -> String {
    let counts = |all: &BTreeSet<usize>| {
        let words: Vec<String> = all.iter().map(usize::to_string).collect();
        words.join("|")
    };
    let worst = comparison.worst.map_or_else(String::new, |(index, difference, allowed)| {
        format!("#{index} {difference:+.1} of {allowed:.1}")
    });
    let within = if comparison.is_alike() { "yes" } else { "NO" };
    format!("{:>8} {:>8} {worst:>24}  {within}", counts(&comparison.k6), counts(&comparison.knee))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_as_late_as_k6_itself_can_be_is_alike() {
        let k6 = [vec![0.0, 100.0], vec![1.0, 120.0], vec![2.0, 110.0]];
        let near = compare(&k6, &[vec![4.0, 135.0]]);
        assert!(near.is_alike(), "{near:?}");
        let late = compare(&k6, &[vec![9.0, 110.0]]);
        assert_eq!(late.worst, Some((0, 8.0, 5.0)));
        assert!(!late.is_alike());
    }

    #[test]
    fn a_number_of_requests_that_k6_never_sends_is_a_difference() {
        let k6 = [vec![0.0], vec![0.0, 100.0]];
        assert!(compare(&k6, &[vec![0.0]]).is_alike());
        assert!(!compare(&k6, &[vec![0.0, 100.0, 200.0]]).is_alike());
    }

    #[test]
    fn a_start_is_the_first_request_of_a_vu() {
        let request = |vu: u32, at: u64| Request {
            target: format!("/get?vu={vu}&began=1000"),
            arrived: Some(UNIX_EPOCH + std::time::Duration::from_millis(1_000 + at)),
            ..Request::default()
        };
        let requests = [request(1, 5), request(2, 7), request(1, 9)];
        assert_eq!(times(&requests, true).unwrap(), [5.0, 7.0]);
        assert_eq!(times(&requests, false).unwrap(), [5.0, 7.0, 9.0]);
    }
}

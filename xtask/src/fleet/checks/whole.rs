//! Checks 2 to 5: one load by four agents is one load, to the request, the byte and the nanosecond.
//!
//! Nothing dies here.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Setting, report};
use crate::fleet::lan::Lan;
use crate::fleet::record::Times;
use crate::fleet::world::{Kind, Place, World, parts, seen_and_lost};

const AGENTS: usize = 4;
const RATE: u64 = 400;
const SECONDS: u64 = 60;
/// Without an arrival at the very end, which a script has after a whole number of gaps, as under k6.
const SCRIPT: &str = "
import http from 'k6/http';
import exec from 'k6/execution';
export const options = { scenarios: { k: { executor: 'constant-arrival-rate',
    rate: 400, timeUnit: '1s', duration: '59999ms', preAllocatedVUs: 80 } } };
export default function () {
    http.get(`TARGET/k/${exec.scenario.iterationInTest}`, { tags: { name: 'k' } });
}
";
/// The percentiles of the result, and what they are.
const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];
/// Pairs of loads, by a fleet and by one machine, and how long each takes: a p99 needs 10,000 requests.
const BLOCKS: usize = 3;
const BLOCK_SECONDS: u64 = 26;

/// The rows of checks 2 to 5.
pub(super) fn rows(setting: &Setting) -> Vec<bool> {
    let machines = ["a1", "a2", "a3", "a4", "c1"];
    let made = Lan::new(&machines).and_then(|lan| World::start(setting.knee, Place::Lan(lan), AGENTS));
    let made = made.and_then(|world| load(&world).map(|report| (world, report)));
    let on = |check: fn(&World, &Value) -> Result<(String, bool)>| match &made {
        Ok((world, report)) => check(world, report),
        Err(error) => Err(anyhow::anyhow!("{error:#}")),
    };
    vec![
        report(
            "2",
            "a script by four agents, 400/s for 60 s, asks for /k/<iterationInTest>",
            "24,000 at the target, each k once; the record says the same, agent by agent",
            on(counts),
        ),
        report(
            "3",
            "`knee merge` over the copies, in any order",
            "the live record, byte for byte",
            on(merges),
        ),
        report("4", "SHA-256 of each agent's record", "that of the controller's copy", on(digests)),
        report(
            "5",
            "response times of the merged record, and p50 to p99 of the result",
            "every bucket is the sum of those of the four records; percentiles to the nanosecond those of the sums",
            on(percentiles),
        ),
        report(
            "5",
            "a fleet against one machine, 400/s, a target of 5 ms",
            "equal counts; p99 within 5 %, median of 3 blocks",
            against_one(setting),
        ),
    ]
}

fn load(world: &World) -> Result<Value> {
    let script = world.script("whole.js", SCRIPT)?;
    let running = world.load("home", &format!("run {} --agents {AGENTS}", script.display()))?;
    let finished = world.finish(running)?;
    ensure!(finished.code == Some(0), "{finished:?}");
    world.report("home")
}

fn counts(world: &World, report: &Value) -> Result<(String, bool)> {
    let paths = world.target.paths("/k/");
    let planned = RATE * SECONDS;
    let expected = (0..planned).map(|k| format!("/k/{k}"));
    let each_once = expected.into_iter().filter(|path| paths.get(path) == Some(&1)).count() as u64;
    let counted = world.target.count();
    let (seen, lost) = seen_and_lost(report)?;
    let mut agree = 0;
    for (index, part) in parts(report)?.iter().enumerate() {
        let from = world.lan()?.seen_as(&format!("a{}", index + 1)).into();
        agree += usize::from(part["planned"].as_u64() == Some(world.target.count_from(from)));
    }
    let held = (counted, each_once, seen, lost, agree) == (planned, planned, planned, 0, AGENTS);
    let measured = format!(
        "{counted} at the target, {each_once} of {planned} numbers once; record: {seen} seen, {lost} lost; {agree} of \
         {AGENTS} agents agree"
    );
    Ok((measured, held))
}

fn merges(world: &World, _: &Value) -> Result<(String, bool)> {
    let orders = orders_of(&world.records("home", "fleet")?);
    for order in &orders {
        world.check_merge("home", order)?;
    }
    Ok((format!("equal in all {} orders", orders.len()), orders.len() == 24))
}

/// All orders of some paths.
fn orders_of(paths: &[PathBuf]) -> Vec<Vec<PathBuf>> {
    if paths.is_empty() {
        return vec![Vec::new()];
    }
    let mut orders = Vec::new();
    for (index, first) in paths.iter().enumerate() {
        let mut rest = paths.to_vec();
        rest.remove(index);
        for mut order in orders_of(&rest) {
            order.insert(0, first.clone());
            orders.push(order);
        }
    }
    orders
}

fn digests(world: &World, _: &Value) -> Result<(String, bool)> {
    let copies = world.records("home", "fleet")?;
    let mut equal = 0;
    for (index, copy) in copies.iter().enumerate() {
        let own = world.own_record(index + 1)?;
        equal += usize::from(digest(copy)? == digest(&own)?);
    }
    Ok((format!("{equal} of {} equal", copies.len()), equal == AGENTS && copies.len() == AGENTS))
}

/// The SHA-256, by a program that is not of this project.
fn digest(path: &PathBuf) -> Result<String> {
    let output = Command::new("sha256sum").arg(path).output()?;
    let text = String::from_utf8(output.stdout)?;
    text.split(' ')
        .next()
        .filter(|word| word.len() == 64)
        .map(str::to_owned)
        .context("sha256sum says nothing")
}

fn percentiles(world: &World, report: &Value) -> Result<(String, bool)> {
    let mut times = Times::default();
    for copy in world.records("home", "fleet")? {
        times.add_record(&copy)?;
    }
    let mut merged = Times::default();
    merged.add_record(&world.record("home")?)?;
    let mut different = Vec::new();
    if merged != times {
        different.push("the histograms differ".to_owned());
    }
    let mut compared = 0;
    for (name, q) in QUANTILES {
        // A result has no percentile for which it has too few requests.
        let Some(said) = report["response_time_ms"][name].as_f64() else { continue };
        compared += 1;
        let summed = times.quantile(q)?;
        if (said * 1e6).round() as u64 != summed {
            different.push(format!("{name} is {said} ms, of the sums {summed} ns"));
        }
    }
    let measured = format!(
        "{} requests; {compared} percentiles of the result compared; p99 {:.3} ms, p99.9 {:.3} ms",
        times.count(),
        times.quantile(0.99)? as f64 / 1e6,
        times.quantile(0.999)? as f64 / 1e6
    );
    let held = different.is_empty() && compared >= 4 && times.count() == RATE * SECONDS;
    different.insert(0, measured);
    Ok((different.join("; "), held))
}

/// Loads a target of 5 ms by a fleet and by one machine, alternately.
fn against_one(setting: &Setting) -> Result<(String, bool)> {
    let lan = Lan::new(&["a1", "a2", "a3", "a4", "c1"])?;
    let mut world = World::without_agents(setting.knee, Place::Lan(lan), Duration::from_millis(5), "")?;
    for number in 1..=AGENTS {
        world.start_agent(number, &Kind::default())?;
    }
    world.wait_for_agents(AGENTS)?;
    let line = format!("{} -q {RATE} -z {BLOCK_SECONDS}s", world.target_url());
    let (mut ratios, mut times) = (Vec::new(), Vec::new());
    let mut equal = true;
    for _ in 0..BLOCKS {
        let finished = world.finish(world.load("home", &format!("{line} --agents {AGENTS}"))?)?;
        let fleet = world.report("home").with_context(|| finished.log)?;
        world.forget("home")?;
        let mut command = world.command("home", Some("a1"));
        command.args(line.split(' ')).args(["--no-tui", "--output-format", "json"]);
        let alone: Value =
            serde_json::from_slice(&command.output()?.stdout).context("no result of one machine")?;
        world.forget("home")?;
        let count =
            |report: &Value| (report["requests"]["planned"].as_u64(), report["requests"]["ok"].as_u64());
        let planned = Some(RATE * BLOCK_SECONDS);
        equal &= count(&fleet) == count(&alone) && count(&fleet) == (planned, planned);
        let p99 = |report: &Value| report["response_time_ms"]["p99"].as_f64().context("no p99");
        let (of_fleet, of_one) = (p99(&fleet)?, p99(&alone)?);
        ratios.push(of_fleet / of_one);
        times.push(format!("{of_fleet:.2} / {of_one:.2}"));
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios[BLOCKS / 2];
    let counts = if equal { "counts equal" } else { "counts differ" };
    let measured = format!(
        "{counts}; p99 of the fleet / of one machine in ms: {}; median of the ratios {median:.3}",
        times.join(", ")
    );
    Ok((measured, equal && (0.95..=1.05).contains(&median)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_paths_have_24_orders() {
        let paths: Vec<PathBuf> = ["a", "b", "c", "d"].map(PathBuf::from).to_vec();
        let mut orders = orders_of(&paths);
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), 24);
    }
}

//! Checks 6 to 9: processes that are killed, and an agent that is cut off.
//!
//! The trials with random moments are those of the command without `--checks`, on machines of their own.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::{Setting, report};
use crate::fleet::lan::Lan;
use crate::fleet::trial::{Verdict, pause};
use crate::fleet::world::{Place, World, parts, seen_and_lost};
use crate::fleet::{Options, try_deaths};

const AGENTS: usize = 4;
/// Requests per second of the long loads.
const RATE: u64 = 400;
/// The generator's lag with and without kills: no more than this apart at p99, in milliseconds.
const LAG_MORE_MS: f64 = 0.1;
/// An agent without a controller ends its load so long after the cut at the latest.
const ORPHAN: Duration = Duration::from_secs(31);

/// The row of check 6.
pub(super) fn agents(setting: &Setting) -> Vec<bool> {
    let goal =
        "in all trials planned = seen + lost, the agent named, no hang, its last 2 s at most in no record";
    vec![trials(setting, "6", "agent", "kill -9 of one of four agents at a random moment", goal)]
}

/// The row of check 8.
pub(super) fn controllers(setting: &Setting) -> Vec<bool> {
    let what = "kill -9 of the controller at a random moment, `knee fleet resume` on another machine";
    let goal = "nothing lost, each request once at the target, check 3 holds, in all trials";
    vec![trials(setting, "8", "controller", what, goal)]
}

/// The rows of check 7.
pub(super) fn servers(setting: &Setting) -> Vec<bool> {
    let goal = "nothing lost, each request once at the target, in all trials";
    vec![
        trials(
            setting,
            "7",
            "nats-server",
            "kill -9 of nats-server at a random moment, back after up to 3 s",
            goal,
        ),
        report(
            "7",
            "kill -9 of nats-server every 10 s for 2 min, 400/s, against the same load without kills",
            "nothing lost; generator lag p99 at most 0.1 ms more",
            often(setting),
        ),
    ]
}

fn trials(setting: &Setting, check: &'static str, name: &str, what: &str, goal: &str) -> bool {
    let Options { seed, .. } = setting.options;
    let verdicts = try_deaths(setting.knee, name, setting.options, true);
    let count = verdicts.len();
    let good: Vec<&Verdict> = verdicts.iter().filter_map(|(_, verdict)| verdict.as_ref().ok()).collect();
    let sum = |of: fn(&Verdict) -> u64| good.iter().map(|verdict| of(verdict)).sum::<u64>();
    let mut measured = format!(
        "{} of {count} trials (seed {seed}): {} planned, {} seen, {} lost",
        good.len(),
        sum(|verdict| verdict.planned),
        sum(|verdict| verdict.seen),
        sum(|verdict| verdict.lost)
    );
    if name == "agent" {
        let longest = good.iter().map(|verdict| verdict.unrecorded_s).fold(0.0, f64::max);
        let words =
            format!("; of a dead agent, requests of its last {longest:.2} s at most are in no record");
        measured.push_str(&words);
    }
    for (death, verdict) in &verdicts {
        if let Err(error) = verdict {
            measured.extend(["\n                 ", &format!("{death:?}: {error:#}")]);
        }
    }
    report(check, what, goal, Ok((measured, count > 0 && good.len() == count)))
}

fn fleet(setting: &Setting) -> Result<World> {
    World::start(setting.knee, Place::Lan(Lan::new(&["a1", "a2", "a3", "a4", "c1"])?), AGENTS)
}

/// What a long load with kills of NATS gave, or one without.
struct Long {
    counted: u64,
    seen: u64,
    lost: u64,
    lag_ms: f64,
}

const LONG_SECONDS: u64 = 120;

fn long(setting: &Setting, kills: u64) -> Result<Long> {
    let mut world = fleet(setting)?;
    let line = format!("{} -q {RATE} -z {LONG_SECONDS}s --agents {AGENTS}", world.target_url());
    let mut load = world.load("home", &line)?;
    for kill in 1..=kills {
        // The target's count is the clock: 10 s of load between two kills.
        world.wait_for_count(&mut load, kill * 10 * RATE)?;
        world.kill_server();
        world.start_server()?;
    }
    let finished = world.finish(load)?;
    let report = world.report("home").with_context(|| finished.log)?;
    world.check_merge("home", &world.records("home", "fleet")?)?;
    let (seen, lost) = seen_and_lost(&report)?;
    let lag_ms = report["generator_lag_ms"]["p99"].as_f64().context("no lag")?;
    Ok(Long { counted: world.target.count(), seen, lost, lag_ms })
}

fn often(setting: &Setting) -> Result<(String, bool)> {
    let kills = LONG_SECONDS / 10 - 1;
    let without = long(setting, 0)?;
    let with = long(setting, kills)?;
    let planned = RATE * LONG_SECONDS;
    let whole = |one: &Long| (one.counted, one.seen, one.lost) == (planned, planned, 0);
    let measured = format!(
        "{kills} kills: {} at the target, {} seen, {} lost; lag p99 {:.3} ms, without kills {:.3} ms",
        with.counted, with.seen, with.lost, with.lag_ms, without.lag_ms
    );
    Ok((measured, whole(&with) && whole(&without) && with.lag_ms <= without.lag_ms + LAG_MORE_MS))
}

/// The rows of check 9.
pub(super) fn partitions(setting: &Setting) -> Vec<bool> {
    vec![
        report(
            "9",
            "one agent cut off from NATS for 10 s (`ip link set down`), 400/s",
            "nothing lost, each request once at the target",
            short(setting),
        ),
        report(
            "9",
            "one agent cut off from NATS for 60 s, 400/s",
            "its load ends at most 31 s after the cut; planned = seen + lost, and the target agrees",
            cut_off(setting),
        ),
    ]
}

fn short(setting: &Setting) -> Result<(String, bool)> {
    let world = fleet(setting)?;
    let mut load =
        world.load("home", &format!("{} -q {RATE} -z 25s --agents {AGENTS}", world.target_url()))?;
    world.wait_for_count(&mut load, 5 * RATE)?;
    world.lan()?.set_link("a2", "down")?;
    pause(10.0);
    world.lan()?.set_link("a2", "up")?;
    let finished = world.finish(load)?;
    let report = world.report("home").with_context(|| finished.log)?;
    world.check_merge("home", &world.records("home", "fleet")?)?;
    let (seen, lost) = seen_and_lost(&report)?;
    let counted = world.target.count();
    let planned = 25 * RATE;
    let measured = format!("{planned} planned, {seen} seen, {lost} lost, {counted} at the target");
    Ok((measured, (seen, lost, counted) == (planned, 0, planned)))
}

fn cut_off(setting: &Setting) -> Result<(String, bool)> {
    let world = fleet(setting)?;
    let seconds = 80;
    let line = format!("{} -q {RATE} -z {seconds}s --agents {AGENTS}", world.target_url());
    let mut load = world.load("home", &line)?;
    world.wait_for_count(&mut load, 5 * RATE)?;
    let cut = Instant::now();
    world.lan()?.set_link("a2", "down")?;
    pause(60.0);
    world.lan()?.set_link("a2", "up")?;
    let finished = world.finish(load)?;
    let report = world.report("home").with_context(|| finished.log)?;
    let (seen, lost) = seen_and_lost(&report)?;
    let from = world.lan()?.seen_as("a2");
    let newest = world.target.seen().into_iter().filter(|one| one.from == from).map(|one| one.at).max();
    let went_on = newest.context("it sent nothing")?.saturating_duration_since(cut);
    let (counted, planned) = (world.target.count(), seconds * RATE);
    let others = parts(&report)?.iter().enumerate().filter(|(index, _)| *index != 1);
    let others_lost: u64 = others.filter_map(|(_, part)| part["lost"].as_u64()).sum();
    ensure!(lost > 0, "it lost nothing: {seen} seen");
    let measured = format!(
        "last request {:.1} s after the cut; {planned} planned = {seen} seen + {lost} lost, {counted} at the target",
        went_on.as_secs_f64()
    );
    let agree = seen + lost == planned && counted == seen && others_lost == 0;
    Ok((measured, went_on <= ORPHAN && agree))
}

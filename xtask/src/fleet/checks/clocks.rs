//! Check 10: agents whose clock is 1,000 s ahead and whose messages take 30 ms longer in one direction.
//!
//! The truth is known: the time namespace says how far the clock is off, and the target when each agent began.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Setting, report};
use crate::fleet::broker::Broker;
use crate::fleet::lan::Lan;
use crate::fleet::proxy;
use crate::fleet::world::{Kind, Place, World, parts};

/// The first one has the clock of the controller and no delay.
const AGENTS: usize = 5;
const AHEAD_S: i64 = 1_000;
const DELAY: Duration = Duration::from_millis(30);
/// Requests per second of all agents: the arrivals of an agent are `AGENTS / RATE` apart.
const RATE: u64 = 400;

/// The row of check 10.
pub(super) fn rows(setting: &Setting) -> Vec<bool> {
    vec![report(
        "10",
        "agents with a clock 1,000 s ahead, and 30 ms more delay in one direction",
        "the bounds of the offset, and of the start in the record, hold the truth in all trials",
        clocks(setting),
    )]
}

fn clocks(setting: &Setting) -> Result<(String, bool)> {
    let world = world(setting)?;
    let broker = Broker::connect(world.nats())?;
    let (mut offsets, mut starts, mut widest) = (Kept::default(), Kept::default(), 0);
    for _ in 0..setting.options.clocks {
        world.forget("home")?;
        broker.forget();
        let line = format!("{} -q {RATE} -z 1s --agents {AGENTS}", world.target_url());
        let finished = world.finish(world.load("home", &line)?)?;
        let report = world.report("home").with_context(|| finished.log)?;
        for (agent, (low, high)) in heard(&broker)? {
            let truth = if agent == "load-1" { 0 } else { -AHEAD_S * 1_000_000_000 };
            offsets.count((low..=high).contains(&truth), || format!("{agent}: {low} to {high}"));
            widest = widest.max(high - low);
        }
        check_starts(&world, &report, &mut starts)?;
        world.wait_for_agents(AGENTS)?;
    }
    let expected = u64::from(setting.options.clocks);
    let held = offsets.all(expected * AGENTS as u64) && starts.all(expected * (AGENTS as u64 - 1));
    let measured =
        format!("offsets: {offsets} (at most {:.1} ms wide); starts: {starts}", widest as f64 / 1e6);
    Ok((measured, held))
}

/// How many intervals hold the truth.
#[derive(Default)]
struct Kept {
    tried: u64,
    held: u64,
    wrong: Vec<String>,
}

impl Kept {
    fn count(&mut self, holds: bool, what: impl FnOnce() -> String) {
        self.tried += 1;
        self.held += u64::from(holds);
        if !holds {
            self.wrong.push(what());
        }
    }

    const fn all(&self, expected: u64) -> bool {
        self.held == expected && self.tried == expected && expected > 0
    }
}

impl std::fmt::Display for Kept {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            to,
            "{} of {} hold{}",
            self.held,
            self.tried,
            if self.wrong.is_empty() { "" } else { ", not " }
        )?;
        write!(to, "{}", self.wrong.join(", "))
    }
}

/// Four agents with another clock, of which two are slow to be heard and two slow to hear, and one ordinary agent.
fn world(setting: &Setting) -> Result<World> {
    let lan = Lan::new(&["a1", "a2", "a3", "a4", "a5", "c1"])?;
    let nats = lan.nats();
    let mut world = World::without_agents(setting.knee, Place::Lan(lan), Duration::ZERO, "")?;
    let ahead = AHEAD_S.to_string();
    let prefix = ["unshare", "--time", "--monotonic", &ahead, "--fork", "--kill-child"].map(str::to_owned);
    world.start_agent(1, &Kind::default())?;
    for number in 2..=AGENTS {
        let (there, back) = if number <= 3 { (DELAY, Duration::ZERO) } else { (Duration::ZERO, DELAY) };
        let way = proxy::start(nats, world.nats(), there, back)?;
        world.start_agent(number, &Kind { prefix: prefix.to_vec(), nats: Some(way), ..Kind::default() })?;
    }
    world.wait_for_agents(AGENTS)?;
    Ok(world)
}

/// The offsets that the agents announced, in nanoseconds.
fn heard(broker: &Broker) -> Result<BTreeMap<String, (i64, i64)>> {
    let mut offsets = BTreeMap::new();
    for message in broker.messages() {
        let agent = message.subject.split_once(".event.").and_then(|(_, rest)| rest.split('.').next());
        let (Some(agent), Ok(event)) = (agent, serde_json::from_slice::<Value>(&message.body)) else {
            continue;
        };
        if event["event"] == "ready" && message.subject.starts_with("knee.v1.run.") {
            let bound = |name: &str| event["offset"][name].as_i64().context("no offset");
            offsets.insert(agent.to_owned(), (bound("low")?, bound("high")?));
        }
    }
    ensure!(offsets.len() == AGENTS, "{} agents announced an offset", offsets.len());
    Ok(offsets)
}

/// When an agent began, by the target and by the record.
struct Start {
    /// When its plan began if its first request took no time to come.
    latest: Instant,
    /// What the request can have taken: the longest response time of the agent, in milliseconds.
    took_ms: f64,
    /// How much later its thread can have woken up without a trace at the target, in milliseconds.
    woke_ms: f64,
    /// At least and at most so late, by the record, in milliseconds.
    late_ms: [f64; 2],
}

/// Compares the starts of the record with the first requests at the target, relative to those of the ordinary agent.
fn check_starts(world: &World, report: &Value, starts: &mut Kept) -> Result<()> {
    let seen = world.target.seen();
    let mut found = Vec::new();
    for (index, part) in parts(report)?.iter().enumerate() {
        let from = world.lan()?.seen_as(&format!("a{}", index + 1));
        let first = seen.iter().find(|one| one.from == from).context("an agent sent nothing")?;
        let late = |bound: usize| part["start_late_ms"][bound].as_f64().context("no start in the record");
        let took_ms = part["response_time_ms"]["max"].as_f64().context("no response time")?;
        // The arrivals of the agents follow each other.
        let planned = Duration::from_secs_f64(index as f64 / RATE as f64);
        let latest = first.at.checked_sub(planned).context("a clock that began just now")?;
        let woke_ms = took_ms.max(planned.as_secs_f64() * 1e3);
        found.push(Start { latest, took_ms, woke_ms, late_ms: [late(0)?, late(1)?] });
    }
    let (base, others) = found.split_first().context("no parts")?;
    for (index, one) in others.iter().enumerate() {
        let (after, before) = (
            one.latest.saturating_duration_since(base.latest),
            base.latest.saturating_duration_since(one.latest),
        );
        let apart = (after.as_secs_f64() - before.as_secs_f64()) * 1e3;
        let (least, most) = (apart - one.took_ms - base.woke_ms, apart + one.woke_ms + base.took_ms);
        let (low, high) = (one.late_ms[0] - base.late_ms[1], one.late_ms[1] - base.late_ms[0]);
        starts.count(low <= most && least <= high, || {
            format!("load-{}: {least:.2} to {most:.2} ms, said to be {low:.2} to {high:.2}", index + 2)
        });
    }
    Ok(())
}

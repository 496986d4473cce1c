//! One trial: a load, who dies when, and whether all figures agree afterwards.
//!
//! Does not choose the moments.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::lan::Lan;
use super::world::{Place, World, parts, seen_and_lost};

const AGENTS: usize = 4;
/// Requests per second of all agents, and seconds. Six trials beside each other are 384 requests/s.
const RATE: u64 = 64;
const SECONDS: u64 = 8;

/// Who dies, and how many seconds after the first request.
#[derive(Debug)]
pub(super) enum Death {
    /// An agent, and with it its part.
    Agent { number: usize, after: f64 },
    /// The controller; another one takes over after `away` seconds, on another machine if there are machines.
    Controller { after: f64, away: f64 },
    /// The NATS server, which comes back after `away` seconds.
    Server { after: f64, away: f64 },
}

/// What a trial gave: all of it agreed.
#[derive(Debug)]
pub(super) struct Verdict {
    pub planned: u64,
    pub seen: u64,
    pub lost: u64,
    /// For how many seconds before its death an agent's requests are in no record.
    pub unrecorded_s: f64,
}

/// A fleet of four agents, on machines of their own if `separate`, and a trial with it.
pub(super) fn trial(knee: &Path, separate: bool, death: &Death) -> Result<Verdict> {
    let place =
        if separate { Place::Lan(Lan::new(&["a1", "a2", "a3", "a4", "c1", "c2"])?) } else { Place::Loopback };
    let mut world = World::start(knee, place, AGENTS)?;
    let url = world.target_url();
    let mut load = world.load("home", &format!("{url} -q {RATE} -z {SECONDS}s --agents {AGENTS}"))?;
    world.wait_for_load(&mut load)?;
    let home = match *death {
        Death::Agent { number, after } => {
            pause(after);
            world.kill_agent(number);
            let log = world.finish(load)?.log;
            ensure!(log.contains(&format!("load-{number} is lost")), "the agent is not named: {log}");
            "home"
        }
        Death::Server { after, away } => {
            pause(after);
            world.kill_server();
            pause(away);
            world.start_server()?;
            world.finish(load)?;
            "home"
        }
        Death::Controller { after, away } => {
            pause(after);
            drop(load);
            pause(away);
            let run = world.run_id()?;
            world.finish(world.resume(&run, "other", "c2")?)?;
            "other"
        }
    };
    let report = world.report(home)?;
    let verdict = check(&world, death, &report)?;
    world.check_merge(home, &world.records(home, "fleet")?)?;
    Ok(verdict)
}

/// The moment of a fault is a part of the trial.
pub(super) fn pause(seconds: f64) {
    thread::sleep(Duration::from_secs_f64(seconds));
}

fn check(world: &World, death: &Death, report: &Value) -> Result<Verdict> {
    let (seen, lost) = seen_and_lost(report)?;
    let parts = parts(report)?;
    let planned = RATE * SECONDS;
    ensure!(parts.len() == AGENTS, "{} parts", parts.len());
    ensure!(seen + lost == planned, "{seen} seen and {lost} lost of {planned}");
    let counted = world.target.count();
    let mut unrecorded_s = 0.0;
    if let Death::Agent { number, .. } = death {
        let name = format!("load-{number}");
        let others = parts.iter().filter(|part| part["agent"] != name.as_str());
        ensure!(others.into_iter().all(|part| part["lost"] == 0), "another agent lost something");
        // What the dead one sent since its last interval arrived is in no record.
        let more = counted.saturating_sub(seen);
        let of_agent = RATE / AGENTS as u64;
        unrecorded_s = more as f64 / of_agent as f64;
        ensure!(more <= 2 * of_agent, "the target saw {counted}, the record has {seen}");
        let open = seen.saturating_sub(counted);
        ensure!(open <= 2, "the target saw {counted}, the record has {seen}");
    } else {
        ensure!(lost == 0, "{lost} lost");
        ensure!(counted == planned, "the target saw {counted} of {planned}");
    }
    Ok(Verdict { planned, seen, lost, unrecorded_s })
}

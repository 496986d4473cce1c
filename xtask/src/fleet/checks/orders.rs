//! Check 11: orders and records that must not be accepted, sent by an eavesdropper with every permission of NATS.
//!
//! The machine that decides has tests of its own, which are run too.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{Setting, proofs, report};
use crate::fleet::broker::{Broker, Message};
use crate::fleet::lan::Lan;
use crate::fleet::proxy;
use crate::fleet::trial::pause;
use crate::fleet::world::{Kind, Place, World, seen_and_lost};

/// An agent does not obey an order after half a minute.
const STALE_S: f64 = 31.0;
/// What an agent receives takes so long that it can be stopped between the order and its arrival.
const DELAY: Duration = Duration::from_millis(250);
/// A frame of two MiB, which this server lets pass.
const FRAME_BYTES: usize = 2 << 20;
const SERVER: &str = "max_payload: 8MB\n";
const RATE: u64 = 100;

/// The rows of check 11.
pub(super) fn rows(setting: &Setting) -> Vec<bool> {
    let none = "0 accepted, each refused with its reason";
    vec![
        report(
            "11",
            "unsigned, altered, replayed, unreadable and stale orders, and one of 2 MiB, to a real agent",
            none,
            attacks(setting),
        ),
        report(
            "11",
            "loads by a stranger, for another target, above `max_rate`, `max_users` and `max_duration`",
            none,
            loads(setting),
        ),
        report(
            "11",
            "a controller that was frozen wakes up after another one took over; pieces of a record of 2 MiB",
            "0 accepted: nothing lost, each request once at the target, check 3 holds",
            old_controller(setting),
        ),
        report("11", "orders to the machine that decides (`cargo test`)", "all tests pass", machine(setting)),
    ]
}

fn machine(setting: &Setting) -> Result<(String, bool)> {
    let passed = proofs::tests(setting.root, "-p knee-fleet --test orders", &[])?;
    Ok((format!("{passed} tests of orders pass"), true))
}

/// Counts what is refused with the right reason, and what is accepted.
#[derive(Default)]
struct Tally {
    tried: u32,
    refused: u32,
    wrong: Vec<String>,
}

impl Tally {
    fn count(&mut self, what: &str, refused: bool, answer: &dyn std::fmt::Display) {
        self.tried += 1;
        self.refused += u32::from(refused);
        if !refused {
            self.wrong.push(format!("; {what}: {answer}"));
        }
    }

    fn row(&self) -> (String, bool) {
        let measured = format!("{} of {} refused{}", self.refused, self.tried, self.wrong.concat());
        (measured, self.refused == self.tried && self.tried > 0)
    }
}

fn attacks(setting: &Setting) -> Result<(String, bool)> {
    let lan = Lan::new(&["a1", "a2", "c1"])?;
    let nats = lan.nats();
    let mut world = World::without_agents(setting.knee, Place::Lan(lan), Duration::ZERO, SERVER)?;
    let slow = proxy::start(nats, world.nats(), Duration::ZERO, DELAY)?;
    world.start_agent(1, &Kind::default())?;
    world.start_agent(
        2,
        &Kind { nats: Some(slow), config: "fleet = \"slow\"".to_owned(), ..Kind::default() },
    )?;
    world.wait_for_agents(2)?;
    let mut broker = Broker::connect(world.nats())?;
    let mut tally = Tally::default();

    // A load that is made, so that its orders can be sent again.
    let running = world.load("home", &format!("{} -q {RATE} -z 1s --agents 1", world.target_url()))?;
    ensure!(world.finish(running)?.code == Some(0), "the load failed");
    world.wait_for_agents(2)?;
    let before = world.target.count();
    let subject = "knee.v1.agent.load-1.order";
    let orders: Vec<Message> = broker.messages().into_iter().filter(|one| one.subject == subject).collect();
    ensure!(orders.len() >= 4, "{} orders were heard", orders.len());
    let said = |answer: &Message| serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
    let is = |answer: &Value, why: &str| answer["reply"] == "refused" && answer["why"]["why"] == why;
    for order in &orders {
        let answer = said(&broker.ask(subject, &order.headers, &order.body)?);
        tally.count("replayed", is(&answer, "replayed"), &answer);
    }
    let claim = &orders[0];
    let info = said(&broker.ask("knee.v1.agent.load-1.ask", b"", b"")?);
    let mut fresh: Value = serde_json::from_slice(&claim.body)?;
    fresh["challenge"] = info["challenge"].clone();
    let fresh = serde_json::to_vec(&fresh)?;
    let large = vec![b'x'; FRAME_BYTES];
    for (what, headers, body, why) in [
        ("unsigned", &b""[..], &fresh, "unsigned"),
        ("altered", &claim.headers, &fresh, "unsigned"),
        ("unreadable", b"", &b"{".to_vec(), "unsigned"),
        ("2 MiB", b"", &large, "unsigned"),
        ("2 MiB under a signature", &claim.headers, &large, "unsigned"),
    ] {
        let answer = said(&broker.ask(subject, headers, body)?);
        tally.count(what, is(&answer, why), &answer);
    }
    stale(&world, &broker, &mut tally)?;
    tally.count("no load", world.target.count() == before, &world.target.count());
    Ok(tally.row())
}

/// An order that is read later than it is good for.
fn stale(world: &World, broker: &Broker, tally: &mut Tally) -> Result<()> {
    broker.forget();
    let line = format!("{} -q {RATE} -z 1s --fleet slow", world.target_url());
    let running = world.load("home", &line)?;
    let order = broker.wait("an order", |one| one.subject == "knee.v1.agent.load-2.order")?;
    // It arrives while the agent does not run, and is read when it is too old.
    world.agent(2)?.signal(Signal::SIGSTOP)?;
    pause(STALE_S);
    world.agent(2)?.signal(Signal::SIGCONT)?;
    let inbox = order.reply.context("the order wants no answer")?;
    let answer = broker.wait("the answer to a stale order", |one| one.subject == inbox)?;
    let answer: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    tally.count("stale", answer["why"]["why"] == "expired", &answer);
    world.finish(running)?;
    Ok(())
}

/// Agents with ceilings of their own, and loads that are above them; a stranger; another target.
fn loads(setting: &Setting) -> Result<(String, bool)> {
    let lan = Lan::new(&["a1", "a2", "a3", "a4", "a5", "c1"])?;
    let mut world = World::without_agents(setting.knee, Place::Lan(lan), Duration::ZERO, "")?;
    let stranger = stranger(&world)?;
    let cases = [
        (format!("signers = [\"{stranger}\"]"), "is not among the `signers` of the agent"),
        ("targets = [\"10.255.0.1:80\"]".to_owned(), "is not among the `targets` of the agent"),
        ("max_rate = 20".to_owned(), "above the agent's `max_rate`"),
        ("max_users = 3".to_owned(), "above the agent's `max_users`"),
        ("max_duration = \"1s\"".to_owned(), "longer than the agent's `max_duration`"),
    ];
    for (index, (line, _)) in cases.iter().enumerate() {
        let config = format!("fleet = \"f{index}\"\n{line}");
        world.start_agent(index + 1, &Kind { config, ..Kind::default() })?;
    }
    world.wait_for_agents(cases.len())?;
    let mut tally = Tally::default();
    for (index, (line, reason)) in cases.iter().enumerate() {
        let load = format!("{} -q {RATE} -z 2s -c 10 --fleet f{index}", world.target_url());
        let finished = world.finish(world.load("home", &load)?)?;
        let refused = finished.code == Some(104) && finished.log.contains(reason);
        tally.count(line, refused, &finished.log);
    }
    tally.count("no load", world.target.count() == 0, &world.target.count());
    Ok(tally.row())
}

/// A public key that is not that of the world.
fn stranger(world: &World) -> Result<String> {
    let mut command: Command = world.command("stranger", None);
    Ok(String::from_utf8(command.args(["fleet", "key"]).output()?.stdout)?.trim().to_owned())
}

fn old_controller(setting: &Setting) -> Result<(String, bool)> {
    let seconds = 15;
    let lan = Lan::new(&["a1", "a2", "c1", "c2"])?;
    let mut world = World::without_agents(setting.knee, Place::Lan(lan), Duration::ZERO, SERVER)?;
    for number in 1..=2 {
        world.start_agent(number, &Kind::default())?;
    }
    world.wait_for_agents(2)?;
    let mut broker = Broker::connect(world.nats())?;
    let mut old =
        world.load("home", &format!("{} -q {RATE} -z {seconds}s --agents 2", world.target_url()))?;
    world.wait_for_count(&mut old, 2 * RATE)?;
    old.signal(Signal::SIGSTOP)?;
    let run = world.run_id()?;
    let new = world.resume(&run, "other", "c2")?;
    // The new one is at work when its signs of life are heard.
    broker.wait("another controller", |one| {
        let beat: Value = serde_json::from_slice(&one.body).unwrap_or_default();
        one.subject.rsplit('.').next() == Some("beat") && beat["lead"].as_u64() >= Some(2)
    })?;
    let piece = broker.wait("a piece of a record", |one| one.subject.contains(".journal.load-1."))?;
    let (reason, large) = (json!({ "why": "too large" }).to_string(), vec![0_u8; FRAME_BYTES]);
    for body in [reason.as_bytes(), &large] {
        broker.publish(&piece.subject, "", b"", body)?;
        broker.publish(&piece.subject, "", b"NATS/1.0\r\nKnee-Offset: 1\r\nKnee-Copy: 1\r\n\r\n", body)?;
    }
    old.signal(Signal::SIGCONT)?;
    let old = world.finish(old)?;
    let finished = world.finish(new)?;
    let report = world.report("other").with_context(|| finished.log)?;
    world.check_merge("other", &world.records("other", "fleet")?)?;
    let (seen, lost) = seen_and_lost(&report)?;
    let (planned, counted) = (seconds * RATE, world.target.count());
    let measured = format!(
        "the old one ends with exit code {:?}; {planned} planned, {seen} seen, {lost} lost, {counted} at the target",
        old.code.unwrap_or_default()
    );
    let powerless = old.code == Some(105);
    Ok((measured, powerless && (seen, lost, counted) == (planned, 0, planned)))
}

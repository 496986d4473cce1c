//! An agent as a state machine: it checks orders, and does what a run needs from the claim to the release.
//!
//! Everything that happens is an [`Input`], everything to be done an [`Output`]. Does not read clocks, files or the network;
//! [`crate::nats`] does, and gives the time with each input.

use std::collections::VecDeque;

use knee_core::unit::Nanos;

use crate::name::{RunId, random_hex};
use crate::offset::to_agent;
use crate::policy::Policy;
use crate::signature::{Signed, is_valid};
use crate::wire::{Action, Beat, Info, Order, Refusal, Reply, StopLevel, WIRE};

mod lines;

mod message;

mod work;

pub use message::{Identity, Input, Output};
use work::{ORPHAN, Phase, Work};

/// How long a challenge can be answered.
const CHALLENGE_LIFE: Nanos = Nanos::from_secs(30);
/// Most challenges without an answer; the oldest are forgotten.
const CHALLENGES_MAX: usize = 256;

/// What comes of an order that counts.
enum Obeyed {
    /// It is being done.
    Done,
    /// A piece of this record is the answer.
    Record { run: RunId, from: u64 },
}

/// An agent.
#[derive(Debug)]
pub struct Agent {
    me: Identity,
    policy: Policy,
    /// Public keys of those whose orders count.
    signers: Vec<String>,
    challenges: VecDeque<(String, Nanos)>,
    work: Option<Work>,
}

impl Agent {
    /// An agent without work.
    pub const fn new(me: Identity, policy: Policy, signers: Vec<String>) -> Self {
        Self { me, policy, signers, challenges: VecDeque::new(), work: None }
    }

    /// The run that it works for.
    pub fn run(&self) -> Option<&RunId> {
        self.work.as_ref().map(|work| &work.run)
    }

    /// Takes what happened at `now` on the agent's clock, and says what is to be done.
    pub fn handle(&mut self, now: Nanos, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        match input {
            Input::Ask { to } => out.push(Output::Info { to, info: Box::new(self.info(now)) }),
            Input::Order { body, signed, to } => {
                let answer = match self.obey(now, &body, signed.as_ref(), &mut out) {
                    Ok(Obeyed::Done) => Output::Reply { to, reply: Reply::Accepted },
                    Ok(Obeyed::Record { run, from }) => Output::ReadRecord { to, run, from },
                    Err(why) => Output::Reply { to, reply: Reply::Refused { why } },
                };
                out.push(answer);
            }
            Input::Beat { body, signed } => self.hear(now, &body, signed.as_ref(), &mut out),
            input => {
                if let Some(work) = &mut self.work {
                    work.handle(now, input, &self.policy, &mut out);
                }
            }
        }
        if let Some(work) = &mut self.work {
            work.pass(now, &self.policy, &mut out);
            if out.contains(&Output::End) {
                self.work = None;
            }
        }
        out
    }

    fn info(&mut self, now: Nanos) -> Info {
        let challenge = random_hex(16);
        self.challenges.push_back((challenge.clone(), now));
        if self.challenges.len() > CHALLENGES_MAX {
            self.challenges.pop_front();
        }
        let Identity { agent, incarnation, fleet, build, machine } = self.me.clone();
        let run = self.run().cloned();
        Info { wire: WIRE, agent, incarnation, fleet, build, machine, challenge, run }
    }

    /// Whether a message is signed by one whose orders count.
    fn verify(&self, body: &[u8], signed: Option<&Signed>) -> Result<(), Refusal> {
        let signed = signed.ok_or(Refusal::Unsigned)?;
        if !self.signers.contains(&signed.key) {
            return Err(Refusal::Signer { key: signed.key.chars().take(60).collect() });
        }
        if is_valid(body, signed) { Ok(()) } else { Err(Refusal::Unsigned) }
    }

    /// Checks whether an order is for this process, and was given just now.
    fn accept(&mut self, now: Nanos, body: &[u8], signed: Option<&Signed>) -> Result<Order, Refusal> {
        self.verify(body, signed)?;
        let order: Order = serde_json::from_slice(body)
            .map_err(|error| Refusal::Unreadable { error: error.to_string().chars().take(200).collect() })?;
        if order.wire != WIRE {
            return Err(Refusal::Wire { wire: order.wire });
        }
        if order.agent != self.me.agent || order.incarnation != self.me.incarnation {
            return Err(Refusal::Receiver);
        }
        let place = self.challenges.iter().position(|(challenge, _)| *challenge == order.challenge);
        let given = place.and_then(|place| self.challenges.remove(place)).ok_or(Refusal::Replayed)?;
        if now.since(given.1) > CHALLENGE_LIFE {
            return Err(Refusal::Expired);
        }
        Ok(order)
    }

    fn obey(
        &mut self,
        now: Nanos,
        body: &[u8],
        signed: Option<&Signed>,
        out: &mut Vec<Output>,
    ) -> Result<Obeyed, Refusal> {
        let order = self.accept(now, body, signed)?;
        match order.action {
            Action::Claim => return self.claim(now, order, out).map(|()| Obeyed::Done),
            // Of a run that is over; the record of one that is not grows.
            Action::Fetch { .. } if self.run() == Some(&order.run) => {
                return Err(Refusal::Busy { run: order.run });
            }
            Action::Fetch { from } => return Ok(Obeyed::Record { run: order.run, from }),
            _ => {}
        }
        let work = self.work.as_mut().filter(|work| work.run == order.run).ok_or(Refusal::NotClaimed)?;
        let stop = match order.action {
            Action::Stop { level } => Some(level),
            _ => None,
        };
        // Every signer can always stop a load, without taking over: with no lead. A controller that was replaced cannot.
        if order.lead < work.lead && (stop.is_none() || order.lead > 0) {
            return Err(Refusal::Lead);
        }
        if let Some(level) = stop {
            work.stop(level, out);
            return Ok(Obeyed::Done);
        }
        work.follow(order.lead);
        work.heard = now;
        work.obey(now, order.action, out).map(|()| Obeyed::Done)
    }

    fn claim(&mut self, now: Nanos, order: Order, out: &mut Vec<Output>) -> Result<(), Refusal> {
        if let Some(work) = &self.work {
            return match work {
                Work { run, .. } if *run != order.run => Err(Refusal::Busy { run: run.clone() }),
                Work { lead, phase: Phase::Claimed, .. } if *lead == order.lead => Ok(()),
                _ => Err(Refusal::Lead),
            };
        }
        out.push(Output::Listen(order.run.clone()));
        self.work = Some(Work::new(order.run, order.lead, now));
        Ok(())
    }

    fn hear(&mut self, now: Nanos, body: &[u8], signed: Option<&Signed>, out: &mut Vec<Output>) {
        if self.work.is_none() || self.verify(body, signed).is_err() {
            return;
        }
        let Ok(beat) = serde_json::from_slice::<Beat>(body) else { return };
        let Some(work) = &mut self.work else { return };
        let newer = beat.lead > work.lead || (beat.lead == work.lead && beat.number > work.beat);
        if beat.run != work.run || !newer {
            return;
        }
        // A broker could have kept it, to send it later.
        let offset = work.clocks.at(now).filter(|_| beat.lead == work.lead);
        let sent = offset.and_then(|offset| to_agent(beat.sent, offset.low));
        if sent.is_some_and(|sent| now.since(sent) > ORPHAN) {
            return;
        }
        work.follow(beat.lead);
        (work.beat, work.heard, work.armed) = (beat.number, now, beat.armed);
        if work.phase == Phase::Ready && beat.armed.is_some() {
            work.fail("it did not start: that all agents are ready arrived too late", out);
        }
        if beat.stop > StopLevel::None {
            work.stop(beat.stop, out);
        }
    }
}

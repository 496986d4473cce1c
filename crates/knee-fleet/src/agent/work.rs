//! What an agent does for one run, from the claim to the release.
//!
//! Does not check who gives orders; [`super::Agent`] does.

use knee_core::unit::Nanos;

use super::lines::Lines;
use super::message::{Input, Output};
use crate::child::{FromChild, ToChild};
use crate::name::RunId;
use crate::offset::{Clocks, Exchange, to_agent};
use crate::policy::Policy;
use crate::uplink::Uplink;
use crate::wire::{Action, Event, EventKind, Part, Refusal, Said, StopLevel};

/// Without a sign of its controller for so long, an agent sends no new requests.
pub(super) const ORPHAN: Nanos = Nanos::from_secs(30);
/// No start is agreed on that is further away.
const START_MAX: Nanos = Nanos::from_secs(60);
/// So long before the start, the process gets the order to go.
const GO_BEFORE: Nanos = Nanos::from_millis(500);
/// A process that was to end at once and has not is killed after this time.
const KILL: Nanos = Nanos::from_secs(15);
/// How fresh the sign of life must be with which a load starts.
const FRESH: Nanos = Nanos::from_secs(1);
/// A load at its ceiling has so long for requests in flight.
const LAST_MINUTE: Nanos = Nanos::from_secs(60);
/// How long an agent without a controller tries to publish the rest of its record.
const LAST_TRIES: Nanos = Nanos::from_secs(600);
/// Exchanges of the time before the start, and in each round during the load.
const EXCHANGES: u32 = 16;
const EXCHANGES_OF_ROUND: u32 = 4;
/// Between two exchanges, and between two rounds.
const EXCHANGE_PAUSE: Nanos = Nanos::from_millis(30);
const ROUND_PAUSE: Nanos = Nanos::from_secs(10);
/// A question for the time without an answer is asked again.
const ANSWER_PATIENCE: Nanos = Nanos::from_secs(2);
/// An event without an acknowledgement is announced again.
const EVENT_PATIENCE: Nanos = Nanos::from_secs(5);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
    /// Waits for its part.
    Claimed,
    /// The job is being fetched.
    Fetching,
    /// Users are being made.
    Making,
    /// Clocks are being compared.
    Comparing,
    /// Can start.
    Ready,
    /// Starts at `start` on its own clock, `at` on the controller's, if the controller still lives then.
    Armed { at: Nanos, start: Nanos },
    /// Will start, or has.
    Running { at: Nanos },
    /// The record is complete; its digest is being computed.
    Sealing { warning: Option<String>, said: Said },
    /// Everything is said that is to be said.
    Over,
}

/// What an agent does for one run.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) run: RunId,
    pub(super) lead: u64,
    pub(super) phase: Phase,
    part: Option<Part>,
    /// The latest time of the start so far, on the controller's clock.
    agreed: Nanos,
    pub(super) clocks: Clocks,
    /// Exchanges that are still to be made in this round, and when the last question was asked.
    exchanges: u32,
    asked: Option<Nanos>,
    round: Nanos,
    /// The last sign of life, and its number.
    pub(super) heard: Nanos,
    pub(super) beat: u64,
    /// For which time all agents of the run are armed.
    pub(super) armed: Option<Nanos>,
    /// What ended the part, which is announced again to who lacks it.
    last: Option<EventKind>,
    /// When the load was to end at once.
    aborted: Option<Nanos>,
    stop: StopLevel,
    /// The longest load that the agent makes ends here.
    ends: Nanos,
    uplink: Uplink,
    events: u64,
    /// Events without an acknowledgement, and when they were announced.
    open: Vec<(Event, Nanos)>,
    /// What its script wrote.
    lines: Lines,
}

impl Work {
    /// Claimed at `now` by the controller with this lead.
    pub(super) fn new(run: RunId, lead: u64, now: Nanos) -> Self {
        Self {
            run,
            lead,
            phase: Phase::Claimed,
            part: None,
            agreed: Nanos::ZERO,
            clocks: Clocks::default(),
            exchanges: 0,
            asked: None,
            round: now,
            heard: now,
            beat: 0,
            armed: None,
            last: None,
            aborted: None,
            stop: StopLevel::None,
            ends: Nanos::MAX,
            uplink: Uplink::default(),
            events: 0,
            open: Vec::new(),
            lines: Lines::default(),
        }
    }

    /// Works for the controller with this lead, whose clock is another one.
    pub(super) fn follow(&mut self, lead: u64) {
        if lead > self.lead {
            (self.lead, self.beat, self.clocks) = (lead, 0, Clocks::default());
            self.agreed = Nanos::ZERO;
        }
    }

    pub(super) fn obey(&mut self, now: Nanos, action: Action, out: &mut Vec<Output>) -> Result<(), Refusal> {
        match (action, &self.phase) {
            (Action::Prepare { job, part }, Phase::Claimed) => {
                self.phase = Phase::Fetching;
                self.part = Some(part.clone());
                out.push(Output::Fetch { job, part });
                Ok(())
            }
            (Action::Go { at }, Phase::Ready | Phase::Armed { .. }) => self.arm(now, at),
            // The answer to the first one was lost.
            (Action::Prepare { part, .. }, _) if self.part.as_ref() == Some(&part) => Ok(()),
            (Action::Follow | Action::Claim | Action::Stop { .. } | Action::Fetch { .. }, _) => Ok(()),
            (Action::Resend { from }, _) => {
                self.uplink.again(from);
                if let Some(last) = self.last.clone() {
                    self.announce(last, out);
                }
                Ok(())
            }
            (Action::Release, _) => {
                out.push(Output::End);
                Ok(())
            }
            (Action::Prepare { .. } | Action::Go { .. }, _) => Err(Refusal::Early),
        }
    }

    fn arm(&mut self, now: Nanos, at: Nanos) -> Result<(), Refusal> {
        // A start is only ever put off: an order for an earlier one was overtaken.
        if at < self.agreed {
            return Err(Refusal::TooLate);
        }
        let offset = self.clocks.at(now).ok_or(Refusal::Early)?;
        let start = to_agent(at, offset.centre()).filter(|start| *start > now).ok_or(Refusal::TooLate)?;
        if start.since(now) > START_MAX {
            return Err(Refusal::Early);
        }
        self.agreed = at;
        self.phase = Phase::Armed { at, start };
        Ok(())
    }

    pub(super) fn stop(&mut self, level: StopLevel, out: &mut Vec<Output>) {
        if level <= self.stop {
            return;
        }
        self.stop = level;
        match self.phase {
            Phase::Running { .. } => out.push(Output::Tell(ToChild::Stop { level })),
            Phase::Sealing { .. } | Phase::Over => {}
            _ => self.fail("it was stopped before it began", out),
        }
    }

    pub(super) fn fail(&mut self, why: impl Into<String>, out: &mut Vec<Output>) {
        self.phase = Phase::Over;
        self.announce(EventKind::Failed { why: why.into() }, out);
    }

    fn announce(&mut self, kind: EventKind, out: &mut Vec<Output>) {
        if matches!(kind, EventKind::Ended { .. } | EventKind::Failed { .. }) {
            self.last = Some(kind.clone());
        }
        self.events += 1;
        let event = Event { number: self.events, kind };
        // `pass` announces again what is not acknowledged for a while.
        self.open.push((event.clone(), Nanos::MAX));
        out.push(Output::Announce(event));
    }

    pub(super) fn handle(&mut self, now: Nanos, input: Input, policy: &Policy, out: &mut Vec<Output>) {
        match input {
            Input::Job(job) if self.phase == Phase::Fetching => {
                let allowed = job.and_then(|extent| policy.check(&extent).map_err(|why| why.to_string()));
                match allowed {
                    Ok(()) => {
                        self.phase = Phase::Making;
                        out.push(Output::Start);
                    }
                    Err(why) => self.fail(why, out),
                }
            }
            Input::Wrote { lines, more } => self.lines.add(lines, more),
            Input::Child(event) => self.child(now, event, out),
            Input::ChildGone if !matches!(self.phase, Phase::Sealing { .. } | Phase::Over) => {
                match self.phase {
                    // What it wrote until then is a record without an end.
                    Phase::Running { .. } => {
                        self.seal(Some("its process ended unexpectedly".to_owned()), Said::default(), out);
                    }
                    _ => self.fail("its process ended unexpectedly", out),
                }
            }
            Input::Clock(exchange) => self.compare(now, &exchange, out),
            Input::Journal(length) => self.uplink.grow(length),
            Input::Sealed { length, digest } => {
                if let Phase::Sealing { warning, said } = &mut self.phase {
                    let (warning, said) = (warning.take(), std::mem::take(said));
                    if let Some(wrote) = self.lines.take(now, true) {
                        self.announce(wrote, out);
                    }
                    self.phase = Phase::Over;
                    self.uplink.seal(length);
                    self.announce(EventKind::Ended { length, digest, warning, said }, out);
                }
            }
            Input::Published(piece) => self.uplink.acknowledged(piece),
            Input::Announced(number) => self.open.retain(|(event, _)| event.number != number),
            _ => {}
        }
    }

    fn child(&mut self, now: Nanos, event: FromChild, out: &mut Vec<Output>) {
        match (event, &self.phase) {
            (FromChild::Ready, Phase::Making) => {
                self.phase = Phase::Comparing;
                self.exchanges = EXCHANGES;
                self.ask_time(now, Nanos::ZERO, out);
            }
            (FromChild::Started { at: zero }, Phase::Running { at }) => {
                let late = self.clocks.at(now).map(|offset| {
                    let late = |offset: i64| zero.0.cast_signed() + offset - at.0.cast_signed();
                    (late(offset.low), late(offset.high))
                });
                if let Some(late) = late {
                    out.push(Output::Tell(ToChild::Late { late }));
                }
                self.round = now;
            }
            (FromChild::Ended { warning, said }, Phase::Running { .. }) => self.seal(warning, said, out),
            (FromChild::Failed { why }, Phase::Sealing { .. } | Phase::Over) => drop(why),
            (FromChild::Failed { why }, _) => self.fail(why, out),
            _ => {}
        }
    }

    fn seal(&mut self, warning: Option<String>, said: Said, out: &mut Vec<Output>) {
        let warning = warning
            .or_else(|| self.clocks.jumped().then(|| "its clock jumped while the load ran".to_owned()));
        self.phase = Phase::Sealing { warning, said };
        out.push(Output::Seal);
    }

    fn ask_time(&mut self, now: Nanos, after: Nanos, out: &mut Vec<Output>) {
        self.asked = Some(now.saturating_add(after));
        out.push(Output::AskTime { after });
    }

    fn compare(&mut self, now: Nanos, exchange: &Exchange, out: &mut Vec<Output>) {
        self.asked = None;
        self.clocks.add(exchange);
        self.exchanges = self.exchanges.saturating_sub(1);
        if self.exchanges > 0 {
            return self.ask_time(now, EXCHANGE_PAUSE, out);
        }
        self.round = now;
        if self.phase == Phase::Comparing
            && let Some(offset) = self.clocks.at(now)
        {
            self.phase = Phase::Ready;
            self.announce(EventKind::Ready { offset }, out);
        }
    }

    /// What is due because time has passed.
    pub(super) fn pass(&mut self, now: Nanos, policy: &Policy, out: &mut Vec<Output>) {
        self.pass_start(now, policy, out);
        if matches!(self.phase, Phase::Running { .. }) && now > self.ends {
            // A load whose plan has no end in time is held to the ceiling as well.
            self.stop(StopLevel::Stop, out);
            if now > self.ends.saturating_add(LAST_MINUTE) {
                self.stop(StopLevel::Abort, out);
            }
        }
        if self.stop == StopLevel::Abort && matches!(self.phase, Phase::Running { .. }) {
            let aborted = *self.aborted.get_or_insert(now);
            if now.since(aborted) > KILL {
                self.aborted = Some(now);
                out.push(Output::Kill);
            }
        }
        self.pass_orphan(now, out);
        if self.asked.is_some_and(|asked| now.since(asked) > ANSWER_PATIENCE) {
            self.ask_time(now, Nanos::ZERO, out);
        }
        let compares = matches!(self.phase, Phase::Running { .. } | Phase::Ready | Phase::Armed { .. });
        if compares && self.asked.is_none() && now.since(self.round) > ROUND_PAUSE {
            self.exchanges = EXCHANGES_OF_ROUND;
            self.ask_time(now, Nanos::ZERO, out);
        }
        if let Some(wrote) = self.lines.take(now, false) {
            self.announce(wrote, out);
        }
        while let Some(piece) = self.uplink.next(now) {
            out.push(Output::Publish(piece));
        }
        for (event, at) in &mut self.open {
            if *at == Nanos::MAX {
                *at = now;
            } else if now.since(*at) >= EVENT_PATIENCE {
                *at = now;
                out.push(Output::Announce(event.clone()));
            }
        }
    }

    fn pass_start(&mut self, now: Nanos, policy: &Policy, out: &mut Vec<Output>) {
        let Phase::Armed { at, start } = self.phase else { return };
        if now < start {
            let heard = self.armed == Some(at) && now.since(self.heard) < FRESH;
            if !heard || start.since(now) > GO_BEFORE {
                return;
            }
            self.phase = Phase::Running { at };
            self.ends = policy.ends(start);
            out.push(Output::Tell(ToChild::Go { at: start }));
        } else {
            // The controller puts it off, or is gone. Should the others have begun, the next sign of life says so.
            self.phase = Phase::Ready;
        }
    }

    fn pass_orphan(&mut self, now: Nanos, out: &mut Vec<Output>) {
        let silent = now.since(self.heard);
        if silent < ORPHAN {
            return;
        }
        match self.phase {
            Phase::Running { .. } => self.stop(StopLevel::Stop, out),
            Phase::Sealing { .. } => {}
            Phase::Over if !(self.uplink.is_done() && self.open.is_empty()) && silent < LAST_TRIES => {}
            _ => out.push(Output::End),
        }
    }
}

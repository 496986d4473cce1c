//! A controller as a state machine: it chooses agents, agrees on a start with them, and collects their records.
//!
//! Everything that happens is an [`Input`], everything to be done an [`Output`]. No load is moved from one agent to another:
//! what a lost agent did not send is counted when the records are merged. Does not read clocks, files or the network, and
//! does not merge.

use std::collections::BTreeMap;

use bytes::Bytes;
use knee_core::unit::Nanos;

use crate::name::{AgentId, Incarnation};
use crate::wire::{Action, Beat, Digest, Event, EventKind, Info, Part, Refusal, Reply, StopLevel};

mod choice;

mod member;

mod message;

pub use choice::{Unfit, Wanted};
pub use message::{Engaged, Failure, Input, Notice, Output, Request};

use member::{Member, Stage, hear, order, seal_if_whole};

/// How long agents are looked for and claimed.
const CLAIM: Nanos = Nanos::from_secs(5);
/// Between two looks.
const LOOK_AGAIN: Nanos = Nanos::from_millis(500);
/// How long agents take at most to fetch the job and make their users.
const PREPARE: Nanos = Nanos::from_secs(300);
/// From the order to start to the start, at least; and in multiples of the worst way of a message.
const LEAD_TIME: Nanos = Nanos::from_secs(1);
const LEAD_WAYS: u64 = 40;
/// An agent must hear so long before the start that all are armed.
const MARGIN: Nanos = Nanos::from_millis(300);
/// How often an order without an answer is sent again.
const ORDERS: u32 = 4;
/// How often a start is put off because an agent got the order too late.
const STARTS: u32 = 3;
/// An offset that is known no better than this is refused.
const OFFSET_MAX: Nanos = Nanos::from_millis(500);
/// Between two signs of life, and between those before the start.
const BEAT: Nanos = Nanos::from_millis(500);
const BEAT_AT_START: Nanos = Nanos::from_millis(100);
/// An agent is quiet if nothing came for so long, and is asked then and again.
const QUIET: Nanos = Nanos::from_secs(3);
const ASK_AGAIN: Nanos = Nanos::from_secs(2);
/// A quiet agent that does not answer is lost after this time.
const LOST: Nanos = Nanos::from_secs(15);
/// An agent that answers but sends nothing is given up this long after its load should have ended.
const OVERDUE: Nanos = Nanos::from_secs(60);
/// What is missing of a record that ended is asked for again after this time.
const MISSING: Nanos = Nanos::from_secs(3);
/// Copies of a record that differ from it, before it is given up.
const COPIES: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Looks for agents since the first time, last at the second.
    Looking {
        since: Nanos,
        looked: Option<Nanos>,
    },
    Claiming {
        since: Nanos,
    },
    /// The job is being made.
    Making,
    Preparing {
        since: Nanos,
    },
    /// The start is at this time.
    Arming {
        at: Nanos,
        tries: u32,
    },
    Running {
        at: Nanos,
    },
    Done,
}

/// A controller.
#[derive(Debug)]
pub struct Controller {
    request: Request,
    lead: u64,
    phase: Phase,
    members: BTreeMap<AgentId, Member>,
    beats: u64,
    beaten: Option<Nanos>,
    stop: StopLevel,
    /// When a person first wanted the end.
    stopped: Option<Nanos>,
    /// Why the last look found too few, or a claim failed.
    unfit: Option<Failure>,
    /// What follows the load is not known yet: until then the run does not finish.
    loading: bool,
}

impl Controller {
    /// A controller of a new run.
    pub const fn new(request: Request, now: Nanos) -> Self {
        Self {
            request,
            lead: 1,
            phase: Phase::Looking { since: now, looked: None },
            members: BTreeMap::new(),
            beats: 0,
            beaten: None,
            stop: StopLevel::None,
            stopped: None,
            unfit: None,
            loading: false,
        }
    }

    /// A controller that takes over a run that has begun. `lead` is above that of all before it. It gives signs of life at
    /// once, and finishes after [`Input::Loaded`] at the earliest.
    pub fn resume(request: Request, engaged: Vec<Engaged>, lead: u64, now: Nanos) -> (Self, Vec<Output>) {
        let running = Phase::Running { at: now };
        let mut controller = Self { lead, phase: running, loading: true, ..Self::new(request, now) };
        let follow = |one: &Engaged| order(one, Action::Follow);
        let out = engaged.iter().map(follow).collect();
        controller.members = engaged
            .into_iter()
            .map(|one| (one.agent.clone(), Member::new(one, Stage::Running, now)))
            .collect();
        (controller, out)
    }

    /// Takes what happened at `now` on the controller's clock, and says what is to be done.
    pub fn handle(&mut self, now: Nanos, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        match input {
            Input::Found(found) => self.found(now, &found, &mut out),
            Input::Reply { agent, action, reply } => self.reply(now, &agent, &action, reply, &mut out),
            Input::Asked { agent, info } => self.asked(now, &agent, info.as_deref(), &mut out),
            Input::Piece { agent, incarnation, copy, from, bytes } => {
                self.piece(now, (&agent, &incarnation), copy, (from, bytes), &mut out);
            }
            Input::Event { agent, incarnation, event } => {
                self.event(now, &agent, &incarnation, event, &mut out);
            }
            Input::Sealed { agent, digest } => self.sealed(&agent, &digest, &mut out),
            Input::Job(job) => self.prepare(now, job, &mut out),
            Input::Stop(level) => self.stop(now, level, &mut out),
            Input::Loaded => self.loading = false,
            Input::Offline => {
                self.members.values_mut().for_each(|member| member.heard = member.heard.max(now));
            }
            Input::Tick => {}
        }
        self.pass(now, &mut out);
        out
    }

    fn found(&mut self, now: Nanos, found: &[Info], out: &mut Vec<Output>) {
        let Phase::Looking { since, .. } = self.phase else { return };
        let Request { wanted, build, mixed, .. } = &self.request;
        match choice::choose(found, wanted, build, *mixed) {
            Ok(chosen) => {
                let parts = Part::equal(chosen.len() as u32);
                for (info, part) in chosen.into_iter().zip(parts) {
                    let (agent, incarnation) = (info.agent.clone(), info.incarnation.clone());
                    let engaged = Engaged { agent, incarnation, part };
                    out.push(order(&engaged, Action::Claim));
                    let member = Member::new(engaged, Stage::Claiming, now);
                    self.members.insert(info.agent.clone(), member);
                }
                self.phase = Phase::Claiming { since };
            }
            Err(unfit) => self.unfit = Some(unfit.into()),
        }
    }

    fn reply(
        &mut self,
        now: Nanos,
        agent: &AgentId,
        action: &Action,
        reply: Option<Reply>,
        out: &mut Vec<Output>,
    ) {
        let Some(member) = self.members.get_mut(agent) else { return };
        let failure = match reply {
            Some(Reply::Accepted) => None,
            Some(Reply::Refused { why }) => Some(Failure::Refused { agent: agent.clone(), why }),
            // A record is no answer to what a run asks for.
            Some(Reply::Record { .. }) | None => Some(Failure::Silent(agent.clone())),
        };
        match (action, failure) {
            (Action::Claim, None) if member.stage == Stage::Claiming => {
                member.stage = Stage::Claimed;
                self.make_job_if_claimed(out);
            }
            (Action::Claim, Some(failure)) => self.give_up_claim(failure, out),
            (Action::Prepare { .. }, Some(Failure::Silent(_))) if member.tries < ORDERS => {
                member.tries += 1;
                out.push(order(&member.engaged, action.clone()));
            }
            (Action::Prepare { .. }, Some(failure)) => self.fail(failure, out),
            (Action::Go { at }, None) => {
                let current = matches!(self.phase, Phase::Arming { at: agreed, .. } if agreed == *at);
                if let Stage::Arming(offset) = member.stage
                    && current
                {
                    member.stage = Stage::Armed(offset);
                }
                self.start_if_armed(now, out);
            }
            (Action::Go { .. }, Some(failure)) => self.put_off(now, failure, out),
            (_, Some(Failure::Refused { why: Refusal::Lead, .. })) if self.phase != Phase::Done => {
                // The other one has the run, and what NATS keeps of it.
                self.phase = Phase::Done;
                out.push(Output::Finish(Err(Failure::Superseded)));
            }
            _ => {}
        }
    }

    fn make_job_if_claimed(&mut self, out: &mut Vec<Output>) {
        if !matches!(self.phase, Phase::Claiming { .. }) || !self.all(|stage| *stage == Stage::Claimed) {
            return;
        }
        self.phase = Phase::Making;
        out.push(Output::Tell(Notice::Claimed(self.members.keys().cloned().collect())));
        out.push(Output::Save(self.engaged()));
        out.push(Output::MakeJob);
    }

    fn prepare(&mut self, now: Nanos, job: Result<Digest, String>, out: &mut Vec<Output>) {
        if self.phase != Phase::Making {
            return;
        }
        let job = match job {
            Ok(job) => job,
            Err(why) => return self.fail(Failure::NoJob(why), out),
        };
        self.phase = Phase::Preparing { since: now };
        for member in self.members.values_mut() {
            member.stage = Stage::Preparing;
            let (job, part) = (job.clone(), member.engaged.part.clone());
            out.push(order(&member.engaged, Action::Prepare { job, part }));
        }
    }

    /// Frees what was claimed, and looks again while there is time.
    fn give_up_claim(&mut self, failure: Failure, out: &mut Vec<Output>) {
        let Phase::Claiming { since } = self.phase else { return };
        // Who does not know the signer does not know it in a second look either.
        let can_change =
            |why: &Refusal| matches!(why, Refusal::Busy { .. } | Refusal::Replayed | Refusal::Expired);
        if matches!(&failure, Failure::Refused { why, .. } if !can_change(why)) {
            return self.fail(failure, out);
        }
        self.release(out);
        self.members.clear();
        self.unfit = Some(failure);
        self.phase = Phase::Looking { since, looked: None };
    }

    fn agree_if_ready(&mut self, now: Nanos, out: &mut Vec<Output>) {
        if matches!(self.phase, Phase::Preparing { .. }) && self.all(|stage| matches!(stage, Stage::Ready(_)))
        {
            self.agree(now, 1, out);
        }
    }

    fn agree(&mut self, now: Nanos, tries: u32, out: &mut Vec<Output>) {
        let offset = |member: &Member| match member.stage {
            Stage::Ready(offset) | Stage::Arming(offset) | Stage::Armed(offset) => Some(offset),
            _ => None,
        };
        let bounds = self.members.values().filter_map(|member| Some((offset(member)?.bound(), member)));
        let Some((bound, widest)) = bounds.max_by_key(|(bound, _)| *bound) else { return };
        if bound > OFFSET_MAX {
            let agent = widest.engaged.agent.clone();
            return self.fail(Failure::Clock { agent, bound }, out);
        }
        let after = LEAD_TIME.max(Nanos(bound.0.saturating_mul(LEAD_WAYS)));
        let after = Nanos(after.0.saturating_mul(u64::from(tries)));
        let at = now + after;
        self.phase = Phase::Arming { at, tries };
        out.push(Output::Tell(Notice::Starting { after, bound }));
        for member in self.members.values_mut() {
            if let Some(offset) = offset(member) {
                member.stage = Stage::Arming(offset);
                out.push(order(&member.engaged, Action::Go { at }));
            }
        }
    }

    fn start_if_armed(&mut self, now: Nanos, out: &mut Vec<Output>) {
        let Phase::Arming { at, .. } = self.phase else { return };
        if !self.all(|stage| matches!(stage, Stage::Armed(_))) {
            return;
        }
        // The sign to start needs time to reach all.
        if now.saturating_add(MARGIN) > at {
            let agent = self.members.keys().next().cloned();
            return agent.map_or((), |agent| self.put_off(now, Failure::Silent(agent), out));
        }
        out.push(Output::Begun);
        self.phase = Phase::Running { at };
        for member in self.members.values_mut() {
            member.stage = Stage::Running;
            member.heard = at;
        }
        self.beat(now, out);
    }

    fn put_off(&mut self, now: Nanos, failure: Failure, out: &mut Vec<Output>) {
        match self.phase {
            Phase::Arming { tries, .. } if tries < STARTS => self.agree(now, tries + 1, out),
            Phase::Arming { .. } => self.fail(failure, out),
            _ => {}
        }
    }

    fn asked(&mut self, now: Nanos, agent: &AgentId, info: Option<&Info>, out: &mut Vec<Output>) {
        let Some(member) = self.members.get_mut(agent).filter(|member| !member.is_final()) else { return };
        member.silent = info.is_none();
        let Some(info) = info else { return };
        if now.since(member.heard) <= LOST {
            return;
        }
        if info.incarnation != member.engaged.incarnation {
            member.gone = true;
            return self.lose(agent, "it was started again, and its load has ended", out);
        }
        if info.run.as_ref() != Some(&self.request.run) {
            member.gone = true;
            self.lose(agent, "it works for this run no longer", out);
        }
    }

    fn piece(
        &mut self,
        now: Nanos,
        (agent, incarnation): (&AgentId, &Incarnation),
        copy: u32,
        (from, bytes): (u64, Bytes),
        out: &mut Vec<Output>,
    ) {
        let Some(member) = self.members.get_mut(agent) else { return };
        if member.engaged.incarnation != *incarnation || member.stage == Stage::Whole {
            return;
        }
        if copy < member.attempt_min {
            return;
        }
        member.attempt = member.attempt.max(copy);
        let grown = member.copy.take(from, bytes);
        hear(now, member, out);
        if member.stage == Stage::Lost && !member.gone && !grown.is_empty() {
            // It was given up too early; what comes now counts.
            member.stage = Stage::Running;
        }
        out.extend(grown.into_iter().map(|bytes| Output::Append { agent: agent.clone(), bytes }));
        seal_if_whole(member, out);
    }

    fn event(
        &mut self,
        now: Nanos,
        agent: &AgentId,
        incarnation: &Incarnation,
        Event { number, kind }: Event,
        out: &mut Vec<Output>,
    ) {
        let Some(member) = self.members.get_mut(agent) else { return };
        let is_text = matches!(kind, EventKind::Wrote { .. });
        let seen = if is_text { &mut member.wrote } else { &mut member.events };
        if member.engaged.incarnation != *incarnation || number <= *seen {
            return;
        }
        *seen = number;
        hear(now, member, out);
        match kind {
            EventKind::Ready { offset } if member.stage == Stage::Preparing && offset.is_sane() => {
                member.stage = Stage::Ready(offset);
                self.agree_if_ready(now, out);
            }
            EventKind::Wrote { lines, left_out } => {
                out.push(Output::Tell(Notice::Wrote { agent: agent.clone(), lines, left_out }));
            }
            EventKind::Failed { why } if matches!(self.phase, Phase::Running { .. }) => {
                member.gone = true;
                self.lose(agent, &why, out);
            }
            EventKind::Failed { why } => self.fail(Failure::NotReady { agent: agent.clone(), why }, out),
            EventKind::Ended { length, digest, warning, said } if member.stage != Stage::Whole => {
                let ends = said.stopped.is_some();
                if !said.is_nothing() {
                    out.push(Output::Tell(Notice::Said { agent: agent.clone(), said }));
                }
                if let Some(text) = warning {
                    out.push(Output::Tell(Notice::Warning { agent: agent.clone(), text }));
                }
                member.stage = Stage::Ended { length, digest };
                seal_if_whole(member, out);
                if ends {
                    // The test ends for all.
                    self.stop(now, StopLevel::Abort, out);
                }
            }
            _ => {}
        }
    }

    fn sealed(&mut self, agent: &AgentId, digest: &Digest, out: &mut Vec<Output>) {
        let Some(member) = self.members.get_mut(agent) else { return };
        member.sealing = false;
        let Stage::Ended { digest: wanted, .. } = &member.stage else { return };
        if wanted == digest {
            member.stage = Stage::Whole;
            out.push(Output::Close(agent.clone()));
            return;
        }
        member.copies += 1;
        if member.copies >= COPIES {
            member.gone = true;
            return self.lose(agent, "the copy of its record differs from it", out);
        }
        member.copy.clear();
        member.attempt_min = member.attempt.saturating_add(1);
        out.push(Output::Restart(agent.clone()));
        out.push(order(&member.engaged, Action::Resend { from: 0 }));
    }

    fn stop(&mut self, now: Nanos, level: StopLevel, out: &mut Vec<Output>) {
        if level <= self.stop {
            return;
        }
        self.stop = level;
        if !matches!(self.phase, Phase::Running { .. }) {
            return self.fail(Failure::Stopped, out);
        }
        self.stopped.get_or_insert(now);
        out.extend(self.members.values().map(|member| order(&member.engaged, Action::Stop { level })));
        self.beat(now, out);
    }

    fn lose(&mut self, agent: &AgentId, why: &str, out: &mut Vec<Output>) {
        let Some(member) = self.members.get_mut(agent) else { return };
        member.stage = Stage::Lost;
        out.push(Output::Tell(Notice::Lost { agent: agent.clone(), why: why.to_owned() }));
        out.push(Output::Close(agent.clone()));
    }

    /// Frees all agents: there is no run.
    fn fail(&mut self, failure: Failure, out: &mut Vec<Output>) {
        if self.phase == Phase::Done {
            return;
        }
        self.release(out);
        self.phase = Phase::Done;
        out.push(Output::Finish(Err(failure)));
    }

    fn release(&self, out: &mut Vec<Output>) {
        out.extend(self.members.values().map(|member| order(&member.engaged, Action::Release)));
    }

    fn all(&self, is: impl Fn(&Stage) -> bool) -> bool {
        self.members.values().all(|member| is(&member.stage))
    }

    fn engaged(&self) -> Vec<Engaged> {
        self.members.values().map(|member| member.engaged.clone()).collect()
    }

    fn beat(&mut self, now: Nanos, out: &mut Vec<Output>) {
        self.beats += 1;
        out.push(Output::Beat(Beat {
            run: self.request.run.clone(),
            lead: self.lead,
            number: self.beats,
            armed: match self.phase {
                Phase::Running { at } => Some(at),
                _ => None,
            },
            sent: now,
            stop: self.stop,
        }));
    }

    /// What is due because time has passed.
    fn pass(&mut self, now: Nanos, out: &mut Vec<Output>) {
        if self.phase == Phase::Done {
            return;
        }
        // An agent that hears none of those just before the start does not start.
        let pause = match self.phase {
            Phase::Running { at } if now < at => BEAT_AT_START,
            _ => BEAT,
        };
        if self.beaten.is_none_or(|at| now.since(at) >= pause) && !self.members.is_empty() {
            self.beaten = Some(now);
            self.beat(now, out);
        }
        match self.phase {
            Phase::Looking { since, looked } => self.pass_looking(now, since, looked, out),
            Phase::Claiming { since } if now.since(since) > CLAIM + CLAIM => {
                let late = self.members.values().find(|member| member.stage == Stage::Claiming);
                if let Some(agent) = late.map(|member| member.engaged.agent.clone()) {
                    self.fail(Failure::Silent(agent), out);
                }
            }
            Phase::Preparing { since } if now.since(since) > PREPARE => {
                let late = self.members.values().find(|member| member.stage == Stage::Preparing);
                if let Some(agent) = late.map(|member| member.engaged.agent.clone()) {
                    self.fail(Failure::Late(agent), out);
                }
            }
            Phase::Arming { at, .. } if now > at => {
                let late = self.members.values().find(|member| matches!(member.stage, Stage::Arming(_)));
                if let Some(agent) = late.map(|member| member.engaged.agent.clone()) {
                    self.put_off(now, Failure::Silent(agent), out);
                }
            }
            Phase::Running { at } => self.pass_running(now, at, out),
            _ => {}
        }
    }

    fn pass_looking(&mut self, now: Nanos, since: Nanos, looked: Option<Nanos>, out: &mut Vec<Output>) {
        if now.since(since) > CLAIM {
            let none = || Failure::Unfit(Box::new(Unfit::none(&self.request.wanted)));
            let failure = self.unfit.take().unwrap_or_else(none);
            return self.fail(failure, out);
        }
        if looked.is_none_or(|at| now.since(at) >= LOOK_AGAIN) {
            self.phase = Phase::Looking { since, looked: Some(now) };
            out.push(Output::Look);
        }
    }

    fn pass_running(&mut self, now: Nanos, at: Nanos, out: &mut Vec<Output>) {
        let planned = self.request.lasts.map(|lasts| at + lasts + OVERDUE);
        let stopped = self.stopped.map(|stopped| stopped + OVERDUE + OVERDUE);
        let overdue = planned.into_iter().chain(stopped).min();
        let mut lost = Vec::new();
        for (agent, member) in self.members.iter_mut().filter(|(_, member)| !member.is_final()) {
            let silent = now.since(member.heard);
            if silent > QUIET && !member.quiet {
                member.quiet = true;
                out.push(Output::Tell(Notice::Quiet(agent.clone())));
            }
            if member.quiet && member.asked.is_none_or(|asked| now.since(asked) >= ASK_AGAIN) {
                member.asked = Some(now);
                out.push(Output::Ask(agent.clone()));
            }
            if silent > LOST && member.silent {
                lost.push((agent.clone(), "nothing is heard of it"));
            } else if silent > LOST && overdue.is_some_and(|overdue| now > overdue) {
                member.gone = true;
                lost.push((agent.clone(), "it answers, but the end of its record does not come"));
            } else if silent > MISSING
                && matches!(member.stage, Stage::Ended { .. })
                && !member.sealing
                && member.resent.is_none_or(|resent| now.since(resent) > MISSING)
            {
                member.resent = Some(now);
                let from = member.copy.length();
                out.push(order(&member.engaged, Action::Resend { from }));
            }
        }
        for (agent, why) in lost {
            self.lose(&agent, why, out);
        }
        if !self.loading && self.members.values().all(|member| member.is_over(now)) {
            self.release(out);
            self.phase = Phase::Done;
            out.push(Output::Finish(Ok(self.engaged())));
        }
    }
}

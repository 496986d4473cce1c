//! An agent of a run as its controller knows it: how far it is, and what of its record has arrived.
//!
//! Does not decide what is done about it.

use knee_core::unit::Nanos;

use super::message::{Engaged, Notice, Output};
use crate::copy::Copy;
use crate::offset::Offset;
use crate::wire::{Action, Digest};

/// Until then, a lost agent that was only cut off can come back: a little longer than it goes on without a controller.
const LINGER: Nanos = Nanos::from_secs(35);

/// How far an agent is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stage {
    /// An order is on its way, or was accepted.
    Claiming,
    Claimed,
    Preparing,
    Ready(Offset),
    Arming(Offset),
    Armed(Offset),
    /// Its record comes.
    Running,
    /// Its record is complete there, and is compared with the copy.
    Ended {
        length: u64,
        digest: Digest,
    },
    /// The copy is its record.
    Whole,
    /// Nothing more is expected.
    Lost,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact about the agent")]
pub(super) struct Member {
    pub(super) engaged: Engaged,
    pub(super) stage: Stage,
    pub(super) copy: Copy,
    /// When something last came from it.
    pub(super) heard: Nanos,
    pub(super) quiet: bool,
    /// When it was asked last, and whether that is unanswered.
    pub(super) asked: Option<Nanos>,
    pub(super) silent: bool,
    /// The last piece of text that was seen. Pieces can arrive after later events, which must not be taken for old then.
    pub wrote: u64,
    /// Events that were seen: each is announced until it is acknowledged.
    pub(super) events: u64,
    /// When its journal was asked for again.
    pub(super) resent: Option<Nanos>,
    /// Whether it is known that nothing more comes from it: its part failed, or its process is gone.
    pub(super) gone: bool,
    /// How often the order on its way was sent.
    pub(super) tries: u32,
    pub(super) sealing: bool,
    pub(super) copies: u32,
    /// Highest attempt to publish the journal that was seen, and the lowest whose pieces count.
    pub(super) attempt: u32,
    pub(super) attempt_min: u32,
}

impl Member {
    pub(super) fn new(engaged: Engaged, stage: Stage, now: Nanos) -> Self {
        Self {
            engaged,
            stage,
            copy: Copy::default(),
            heard: now,
            quiet: false,
            asked: None,
            silent: false,
            wrote: 0,
            events: 0,
            resent: None,
            gone: false,
            tries: 0,
            sealing: false,
            copies: 0,
            attempt: 0,
            attempt_min: 0,
        }
    }

    pub(super) const fn is_final(&self) -> bool {
        matches!(self.stage, Stage::Whole | Stage::Lost)
    }

    /// Whether nothing can come from it any more. Who is lost because nothing was heard can come back until it would have
    /// ended its load by itself.
    pub(super) fn is_over(&self, now: Nanos) -> bool {
        match self.stage {
            Stage::Whole => true,
            Stage::Lost => self.gone || now.since(self.heard) > LINGER,
            _ => false,
        }
    }
}

/// An order to an agent.
pub(super) fn order(engaged: &Engaged, action: Action) -> Output {
    let Engaged { agent, incarnation, .. } = engaged;
    Output::Order { agent: agent.clone(), incarnation: incarnation.clone(), action }
}

/// Something came from an agent.
pub(super) fn hear(now: Nanos, member: &mut Member, out: &mut Vec<Output>) {
    // Before the start, the time of the start counts.
    member.heard = member.heard.max(now);
    (member.asked, member.silent) = (None, false);
    if std::mem::take(&mut member.quiet) {
        out.push(Output::Tell(Notice::Back(member.engaged.agent.clone())));
    }
}

/// Has the copy compared with the record as soon as it is as long.
pub(super) fn seal_if_whole(member: &mut Member, out: &mut Vec<Output>) {
    if let Stage::Ended { length, .. } = member.stage
        && member.copy.length() >= length
        && !member.sealing
    {
        member.sealing = true;
        out.push(Output::Seal(member.engaged.agent.clone()));
    }
}

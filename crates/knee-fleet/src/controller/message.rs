//! What happens to a controller, and what it wants done.
//!
//! Does not decide anything.

use bytes::Bytes;
use knee_core::record::Build;
use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

use super::choice::{Unfit, Wanted};
use crate::name::{AgentId, Incarnation, RunId};
use crate::wire::{Action, Beat, Digest, Event, Info, Part, Refusal, Reply, Said, StopLevel};

/// What is to be done with which agents.
#[derive(Clone, Debug)]
pub struct Request {
    /// Name of the run.
    pub run: RunId,
    /// The agents.
    pub wanted: Wanted,
    /// The controller's own program: agents must have the same, unless `mixed`.
    pub build: Build,
    /// Whether agents can have other builds.
    pub mixed: bool,
    /// How long the load takes, with its grace period; `None` without an end in time.
    pub lasts: Option<Nanos>,
}

/// An agent of a run, as kept for a controller that takes over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Engaged {
    /// The agent.
    pub agent: AgentId,
    /// Its process.
    pub incarnation: Incarnation,
    /// Its part.
    pub part: Part,
}

/// What happened.
#[derive(Debug)]
pub enum Input {
    /// These agents answered a look.
    Found(Vec<Info>),
    /// An agent answered an order, or did not.
    Reply {
        /// The agent.
        agent: AgentId,
        /// The order.
        action: Action,
        /// The answer; `None` if there was none.
        reply: Option<Reply>,
    },
    /// An agent was asked who it is.
    Asked {
        /// The agent.
        agent: AgentId,
        /// Its answer; `None` if there was none.
        info: Option<Box<Info>>,
    },
    /// A piece of a journal.
    Piece {
        /// The agent.
        agent: AgentId,
        /// Its process.
        incarnation: Incarnation,
        /// Which attempt to publish the journal it belongs to.
        copy: u32,
        /// Where it begins.
        from: u64,
        /// Its bytes.
        bytes: Bytes,
    },
    /// An event of an agent.
    Event {
        /// The agent.
        agent: AgentId,
        /// Its process.
        incarnation: Incarnation,
        /// The event.
        event: Event,
    },
    /// The SHA-256 of the copy of an agent's record.
    Sealed {
        /// The agent.
        agent: AgentId,
        /// The digest.
        digest: Digest,
    },
    /// The job is where agents can fetch it; or there is none.
    Job(Result<Digest, String>),
    /// A person wants the load to end.
    Stop(StopLevel),
    /// What follows the load of a run that was taken over is known.
    Loaded,
    /// This controller has no connection: that nothing comes says nothing of the agents.
    Offline,
    /// Time has passed.
    Tick,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Ask all agents who they are; then [`Input::Found`].
    Look,
    /// Sign and send an order; then [`Input::Reply`].
    Order {
        /// To this agent.
        agent: AgentId,
        /// Of this process.
        incarnation: Incarnation,
        /// The order.
        action: Action,
    },
    /// Ask an agent who it is; then [`Input::Asked`].
    Ask(AgentId),
    /// Sign and publish a sign of life.
    Beat(Beat),
    /// The agents are chosen: keep this for a controller that takes over.
    Save(Vec<Engaged>),
    /// Make the job, and put it where agents can fetch it; then [`Input::Job`].
    MakeJob,
    /// The load begins: from now on it can be taken over.
    Begun,
    /// Append to the copy of an agent's record.
    Append {
        /// The agent.
        agent: AgentId,
        /// What comes next.
        bytes: Bytes,
    },
    /// Empty the copy: it differed from the record.
    Restart(AgentId),
    /// Compute the digest of a copy; then [`Input::Sealed`].
    Seal(AgentId),
    /// Nothing more is expected of this agent's record.
    Close(AgentId),
    /// Something that the user should know.
    Tell(Notice),
    /// The run is over.
    Finish(Result<Vec<Engaged>, Failure>),
}

/// What the user should know.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// These agents make the load.
    Claimed(Vec<AgentId>),
    /// The start is in this time; the clocks are compared to within this bound.
    Starting {
        /// From now.
        after: Nanos,
        /// The widest bound of an offset.
        bound: Nanos,
    },
    /// Nothing came from an agent for a while.
    Quiet(AgentId),
    /// It came again.
    Back(AgentId),
    /// An agent is lost.
    Lost {
        /// The agent.
        agent: AgentId,
        /// Why.
        why: String,
    },
    /// What the script of an agent said of the test.
    Said {
        /// The agent.
        agent: AgentId,
        /// What.
        said: Said,
    },
    /// What the script of an agent wrote.
    Wrote {
        /// The agent.
        agent: AgentId,
        /// The lines.
        lines: Vec<String>,
        /// How many more there were.
        left_out: u64,
    },
    /// What an agent says of its part.
    Warning {
        /// The agent.
        agent: AgentId,
        /// What.
        text: String,
    },
}

/// Why there is no run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    /// Not enough agents are free.
    #[error(transparent)]
    Unfit(#[from] Box<Unfit>),
    /// An agent did not accept an order.
    #[error("{agent}: {why}")]
    Refused {
        /// The agent.
        agent: AgentId,
        /// Why.
        why: Refusal,
    },
    /// An agent did not answer.
    #[error("{0} did not answer")]
    Silent(AgentId),
    /// An agent cannot make its part.
    #[error("{agent}: {why}")]
    NotReady {
        /// The agent.
        agent: AgentId,
        /// Why.
        why: String,
    },
    /// Agents took too long.
    #[error("{0} was not ready within 5 minutes")]
    Late(AgentId),
    /// A clock cannot be compared well enough.
    #[error("the clock of {agent} is known to within {bound} only: its messages take too long")]
    Clock {
        /// The agent.
        agent: AgentId,
        /// How wrong the offset can be.
        bound: Nanos,
    },
    /// There is nothing to be made.
    #[error("{0}")]
    NoJob(String),
    /// It was stopped before the start.
    #[error("it was stopped before the start")]
    Stopped,
    /// Another controller has the run now.
    #[error("another controller has taken over the run")]
    Superseded,
}

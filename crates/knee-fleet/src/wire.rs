//! The messages between controllers and agents, and the subjects that carry them.
//!
//! JSON; fields that a reader does not know are ignored. Does not sign ([`crate::signature`]) nor send ([`crate::nats`]).

use knee_core::record::{Build, Machine};
use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

use crate::name::{AgentId, Incarnation, RunId};
use crate::offset::Offset;

/// The version of the messages. A controller claims no agent that speaks another one.
pub const WIRE: u32 = 1;

/// The subjects of the messages.
pub mod subject {
    use super::{AgentId, Incarnation, RunId};

    /// All agents answer with an [`super::Info`].
    pub const ASK_ALL: &str = "knee.v1.fleet.ask";

    /// One agent answers with an [`super::Info`].
    pub fn ask(agent: &AgentId) -> String {
        format!("knee.v1.agent.{agent}.ask")
    }

    /// One agent answers a signed [`super::Order`] with a [`super::Reply`].
    pub fn order(agent: &AgentId) -> String {
        format!("knee.v1.agent.{agent}.order")
    }

    /// Signed [`super::Beat`]s of a controller.
    pub fn beat(run: &RunId) -> String {
        format!("knee.v1.run.{run}.beat")
    }

    /// The controller answers with the time ([`super::Time`]).
    pub fn clock(run: &RunId) -> String {
        format!("knee.v1.run.{run}.clock")
    }

    /// Bytes of the record of an agent.
    pub fn journal(run: &RunId, agent: &AgentId, incarnation: &Incarnation) -> String {
        format!("knee.v1.run.{run}.journal.{agent}.{incarnation}")
    }

    /// What happened to an agent ([`super::Event`]).
    pub fn event(run: &RunId, agent: &AgentId, incarnation: &Incarnation) -> String {
        format!("knee.v1.run.{run}.event.{agent}.{incarnation}")
    }

    /// What the stream of a run keeps.
    pub fn kept(run: &RunId) -> [String; 2] {
        [format!("knee.v1.run.{run}.journal.>"), format!("knee.v1.run.{run}.event.>")]
    }

    /// Whether this is the subject of a journal (as opposed to an event), which agent sent it, and which process.
    pub fn sender(subject: &str) -> Option<(bool, AgentId, Incarnation)> {
        let mut words = subject.split('.').skip(4);
        let kind = words.next()?;
        let (agent, incarnation) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        matches!(kind, "journal" | "event").then_some((kind == "journal", agent, incarnation))
    }
}

/// Names of headers.
pub mod header {
    /// Public key of the signer.
    pub const KEY: &str = "Knee-Key";
    /// Ed25519 signature of the body, in base64.
    pub const SIGNATURE: &str = "Knee-Signature";
    /// Where in the journal a piece begins.
    pub const OFFSET: &str = "Knee-Offset";
    /// Which attempt to publish the journal a piece belongs to.
    pub const COPY: &str = "Knee-Copy";
}

/// SHA-256 as hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(pub String);

impl Digest {
    /// That of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
        Self(digest.as_ref().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}")))
    }
}

/// What an agent says of itself when it is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// The version of its messages.
    pub wire: u32,
    /// Its name.
    pub agent: AgentId,
    /// Its process.
    pub incarnation: Incarnation,
    /// The fleet that it belongs to.
    pub fleet: Option<String>,
    /// Its program.
    pub build: Build,
    /// Its machine.
    pub machine: Machine,
    /// What the next order must repeat; of use once, and for half a minute.
    pub challenge: String,
    /// The run that it works for.
    pub run: Option<RunId>,
}

/// What an agent is to do. It is signed, and bound to one process of one agent and to one challenge, so that it is of no use
/// to one who records it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The version of the messages.
    pub wire: u32,
    /// For whom it is.
    pub agent: AgentId,
    /// For which of its processes.
    pub incarnation: Incarnation,
    /// Which challenge it answers.
    pub challenge: String,
    /// For which run.
    pub run: RunId,
    /// The controller's number: an agent obeys none below the highest that it has seen. 0 is that of a person who stops a
    /// load without taking over: such a stop is always obeyed.
    pub lead: u64,
    /// What to do.
    pub action: Action,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Action {
    /// Work for this run and no other.
    Claim,
    /// Fetch the job, make the users, compare the clocks.
    Prepare {
        /// The job.
        job: Digest,
        /// The part of it.
        part: Part,
    },
    /// Start at this time of the controller's clock.
    Go {
        /// The time.
        at: Nanos,
    },
    /// Work for the controller with this lead from now on.
    Follow,
    /// End the load.
    Stop {
        /// How.
        level: StopLevel,
    },
    /// Publish the journal again from this byte.
    Resend {
        /// The byte.
        from: u64,
    },
    /// The run is over; be free.
    Release,
    /// Answer with the kept record of this run, from this byte on ([`Reply::Record`]).
    Fetch {
        /// The byte.
        from: u64,
    },
}

/// One of the parts of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its number, from 0.
    pub index: u32,
    /// How many there are.
    pub of: u32,
    /// The segment, such as `0:1/4`.
    pub segment: String,
    /// The ends of all segments.
    pub sequence: String,
}

impl Part {
    /// All `of` equal parts of a load.
    pub fn equal(of: u32) -> Vec<Self> {
        let point = |index: u32| match index {
            0 => "0".to_owned(),
            index if index == of => "1".to_owned(),
            index => format!("{index}/{of}"),
        };
        let sequence = (0..=of).map(point).collect::<Vec<_>>().join(",");
        let part = |index| Self {
            index,
            of,
            segment: format!("{}:{}", point(index), point(index + 1)),
            sequence: sequence.clone(),
        };
        (0..of).map(part).collect()
    }
}

/// How a load ends before its plan does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopLevel {
    /// Not at all.
    #[default]
    None,
    /// No new requests; those in flight can finish.
    Stop,
    /// At once.
    Abort,
}

/// An agent's answer to an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// It is being done.
    Accepted,
    /// It is not.
    Refused {
        /// Why.
        why: Refusal,
    },
    /// A piece of a kept record.
    Record {
        /// Bytes of the whole record.
        of: u64,
        /// The piece, in base64; empty at the end of the record.
        bytes: String,
    },
}

/// Why an agent does not obey.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Refusal {
    /// There is no signature, or it is not that of the body.
    #[error("the order is not signed")]
    Unsigned,
    /// The agent does not know the signer.
    #[error("the signer {key} is not among the `signers` of the agent")]
    Signer {
        /// The signer's public key.
        key: String,
    },
    /// The order is no order.
    #[error("the order cannot be read: {error}")]
    Unreadable {
        /// Why.
        error: String,
    },
    /// Another version of the messages.
    #[error("the order has version {wire} of the messages, the agent has {WIRE}")]
    Wire {
        /// That of the order.
        wire: u32,
    },
    /// The order is for another agent, or for an earlier process of this one.
    #[error("the order is for another agent, or for an earlier process of this one")]
    Receiver,
    /// The challenge was used already, or was never given.
    #[error("the order was sent before, or answers no challenge of the agent")]
    Replayed,
    /// The challenge is older than half a minute.
    #[error("the order is too old")]
    Expired,
    /// Another controller has taken over.
    #[error("another controller has taken over the run")]
    Lead,
    /// The agent works for another run.
    #[error("the agent works for the run {run}")]
    Busy {
        /// The other one.
        run: RunId,
    },
    /// The agent does not work for this run.
    #[error("the agent does not work for this run")]
    NotClaimed,
    /// The order does not fit the state of the agent.
    #[error("the agent is not ready for this order")]
    Early,
    /// The start would be in the past.
    #[error("the time of the start has passed")]
    TooLate,
    /// The agent keeps no record of the run.
    #[error("the agent has no record of this run")]
    NoRecord,
}

/// Twice a second from the controller: it lives, and this is what it wants. Signed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    /// Its run.
    pub run: RunId,
    /// The controller's number.
    pub lead: u64,
    /// Of the beats with this lead, from 1: lower ones are out of date.
    pub number: u64,
    /// All agents are armed for this time of the controller's clock: each can start then.
    pub armed: Option<Nanos>,
    /// When this was sent, on the controller's clock.
    pub sent: Nanos,
    /// How the load is to end.
    pub stop: StopLevel,
}

/// The controller's answer to a question for the time, on its own monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time {
    /// When the question was received.
    pub noted: Nanos,
    /// When this answer was sent.
    pub replied: Nanos,
}

/// What happened to an agent, in the stream of its run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Of this agent's events, from 1.
    pub number: u64,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// All users are made, and the clocks are compared.
    Ready {
        /// The controller's clock minus the agent's.
        offset: Offset,
    },
    /// The part is not made.
    Failed {
        /// Why, for people.
        why: String,
    },
    /// The record is complete.
    Ended {
        /// Its bytes.
        length: u64,
        /// Its SHA-256.
        digest: Digest,
        /// What the user should know, such as why it ended early.
        warning: Option<String>,
        /// What a script said of the test.
        #[serde(default, skip_serializing_if = "Said::is_nothing")]
        said: Said,
    },
    /// Lines that its script wrote. Can arrive after later events, and count as none of them.
    Wrote {
        /// The lines.
        lines: Vec<String>,
        /// How many more there were since the last ones.
        left_out: u64,
    },
}

/// What a script said of the test that it is a part of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Why it ended the test, or could not go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// Whether it marked the test as failed.
    #[serde(default)]
    pub failed: bool,
    /// Iterations that it began, those that were cut off at the end included.
    #[serde(default)]
    pub iterations: u64,
}

/// Why a script ended its test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stopped", content = "why", rename_all = "snake_case")]
pub enum Stopped {
    /// It asked for it.
    Asked(String),
    /// It threw while a user was made.
    Threw(String),
    /// A user could not be made.
    Failed(String),
}

impl Said {
    /// Whether it said nothing.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parts_are_segments_of_one_sequence() {
        let parts = Part::equal(4);
        let segments: Vec<&str> = parts.iter().map(|part| part.segment.as_str()).collect();
        assert_eq!(segments, ["0:1/4", "1/4:2/4", "2/4:3/4", "3/4:1"]);
        assert!(parts.iter().all(|part| part.sequence == "0,1/4,2/4,3/4,1"));
        assert_eq!(Part::equal(1)[0].segment, "0:1");
    }

    #[test]
    fn the_sender_is_in_the_subject() {
        let run: RunId = "run-1".parse().unwrap();
        let (agent, incarnation): (AgentId, _) = ("load-01".parse().unwrap(), Incarnation::random());
        let journal = subject::journal(&run, &agent, &incarnation);
        assert_eq!(subject::sender(&journal), Some((true, agent.clone(), incarnation.clone())));
        let event = subject::event(&run, &agent, &incarnation);
        assert_eq!(subject::sender(&event), Some((false, agent, incarnation)));
        assert_eq!(subject::sender("knee.v1.run.run-1.beat"), None);
    }
}

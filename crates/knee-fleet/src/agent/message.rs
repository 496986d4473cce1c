//! What happens to an agent, and what it wants done.
//!
//! Does not decide anything.

use knee_core::record::{Build, Machine};
use knee_core::unit::Nanos;

use crate::child::{FromChild, ToChild};
use crate::name::{AgentId, Incarnation, RunId};
use crate::offset::Exchange;
use crate::policy::Extent;
use crate::signature::Signed;
use crate::uplink::Piece;
use crate::wire::{Digest, Event, Info, Part, Reply};

/// What an agent says of itself.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its name.
    pub agent: AgentId,
    /// This process.
    pub incarnation: Incarnation,
    /// The fleet that it belongs to.
    pub fleet: Option<String>,
    /// The program.
    pub build: Build,
    /// The machine.
    pub machine: Machine,
}

/// What happened. `to` is who waits for the answer.
#[derive(Debug)]
pub enum Input {
    /// A controller asks who this is.
    Ask {
        /// Who.
        to: u64,
    },
    /// An order.
    Order {
        /// As received.
        body: Vec<u8>,
        /// Its signature.
        signed: Option<Signed>,
        /// Who sent it.
        to: u64,
    },
    /// A sign of life of a controller.
    Beat {
        /// As received.
        body: Vec<u8>,
        /// Its signature.
        signed: Option<Signed>,
    },
    /// The job was fetched, and this is what it would load; or that failed.
    Job(Result<Extent, String>),
    /// A line from the process that makes the part.
    Child(FromChild),
    /// The process is gone.
    ChildGone,
    /// The process wrote these lines.
    Wrote {
        /// The first ones.
        lines: Vec<String>,
        /// How many more there were.
        more: u64,
    },
    /// The controller said what time it is.
    Clock(Exchange),
    /// The journal has this many bytes.
    Journal(u64),
    /// The journal is complete.
    Sealed {
        /// Its bytes.
        length: u64,
        /// Its SHA-256.
        digest: Digest,
    },
    /// A piece of the journal is safe.
    Published(Piece),
    /// The event with this number is safe.
    Announced(u64),
    /// Time has passed.
    Tick,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Answer a question.
    Info {
        /// Who asked.
        to: u64,
        /// The answer.
        info: Box<Info>,
    },
    /// Answer an order.
    Reply {
        /// Who sent it.
        to: u64,
        /// The answer.
        reply: Reply,
    },
    /// Answer with a piece of a kept record.
    ReadRecord {
        /// Who asked.
        to: u64,
        /// Of which run.
        run: RunId,
        /// From which byte on.
        from: u64,
    },
    /// Listen for signs of life in this run.
    Listen(RunId),
    /// Fetch a job; then [`Input::Job`].
    Fetch {
        /// Which.
        job: Digest,
        /// The part of it.
        part: Part,
    },
    /// Start the process that makes the part of the job.
    Start,
    /// Say this to it.
    Tell(ToChild),
    /// Ask the controller for the time after a pause; then [`Input::Clock`].
    AskTime {
        /// How long to wait before.
        after: Nanos,
    },
    /// Publish a piece of the journal; then [`Input::Published`].
    Publish(Piece),
    /// Publish an event; then [`Input::Announced`].
    Announce(Event),
    /// Kill the process, which does not end by itself; then [`Input::ChildGone`].
    Kill,
    /// Compute the digest of the journal; then [`Input::Sealed`].
    Seal,
    /// This run is over: end its process, stop listening.
    End,
}

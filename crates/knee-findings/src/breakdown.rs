//! The parts of the mean response time: those that were measured, and what is left.
//!
//! Plain data. Does not measure and does not lay anything out.

use serde::Serialize;

/// The parts of the mean response time. All times are seconds per complete response.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Breakdown {
    /// Mean response time of complete responses; above zero.
    pub response_s: f64,
    /// Measured parts, the largest first. Work can overlap, so their sum can be more than the response time.
    pub parts: Vec<Part>,
    /// The time from the last byte sent to the first byte received.
    pub waiting_s: f64,
    /// The part of the waiting that is not observed work for this response, at least: requests wait in queues, also for the
    /// observed work of others.
    pub unobserved_s: f64,
    /// Observed servers of which the statements are not known: their time is in `unobserved_s`.
    pub unknown: Vec<String>,
}

impl Breakdown {
    /// A time as a share of the response time.
    pub fn share(&self, seconds: f64) -> f64 {
        seconds / self.response_s
    }

    /// Whether more work was observed than a response takes: some of it ran in parallel, or was not for these responses.
    /// Up to that, work can be beside the sending and the receiving.
    pub fn overlaps(&self) -> bool {
        self.work_s() > self.response_s
    }

    /// All observed work, in seconds per response.
    pub fn work_s(&self) -> f64 {
        self.parts.iter().filter(|part| part.kind.is_work()).map(|part| part.seconds).sum()
    }
}

/// A measured part of the response time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What kind of time.
    pub kind: PartKind,
    /// The text of the statement, or the name of the command, process or server; empty if the load generator measured
    /// it. Foreign text, to be cleaned before it is shown.
    pub name: String,
    /// The observed source; `None` for what the load generator measured.
    pub source: Option<String>,
    /// Seconds per complete response; finite and above zero.
    pub seconds: f64,
    /// How often it happens per complete response, if it is counted.
    pub times: Option<f64>,
}

/// Kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Until the first byte is sent, without opening a connection: waiting for a free one, or a late load generator.
    BeforeSending,
    /// Opening connections: name lookup, connecting, TLS handshake.
    OpeningConnections,
    /// From the first byte of the request to the last.
    Sending,
    /// From the first byte of the response to the last.
    Receiving,
    /// Execution of one statement.
    Statement,
    /// Execution of all other statements of a server.
    OtherStatements,
    /// Waiting at a PgBouncer for a connection to the server.
    PoolerWait,
    /// Execution of one Redis command, without its round trip.
    Command,
    /// Execution of all other commands of a server.
    OtherCommands,
    /// CPU time of a process.
    Cpu,
    /// Threads of a process that could run wait for a CPU.
    CpuWait,
    /// Connections of a process wait for another service, which is no observed store.
    OtherService,
}

impl PartKind {
    /// Whether it is work that was observed behind the service, and not what the load generator measured.
    pub const fn is_work(self) -> bool {
        !matches!(self, Self::BeforeSending | Self::OpeningConnections | Self::Sending | Self::Receiving)
    }
}

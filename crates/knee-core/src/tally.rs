//! Counts and histograms of requests: what recorders fill, intervals carry and totals sum up.
//!
//! Does not read a clock and does not judge. Everything here merges
//! without loss: a tally of a run is the sum of the tallies of its intervals and workers.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::outcome::{Blame, Fault, Outcome};
use crate::plan::EndpointId;

mod examples;
mod stored;
mod times;
mod unknown;

pub use examples::EXAMPLES_MAX;
pub use times::OutcomeTally;
pub use unknown::{
    UNKNOWN_FAULTS_MAX, UNKNOWN_REST, UNKNOWN_TIMES_MAX, Unknown, UnknownFault, UnknownOutcome, UnknownPhase,
};

/// The phases of a request, and the times of the events of its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Phase {
    /// Resolving the host name; only for requests that did so.
    Dns,
    /// Opening the connection; only for requests that did so.
    Connect,
    /// The TLS handshake; only for requests that did so.
    Tls,
    /// First byte of the request handed to the kernel until the last.
    Send,
    /// Last byte sent until the first byte of the response.
    Wait,
    /// First byte of the response until the last.
    Receive,
    /// From the scheduled send until the first event of the response arrived; only for streams of events.
    FirstEvent,
    /// From the scheduled send until a time limit or the end of the run, of requests that waited in vain for their first
    /// event: lower bounds of [`Phase::FirstEvent`].
    NoEvent,
    /// From one event to the next. One response has many.
    EventGap,
    /// The longest time between two events of each response with an event. If a time limit or the end of the run cut the
    /// response off, the time since its last event counts too.
    LongestGap,
}

impl Phase {
    /// Every phase, in the order in which they happen.
    pub const ALL: [Self; 10] = [
        Self::Dns,
        Self::Connect,
        Self::Tls,
        Self::Send,
        Self::Wait,
        Self::Receive,
        Self::FirstEvent,
        Self::NoEvent,
        Self::EventGap,
        Self::LongestGap,
    ];

    /// Those that version 1 of the record has, in its order.
    pub const OF_VERSION_1: [Self; 6] =
        [Self::Dns, Self::Connect, Self::Tls, Self::Send, Self::Wait, Self::Receive];

    /// Whether it is about the events of a response, and not a part of a request's time.
    pub const fn is_of_events(self) -> bool {
        matches!(self, Self::FirstEvent | Self::NoEvent | Self::EventGap | Self::LongestGap)
    }

    /// The phase of this name; `None` if this version does not know it.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }

    /// The name used in records, JSON, CSV and text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Send => "send",
            Self::Wait => "wait",
            Self::Receive => "receive",
            Self::FirstEvent => "first_event",
            Self::NoEvent => "no_event",
            Self::EventGap => "event_gap",
            Self::LongestGap => "longest_gap",
        }
    }
}

/// What was counted for one endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointTally {
    /// Requests that came due.
    pub planned: u64,
    /// By outcome, in the order of [`Outcome::ALL`].
    pub outcomes: [OutcomeTally; 6],
    /// By phase, in the order of [`Phase::ALL`].
    pub phases: [Histogram; 10],
    /// Send delay: sent - due.
    pub send_delay: Histogram,
    /// Generator lag: the part of the send delay that is the load generator's own, without the wait
    /// for a free connection and without opening one.
    pub generator_lag: Histogram,
    /// Complete responses by status code, ascending.
    pub status: Vec<(u16, u64)>,
    /// Faults by kind, ascending by kind.
    pub faults: Vec<FaultTally>,
    /// Bytes handed to the kernel, heads included, before TLS.
    pub bytes_sent: u64,
    /// Bytes of responses, heads included, after TLS.
    pub bytes_received: u64,
    /// Bytes of bodies as received, before content decoding.
    pub bytes_body: u64,
    /// Connections opened.
    pub connections: u64,
    /// Requests sent once more because the server had closed an idle connection.
    pub resent: u64,
    /// Redirects followed; they are part of their request, not requests of their own.
    pub redirects: u64,
    /// Redirects not followed because they lead to a host or port that is not under load.
    pub redirects_refused: u64,
    /// Responses followed by bytes that no request asked for; their connection was closed.
    pub surplus: u64,
    /// Responses that can belong to other requests, because bytes that no request asked for came on their connection.
    pub doubtful: u64,
    /// The different bodies of complete responses.
    pub bodies: BodyTally,
    /// What a later version counted. Empty in every run of this version.
    pub unknown: Unknown,
}

/// One kind of fault, with a bounded sample of its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultTally {
    /// The kind.
    pub fault: Fault,
    /// How often.
    pub count: u64,
    /// Different messages, at most [`EXAMPLES_MAX`].
    pub examples: Vec<String>,
}

/// Most different bodies that are counted separately.
pub const BODIES_MAX: usize = 64;

/// Which different bodies were seen, by checksum and length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BodyTally {
    /// CRC-32 and length of each, ascending; at most [`BODIES_MAX`].
    pub seen: Vec<(u32, u64)>,
    /// Whether there were more than that.
    pub more: bool,
}

impl BodyTally {
    /// Notes one body.
    #[inline]
    pub fn note(&mut self, checksum: u32, length: u64) {
        if let Err(place) = self.seen.binary_search(&(checksum, length)) {
            if self.seen.len() < BODIES_MAX {
                self.seen.insert(place, (checksum, length));
            } else {
                self.more = true;
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        other.seen.iter().for_each(|(checksum, length)| self.note(*checksum, *length));
        self.more |= other.more;
    }
}

impl EndpointTally {
    /// Counts a response's status code.
    #[inline]
    pub fn note_status(&mut self, status: u16, count: u64) {
        match self.status.binary_search_by_key(&status, |(code, _)| *code) {
            Ok(place) => self.status[place].1 = self.status[place].1.saturating_add(count),
            Err(place) => self.status.insert(place, (status, count)),
        }
    }

    /// Counts a fault; keeps `example` if it is new and there is room.
    pub fn note_fault(&mut self, fault: Fault, count: u64, example: Option<&str>) {
        let place = match self.faults.binary_search_by_key(&fault, |tally| tally.fault) {
            Ok(place) => place,
            Err(place) => {
                self.faults.insert(place, FaultTally { fault, count: 0, examples: Vec::new() });
                place
            }
        };
        let tally = &mut self.faults[place];
        tally.count = tally.count.saturating_add(count);
        examples::keep(&mut tally.examples, example);
    }

    /// How many requests had this outcome.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize].response.count()
    }

    /// The times of every outcome, and whether they are lower bounds; those that this version does not know come last.
    pub fn outcomes(&self) -> impl Iterator<Item = (bool, &OutcomeTally)> {
        let known = Outcome::ALL.into_iter().map(Outcome::is_lower_bound).zip(&self.outcomes);
        known.chain(self.unknown.outcomes.iter().map(|outcome| (outcome.lower_bound, &outcome.times)))
    }

    /// How many requests failed because of `blame`.
    pub fn failed_by(&self, blame: Blame) -> u64 {
        let known = self.faults.iter().filter(|tally| tally.fault.blame() == blame);
        let unknown = self.unknown.faults.iter().filter(|tally| tally.blame == Some(blame));
        known
            .map(|tally| tally.count)
            .chain(unknown.map(|tally| tally.count))
            .fold(0, |sum, count| count.saturating_add(sum))
    }

    /// The request accounting of this endpoint alone.
    pub fn accounting(&self) -> Accounting {
        Accounting {
            planned: self.planned,
            by_outcome: Outcome::ALL.map(|outcome| self.count(outcome)),
            unknown: self.unknown.requests(),
        }
    }

    /// Adds everything `other` counted. Like every merge here it saturates instead of wrapping,
    /// because a file with made-up counts can be merged too.
    pub fn merge(&mut self, other: &Self) {
        self.planned = self.planned.saturating_add(other.planned);
        for (mine, theirs) in self.outcomes.iter_mut().zip(&other.outcomes) {
            mine.response.merge(&theirs.response);
            mine.service.merge(&theirs.service);
        }
        self.phases.iter_mut().zip(&other.phases).for_each(|(mine, theirs)| mine.merge(theirs));
        self.send_delay.merge(&other.send_delay);
        self.generator_lag.merge(&other.generator_lag);
        other.status.iter().for_each(|(status, count)| self.note_status(*status, *count));
        for tally in &other.faults {
            self.note_fault(tally.fault, tally.count, None);
            tally.examples.iter().for_each(|example| self.note_fault(tally.fault, 0, Some(example)));
        }
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.bytes_received = self.bytes_received.saturating_add(other.bytes_received);
        self.bytes_body = self.bytes_body.saturating_add(other.bytes_body);
        self.connections = self.connections.saturating_add(other.connections);
        self.resent = self.resent.saturating_add(other.resent);
        self.redirects = self.redirects.saturating_add(other.redirects);
        self.redirects_refused = self.redirects_refused.saturating_add(other.redirects_refused);
        self.surplus = self.surplus.saturating_add(other.surplus);
        self.doubtful = self.doubtful.saturating_add(other.doubtful);
        self.bodies.merge(&other.bodies);
        self.unknown.merge(&other.unknown);
    }

    /// Every histogram.
    fn histograms(&self) -> impl Iterator<Item = &Histogram> {
        let outcomes = self.outcomes.iter().flat_map(|outcome| [&outcome.response, &outcome.service]);
        let known = outcomes.chain(&self.phases).chain([&self.send_delay, &self.generator_lag]);
        known.chain(self.unknown.histograms())
    }

    /// Every histogram.
    fn histograms_mut(&mut self) -> impl Iterator<Item = &mut Histogram> {
        let outcomes =
            self.outcomes.iter_mut().flat_map(|outcome| [&mut outcome.response, &mut outcome.service]);
        let known = outcomes.chain(&mut self.phases).chain([&mut self.send_delay, &mut self.generator_lag]);
        known.chain(self.unknown.histograms_mut())
    }

    /// Makes every histogram coarser; see [`Histogram::coarsen`].
    pub fn coarsen(&mut self, coarseness: u8) {
        self.histograms_mut().for_each(|histogram| histogram.coarsen(coarseness));
    }

    /// Bytes of heap memory that it takes, to a few per cent, without status codes and messages.
    pub fn heap_bytes(&self) -> usize {
        let histograms: usize = self.histograms().map(Histogram::heap_bytes).sum();
        let lists = self.faults.capacity() * size_of::<FaultTally>();
        let lists = lists + self.bodies.seen.capacity() * size_of::<(u32, u64)>();
        histograms + lists + self.unknown.heap_bytes()
    }

    /// Forgets everything and keeps the memory, for the next interval.
    pub fn clear(&mut self) {
        self.histograms_mut().for_each(Histogram::clear);
        self.status.clear();
        self.faults.clear();
        self.bodies.seen.clear();
        self.bodies.more = false;
        self.unknown.clear();
        (self.planned, self.bytes_sent, self.bytes_received, self.bytes_body) = (0, 0, 0, 0);
        (self.connections, self.resent, self.surplus, self.doubtful) = (0, 0, 0, 0);
        (self.redirects, self.redirects_refused) = (0, 0);
    }
}

/// What was counted in one window of time, by endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// By [`EndpointId`]; endpoints without a request can be missing at the end.
    pub endpoints: Vec<EndpointTally>,
    /// All endpoints together, if `endpoints` were made coarser than this.
    #[serde(skip)]
    pub(crate) whole: Option<Box<EndpointTally>>,
}

impl Tally {
    /// The tally of one endpoint, created if it is new.
    #[inline]
    pub fn endpoint_mut(&mut self, id: EndpointId) -> &mut EndpointTally {
        let place = id.0 as usize;
        if place >= self.endpoints.len() {
            self.endpoints.resize_with(place + 1, EndpointTally::default);
        }
        &mut self.endpoints[place]
    }

    /// Adds everything `other` counted.
    pub fn merge(&mut self, other: &Self) {
        if self.whole.is_some() || other.whole.is_some() {
            let mut whole = self.all();
            whole.merge(&other.all());
            self.whole = Some(Box::new(whole));
        }
        for (place, theirs) in other.endpoints.iter().enumerate() {
            self.endpoint_mut(EndpointId(place as u32)).merge(theirs);
        }
    }

    /// Forgets everything and keeps the memory, for the next interval.
    pub fn clear(&mut self) {
        self.whole = None;
        self.endpoints.iter_mut().for_each(EndpointTally::clear);
    }

    /// Makes the histograms of single endpoints coarser. [`Tally::all`] stays as it is.
    pub fn coarsen(&mut self, coarseness: u8) {
        if self.whole.is_none() {
            self.whole = Some(Box::new(self.all()));
        }
        self.endpoints.iter_mut().for_each(|endpoint| endpoint.coarsen(coarseness));
    }

    /// All endpoints together.
    pub fn all(&self) -> EndpointTally {
        if let Some(whole) = &self.whole {
            return (**whole).clone();
        }
        let mut all = EndpointTally::default();
        self.endpoints.iter().for_each(|endpoint| all.merge(endpoint));
        all
    }

    /// The request accounting: every planned request, once.
    pub fn accounting(&self) -> Accounting {
        let mut accounting = Accounting::default();
        for endpoint in &self.endpoints {
            accounting.merge(&endpoint.accounting());
        }
        accounting
    }
}

/// Request accounting: every planned request has exactly one outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounting {
    /// Requests that came due.
    pub planned: u64,
    /// How they ended, in the order of [`Outcome::ALL`].
    pub by_outcome: [u64; 6],
    /// Requests with outcomes that this version does not know: a later version wrote their record.
    pub unknown: u64,
}

impl Accounting {
    /// How many requests had this outcome.
    pub const fn count(&self, outcome: Outcome) -> u64 {
        self.by_outcome[outcome as usize]
    }

    /// Requests that have ended.
    pub fn ended(&self) -> u64 {
        self.by_outcome.iter().fold(self.unknown, |sum, count| count.saturating_add(sum))
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        self.planned = self.planned.saturating_add(other.planned);
        for (mine, theirs) in self.by_outcome.iter_mut().zip(other.by_outcome) {
            *mine = mine.saturating_add(theirs);
        }
        self.unknown = self.unknown.saturating_add(other.unknown);
    }

    /// Planned minus ended: zero at the end of a run, the requests in flight before that.
    pub fn difference(&self) -> i128 {
        i128::from(self.planned) - i128::from(self.ended())
    }
}

/// The requests in flight over a window of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Concurrency {
    /// Sent and not done at the end of the window.
    pub at_end: u64,
    /// Upper bound of the number in flight at any moment of the window: the sum of the workers' maxima.
    pub max: u64,
    /// Integral of the number in flight over the window, in request-nanoseconds, computed by counting at every start
    /// and end.
    pub area: u128,
    /// The sum, in nanoseconds, of the parts of all service times that lie in the window, computed by clipping each
    /// request's own times. Must equal `area`; a difference is a fault of this program.
    pub clipped: u128,
}

impl Concurrency {
    /// Adds another worker's share of the same window.
    pub fn merge_beside(&mut self, other: &Self) {
        self.at_end = self.at_end.saturating_add(other.at_end);
        self.max = self.max.saturating_add(other.max);
        self.area = self.area.saturating_add(other.area);
        self.clipped = self.clipped.saturating_add(other.clipped);
    }

    /// Adds the window that follows.
    pub fn merge_after(&mut self, next: &Self) {
        self.at_end = next.at_end;
        self.max = self.max.max(next.max);
        self.area = self.area.saturating_add(next.area);
        self.clipped = self.clipped.saturating_add(next.clipped);
    }
}

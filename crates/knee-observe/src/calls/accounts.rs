//! Adds up what looks see of the connections of a process, by the address and port of the other end.
//!
//! Pure. A connection *waits* if it has sent something later than it has received anything. The kernel counts in ticks
//! of 1 to 10 ms: if both happened within one tick, [`Known::guess`] says what can be said. Sockets come and go between
//! looks: what one sent after the last look that saw it is missing, and of one that lived between two looks everything.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::socket::{Socket, Traffic};
use crate::figures::{Bytes, Count, Counter, Figures, Gauge};

/// Most endpoints that are reported one by one.
const ENDPOINTS_MAX: usize = 32;

/// The label of all further ones together.
const OTHERS: &str = "others";

/// Shortest tick that is assumed, in milliseconds: at 300 ticks per second, ages have no common divisor.
const TICK_MIN: u32 = 4;

/// Fewest answers that show how long those of an endpoint take at least.
const ANSWERS_MIN: u64 = 20;

/// Fewest spans that show that a connection sends a segment per segment that it receives.
const EVEN_MIN: u64 = 2;

/// What waits for so many times the longest answer of its endpoint, and for no answer shorter than this, in milliseconds,
/// most likely asked nothing: it replied to a ping, or sent what has no answer.
const OVERDUE: u32 = 10;
const OVERDUE_FROM: u32 = 100;

/// Looks within which numbers of waiting connections are compared: about three seconds, in which a load that rises over
/// a run stays about the same.
const GROUP: u64 = 30;

/// So many waiting connections of one endpoint, or more, count as so many.
const LEVEL_MAX: u64 = 32;

/// Most pairs of an endpoint and a smaller number of its waiting connections: each is a series. A number that is new
/// when there are so many counts as the greatest, which leaves open how many calls the endpoint gets at a time.
const PAIRS_MAX: usize = 256;

/// A connection that is used all the time is seen idle at no look. Up to so many segments that it has sent, those since
/// it was opened say how many are under way; later, answers of several segments make this too inexact.
const FRESH_MAX: u64 = 32;

/// What a connection does at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has asked, and waits for the answer.
    Waits,
    /// It has its answer, or has asked nothing.
    Idle,
    /// One or the other.
    Unsettled,
}

/// What is known of a connection by earlier looks.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The label of its endpoint; empty of one that was accepted.
    endpoint: String,
    last: Traffic,
    /// At the last look that found it idle.
    idle: Option<Traffic>,
    /// Whether a look before it saw none: all of its traffic is counted.
    is_fresh: bool,
    rests: Rests,
    /// Spans between idle looks in which it sent as many segments as it received, and all others.
    even: u64,
    uneven: u64,
}

impl Known {
    /// What it does. `is_slow` if answers of its endpoint take longer than a tick.
    fn state(&self, now: &Traffic, is_slow: bool) -> State {
        if now.sent_segments == 0 {
            State::Idle
        } else if now.received_bytes == 0 || now.sent_age < now.received_age {
            State::Waits
        } else if now.sent_age > now.received_age {
            State::Idle
        } else {
            self.guess(now, is_slow)
        }
    }

    /// What it does if it sent and received within the same tick. Where each question and each answer is one segment,
    /// their numbers say it. Where answers take longer than a tick, the question came last.
    fn guess(&self, now: &Traffic, is_slow: bool) -> State {
        let is_even = self.even >= EVEN_MIN && self.uneven == 0;
        if let Some(idle) = self.idle.as_ref().filter(|_| is_even) {
            let (sent, received) = segments(idle, now);
            return match sent.cmp(&received) {
                std::cmp::Ordering::Equal => State::Idle,
                std::cmp::Ordering::Greater => State::Waits,
                std::cmp::Ordering::Less => State::Unsettled,
            };
        }
        if is_slow { State::Waits } else { State::Unsettled }
    }

    /// Segments since it was idle, also since it was opened if that is not long ago; `None` if neither is known.
    fn since_idle(&self, now: &Traffic) -> Option<(u64, u64)> {
        if let Some(idle) = &self.idle {
            return Some(segments(idle, now));
        }
        let since_opened = segments(&Traffic::default(), now);
        (self.is_fresh && since_opened.0 <= FRESH_MAX).then_some(since_opened)
    }
}

/// Where the next span of a connection can begin: at the last look that found it idle, or waiting. Between two looks of
/// one kind, all calls are whole ones. A connection whose calls take most of the time is hardly ever seen idle.
#[derive(Clone, Copy, Debug, Default)]
struct Rests {
    idle: Option<Traffic>,
    waits: Option<Traffic>,
}

impl Rests {
    /// Notes a look. The begin of the span that ends with it, if there were answers since then.
    fn span_until(&mut self, state: State, now: Traffic) -> Option<Traffic> {
        let (same, other) = match state {
            State::Idle => (&mut self.idle, &mut self.waits),
            State::Waits => (&mut self.waits, &mut self.idle),
            State::Unsettled => return None,
        };
        let is_answered = |before: &Traffic| before.received_segments != now.received_segments;
        let begin = same.replace(now).filter(is_answered);
        if begin.is_some() {
            // No call is in two spans.
            *other = None;
        }
        begin
    }
}

/// Segments that were sent and received since an earlier moment.
fn segments(before: &Traffic, now: &Traffic) -> (u64, u64) {
    // They are counted with 32 bits.
    let since = |before: u32, now: u32| u64::from(now.wrapping_sub(before));
    (since(before.sent_segments, now.sent_segments), since(before.received_segments, now.received_segments))
}

/// Bytes that were sent and received since an earlier moment.
fn bytes(before: &Traffic, now: &Traffic) -> (u64, u64) {
    (
        now.sent_bytes.saturating_sub(before.sent_bytes),
        now.received_bytes.saturating_sub(before.received_bytes),
    )
}

/// The counts of one endpoint.
#[derive(Clone, Debug, Default)]
struct Endpoint {
    /// Connections at the last look, and those of them that waited.
    connections: u64,
    open: u64,
    /// Looks by the number of connections that waited, if any did.
    levels: BTreeMap<u64, u64>,
    /// Sum over all looks: connections that waited, times requests in progress.
    open_requests: u64,
    /// Looks at which a connection held back what it had to send, because what it sent before was not acknowledged
    /// (Nagle's algorithm), and whether this look is one of them.
    held: u64,
    holds: bool,
    /// Sums over all looks.
    waiting: u64,
    unsettled: u64,
    opened: u64,
    sent_bytes: u64,
    received_bytes: u64,
    sent_segments: u64,
    received_segments: u64,
    /// Spans between two looks at which one connection was idle, or waited at both, with traffic; and those alike the span
    /// before.
    spans: u64,
    alike: u64,
    /// Bytes sent, bytes received and segments sent in the last span, by their greatest common divisor: the same for
    /// any number of calls that are the same.
    proportion: Option<[u64; 3]>,
    /// Waiting connections that were idle before, or were opened lately, and their segments since then.
    pending: u64,
    pending_sent: u64,
    pending_received: u64,
    /// Answers of which it was seen how long they took, and the shortest and the longest time, in milliseconds.
    answers: u64,
    shortest: u32,
    longest: u32,
}

impl Endpoint {
    fn count_traffic(&mut self, before: &Traffic, now: &Traffic) {
        let (sent, received) = bytes(before, now);
        self.sent_bytes += sent;
        self.received_bytes += received;
        let (sent, received) = segments(before, now);
        self.sent_segments += sent;
        self.received_segments += received;
    }

    /// Counts how many connections waited at a look, with so many requests in progress. Whether this took the room of
    /// one more pair.
    fn count_level(&mut self, requests: u64, has_room: bool) -> bool {
        if self.open == 0 {
            return false;
        }
        self.open_requests += self.open * requests;
        let level = self.open.min(LEVEL_MAX);
        let is_new = level < LEVEL_MAX && !self.levels.contains_key(&level);
        let counted = if is_new && !has_room { LEVEL_MAX } else { level };
        *self.levels.entry(counted).or_default() += 1;
        is_new && has_room
    }

    /// Counts what a connection did between two looks at which it was idle, or waited.
    fn count_span(&mut self, before: &Traffic, now: &Traffic) {
        let ((sent, received), (segments, _)) = (bytes(before, now), segments(before, now));
        let divisor = [received, segments].into_iter().fold(sent, divisor);
        if sent == 0 || received == 0 || divisor == 0 {
            return;
        }
        let proportion = Some([sent, received, segments].map(|amount| amount / divisor));
        self.spans += 1;
        self.alike += u64::from(self.proportion == proportion);
        self.proportion = proportion;
    }
}

/// How much the number of waiting connections differs between looks. Calls at once begin and end together, so it differs
/// by more than with calls one after another.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    /// Of the present group.
    looks: u64,
    sum: u64,
    squares: u64,
    /// Whole groups, and the sum of their variances.
    groups: u64,
    variance: f64,
}

impl Spread {
    fn add(&mut self, waiting: u64) {
        self.looks += 1;
        self.sum += waiting;
        self.squares += waiting * waiting;
        if self.looks < GROUP {
            return;
        }
        let (looks, sum) = (self.looks as f64, self.sum as f64);
        let variance = (self.squares as f64 - sum * sum / looks) / (looks - 1.0);
        *self =
            Self { groups: self.groups + 1, variance: self.variance + variance.max(0.0), ..Self::default() };
    }
}

/// The greatest common divisor.
fn divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// What was seen of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    looks: u64,
    /// Connections on which a request is in progress, or can be: the sum over all looks.
    requests: u64,
    /// Looks at which more connections waited than requests were in progress.
    ahead: u64,
    spread: Spread,
    /// Ports on which something listened at any look.
    listening: BTreeSet<u16>,
    known: BTreeMap<(u32, SocketAddr, SocketAddr), Known>,
    endpoints: BTreeMap<String, Endpoint>,
    /// Pairs of an endpoint and a number below [`LEVEL_MAX`] of its waiting connections.
    pairs: usize,
    /// The greatest common divisor of all ages, in milliseconds.
    tick: u32,
    /// Whether the sockets that are there were there before the first look.
    is_watched: bool,
}

impl Accounts {
    /// Forgets which sockets there were; what was counted stays.
    pub(super) fn forget_sockets(&mut self) {
        self.known.clear();
        self.is_watched = false;
    }

    /// Whether anything was seen.
    pub(super) const fn has_looked(&self) -> bool {
        self.looks > 0
    }

    /// Counts one look at all sockets of the machine, of which some are the process's own.
    pub(super) fn look(&mut self, sockets: &[Socket], is_own: impl Fn(u32) -> bool) {
        self.listening
            .extend(sockets.iter().filter(|socket| socket.listens).map(|socket| socket.local.port()));
        let own = sockets.iter().filter(|socket| !socket.listens && is_own(socket.inode));
        let own = own.filter_map(|socket| Some((socket, socket.traffic?)));
        let (asks, answers): (Vec<_>, Vec<_>) =
            own.partition(|(socket, _)| !self.listening.contains(&socket.local.port()));
        for (_, traffic) in asks.iter().chain(&answers) {
            let ages = [traffic.sent_age, traffic.received_age].map(u64::from);
            self.tick = ages.into_iter().fold(u64::from(self.tick), divisor) as u32;
        }
        let mut before = std::mem::take(&mut self.known);
        for endpoint in self.endpoints.values_mut() {
            (endpoint.connections, endpoint.open, endpoint.holds) = (0, 0, false);
        }
        let waiting: u64 = asks
            .iter()
            .map(|(socket, now)| u64::from(self.ask(socket, *now, before.remove(&key(socket)))))
            .sum();
        // What the process answers itself is no request of a client.
        let ends: BTreeSet<SocketAddr> = asks.iter().map(|(socket, _)| socket.local).collect();
        let requests: u64 = answers
            .iter()
            .filter(|(socket, _)| !ends.contains(&socket.remote))
            .map(|(socket, now)| u64::from(self.answer(socket, *now, before.remove(&key(socket)))))
            .sum();
        for endpoint in self.endpoints.values_mut() {
            self.pairs += usize::from(endpoint.count_level(requests, self.pairs < PAIRS_MAX));
        }
        self.looks += 1;
        self.requests += requests;
        self.ahead += u64::from(waiting > requests);
        self.spread.add(waiting);
        self.is_watched = true;
    }

    /// Counts a connection that the process opened; whether it waits for an endpoint that answers.
    fn ask(&mut self, socket: &Socket, now: Traffic, before: Option<Known>) -> bool {
        let is_new = before.is_none();
        let mut known = before.unwrap_or_else(|| Known {
            endpoint: self.label(socket.remote),
            // What was there before the first look had its traffic before.
            last: if self.is_watched { Traffic::default() } else { now },
            is_fresh: self.is_watched,
            ..Known::default()
        });
        let least = self.tick.max(TICK_MIN);
        let endpoint = self.endpoints.entry(known.endpoint.clone()).or_default();
        endpoint.connections += 1;
        endpoint.opened += u64::from(is_new && self.is_watched);
        let is_held = now.unsent_bytes > 0 && now.sent_age > least.max(endpoint.shortest);
        endpoint.held += u64::from(is_held && !endpoint.holds);
        endpoint.holds |= is_held;
        endpoint.count_traffic(&known.last, &now);
        let is_slow = endpoint.answers >= ANSWERS_MIN && endpoint.shortest > least + least / 2;
        let longest = endpoint.longest.max(OVERDUE_FROM);
        let is_overdue = endpoint.answers >= ANSWERS_MIN && now.sent_age > longest.saturating_mul(OVERDUE);
        let state = match known.state(&now, is_slow) {
            State::Waits if is_overdue => State::Unsettled,
            state => state,
        };
        let is_answered = endpoint.received_bytes > 0;
        match state {
            State::Waits => {
                endpoint.waiting += 1;
                endpoint.open += 1;
                if let Some((sent, received)) = known.since_idle(&now) {
                    endpoint.pending += 1;
                    endpoint.pending_sent += sent;
                    endpoint.pending_received += received;
                }
            }
            State::Idle => settle(endpoint, &mut known, now),
            State::Unsettled => endpoint.unsettled += 1,
        }
        if let Some(begin) = known.rests.span_until(state, now) {
            endpoint.count_span(&begin, &now);
        }
        known.last = now;
        self.known.insert(key(socket), known);
        state == State::Waits && is_answered
    }

    /// Counts a connection that the process accepted; whether a request on it is in progress, or can be. For its client,
    /// it sends what the process receives.
    fn answer(&mut self, socket: &Socket, now: Traffic, before: Option<Known>) -> bool {
        let now = Traffic {
            sent_age: now.received_age,
            received_age: now.sent_age,
            sent_bytes: now.received_bytes,
            received_bytes: now.sent_bytes,
            sent_segments: now.received_segments,
            received_segments: now.sent_segments,
            unsent_bytes: 0,
        };
        let mut known = before.unwrap_or_default();
        let state = known.state(&now, false);
        if state == State::Idle {
            settle(&mut Endpoint::default(), &mut known, now);
        }
        known.last = now;
        self.known.insert(key(socket), known);
        state != State::Idle
    }

    /// The label of an endpoint.
    fn label(&self, remote: SocketAddr) -> String {
        let label = remote.to_string();
        let has_room = self.endpoints.len() < ENDPOINTS_MAX || self.endpoints.contains_key(&label);
        if has_room { label } else { OTHERS.to_owned() }
    }

    /// Adds the figures until now.
    pub(super) fn take(&self, figures: &mut Figures) {
        if self.looks == 0 {
            return;
        }
        figures.counter("process.calls.looks", Count, self.looks as f64);
        figures.counter("process.calls.requests", Count, self.requests as f64);
        figures.counter("process.calls.ahead", Count, self.ahead as f64);
        figures.counter("process.calls.groups", Count, self.spread.groups as f64);
        figures.counter("process.calls.variance", Count, self.spread.variance);
        for (label, endpoint) in &self.endpoints {
            let mut put = |name: &str, unit, count: u64| {
                figures.put(&format!("process.calls.{name}"), label, unit, Counter, count as f64);
            };
            put("waiting", Count, endpoint.waiting);
            put("unsettled", Count, endpoint.unsettled);
            put("held", Count, endpoint.held);
            put("opened", Count, endpoint.opened);
            put("sent_bytes", Bytes, endpoint.sent_bytes);
            put("received_bytes", Bytes, endpoint.received_bytes);
            put("sent_segments", Count, endpoint.sent_segments);
            put("received_segments", Count, endpoint.received_segments);
            put("spans", Count, endpoint.spans);
            put("spans_alike", Count, endpoint.alike);
            put("pending", Count, endpoint.pending);
            put("pending_sent", Count, endpoint.pending_sent);
            put("pending_received", Count, endpoint.pending_received);
            put("waiting_requests", Count, endpoint.open_requests);
            let connections = endpoint.connections as f64;
            figures.put("process.calls.connections", label, Count, Gauge, connections);
            for (level, looks) in &endpoint.levels {
                let label = format!("{label} {level}");
                figures.put("process.calls.waiting_looks", &label, Count, Counter, *looks as f64);
            }
        }
    }
}

/// What tells a socket from another one that gets its number later.
const fn key(socket: &Socket) -> (u32, SocketAddr, SocketAddr) {
    (socket.inode, socket.local, socket.remote)
}

/// Counts what a connection did that is idle `now`, since it was last.
fn settle(endpoint: &mut Endpoint, known: &mut Known, now: Traffic) {
    if let Some(before) = known.idle.filter(|before| before.received_segments != now.received_segments) {
        let (sent, received) = segments(&before, &now);
        if sent == received {
            known.even += 1;
        } else {
            known.uneven += 1;
        }
        if now.sent_age > now.received_age {
            let took = now.sent_age - now.received_age;
            endpoint.shortest = if endpoint.answers == 0 { took } else { endpoint.shortest.min(took) };
            endpoint.longest = endpoint.longest.max(took);
            endpoint.answers += 1;
        }
    }
    known.idle = Some(now);
}

#[cfg(test)]
mod tests;

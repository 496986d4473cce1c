//! The request accounting of one worker: every request from planned to its one outcome.
//!
//! Takes the time as a parameter and never reads a clock, so simulated runs are recorded exactly.
//! Shares nothing with other workers. At each interval its tallies go to the collector and cleared
//! ones replace them, so that after the first interval the request path allocates nothing.

use knee_core::outcome::{Fault, Outcome};
use knee_core::plan::EndpointId;
use knee_core::tally::{Concurrency, EndpointTally, Phase, Tally};
use knee_core::unit::Nanos;

use crate::http::sampling::Seen;
use crate::http::unsolicited::Unsolicited;

/// A request that is due and has not ended.
#[derive(Clone, Copy, Debug)]
struct Flight {
    endpoint: EndpointId,
    due: Nanos,
    /// Earliest possible send: when it was due and its user was free.
    earliest: Nanos,
    /// `MAX` until the first byte is handed to the kernel.
    sent: Nanos,
    /// Whether its response is to be a stream of events.
    has_events: bool,
    /// When the last event of its response arrived; `MAX` before the first.
    last_event: Nanos,
    /// The longest time between two events so far.
    longest_gap: Nanos,
}

/// A request's index in the recorder's list of open ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightId(u32);

/// Durations and times of the phases of one request, as far as it got. Zero: the phase did not happen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// Duration of the name lookup.
    pub dns: Nanos,
    /// Duration of opening the TCP or Unix connection.
    pub connect: Nanos,
    /// Duration of the TLS handshake.
    pub tls: Nanos,
    /// When the first byte was handed to the kernel; zero if none was.
    pub sent: Nanos,
    /// The same for the last attempt or redirect. The times below belong to that one too.
    pub sent_last: Nanos,
    /// When the last byte was handed to the kernel; zero if it was not.
    pub sent_all: Nanos,
    /// When the first byte of the response arrived; zero if none did.
    pub first_byte: Nanos,
}

impl Marks {
    /// Duration of opening connections.
    fn opening(&self) -> Nanos {
        self.dns + self.connect + self.tls
    }
}

/// How a request ended.
#[derive(Clone, Debug)]
pub struct Finish<'a> {
    /// Its outcome.
    pub outcome: Outcome,
    /// When it ended: last byte read, fault noticed, or time limit reached.
    pub done: Nanos,
    /// Status code of a complete response.
    pub status: Option<u16>,
    /// The fault, and the message of the library or the kernel.
    pub fault: Option<(Fault, Option<&'a str>)>,
    /// Durations and times of its phases.
    pub marks: Marks,
    /// What it adds to the counters.
    pub counts: Counts,
    /// Checksum and length of the body of a complete response.
    pub body: Option<(u32, u64)>,
}

/// What one request adds to the counters of its endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Bytes handed to the kernel, including heads, before TLS.
    pub bytes_sent: u64,
    /// Bytes of responses, including heads, after TLS.
    pub bytes_received: u64,
    /// Bytes of bodies, before content decoding.
    pub bytes_body: u64,
    /// Connections opened.
    pub connections: u32,
    /// How often it was sent again.
    pub resent: u32,
    /// Redirects followed.
    pub redirects: u32,
    /// Redirects not followed because they lead to what is not under load.
    pub redirects_refused: u32,
    /// Responses with bytes after their end.
    pub surplus: u32,
    /// Responses that can belong to other requests because of these bytes.
    pub doubtful: u32,
    /// How its response looked, if that was sampled.
    pub seen: Option<Seen>,
}

/// A response that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledResponse {
    /// The endpoint of its request.
    pub endpoint: EndpointId,
    /// Its service time.
    pub service: Nanos,
    /// Bytes of its body, before content decoding.
    pub bytes: u64,
    /// How it looked.
    pub seen: Seen,
}

/// One worker's share of an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    /// Requests due during the warm-up.
    pub warm_up: Tally,
    /// All other requests.
    pub measured: Tally,
    /// Requests in flight.
    pub concurrency: Concurrency,
    /// Good responses of measured requests that were looked at.
    pub sampled: Vec<SampledResponse>,
}

impl Share {
    /// Clears all counts and keeps the memory.
    pub fn clear(&mut self) {
        self.warm_up.clear();
        self.measured.clear();
        self.concurrency = Concurrency::default();
        self.sampled.clear();
    }
}

/// The request accounting of one worker.
#[derive(Debug)]
pub struct Recorder {
    share: Share,
    measured_from: Nanos,
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    /// Requests sent and not done.
    in_flight: u64,
    /// Requests that were sent and are done, since the beginning.
    answered: u64,
    /// Endpoint of the request that was started last.
    last: EndpointId,
    /// When `in_flight` last changed, or the window began.
    changed: Nanos,
    window_from: Nanos,
}

impl Recorder {
    /// An empty recorder from time zero; requests due before `measured_from` are warm-up.
    pub fn new(measured_from: Nanos) -> Self {
        Self {
            share: Share::default(),
            measured_from,
            flights: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            answered: 0,
            last: EndpointId(0),
            changed: Nanos::ZERO,
            window_from: Nanos::ZERO,
        }
    }

    /// Starts a request. `earliest` is its earliest possible send: `due`, or the later moment at
    /// which its user became free.
    pub fn begin(&mut self, endpoint: EndpointId, due: Nanos, earliest: Nanos) -> FlightId {
        self.tally(endpoint, due).planned += 1;
        self.last = endpoint;
        let flight = Flight {
            endpoint,
            due,
            earliest,
            sent: Nanos::MAX,
            has_events: false,
            last_event: Nanos::MAX,
            longest_gap: Nanos::ZERO,
        };
        if let Some(place) = self.free.pop() {
            self.flights[place as usize] = Some(flight);
            return FlightId(place);
        }
        self.flights.push(Some(flight));
        FlightId(self.flights.len() as u32 - 1)
    }

    /// Records the send of the first byte. Only the first call for a request counts.
    pub fn sent(&mut self, id: FlightId, at: Nanos) {
        let Some(flight) = &mut self.flights[id.0 as usize] else { return };
        if flight.sent == Nanos::MAX {
            flight.sent = at;
            self.step(at, 1);
        }
    }

    /// The response of a request is to be a stream of events.
    pub fn expect_events(&mut self, id: FlightId) {
        if let Some(flight) = &mut self.flights[id.0 as usize] {
            flight.has_events = true;
        }
    }

    /// Records an event of the response of a request, in the order in which they arrive.
    pub fn event(&mut self, id: FlightId, at: Nanos) {
        let Some(flight) = &mut self.flights[id.0 as usize] else { return };
        let before = std::mem::replace(&mut flight.last_event, at);
        let (endpoint, due) = (flight.endpoint, flight.due);
        let (phase, span) = match before {
            Nanos::MAX => (Phase::FirstEvent, at.since(due)),
            before => (Phase::EventGap, at.since(before)),
        };
        if phase == Phase::EventGap {
            flight.longest_gap = flight.longest_gap.max(span);
        }
        self.tally(endpoint, due).phases[phase as usize].record(span);
    }

    /// Ends a request exactly once: if it was censored meanwhile, this does nothing.
    pub fn finish(&mut self, id: FlightId, finish: &Finish<'_>) {
        let Some(flight) = self.flights[id.0 as usize].take() else { return };
        self.free.push(id.0);
        self.close(&flight, finish);
    }

    /// Records a request that came due and was given up before a user took it. It waited until `at`.
    pub fn unsent(&mut self, endpoint: EndpointId, due: Nanos, at: Nanos) {
        let tally = self.tally(endpoint, due);
        tally.planned += 1;
        tally.outcomes[Outcome::Unsent as usize].response.record(at.since(due));
    }

    /// Ends every open request at the end of the run: censored if it was sent, otherwise unsent.
    pub fn censor_all(&mut self, at: Nanos) {
        (0..self.flights.len() as u32).for_each(|place| self.censor(FlightId(place), at));
    }

    /// The same for one request, which no one waits for any more. If it has ended already, this does nothing.
    pub fn censor(&mut self, id: FlightId, at: Nanos) {
        let Some(flight) = self.flights[id.0 as usize].take() else { return };
        self.free.push(id.0);
        let outcome = if flight.sent == Nanos::MAX { Outcome::Unsent } else { Outcome::Censored };
        let finish = Finish {
            outcome,
            done: at,
            status: None,
            fault: None,
            marks: Marks::default(),
            counts: Counts::default(),
            body: None,
        };
        self.close(&flight, &finish);
    }

    /// Records responses that no request asked for, noticed after the requests of their connections had ended.
    pub fn unsolicited(&mut self, found: Unsolicited) {
        if found.count > 0 {
            let tally = self.share.measured.endpoint_mut(self.last);
            tally.surplus += u64::from(found.count);
            tally.doubtful += u64::from(found.doubtful);
        }
    }

    /// Ends the interval at `at` and returns what it counted.
    pub fn roll(&mut self, at: Nanos) -> Share {
        self.step(at, 0);
        let window_from = self.window_from;
        let open: u128 = self
            .flights
            .iter()
            .flatten()
            .filter(|flight| flight.sent != Nanos::MAX)
            .map(|flight| u128::from(at.since(flight.sent.max(window_from)).0))
            .sum();
        let mut share = std::mem::take(&mut self.share);
        share.concurrency.clipped += open;
        share.concurrency.at_end = self.in_flight;
        self.share.concurrency.max = self.in_flight;
        self.window_from = at;
        share
    }

    /// Reuses the memory of a cleared share. To be called right after [`Recorder::roll`].
    pub fn reuse(&mut self, spare: Share) {
        let concurrency = self.share.concurrency;
        self.share = Share { concurrency, ..spare };
    }

    /// Requests sent and not done.
    pub const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Requests that were sent and are done, since the beginning.
    pub const fn answered(&self) -> u64 {
        self.answered
    }

    fn close(&mut self, flight: &Flight, finish: &Finish<'_>) {
        let done = finish.done;
        if flight.sent != Nanos::MAX {
            let (at, from) = (done.max(flight.sent), self.window_from);
            self.step(at, -1);
            self.answered += 1;
            let clipped = at.max(from).since(flight.sent.max(from));
            self.share.concurrency.clipped += u128::from(clipped.0);
        }
        self.note_seen(flight, finish);
        let tally = self.tally(flight.endpoint, flight.due);
        let outcome = &mut tally.outcomes[finish.outcome as usize];
        outcome.response.record(done.since(flight.due));
        if flight.sent != Nanos::MAX {
            outcome.service.record(done.since(flight.sent));
            let lag = flight.sent.since(flight.due);
            tally.send_delay.record(lag);
            tally.generator_lag.record(flight.sent.since(flight.earliest).since(finish.marks.opening()));
        }
        note_phases(tally, &finish.marks, done);
        if flight.has_events {
            note_events(tally, flight, finish);
        }
        note_counts(tally, finish);
    }

    /// Keeps how the response of a measured request looked, if it was sampled.
    fn note_seen(&mut self, flight: &Flight, finish: &Finish<'_>) {
        let Some(seen) = finish.counts.seen else { return };
        if finish.outcome == Outcome::Ok && flight.due >= self.measured_from && flight.sent != Nanos::MAX {
            self.share.sampled.push(SampledResponse {
                endpoint: flight.endpoint,
                service: finish.done.since(flight.sent),
                bytes: finish.counts.bytes_body,
                seen,
            });
        }
    }

    /// Changes the number in flight by `by` at `at`.
    ///
    /// Changes are noted out of order: a response over HTTP/2 ends when its last frame was read, and the task of its
    /// request learns of it after those of others; a timeout ends a request at its limit, a little before now. What was
    /// counted between such a change and the last one is corrected, as far as it lies in this window.
    fn step(&mut self, at: Nanos, by: i64) {
        let concurrency = &mut self.share.concurrency;
        if at < self.changed {
            let late = self.changed.since(at.max(self.window_from));
            let correction = u128::from(late.0) * u128::from(by.unsigned_abs());
            concurrency.area = if by < 0 {
                concurrency.area.saturating_sub(correction)
            } else {
                concurrency.area.saturating_add(correction)
            };
        } else {
            concurrency.area += u128::from(at.since(self.changed).0) * u128::from(self.in_flight);
            self.changed = at;
        }
        self.in_flight = self.in_flight.saturating_add_signed(by);
        concurrency.max = concurrency.max.max(self.in_flight);
    }

    fn tally(&mut self, endpoint: EndpointId, due: Nanos) -> &mut EndpointTally {
        let window =
            if due < self.measured_from { &mut self.share.warm_up } else { &mut self.share.measured };
        window.endpoint_mut(endpoint)
    }
}

fn note_phases(tally: &mut EndpointTally, marks: &Marks, done: Nanos) {
    let mut note = |phase: Phase, span: Nanos| tally.phases[phase as usize].record(span);
    if marks.opening() > Nanos::ZERO {
        if marks.dns > Nanos::ZERO {
            note(Phase::Dns, marks.dns);
        }
        if marks.connect > Nanos::ZERO {
            note(Phase::Connect, marks.connect);
        }
        if marks.tls > Nanos::ZERO {
            note(Phase::Tls, marks.tls);
        }
    }
    if marks.sent_all > Nanos::ZERO {
        note(Phase::Send, marks.sent_all.since(marks.sent_last));
    }
    if marks.first_byte > Nanos::ZERO {
        // A response that began before the whole request was sent has no wait phase.
        if marks.sent_all > Nanos::ZERO {
            note(Phase::Wait, marks.first_byte.since(marks.sent_all));
        }
        note(Phase::Receive, done.since(marks.first_byte));
    }
}

/// What the end of a request says about the events of its response.
fn note_events(tally: &mut EndpointTally, flight: &Flight, finish: &Finish<'_>) {
    // The next event was being waited for.
    let is_open = finish.outcome.is_lower_bound();
    let mut note = |phase: Phase, span: Nanos| tally.phases[phase as usize].record(span);
    match flight.last_event {
        Nanos::MAX if is_open && finish.outcome != Outcome::Unsent => {
            note(Phase::NoEvent, finish.done.since(flight.due));
        }
        Nanos::MAX => {}
        last => {
            let open = if is_open { finish.done.since(last) } else { Nanos::ZERO };
            note(Phase::LongestGap, flight.longest_gap.max(open));
        }
    }
}

fn note_counts(tally: &mut EndpointTally, finish: &Finish<'_>) {
    let counts = &finish.counts;
    tally.bytes_sent += counts.bytes_sent;
    tally.bytes_received += counts.bytes_received;
    tally.bytes_body += counts.bytes_body;
    tally.connections += u64::from(counts.connections);
    tally.resent += u64::from(counts.resent);
    tally.redirects += u64::from(counts.redirects);
    tally.redirects_refused += u64::from(counts.redirects_refused);
    tally.surplus += u64::from(counts.surplus);
    tally.doubtful += u64::from(counts.doubtful);
    if let Some(status) = finish.status {
        tally.note_status(status, 1);
    }
    if let Some((fault, example)) = finish.fault {
        tally.note_fault(fault, 1, example);
    }
    if let Some((checksum, length)) = finish.body {
        tally.bodies.note(checksum, length);
    }
}

#[cfg(test)]
mod tests;

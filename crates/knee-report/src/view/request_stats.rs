//! Summary of one tally: of a run, an endpoint or a warm-up.
//!
//! Has no rates, because a tally has no time span.

use std::borrow::Cow;

use knee_core::estimate::Distribution;
use knee_core::histogram::Histogram;
use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::tally::{Accounting, EndpointTally, OutcomeTally, Phase};
use knee_core::unit::Nanos;

use super::time_summary::TimeSummary;

/// A tally, summed up.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestStats {
    /// Every planned request and how it ended.
    pub books: Accounting,
    /// done - due, over all outcomes.
    pub response: TimeSummary,
    /// done - due of OK responses alone.
    pub response_ok: TimeSummary,
    /// done - sent, over all requests that were sent.
    pub service: TimeSummary,
    /// done - sent of OK responses alone.
    pub service_ok: TimeSummary,
    /// sent - due, over all requests that were sent.
    pub send_delay: TimeSummary,
    /// The load generator's part of the send delay.
    pub generator_lag: TimeSummary,
    /// Until the first event of responses that are streams of events.
    pub first_event: TimeSummary,
    /// By phase, in the order of [`Phase::ALL`].
    pub phases: [TimeSummary; 10],
    /// Complete responses by status code, ascending.
    pub status: Vec<(u16, u64)>,
    /// Requests by outcomes that this version does not know, by name.
    pub unknown_outcomes: Vec<(String, u64)>,
    /// Phases that this version does not know, by name.
    pub unknown_phases: Vec<(String, TimeSummary)>,
    /// Faults, by who is to blame and then the most frequent first.
    pub errors: Vec<Error>,
    /// Bytes handed to the kernel, heads included, before TLS.
    pub bytes_sent: u64,
    /// Bytes of responses, heads included, after TLS.
    pub bytes_received: u64,
    /// Bytes of bodies as received.
    pub bytes_body: u64,
    /// Connections opened.
    pub connections: u64,
    /// Requests sent once more because the server had closed an idle connection.
    pub resent: u64,
    /// Redirects followed.
    pub redirects: u64,
    /// Responses followed by bytes that no request asked for.
    pub surplus: u64,
    /// Different bodies; the flag says that there were more than can be counted separately.
    pub bodies: (u64, bool),
}

/// One kind of fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind.
    pub kind: ErrorKind,
    /// How often.
    pub count: u64,
    /// Its messages. They are foreign text and must pass through [`crate::clean`] before they are shown.
    pub examples: Vec<String>,
}

/// What kind of fault it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// One of this version.
    Known(Fault),
    /// One of a later version, by its name, with the party that its record blames.
    Unknown(String, Option<Blame>),
}

impl Error {
    /// Its name.
    pub const fn name(&self) -> &str {
        match &self.kind {
            ErrorKind::Known(fault) => fault.name(),
            ErrorKind::Unknown(name, _) => name.as_str(),
        }
    }

    /// What happened, for people; no full stop.
    pub fn sentence(&self) -> Cow<'static, str> {
        match &self.kind {
            ErrorKind::Known(fault) => fault.sentence().into(),
            ErrorKind::Unknown(name, _) => format!("`{name}`, which this version does not know").into(),
        }
    }

    /// What it takes to avoid it, for people; no full stop. `None` if [`Error::sentence`] says enough.
    pub const fn explanation(&self) -> Option<&'static str> {
        match &self.kind {
            ErrorKind::Known(Fault::NoEvents) => {
                Some("`--stream` is for responses with the content-type text/event-stream or JSON lines")
            }
            _ => None,
        }
    }

    /// Who caused it; `None` if that is not known.
    pub const fn blame(&self) -> Option<Blame> {
        match &self.kind {
            ErrorKind::Known(fault) => Some(fault.blame()),
            ErrorKind::Unknown(_, blame) => *blame,
        }
    }

    /// The outcome of requests with this fault; `None` if that is not known.
    pub const fn outcome(&self) -> Option<Outcome> {
        match &self.kind {
            ErrorKind::Known(fault) => Some(fault.outcome()),
            ErrorKind::Unknown(..) => None,
        }
    }
}

impl RequestStats {
    /// Sums up a tally.
    pub fn of(tally: &EndpointTally) -> Self {
        let exact = |histogram: &Histogram| TimeSummary::exact(&Distribution::exact(histogram));
        Self {
            books: tally.accounting(),
            response: TimeSummary::of(
                &Distribution::response(tally),
                least_bound(tally, |times| &times.response),
            ),
            response_ok: TimeSummary::exact(&Distribution::response_ok(tally)),
            service: TimeSummary::of(
                &Distribution::service(tally),
                least_bound(tally, |times| &times.service),
            ),
            service_ok: TimeSummary::exact(&Distribution::service_ok(tally)),
            send_delay: exact(&tally.send_delay),
            generator_lag: exact(&tally.generator_lag),
            first_event: TimeSummary::of(
                &Distribution::first_event(tally),
                tally.phases[Phase::NoEvent as usize].min(),
            ),
            phases: Phase::ALL.map(|phase| exact(&tally.phases[phase as usize])),
            unknown_outcomes: tally
                .unknown
                .outcomes
                .iter()
                .map(|outcome| (outcome.name.clone(), outcome.times.response.count()))
                .collect(),
            unknown_phases: tally
                .unknown
                .phases
                .iter()
                .map(|phase| (phase.name.clone(), exact(&phase.times)))
                .collect(),
            status: tally.status.clone(),
            errors: errors(tally),
            bytes_sent: tally.bytes_sent,
            bytes_received: tally.bytes_received,
            bytes_body: tally.bytes_body,
            connections: tally.connections,
            resent: tally.resent,
            redirects: tally.redirects,
            surplus: tally.surplus,
            bodies: (tally.bodies.seen.len() as u64, tally.bodies.more),
        }
    }

    /// Requests that came due and did not end ok.
    pub fn not_ok(&self) -> u64 {
        self.books.planned.saturating_sub(self.books.count(Outcome::Ok))
    }
}

/// The least time of the requests whose times are lower bounds.
fn least_bound(tally: &EndpointTally, times: fn(&OutcomeTally) -> &Histogram) -> Option<Nanos> {
    let bounds = tally.outcomes().filter(|(is_lower_bound, _)| *is_lower_bound);
    bounds.filter_map(|(_, outcome)| times(outcome).min()).min()
}

fn errors(tally: &EndpointTally) -> Vec<Error> {
    let known = tally.faults.iter().map(|fault| Error {
        kind: ErrorKind::Known(fault.fault),
        count: fault.count,
        examples: fault.examples.clone(),
    });
    let unknown = tally.unknown.faults.iter().map(|fault| Error {
        kind: ErrorKind::Unknown(fault.name.clone(), fault.blame),
        count: fault.count,
        examples: fault.examples.clone(),
    });
    let mut errors: Vec<Error> = known.chain(unknown).collect();
    errors.sort_by(|one, other| {
        let rank = |error: &Error| (error.blame().is_none(), error.blame(), std::cmp::Reverse(error.count));
        rank(one).cmp(&rank(other)).then_with(|| one.kind.cmp(&other.kind))
    });
    errors
}

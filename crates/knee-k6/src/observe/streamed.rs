//! Turns events of VUs into samples for outputs, in k6's order and with all tags.
//!
//! One per worker. Does not write; hands batches over and never waits.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use knee_core::clock;
use knee_core::unit::Nanos;

use super::metered::spans;
use super::system_tags::{SystemTag, SystemTags};
use super::tag_lists::TagLists;
use super::tags::{AllTags, OfCheck, OfRequest, Plain};
use super::{Context, Exchange, Observer};
use crate::metric::{BuiltIn, MetricId};
use crate::output::batch::{Batch, TagList};
use crate::output::{BATCH, Outlet};

/// A batch is sent after this time even if it is small.
const PACE: Nanos = Nanos::from_millis(200);

/// Bytes sent and received that no sample has reported, of one scenario; of one group outside of scenarios.
#[derive(Debug)]
struct Bytes {
    scenario: String,
    group: String,
    sent: u64,
    received: u64,
    /// Whether anything was sent, be it nothing, since the last sample.
    is_due: bool,
}

/// Samples that were not handed over yet.
#[derive(Debug)]
struct Pending {
    batch: Batch,
    lists: TagLists,
}

/// The samples of one worker.
pub struct Streamed {
    outlet: Outlet,
    system: SystemTags,
    pending: RefCell<Pending>,
    /// Time of the last batch handed over, on the run's clock.
    handed_over: Cell<Nanos>,
    bytes: RefCell<Vec<Bytes>>,
    /// Wall-clock time at which the run's clock read zero; known with the first sample.
    origin: Cell<Option<Nanos>>,
}

impl Streamed {
    /// A worker without samples.
    pub fn new(outlet: Outlet, system: SystemTags) -> Self {
        Self {
            outlet,
            system,
            pending: RefCell::new(Pending { batch: new_batch(), lists: TagLists::default() }),
            handed_over: Cell::new(Nanos::ZERO),
            bytes: RefCell::default(),
            origin: Cell::new(None),
        }
    }

    fn plain<'a>(&self, context: &'a Context<'a>) -> Plain<'a> {
        Plain { context, system: self.system }
    }

    /// Position for events of a whole scenario: without a group, not even an empty one.
    fn outside<'a>(&self, context: &'a Context<'a>) -> Plain<'a> {
        Plain { context, system: self.system.without(SystemTag::Group) }
    }

    fn push(&self, samples: &[(MetricId, f64)], context: &Context<'_>, tags: &dyn AllTags) {
        let metadata =
            (!context.metadata.is_empty()).then(|| Arc::new(TagList::new(context.metadata.to_vec())));
        let at = context.at;
        let Pending { batch, lists } = &mut *self.pending.borrow_mut();
        let tags = lists.place(tags, batch);
        batch.push(self.wall(at), tags, metadata, samples.iter().copied());
        if batch.len() >= BATCH || at.since(self.handed_over.get()) >= PACE {
            self.handed_over.set(at);
            self.outlet.send(std::mem::replace(batch, new_batch()));
            lists.begin_batch();
        }
    }

    /// A time on the run's clock as one since the Unix epoch. Samples arrive as they happen, so the
    /// first one shows the time of the run's clock.
    fn wall(&self, at: Nanos) -> Nanos {
        let origin = self.origin.get().unwrap_or_else(|| clock::wall().since(at));
        self.origin.set(Some(origin));
        origin.saturating_add(at)
    }

    /// Adds bytes up until the iteration is over.
    fn add_bytes(&self, sent: u64, received: u64, context: &Context<'_>) {
        let mut all = self.bytes.borrow_mut();
        let (scenario, group) = part_of(context);
        if let Some(bytes) = find(&mut all, (scenario, group)) {
            bytes.sent += sent;
            bytes.received += received;
            bytes.is_due = true;
        } else {
            let (scenario, group) = (scenario.to_owned(), group.to_owned());
            all.push(Bytes { scenario, group, sent, received, is_due: true });
        }
    }

    /// The samples of bytes for what has passed since the last ones. k6 has one pair per iteration.
    fn tell_bytes(&self, sent: u64, received: u64, context: &Context<'_>) {
        let samples = [(BuiltIn::DataSent.id(), sent as f64), (BuiltIn::DataReceived.id(), received as f64)];
        self.push(&samples, context, &self.plain(context));
    }
}

/// A batch with room for all samples that it can have: the last ones are those of a request.
fn new_batch() -> Batch {
    Batch::with_capacity(BATCH + 16)
}

/// The scenario and the group whose bytes are added up.
fn part_of<'a>(context: &Context<'a>) -> (&'a str, &'a str) {
    (context.scenario, if context.scenario.is_empty() { context.group } else { "" })
}

/// Where the bytes of a scenario are.
fn find<'a>(all: &'a mut [Bytes], (scenario, group): (&str, &str)) -> Option<&'a mut Bytes> {
    all.iter_mut().find(|bytes| bytes.scenario == scenario && bytes.group == group)
}

impl Observer for Streamed {
    fn request(&self, exchange: &Exchange<'_>, context: &Context<'_>) {
        let context = &Context { at: exchange.at, ..*context };
        let mut samples = Vec::with_capacity(9);
        samples.push((BuiltIn::HttpReqs.id(), 1.0));
        samples.extend(
            spans(&exchange.answer.timings).map(|(metric, span)| (metric.id(), span.as_millis_f64())),
        );
        if let Some(expected) = exchange.expected {
            samples.push((BuiltIn::HttpReqFailed.id(), f64::from(u8::from(!expected))));
        }
        self.push(&samples, context, &OfRequest::new(exchange, context, self.system));
        self.add_bytes(exchange.bytes_sent, exchange.bytes_received, context);
    }

    fn traffic(&self, sent: u64, received: u64, context: &Context<'_>) {
        self.add_bytes(sent, received, context);
    }

    fn system_tags(&self) -> SystemTags {
        self.system
    }

    fn check(&self, name: &str, passed: bool, context: &Context<'_>) {
        let tags = OfCheck { plain: self.plain(context), check: name };
        self.push(&[(BuiltIn::Checks.id(), f64::from(u8::from(passed)))], context, &tags);
    }

    fn group(&self, span: Nanos, context: &Context<'_>) {
        let sample = (BuiltIn::GroupDuration.id(), span.as_millis_f64());
        self.push(&[sample], context, &self.plain(context));
    }

    fn iteration(&self, span: Nanos, whole: bool, context: &Context<'_>) {
        let taken = |bytes: &mut Bytes| {
            bytes.is_due = false;
            (std::mem::take(&mut bytes.sent), std::mem::take(&mut bytes.received))
        };
        let (sent, received) =
            find(&mut self.bytes.borrow_mut(), part_of(context)).map(taken).unwrap_or_default();
        self.tell_bytes(sent, received, context);
        if whole {
            let samples =
                [(BuiltIn::IterationDuration.id(), span.as_millis_f64()), (BuiltIn::Iterations.id(), 1.0)];
            self.push(&samples, context, &self.plain(context));
        }
    }

    fn dropped(&self, count: u64, context: &Context<'_>) {
        let sample = (BuiltIn::DroppedIterations.id(), count as f64);
        self.push(&[sample], context, &self.outside(context));
    }

    fn sample(&self, metric: u32, value: f64, context: &Context<'_>) {
        self.push(&[(MetricId(metric as usize), value)], context, &self.plain(context));
    }
}

impl Drop for Streamed {
    fn drop(&mut self) {
        // What passed outside of iterations: in setup and teardown.
        let at = self.origin.get().map_or(Nanos::ZERO, |origin| clock::wall().since(origin));
        let all = std::mem::take(&mut *self.bytes.borrow_mut());
        for Bytes { scenario, group, sent, received, .. } in all.iter().filter(|bytes| bytes.is_due) {
            let context = Context { scenario, group, tags: &[], metadata: &[], at };
            self.tell_bytes(*sent, *received, &context);
        }
        let batch = std::mem::take(&mut self.pending.get_mut().batch);
        if !batch.is_empty() {
            self.outlet.send(batch);
        }
    }
}

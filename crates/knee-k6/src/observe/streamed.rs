//! Turns events of VUs into samples for outputs, in k6's order and with all tags.
//!
//! One per worker. Does not write; hands batches over and never waits.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use knee_core::clock;
use knee_core::unit::Nanos;

use super::metered::spans;
use super::tags::{AllTags, OfCheck, OfRequest, Plain, SystemTag, SystemTags};
use super::{Context, Exchange, Observer};
use crate::metric::{BuiltIn, MetricId};
use crate::output::{BATCH, Outlet, Sample};

/// A batch is sent after this time even if it is small.
const PACE: Nanos = Nanos::from_millis(200);

/// Bytes sent and received that no sample has reported, by scenario; by group outside of scenarios.
type Bytes = BTreeMap<(String, String), (u64, u64)>;

/// The samples of one worker.
pub struct Streamed {
    outlet: Outlet,
    system: SystemTags,
    batch: RefCell<Vec<Sample>>,
    /// Time of the last batch handed over, on the run's clock.
    handed_over: Cell<Nanos>,
    bytes: RefCell<Bytes>,
    /// Wall-clock time at which the run's clock read zero; known with the first sample.
    origin: Cell<Option<Nanos>>,
}

impl Streamed {
    /// A worker without samples.
    pub fn new(outlet: Outlet, system: SystemTags) -> Self {
        Self {
            outlet,
            system,
            batch: RefCell::default(),
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
        let tags: Arc<[(String, String)]> = tags.sorted().into();
        let metadata: Arc<[(String, String)]> = context.metadata.into();
        let at = context.at;
        let wall = self.wall(at);
        let mut batch = self.batch.borrow_mut();
        batch.extend(samples.iter().map(|&(metric, value)| Sample {
            metric,
            value,
            at: wall,
            tags: tags.clone(),
            metadata: metadata.clone(),
        }));
        if batch.len() >= BATCH || at.since(self.handed_over.get()) >= PACE {
            self.handed_over.set(at);
            self.outlet.send(std::mem::take(&mut *batch));
        }
    }

    /// A time on the run's clock as one since the Unix epoch. Samples arrive as they happen, so the
    /// first one shows the time of the run's clock.
    fn wall(&self, at: Nanos) -> Nanos {
        let origin = self.origin.get().unwrap_or_else(|| clock::wall().since(at));
        self.origin.set(Some(origin));
        origin.saturating_add(at)
    }

    /// The samples of bytes for what has passed since the last ones. k6 has one pair per iteration.
    fn tell_bytes(&self, sent: u64, received: u64, context: &Context<'_>) {
        let samples = [(BuiltIn::DataSent.id(), sent as f64), (BuiltIn::DataReceived.id(), received as f64)];
        self.push(&samples, context, &self.plain(context));
    }
}

fn part_of(context: &Context<'_>) -> (String, String) {
    let group = if context.scenario.is_empty() { context.group } else { "" };
    (context.scenario.to_owned(), group.to_owned())
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
        let mut bytes = self.bytes.borrow_mut();
        let (sent, received) = bytes.entry(part_of(context)).or_default();
        *sent += exchange.bytes_sent;
        *received += exchange.bytes_received;
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
        let (sent, received) = self.bytes.borrow_mut().remove(&part_of(context)).unwrap_or_default();
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
        for ((scenario, group), (sent, received)) in std::mem::take(&mut *self.bytes.borrow_mut()) {
            self.tell_bytes(
                sent,
                received,
                &Context { scenario: &scenario, group: &group, tags: &[], metadata: &[], at },
            );
        }
        let batch = std::mem::take(&mut *self.batch.borrow_mut());
        if !batch.is_empty() {
            self.outlet.send(batch);
        }
    }
}

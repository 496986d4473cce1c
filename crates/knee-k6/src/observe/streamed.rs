//! Turns events of VUs into samples for outputs, in k6's order and with all tags.
//!
//! One per worker. Does not write; hands batches over and never waits.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use knee_core::clock;
use knee_core::unit::Nanos;

use super::metered::spans;
use super::system_tags::{SystemTag, SystemTags};
use super::tag_key::is_same;
use super::tag_lists::TagLists;
use super::tags::{AllTags, OfCheck, OfRequest, Plain};
use super::{Context, Exchange, Observer};
use crate::metric::{BuiltIn, MetricId};
use crate::output::batch::{Batch, TagList};
use crate::output::columns::Columns;
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

/// Values of columns that are handed over at once: 128 KiB.
const RUNS: usize = 8 << 10;

/// Samples that were not handed over yet, for outputs that take each of them.
#[derive(Debug)]
struct Singles {
    batch: Batch,
    lists: TagLists,
    /// Time of the last batch handed over, on the run's clock.
    handed_over: Nanos,
}

/// Samples that were not handed over yet, for outputs of sums.
#[derive(Debug, Default)]
struct Added {
    columns: Columns,
    lists: TagLists,
    /// As with [`Singles`].
    handed_over: Nanos,
}

/// The samples of one worker.
pub struct Streamed {
    outlet: Outlet,
    system: SystemTags,
    /// If any output takes single samples.
    singles: Option<RefCell<Singles>>,
    /// If any output takes sums.
    added: Option<RefCell<Added>>,
    bytes: RefCell<Vec<Bytes>>,
    /// Wall-clock time at which the run's clock read zero; known with the first sample.
    origin: Cell<Option<Nanos>>,
}

impl Streamed {
    /// A worker without samples.
    pub fn new(outlet: Outlet, system: SystemTags) -> Self {
        let singles = || Singles { batch: new_batch(), lists: TagLists::default(), handed_over: Nanos::ZERO };
        Self {
            singles: outlet.takes_singles().then(|| RefCell::new(singles())),
            added: outlet.takes_columns().then(RefCell::default),
            outlet,
            system,
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
        if let Some(added) = &self.added {
            self.push_added(&mut added.borrow_mut(), samples, context.at, tags);
        }
        if let Some(singles) = &self.singles {
            self.push_singles(&mut singles.borrow_mut(), samples, context, tags);
        }
    }

    fn push_added(&self, added: &mut Added, samples: &[(MetricId, f64)], at: Nanos, tags: &dyn AllTags) {
        let Added { columns, lists, handed_over } = added;
        let tags = lists.place(tags, |list| columns.list(list));
        columns.push(self.wall(at), tags, samples);
        if columns.runs() >= RUNS || at.since(*handed_over) >= PACE {
            *handed_over = at;
            self.outlet.send_columns(std::mem::take(columns));
            lists.begin_batch();
        }
    }

    fn push_singles(
        &self,
        singles: &mut Singles,
        samples: &[(MetricId, f64)],
        context: &Context<'_>,
        tags: &dyn AllTags,
    ) {
        let metadata =
            (!context.metadata.is_empty()).then(|| Arc::new(TagList::new(context.metadata.to_vec())));
        let at = context.at;
        let Singles { batch, lists, handed_over } = singles;
        let tags = lists.place(tags, |list| batch.list(list));
        batch.push(self.wall(at), tags, metadata, samples.iter().copied());
        if batch.len() >= BATCH || at.since(*handed_over) >= PACE {
            *handed_over = at;
            self.outlet.send_singles(std::mem::replace(batch, new_batch()));
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
        self.push(&of_bytes(sent, received), context, &self.plain(context));
    }
}

fn of_bytes(sent: u64, received: u64) -> [(MetricId, f64); 2] {
    [(BuiltIn::DataSent.id(), sent as f64), (BuiltIn::DataReceived.id(), received as f64)]
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
    all.iter_mut().find(|bytes| {
        is_same(bytes.scenario.as_bytes(), scenario.as_bytes())
            && is_same(bytes.group.as_bytes(), group.as_bytes())
    })
}

impl Observer for Streamed {
    fn request(&self, exchange: &Exchange<'_>, context: &Context<'_>) {
        let context = &Context { at: exchange.at, ..*context };
        let mut samples = [(BuiltIn::HttpReqs.id(), 1.0); 9];
        let spans = spans(&exchange.answer.timings);
        for (sample, (metric, span)) in samples[1..].iter_mut().zip(spans) {
            *sample = (metric.id(), span.as_millis_f64());
        }
        samples[8] = (BuiltIn::HttpReqFailed.id(), f64::from(u8::from(exchange.expected != Some(true))));
        // Without an expectation, nothing has failed.
        let taken = if exchange.expected.is_some() { &samples[..] } else { &samples[..8] };
        self.push(taken, context, &OfRequest::new(exchange, context, self.system));
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
        let [sent, received] = of_bytes(sent, received);
        let span = (BuiltIn::IterationDuration.id(), span.as_millis_f64());
        let samples = [sent, received, span, (BuiltIn::Iterations.id(), 1.0)];
        self.push(if whole { &samples } else { &samples[..2] }, context, &self.plain(context));
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
        if let Some(singles) = &mut self.singles {
            self.outlet.send_singles(std::mem::take(&mut singles.get_mut().batch));
        }
        if let Some(added) = &mut self.added {
            self.outlet.send_columns(std::mem::take(&mut added.get_mut().columns));
        }
    }
}

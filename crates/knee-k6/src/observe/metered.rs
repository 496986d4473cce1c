//! Turns events of VUs into k6's metrics.
//!
//! One per worker; their meters are merged when the run is over. Does not print.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use knee_core::metric::Metrics;
use knee_core::unit::Nanos;

use super::system_tags::SystemTags;
use super::tags::{OfCheck, OfRequest, Plain};
use super::{Context, Exchange, Observer};
use crate::http::answer::Timings;
use crate::metric::meter::Place;
use crate::metric::{BuiltIn, Catalog, Meter, MetricId, Registry, Sink, Tags};

/// The sum of the meters of all workers. Clones share it.
#[derive(Clone)]
pub struct Total {
    inner: Arc<(Mutex<Sum>, Condvar)>,
}

struct Sum {
    /// Measurements of finished workers, and samples that belong to no worker.
    meter: Meter,
    /// The part of it that [`Total::take_news`] has not returned.
    news: Meter,
    /// The meters of workers that are at work.
    live: Vec<Arc<Mutex<Meter>>>,
}

impl Total {
    /// An empty total.
    pub fn new(catalog: &Arc<Catalog>, by_part: bool) -> Self {
        let empty = Meter::new(catalog.clone(), by_part);
        let sum = Sum { meter: empty.clone(), news: empty, live: Vec::new() };
        Self { inner: Arc::new((Mutex::new(sum), Condvar::new())) }
    }

    /// Everything that was measured; waits for workers that are about to end.
    pub fn meter(&self) -> Meter {
        let at_work = |sum: &mut Sum| !sum.live.is_empty();
        let sum =
            self.inner.1.wait_while(lock(&self.inner.0), at_work).unwrap_or_else(PoisonError::into_inner);
        sum.meter.clone()
    }

    /// What was measured since the last call; it stays in the sum. Holds up each worker for as long as exchanging its meter
    /// takes.
    pub fn take_news(&self) -> Meter {
        let mut sum = lock(&self.inner.0);
        let by_part = sum.meter.parts().is_some();
        let empty = Meter::new(sum.meter.catalog().clone(), by_part);
        let mut news = std::mem::replace(&mut sum.news, empty);
        for live in sum.live.clone() {
            let mut live = lock(&live);
            let empty = Meter::new(live.catalog().clone(), by_part);
            let taken = std::mem::replace(&mut *live, empty);
            drop(live);
            sum.meter.merge(&taken);
            news.merge(&taken);
        }
        news
    }

    /// Waits until no worker is at work, at most for `patience`.
    pub fn settle(&self, patience: Duration) {
        let at_work = |sum: &mut Sum| !sum.live.is_empty();
        // Who has not ended by then is hung, and what it measures is in no record.
        drop(self.inner.1.wait_timeout_while(lock(&self.inner.0), patience, at_work));
    }

    /// Forgets everything that was measured.
    pub fn clear(&self) {
        let mut sum = lock(&self.inner.0);
        let (catalog, by_part) = (sum.meter.catalog().clone(), sum.meter.parts().is_some());
        sum.meter = Meter::new(catalog, by_part);
        sum.news = sum.meter.clone();
    }

    /// Adds what was measured elsewhere. Metrics that only the other side knows are declared here.
    pub fn absorb(&self, metrics: &Metrics, registry: &Registry) {
        lock(&self.inner.0).meter.absorb(metrics, registry);
    }

    /// What the metric or sub-metric called `name` has seen so far; `None` without a sample. Holds up
    /// each worker for as long as copying this one sink takes.
    pub fn peek(&self, name: &str) -> Option<Sink> {
        let sum = lock(&self.inner.0);
        let done = sum.meter.find(name).cloned();
        let live = sum.live.iter().filter_map(|meter| lock(meter).find(name).cloned());
        done.into_iter().chain(live).reduce(|mut all, sink| {
            all.merge(&sink);
            all
        })
    }

    /// Takes a sample for [`Total::take_news`] alone: the number of VUs at the end of an interval.
    pub fn add_news(&self, metric: BuiltIn, value: f64, at: Nanos) {
        let place = Place { scenario: "", group: "", at: at.as_nanos() };
        lock(&self.inner.0).news.add(metric.id(), value, &place, &());
    }

    /// Takes a sample that belongs to no worker: the number of VUs.
    pub fn add(&self, metric: BuiltIn, value: f64, at: Nanos) {
        let place = Place { scenario: "", group: "", at: at.as_nanos() };
        lock(&self.inner.0).meter.add(metric.id(), value, &place, &());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Neither adding nor merging panics half way, so what is inside is whole after any panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The meter of one worker. Its lock is free except while thresholds are evaluated.
pub struct Metered {
    meter: Arc<Mutex<Meter>>,
    total: Total,
    /// Whether any sub-metric asks for the tags of requests.
    tagged: bool,
    system: SystemTags,
}

impl Metered {
    /// A meter of its own for a worker; it goes into `total` when the worker is done.
    pub fn new(catalog: Arc<Catalog>, by_part: bool, total: Total, system: SystemTags) -> Self {
        let tagged = catalog.metrics().any(|(_, metric)| !metric.submetrics.is_empty());
        let meter = Arc::new(Mutex::new(Meter::new(catalog, by_part)));
        lock(&total.inner.0).live.push(meter.clone());
        Self { meter, total, tagged, system }
    }

    fn meter(&self) -> MutexGuard<'_, Meter> {
        lock(&self.meter)
    }

    fn plain<'a>(&self, context: &'a Context<'a>) -> Plain<'a> {
        Plain { context, system: self.system }
    }

    /// k6 adds bytes up when the iteration is over, outside of all groups.
    fn add_bytes(&self, meter: &mut Meter, sent: u64, received: u64, context: &Context<'_>) {
        let outside = Context { group: "", ..*context };
        let (place, tags) = (place(&outside), self.plain(&outside));
        meter.add(BuiltIn::DataSent.id(), sent as f64, &place, &tags);
        meter.add(BuiltIn::DataReceived.id(), received as f64, &place, &tags);
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        let mut sum = lock(&self.total.inner.0);
        sum.live.retain(|meter| !Arc::ptr_eq(meter, &self.meter));
        let own = self.meter();
        sum.meter.merge(&own);
        sum.news.merge(&own);
        drop(own);
        self.total.inner.1.notify_all();
    }
}

/// Position and time of a sample.
fn place<'a>(context: &'a Context<'a>) -> Place<'a> {
    Place { scenario: context.scenario, group: context.group, at: context.at.as_nanos() }
}

/// k6's times are milliseconds.
pub(super) fn spans(timings: &Timings) -> [(BuiltIn, Nanos); 7] {
    [
        (BuiltIn::HttpReqDuration, timings.duration()),
        (BuiltIn::HttpReqBlocked, timings.blocked),
        (BuiltIn::HttpReqConnecting, timings.connecting),
        (BuiltIn::HttpReqTlsHandshaking, timings.tls_handshaking),
        (BuiltIn::HttpReqSending, timings.sending),
        (BuiltIn::HttpReqWaiting, timings.waiting),
        (BuiltIn::HttpReqReceiving, timings.receiving),
    ]
}

impl Observer for Metered {
    fn request(&self, exchange: &Exchange<'_>, context: &Context<'_>) {
        let context = &Context { at: exchange.at, ..*context };
        let mut meter = self.meter();
        let place = place(context);
        let made;
        let tags: &dyn Tags = if self.tagged {
            made = OfRequest::new(exchange, context, self.system);
            &made
        } else {
            &()
        };
        meter.add(BuiltIn::HttpReqs.id(), 1.0, &place, tags);
        for (metric, span) in spans(&exchange.answer.timings) {
            meter.add(metric.id(), span.as_millis_f64(), &place, tags);
        }
        if let Some(expected) = exchange.expected {
            meter.add(BuiltIn::HttpReqFailed.id(), f64::from(u8::from(!expected)), &place, tags);
        }
        self.add_bytes(&mut meter, exchange.bytes_sent, exchange.bytes_received, context);
    }

    fn check(&self, name: &str, passed: bool, context: &Context<'_>) {
        let mut meter = self.meter();
        let place = place(context);
        meter.check(name, passed, &place);
        let tags = OfCheck { plain: self.plain(context), check: name };
        meter.add(BuiltIn::Checks.id(), f64::from(u8::from(passed)), &place, &tags);
    }

    fn group(&self, span: Nanos, context: &Context<'_>) {
        let mut meter = self.meter();
        meter.enter(&place(context));
        meter.add(BuiltIn::GroupDuration.id(), span.as_millis_f64(), &place(context), &self.plain(context));
    }

    fn iteration(&self, span: Nanos, whole: bool, context: &Context<'_>) {
        let mut meter = self.meter();
        // Also iterations without a request have sent and received nothing, which counts as a sample.
        meter.add(BuiltIn::DataSent.id(), 0.0, &place(context), &self.plain(context));
        meter.add(BuiltIn::DataReceived.id(), 0.0, &place(context), &self.plain(context));
        if !whole {
            return;
        }
        meter.add(BuiltIn::Iterations.id(), 1.0, &place(context), &self.plain(context));
        meter.add(
            BuiltIn::IterationDuration.id(),
            span.as_millis_f64(),
            &place(context),
            &self.plain(context),
        );
    }

    fn dropped(&self, count: u64, context: &Context<'_>) {
        let metric = BuiltIn::DroppedIterations.id();
        self.meter().add(metric, count as f64, &place(context), &self.plain(context));
    }

    fn sample(&self, metric: u32, value: f64, context: &Context<'_>) {
        self.meter().add(MetricId(metric as usize), value, &place(context), &self.plain(context));
    }

    fn traffic(&self, sent: u64, received: u64, context: &Context<'_>) {
        self.add_bytes(&mut self.meter(), sent, received, context);
    }

    fn system_tags(&self) -> SystemTags {
        self.system
    }
}

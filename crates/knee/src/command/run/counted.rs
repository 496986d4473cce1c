//! What a script counts, interval by interval, for the record of its run.
//!
//! Does not sum up for k6's summary; the total does.

use std::sync::Arc;
use std::time::Duration;

use knee_core::metric::{MetricSource, Metrics, SamplesSoFar, Threshold};
use knee_core::unit::Nanos;
use knee_engine::control::{Control, Request};
use knee_js::workload::Load;
use knee_k6::duration::SignedDuration;
use knee_k6::metric::BuiltIn;
use knee_k6::observe::metered::Total;
use knee_k6::threshold::{Guarded, Judged, JudgedThreshold, judge};

/// How long workers that have reported their last interval take at most to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Users are counted once a second, as in k6: not at the end of each interval, because some are short.
const BETWEEN: Nanos = Nanos::from_millis(500);

/// The metrics of a load.
pub struct Counted {
    /// Everything that was counted.
    pub total: Total,
    /// Its limits; none if this is a part of a load.
    pub guards: Arc<[Guarded]>,
    /// The load.
    pub load: Arc<Load>,
    /// How many samples the record has of each series.
    pub samples: SamplesSoFar,
    /// When users were counted last.
    pub users_at: Nanos,
    /// Whether the load went to the end of its plan is asked here.
    pub control: Control,
}

impl Counted {
    /// The thresholds, judged over all that was counted until `at`.
    fn thresholds(&self, at: Nanos) -> Vec<Threshold> {
        if self.guards.is_empty() {
            return Vec::new();
        }
        let elapsed = SignedDuration(i64::try_from(at.0).unwrap_or(i64::MAX));
        let meter = self.total.meter();
        let (judged, _) = judge(&self.guards, |name| meter.find(name).cloned(), elapsed, true);
        let one = |metric: &str, threshold: JudgedThreshold| Threshold {
            metric: metric.to_owned(),
            expression: threshold.source,
            value: threshold.value,
            holds: threshold.holds,
        };
        let of = |judged: Judged| {
            let name = judged.name;
            judged.thresholds.into_iter().map(move |threshold| one(&name, threshold))
        };
        judged.into_iter().flat_map(of).collect()
    }

    /// Whether the plan has ended: what is left are the last iterations of some users.
    fn is_over(&self) -> bool {
        let open = self.load.parts.iter().any(knee_js::workload::Part::is_open);
        !open && self.load.tally.active() == 0
    }
}

impl MetricSource for Counted {
    fn take(&mut self, at: Nanos, last: bool) -> Metrics {
        if !last && at.since(self.users_at) >= BETWEEN && !self.is_over() {
            self.users_at = at;
            let tally = &self.load.tally;
            for (metric, count) in [(BuiltIn::Vus, tally.active()), (BuiltIn::VusMax, tally.initialized())] {
                self.total.add_news(metric, count as f64, at);
            }
        }
        if last {
            self.total.settle(PATIENCE);
            if self.control.request() == Request::Run {
                self.load.drop_rest(&*(self.load.observers)(), at);
            }
        }
        let thresholds = if last { self.thresholds(at) } else { Vec::new() };
        let mut metrics = Metrics { thresholds, ..self.total.take_news().metrics() };
        self.samples.shorten(&mut metrics);
        metrics
    }
}

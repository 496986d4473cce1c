//! Watches a running script: counts VUs every second and evaluates thresholds every two seconds.
//!
//! On a thread of its own. Ends the run if a threshold demands it; does not judge the finished run.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use knee_core::clock::{self, MonotonicClock};
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_js::state::Tally;
use knee_k6::duration::SignedDuration;
use knee_k6::metric::BuiltIn;
use knee_k6::observe::metered::Total;
use knee_k6::output::Outlet;
use knee_k6::output::batch::{Batch, TagList};
use knee_k6::threshold::{Guarded, judge};

/// How often VUs are counted.
const PACE: Duration = Duration::from_secs(1);
/// Number of counts per evaluation of the thresholds.
const JUDGED_EVERY: u32 = 2;

/// Everything that is watched.
pub struct Watched {
    /// k6's view of the run.
    pub total: Total,
    /// Thresholds.
    pub guards: Arc<[Guarded]>,
    /// Counts of VUs.
    pub tally: Arc<Tally>,
    /// Ends the run.
    pub control: Control,
    /// Reads zero when the test began.
    pub clock: MonotonicClock,
    /// Where every sample goes, if anywhere.
    pub outlet: Option<Outlet>,
    /// Tags of every sample.
    pub tags: Arc<TagList>,
}

/// The watching thread.
pub struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<bool>,
}

impl Watch {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn start(watched: Watched) -> std::io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let look = move || {
            let mut aborted = false;
            for count in 1.. {
                if stopped.recv_timeout(PACE) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                watched.count_vus();
                aborted |= count % JUDGED_EVERY == 0 && !aborted && watched.judge();
            }
            aborted
        };
        let thread = std::thread::Builder::new().name("thresholds".to_owned()).spawn(look)?;
        Ok(Self { stop, thread })
    }

    /// Ends it; returns whether a threshold has ended the run.
    pub fn end(self) -> bool {
        drop(self.stop);
        // A thread that panicked has said so; the run is judged as a whole anyway.
        self.thread.join().unwrap_or(false)
    }
}

impl Watched {
    fn count_vus(&self) {
        let (now, wall) = (self.clock.now(), clock::wall());
        let counts = [(BuiltIn::Vus, self.tally.active()), (BuiltIn::VusMax, self.tally.initialized())];
        let values = counts.map(|(metric, count)| (metric, count as f64));
        for (metric, count) in &values {
            self.total.add(*metric, *count, now);
        }
        if let Some(outlet) = &self.outlet {
            let mut batch = Batch::default();
            let tags = batch.list(self.tags.clone());
            batch.push(wall, tags, None, values.map(|(metric, count)| (metric.id(), count)));
            outlet.send(batch);
        }
    }

    /// Whether the run was ended.
    fn judge(&self) -> bool {
        ends_early(&self.guards, &self.total, self.clock.now(), &self.control)
    }
}

/// Ends a run, `elapsed` after its begin, if a threshold demands it; returns whether one does.
pub fn ends_early(guards: &[Guarded], total: &Total, elapsed: Nanos, control: &Control) -> bool {
    let elapsed = SignedDuration(i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX));
    let is_hasty = |guard: &&Guarded| guard.thresholds.iter().any(|one| one.abort_on_fail);
    let hasty: Vec<Guarded> = guards.iter().filter(is_hasty).cloned().collect();
    let (_, verdict) = judge(&hasty, |name| total.peek(name), elapsed, false);
    if verdict.abort {
        control.note("a threshold with `abortOnFail` ended the load");
        control.abort();
    }
    verdict.abort
}

//! CPU time that service, stores and generator spend while a trial is measured.
//!
//! Creating ten thousand users, warming up and waiting for the last responses also use CPU time, which is not part of
//! the cost of a request. So the CPU time is sampled several times per second, and only samples within the measured
//! window count. Does not divide by requests.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;
use knee_engine::host;

use crate::process::Snapshot;

/// Interval of the samples. One sample reads a line and a clock for each process of the machine, which takes about a
/// millisecond of CPU time.
const PERIOD: Duration = Duration::from_millis(200);

/// CPU time of the parts: service, stores, generator. `None` where it is unknown.
pub type Parts = [Option<Nanos>; 3];

/// CPU time that each part had used at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The moment, on the clock of the watch.
    at: Nanos,
    used: Parts,
}

/// Samples on its own thread until it is ended.
pub struct Watch {
    clock: MonotonicClock,
    end: Sender<()>,
    looks: JoinHandle<Vec<Sample>>,
}

impl Watch {
    /// Starts to sample the processes of service and stores, and this one.
    pub fn start(service: Vec<u32>, stores: Vec<u32>) -> Self {
        let clock = MonotonicClock::start();
        let (end, ended) = mpsc::channel();
        let mut looks = vec![sample(clock, &service, &stores)];
        let looks = thread::spawn(move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                looks.push(sample(clock, &service, &stores));
            }
            looks.push(sample(clock, &service, &stores));
            looks
        });
        Self { clock, end, looks }
    }

    /// Ends, and returns its samples, on the clock of `run`.
    pub fn end(self, run: Option<MonotonicClock>) -> Observed {
        let began = run.map(|run| {
            let run = run.now();
            Nanos(self.clock.now().as_nanos().saturating_sub(run.as_nanos()))
        });
        drop(self.end);
        Observed { looks: self.looks.join().unwrap_or_default(), began }
    }
}

fn sample(clock: MonotonicClock, service: &[u32], stores: &[u32]) -> Sample {
    let snapshot = Snapshot::now();
    let used = [snapshot.cpu(service), snapshot.cpu(stores), Some(host::cpu_time())];
    Sample { at: clock.now(), used }
}

/// The samples of a watch.
#[derive(Clone, Debug)]
pub struct Observed {
    looks: Vec<Sample>,
    /// When the run's clock read zero, if it ever did.
    began: Option<Nanos>,
}

impl Observed {
    /// CPU time spent between two moments on the run's clock, computed from the samples between them; `None` if these
    /// span less than half of the time.
    pub fn between(&self, from: Nanos, to: Nanos) -> Option<Parts> {
        let began = self.began?;
        let inside = |look: &&Sample| (began + from..=began + to).contains(&look.at);
        let first = self.looks.iter().find(inside)?;
        let last = self.looks.iter().rfind(inside)?;
        let (seen, whole) = (last.at.since(first.at).as_nanos(), to.since(from).as_nanos());
        if seen * 2 < whole || seen == 0 {
            return None;
        }
        let scale = whole as f64 / seen as f64;
        Some(difference(first, last).map(|cpu| Some(Nanos((cpu?.as_nanos() as f64 * scale) as u64))))
    }

    /// CPU time spent from the first sample to the last.
    pub fn whole(&self) -> Parts {
        match (self.looks.first(), self.looks.last()) {
            (Some(first), Some(last)) => difference(first, last),
            _ => Parts::default(),
        }
    }
}

fn difference(first: &Sample, last: &Sample) -> Parts {
    std::array::from_fn(|part| Some(last.used[part]?.since(first.used[part]?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten looks a second; the service uses 2 s a second for a second, then half of that, the generator 1 s in the
    /// first second only. The run began after a second.
    fn observed() -> Observed {
        let looks = (0..=40_u64).map(|tenth| {
            let at = Nanos::from_millis(tenth * 100);
            let service = Nanos::from_millis(tenth.min(10) * 200 + tenth.saturating_sub(10) * 100);
            let generator = Nanos::from_millis(tenth.min(10) * 100);
            Sample { at, used: [Some(service), None, Some(generator)] }
        });
        Observed { looks: looks.collect(), began: Some(Nanos::from_secs(1)) }
    }

    #[test]
    fn what_was_spent_before_the_window_is_not_counted() {
        let [service, stores, generator] =
            observed().between(Nanos::from_secs(1), Nanos::from_secs(3)).unwrap();
        assert_eq!((service, stores), (Some(Nanos::from_secs(2)), None));
        assert_eq!(generator, Some(Nanos::ZERO), "users were made before the run began");
        assert_eq!(observed().whole()[2], Some(Nanos::from_secs(1)));
    }

    #[test]
    fn edges_between_looks_are_drawn_out() {
        let window = (Nanos::from_millis(1_050), Nanos::from_millis(2_050));
        assert_eq!(observed().between(window.0, window.1).unwrap()[0], Some(Nanos::from_secs(1)));
    }

    #[test]
    fn too_few_looks_tell_nothing() {
        assert!(observed().between(Nanos::from_millis(1_010), Nanos::from_millis(1_290)).is_none());
        assert!(observed().between(Nanos::from_secs(2), Nanos::from_secs(9)).is_none());
        assert!(Observed { began: None, ..observed() }.between(Nanos::ZERO, Nanos::from_secs(2)).is_none());
    }

    #[test]
    fn a_watch_sees_this_process_work() {
        let watch = Watch::start(Vec::new(), Vec::new());
        let worked = host::cpu_time();
        while host::cpu_time().since(worked) < Nanos::from_millis(20) {}
        let observed = watch.end(Some(MonotonicClock::start()));
        let [service, _, generator] = observed.whole();
        assert!(
            service.is_none() && generator.is_some_and(|cpu| cpu >= Nanos::from_millis(20)),
            "{observed:?}"
        );
    }
}

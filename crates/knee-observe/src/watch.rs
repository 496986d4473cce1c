//! The thread of one source: connects, looks, reads, and reports, until it is asked to stop.
//!
//! Does not know what it reads. Never waits until a report is taken: if the channel is full, the report is lost.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;

use crate::figures::Figures;
use crate::sampler::{About, Depth, Sampler, Unreadable};
use crate::text::message;

/// Pause between attempts to connect.
const AGAIN: Nanos = Nanos::from_secs(1);

/// What takes a time is done again after so many times of it: at most 5 % of the time is spent waiting for a source.
const SHARE: u64 = 20;

/// But never more rarely than once in so many paces: a source that is slow under load is the one to be watched.
const PACES_MAX: u64 = 5;

/// Priority of the threads of observers: a tenth of the weight of the generator's, and never before them.
const NICE: i32 = 10;

/// What the thread of a source reports. Times are on the clock of the observers.
#[derive(Debug)]
pub(crate) enum Report {
    /// A reading at this time.
    Read(Nanos, Box<Figures>, About),
    /// The source cannot be read since this time.
    Unreadable(Nanos, String),
    /// The thread ends.
    Ended,
}

/// What one thread works with.
pub(crate) struct Watch {
    pub(crate) sampler: Box<dyn Sampler>,
    pub(crate) clock: MonotonicClock,
    pub(crate) interval: Nanos,
    pub(crate) secrets: Vec<String>,
    /// Index of the source and what happened.
    pub(crate) reports: SyncSender<(u32, Report)>,
    pub(crate) index: u32,
    /// Something arrives, or the other end is gone: stop.
    pub(crate) stop: Receiver<()>,
}

/// When what is due.
struct Due {
    read: Nanos,
    look: Option<Nanos>,
}

impl Watch {
    /// The whole life of the thread.
    pub(crate) fn run(mut self) {
        give_way();
        loop {
            match self.sampler.connect().and_then(|()| self.stay()) {
                Ok(()) => break,
                Err(Unreadable(reason)) => {
                    self.sampler.disconnect();
                    let reason = message(&reason, &self.secrets);
                    self.report(Report::Unreadable(self.clock.now(), reason));
                }
            }
            if self.waits(AGAIN) {
                break;
            }
        }
        self.report(Report::Ended);
    }

    /// Reads until the end. An error is the end of the connection only.
    fn stay(&mut self) -> Result<(), Unreadable> {
        self.read(Depth::Whole)?;
        let now = self.clock.now();
        let look_pace = self.sampler.look_pace().map(Nanos::from);
        let mut due = Due { read: now.saturating_add(self.interval), look: look_pace.map(|_| now) };
        loop {
            let next = due.look.unwrap_or(Nanos::MAX).min(due.read);
            if self.waits(next.since(self.clock.now())) {
                return self.read(Depth::Whole);
            }
            let now = self.clock.now();
            if let Some(pace) = look_pace.filter(|_| due.look.is_some_and(|due| due <= now)) {
                self.sampler.look()?;
                due.look = Some(self.next(now, pace));
            }
            if due.read <= self.clock.now() {
                let now = self.clock.now();
                self.read(Depth::Interval)?;
                due.read = self.next(now, self.interval);
            }
        }
    }

    /// When to do again what began at `began` and has just ended.
    fn next(&self, began: Nanos, pace: Nanos) -> Nanos {
        let now = self.clock.now();
        began.saturating_add(slower(pace, now.since(began))).max(now)
    }

    fn read(&mut self, depth: Depth) -> Result<(), Unreadable> {
        let at = self.clock.now();
        let mut figures = Figures::default();
        self.sampler.read(at, depth, &mut figures)?;
        let mut about = self.sampler.about();
        about.without.iter_mut().for_each(|words| *words = message(words, &self.secrets));
        self.report(Report::Read(at, Box::new(figures), about));
        Ok(())
    }

    fn report(&self, report: Report) {
        // A full channel means that the run does not take reports; its end is noticed by `waits`.
        let _ = self.reports.try_send((self.index, report));
    }

    /// Waits; whether it is time to stop.
    fn waits(&self, time: Nanos) -> bool {
        !matches!(self.stop.recv_timeout(Duration::from(time)), Err(RecvTimeoutError::Timeout))
    }
}

/// Lets every other thread of the CPU go first: a reading that is late is still right, a request that is late is not.
fn give_way() {
    // Elsewhere the priority would be that of the whole process. Where it is refused, the thread works as it is.
    if cfg!(target_os = "linux") {
        let _ = rustix::process::setpriority_process(None, NICE);
    }
}

/// The pace of what takes this long.
pub(crate) fn slower(pace: Nanos, took: Nanos) -> Nanos {
    Nanos(took.0.saturating_mul(SHARE)).clamp(pace, Nanos(pace.0.saturating_mul(PACES_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_done_more_rarely_but_not_too_rarely() {
        let second = Nanos::from_secs(1);
        for (took, pace) in [(0, 1_000), (50, 1_000), (100, 2_000), (900, 5_000)] {
            assert_eq!(slower(second, Nanos::from_millis(took)), Nanos::from_millis(pace));
        }
    }
}

//! The thread of one source: connects, looks, reads, and reports, until it is asked to stop.
//!
//! Does not know what it reads. Never waits until a report is taken: if the channel is full, the report is lost.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;

use crate::figures::Figures;
use crate::pace::slower;
use crate::sampler::{About, Depth, Sampler, Unreadable};
use crate::text::message;

mod looks;

use looks::Looks;

/// Pause between attempts to connect.
const AGAIN: Nanos = Nanos::from_secs(1);

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
    /// The planned length of the run, as far as its plan bounds it.
    pub(crate) planned: Option<Nanos>,
    pub(crate) secrets: Vec<String>,
    /// Index of the source and what happened.
    pub(crate) reports: SyncSender<(u32, Report)>,
    pub(crate) index: u32,
    /// Something arrives, or the other end is gone: stop.
    pub(crate) stop: Receiver<()>,
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
        let mut looks = self.sampler.look_pace(self.planned).map(|pace| Looks::new(pace.into(), now));
        let mut read_due = now.saturating_add(self.interval);
        loop {
            let next = looks.as_ref().map_or(Nanos::MAX, Looks::due).min(read_due);
            if self.waits(next.since(self.clock.now())) {
                return self.read(Depth::Whole);
            }
            let now = self.clock.now();
            if let Some(looks) = looks.as_mut().filter(|looks| looks.due() <= now) {
                self.sampler.look()?;
                let ended = self.clock.now();
                looks.advance(ended, ended.since(now));
            }
            if read_due <= self.clock.now() {
                let now = self.clock.now();
                self.read(Depth::Interval)?;
                read_due = self.next(now, self.interval);
            }
        }
    }

    /// When to read again after a reading that began at `began` and has just ended.
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

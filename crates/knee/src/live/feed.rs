//! One fold of the events, shared by the thread that takes them and everything that shows them.
//!
//! The engine never waits for this lock: it hands events to a bounded channel, and drops them if that is full. Does not
//! draw and does not serve.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::event::Event;
use knee_core::record::Run;
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_engine::steering::Steering;

use super::fold::{Conclusion, Fold};

/// A handle on the fold. Clones share it.
#[derive(Clone, Debug)]
pub struct Feed(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: MonotonicClock,
    fold: Mutex<Fold>,
    changed: Condvar,
    /// The latest run.
    run: Mutex<Attached>,
}

/// What a browser can do to a run, and what the run's record says of browsers.
#[derive(Debug, Default)]
struct Attached {
    control: Option<Control>,
    /// Whether its record says that it was watched.
    is_mentioned: bool,
}

impl Default for Feed {
    fn default() -> Self {
        let clock = MonotonicClock::start();
        let (fold, run) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Shared { clock, fold, changed: Condvar::new(), run }))
    }
}

impl Feed {
    /// The time on the clock of this feed.
    pub fn now(&self) -> Nanos {
        self.0.clock.now()
    }

    /// Takes an event that came now.
    pub fn take(&self, event: &Event) {
        self.take_at(event, self.now());
    }

    /// Takes an event that came at `now`.
    pub fn take_at(&self, event: &Event, now: Nanos) {
        self.change(|fold| fold.handle(event, now));
    }

    /// The run is over and summed up.
    pub fn finish(&self, run: &Run) {
        let now = self.now();
        self.change(|fold| fold.finish(run, now));
    }

    /// A run begins: its record says if it is watched.
    pub fn attach(&self, control: Control) {
        *self.run() = Attached { control: Some(control), is_mentioned: false };
    }

    /// What a browser did to the run in progress, for its record.
    pub fn mention(&self, what: &str) {
        if let Some(control) = &self.run().control {
            control.note(what);
        }
    }

    /// What changes the rate of the latest run; `None` before the first one.
    pub fn steering(&self) -> Option<Steering> {
        self.run().control.as_ref().map(|control| control.steering().clone())
    }

    /// Notes in the record of the run, once, that a browser watched it: browsers use CPU time.
    pub fn mention_watcher(&self) {
        let run = &mut *self.run();
        if let Some(control) = run.control.as_ref().filter(|_| !run.is_mentioned) {
            control.note("a browser watched the live page");
            run.is_mentioned = true;
        }
    }

    fn run(&self) -> MutexGuard<'_, Attached> {
        self.0.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line of progress.
    pub fn note(&self, line: &str) {
        self.change(|fold| fold.note(line));
    }

    /// The result of the command is known.
    pub fn conclude(&self, conclusion: Conclusion) {
        self.change(|fold| fold.conclude(conclusion));
    }

    /// The command is about to end.
    pub fn close(&self) {
        self.change(Fold::close);
    }

    /// What is known so far. Whatever takes events waits while this is held.
    pub fn read(&self) -> MutexGuard<'_, Fold> {
        // A reader that panicked has changed nothing.
        self.0.fold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same as soon as there is more than what was `seen`, or after `longest`.
    pub fn wait(&self, seen: Option<u64>, longest: Duration) -> MutexGuard<'_, Fold> {
        self.wait_while(longest, |fold| seen == Some(fold.sequence))
    }

    /// Waits for `span`, or until the command is about to end.
    pub fn pause(&self, span: Duration) {
        drop(self.wait_while(span, |fold| !fold.over));
    }

    fn wait_while(&self, longest: Duration, waits: impl Fn(&Fold) -> bool) -> MutexGuard<'_, Fold> {
        let waited = self.0.changed.wait_timeout_while(self.read(), longest, |fold| waits(fold));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn change(&self, change: impl FnOnce(&mut Fold)) {
        change(&mut self.read());
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_waits_wakes_with_the_next_event_and_at_the_end() {
        let feed = Feed::default();
        let seen = feed.read().sequence;
        let other = feed.clone();
        let reader = std::thread::spawn(move || {
            let first = other.wait(Some(seen), Duration::from_secs(60)).sequence;
            other.pause(Duration::from_secs(60));
            (first, other.read().over)
        });
        feed.note("step 1 of 2");
        feed.close();
        let (first, over) = reader.join().unwrap();
        assert!(first > seen && over);
    }
}

//! Measures how late a worker reads responses: it sets itself a timer every few milliseconds, and notices the timer
//! just as late.
//!
//! Everything that stops the event loop shows here: no CPU, a quota, a stop, too much work. A try measures how long
//! the loop stood still. The number of responses that waited meanwhile follows from the number in flight. Does not
//! judge; see `knee_core::validity`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use knee_core::generator::{LoopLag, PAUSE};
use knee_core::unit::Nanos;

use crate::recorder::Recorder;
use crate::timer::Timer;

/// Interval of the tries: with 200 tries per second, a run of one second has a p90.
const PACE: Nanos = Nanos::from_millis(5);

/// The tries of one worker.
#[derive(Debug)]
pub struct LoopProbe {
    recorder: Rc<RefCell<Recorder>>,
    seen: RefCell<LoopLag>,
    /// When the next try is due.
    next: Cell<Nanos>,
    /// Requests that had ended at the last try, and those in flight.
    before: Cell<(u64, u64)>,
}

impl LoopProbe {
    /// A probe for the worker with this recorder.
    pub fn new(recorder: Rc<RefCell<Recorder>>) -> Self {
        Self { recorder, seen: RefCell::default(), next: Cell::default(), before: Cell::default() }
    }

    /// Tries for ever.
    pub async fn watch<T: Timer>(&self, timer: T) {
        loop {
            let next = timer.now().saturating_add(PACE);
            self.next.set(next);
            timer.sleep_until(next).await;
            self.note(timer.noticed().since(self.next.get()));
        }
    }

    fn note(&self, late: Nanos) {
        let recorder = self.recorder.borrow();
        let (answered, in_flight) = self.before.replace((recorder.answered(), recorder.in_flight()));
        let read = recorder.answered().saturating_sub(answered);
        let held = held_up(late, recorder.in_flight().max(in_flight)).min(read);
        self.seen.borrow_mut().note(late, held, read - held);
    }

    /// Takes the samples up to `now`, including a pause that has not been noticed yet.
    pub fn take(&self, now: Nanos) -> LoopLag {
        let late = now.since(self.next.get());
        // Before the first try there is nothing that could be late.
        if late >= PAUSE && self.next.get() > Nanos::ZERO {
            self.note(late);
            self.next.set(now);
        }
        let mut seen = self.seen.borrow_mut();
        let taken = seen.clone();
        seen.clear();
        taken
    }
}

/// How many responses a delay held up, if a try noticed the end of the delay.
///
/// A response can wait only if its request was in flight. A delay of two milliseconds in a closed load with five
/// connections therefore made five responses late, not the hundred that were read in the rest of the time. A delay
/// that is shorter than the time between two tries is noticed only sometimes: with a chance of its length divided by
/// that time. The try then sees half of the delay on average. So a noticed delay also counts for those that were
/// missed.
fn held_up(late: Nanos, in_flight: u64) -> u64 {
    let unseen = PACE.0 as f64 / (2 * late.0).max(1) as f64;
    (in_flight.max(1) as f64 * unseen.max(1.0)) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use knee_core::outcome::Outcome;
    use knee_core::plan::EndpointId;

    use super::*;
    use crate::recorder::{Counts, Finish, Marks};

    /// A timer that rings as late as the list says, and then never again. Between two rings as many requests end as the
    /// list says.
    #[derive(Clone)]
    struct Late {
        now: Rc<Cell<Nanos>>,
        by: Rc<RefCell<VecDeque<(Nanos, u64)>>>,
        recorder: Rc<RefCell<Recorder>>,
    }

    impl Timer for Late {
        fn now(&self) -> Nanos {
            self.now.get()
        }

        async fn sleep_until(&self, at: Nanos) {
            let Some((late, requests)) = self.by.borrow_mut().pop_front() else {
                return std::future::pending().await;
            };
            self.now.set(at.saturating_add(late));
            (0..requests).for_each(|_| end_one(&self.recorder, at));
        }
    }

    fn end_one(recorder: &RefCell<Recorder>, at: Nanos) {
        let mut recorder = recorder.borrow_mut();
        let id = recorder.begin(EndpointId(0), at, at);
        recorder.sent(id, at);
        let (marks, counts) = (Marks::default(), Counts::default());
        recorder.finish(
            id,
            &Finish { outcome: Outcome::Ok, done: at, status: None, fault: None, marks, counts, body: None },
        );
    }

    /// What is seen of tries that are late by so many microseconds and see so many requests end, with `open` more in
    /// flight throughout, `after` which nothing rings for a while.
    fn seen(late: &[(u64, u64)], open: u64, after: Nanos) -> (LoopLag, LoopLag) {
        let recorder = Rc::new(RefCell::new(Recorder::new(Nanos::ZERO)));
        for _ in 0..open {
            let mut recorder = recorder.borrow_mut();
            let id = recorder.begin(EndpointId(0), Nanos::ZERO, Nanos::ZERO);
            recorder.sent(id, Nanos::ZERO);
        }
        let by = late.iter().map(|(us, requests)| (Nanos::from_micros(*us), *requests)).collect();
        let timer = Late { now: Rc::default(), by: Rc::new(RefCell::new(by)), recorder: recorder.clone() };
        let probe = LoopProbe::new(recorder);
        let mut watch = pin!(probe.watch(timer.clone()));
        let _ = watch.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let now = timer.now().saturating_add(after);
        (probe.take(now), probe.take(now))
    }

    #[test]
    fn a_pause_is_seen_with_its_length_once() {
        let (lag, again) = seen(&[(0, 1), (30, 1), (500_000, 1), (40, 1)], 0, PACE);
        assert_eq!((lag.lateness.count(), lag.paused), (4, Nanos::from_millis(500)));
        assert_eq!((again.lateness.count(), again.paused), (0, Nanos::ZERO));
    }

    #[test]
    fn a_pause_that_still_lasts_at_the_end_of_an_interval_belongs_to_it() {
        let (lag, again) = seen(&[(20, 1)], 0, Nanos::from_millis(305));
        assert_eq!((lag.tries, lag.paused), (2, Nanos::from_millis(300)));
        assert_eq!(again.tries, 0);
    }

    #[test]
    fn lateness_without_a_pause_is_no_pause() {
        let (lag, _) = seen(&[(0, 1), (50_000, 1), (99_000, 1)], 0, PACE);
        assert_eq!((lag.lateness.count(), lag.paused), (3, Nanos::ZERO));
    }

    #[test]
    fn a_delay_counts_for_the_responses_that_were_in_flight_and_not_for_all_of_the_time_between() {
        let (lag, _) = seen(&[(4_000, 100)], 5, PACE);
        let late = lag.lateness.count() - lag.lateness.count_at_or_below(Nanos::from_millis(1));
        assert_eq!((late, lag.lateness.count()), (5, 100));
    }

    #[test]
    fn a_short_delay_counts_for_those_between_two_tries_as_well() {
        let (lag, _) = seen(&[(1_000, 100)], 5, PACE);
        let late = lag.lateness.count() - lag.lateness.count_at_or_below(Nanos::from_micros(900));
        assert_eq!(late, 12, "2.5 times five");
    }

    #[test]
    fn a_try_in_which_nothing_was_read_delayed_no_response() {
        let (lag, _) = seen(&[(3_000, 0)], 8, PACE);
        assert_eq!((lag.tries, lag.lateness.count()), (1, 0));
    }
}

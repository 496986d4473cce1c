//! Waiting on Linux: one `timerfd` per worker, armed with absolute times and watched by the
//! worker's own epoll, because tokio's timer wheel rounds up to the next millisecond.
//!
//! An idle core takes tens of microseconds to wake up. The alarm learns its mean lateness and is set
//! that much earlier; the worker polls its sockets for the rest of the wait. It does not spin longer:
//! the server can need the core.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Poll, ready};

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;
use tokio::runtime::{LocalOptions, LocalRuntime};

use super::interface::Timer;
use super::queue::SleeperQueue;

/// The alarm is set at most this much early, so this is also the longest spin.
const LEAD_MAX: Nanos = Nanos::from_micros(60);
/// Number of alarms over which lateness is averaged.
const RINGS: u64 = 16;

/// The timer of one worker thread. Clones share one `timerfd`.
#[derive(Clone, Debug)]
pub struct WorkerTimer {
    shared: Rc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: MonotonicClock,
    /// `CLOCK_MONOTONIC` when `clock` read zero.
    origin: Nanos,
    alarm: AsyncFd<OwnedFd>,
    /// The time the alarm is set for; `MAX` if it is not set.
    set_to: Cell<Nanos>,
    /// How much earlier than `set_to` the alarm fires: the mean of its recent lateness.
    lead: Cell<Nanos>,
    noticed: Cell<Nanos>,
    queue: SleeperQueue,
}

impl WorkerTimer {
    /// A runtime on which this timer works. It has none of tokio's timers, whose wheel would cost time
    /// at every wake-up.
    pub fn runtime() -> io::Result<LocalRuntime> {
        tokio::runtime::Builder::new_current_thread().enable_io().build_local(LocalOptions::default())
    }

    // The replacement of `with_interest` is unsafe because a borrowed descriptor could be closed
    // by its owner; this one is owned by the `AsyncFd` itself.
    #[allow(deprecated, reason = "the descriptor is owned, so the safe constructor is sound")]
    /// A timer on `clock`; must be called on a runtime, and [`WorkerTimer::drive`] must run there.
    pub fn new(clock: MonotonicClock) -> io::Result<Self> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let monotonic = clock_gettime(ClockId::Monotonic);
        let monotonic = Nanos(monotonic.tv_sec as u64 * 1_000_000_000 + monotonic.tv_nsec as u64);
        let shared = Shared {
            clock,
            origin: monotonic.since(clock.now()),
            alarm: AsyncFd::with_interest(fd, tokio::io::Interest::READABLE)?,
            set_to: Cell::new(Nanos::MAX),
            lead: Cell::new(Nanos::ZERO),
            noticed: Cell::new(Nanos::ZERO),
            queue: SleeperQueue::default(),
        };
        Ok(Self { shared: Rc::new(shared) })
    }

    /// Wakes sleepers; never returns. To be run as a separate task.
    pub async fn drive(self) {
        let shared = &*self.shared;
        loop {
            // Waiting for readability can fail only while the runtime shuts down.
            let Ok(mut guard) = shared.alarm.readable().await else { return };
            let mut expirations = [0; 8];
            let _ = guard.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), &mut expirations)?));
            guard.clear_ready();
            shared.learn();
            shared.set_to.set(Nanos::MAX);
            shared.wake_until_idle().await;
        }
    }
}

impl Shared {
    /// Moves the lead towards the lateness of this alarm. Ignores an alarm that was not set.
    fn learn(&self) {
        if self.set_to.get() == Nanos::MAX {
            return;
        }
        let rung = self.set_to.get().since(self.lead.get());
        let late = self.clock.now().since(rung).min(LEAD_MAX);
        self.lead.set(Nanos((self.lead.get().0 * (RINGS - 1) + late.0) / RINGS));
    }

    /// Wakes sleepers until the next one is further away than the lead; sets the alarm for it.
    async fn wake_until_idle(&self) {
        loop {
            let now = self.clock.now();
            self.noticed.set(now);
            self.queue.wake_due(now);
            match self.queue.earliest() {
                // Lets the runtime poll its sockets meanwhile.
                Some(at) if at <= now.saturating_add(self.lead.get()) => tokio::task::yield_now().await,
                // Woken sleepers set the alarm when they sleep again; those still queued need it now.
                Some(at) => return self.arm(at),
                None => return,
            }
        }
    }

    /// Sets the alarm for `at` unless it is set for an earlier time.
    fn arm(&self, at: Nanos) {
        if at >= self.set_to.get() {
            return;
        }
        let at_monotonic = self.origin.saturating_add(at.since(self.lead.get())).0;
        let value = Timespec {
            tv_sec: (at_monotonic / 1_000_000_000).cast_signed(),
            tv_nsec: (at_monotonic % 1_000_000_000).cast_signed(),
        };
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let setting = Itimerspec { it_interval: none, it_value: value };
        if timerfd_settime(&self.alarm, TimerfdTimerFlags::ABSTIME, &setting).is_ok() {
            self.set_to.set(at);
        }
    }
}

impl Timer for WorkerTimer {
    #[inline]
    fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    fn noticed(&self) -> Nanos {
        self.shared.noticed.get()
    }

    async fn sleep_until(&self, at: Nanos) {
        let shared = &*self.shared;
        let mut sleeper = shared.queue.sleeper(at);
        poll_fn(|ctx| {
            let (poll, earliest) = sleeper.poll(shared.clock.now(), ctx);
            if earliest {
                shared.arm(at);
            }
            ready!(poll);
            Poll::Ready(())
        })
        .await;
    }
}

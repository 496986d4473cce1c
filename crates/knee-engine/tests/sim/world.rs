//! A clock that jumps from one wake-up to the next, and the tasks that run on it.
//!
//! One thread, no real time: the same run gives the same numbers every time. The tasks run on the engine's own runtime,
//! without its timers and sockets; time moves when every task waits.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

use knee_core::clock::simulate;
use knee_core::unit::Nanos;
use knee_engine::timer::Timer;
use knee_engine::timer::queue::SleeperQueue;
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

thread_local! {
    /// The world that runs on this thread.
    static CURRENT: RefCell<Option<Rc<Shared>>> = const { RefCell::new(None) };
}

#[derive(Clone, Default)]
pub struct SimTimer {
    shared: Rc<Shared>,
}

#[derive(Default)]
struct Shared {
    now: Cell<Nanos>,
    /// How late every sleep ends.
    lateness: Cell<Nanos>,
    queue: SleeperQueue,
    /// Wakers by the time at which they are due; the number keeps those of one time in their order.
    wakers: RefCell<BTreeMap<(Nanos, u64), Waker>>,
    number: Cell<u64>,
    /// The task that asks whether the run is over.
    main: RefCell<Option<Waker>>,
    /// Whether it was woken since the time moved.
    is_asked: Cell<bool>,
    /// Whether no task can ever go on.
    is_stuck: Cell<bool>,
}

impl Timer for SimTimer {
    fn now(&self) -> Nanos {
        self.shared.now.get()
    }

    async fn sleep_until(&self, at: Nanos) {
        let at = if at > self.now() { at.saturating_add(self.shared.lateness.get()) } else { at };
        let mut sleeper = self.shared.queue.sleeper(at);
        poll_fn(|ctx| sleeper.poll(self.now(), ctx).0).await;
    }
}

impl SimTimer {
    /// Wakes a task at `at`, or now if that has passed.
    pub fn wake_at(&self, at: Nanos, waker: Waker) {
        if at <= self.now() {
            return waker.wake();
        }
        let number = self.shared.number.get();
        self.shared.number.set(number + 1);
        self.shared.wakers.borrow_mut().insert((at, number), waker);
    }
}

impl Shared {
    /// Every task waits: asks whether the run is over, then moves the time to the next wake-up.
    fn rest(&self) {
        if !self.is_asked.replace(true) {
            return self.wake_main();
        }
        self.is_asked.set(false);
        let waking = self.wakers.borrow().first_key_value().map(|((at, _), _)| *at);
        let Some(next) = self.queue.earliest().into_iter().chain(waking).min() else {
            self.is_stuck.set(true);
            return self.wake_main();
        };
        assert!(next < Nanos::from_secs(10_000), "the run does not end");
        self.now.set(next);
        simulate(next);
        self.queue.wake_due(next);
        loop {
            let mut wakers = self.wakers.borrow_mut();
            let Some(due) = wakers.first_entry().filter(|due| due.key().0 <= next) else { break };
            let waker = due.remove();
            drop(wakers);
            waker.wake();
        }
        // Some wakers wake no task. The runtime would rest for ever.
        self.wake_main();
    }

    fn wake_main(&self) {
        if let Some(waker) = self.main.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// Tasks and their clock. One at a time on a thread.
pub struct World {
    pub timer: SimTimer,
    tasks: LocalSet,
    runtime: Runtime,
}

impl World {
    pub fn new() -> Self {
        let timer = SimTimer::default();
        simulate(Nanos::ZERO);
        CURRENT.set(Some(timer.shared.clone()));
        let rest = || {
            let current = CURRENT.with_borrow(Clone::clone);
            current.expect("a world runs on the thread that made it").rest();
        };
        let runtime = tokio::runtime::Builder::new_current_thread().on_thread_park(rest).build();
        Self { timer, tasks: LocalSet::new(), runtime: runtime.expect("nothing of the system is asked for") }
    }

    /// A world whose timers are late, as those of most platforms.
    pub fn with_late_timers(lateness: Nanos) -> Self {
        let world = Self::new();
        world.timer.shared.lateness.set(lateness);
        world
    }

    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.tasks.spawn_local(task);
    }

    /// Advances the clock until `done` returns true or no task waits.
    pub fn run_until(&mut self, done: impl Fn() -> bool) {
        let shared = &self.timer.shared;
        let over = poll_fn(|ctx| {
            // Only a world at rest is over: tasks that are due now still run.
            if shared.is_stuck.get() || (shared.is_asked.get() && done()) {
                return Poll::Ready(());
            }
            *shared.main.borrow_mut() = Some(ctx.waker().clone());
            Poll::Pending
        });
        self.tasks.block_on(&self.runtime, over);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

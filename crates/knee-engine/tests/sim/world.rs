//! A clock that jumps from one wake-up to the next, and the tasks that run on it.
//!
//! One thread, no real time: the same run gives the same numbers every time.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

use futures_executor::{LocalPool, LocalSpawner};
use futures_task::LocalSpawn;
use knee_core::unit::Nanos;
use knee_engine::timer::Timer;
use knee_engine::timer::queue::SleeperQueue;

#[derive(Clone, Default)]
pub struct SimTimer {
    shared: Rc<Shared>,
}

#[derive(Default)]
struct Shared {
    now: Cell<Nanos>,
    queue: SleeperQueue,
}

impl Timer for SimTimer {
    fn now(&self) -> Nanos {
        self.shared.now.get()
    }

    async fn sleep_until(&self, at: Nanos) {
        let mut sleeper = self.shared.queue.sleeper(at);
        std::future::poll_fn(|ctx| sleeper.poll(self.now(), ctx).0).await;
    }
}

/// Tasks and their clock.
pub struct World {
    pub timer: SimTimer,
    pool: LocalPool,
}

impl World {
    pub fn new() -> Self {
        Self { timer: SimTimer::default(), pool: LocalPool::new() }
    }

    pub fn spawner(&self) -> LocalSpawner {
        self.pool.spawner()
    }

    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.pool
            .spawner()
            .spawn_local_obj(Box::pin(task).into())
            .expect("the pool lives as long as its world");
    }

    /// Advances the clock until `done` returns true or no task waits.
    pub fn run_until(&mut self, done: impl Fn() -> bool) {
        loop {
            self.pool.run_until_stalled();
            if done() {
                return;
            }
            let Some(next) = self.timer.shared.queue.earliest() else { return };
            assert!(next < Nanos::from_secs(100_000), "the run does not end");
            self.timer.shared.now.set(next);
            self.timer.shared.queue.wake_due(next);
        }
    }
}

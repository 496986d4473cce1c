//! Counts the tasks of one worker, so that a run ends when nothing is left to wait for.
//!
//! Does not start or stop tasks.

use std::cell::Cell;
use std::rc::Rc;
use std::task::Waker;

use knee_core::unit::Nanos;

use crate::executor::{Iteration, User};

/// The tasks of one worker; wakes its conductor when they are done.
#[derive(Default)]
pub struct ActiveTasks {
    /// Tasks that have not ended.
    count: Cell<usize>,
    /// Users within an iteration.
    busy: Cell<usize>,
    draining: Cell<bool>,
    conductor: Cell<Option<Waker>>,
}

impl ActiveTasks {
    /// Users within an iteration.
    pub const fn busy(&self) -> usize {
        self.busy.get()
    }

    /// Sets whether only iterations in progress are waited for.
    pub fn drain(&self, draining: bool) {
        self.draining.set(draining);
    }

    /// Who is woken when nothing is left to wait for.
    pub fn wake_when_done(&self, conductor: Waker) {
        self.conductor.set(Some(conductor));
    }

    fn wake_conductor_if_done(&self) {
        let over = self.count.get() == 0 || (self.draining.get() && self.busy.get() == 0);
        if over && let Some(waker) = self.conductor.take() {
            waker.wake();
        }
    }
}

/// Counts a task while it exists. A value inside the task and not a future around it, which would hold the task's state
/// twice, for every connection.
pub struct TaskGuard {
    active: Rc<ActiveTasks>,
    /// Number of users of its scenario that have not ended.
    alive: Option<Rc<Cell<usize>>>,
}

impl TaskGuard {
    /// Counts a task, and a user of its scenario if it is one.
    pub fn new(active: &Rc<ActiveTasks>, alive: Option<&Rc<Cell<usize>>>) -> Self {
        active.count.set(active.count.get() + 1);
        if let Some(alive) = alive {
            alive.set(alive.get() + 1);
        }
        Self { active: active.clone(), alive: alive.cloned() }
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.active.count.set(self.active.count.get() - 1);
        if let Some(alive) = &self.alive {
            alive.set(alive.get() - 1);
        }
        self.active.wake_conductor_if_done();
    }
}

/// A user whose iterations are counted.
pub struct CountedUser<U> {
    /// The user.
    pub user: U,
    /// Counts the user's task.
    pub guard: TaskGuard,
}

impl<U: User> User for CountedUser<U> {
    async fn iterate(&mut self, iteration: Iteration) -> Nanos {
        let active = &self.guard.active;
        active.busy.set(active.busy.get() + 1);
        let done = self.user.iterate(iteration).await;
        active.busy.set(active.busy.get() - 1);
        active.wake_conductor_if_done();
        done
    }

    fn give_up(&mut self, due: Nanos, at: Nanos) {
        self.user.give_up(due, at);
    }
}

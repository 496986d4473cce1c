//! A global interpreter lock, for comparison: one per process, held by the thread that computes.
//!
//! Does nothing until it is enabled. It is a static because a process has only one. A thread can release it during a wait, and must
//! yield it at the end of its time slice if others wait: the interpreter of the published service uses slices of 100 ms. So a thread
//! can lose the lock in the middle of a transaction. A thread that then blocks with the lock, waiting for that transaction, waits in
//! vain.

use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

static ENABLED: AtomicBool = AtomicBool::new(false);
static LOCK: Mutex<()> = Mutex::new(());
/// A time slice has ended, and no thread has yielded since.
static YIELD_REQUESTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static GUARD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Enables the lock for the rest of the process. With a `slice`, the thread that computes at the end of one must yield.
///
/// # Errors
/// The system cannot start the thread of the clock.
pub fn enable(slice: Option<Duration>) -> io::Result<()> {
    ENABLED.store(true, Ordering::Relaxed);
    let Some(slice) = slice else { return Ok(()) };
    let tick = move || {
        loop {
            std::thread::sleep(slice);
            // The tick applies to the thread that computes now, not to the next one.
            YIELD_REQUESTED.store(LOCK.is_locked(), Ordering::Relaxed);
        }
    };
    std::thread::Builder::new().name("slices".into()).spawn(tick).map(drop)
}

/// Yields the lock if the time slice of this thread has ended.
pub fn yield_if_due() {
    if YIELD_REQUESTED.load(Ordering::Relaxed) && is_held() && YIELD_REQUESTED.swap(false, Ordering::Relaxed)
    {
        release_during(|| ());
    }
}

/// Holds the lock until dropped. Not `Send`, so that an async task cannot hold it across a wait.
#[derive(Debug)]
pub struct LockGuard {
    outermost: bool,
    not_send: PhantomData<*const ()>,
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        if self.outermost {
            release();
        }
    }
}

/// Waits for the lock, unless the thread already has it or it is disabled.
pub fn lock() -> LockGuard {
    let outermost = ENABLED.load(Ordering::Relaxed) && !is_held();
    if outermost {
        acquire();
    }
    LockGuard { outermost, not_send: PhantomData }
}

/// Releases the lock while `wait` runs. No effect if the thread does not hold it.
pub fn release_during<R>(wait: impl FnOnce() -> R) -> R {
    if !is_held() {
        return wait();
    }
    release();
    let result = wait();
    acquire();
    result
}

fn is_held() -> bool {
    GUARD.with_borrow(Option::is_some)
}

fn acquire() {
    let guard = LOCK.lock();
    YIELD_REQUESTED.store(false, Ordering::Relaxed);
    GUARD.set(Some(guard));
}

/// Hands the lock to the thread that has waited longest, as interpreters do.
fn release() {
    if let Some(guard) = GUARD.take() {
        MutexGuard::unlock_fair(guard);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn another_thread_computes_only_when_the_lock_is_released() {
        enable(None).unwrap();
        let (started, has_started) = mpsc::channel();
        let (done, is_done) = mpsc::channel();
        let held = lock();
        let other = std::thread::spawn(move || {
            started.send(()).unwrap();
            let _held = lock();
            done.send(()).unwrap();
        });
        has_started.recv().unwrap();
        assert!(is_done.try_recv().is_err(), "the other thread computed under our lock");
        // Without the release this would never return.
        release_during(|| is_done.recv().unwrap());
        assert!(is_held());
        drop(held);
        assert!(!is_held());
        other.join().unwrap();
    }

    #[test]
    fn a_computing_thread_yields_at_the_end_of_its_slice() {
        enable(Some(Duration::from_millis(1))).unwrap();
        let (done, is_done) = mpsc::channel();
        let held = lock();
        let other = std::thread::spawn(move || {
            let _held = lock();
            done.send(()).unwrap();
        });
        // This thread never waits, and still lets the other one in.
        while is_done.try_recv().is_err() {
            yield_if_due();
        }
        assert!(is_held());
        drop(held);
        other.join().unwrap();
    }
}

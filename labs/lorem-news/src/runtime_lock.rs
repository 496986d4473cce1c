//! The lock of an interpreter, for comparison: one per process, held by whoever computes.
//!
//! Does nothing until it is enabled. It is a static because that is what it stands for: no part of a process can have
//! a second one. A thread that holds it may give it away for the length of a wait, and has to when its time is up and
//! others wait: the interpreter of the published service looks at a clock that ticks each 100 ms. So a thread can lose its turn in the middle
//! of a transaction, and then whoever blocks the process until that transaction ends waits for nothing.

use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

static ENABLED: AtomicBool = AtomicBool::new(false);
static LOCK: Mutex<()> = Mutex::new(());
/// The clock has ticked, and nobody has given way since.
static TIME_IS_UP: AtomicBool = AtomicBool::new(false);

thread_local! {
    static MINE: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Turns the lock on for the rest of the process. With a `slice`, whoever computes as one ends has to give way.
///
/// # Errors
/// The system gives no thread for the clock.
pub fn enable(slice: Option<Duration>) -> io::Result<()> {
    ENABLED.store(true, Ordering::Relaxed);
    let Some(slice) = slice else { return Ok(()) };
    let tick = move || {
        loop {
            std::thread::sleep(slice);
            // The tick is for whoever computes now, and not for who comes next.
            TIME_IS_UP.store(LOCK.is_locked(), Ordering::Relaxed);
        }
    };
    std::thread::Builder::new().name("slices".into()).spawn(tick).map(drop)
}

/// A place where the computing thread can be told to give way.
pub fn turn() {
    if TIME_IS_UP.load(Ordering::Relaxed) && is_mine() && TIME_IS_UP.swap(false, Ordering::Relaxed) {
        give_away(|| ());
    }
}

/// The lock, until it is dropped. Cannot leave its thread, so no wait of an async task can keep it.
#[derive(Debug)]
pub struct Held {
    outermost: bool,
    stays_here: PhantomData<*const ()>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.outermost {
            release();
        }
    }
}

/// Waits for the lock, unless the thread has it or it is not enabled.
pub fn hold() -> Held {
    let outermost = ENABLED.load(Ordering::Relaxed) && !is_mine();
    if outermost {
        acquire();
    }
    Held { outermost, stays_here: PhantomData }
}

/// Lets others compute while `wait` runs; without effect when the thread does not hold the lock.
pub fn give_away<R>(wait: impl FnOnce() -> R) -> R {
    if !is_mine() {
        return wait();
    }
    release();
    let result = wait();
    acquire();
    result
}

fn is_mine() -> bool {
    MINE.with_borrow(Option::is_some)
}

fn acquire() {
    let guard = LOCK.lock();
    TIME_IS_UP.store(false, Ordering::Relaxed);
    MINE.set(Some(guard));
}

/// Hands the lock to the thread that has waited longest: interpreters queue for it.
fn release() {
    if let Some(guard) = MINE.take() {
        MutexGuard::unlock_fair(guard);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn another_thread_computes_only_when_the_lock_is_given_away() {
        enable(None).unwrap();
        let (started, has_started) = mpsc::channel();
        let (done, is_done) = mpsc::channel();
        let held = hold();
        let other = std::thread::spawn(move || {
            started.send(()).unwrap();
            let _held = hold();
            done.send(()).unwrap();
        });
        has_started.recv().unwrap();
        assert!(is_done.try_recv().is_err(), "the other thread computed under our lock");
        // Waits for as long as it takes: without the hand-over this would never return.
        give_away(|| is_done.recv().unwrap());
        assert!(is_mine());
        drop(held);
        assert!(!is_mine());
        other.join().unwrap();
    }

    #[test]
    fn who_computes_gives_way_when_the_time_is_up() {
        enable(Some(Duration::from_millis(1))).unwrap();
        let (done, is_done) = mpsc::channel();
        let held = hold();
        let other = std::thread::spawn(move || {
            let _held = hold();
            done.send(()).unwrap();
        });
        // Never waits, and lets others in all the same.
        while is_done.try_recv().is_err() {
            turn();
        }
        assert!(is_mine());
        drop(held);
        other.join().unwrap();
    }
}

//! A count that several threads add to and hardly any reads.
//!
//! Processors pass the memory of a plain atomic back and forth, which takes longer than the rest of an iteration's
//! accounting if there are many. So each thread adds to a place of its own. Does not order what threads do.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Places of a counter. More threads than that share some.
const PLACES: usize = 32;

/// A count.
#[derive(Debug, Default)]
pub struct Counter {
    /// Made by the first thread that adds: each VU has counters that are never used.
    places: OnceLock<Box<[Place; PLACES]>>,
}

/// A number in memory that processors pass around as a whole: two lines, because some fetch the next one too.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Place(AtomicU64);

thread_local! {
    /// The calling thread's place in every counter, once it has one.
    static PLACE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Gives each thread the next place.
static NEXT: AtomicUsize = AtomicUsize::new(0);

fn place() -> usize {
    PLACE.get().unwrap_or_else(|| {
        let place = NEXT.fetch_add(1, Ordering::Relaxed) % PLACES;
        PLACE.set(Some(place));
        place
    })
}

impl Counter {
    /// Adds one.
    pub fn add(&self) {
        self.places.get_or_init(Box::default)[place()].0.fetch_add(1, Ordering::Relaxed);
    }

    /// What all threads have added.
    pub fn sum(&self) -> u64 {
        let places = self.places.get().into_iter().flat_map(|places| places.iter());
        places.map(|place| place.0.load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_however_many_threads_add() {
        let counter = Counter::default();
        std::thread::scope(|scope| {
            for _ in 0..PLACES + 8 {
                scope.spawn(|| (0..100).for_each(|_| counter.add()));
            }
        });
        assert_eq!(counter.sum(), (PLACES as u64 + 8) * 100);
    }
}

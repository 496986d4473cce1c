//! How a connection waits for a lock: the pauses of SQLite's own busy handler, up to a limit.
//!
//! Does not sleep and does not count.

use std::time::{Duration, Instant};

/// Pauses in milliseconds, as SQLite has them (`sqliteDefaultBusyCallback`); the last one repeats.
const PAUSES: [u64; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];

/// The waits of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    max: Duration,
    since: Instant,
}

impl Wait {
    /// Waits of at most `max`.
    pub(crate) const fn new(max: Duration, now: Instant) -> Self {
        Self { max, since: now }
    }

    /// The next pause, after this many before for the same statement; `None` if the limit is reached.
    pub(crate) fn pause(&mut self, before: usize, now: Instant) -> Option<Duration> {
        if before == 0 {
            self.since = now;
        }
        let left = self.max.checked_sub(now.saturating_duration_since(self.since))?;
        let pause = PAUSES.get(before).or(PAUSES.last()).copied().map(Duration::from_millis)?;
        Some(pause.min(left)).filter(|pause| !pause.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn pauses_grow_as_those_of_sqlite_and_end_at_the_limit() {
        let mut now = clock::now();
        let mut wait = Wait::new(Duration::from_millis(30), now);
        let mut pauses = Vec::new();
        while let Some(pause) = wait.pause(pauses.len(), now) {
            pauses.push(pause.as_millis());
            now += pause;
        }
        assert_eq!(pauses, [1, 2, 5, 10, 12]);
        assert_eq!(
            wait.pause(0, now),
            Some(Duration::from_millis(1)),
            "the next statement has its own limit"
        );
        assert_eq!(wait.pause(40, now), Some(Duration::from_millis(30)));
        assert_eq!(Wait::new(Duration::ZERO, now).pause(0, now), None);
    }
}

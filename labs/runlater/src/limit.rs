//! Rate limit: requests per client, minute and hour, counted in this process.
//!
//! Windows are fixed: they begin when the clock says so, for all clients at a time. Several nodes count apart.

use std::collections::HashMap;
use std::net::IpAddr;

use parking_lot::Mutex;

use crate::refusal::Refusal;

/// Lengths of the windows, in seconds.
const WINDOWS: [u64; 2] = [60, 3600];

#[derive(Debug, Default)]
struct Window {
    /// Which one since the epoch.
    number: u64,
    counts: HashMap<IpAddr, u32>,
}

/// The counts of this process.
#[derive(Debug)]
pub struct Limits {
    /// Most requests of each window; 0 is no limit.
    max: [u32; 2],
    windows: Mutex<[Window; 2]>,
}

impl Limits {
    /// Allows this many requests per minute and per hour; 0: no limit.
    pub fn new(minute: u32, hour: u32) -> Self {
        Self { max: [minute, hour], windows: Mutex::default() }
    }

    /// Counts a request at a time in seconds since the epoch.
    ///
    /// # Errors
    /// It is one too many. Then it does not count.
    pub fn check(&self, client: IpAddr, now: u64) -> Result<(), Refusal> {
        if self.max == [0, 0] {
            return Ok(());
        }
        let mut windows = self.windows.lock();
        for ((window, length), max) in windows.iter_mut().zip(WINDOWS).zip(self.max) {
            if window.number != now / length {
                // Forgets all clients: memory is bounded by the clients of an hour.
                *window = Window { number: now / length, counts: HashMap::new() };
            }
            if max > 0 && window.counts.get(&client).is_some_and(|count| *count >= max) {
                return Err(Refusal::RateLimit(length - now % length));
            }
        }
        for window in windows.iter_mut() {
            *window.counts.entry(client).or_default() += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const YOU: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

    #[test]
    fn a_client_has_a_limit_per_window() {
        let limits = Limits::new(3, 5);
        let passed = |client, now| limits.check(client, now).is_ok();
        assert_eq!([0, 1, 59, 59].map(|now| passed(ME, 7200 + now)), [true, true, true, false]);
        assert!(passed(YOU, 7259), "others have theirs");
        assert_eq!(
            [60, 61, 62].map(|now| passed(ME, 7200 + now)),
            [true, true, false],
            "3 + 2 are the hour's 5"
        );
        assert!(passed(ME, 10_800), "the next hour");
    }

    #[test]
    fn a_refusal_reports_the_end_of_the_window_and_zero_is_no_limit() {
        let limits = Limits::new(1, 0);
        assert!(limits.check(ME, 130).is_ok());
        assert!(matches!(limits.check(ME, 130), Err(Refusal::RateLimit(50))), "180 - 130");
        let free = Limits::new(0, 0);
        assert!((0..10_000).all(|_| free.check(ME, 1).is_ok()));
    }
}

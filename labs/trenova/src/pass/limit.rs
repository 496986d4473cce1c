//! The rate limit: a count of each user's requests to a route from an address, in windows of Redis's clock.
//!
//! Requests that are refused count too. The count is exact however many processes share Redis.

use std::sync::Arc;

use redis::{Script, cmd};

use super::Caller;
use super::joint::Seen;
use crate::config::switch::Switches;
use crate::link::{Fault, Link};
use crate::refusal::Refusal;

/// The place of a request in its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Requests that a window allows.
    pub limit: u32,
    /// Which of them this is, from 1.
    pub count: u64,
    /// When the window ends, in milliseconds since 1970.
    pub reset_ms: u64,
    /// When it was counted, on the same clock.
    pub now_ms: u64,
}

impl Counted {
    /// Whether it is one too many.
    pub fn is_over(&self) -> bool {
        self.count > u64::from(self.limit)
    }

    /// Requests that are left.
    pub fn remaining(&self) -> u64 {
        u64::from(self.limit).saturating_sub(self.count)
    }

    /// What somebody over the limit is told.
    pub fn refusal(&self) -> Refusal {
        let after = self.reset_ms.saturating_sub(self.now_ms).div_ceil(1000).max(1);
        Refusal::Limited { limit: self.limit, reset_ms: self.reset_ms, after }
    }
}

/// Counts request by request, with commands of its own.
pub struct Limiter {
    link: Arc<Link>,
    script: Script,
    limit: Option<u32>,
    window_ms: u32,
}

impl Limiter {
    /// Counts in the way of the switches.
    pub fn new(link: Arc<Link>, switches: &Switches) -> Self {
        let (limit, window_ms) = (switches.rate_limit.0, switches.rate_window_ms);
        Self { link, script: Script::new(include_str!("limit.lua")), limit, window_ms }
    }

    /// Counts a request: three round trips, as published.
    ///
    /// # Errors
    /// Redis gives no answer: whether it was counted is not known.
    pub async fn count(&self, caller: &Caller, user: &str) -> Result<Seen, Fault> {
        let Some(limit) = self.limit else { return Ok(Seen::default()) };
        for who in [&*caller.ip, user] {
            let is_blocked: bool = self.link.ask(cmd("EXISTS").arg(format!("blocked:{who}"))).await?;
            if is_blocked {
                return Ok(Seen { is_blocked, ..Seen::default() });
            }
        }
        let mut call = self.script.key(format!("rate:{}:{}:{user}", caller.route, caller.ip));
        let (now_ms, count, reset_ms) = self.link.call(call.arg(self.window_ms)).await?;
        Ok(Seen { counted: Some(Counted { limit, count, reset_ms, now_ms }), ..Seen::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_request_of_the_limit_passes_and_the_next_is_told_when_to_come_back() {
        let counted = |count| Counted { limit: 3, count, reset_ms: 10_000, now_ms: 8_500 };
        assert!(!counted(3).is_over());
        assert_eq!((counted(1).remaining(), counted(3).remaining(), counted(9).remaining()), (2, 0, 0));
        assert!(counted(4).is_over());
        assert!(matches!(counted(4).refusal(), Refusal::Limited { after: 2, .. }));
    }
}

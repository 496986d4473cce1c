//! The rate limit: requests per user, route and address, in windows of Redis's clock.
//!
//! Refused requests count too. The count is exact for any number of processes that share Redis.

use std::sync::Arc;

use redis::{Script, cmd};

use super::RequestIdentity;
use super::combined::CheckResult;
use crate::config::switch::Switches;
use crate::redis_client::{Fault, RedisClient};
use crate::refusal::Refusal;

/// A request's count within its rate-limit window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowCount {
    /// Requests allowed per window.
    pub limit: u32,
    /// Number of this request in the window, from 1.
    pub count: u64,
    /// End of the window, in ms since 1970.
    pub reset_ms: u64,
    /// Time of the count, in ms since 1970.
    pub now_ms: u64,
}

impl WindowCount {
    /// Whether the request exceeds the limit.
    pub fn is_over(&self) -> bool {
        self.count > u64::from(self.limit)
    }

    /// Requests left in the window.
    pub fn remaining(&self) -> u64 {
        u64::from(self.limit).saturating_sub(self.count)
    }

    /// The refusal of a request over the limit.
    pub fn refusal(&self) -> Refusal {
        let retry_after = self.reset_ms.saturating_sub(self.now_ms).div_ceil(1000).max(1);
        Refusal::Limited { limit: self.limit, reset_ms: self.reset_ms, retry_after }
    }
}

/// Counts each request with commands of its own.
pub struct Limiter {
    redis: Arc<RedisClient>,
    script: Script,
    limit: Option<u32>,
    window_ms: u32,
}

impl Limiter {
    /// Configured by the switches.
    pub fn new(redis: Arc<RedisClient>, switches: &Switches) -> Self {
        let (limit, window_ms) = (switches.rate_limit.0, switches.rate_window_ms);
        Self { redis, script: Script::new(include_str!("limit.lua")), limit, window_ms }
    }

    /// Counts a request in three round trips, as published.
    ///
    /// # Errors
    /// Redis does not respond; the request may have been counted.
    pub async fn count(&self, identity: &RequestIdentity, user: &str) -> Result<CheckResult, Fault> {
        let Some(limit) = self.limit else { return Ok(CheckResult::default()) };
        for who in [&*identity.ip, user] {
            let is_blocked: bool = self.redis.send(cmd("EXISTS").arg(format!("blocked:{who}"))).await?;
            if is_blocked {
                return Ok(CheckResult { is_blocked, ..CheckResult::default() });
            }
        }
        let mut call = self.script.key(format!("rate:{}:{}:{user}", identity.route, identity.ip));
        let (now_ms, count, reset_ms) = self.redis.run_script(call.arg(self.window_ms)).await?;
        Ok(CheckResult {
            window: Some(WindowCount { limit, count, reset_ms, now_ms }),
            ..CheckResult::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_request_of_the_limit_is_admitted_and_the_next_gets_a_retry_after() {
        let window = |count| WindowCount { limit: 3, count, reset_ms: 10_000, now_ms: 8_500 };
        assert!(!window(3).is_over());
        assert_eq!((window(1).remaining(), window(3).remaining(), window(9).remaining()), (2, 0, 0));
        assert!(window(4).is_over());
        assert!(matches!(window(4).refusal(), Refusal::Limited { retry_after: 2, .. }));
    }
}

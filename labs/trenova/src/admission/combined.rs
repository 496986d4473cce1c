//! Session check and rate limit in one script call, for one request or for a batch.
//!
//! Equal requests share one entry of the call; each still gets its own count in the window.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use redis::{FromRedisValue, Script, Value};

use super::limit::WindowCount;
use crate::config::switch::{SessionEvents, Switches};
use crate::metric::Metrics;
use crate::redis_client::{Fault, RedisClient};
use crate::session::{Session, SessionId};

/// One request's input to the script.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CheckRequest {
    /// Session id.
    pub session: SessionId,
    /// User id, if it is known and the session need not be read.
    pub user: Option<Arc<str>>,
    /// Client address.
    pub ip: Arc<str>,
    /// Method and route.
    pub route: &'static str,
}

/// Redis's result for one request.
#[derive(Debug, Clone, Default)]
pub struct CheckResult {
    /// The session, if it was read and exists.
    pub session: Option<Arc<Session>>,
    /// Whether an operator has blocked the user or the address.
    pub is_blocked: bool,
    /// Its count in the window; `None` if nothing is counted.
    pub window: Option<WindowCount>,
}

/// The script's result for a group of equal requests.
struct ScriptResult {
    session: Option<Arc<Session>>,
    kind: i64,
    /// The count after the last request of the group.
    count: u64,
    reset_ms: u64,
    now_ms: u64,
}

/// Index of a request's distinct entry, and how many equal requests precede it.
type Position = (usize, u64);

/// The script and its arguments.
pub struct CombinedCheck {
    redis: Arc<RedisClient>,
    script: Script,
    limit: Option<u32>,
    window_ms: u32,
    with_events: bool,
    metrics: Metrics,
}

impl CombinedCheck {
    /// Configured by the switches.
    pub fn new(redis: Arc<RedisClient>, switches: &Switches, metrics: Metrics) -> Self {
        Self {
            redis,
            script: Script::new(include_str!("admit.lua")),
            limit: switches.rate_limit.0,
            window_ms: switches.rate_window_ms,
            with_events: switches.session_events != SessionEvents::Off,
            metrics,
        }
    }

    /// Checks all entries in one call; results are in the order of the entries.
    pub async fn check(&self, entries: Vec<CheckRequest>) -> Vec<Result<CheckResult, Fault>> {
        self.metrics.pass_calls.inc();
        let requests = entries.len();
        let (distinct, positions) = distinct(entries);
        match self.call(&distinct).await {
            Ok(found) => positions
                .into_iter()
                .map(|(at, nth)| Ok(self.result_for(&found[at], distinct[at].1, nth)))
                .collect(),
            Err(fault) => vec![Err(fault); requests],
        }
    }

    async fn call(&self, distinct: &[(CheckRequest, u64)]) -> Result<Vec<ScriptResult>, Fault> {
        let mut call = self.script.prepare_invoke();
        call.arg(self.limit.unwrap_or(0)).arg(self.window_ms).arg(u8::from(self.with_events));
        for (entry, requests) in distinct {
            call.key(entry.session.key());
            call.arg(entry.user.as_deref().unwrap_or("")).arg(&*entry.ip).arg(entry.route).arg(requests);
        }
        let answer: Vec<Value> = self.redis.run_script(&call).await?;
        read(answer, distinct.len())
            .ok_or_else(|| Fault::Redis("the script's answer is not as it should be".to_owned()))
    }

    fn result_for(&self, found: &ScriptResult, requests: u64, nth: u64) -> CheckResult {
        let window = self.limit.filter(|_| found.kind == 1).map(|limit| WindowCount {
            limit,
            count: (found.count + nth + 1).saturating_sub(requests),
            reset_ms: found.reset_ms,
            now_ms: found.now_ms,
        });
        CheckResult { session: found.session.clone(), is_blocked: found.kind == 2, window }
    }
}

/// The error while the service stops.
pub fn stopping() -> Fault {
    Fault::Redis("the service is stopping".to_owned())
}

/// Parses a session; `None` if the text is not a session.
pub fn parse(text: &str) -> Option<Arc<Session>> {
    serde_json::from_str(text).map(Arc::new).ok()
}

/// The distinct entries with their counts, and each request's position among them.
fn distinct(entries: Vec<CheckRequest>) -> (Vec<(CheckRequest, u64)>, Vec<Position>) {
    let mut known: HashMap<CheckRequest, usize> = HashMap::new();
    let mut distinct: Vec<(CheckRequest, u64)> = Vec::new();
    let positions = entries.into_iter().map(|entry| {
        let at = match known.entry(entry) {
            Entry::Occupied(slot) => *slot.get(),
            Entry::Vacant(slot) => {
                distinct.push((slot.key().clone(), 0));
                *slot.insert(distinct.len() - 1)
            }
        };
        distinct[at].1 += 1;
        (at, distinct[at].1 - 1)
    });
    let positions = positions.collect();
    (distinct, positions)
}

fn read(answer: Vec<Value>, expected: usize) -> Option<Vec<ScriptResult>> {
    let mut values = answer.into_iter();
    let now_ms = number(values.next()?)?;
    let mut found = Vec::with_capacity(expected);
    while let Some(kind) = values.next() {
        let (kind, count) = (i64::try_from(number(kind)?).ok()?, number(values.next()?)?);
        let (reset_ms, text) = (number(values.next()?)?, String::from_redis_value(values.next()?).ok()?);
        found.push(ScriptResult { session: parse(&text), kind, count, reset_ms, now_ms });
    }
    (found.len() == expected).then_some(found)
}

fn number(value: Value) -> Option<u64> {
    u64::from_redis_value(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(session: SessionId, route: &'static str) -> CheckRequest {
        CheckRequest { session, user: None, ip: "127.0.0.1".into(), route }
    }

    #[test]
    fn equal_requests_share_an_entry_and_keep_their_own_count() {
        let (one, other) = (SessionId::new(), SessionId::new());
        let entries =
            vec![entry(one, "a"), entry(other, "a"), entry(one, "a"), entry(one, "b"), entry(one, "a")];
        let (distinct, positions) = distinct(entries);
        let counts: Vec<u64> = distinct.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [3, 1, 1]);
        assert_eq!(positions, [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2)]);
    }

    #[test]
    fn a_truncated_script_result_is_rejected() {
        let values = |count: i64| (0..count).map(Value::Int).collect();
        assert!(read(values(1), 1).is_none());
        assert!(read(values(4), 1).is_none());
        assert!(read(values(5), 1).is_some());
        assert!(read(values(5), 2).is_none());
    }
}

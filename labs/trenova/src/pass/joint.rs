//! Session and rate limit in one script call, for one request or for all that wait.
//!
//! Requests that are alike share a place in the call, and each gets its own place in the window.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::Arc;

use redis::{FromRedisValue, Script, Value};

use super::limit::Counted;
use crate::config::switch::{SessionEvents, Switches};
use crate::link::{Fault, Link};
use crate::metric::Metrics;
use crate::session::{Session, SessionId};

/// What is asked for one request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Whose session.
    pub session: SessionId,
    /// Whose it is, if that is known and the session need not be read.
    pub user: Option<Arc<str>>,
    /// From which address.
    pub ip: Arc<str>,
    /// Method and route.
    pub route: &'static str,
}

/// What Redis says about a request.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The session, if it was read and is there.
    pub session: Option<Arc<Session>>,
    /// Whether an operator has blocked user or address.
    pub is_blocked: bool,
    /// Its place in the window; none if nothing is counted.
    pub counted: Option<Counted>,
}

/// What a call says about requests that are alike.
struct Found {
    session: Option<Arc<Session>>,
    kind: i64,
    /// The count after the last of them.
    count: u64,
    reset_ms: u64,
    now_ms: u64,
}

/// Which of the different entries a request has, and how many others of that came before it.
type Place = (usize, u64);

/// The script, and what it is told.
pub struct Joint {
    link: Arc<Link>,
    script: Script,
    limit: Option<u32>,
    window_ms: u32,
    with_events: bool,
    metrics: Metrics,
}

impl Joint {
    /// Counts in the way of the switches.
    pub fn new(link: Arc<Link>, switches: &Switches, metrics: Metrics) -> Self {
        Self {
            link,
            script: Script::new(include_str!("pass.lua")),
            limit: switches.rate_limit.0,
            window_ms: switches.rate_window_ms,
            with_events: switches.session_events != SessionEvents::Off,
            metrics,
        }
    }

    /// Asks for all of them in one call; answers come in their order.
    pub async fn look(&self, entries: Vec<Entry>) -> Vec<Result<Seen, Fault>> {
        self.metrics.pass_calls.inc();
        let requests = entries.len();
        let (alike, places) = alike(entries);
        match self.call(&alike).await {
            Ok(found) => {
                places.into_iter().map(|(at, nth)| Ok(self.seen(&found[at], alike[at].1, nth))).collect()
            }
            Err(fault) => vec![Err(fault); requests],
        }
    }

    async fn call(&self, alike: &[(Entry, u64)]) -> Result<Vec<Found>, Fault> {
        let mut call = self.script.prepare_invoke();
        call.arg(self.limit.unwrap_or(0)).arg(self.window_ms).arg(u8::from(self.with_events));
        for (entry, requests) in alike {
            call.key(entry.session.key());
            call.arg(entry.user.as_deref().unwrap_or("")).arg(&*entry.ip).arg(entry.route).arg(requests);
        }
        let answer: Vec<Value> = self.link.call(&call).await?;
        read(answer, alike.len())
            .ok_or_else(|| Fault::Redis("the script's answer is not as it should be".to_owned()))
    }

    fn seen(&self, found: &Found, requests: u64, nth: u64) -> Seen {
        let counted = self.limit.filter(|_| found.kind == 1).map(|limit| Counted {
            limit,
            count: (found.count + nth + 1).saturating_sub(requests),
            reset_ms: found.reset_ms,
            now_ms: found.now_ms,
        });
        Seen { session: found.session.clone(), is_blocked: found.kind == 2, counted }
    }
}

/// What the call fails with while the service stops.
pub fn stopping() -> Fault {
    Fault::Redis("the service is stopping".to_owned())
}

/// A session from its text; none if it is no session.
pub fn parse(text: &str) -> Option<Arc<Session>> {
    serde_json::from_str(text).map(Arc::new).ok()
}

/// Different entries with how often each is there; and for each request which it is, and which of those it is.
fn alike(entries: Vec<Entry>) -> (Vec<(Entry, u64)>, Vec<Place>) {
    let mut known: HashMap<Entry, usize> = HashMap::new();
    let mut alike: Vec<(Entry, u64)> = Vec::new();
    let places = entries.into_iter().map(|entry| {
        let at = match known.entry(entry) {
            Slot::Occupied(slot) => *slot.get(),
            Slot::Vacant(slot) => {
                alike.push((slot.key().clone(), 0));
                *slot.insert(alike.len() - 1)
            }
        };
        alike[at].1 += 1;
        (at, alike[at].1 - 1)
    });
    let places = places.collect();
    (alike, places)
}

fn read(answer: Vec<Value>, expected: usize) -> Option<Vec<Found>> {
    let mut values = answer.into_iter();
    let now_ms = number(values.next()?)?;
    let mut found = Vec::with_capacity(expected);
    while let Some(kind) = values.next() {
        let (kind, count) = (i64::try_from(number(kind)?).ok()?, number(values.next()?)?);
        let (reset_ms, text) = (number(values.next()?)?, String::from_redis_value(values.next()?).ok()?);
        found.push(Found { session: parse(&text), kind, count, reset_ms, now_ms });
    }
    (found.len() == expected).then_some(found)
}

fn number(value: Value) -> Option<u64> {
    u64::from_redis_value(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(session: SessionId, route: &'static str) -> Entry {
        Entry { session, user: None, ip: "127.0.0.1".into(), route }
    }

    #[test]
    fn requests_that_are_alike_share_a_place_and_keep_their_turn() {
        let (one, other) = (SessionId::new(), SessionId::new());
        let entries =
            vec![entry(one, "a"), entry(other, "a"), entry(one, "a"), entry(one, "b"), entry(one, "a")];
        let (alike, places) = alike(entries);
        let counts: Vec<u64> = alike.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [3, 1, 1]);
        assert_eq!(places, [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2)]);
    }

    #[test]
    fn an_answer_that_is_cut_short_is_no_answer() {
        let values = |count: i64| (0..count).map(Value::Int).collect();
        assert!(read(values(1), 1).is_none());
        assert!(read(values(4), 1).is_none());
        assert!(read(values(5), 1).is_some());
        assert!(read(values(5), 2).is_none());
    }
}

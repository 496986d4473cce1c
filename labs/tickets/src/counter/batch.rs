//! Many orders in one script call.
//!
//! Does not decide which orders come together; whoever waits does.

use std::collections::HashMap;
use std::fmt::Write as _;

use redis::{Cmd, ErrorKind, RedisResult, ServerErrorKind};

use super::{EPOCH, Refused, Shared, Taken, judged, unknown};
use crate::config::RedisScript;
use crate::order::Wanted;

impl Shared {
    /// Takes the orders one after the other, each all or none; says of each what became of it.
    pub(super) async fn take_all(&self, script: RedisScript, orders: &[Wanted]) -> Vec<Taken> {
        let (epoch, told) = self.epoch();
        let call = self.call(script, &told, orders);
        let answered = match self.ask(&call).await {
            // A Redis that was started anew does not know the script.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                match self.batch.load_async(&mut self.redis.clone()).await {
                    Ok(_) => self.ask(&call).await,
                    Err(error) => Err(error),
                }
            }
            answered => answered,
        };
        match answered {
            Ok((verdicts, details)) => told_apart(epoch, &verdicts, &details, orders),
            Err(error) => vec![Err(unknown(error)); orders.len()],
        }
    }

    async fn ask(&self, call: &Cmd) -> RedisResult<(String, Vec<i64>)> {
        call.query_async(&mut self.redis.clone()).await
    }

    /// The call that `batch.lua` describes, written into one buffer.
    fn call(&self, script: RedisScript, epoch: &str, orders: &[Wanted]) -> Cmd {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut ids: Vec<&str> = Vec::new();
        for (id, _) in orders.iter().flat_map(|wanted| wanted.order.lines()) {
            places.entry(id).or_insert_with(|| {
                ids.push(id);
                ids.len()
            });
        }
        let keys = orders.iter().filter_map(|wanted| wanted.once.as_ref());
        let mut call = redis::cmd("EVALSHA");
        call.arg(self.batch.get_hash()).arg(1 + ids.len() + keys.clone().count()).arg(EPOCH);
        let mut text = String::new();
        for id in &ids {
            call.arg(written(&mut text, "ticket", id));
        }
        for once in keys {
            call.arg(written(&mut text, "idempotency", &once.key));
        }
        let is_checked = u8::from(script == RedisScript::Checked);
        call.arg(epoch).arg(is_checked).arg(self.key_age).arg(ids.len());
        for Wanted { order, once } in orders {
            call.arg(once.as_ref().map_or("", |once| &once.request)).arg(order.lines().count());
            for (id, count) in order.lines() {
                call.arg(places[id]).arg(count);
            }
        }
        call
    }
}

fn written<'a>(text: &'a mut String, kind: &str, name: &str) -> &'a str {
    text.clear();
    // Writing to a String does not fail.
    let _ = write!(text, "{kind}:{name}");
    text
}

/// Each order's part of the one answer.
fn told_apart(epoch: i64, verdicts: &str, details: &[i64], orders: &[Wanted]) -> Vec<Taken> {
    let mut details = details.iter().copied();
    if verdicts == "4" {
        return vec![Err(Refused::Stale(details.next().unwrap_or(0))); orders.len()];
    }
    let each = verdicts.bytes().zip(orders).map(|(verdict, wanted)| {
        let verdict = verdict.wrapping_sub(b'0');
        let detail = if verdict == 0 { 0 } else { details.next().unwrap_or(0) };
        judged(epoch, verdict, detail, &wanted.order)
    });
    each.collect()
}

//! Many orders in one script call.
//!
//! Does not form the batches; the batcher does.

use std::collections::HashMap;
use std::fmt::Write as _;

use redis::{Cmd, ErrorKind, RedisResult, ServerErrorKind};

use super::{EPOCH, NotTaken, Shared, Taken, interpret, unknown};
use crate::config::RedisScript;
use crate::order::OrderRequest;

impl Shared {
    /// Takes the orders in sequence, each entirely or not at all. Returns one result per order.
    pub(super) async fn take_all(&self, script: RedisScript, orders: &[OrderRequest]) -> Vec<Taken> {
        let (epoch, epoch_argument) = self.epoch();
        let call = self.call(script, &epoch_argument, orders);
        let reply = match self.ask(&call).await {
            // Redis loses loaded scripts when it restarts.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                match self.batch.load_async(&mut self.redis.clone()).await {
                    Ok(_) => self.ask(&call).await,
                    Err(error) => Err(error),
                }
            }
            reply => reply,
        };
        match reply {
            Ok((statuses, details)) => split_results(epoch, &statuses, &details, orders),
            Err(error) => vec![Err(unknown(error)); orders.len()],
        }
    }

    async fn ask(&self, call: &Cmd) -> RedisResult<(String, Vec<i64>)> {
        call.query_async(&mut self.redis.clone()).await
    }

    /// Builds the call that `batch.lua` describes.
    fn call(&self, script: RedisScript, epoch: &str, orders: &[OrderRequest]) -> Cmd {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut ids: Vec<&str> = Vec::new();
        for (id, _) in orders.iter().flat_map(|request| request.order.lines()) {
            places.entry(id).or_insert_with(|| {
                ids.push(id);
                ids.len()
            });
        }
        let keys = orders.iter().filter_map(|request| request.idempotency.as_ref());
        let mut call = redis::cmd("EVALSHA");
        call.arg(self.batch.get_hash()).arg(1 + ids.len() + keys.clone().count()).arg(EPOCH);
        let mut text = String::new();
        for id in &ids {
            call.arg(written(&mut text, "ticket", id));
        }
        for idempotency in keys {
            call.arg(written(&mut text, "idempotency", &idempotency.key));
        }
        let is_checked = u8::from(script == RedisScript::Checked);
        call.arg(epoch).arg(is_checked).arg(self.key_age).arg(ids.len());
        for OrderRequest { order, idempotency } in orders {
            call.arg(idempotency.as_ref().map_or("", |idempotency| &idempotency.request))
                .arg(order.lines().count());
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

/// Splits the reply into one result per order.
fn split_results(epoch: i64, statuses: &str, details: &[i64], orders: &[OrderRequest]) -> Vec<Taken> {
    let mut details = details.iter().copied();
    if statuses == "4" {
        return vec![Err(NotTaken::Stale(details.next().unwrap_or(0))); orders.len()];
    }
    let each = statuses.bytes().zip(orders).map(|(status, request)| {
        let status = status.wrapping_sub(b'0');
        let detail = if status == 0 { 0 } else { details.next().unwrap_or(0) };
        interpret(epoch, status, detail, &request.order)
    });
    each.collect()
}

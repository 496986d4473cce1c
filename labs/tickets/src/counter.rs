//! Stock as counters in Redis, changed by atomic scripts.
//!
//! Does not record sales; `counter_sales` does. The checked script relies on an order having each ticket once.
//!
//! When sales are recorded, counters belong to an epoch: the number of the rebuild that set them. Scripts then refuse counters of
//! another epoch, such as those of a Redis that restarted empty.

mod batch;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use redis::Script;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};

use crate::batcher::Batcher;
use crate::config::{RedisCall, RedisScript};
use crate::metric::Metrics;
use crate::order::{Order, OrderRequest};
use crate::refusal::Refusal;

/// Key of the epoch of the counters.
pub const EPOCH: &str = "tickets:epoch";

const SIMPLE: &str =
    concat!(include_str!("counter/check_epoch_and_key.lua"), include_str!("counter/take.lua"));
const CHECKED: &str = concat!(
    include_str!("counter/check_epoch_and_key.lua"),
    include_str!("counter/check_stock.lua"),
    include_str!("counter/take.lua")
);

/// Maximum number of orders per script call. A script blocks all other Redis clients.
const MAX_BATCH: usize = 500;

/// Key of a ticket's counter.
pub fn key(id: &str) -> String {
    format!("ticket:{id}")
}

/// Opens a connection that reconnects by itself.
///
/// # Errors
/// The address is not a Redis address, or nothing responds there.
pub async fn connect(url: &str, timeout: Duration) -> redis::RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(1)
        .set_connection_timeout(Some(timeout))
        .set_response_timeout(Some(timeout));
    ConnectionManager::new_with_config(redis::Client::open(url)?, config).await
}

/// Reason why an order was not taken.
#[derive(Debug, Clone)]
pub enum NotTaken {
    /// The counters belong to another epoch, given here; 0 if Redis has none.
    Stale(i64),
    /// The order is refused.
    Refused(Arc<Refusal>),
    /// Redis did not respond: tickets may have been taken.
    Unknown(Arc<Refusal>),
}

/// The epoch of the counters an order was taken from; 0 without epochs.
type Taken = Result<i64, NotTaken>;

/// The counters of all tickets.
pub struct Counters {
    shared: Arc<Shared>,
    batches: Option<[Batcher<OrderRequest, Taken>; 2]>,
}

struct Shared {
    redis: ConnectionManager,
    simple: Script,
    checked: Script,
    batch: Script,
    give_back: Script,
    key_age: u32,
    /// 0 for none.
    epoch: AtomicI64,
}

impl Counters {
    /// Loads the scripts, so that requests send only their hash. Redis stores idempotency keys for `key_age` seconds.
    ///
    /// # Errors
    /// Redis does not respond.
    pub async fn load(
        mut redis: ConnectionManager,
        call: RedisCall,
        key_age: u32,
        metrics: &Metrics,
    ) -> redis::RedisResult<Self> {
        let [simple, checked, batch, give_back] =
            [SIMPLE, CHECKED, include_str!("counter/batch.lua"), include_str!("counter/give_back.lua")]
                .map(Script::new);
        for script in [&simple, &checked, &batch, &give_back] {
            script.load_async(&mut redis).await?;
        }
        let epoch = AtomicI64::new(0);
        let shared = Arc::new(Shared { redis, simple, checked, batch, give_back, key_age, epoch });
        let batches = (call == RedisCall::Batch).then(|| {
            [RedisScript::Simple, RedisScript::Checked].map(|script| {
                let shared = Arc::clone(&shared);
                let counts = Arc::clone(&metrics.counter_batches);
                Batcher::start(MAX_BATCH, counts, move |orders: Vec<OrderRequest>| {
                    let shared = Arc::clone(&shared);
                    async move { shared.take_all(script, &orders).await }
                })
            })
        });
        Ok(Self { shared, batches })
    }

    /// Takes all tickets of an order, or none; the simple script takes them even if none is left. Returns the epoch.
    ///
    /// # Errors
    /// Too few are left (never with the simple script), a counter is missing, the key was used for another order,
    /// the counters belong to another epoch, or Redis does not respond.
    pub async fn take(&self, script: RedisScript, request: &OrderRequest) -> Taken {
        match &self.batches {
            None => self.shared.take(script, request).await,
            Some(batchers) => {
                let result = batchers[script as usize].submit(request.clone()).await;
                result.unwrap_or_else(|| Err(NotTaken::Unknown(Arc::new(Refusal::Stopping))))
            }
        }
    }

    /// Adds the tickets of an order back to the counters, unless these belong to another epoch than `epoch` by now.
    ///
    /// # Errors
    /// Redis does not respond: the tickets may or may not be back.
    pub async fn give_back<'a>(
        &self,
        epoch: i64,
        lines: impl Iterator<Item = (&'a str, i64)>,
    ) -> redis::RedisResult<()> {
        let mut call = self.shared.give_back.key(EPOCH);
        call.arg(epoch);
        for (id, count) in lines {
            call.key(key(id)).arg(count);
        }
        let _: u8 = call.invoke_async(&mut self.shared.redis.clone()).await?;
        Ok(())
    }

    /// Sets all counters and starts a new epoch.
    ///
    /// # Errors
    /// Redis does not respond: the caller must discard the epoch.
    pub async fn set_all(&self, epoch: i64, left: &[(String, i32)]) -> redis::RedisResult<()> {
        let mut pipe = redis::pipe();
        pipe.atomic().set(EPOCH, epoch).ignore();
        for (id, left) in left {
            pipe.set(key(id), left).ignore();
        }
        let () = pipe.query_async(&mut self.shared.redis.clone()).await?;
        self.adopt(epoch);
        Ok(())
    }

    /// The epoch that orders are taken in; 0 before the first.
    pub fn epoch(&self) -> i64 {
        self.shared.epoch.load(Ordering::Acquire)
    }

    /// Takes orders in this epoch from now on.
    pub fn adopt(&self, epoch: i64) {
        self.shared.epoch.store(epoch, Ordering::Release);
    }

    /// Checks that Redis responds.
    ///
    /// # Errors
    /// Redis does not respond.
    pub async fn ping(&self) -> redis::RedisResult<()> {
        redis::cmd("PING").query_async(&mut self.shared.redis.clone()).await
    }
}

impl Shared {
    /// The epoch, and the argument for the scripts: empty without epochs.
    fn epoch(&self) -> (i64, String) {
        let epoch = self.epoch.load(Ordering::Acquire);
        (epoch, if epoch == 0 { String::new() } else { epoch.to_string() })
    }

    async fn take(&self, script: RedisScript, OrderRequest { order, idempotency }: &OrderRequest) -> Taken {
        let script = match script {
            RedisScript::Simple => &self.simple,
            RedisScript::Checked => &self.checked,
        };
        let (epoch, epoch_argument) = self.epoch();
        let mut call = script.key(EPOCH);
        call.arg(epoch_argument)
            .arg(idempotency.as_ref().map_or("", |idempotency| &idempotency.request))
            .arg(self.key_age);
        for (id, count) in order.lines() {
            call.key(key(id)).arg(count);
        }
        if let Some(idempotency) = idempotency {
            call.key(format!("idempotency:{}", idempotency.key));
        }
        // Reloads the script if Redis lost it in a restart.
        let (status, detail): (u8, i64) =
            call.invoke_async(&mut self.redis.clone()).await.map_err(unknown)?;
        interpret(epoch, status, detail, order)
    }
}

fn unknown(error: redis::RedisError) -> NotTaken {
    NotTaken::Unknown(Arc::new(error.into()))
}

/// Converts the status of a script into the result of an order.
fn interpret(epoch: i64, status: u8, detail: i64, order: &Order) -> Taken {
    let id = || {
        let line = usize::try_from(detail).unwrap_or(0).saturating_sub(1);
        order.lines().nth(line).map_or("", |(id, _)| id).to_owned()
    };
    let refused = |refusal| Err(NotTaken::Refused(Arc::new(refusal)));
    match status {
        0 => Ok(epoch),
        1 => refused(Refusal::NoCounter(id())),
        2 => refused(Refusal::NotEnoughLeft(id())),
        3 => refused(Refusal::KeyReused),
        _ => Err(NotTaken::Stale(detail)),
    }
}

//! Stock as counters in Redis, taken from by a script that nothing can come in between of.
//!
//! Does not keep who bought what; see `till` for that. An order has each ticket once, which the checked script counts on.
//!
//! When sales are on record, counters belong to an epoch: the number of the rebuild that made them. Scripts then refuse to
//! touch counters of another epoch, as those of a Redis that came back empty are.

mod batch;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use redis::Script;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};

use crate::config::{RedisCall, RedisScript};
use crate::group::Group;
use crate::order::{Order, Wanted};
use crate::refusal::Refusal;

/// Key of the epoch of the counters.
pub const EPOCH: &str = "tickets:epoch";

const SIMPLE: &str = concat!(include_str!("counter/known.lua"), include_str!("counter/take.lua"));
const CHECKED: &str = concat!(
    include_str!("counter/known.lua"),
    include_str!("counter/check.lua"),
    include_str!("counter/take.lua")
);

/// Most orders of one script call: nobody else is served by Redis meanwhile.
const MOST: usize = 500;

/// Key of a ticket's counter.
pub fn key(id: &str) -> String {
    format!("ticket:{id}")
}

/// Opens a connection that comes back by itself after Redis was away.
///
/// # Errors
/// The address is no Redis address, or nothing answers there.
pub async fn connect(url: &str, timeout: Duration) -> redis::RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(1)
        .set_connection_timeout(Some(timeout))
        .set_response_timeout(Some(timeout));
    ConnectionManager::new_with_config(redis::Client::open(url)?, config).await
}

/// Why nothing was taken.
#[derive(Debug, Clone)]
pub enum Refused {
    /// The counters are of another epoch: this one, or 0 if Redis has none.
    Stale(i64),
    /// The buyer has to be told.
    Tell(Arc<Refusal>),
    /// Redis did not answer: whether tickets were taken is not known.
    Unknown(Arc<Refusal>),
}

/// The epoch in which an order was taken, 0 without epochs.
type Taken = Result<i64, Refused>;

/// The counters of all tickets.
pub struct Counters {
    shared: Arc<Shared>,
    batches: Option<[Group<Wanted, Taken>; 2]>,
}

struct Shared {
    redis: ConnectionManager,
    simple: Script,
    checked: Script,
    batch: Script,
    give_back: Script,
    key_age: u32,
    /// 0: none.
    epoch: AtomicI64,
}

impl Counters {
    /// Loads the scripts, so that a request sends only their hash. Idempotency keys are kept for `key_age` seconds.
    ///
    /// # Errors
    /// Redis does not answer.
    pub async fn load(
        mut redis: ConnectionManager,
        call: RedisCall,
        key_age: u32,
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
                Group::start(MOST, move |orders: Vec<Wanted>| {
                    let shared = Arc::clone(&shared);
                    async move { shared.take_all(script, &orders).await }
                })
            })
        });
        Ok(Self { shared, batches })
    }

    /// Takes all tickets of an order, or none; the simple script takes them even when there are none. Says in which epoch.
    ///
    /// # Errors
    /// Too few are left (never with the simple script), a counter is missing, the key was used for another order,
    /// the counters are of another epoch, Redis does not answer.
    pub async fn take(&self, script: RedisScript, wanted: &Wanted) -> Taken {
        match &self.batches {
            None => self.shared.take(script, wanted).await,
            Some(groups) => {
                let answer = groups[script as usize].join(wanted.clone()).await;
                answer.unwrap_or_else(|| Err(Refused::Unknown(Arc::new(Refusal::Stopping))))
            }
        }
    }

    /// Gives the tickets of an order back to the counters of the epoch that they were taken from, if they are still that.
    ///
    /// # Errors
    /// Redis does not answer: whether they are back is not known.
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

    /// Sets all counters, of a new epoch from now on.
    ///
    /// # Errors
    /// Redis does not answer: the epoch has to be given up.
    pub async fn stock(&self, epoch: i64, left: &[(String, i32)]) -> redis::RedisResult<()> {
        let mut pipe = redis::pipe();
        pipe.atomic().set(EPOCH, epoch).ignore();
        for (id, left) in left {
            pipe.set(key(id), left).ignore();
        }
        let () = pipe.query_async(&mut self.shared.redis.clone()).await?;
        self.adopt(epoch);
        Ok(())
    }

    /// The epoch of the counters that orders are taken from; 0 before the first.
    pub fn epoch(&self) -> i64 {
        self.shared.epoch.load(Ordering::Acquire)
    }

    /// Takes from the counters of this epoch from now on.
    pub fn adopt(&self, epoch: i64) {
        self.shared.epoch.store(epoch, Ordering::Release);
    }

    /// Whether Redis answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> redis::RedisResult<()> {
        redis::cmd("PING").query_async(&mut self.shared.redis.clone()).await
    }
}

impl Shared {
    /// As the scripts are told: nothing when there are no epochs.
    fn epoch(&self) -> (i64, String) {
        let epoch = self.epoch.load(Ordering::Acquire);
        (epoch, if epoch == 0 { String::new() } else { epoch.to_string() })
    }

    async fn take(&self, script: RedisScript, Wanted { order, once }: &Wanted) -> Taken {
        let script = match script {
            RedisScript::Simple => &self.simple,
            RedisScript::Checked => &self.checked,
        };
        let (epoch, told) = self.epoch();
        let mut call = script.key(EPOCH);
        call.arg(told).arg(once.as_ref().map_or("", |once| &once.request)).arg(self.key_age);
        for (id, count) in order.lines() {
            call.key(key(id)).arg(count);
        }
        if let Some(once) = once {
            call.key(format!("idempotency:{}", once.key));
        }
        // Loads the script again when Redis has lost it in a restart.
        let (verdict, detail): (u8, i64) =
            call.invoke_async(&mut self.redis.clone()).await.map_err(unknown)?;
        judged(epoch, verdict, detail, order)
    }
}

fn unknown(error: redis::RedisError) -> Refused {
    Refused::Unknown(Arc::new(error.into()))
}

/// What the verdict of a script means for an order.
fn judged(epoch: i64, verdict: u8, detail: i64, order: &Order) -> Taken {
    let id = || {
        let line = usize::try_from(detail).unwrap_or(0).saturating_sub(1);
        order.lines().nth(line).map_or("", |(id, _)| id).to_owned()
    };
    let tell = |refusal| Err(Refused::Tell(Arc::new(refusal)));
    match verdict {
        0 => Ok(epoch),
        1 => tell(Refusal::NoCounter(id())),
        2 => tell(Refusal::Short(id())),
        3 => tell(Refusal::KeyReused),
        _ => Err(Refused::Stale(detail)),
    }
}

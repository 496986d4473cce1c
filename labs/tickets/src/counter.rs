//! Stock as counters in Redis, taken from by a script that nothing can come in between of.
//!
//! Does not keep who bought what. An order has each ticket once, which the checked script counts on.

use std::time::Duration;

use redis::Script;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};

use crate::config::RedisScript;
use crate::once::Once;
use crate::order::Order;
use crate::refusal::Refusal;

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

/// The counters of all tickets.
pub struct Counters {
    redis: ConnectionManager,
    simple: Script,
    checked: Script,
    key_age: u32,
}

impl Counters {
    /// Loads both scripts, so that a request sends only their hash. Idempotency keys are kept for `key_age` seconds.
    ///
    /// # Errors
    /// Redis does not answer.
    pub async fn load(mut redis: ConnectionManager, key_age: u32) -> redis::RedisResult<Self> {
        let simple = Script::new(include_str!("simple.lua"));
        let checked = Script::new(include_str!("checked.lua"));
        for script in [&simple, &checked] {
            script.load_async(&mut redis).await?;
        }
        Ok(Self { redis, simple, checked, key_age })
    }

    /// Takes all tickets of an order, or none; the simple script takes them even when there are none.
    ///
    /// # Errors
    /// Too few are left (never with the simple script), a counter is missing, the key was used for another order,
    /// Redis does not answer.
    pub async fn take(&self, script: RedisScript, order: &Order, once: Option<&Once>) -> Result<(), Refusal> {
        let script = match script {
            RedisScript::Simple => &self.simple,
            RedisScript::Checked => &self.checked,
        };
        let mut call = script.prepare_invoke();
        call.arg(once.map_or("", |once| &once.request)).arg(self.key_age);
        for (id, count) in order.lines() {
            call.key(key(id)).arg(count);
        }
        if let Some(once) = once {
            call.key(format!("idempotency:{}", once.key));
        }
        // Loads the script again when Redis has lost it in a restart.
        let (verdict, line): (u8, usize) = call.invoke_async(&mut self.redis.clone()).await?;
        let id = || order.lines().nth(line.saturating_sub(1)).map_or("", |(id, _)| id).to_owned();
        match verdict {
            0 => Ok(()),
            1 => Err(Refusal::NoCounter(id())),
            2 => Err(Refusal::Short(id())),
            _ => Err(Refusal::KeyReused),
        }
    }

    /// Whether Redis answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> redis::RedisResult<()> {
        redis::cmd("PING").query_async(&mut self.redis.clone()).await
    }
}

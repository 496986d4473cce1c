//! Kills Redis, PostgreSQL and the service in turn during a sale, then audits the tables by SQL.
//!
//! `TICKETS_ATTEMPTS=100000` makes it long. There is one ticket per 100 attempts. Most clients open an order and do not pay, so
//! tickets are released after a second and the sale goes on to the end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;

use crate::fixture::{Service, Stores, body};
use testbed::{free_port, wait};

const BUYERS: usize = 32;
const FLAGS: [&str; 14] = [
    "--record",
    "grouped",
    "--redis-call",
    "batch",
    "--unit-call",
    "batch",
    "--unit-statement",
    "one",
    "--order-stock",
    "counters",
    "--order-age",
    "1",
    "--pool-max",
    "8",
];

/// Outcomes that clients saw.
#[derive(Default)]
struct Outcomes {
    /// Keys of sales from counters.
    counters: Vec<String>,
    /// Keys of sales of units.
    units: Vec<String>,
    /// Ids of orders.
    opened: Vec<String>,
    /// Ids of orders that are paid.
    paid: Vec<String>,
    /// Ids of orders that are cancelled.
    cancelled: Vec<String>,
    refused: usize,
    /// Clients that gave up without a response.
    unknown: usize,
}

struct Trial {
    url: String,
    attempts: usize,
    next: AtomicUsize,
    acknowledged: Mutex<Outcomes>,
}

impl Trial {
    fn done(&self) -> usize {
        self.next.load(Ordering::Relaxed).min(self.attempts)
    }

    /// Runs buyers in sequence until all attempts are made.
    async fn buyers(self: Arc<Self>) {
        let client = reqwest::Client::builder().timeout(Duration::from_secs(20)).build().unwrap();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.attempts {
                return;
            }
            self.buyer(&client, number).await;
        }
    }

    async fn buyer(&self, client: &reqwest::Client, number: usize) {
        let key = format!("buyer-{number}");
        let route = match number % 300 {
            0 => "redis-decrement",
            1..=3 => "pg-reserve-ticket",
            _ => "orders",
        };
        let lines = body(&[(if number.is_multiple_of(2) { "a" } else { "b" }, 1)]);
        let Some((status, json)) = self.ask(client, route, &key, &lines, number).await else {
            self.acknowledged.lock().unwrap().unknown += 1;
            return;
        };
        match (status, route) {
            (409, _) => self.acknowledged.lock().unwrap().refused += 1,
            (200, "redis-decrement") => self.acknowledged.lock().unwrap().counters.push(key),
            (200, _) => self.acknowledged.lock().unwrap().units.push(key),
            (201, _) => {
                let id = json["id"].as_str().unwrap().to_owned();
                let opened = {
                    let mut acknowledged = self.acknowledged.lock().unwrap();
                    acknowledged.opened.push(id.clone());
                    acknowledged.opened.len()
                };
                // Few pay, so that tickets are released until the end; most cancel, the others let the order expire.
                if opened % 100 == 1 {
                    let pay = format!("orders/{id}/pay");
                    if let Some((200, _)) = self.ask(client, &pay, &key, "", number).await {
                        self.acknowledged.lock().unwrap().paid.push(id);
                    }
                } else if number % 5 < 3 {
                    self.cancel(client, id).await;
                }
            }
            _ => panic!("{route}: {status} {json}"),
        }
    }

    async fn cancel(&self, client: &reqwest::Client, id: String) {
        let response = client.delete(format!("{}/orders/{id}", self.url)).send().await;
        if response.is_ok_and(|response| response.status() == 200) {
            self.acknowledged.lock().unwrap().cancelled.push(id);
        }
    }

    /// Repeats a request with the same key until there is a response. Every fifth buyer tries once only.
    async fn ask(
        &self,
        client: &reqwest::Client,
        route: &str,
        key: &str,
        body: &str,
        number: usize,
    ) -> Option<(u16, Value)> {
        let tries = if number.is_multiple_of(5) { 1 } else { 400 };
        for _ in 0..tries {
            let request = client.post(format!("{}/{route}", self.url)).header("Idempotency-Key", key);
            if let Ok(response) = request.body(body.to_owned()).send().await {
                let status = response.status().as_u16();
                if let Ok(text) = response.text().await
                    && status != 503
                {
                    return Some((status, serde_json::from_str(&text).unwrap_or(Value::Null)));
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        None
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn whatever_is_killed_nothing_is_sold_twice_and_nothing_acknowledged_is_lost() {
    let attempts: usize =
        std::env::var("TICKETS_ATTEMPTS").map_or(3000, |attempts| attempts.parse().expect("a number"));
    let kills = if attempts >= 100_000 { 30 } else { 6 };
    let mut stores = Stores::start(&[]).await;
    let each = (attempts / 200).to_string();
    stores.seed(&["--tickets", "2", "--stock", &each, "--units-per-ticket", &each]);
    let listen = format!("127.0.0.1:{}", free_port());
    let flags = [&FLAGS[..], &["--listen", &listen]].concat();
    let mut service = Some(Service::open(&stores, &flags));
    let url = format!("http://{listen}");
    let trial = Arc::new(Trial {
        url,
        attempts,
        next: AtomicUsize::new(5),
        acknowledged: Mutex::new(Outcomes::default()),
    });
    // One request of each kind while stock is sufficient.
    for number in 0..5 {
        trial.buyer(&reqwest::Client::new(), number).await;
    }
    let mut buyers = JoinSet::new();
    for _ in 0..BUYERS {
        buyers.spawn(Arc::clone(&trial).buyers());
    }
    for kill in 0..kills {
        // Spread over the sale by progress, not by time.
        wait_long(async || trial.done() * (kills + 1) >= (kill + 1) * attempts).await;
        match kill % 3 {
            0 => {
                stores.redis.kill();
                stores.redis.restart().await;
            }
            1 => {
                stores.cluster.kill();
                stores.cluster.restart();
            }
            _ => {
                drop(service.take());
                service = Some(Service::open(&stores, &flags));
            }
        }
    }
    buyers.join_all().await;
    let service = service.unwrap();
    let acknowledged = std::mem::take(&mut *trial.acknowledged.lock().unwrap());
    println!(
        "{attempts} attempts, {kills} kills: {} orders ({} paid, {} cancelled), {} sold from Redis, {} units, {} refused, {} unknown",
        acknowledged.opened.len(),
        acknowledged.paid.len(),
        acknowledged.cancelled.len(),
        acknowledged.counters.len(),
        acknowledged.units.len(),
        acknowledged.refused,
        acknowledged.unknown
    );
    audit(&stores, &service, &acknowledged, each.parse().unwrap()).await;
}

async fn wait_long(condition: impl AsyncFn() -> bool) {
    for _ in 0..60 {
        let trying = async {
            while !condition().await {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(60), trying).await.is_ok() {
            return;
        }
    }
    panic!("the sale does not go on");
}

/// Recorded sales that were not released.
const STILL_SOLD: &str = "SELECT coalesce(sum(s.count), 0)::bigint FROM sales s LEFT JOIN orders o ON o.id = s.order_id \
                          WHERE (s.order_id IS NULL OR o.state <> 'released')";

async fn audit(stores: &Stores, service: &Service, acknowledged: &Outcomes, each: i64) {
    wait("unpaid orders are released", async || {
        stores.cluster.number("SELECT count(*) FROM orders WHERE state = 'open'").await == 0
    })
    .await;
    let zero = async |what: &str, sql: &str| assert_eq!(stores.cluster.number(sql).await, 0, "{what}");
    for id in ["a", "b"] {
        let by_sales = stores.cluster.number(&format!("{STILL_SOLD} AND s.ticket_id = '{id}'")).await;
        let by_counter = stores
            .cluster
            .number(&format!("SELECT sold::bigint FROM counters WHERE ticket_id = '{id}'"))
            .await;
        assert_eq!(by_sales, by_counter, "sales and stock of {id}");
        assert!(by_sales <= each, "oversold: {by_sales} of {each} {id}");
        wait("the counter in Redis is right", async || stores.counter(id).await == each - by_counter).await;
    }
    // One sale per key, however often a request was repeated.
    let keys = |kind: &str| format!("SELECT count(*) FROM idempotency_keys WHERE request LIKE '{kind} %'");
    let direct = stores.cluster.number("SELECT count(*) FROM sales WHERE order_id IS NULL").await;
    assert_eq!(direct, stores.cluster.number(&keys("counters")).await, "a sale for each key");
    let orders = stores.cluster.number("SELECT count(*) FROM orders").await;
    assert_eq!(orders, stores.cluster.number(&keys("orders")).await, "an order for each key");
    assert_eq!(orders, stores.cluster.number("SELECT count(*) FROM sales WHERE order_id IS NOT NULL").await);
    zero("orders with the same key", "SELECT count(*) - count(DISTINCT key) FROM orders").await;
    let units = stores.cluster.number("SELECT count(*) FROM ticket_units WHERE reserved").await;
    assert_eq!(units, stores.cluster.number(&keys("units")).await, "a unit for each key");
    assert_none_lost(
        stores,
        "sold from Redis",
        "SELECT key FROM idempotency_keys WHERE request LIKE 'counters %'",
        &acknowledged.counters,
    )
    .await;
    assert_none_lost(
        stores,
        "units",
        "SELECT key FROM idempotency_keys WHERE request LIKE 'units %'",
        &acknowledged.units,
    )
    .await;
    assert_none_lost(stores, "orders", "SELECT id FROM orders", &acknowledged.opened).await;
    assert_none_lost(stores, "paid orders", "SELECT id FROM orders WHERE state = 'paid'", &acknowledged.paid)
        .await;
    let released = "SELECT id FROM orders WHERE state = 'released'";
    assert_none_lost(stores, "cancelled orders", released, &acknowledged.cancelled).await;
    // The remaining stock sells out to the last ticket.
    for id in ["a", "b"] {
        while service.order("redis-decrement", &[(id, 1)]).await.status == 200 {}
        while service.order("pg-reserve-ticket", &[(id, 1)]).await.status == 200 {}
    }
    assert_eq!(stores.cluster.number(STILL_SOLD).await, 2 * each, "all tickets of Redis");
    assert_eq!(
        stores.cluster.number("SELECT count(*) FROM ticket_units WHERE NOT reserved").await,
        0,
        "all units"
    );
}

/// Asserts that `sql` finds everything that was acknowledged.
async fn assert_none_lost(stores: &Stores, what: &str, sql: &str, acknowledged: &[String]) {
    assert!(!acknowledged.is_empty(), "{what}: the trial tried none");
    let sql = format!("SELECT count(*) FROM unnest($1::text[]) AS told WHERE told NOT IN ({sql})");
    let client = stores.cluster.connect().await;
    let lost: i64 = client.query_one(&sql, &[&acknowledged]).await.unwrap().get(0);
    assert_eq!(lost, 0, "{what}: acknowledged and lost");
}

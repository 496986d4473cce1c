//! Each switch has its documented effect.

use crate::fixture::{Counts, Service, Stores, body};
use testbed::wait;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn redis_script_decides_whether_a_counter_goes_below_zero() {
    let stores = Stores::seeded(10, 0).await;
    let orders = vec![body(&[("a", 2)]); 20];
    let checked = Service::open(&stores, &["--redis-script", "checked"]);
    let counts = checked.send_concurrently("redis-decrement", orders.clone()).await;
    assert_eq!(counts, Counts { sold: 5, refused: 15, failed: 0 });
    assert_eq!(stores.counter("a").await, 0);
    let simple = Service::open(&stores, &["--redis-script", "simple"]);
    let counts = simple.send_concurrently("redis-decrement", orders).await;
    assert_eq!(counts, Counts { sold: 20, refused: 0, failed: 0 });
    assert_eq!(stores.counter("a").await, -40);
    let response = simple.order("complex-redis-decrement", &[("a", 2)]).await;
    assert_eq!(
        (response.status, response.code().as_str()),
        (409, "not_enough_left"),
        "the named routes stay"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn without_flags_units_are_found_by_their_index() {
    let stores = Stores::seeded(0, 20_000).await;
    let scans = "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'ticket_units'";
    let service = Service::open(&stores, &[]);
    let before = stores.cluster.number(scans).await;
    let counts = service.send_concurrently("pg-reserve-ticket", vec![body(&[("b", 2), ("c", 1)]); 50]).await;
    assert_eq!(counts, Counts { sold: 50, refused: 0, failed: 0 });
    // Connections report their statistics when they end, at the latest.
    drop(service);
    wait("the connections of the service", async || {
        stores
            .cluster
            .number("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tickets'")
            .await
            == 0
    })
    .await;
    assert_eq!(stores.cluster.number(scans).await - before, 0, "sequential scans");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn unit_index_makes_and_drops_the_indexes() {
    let stores = Stores::seeded(0, 10).await;
    let there = |name: &str| format!("SELECT count(*) FROM pg_indexes WHERE indexname = '{name}'");
    for (value, on, partial) in [("on", 1, 0), ("partial", 0, 1), ("off", 0, 0)] {
        let service = Service::open(&stores, &["--unit-index", value]);
        assert_eq!(service.order("pg-reserve-ticket", &[("a", 1)]).await.status, 200);
        assert_eq!(
            stores.cluster.number(&there("idx_ticket_units_on_ticket_id_and_reserved")).await,
            on,
            "{value}"
        );
        assert_eq!(stores.cluster.number(&there("idx_ticket_units_free")).await, partial, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn seqscan_decides_how_units_are_found_in_a_small_table() {
    // With few pages of units, the planner prefers a sequential scan to the index.
    for (value, is_read_whole) in [("planner", true), ("off_in_transaction", false)] {
        let stores = Stores::seeded(0, 100).await;
        let scans = "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'ticket_units'";
        let service = Service::open(
            &stores,
            &["--unit-index", "on", "--seqscan", value, "--unit-statement", "one", "--unit-call", "each"],
        );
        let before = stores.cluster.number(scans).await;
        for _ in 0..10 {
            assert_eq!(service.order("pg-reserve-ticket", &[("a", 1)]).await.status, 200);
        }
        // Connections report their statistics when they end, at the latest.
        drop(service);
        wait("the connections of the service", async || {
            stores
                .cluster
                .number("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tickets'")
                .await
                == 0
        })
        .await;
        let read = stores.cluster.number(scans).await - before;
        assert_eq!(read >= 10, is_read_whole, "{value}: {read} scans");
        assert_eq!(read == 0, !is_read_whole, "{value}: {read} scans");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn unit_statement_decides_how_many_statements_a_line_takes() {
    let stores = Stores::seeded(0, 10).await;
    let mut before = 0;
    for (value, expected) in [("two", 2), ("one", 1)] {
        let service = Service::open(&stores, &["--unit-statement", value, "--unit-call", "each"]);
        assert_eq!(service.order("pg-reserve-ticket", &[("a", 1)]).await.status, 200);
        let log = stores.statements();
        let of_units = log.iter().filter(|line| line.contains("reserved")).count();
        assert_eq!(of_units - before, expected, "{value}: {log:#?}");
        before = of_units;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn pool_max_bounds_the_connections_and_more_than_postgres_has_fails() {
    let stores = Stores::seeded(1000, 0).await;
    let orders = vec![body(&[("a", 1)]); 100];
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tickets'";
    for pool_max in [2, 6] {
        let service = Service::open(&stores, &["--pool-max", &pool_max.to_string()]);
        let counts = service.send_concurrently("pg-decrement-ticket", orders.clone()).await;
        assert_eq!(counts, Counts { sold: 100, refused: 0, failed: 0 });
        assert_eq!(stores.cluster.number(connections).await, pool_max);
    }
    // The cluster of the tests has 20 connections.
    let service = Service::open(&stores, &["--pool-max", "1000"]);
    // While the row is locked, each order needs a connection of its own.
    let mut blocking_client = stores.cluster.connect().await;
    let blocking_transaction = blocking_client.transaction().await.unwrap();
    blocking_transaction.execute("UPDATE tickets SET stock = stock WHERE id = 'a'", &[]).await.unwrap();
    let (counts, ()) = tokio::join!(service.send_concurrently("pg-decrement-ticket", orders), async {
        wait("no connection is left", async || {
            blocking_transaction.batch_execute("SELECT pg_stat_clear_snapshot()").await.unwrap();
            blocking_transaction.query_one(connections, &[]).await.unwrap().get::<_, i64>(0) == 19
        })
        .await;
        blocking_transaction.commit().await.unwrap();
    });
    assert!(counts.failed > 0, "{counts:?}");
    drop(service);
    assert_eq!(
        stores.cluster.number("SELECT stock::bigint FROM tickets WHERE id = 'a'").await,
        800 - counts.sold
    );
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn redis_call_decides_whether_waiting_orders_share_a_script_call() {
    let stores = Stores::seeded(1000, 0).await;
    for (value, is_each) in [("each", true), ("batch", false)] {
        let service = Service::open(&stores, &["--redis-call", value]);
        stores.redis.command::<()>(&["CONFIG", "RESETSTAT"]).await;
        // Redis pauses, so that orders wait.
        stores.redis.command::<()>(&["CLIENT", "PAUSE", "500"]).await;
        let counts = service.send_concurrently("redis-decrement", vec![body(&[("a", 1)]); 50]).await;
        assert_eq!(counts, Counts { sold: 50, refused: 0, failed: 0 });
        let stats: String = stores.redis.command(&["INFO", "commandstats"]).await;
        let calls = stats.split_once("cmdstat_evalsha:calls=").unwrap().1.split(',').next().unwrap();
        let calls: u32 = calls.parse().unwrap();
        assert_eq!(calls == 50, is_each, "{value}: {calls} calls");
        assert!(calls <= 50);
    }
    assert_eq!(stores.counter("a").await, 900);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn record_decides_whether_sales_are_written_and_how_many_at_a_time() {
    let (mut counter, mut before) = (1000, 0);
    let stores = Stores::seeded(1000, 0).await;
    for (value, expected) in [("none", 0..=0), ("each", 50..=50), ("grouped", 1..=25)] {
        // The counters are rebuilt from the record: tickets sold without one are on sale again.
        counter = if value == "each" { 1000 } else { counter };
        let service = Service::open(&stores, &["--redis-call", "each", "--record", value, "--pool-max", "8"]);
        let mut blocking_client = stores.cluster.connect().await;
        let blocking_transaction = blocking_client.transaction().await.unwrap();
        blocking_transaction.batch_execute("SELECT * FROM stock_epoch FOR UPDATE").await.unwrap();
        let (counts, ()) =
            tokio::join!(service.send_concurrently("redis-decrement", vec![body(&[("a", 1)]); 50]), async {
                wait("all are taken from Redis", async || stores.counter("a").await == counter - 50).await;
                blocking_transaction.commit().await.unwrap();
            });
        assert_eq!(counts, Counts { sold: 50, refused: 0, failed: 0 }, "{value}");
        counter -= 50;
        let written = stores.statements().iter().filter(|line| line.contains("INSERT INTO sales")).count();
        assert!(expected.contains(&(written - before)), "{value}: {} statements", written - before);
        before = written;
    }
    assert_eq!(stores.cluster.number("SELECT sum(count)::bigint FROM sales").await, 100);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn order_stock_decides_which_tickets_an_order_holds() {
    let stores = Stores::seeded(10, 10).await;
    for (value, units, counter) in [("units", 3, 10), ("counters", 3, 7)] {
        let service = Service::open(&stores, &["--record", "each", "--order-stock", value]);
        assert_eq!(service.order("orders", &[("a", 3)]).await.status, 201);
        let reserved = stores.cluster.number("SELECT count(*) FROM ticket_units WHERE reserved").await;
        assert_eq!((reserved, stores.counter("a").await), (units, counter), "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn unit_call_decides_whether_waiting_orders_share_a_transaction() {
    let stores = Stores::seeded(0, 1000).await;
    let mut before = 0;
    for (value, is_each) in [("each", true), ("batch", false)] {
        let service = Service::open(&stores, &["--unit-call", value, "--pool-max", "8"]);
        let mut blocking_client = stores.cluster.connect().await;
        let blocking_transaction = blocking_client.transaction().await.unwrap();
        blocking_transaction.batch_execute("LOCK TABLE ticket_units IN EXCLUSIVE MODE").await.unwrap();
        let (counts, ()) = tokio::join!(
            service.send_concurrently("pg-reserve-ticket", vec![body(&[("a", 1)]); 50]),
            async {
                let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
                wait("an order waits", async || stores.cluster.number(waits).await >= 1).await;
                for _ in 0..50 {
                    assert_eq!(service.get("health").await.status, 200);
                }
                blocking_transaction.commit().await.unwrap();
            }
        );
        assert_eq!(counts, Counts { sold: 50, refused: 0, failed: 0 }, "{value}");
        let marks = stores.statements().iter().filter(|line| line.contains("SET reserved = true")).count();
        assert_eq!(marks - before == 50, is_each, "{value}: {} statements", marks - before);
        before = marks;
    }
    assert_eq!(stores.cluster.number("SELECT count(*) FROM ticket_units WHERE reserved").await, 100);
}

//! Switches of the pools: how many connections, how many of them idle, for how long.

use crate::cluster::{Cluster, wait};
use crate::world::{PATIENT, Stores, Yard};

const SESSIONS: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'trenova'";
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
                       WHERE application_name = 'trenova' AND wait_event_type = 'Lock'";
const PROCESS: &str = "SELECT max(pid)::bigint FROM pg_stat_activity WHERE application_name = 'trenova'";
/// A statement of its own for each request.
const EACH: [&str; 4] = ["--query-call", "each", PATIENT[0], PATIENT[1]];

/// So many requests at a time, held up in PostgreSQL until so many of its sessions wait.
async fn crowd(cluster: &Cluster, yard: &Yard, requests: usize, sessions: i64) {
    let person = yard.sign_in(1).await;
    let mut holder = cluster.connect().await;
    let held = holder.transaction().await.unwrap();
    held.batch_execute("LOCK TABLE workers").await.unwrap();
    let looking = async {
        wait("they wait", async || cluster.number(WAITING).await >= sessions).await;
        // More would come if they could: each request has a connection of its own, and all of those are there.
        wait("all are there", async || yard.figure("trenova_callers").await >= requests as u64).await;
        assert_eq!(cluster.number(WAITING).await, sessions);
        held.rollback().await.unwrap();
    };
    let (answers, ()) = tokio::join!(person.many(requests), looking);
    assert!(answers.iter().all(|answer| answer.status == 200));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn db_pool_max_bounds_the_connections_and_a_parallel_count_takes_two() {
    let stores = Stores::seeded().await;
    for (max, count, sessions) in [("3", "kept", 3), ("30", "kept", 12), ("30", "parallel", 24)] {
        let yard =
            Yard::open(&stores, &[&EACH[..], &["--db-pool-max", max, "--count-query", count]].concat());
        crowd(&stores.cluster, &yard, 12, sessions).await;
        assert_eq!(stores.cluster.number(SESSIONS).await, sessions, "connections that were opened are kept");
        drop(yard);
        wait("its sessions are gone", async || stores.cluster.number(SESSIONS).await == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn query_call_batch_asks_once_for_all_who_wait_for_the_same() {
    let stores = Stores::seeded().await;
    for (value, sessions, most) in [("batch", 1, 3), ("each", 12, 12)] {
        let yard = Yard::open(&stores, &[&PATIENT[..], &["--query-call", value]].concat());
        crowd(&stores.cluster, &yard, 12, sessions).await;
        let statements = yard.figure("trenova_statements_total").await;
        assert!(
            if value == "each" { statements == most } else { statements <= most },
            "{value}: {statements}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn db_pool_idle_closes_connections_that_nobody_needs() {
    let stores = Stores::seeded().await;
    for (value, left) in [("2", 2), ("80", 12)] {
        let yard = Yard::open(&stores, &[&EACH[..], &["--db-pool-idle", value]].concat());
        crowd(&stores.cluster, &yard, 12, 12).await;
        wait("as many are left", async || stores.cluster.number(SESSIONS).await == left).await;
        assert_eq!(yard.figure("trenova_db_connections").await, u64::try_from(left).unwrap(), "{value}");
        assert_eq!(
            yard.figure("trenova_db_closed_total").await,
            12 - u64::try_from(left).unwrap(),
            "{value}"
        );
        drop(yard);
        wait("its sessions are gone", async || stores.cluster.number(SESSIONS).await == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn db_pool_idle_holds_however_many_connections_come_back_at_a_time() {
    let stores = Stores::seeded().await;
    let flags = ["--db-pool-idle", "2", "--threads", "8", "--rate-limit", "off"];
    let yard = Yard::open(&stores, &[&EACH[..], &flags].concat());
    let person = yard.sign_in(1).await;
    for _ in 0..20 {
        person.many(20).await;
        wait("two are left", async || yard.figure("trenova_db_connections").await <= 2).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn db_pool_life_replaces_old_connections_and_idle_time_closes_unused_ones() {
    let stores = Stores::seeded().await;
    let alive = async |process: i64| {
        stores.cluster.number(&format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {process}")).await
            == 1
    };
    for flag in ["--db-pool-life", "--db-pool-idle-time"] {
        let long = Yard::open(&stores, &[flag, "3600"]);
        long.sign_in(1).await.page().await;
        let kept = stores.cluster.number(PROCESS).await;
        let short = Yard::open(&stores, &[flag, "1"]);
        let person = short.sign_in(1).await;
        person.page().await;
        let others = format!("{PROCESS} AND pid <> {kept}");
        let first = stores.cluster.number(&others).await;
        wait("it is closed", async || {
            // An old connection is replaced when it is wanted, an unused one is closed by itself.
            if flag == "--db-pool-life" {
                person.page().await;
            }
            !alive(first).await
        })
        .await;
        assert!(alive(kept).await, "{flag} 3600: older than the one that was closed");
        drop((long, short));
        wait("their sessions are gone", async || stores.cluster.number(SESSIONS).await == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn redis_link_pool_and_idle_decide_how_many_connections_redis_has() {
    let stores = Stores::seeded().await;
    let clients = async || {
        let list: String = stores.redis.ask(&["CLIENT", "LIST"]).await;
        // One of them asks.
        list.lines().count() - 1
    };
    for (link, pool, idle, at_start, in_a_crowd) in [
        ("shared", "200", "100", 1, 1),
        ("pool", "200", "7", 7, 12),
        ("pool", "5", "0", 1, 5),
        ("pool", "3", "100", 3, 3),
    ] {
        let flags =
            ["--redis-link", link, "--redis-pool", pool, "--redis-pool-idle", idle, "--redis-call", "each"];
        // Nothing but requests takes a connection, and each waits for Redis as long as the test does.
        let alone = ["--session-refresh", "off", "--redis-timeout-ms", "60000"];
        let yard = Yard::open(&stores, &[&flags[..], &alone].concat());
        let person = yard.sign_in(1).await;
        wait("as many as at the start", async || clients().await == at_start).await;
        // The script that counts a request has to wait; who only looks has not.
        stores.redis.ask::<()>(&["CLIENT", "PAUSE", "60000", "WRITE"]).await;
        let looking = async {
            wait("as many as in a crowd", async || clients().await == in_a_crowd).await;
            stores.redis.ask::<()>(&["CLIENT", "UNPAUSE"]).await;
        };
        let (answers, ()) = tokio::join!(person.many(12), looking);
        assert!(answers.iter().all(|answer| answer.status == 200), "{flags:?}");
        wait("no more than in a crowd", async || clients().await == in_a_crowd).await;
        drop(yard);
        wait("its connections are gone", async || clients().await == 0).await;
    }
}

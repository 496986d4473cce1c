//! Pool switches: size, idle limit, lifetimes.

use crate::world::{LONG_TIMEOUT, Service, Stores};
use testbed::{Cluster, wait};

const SESSIONS: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'trenova'";
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
                       WHERE application_name = 'trenova' AND wait_event_type = 'Lock'";
const PROCESS: &str = "SELECT max(pid)::bigint FROM pg_stat_activity WHERE application_name = 'trenova'";
/// One statement per request.
const EACH: [&str; 4] = ["--query-call", "each", LONG_TIMEOUT[0], LONG_TIMEOUT[1]];

/// Sends requests in parallel, blocked by a table lock until `sessions` sessions of PostgreSQL wait.
async fn block_requests(cluster: &Cluster, service: &Service, requests: usize, sessions: i64) {
    let person = service.sign_in(1).await;
    let mut holder = cluster.connect().await;
    let held = holder.transaction().await.unwrap();
    held.batch_execute("LOCK TABLE workers").await.unwrap();
    let looking = async {
        wait("they wait", async || cluster.number(WAITING).await >= sessions).await;
        // No more sessions can come: every request has its connection already.
        wait("all are there", async || service.figure("trenova_callers").await >= requests as u64).await;
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
        let service =
            Service::open(&stores, &[&EACH[..], &["--db-pool-max", max, "--count-query", count]].concat());
        block_requests(&stores.cluster, &service, 12, sessions).await;
        assert_eq!(stores.cluster.number(SESSIONS).await, sessions, "connections that were opened are kept");
        drop(service);
        wait("its sessions are gone", async || stores.cluster.number(SESSIONS).await == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_metrics_show_how_many_requests_wait_for_a_connection_of_a_full_pool_and_how_long() {
    let stores = Stores::seeded().await;
    for (max, held, queue) in [("3", 3, 9), ("30", 12, 0)] {
        let service = Service::open(&stores, &[&EACH[..], &["--db-pool-max", max]].concat());
        let person = service.sign_in(1).await;
        let waits = async || service.figure("trenova_db_wait_seconds_count").await;
        let before = waits().await;
        let mut holder = stores.cluster.connect().await;
        let lock = holder.transaction().await.unwrap();
        lock.batch_execute("LOCK TABLE workers").await.unwrap();
        let looking = async {
            wait("they wait for the lock", async || stores.cluster.number(WAITING).await == held).await;
            let queued = async || service.figure("trenova_db_waiting").await == queue;
            wait("the others wait for a connection", queued).await;
            lock.rollback().await.unwrap();
        };
        let (answers, ()) = tokio::join!(person.many(12), looking);
        assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
        assert!(waits().await >= before + queue, "{max}: each of them is counted");
        assert_eq!(service.figure("trenova_db_waiting").await, 0, "{max}");
        drop(service);
        wait("its sessions are gone", async || stores.cluster.number(SESSIONS).await == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn query_call_batch_runs_one_statement_for_equal_waiting_requests() {
    let stores = Stores::seeded().await;
    for (value, sessions, most) in [("batch", 1, 3), ("each", 12, 12)] {
        let service = Service::open(&stores, &[&LONG_TIMEOUT[..], &["--query-call", value]].concat());
        block_requests(&stores.cluster, &service, 12, sessions).await;
        let statements = service.figure("trenova_statements_total").await;
        assert!(
            if value == "each" { statements == most } else { statements <= most },
            "{value}: {statements}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn db_pool_idle_closes_excess_idle_connections() {
    let stores = Stores::seeded().await;
    for (value, left) in [("2", 2), ("80", 12)] {
        let service = Service::open(&stores, &[&EACH[..], &["--db-pool-idle", value]].concat());
        block_requests(&stores.cluster, &service, 12, 12).await;
        wait("as many are left", async || stores.cluster.number(SESSIONS).await == left).await;
        assert_eq!(service.figure("trenova_db_connections").await, u64::try_from(left).unwrap(), "{value}");
        assert_eq!(
            service.figure("trenova_db_closed_total").await,
            12 - u64::try_from(left).unwrap(),
            "{value}"
        );
        drop(service);
        wait("its sessions are gone", async || stores.cluster.number(SESSIONS).await == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn db_pool_idle_holds_when_many_connections_return_at_a_time() {
    let stores = Stores::seeded().await;
    let flags = ["--db-pool-idle", "2", "--threads", "8", "--rate-limit", "off"];
    let service = Service::open(&stores, &[&EACH[..], &flags].concat());
    let person = service.sign_in(1).await;
    for _ in 0..20 {
        person.many(20).await;
        wait("two are left", async || service.figure("trenova_db_connections").await <= 2).await;
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
        let long = Service::open(&stores, &[flag, "3600"]);
        long.sign_in(1).await.page().await;
        let kept = stores.cluster.number(PROCESS).await;
        let short = Service::open(&stores, &[flag, "1"]);
        let person = short.sign_in(1).await;
        person.page().await;
        let others = format!("{PROCESS} AND pid <> {kept}");
        let first = stores.cluster.number(&others).await;
        wait("it is closed", async || {
            // An old connection is replaced on use; an unused one is closed by the idle check.
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
async fn redis_link_pool_and_idle_set_the_number_of_redis_connections() {
    let stores = Stores::seeded().await;
    let clients = async || {
        let list: String = stores.redis.command(&["CLIENT", "LIST"]).await;
        // One connection runs this query.
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
        // Only requests take connections, and each waits for Redis as long as the test does.
        let alone = ["--session-refresh", "off", "--redis-timeout-ms", "60000"];
        let service = Service::open(&stores, &[&flags[..], &alone].concat());
        let person = service.sign_in(1).await;
        wait("as many as at the start", async || clients().await == at_start).await;
        // `CLIENT PAUSE WRITE` blocks the counting script, but not reads.
        stores.redis.command::<()>(&["CLIENT", "PAUSE", "60000", "WRITE"]).await;
        let looking = async {
            wait("as many as in a crowd", async || clients().await == in_a_crowd).await;
            stores.redis.command::<()>(&["CLIENT", "UNPAUSE"]).await;
        };
        let (answers, ()) = tokio::join!(person.many(12), looking);
        assert!(answers.iter().all(|answer| answer.status == 200), "{flags:?}");
        wait("no more than in a crowd", async || clients().await == in_a_crowd).await;
        drop(service);
        wait("its connections are gone", async || clients().await == 0).await;
    }
}

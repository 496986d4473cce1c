//! Each switch has its documented effect.

use std::time::Duration;

use crate::cluster;
use crate::fixture::{LONG_TIMEOUT, Service};
use testbed::wait;

/// Number of service sessions that wait for a lock.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
                       WHERE application_name = 'todos' AND wait_event_type = 'Lock'";
const SESSIONS: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'todos'";
/// Every list is read from PostgreSQL.
const PLAIN: [&str; 2] = ["--list-cache", "off"];

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn created_index_makes_and_drops_the_index() {
    let cluster = cluster::empty();
    let there = "SELECT count(*) FROM pg_indexes WHERE indexname = 'idx_todomodel_created_at'";
    for (value, count) in [("on", 1), ("off", 0), ("on", 1)] {
        let _service = Service::open(&cluster, &["--created-index", value]).await;
        assert_eq!(cluster.number(there).await, count, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn replica_reads_sends_lists_and_single_todos_to_the_replica_and_writes_never() {
    let cluster = cluster::empty();
    cluster.connect().await;
    let replica = cluster::replica(&cluster);
    let reads = |statements: &[String]| statements.iter().filter(|line| line.contains(": SELECT id")).count();
    for (value, at_the_replica) in [("off", 0), ("on", 2)] {
        let service = Service::open_with(
            &cluster,
            &replica,
            &["--replica-reads", value, "--list-cache", "off", "--commit", "local"],
        )
        .await;
        wait("the replica has the table", async || {
            replica.number("SELECT count(*) FROM pg_class WHERE relname = 'todos'").await == 1
        })
        .await;
        let before = (reads(&cluster.statements("todos")), reads(&replica.statements("todos")));
        let id = service.create("tea").await;
        wait("the replica has it", async || {
            replica.number(&format!("SELECT count(*) FROM todos WHERE id = {id}")).await == 1
        })
        .await;
        assert_eq!(service.get("/todos/").await.status, 200);
        assert_eq!(service.get(&format!("/todos/{id}")).await.status, 200);
        let after = (reads(&cluster.statements("todos")), reads(&replica.statements("todos")));
        assert_eq!((after.0 - before.0, after.1 - before.1), (2 - at_the_replica, at_the_replica), "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn handler_decides_which_threads_wait_for_postgres() {
    let cluster = cluster::empty();
    for (handler, sessions, threads) in [("threadpool", 30, 30), ("async", 40, 0), ("async_blocking", 1, 0)] {
        let flags = [&PLAIN[..], &LONG_TIMEOUT, &["--handler", handler, "--pool-max", "40"]].concat();
        let service = Service::open(&cluster, &flags).await;
        let mut blocking_client = cluster.connect().await;
        let blocking_transaction = blocking_client.transaction().await.unwrap();
        blocking_transaction.batch_execute("LOCK TABLE todos").await.unwrap();
        let lists = futures_util::future::join_all((0..40).map(|_| service.get("/todos/")));
        let looking = async {
            wait("they wait", async || cluster.number(WAITING).await == sessions).await;
            let health = service.get("/health");
            tokio::pin!(health);
            let is_answered = tokio::time::timeout(Duration::from_secs(1), &mut health).await.is_ok();
            assert_eq!(is_answered, handler != "async_blocking", "{handler}: others are served meanwhile");
            if is_answered {
                assert_eq!(service.metric("todos_waiting_threads").await, threads, "{handler}");
            }
            assert_eq!(cluster.number(WAITING).await, sessions, "{handler}: so many at a time");
            blocking_transaction.rollback().await.unwrap();
            if !is_answered {
                assert_eq!(health.await.status, 200);
            }
        };
        let (responses, ()) = tokio::join!(lists, looking);
        assert!(responses.iter().all(|response| response.status == 200), "{handler}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn json_standard_builds_a_tree_per_todo() {
    let cluster = cluster::empty();
    for (value, nodes) in [("standard", 6 * 10), ("fast", 0)] {
        let service =
            Service::open(&cluster, &["--json", value, "--rows", "10", "--list-cache", "off"]).await;
        assert_eq!(service.ids().await.len(), 10);
        assert_eq!(service.metric("todos_json_nodes_total").await, nodes, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn list_limit_and_rows_bound_the_length_of_a_list() {
    let cluster = cluster::empty();
    for (rows, limit, length) in [("50", "none", 50), ("50", "20", 20), ("10", "20", 10), ("300", "200", 200)]
    {
        for cache in ["off", "on"] {
            let flags = ["--rows", rows, "--list-limit", limit, "--list-cache", cache];
            let service = Service::open(&cluster, &flags).await;
            assert_eq!(service.ids().await.len(), length, "{flags:?}");
            assert_eq!(cluster.number("SELECT count(*) FROM todos").await.to_string(), rows);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn commit_decides_whether_a_write_waits_for_the_replica_and_its_readers() {
    let cluster = cluster::empty_synchronous();
    cluster.connect().await;
    let replica = cluster::replica(&cluster);
    let flags = |commit| ["--commit", commit, "--list-cache", "off"];
    let (on, apply, local) = (
        Service::open_with(&cluster, &replica, &flags("on")).await,
        Service::open_with(&cluster, &replica, &flags("remote_apply")).await,
        Service::open_with(&cluster, &replica, &flags("local")).await,
    );
    replica.execute("SELECT pg_wal_replay_pause()").await;
    let id = on.create("on").await;
    assert_eq!(on.get(&format!("/todos/{id}")).await.status, 404, "the replica has it, its readers do not");
    let created = apply.create("remote_apply");
    let resumed = async {
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        wait("the write waits for the readers", async || cluster.number(waits).await == 1).await;
        replica.execute("SELECT pg_wal_replay_resume()").await;
    };
    let (id, ()) = tokio::join!(created, resumed);
    assert_eq!(apply.get(&format!("/todos/{id}")).await.status, 200, "what was answered can be read");
    drop(replica);
    local.create("local").await;
    // A schema change at startup would wait too; with these flags there is none.
    let flags = ["--commit", "on", "--store-timeout-ms", "300", "--list-cache", "off"];
    let response = Service::open(&cluster, &flags).await.post(&serde_json::json!({"name": "on"})).await;
    assert_eq!(
        (response.status, response.code().as_str()),
        (503, "store_unavailable"),
        "no replica, no promise"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn commit_off_sets_synchronous_commit_of_the_sessions() {
    let cluster = cluster::empty();
    // A trigger reads the setting of the writing session.
    let service = Service::open(&cluster, &["--commit", "off", "--insert", "one"]).await;
    cluster
        .execute(
            "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             NEW.description := current_setting('synchronous_commit'); RETURN NEW; END $$; \
             CREATE TRIGGER tell BEFORE INSERT ON todos FOR EACH ROW EXECUTE FUNCTION tell()",
        )
        .await;
    let todo = service.post(&serde_json::json!({})).await.json();
    assert_eq!(todo["description"], "off");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn row_count_fixed_keeps_the_number_of_rows() {
    let cluster = cluster::empty();
    for insert in ["steps", "one", "group"] {
        for (value, rows) in [("fixed", 40), ("growing", 65)] {
            let flags = ["--row-count", value, "--rows", "40", "--insert", insert, "--list-limit", "none"];
            let service = Service::open(&cluster, &flags).await;
            service.create_many(25).await;
            assert_eq!(cluster.number("SELECT count(*) FROM todos").await, rows, "{insert} {value}");
            assert_eq!(service.ids().await.len(), usize::try_from(rows).unwrap(), "{insert} {value}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn row_count_fixed_accepts_the_first_todo_of_an_empty_table_and_the_next_replaces_it() {
    let cluster = cluster::empty();
    for insert in ["steps", "one", "group"] {
        let service = Service::open(&cluster, &["--row-count", "fixed", "--insert", insert]).await;
        cluster.execute("TRUNCATE todos").await;
        for name in ["first", "second"] {
            let id = service.create(name).await;
            assert_eq!(cluster.number("SELECT count(*) FROM todos").await, 1, "{insert}: {name}");
            assert_eq!(cluster.number("SELECT max(id)::bigint FROM todos").await, id, "{insert}: {name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn row_count_fixed_deletes_the_last_todo_of_the_list_whatever_its_id() {
    let cluster = cluster::empty();
    for insert in ["steps", "one", "group"] {
        let flags = ["--row-count", "fixed", "--insert", insert, "--list-limit", "2"];
        let service = Service::open(&cluster, &flags).await;
        cluster
            .execute(
                "TRUNCATE todos RESTART IDENTITY; \
                 INSERT INTO todos (created_at) VALUES ('2020-02-02'), ('2020-01-01')",
            )
            .await;
        wait("the list is kept", async || {
            service.ids().await == [1, 2] && service.metric("todos_list_hits_total").await > 0
        })
        .await;
        let id = service.create("tea").await;
        assert_eq!(service.ids().await, [id, 1], "{insert}: the list");
        let there = "SELECT sum(id)::bigint FROM todos";
        assert_eq!(cluster.number(there).await, id + 1, "{insert}: the table");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn pool_max_bounds_the_connections() {
    let cluster = cluster::empty();
    for (value, count) in [("3", 3), ("12", 12)] {
        let service =
            Service::open(&cluster, &[&PLAIN[..], &LONG_TIMEOUT, &["--pool-max", value]].concat()).await;
        let mut blocking_client = cluster.connect().await;
        let blocking_transaction = blocking_client.transaction().await.unwrap();
        blocking_transaction.batch_execute("LOCK TABLE todos").await.unwrap();
        let lists = futures_util::future::join_all((0..20).map(|_| service.get("/todos/")));
        let looking = async {
            wait("they wait", async || cluster.number(WAITING).await == count).await;
            assert_eq!(cluster.number(SESSIONS).await, count);
            blocking_transaction.rollback().await.unwrap();
        };
        tokio::join!(lists, looking);
        drop(service);
        wait("its sessions are gone", async || cluster.number(SESSIONS).await == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn pool_probe_checks_each_connection_with_a_query() {
    let cluster = cluster::empty();
    let probes = || cluster.statements("todos").iter().filter(|line| line.contains("statement:")).count();
    for (value, more) in [("off", 0), ("on", 9)] {
        let service = Service::open(&cluster, &["--pool-probe", value, "--list-cache", "off"]).await;
        let before = probes();
        for _ in 0..10 {
            service.ids().await;
        }
        // The first connection is new and needs no check.
        assert_eq!(probes() - before, more, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn statement_cache_reuses_prepared_statements() {
    let cluster = cluster::empty();
    for (value, prepared) in [("on", 1), ("off", 10)] {
        let service = Service::open(&cluster, &["--statement-cache", value, "--list-cache", "off"]).await;
        for _ in 0..10 {
            service.ids().await;
        }
        assert_eq!(service.metric("todos_statements_prepared_total").await, prepared, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn insert_decides_how_many_statements_a_new_todo_takes() {
    let cluster = cluster::empty();
    for (value, statements) in [("steps", 4), ("one", 1)] {
        let service = Service::open(&cluster, &["--insert", value]).await;
        let before = cluster.statements("todos").len();
        service.create("tea").await;
        let all = cluster.statements("todos");
        assert_eq!(all.len() - before, statements, "{value}: {:?}", &all[before..]);
    }
    let service = Service::open(&cluster, &[&LONG_TIMEOUT[..], &["--insert", "group"]].concat()).await;
    let mut blocking_client = cluster.connect().await;
    let blocking_transaction = blocking_client.transaction().await.unwrap();
    blocking_transaction.batch_execute("LOCK TABLE todos").await.unwrap();
    let looking = async {
        wait("the first one waits", async || cluster.number(WAITING).await == 1).await;
        // The other todos were sent before this request, so they are queued once it has its response.
        service.metric("todos_created_total").await;
        blocking_transaction.rollback().await.unwrap();
    };
    tokio::join!(service.create_many(20), looking);
    assert_eq!(service.metric("todos_created_total").await, 20);
    assert!(service.metric("todos_insert_statements_total").await < 10, "they were written together");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn list_cache_serves_lists_without_postgres() {
    let cluster = cluster::empty();
    for value in ["off", "on"] {
        let service = Service::open(&cluster, &["--list-cache", value, "--rows", "10"]).await;
        let asked =
            || cluster.statements("todos").iter().filter(|line| line.contains("FROM todos ORDER")).count();
        wait("the list is kept", async || {
            service.ids().await;
            value == "off" || service.metric("todos_list_hits_total").await > 0
        })
        .await;
        let before = asked();
        for _ in 0..5 {
            service.create("tea").await;
            service.ids().await;
        }
        assert_eq!(asked() - before, if value == "on" { 0 } else { 5 }, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn row_cost_applies_to_the_rows_of_a_list() {
    let cluster = cluster::empty();
    for (limit, units) in [("none", 2 * 114), ("6", 2 * 20)] {
        let flags = ["--row-cost", "2", "--rows", "100", "--list-limit", limit, "--list-cache", "off"];
        let service = Service::open(&cluster, &flags).await;
        service.ids().await;
        assert_eq!(service.metric("todos_row_toil_total").await, units, "{limit}");
    }
}

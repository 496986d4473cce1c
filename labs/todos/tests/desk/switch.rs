//! Each switch changes what it says.

use std::time::Duration;

use crate::cluster::{Cluster, wait};
use crate::world::{Desk, PATIENT};

/// Sessions of services that wait for a lock.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
                       WHERE application_name = 'todos' AND wait_event_type = 'Lock'";
const SESSIONS: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'todos'";
/// Every request of a list asks PostgreSQL.
const PLAIN: [&str; 2] = ["--list-cache", "off"];

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn created_index_makes_and_drops_the_index() {
    let cluster = Cluster::start();
    let there = "SELECT count(*) FROM pg_indexes WHERE indexname = 'idx_todomodel_created_at'";
    for (value, count) in [("on", 1), ("off", 0), ("on", 1)] {
        let _desk = Desk::open(&cluster, &["--created-index", value]).await;
        assert_eq!(cluster.number(there).await, count, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn replica_reads_sends_lists_and_single_todos_to_the_replica_and_writes_never() {
    let cluster = Cluster::start();
    cluster.connect().await;
    let replica = cluster.replica();
    let reads = |statements: &[String]| statements.iter().filter(|line| line.contains(": SELECT id")).count();
    for (value, at_the_replica) in [("off", 0), ("on", 2)] {
        let desk = Desk::open_with(
            &cluster,
            &replica,
            &["--replica-reads", value, "--list-cache", "off", "--commit", "local"],
        )
        .await;
        wait("the replica has the table", async || {
            replica.number("SELECT count(*) FROM pg_class WHERE relname = 'todos'").await == 1
        })
        .await;
        let before = (reads(&cluster.statements()), reads(&replica.statements()));
        let id = desk.make("tea").await;
        wait("the replica has it", async || {
            replica.number(&format!("SELECT count(*) FROM todos WHERE id = {id}")).await == 1
        })
        .await;
        assert_eq!(desk.get("/todos/").await.status, 200);
        assert_eq!(desk.get(&format!("/todos/{id}")).await.status, 200);
        let after = (reads(&cluster.statements()), reads(&replica.statements()));
        assert_eq!((after.0 - before.0, after.1 - before.1), (2 - at_the_replica, at_the_replica), "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn handler_decides_who_waits_for_postgres() {
    let cluster = Cluster::start();
    for (handler, sessions, threads) in [("threadpool", 30, 30), ("async", 40, 0), ("async_blocking", 1, 0)] {
        let flags = [&PLAIN[..], &PATIENT, &["--handler", handler, "--pool-max", "40"]].concat();
        let desk = Desk::open(&cluster, &flags).await;
        let mut holder = cluster.connect().await;
        let held = holder.transaction().await.unwrap();
        held.batch_execute("LOCK TABLE todos").await.unwrap();
        let lists = futures_util::future::join_all((0..40).map(|_| desk.get("/todos/")));
        let looking = async {
            wait("they wait", async || cluster.number(WAITING).await == sessions).await;
            let health = desk.get("/health");
            tokio::pin!(health);
            let is_answered = tokio::time::timeout(Duration::from_secs(1), &mut health).await.is_ok();
            assert_eq!(is_answered, handler != "async_blocking", "{handler}: others are served meanwhile");
            if is_answered {
                assert_eq!(desk.figure("todos_waiting_threads").await, threads, "{handler}");
            }
            assert_eq!(cluster.number(WAITING).await, sessions, "{handler}: so many at a time");
            held.rollback().await.unwrap();
            if !is_answered {
                assert_eq!(health.await.status, 200);
            }
        };
        let (answers, ()) = tokio::join!(lists, looking);
        assert!(answers.iter().all(|answer| answer.status == 200), "{handler}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn json_standard_builds_a_tree_for_each_todo() {
    let cluster = Cluster::start();
    for (value, nodes) in [("standard", 6 * 10), ("fast", 0)] {
        let desk = Desk::open(&cluster, &["--json", value, "--rows", "10", "--list-cache", "off"]).await;
        assert_eq!(desk.ids().await.len(), 10);
        assert_eq!(desk.figure("todos_json_nodes_total").await, nodes, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn list_limit_and_rows_say_how_long_a_list_is() {
    let cluster = Cluster::start();
    for (rows, limit, length) in [("50", "none", 50), ("50", "20", 20), ("10", "20", 10), ("300", "200", 200)]
    {
        for cache in ["off", "on"] {
            let flags = ["--rows", rows, "--list-limit", limit, "--list-cache", cache];
            let desk = Desk::open(&cluster, &flags).await;
            assert_eq!(desk.ids().await.len(), length, "{flags:?}");
            assert_eq!(cluster.number("SELECT count(*) FROM todos").await.to_string(), rows);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn commit_says_whether_a_write_waits_for_the_replica_and_for_its_readers() {
    let cluster = Cluster::start_synchronous();
    cluster.connect().await;
    let replica = cluster.replica();
    let flags = |commit| ["--commit", commit, "--list-cache", "off"];
    let (on, apply, local) = (
        Desk::open_with(&cluster, &replica, &flags("on")).await,
        Desk::open_with(&cluster, &replica, &flags("remote_apply")).await,
        Desk::open_with(&cluster, &replica, &flags("local")).await,
    );
    replica.execute("SELECT pg_wal_replay_pause()").await;
    let id = on.make("on").await;
    assert_eq!(on.get(&format!("/todos/{id}")).await.status, 404, "the replica has it, its readers do not");
    let made = apply.make("remote_apply");
    let resumed = async {
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        wait("the write waits for the readers", async || cluster.number(waits).await == 1).await;
        replica.execute("SELECT pg_wal_replay_resume()").await;
    };
    let (id, ()) = tokio::join!(made, resumed);
    assert_eq!(apply.get(&format!("/todos/{id}")).await.status, 200, "what was answered can be read");
    drop(replica);
    local.make("local").await;
    // A service that changes the schema at its start would wait there; with these flags there is nothing to change.
    let flags = ["--commit", "on", "--store-timeout-ms", "300", "--list-cache", "off"];
    let answer = Desk::open(&cluster, &flags).await.post(&serde_json::json!({"name": "on"})).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "store_unavailable"), "no replica, no promise");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn commit_off_is_what_the_sessions_have() {
    let cluster = Cluster::start();
    // A trigger sees the setting of the session that writes.
    let desk = Desk::open(&cluster, &["--commit", "off", "--insert", "one"]).await;
    cluster
        .execute(
            "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             NEW.description := current_setting('synchronous_commit'); RETURN NEW; END $$; \
             CREATE TRIGGER tell BEFORE INSERT ON todos FOR EACH ROW EXECUTE FUNCTION tell()",
        )
        .await;
    let todo = desk.post(&serde_json::json!({})).await.json();
    assert_eq!(todo["description"], "off");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn row_count_fixed_keeps_the_number_of_rows() {
    let cluster = Cluster::start();
    for insert in ["steps", "one", "group"] {
        for (value, rows) in [("fixed", 40), ("growing", 65)] {
            let flags = ["--row-count", value, "--rows", "40", "--insert", insert, "--list-limit", "none"];
            let desk = Desk::open(&cluster, &flags).await;
            desk.make_many(25).await;
            assert_eq!(cluster.number("SELECT count(*) FROM todos").await, rows, "{insert} {value}");
            assert_eq!(desk.ids().await.len(), usize::try_from(rows).unwrap(), "{insert} {value}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn row_count_fixed_lets_the_first_todo_of_an_empty_table_in_and_the_next_one_takes_its_place() {
    let cluster = Cluster::start();
    for insert in ["steps", "one", "group"] {
        let desk = Desk::open(&cluster, &["--row-count", "fixed", "--insert", insert]).await;
        cluster.execute("TRUNCATE todos").await;
        for name in ["first", "second"] {
            let id = desk.make(name).await;
            assert_eq!(cluster.number("SELECT count(*) FROM todos").await, 1, "{insert}: {name}");
            assert_eq!(cluster.number("SELECT max(id)::bigint FROM todos").await, id, "{insert}: {name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn row_count_fixed_pushes_out_the_one_that_the_list_has_last_whatever_its_id() {
    let cluster = Cluster::start();
    for insert in ["steps", "one", "group"] {
        let flags = ["--row-count", "fixed", "--insert", insert, "--list-limit", "2"];
        let desk = Desk::open(&cluster, &flags).await;
        cluster
            .execute(
                "TRUNCATE todos RESTART IDENTITY; \
                 INSERT INTO todos (created_at) VALUES ('2020-02-02'), ('2020-01-01')",
            )
            .await;
        wait("the list is kept", async || {
            desk.ids().await == [1, 2] && desk.figure("todos_list_hits_total").await > 0
        })
        .await;
        let id = desk.make("tea").await;
        assert_eq!(desk.ids().await, [id, 1], "{insert}: the list");
        let there = "SELECT sum(id)::bigint FROM todos";
        assert_eq!(cluster.number(there).await, id + 1, "{insert}: the table");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn pool_max_bounds_the_connections() {
    let cluster = Cluster::start();
    for (value, count) in [("3", 3), ("12", 12)] {
        let desk = Desk::open(&cluster, &[&PLAIN[..], &PATIENT, &["--pool-max", value]].concat()).await;
        let mut holder = cluster.connect().await;
        let held = holder.transaction().await.unwrap();
        held.batch_execute("LOCK TABLE todos").await.unwrap();
        let lists = futures_util::future::join_all((0..20).map(|_| desk.get("/todos/")));
        let looking = async {
            wait("they wait", async || cluster.number(WAITING).await == count).await;
            assert_eq!(cluster.number(SESSIONS).await, count);
            held.rollback().await.unwrap();
        };
        tokio::join!(lists, looking);
        drop(desk);
        wait("its sessions are gone", async || cluster.number(SESSIONS).await == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn pool_probe_asks_each_connection_whether_it_lives() {
    let cluster = Cluster::start();
    let probes = || cluster.statements().iter().filter(|line| line.contains("statement:")).count();
    for (value, more) in [("off", 0), ("on", 9)] {
        let desk = Desk::open(&cluster, &["--pool-probe", value, "--list-cache", "off"]).await;
        let before = probes();
        for _ in 0..10 {
            desk.ids().await;
        }
        // The first one is new and needs no proof.
        assert_eq!(probes() - before, more, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn statement_cache_keeps_prepared_statements() {
    let cluster = Cluster::start();
    for (value, prepared) in [("on", 1), ("off", 10)] {
        let desk = Desk::open(&cluster, &["--statement-cache", value, "--list-cache", "off"]).await;
        for _ in 0..10 {
            desk.ids().await;
        }
        assert_eq!(desk.figure("todos_statements_prepared_total").await, prepared, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn insert_decides_how_many_statements_a_new_todo_takes() {
    let cluster = Cluster::start();
    for (value, statements) in [("steps", 4), ("one", 1)] {
        let desk = Desk::open(&cluster, &["--insert", value]).await;
        let before = cluster.statements().len();
        desk.make("tea").await;
        let all = cluster.statements();
        assert_eq!(all.len() - before, statements, "{value}: {:?}", &all[before..]);
    }
    let desk = Desk::open(&cluster, &[&PATIENT[..], &["--insert", "group"]].concat()).await;
    let mut holder = cluster.connect().await;
    let held = holder.transaction().await.unwrap();
    held.batch_execute("LOCK TABLE todos").await.unwrap();
    let looking = async {
        wait("the first one waits", async || cluster.number(WAITING).await == 1).await;
        // The others come while it does: they were sent before this is asked, and this is answered.
        desk.figure("todos_created_total").await;
        held.rollback().await.unwrap();
    };
    tokio::join!(desk.make_many(20), looking);
    assert_eq!(desk.figure("todos_created_total").await, 20);
    assert!(desk.figure("todos_insert_statements_total").await < 10, "they were written together");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn list_cache_answers_lists_without_postgres() {
    let cluster = Cluster::start();
    for value in ["off", "on"] {
        let desk = Desk::open(&cluster, &["--list-cache", value, "--rows", "10"]).await;
        let asked = || cluster.statements().iter().filter(|line| line.contains("FROM todos ORDER")).count();
        wait("the list is kept", async || {
            desk.ids().await;
            value == "off" || desk.figure("todos_list_hits_total").await > 0
        })
        .await;
        let before = asked();
        for _ in 0..5 {
            desk.make("tea").await;
            desk.ids().await;
        }
        assert_eq!(asked() - before, if value == "on" { 0 } else { 5 }, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn row_cost_is_paid_for_the_rows_of_a_list() {
    let cluster = Cluster::start();
    for (limit, units) in [("none", 2 * 114), ("6", 2 * 20)] {
        let flags = ["--row-cost", "2", "--rows", "100", "--list-limit", limit, "--list-cache", "off"];
        let desk = Desk::open(&cluster, &flags).await;
        desk.ids().await;
        assert_eq!(desk.figure("todos_row_toil_total").await, units, "{limit}");
    }
}
